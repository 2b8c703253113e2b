"""Rollouts as text, as JSON, and while they run; the JSON is documented in docs/json.md."""

import sys
import textwrap
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from engine.scoring import FOUR_KINDS
from nardi.progress import Progress
from nardi.render import FOUR_KINDS_NOTE, MOVER, board_text, situation_text

if TYPE_CHECKING:
    from agent.rollout import Line, Roller, Rollout
    from engine.notation import Position

__all__ = ["Live", "decision_of_lines", "line_document", "rollout_text"]

_OUTPUTS: Final = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")
_DIGITS: Final = 6
_SETTLED: Final = {
    "over": "the game is over, so this is exact",
    "exact": "exact, by the tables of endings",
    "decided": "decided: no dice can change the result",
    "valued": "the net's own value, in which no dice are left",
}


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0


# --- JSON ---


def line_document(roller: "Roller", line: "Line") -> dict[str, Any]:
    """The figures of one play or position."""
    table, is_match = roller.table, bool(roller.situation and roller.situation.is_match)
    return {
        "equity": _rounded(line.equity),
        "stderr_equity": _rounded(line.stderr),
        "diff": _rounded(line.diff),
        "stderr_diff": _rounded(line.stderr_diff),
        "mwc": _rounded((line.equity * table.unit + table.offset + 1) / 2) if is_match else None,
        "stderr_mwc": _rounded(line.stderr * table.unit / 2) if is_match else None,
        "probs": {name: _rounded(p) for name, p in zip(_OUTPUTS, line.probs, strict=True)},
        "stderr_probs": {
            name: _rounded(p) for name, p in zip(_OUTPUTS, line.stderr_probs, strict=True)
        },
        "ends": line.ends,
        "mean_plies": _rounded(line.mean_plies),
        "settled": line.settled,
        "suspicious": line.suspicious,
    }


def decision_of_lines(roller: "Roller", found: "Rollout") -> dict[str, Any]:
    """The cube action that the equities of not doubling and of a taken double make right."""
    from agent.cube import CubeValues, decide, why_no_double

    assert roller.situation is not None
    lines = found.lines
    values = CubeValues(
        no_double=lines[0].equity,
        double_take=lines[1].equity if len(lines) > 1 else None,
        double_pass=1.0 if len(lines) > 1 else None,
    )
    doubles, answer, action = decide(values, roller.situation.cube_owner == "mover")
    gain = stderr = None
    if len(lines) > 1:
        passed = lines[1].equity > 1
        gain = min(lines[1].equity, 1.0) - lines[0].equity
        pair = lines[0] if passed else lines[1 if lines[1].stderr_diff else 0]
        stderr = pair.stderr if passed else pair.stderr_diff
    return {
        "action": action,
        "double": doubles,
        "answer": answer,
        "why_not": why_no_double(roller.situation),
        "gain": None if gain is None else _rounded(gain),
        "stderr_gain": None if stderr is None else _rounded(stderr),
    }


# --- text ---


def _equity(value: float, stderr: float) -> str:
    return f"{value:+.3f} ± {stderr:.3f}" if stderr >= 0.0095 else f"{value:+.4f} ± {stderr:.4f}"


def _rows(lines: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[str]:
    """Rank, label and figures of each line, the errors of its probabilities below."""
    width = max(8, *(len(label) for _, label, _ in lines))
    head = f"   {'':{width}}  {'equity':<17}{'difference':<16}"
    upper = "".join(f"{word:>6}" for word in ("win", "win", "win", "lose", "lose"))
    lower = "".join(f"{word:>6}" for word in ("", "g", "bg", "g", "bg"))
    rows = [head + upper, " " * len(head) + lower]
    for rank, label, line in lines:
        equity = _equity(line["equity"], line["stderr_equity"])
        diff = _equity(line["diff"], line["stderr_diff"]) if line["diff"] else ""
        probs = "".join(f"{100 * p:6.2f}" for p in line["probs"].values())
        errors = "".join(f"{100 * p:6.2f}" for p in line["stderr_probs"].values())
        rows.append(f"{rank:>2} {label:<{width}}  {equity:<17}{diff:<16}{probs}")
        rows.append(f"   {'':{width}}  {'':<17}{'':>14}± {errors}")
    return rows


def rollout_text(document: Mapping[str, Any], position: "Position") -> str:
    """The result for a terminal, of the document of docs/json.md."""
    from nardi.net_facts import net_lines

    lines: list[tuple[str, str, Mapping[str, Any]]]
    if "plays" in document:
        plays = document["plays"]
        lines = [(str(i), play["play"], play) for i, play in enumerate(plays, start=1)]
        head = f"{len(plays)} of {document['count']} legal plays"
    else:
        taken = document["double_take"]
        label = "no double" if document["cube"] else "position"
        lines = [("", label, document["no_double"])]
        lines += [("", "double, take", taken)] if taken else []
        head = "before the roll"
    shown = [board_text(position), f"{situation_text(position)}: {head}", "", *_rows(lines)]
    for _, label, line in lines:
        if line["mwc"] is not None:
            chance = f"{line['mwc']:.2%} ± {line['stderr_mwc']:.2%}"
            shown.append(f"   {label}: wins the match {chance}")
    if document.get("decision"):
        shown += ["", _decision_text(document["decision"])]
    shown += ["", *_notes(document, lines), *net_lines(document["net"])]
    return "\n".join(shown)


def _decision_text(decision: Mapping[str, Any]) -> str:
    text = f"{MOVER}: {decision['action']}"
    if decision["why_not"]:
        return f"{text}: {decision['why_not']}"
    if decision["gain"] is None:
        return text
    return f"{text}; doubling gains {_equity(decision['gain'], decision['stderr_gain'])}"


def _notes(
    document: Mapping[str, Any], lines: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> list[str]:
    notes = []
    for _, label, line in lines:
        if line["settled"]:
            notes.append(f"{label}: {_SETTLED[line['settled']]}")
        if line["suspicious"]:
            notes.append(
                f"{label}: suspicious, all {document['trials']:,} trials came to the same value"
                " though nothing says they must; its error is not 0 but unknown"
            )
    cut = document["truncate_plies"]
    how = [
        f"{document['trials']:,} trials each"
        + {"width": ", stopped at the width", "interrupted": ", interrupted"}.get(
            document["ended"], ""
        ),
        "to the end" if cut is None else f"cut after {cut} plies",
        f"plays at {document['ply']} ply",
        "luck taken off" if document["luck"] else "luck not taken off",
        f"seed {document['seed']}",
        f"{document['seconds']:.1f}\u00a0s",  # not to be torn apart
    ]
    unit = "points per game, without the cube"
    if document["cube"]:
        unit = "points per game and present stake, with the cube"
        if document["met"]:
            unit = f"+1 wins a single game at this stake; match equity table {document['met']}"
    notes.append(", ".join(how))
    notes.append(f"equity = {MOVER}'s {unit}; ± are standard errors; chances in percent")
    if document["rules"]["scoring"] == FOUR_KINDS:
        notes.append(f"wins count 1, 2, 3, 4; {FOUR_KINDS_NOTE}")
    if not document["cube"] and document["position"]["match_length"]:
        notes.append("the score of the match is not looked at; --cube does")
    wrapped = [textwrap.wrap(note, 80, break_on_hyphens=False) for note in notes]
    return [line.replace("\u00a0", " ") for part in wrapped for line in part]


# --- while it runs ---


class Live:
    """How a rollout stands, on stderr: a table on a terminal, a line every few seconds else."""

    def __init__(self, trials: int, labels: Sequence[str]) -> None:
        self._labels = labels
        self._trials = trials
        self._drawn = 0
        self._progress = None
        if not sys.stderr.isatty():
            self._progress = Progress("nardi rollout", trials, "trials")

    def update(self, found: "Rollout") -> None:
        """Show how things stand."""
        best = found.lines[found.order[0]]
        if self._progress is not None:
            note = f"best {self._labels[found.order[0]]} {_equity(best.equity, best.stderr)}"
            self._progress.update(found.trials, note)
            return
        rows = [f"{found.trials:,} of {self._trials:,} trials"]
        width = max(len(label) for label in self._labels)
        for i in found.order:
            line = found.lines[i]
            diff = _equity(line.diff, line.stderr_diff) if line.diff else ""
            rows.append(
                f"  {self._labels[i]:<{width}}  {_equity(line.equity, line.stderr)}  {diff}"
            )
        self._wipe()
        print("\n".join(rows), file=sys.stderr, flush=True)
        self._drawn = len(rows)

    def _wipe(self) -> None:
        print("\x1b[F\x1b[K" * self._drawn, end="", file=sys.stderr, flush=True)
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wipe()
