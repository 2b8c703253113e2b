"""Figures of duels as text and as JSON; the JSON is documented in docs/json.md."""

import math
from typing import Any, Final

from eval import lockstep
from eval.duel import Duel, Side, match_win
from eval.stats import Estimate
from eval.stopping import CONFIDENCE, lasting_interval
from nardi.cube_duel_view import cube_document, cube_lines

__all__ = ["document", "notes", "table", "with_error"]

_LEVEL: Final = f"{CONFIDENCE:.0%}"


def with_error(estimate: Estimate) -> str:
    """Such as "+0.560 ± 0.013"; an error below 0.0095 gets a digit more."""
    digits = 3 if math.isnan(estimate.stderr) or estimate.stderr >= 0.0095 else 4
    return f"{estimate.mean:+.{digits}f} ± {estimate.stderr:.{digits}f}"


# --- JSON ---


def document(duel: Duel) -> dict[str, Any]:
    """The JSON of a duel."""
    return {
        "a": _side_document(duel.a),
        "b": _side_document(duel.b),
        "games": duel.n_games if duel.cube is None else duel.cube[0].games,
        "matches": duel.n_games if duel.is_match else None,
        **_estimate("ppg", None if duel.is_match else duel.ppg),
        **_estimate("adjusted_ppg", None if duel.is_match else duel.adjusted),
        **_estimate("match_win", match_win(duel.ppg) if duel.is_match else None),
        **_estimate(
            "adjusted_match_win",
            match_win(duel.adjusted) if duel.is_match and duel.adjusted else None,
        ),
        "luck_net": duel.luck_net,
        "points": None if duel.is_match else {str(points): n for points, n in duel.points.items()},
        "cube": cube_document(duel),
        "seed": duel.seed,
        "seconds": duel.seconds,
        "rules": duel.rules.as_dict(),
        "unfinished": duel.n_unfinished,
        "from_file": duel.n_from_file,
        "stop": _stop_document(duel) if duel.stop else None,
        "ended": duel.ended,
        "interrupted": duel.interrupted,
        "fault": duel.fault,
    }


def _estimate(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    if estimate is None:
        return {name: None, f"stderr_{name}": None}
    return {name: estimate.mean, f"stderr_{name}": _number(estimate.stderr)}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _side_document(side: Side) -> dict[str, Any]:
    work = side.work
    return {
        "bot": side.bot,
        "win": side.win,
        "gammon": side.gammon,
        "backgammon": side.backgammon,
        "decisions": work.decisions,
        "cpu_seconds": work.cpu_seconds,
        "cpu_ms_per_decision": _ratio(1000 * work.cpu_seconds, work.decisions),
        "evaluations": work.evaluations,
        "evaluations_per_cpu_second": None
        if work.evaluations is None
        else _ratio(work.evaluations, work.cpu_seconds),
    }


def _ratio(a: float, b: float) -> float | None:
    return a / b if b else None


def _stop_document(duel: Duel) -> dict[str, Any]:
    low, high = _lasting(duel)
    unit = "match_win" if duel.is_match else "ppg"
    return {
        f"until_width_{unit}": _width(duel),
        "until_decided": duel.stop.decided,
        "confidence": CONFIDENCE,
        f"lasting_low_{unit}": _number(low),
        f"lasting_high_{unit}": _number(high),
    }


def _lasting(duel: Duel) -> tuple[float, float]:
    return lasting_interval(match_win(duel.best) if duel.is_match else duel.best)


def _width(duel: Duel) -> float | None:
    """Of the stop rule, in the unit that is shown."""
    width = duel.stop.width
    return width if width is None or not duel.is_match else width / 2


# --- text ---


def table(duel: Duel) -> str:
    """The figures for people."""
    what = f"{duel.n_games:,} games"
    if duel.is_match and duel.cube is not None:
        what = (
            f"{duel.n_games:,} matches to {duel.rules.match_to} points"
            f" ({duel.cube[0].games:,} games)"
        )
    lines = [
        f"{duel.a.bot} against {duel.b.bot}: {what}, seed {duel.seed}, rules {duel.rules}",
        "",
        *_side_lines(duel),
        *cube_lines(duel),
        "",
        f"{duel.a.bot} {_result(duel)}",
    ]
    if duel.adjusted is not None:
        played = _shown(duel, duel.ppg)
        told = played if math.isnan(duel.ppg.stderr) else f"{played}{_times(duel)}"
        lines.append(f"  luck of the dice taken out by {duel.luck_net}; as played {told}")
    if duel.stop:
        lines.append(_stop_line(duel))
    n_played = duel.n_games - duel.n_from_file
    unit = "matches" if duel.is_match else "games"
    if n_played:
        rate = n_played / duel.seconds
        speed = f"{duel.seconds:,.1f} s, {rate:,.{0 if rate >= 10 else 2}f} {unit}/s"
    else:
        speed = "no game played"
    if duel.n_from_file:
        speed += f"; {duel.n_from_file:,} {unit} were in the file"
    return "\n".join([*lines, speed])


def _side_lines(duel: Duel) -> list[str]:
    sides = (duel.a, duel.b)
    width = max(len(side.bot) for side in sides)
    lines = [f"{'':{width}}       win    gammon  backgammon  CPU ms/decision  evaluations/s"]
    for side in sides:
        work = side.work
        rates = f"{side.win:10.2%}{side.gammon:10.2%}{side.backgammon:12.2%}"
        ms = _ratio(1000 * work.cpu_seconds, work.decisions)
        each = "-" if ms is None else f"{ms:.3f}" if ms < 10 else f"{ms:,.1f}"
        speed = None if work.evaluations is None else _ratio(work.evaluations, work.cpu_seconds)
        per_second = "-" if speed is None else f"{speed:,.0f}"
        lines.append(f"{side.bot:{width}}{rates}{each:>17}{per_second:>15}")
    return lines


def _shown(duel: Duel, score: Estimate) -> str:
    """A score with its error if that is known, in the duel's unit."""
    if duel.is_match:
        rate = match_win(score)
        error = "" if math.isnan(rate.stderr) else f" ± {rate.stderr:.2%}"
        return f"{rate.mean:.2%}{error}"
    return f"{score.mean:+.3f}" if math.isnan(score.stderr) else with_error(score)


def _result(duel: Duel) -> str:
    score = duel.best
    text = _shown(duel, score)
    if math.isnan(score.stderr):
        what = "matches" if duel.is_match else "games"
        interval = f"one pair of {what} tells no error"
    elif duel.is_match:
        low, high = match_win(score).interval(CONFIDENCE)
        interval = f"{_LEVEL}: {low:.2%} to {high:.2%}"
    else:
        digits = 3 if score.stderr >= 0.0095 else 4
        low, high = score.interval(CONFIDENCE)
        interval = f"{_LEVEL}: {low:+.{digits}f} to {high:+.{digits}f}"
    if duel.is_match:
        return f"wins {text} of the matches ({interval})"
    return f"scores {text} points per game ({interval})"


def _times(duel: Duel) -> str:
    """How much smaller the error is, if it is."""
    assert duel.adjusted is not None
    if not duel.adjusted.stderr:
        return ""
    ratio = duel.ppg.stderr / duel.adjusted.stderr
    return f", whose error is {ratio:.1f} times as large" if ratio >= 1.05 else ""


def _stop_line(duel: Duel) -> str:
    low, high = _lasting(duel)
    ends = f"{low:.2%} to {high:.2%}" if duel.is_match else f"{low:+.3f} to {high:+.3f}"
    lasting = f"{_LEVEL} however often looked at: {ends}"
    if duel.ended == "decided":
        winner = duel.a.bot if duel.best.mean > 0 else duel.b.bot
        return f"decided: {winner} is better ({lasting})"
    if duel.ended == "width":
        return f"stopped: the half-width is {_width(duel)} or less"
    return f"not decided ({lasting})" if duel.stop.decided else "the width was not reached"


def notes(duel: Duel, n_wanted: int) -> list[str]:
    """What else is to be told, on stderr."""
    told = []
    what = "matches" if duel.is_match else "games"
    if duel.n_unfinished:
        counts = "count half" if duel.is_match else "count as 0 points"
        told.append(
            f"{duel.n_unfinished:,} {what} were not over after {lockstep.MOST_TURNS:,} turns"
            f"{' of a game' if duel.is_match else ''} and {counts}"
        )
    of_first = f"the figures are of the first {duel.n_games:,} of {n_wanted:,} {what}"
    if duel.interrupted:
        told.append(f"interrupted; {of_first}")
    if duel.fault is not None:
        told.append(f"error: {duel.fault}; {of_first}")
    return told
