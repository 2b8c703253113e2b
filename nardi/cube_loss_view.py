"""Loss per decision of the cube as text and as JSON; documented in docs/json.md."""

import math
from collections.abc import Sequence
from typing import Any, Final

from eval.cube_decisions import KINDS, CubeLosses, CubeMiss, cube_differences, worst_cube
from eval.cube_references import CubeDecisionSet
from eval.decisions import Loss, in_pr
from eval.stats import Estimate

__all__ = ["cube_decisions_document", "cube_decisions_text"]

_LETTERS: Final = "AB"
_NAMES: Final = {"double": "doubling", "answer": "answers"}


def cube_decisions_document(
    measured: Sequence[CubeLosses], decisions: CubeDecisionSet, worst: int
) -> dict[str, Any]:
    """Of one bot or two; worst: how many misses to tell of each."""
    document: dict[str, Any] = {
        "file": decisions.name,
        "count": len(decisions.boards),
        "a": None,
        "b": None,
        "difference": None,
    }
    for key, each in zip("ab", measured, strict=False):
        document[key] = {
            "bot": each.bot,
            **{kind: _loss(each.overall[kind]) for kind in KINDS},
            "worst": [_miss(miss) for miss in worst_cube(each, decisions, worst)],
        }
    if len(measured) == 2:
        differences = cube_differences(measured[0], measured[1])
        document["difference"] = {kind: _estimates(each) for kind, each in differences.items()}
    return document


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "count": loss.loss.n,
        **_estimates(loss.loss),
        "best_share": loss.best.mean,
        "stderr_best_share": _known(loss.best.stderr),
    }


def _estimates(loss: Estimate) -> dict[str, float | None]:
    pr = in_pr(loss)
    return {
        "loss_ppg": loss.mean,
        "stderr_loss_ppg": _known(loss.stderr),
        "pr": pr.mean,
        "stderr_pr": _known(pr.stderr),
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _miss(miss: CubeMiss) -> dict[str, Any]:
    return {
        "loss_ppg": miss.loss,
        "line": miss.line,
        "gnuid": miss.gnuid,
        "kind": miss.kind,
        "action": miss.action,
        "best_action": miss.best,
    }


def cube_decisions_text(
    measured: Sequence[CubeLosses], decisions: CubeDecisionSet, worst: int
) -> str:
    """Of one bot or two; worst: how many misses to tell of each."""
    lines = [f"{len(decisions.boards):,} decisions of the cube of {decisions.name}"]
    lines += [f"{letter} = {each.bot}" for letter, each in zip(_LETTERS, measured, strict=False)]
    lines += ["", f"{'':14}{'loss':>19}{'PR':>15}{'right':>15}"]
    for letter, each in zip(_LETTERS, measured, strict=False):
        for kind in KINDS:
            loss = each.overall[kind]
            lines.append(
                f"{letter} {_NAMES[kind]:12}{_text(loss.loss, 4):>19}{_text(loss.pr, 2):>15}"
                f"{_percent(loss.best):>15}"
            )
    if len(measured) == 2:
        lines += ["", "A - B, paired"]
        for kind, difference in cube_differences(measured[0], measured[1]).items():
            lines.append(
                f"  {_NAMES[kind]:12}{_text(difference, 4, '+'):>19}"
                f"{_text(in_pr(difference), 2, '+'):>15}"
            )
    for letter, each in zip(_LETTERS, measured, strict=False):
        misses = worst_cube(each, decisions, worst)
        if misses:
            lines += ["", f"Worst misses of {letter}:"]
            lines += [f"{m.loss:.3f}  {m.gnuid}  {m.action}; best {m.best}" for m in misses]
    return "\n".join(lines)


def _text(estimate: Estimate, digits: int, sign: str = "") -> str:
    mean = f"{estimate.mean:{sign}.{digits}f}"
    return mean if math.isnan(estimate.stderr) else f"{mean} ± {estimate.stderr:.{digits}f}"


def _percent(estimate: Estimate) -> str:
    mean = f"{100 * estimate.mean:.1f}"
    return f"{mean} %" if math.isnan(estimate.stderr) else f"{mean} ± {100 * estimate.stderr:.1f} %"
