"""Figures of duels as text and as JSON; the JSON is documented in docs/json.md."""

import math
from typing import Any, Final

from eval import lockstep
from eval.duel import Duel, Side
from eval.stats import Estimate
from eval.stopping import CONFIDENCE, lasting_interval

__all__ = ["document", "notes", "table", "with_error"]

_LEVEL: Final = f"{CONFIDENCE:.0%}"


def with_error(estimate: Estimate) -> str:
    """Such as "+0.560 ± 0.013"; an error below 0.0095 gets a digit more."""
    digits = 3 if math.isnan(estimate.stderr) or estimate.stderr >= 0.0095 else 4
    return f"{estimate.mean:+.{digits}f} ± {estimate.stderr:.{digits}f}"


# --- JSON ---


def document(duel: Duel) -> dict[str, Any]:
    """The JSON of a duel."""
    adjusted = duel.adjusted
    return {
        "a": _side_document(duel.a),
        "b": _side_document(duel.b),
        "games": duel.n_games,
        "ppg": duel.ppg.mean,
        "stderr_ppg": _number(duel.ppg.stderr),
        "adjusted_ppg": None if adjusted is None else adjusted.mean,
        "stderr_adjusted_ppg": None if adjusted is None else _number(adjusted.stderr),
        "luck_net": duel.luck_net,
        "points": {str(points): n for points, n in duel.points.items()},
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
    low, high = lasting_interval(duel.best)
    return {
        "until_width_ppg": duel.stop.width,
        "until_decided": duel.stop.decided,
        "confidence": CONFIDENCE,
        "lasting_low_ppg": _number(low),
        "lasting_high_ppg": _number(high),
    }


# --- text ---


def table(duel: Duel) -> str:
    """The figures for people."""
    lines = [
        f"{duel.a.bot} against {duel.b.bot}: {duel.n_games:,} games, seed {duel.seed}, rules"
        f" {duel.rules}",
        "",
        *_side_lines(duel),
        "",
        f"{duel.a.bot} scores {_score(duel.best)}",
    ]
    if duel.adjusted is not None:
        lines += [
            f"  luck of the dice taken out by {duel.luck_net}; as played"
            f" {with_error(duel.ppg)}{_times(duel)}"
            if not math.isnan(duel.ppg.stderr)
            else f"  luck of the dice taken out by {duel.luck_net}; as played {duel.ppg.mean:+.3f}"
        ]
    if duel.stop:
        lines.append(_stop_line(duel))
    n_played = duel.n_games - duel.n_from_file
    if n_played:
        rate = n_played / duel.seconds
        speed = f"{duel.seconds:,.1f} s, {rate:,.{0 if rate >= 10 else 2}f} games/s"
    else:
        speed = "no game played"
    if duel.n_from_file:
        speed += f"; {duel.n_from_file:,} games were in the file"
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


def _score(score: Estimate) -> str:
    if math.isnan(score.stderr):
        return f"{score.mean:+.3f} points per game (one pair of games tells no error)"
    digits = 3 if score.stderr >= 0.0095 else 4
    low, high = score.interval(CONFIDENCE)
    interval = f"{low:+.{digits}f} to {high:+.{digits}f}"
    return f"{with_error(score)} points per game ({_LEVEL}: {interval})"


def _times(duel: Duel) -> str:
    """How much smaller the error is, if it is."""
    assert duel.adjusted is not None
    if not duel.adjusted.stderr:
        return ""
    ratio = duel.ppg.stderr / duel.adjusted.stderr
    return f", whose error is {ratio:.1f} times as large" if ratio >= 1.05 else ""


def _stop_line(duel: Duel) -> str:
    low, high = lasting_interval(duel.best)
    lasting = f"{_LEVEL} however often looked at: {low:+.3f} to {high:+.3f}"
    if duel.ended == "decided":
        winner = duel.a.bot if duel.best.mean > 0 else duel.b.bot
        return f"decided: {winner} is better ({lasting})"
    if duel.ended == "width":
        return f"stopped: the half-width is {duel.stop.width} or less"
    return f"not decided ({lasting})" if duel.stop.decided else "the width was not reached"


def notes(duel: Duel, n_wanted: int) -> list[str]:
    """What else is to be told, on stderr."""
    told = []
    if duel.n_unfinished:
        told.append(
            f"{duel.n_unfinished:,} games were not over after {lockstep.MOST_TURNS:,} turns and"
            " count as 0 points"
        )
    of_first = f"the figures are of the first {duel.n_games:,} of {n_wanted:,} games"
    if duel.interrupted:
        told.append(f"interrupted; {of_first}")
    if duel.fault is not None:
        told.append(f"error: {duel.fault}; {of_first}")
    return told
