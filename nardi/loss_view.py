"""Loss per decision and value errors as text and as JSON; documented in docs/json.md."""

import math
from collections.abc import Sequence
from typing import Any

from eval.decisions import (
    Loss,
    Losses,
    Miss,
    in_pr,
    mean_differences,
    worst_misses,
)
from eval.references import DecisionSet, PositionSet
from eval.stats import Estimate
from eval.value_errors import Fit, ValueErrors, rmse_differences

__all__ = [
    "decisions_document",
    "decisions_text",
    "positions_document",
    "positions_text",
]

_LETTERS = "AB"
_WIDTH = 15  # of a column of figures


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _figures(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.mean, f"stderr_{name}": _known(estimate.stderr)}


# --- JSON ---


def decisions_document(
    measured: Sequence[Losses], decisions: DecisionSet, worst: int
) -> dict[str, Any]:
    """Of one bot or two; worst: how many misses to tell of each."""
    document: dict[str, Any] = {
        "file": decisions.name,
        "count": len(decisions.boards),
        "candidates": len(decisions.afterstates),
        "a": None,
        "b": None,
        "difference": None,
    }
    for key, each in zip("ab", measured, strict=False):
        document[key] = {
            "bot": each.bot,
            "all": _loss_document(each.overall),
            "phases": {phase: _loss_document(loss) for phase, loss in each.by_phase.items()},
            "values": None if each.values is None else _values_document(each.values),
            "worst": [_miss_document(miss) for miss in worst_misses(each, decisions, worst)],
        }
    if len(measured) == 2:
        overall, by_phase = mean_differences(measured[0], measured[1], decisions)
        document["difference"] = {
            "all": _difference_document(overall),
            "phases": {phase: _difference_document(each) for phase, each in by_phase.items()},
        }
    return document


def _loss_document(loss: Loss) -> dict[str, Any]:
    return {
        "count": loss.loss.n,
        **_difference_document(loss.loss),
        **_figures("best_share", loss.best),
    }


def _difference_document(loss: Estimate) -> dict[str, float | None]:
    return {**_figures("loss_ppg", loss), **_figures("pr", in_pr(loss))}


def _miss_document(miss: Miss) -> dict[str, Any]:
    return {
        "loss_ppg": miss.loss,
        "stderr_loss_ppg": _known(miss.stderr_loss),
        "line": miss.line,
        "gnuid": miss.gnuid,
        "dice": list(miss.roll),
        "phase": miss.phase,
        "play": miss.play,
        "best_play": miss.best_play,
    }


def positions_document(
    names: Sequence[str], measured: Sequence[ValueErrors], positions: PositionSet
) -> dict[str, Any]:
    """Of one bot or two; names: the texts that name them."""
    document: dict[str, Any] = {
        "file": positions.name,
        "count": len(positions.boards),
        "a": None,
        "b": None,
        "difference": None,
    }
    for key, name, each in zip("ab", names, measured, strict=False):
        document[key] = {"bot": name, "values": _values_document(each)}
    if len(measured) == 2:
        document["difference"] = {
            name: _figures(_in_units(name, "rmse"), difference)
            for name, difference in rmse_differences(measured[0], measured[1]).items()
        }
    return document


def _values_document(values: ValueErrors) -> dict[str, dict[str, float | None]]:
    return {name: _fit_document(name, fit) for name, fit in values.fits.items()}


def _fit_document(name: str, fit: Fit) -> dict[str, float | None]:
    return {
        **_figures(_in_units(name, "rmse"), fit.rmse),
        **_figures(_in_units(name, "bias"), fit.bias),
    }


def _in_units(name: str, figure: str) -> str:
    """Equities are in points per game, probabilities have no unit."""
    return f"{figure}_ppg" if name == "equity" else figure


# --- text ---


def decisions_text(measured: Sequence[Losses], decisions: DecisionSet, worst: int) -> str:
    """Of one bot or two; worst: how many misses to tell of each."""
    lines = [f"{len(decisions.boards):,} decisions of {decisions.name}", *_legend(measured)]
    lines += [
        "",
        *(_one_bot(measured[0]) if len(measured) == 1 else _two_bots(measured, decisions)),
    ]
    for letter, each in zip(_LETTERS, measured, strict=False):
        if each.values is not None:
            lines += ["", *_values_table(f"{letter} on the candidates", each.values)]
    for letter, each in zip(_LETTERS, measured, strict=False):
        misses = worst_misses(each, decisions, worst)
        if misses:
            lines += ["", f"Worst misses of {letter}:", *map(_miss_line, misses)]
    return "\n".join(lines)


def _legend(measured: Sequence[Losses]) -> list[str]:
    return [f"{letter} = {each.bot}" for letter, each in zip(_LETTERS, measured, strict=False)]


def _one_bot(measured: Losses) -> list[str]:
    lines = [f"{'':12}{'decisions':>10}{'loss':>19}{'PR':>{_WIDTH}}{'best plays':>{_WIDTH}}"]
    for name, loss in _rows(measured):
        lines.append(
            f"{name:12}{loss.loss.n:10,}{_text(loss.loss, 4):>19}{_text(loss.pr, 2):>{_WIDTH}}"
            f"{_percent(loss.best):>{_WIDTH}}"
        )
    return lines


def _rows(measured: Losses) -> list[tuple[str, Loss]]:
    return [("all", measured.overall), *measured.by_phase.items()]


def _two_bots(measured: Sequence[Losses], decisions: DecisionSet) -> list[str]:
    a, b = measured
    overall, by_phase = mean_differences(a, b, decisions)
    lines = [
        f"{'':12}{'decisions':>10}{'PR of A':>{_WIDTH}}{'PR of B':>{_WIDTH}}{'A - B, paired':>17}"
    ]
    differences = [overall, *by_phase.values()]
    for (name, loss_a), (_, loss_b), each in zip(_rows(a), _rows(b), differences, strict=True):
        lines.append(
            f"{name:12}{loss_a.loss.n:10,}{_text(loss_a.pr, 2):>{_WIDTH}}"
            f"{_text(loss_b.pr, 2):>{_WIDTH}}{_text(in_pr(each), 2, '+'):>17}"
        )
    best = f"{_percent(a.overall.best):>{_WIDTH}}{_percent(b.overall.best):>{_WIDTH}}"
    return [*lines, f"{'best plays':22}{best}"]


def _text(estimate: Estimate, digits: int, sign: str = "") -> str:
    mean = f"{estimate.mean:{sign}.{digits}f}"
    return mean if math.isnan(estimate.stderr) else f"{mean} ± {estimate.stderr:.{digits}f}"


def _percent(estimate: Estimate) -> str:
    mean = f"{100 * estimate.mean:.1f}"
    return f"{mean} %" if math.isnan(estimate.stderr) else f"{mean} ± {100 * estimate.stderr:.1f} %"


def _miss_line(miss: Miss) -> str:
    dice = f"{miss.roll[0]}-{miss.roll[1]}"
    play = "by chance" if miss.play is None else miss.play
    return f"{miss.loss:.3f}  {miss.gnuid}  {dice}: {play}; best {miss.best_play}"


def positions_text(
    names: Sequence[str], measured: Sequence[ValueErrors], positions: PositionSet
) -> str:
    """Of one bot or two; names: the texts that name them."""
    lines = [f"{len(positions.boards):,} positions of {positions.name}"]
    lines += [f"{letter} = {name}" for letter, name in zip(_LETTERS, names, strict=False)]
    for letter, each in zip(_LETTERS, measured, strict=False):
        lines += ["", *_values_table(letter, each)]
    if len(measured) == 2:
        lines += ["", f"{'RMSE of A - B, paired':22}"]
        for name, difference in rmse_differences(measured[0], measured[1]).items():
            lines.append(f"{name:22}{_text(difference, 4, '+'):>19}")
    return "\n".join(lines)


def _values_table(title: str, values: ValueErrors) -> list[str]:
    lines = [f"{title:22}{'RMSE':>19}{'bias':>19}"]
    for name, fit in values.fits.items():
        lines.append(f"{name:22}{_text(fit.rmse, 4):>19}{_text(fit.bias, 4, '+'):>19}")
    return lines
