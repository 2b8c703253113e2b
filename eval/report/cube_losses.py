"""The part of a report about decisions of the cube: losses of doubling and of answers, misses."""

from collections.abc import Callable, Sequence
from typing import Final

from eval.cube_decisions import KINDS, CubeLosses, CubeMiss, cube_differences, worst_cube
from eval.cube_references import CubeDecisionSet
from eval.decisions import in_pr
from eval.report.page import Html, boards, note, preformatted, section, table
from eval.report.texts import count, percent, with_error
from eval.stats import Estimate

__all__ = ["KIND_NAMES", "cube_sections"]

KIND_NAMES: Final = {"double": "doubling", "answer": "answers"}
"""What people read for the two kinds of decision."""

_MISSES: Final = note(
    "X is on roll and at the bottom; answers are those of O to a double of X. Losses in points per"
    " game and present stake, at a score in their equivalent."
)


def cube_sections(
    names: Sequence[str],
    measured: Sequence[CubeLosses],
    decisions: CubeDecisionSet,
    worst: int,
    drawn_board: Callable[[str], str],
) -> list[Html]:
    """Of one bot or two; worst: how many misses of each are shown.

    names: of the bots, each unlike the other; drawn_board: the board of a GNUID, as text.
    """
    parts = [section("Loss per decision of the cube", _loss_table(names, measured, decisions))]
    for name, each in zip(names, measured, strict=True):
        misses = worst_cube(each, decisions, worst)
        if misses:
            shown = [_miss(miss, drawn_board(miss.gnuid)) for miss in misses]
            title = f"Worst misses of {name} with the cube"
            parts.append(section(title, _MISSES, boards(shown)))
    return parts


def _estimate(estimate: Estimate, digits: int, sign: str = "") -> str:
    return with_error(estimate.mean, estimate.stderr, digits, sign)


def _loss_table(
    names: Sequence[str], measured: Sequence[CubeLosses], decisions: CubeDecisionSet
) -> Html:
    caption = (
        f"{count(len(decisions.boards))} decisions of the cube of {decisions.name}; ± is one"
        " standard error"
    )
    rows = []
    for name, each in zip(names, measured, strict=True):
        for kind in KINDS:
            loss = each.overall[kind]
            share = percent(loss.best.mean, loss.best.stderr)
            told = [KIND_NAMES[kind], _estimate(loss.loss, 4), _estimate(loss.pr, 2), share]
            rows.append([name, *told])
    if len(measured) == 2:
        caption += "; the difference is the first minus the second, by paired differences"
        for kind, difference in cube_differences(measured[0], measured[1]).items():
            cells = [_estimate(difference, 4, "+"), _estimate(in_pr(difference), 2, "+")]
            rows.append(["difference", KIND_NAMES[kind], *cells, ""])
    return table(["bot", "decision", "loss, ppg", "PR", "right"], rows, caption=caption)


def _miss(miss: CubeMiss, board: str) -> Html:
    lines = [
        f"loses {miss.loss:.3f} ppg · {KIND_NAMES[miss.kind]} · line {miss.line} · {miss.gnuid}",
        f"it says {miss.action}; best is {miss.best}",
        board,
    ]
    return Html(f"<div>{preformatted(chr(10).join(lines))}</div>")
