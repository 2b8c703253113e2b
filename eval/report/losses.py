"""The part of a report about decisions: loss by phase, how losses are spread, the worst misses."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from eval.curves import FloatArray
from eval.decisions import Losses, Miss, in_pr, mean_differences, worst_misses
from eval.references import DecisionSet
from eval.report.drawing import (
    Z95,
    drawing,
    legend_text,
    new_figure,
    series_color,
    svg,
)
from eval.report.page import Html, boards, figure, note, preformatted, section, table
from eval.report.texts import count, percent, with_error
from eval.stats import Estimate

__all__ = ["Share", "decision_sections", "spread"]

_SMALLEST: Final = 5e-4  # loss from which the plot begins
_THRESHOLDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class Share(NamedTuple):
    """The decisions that cost at least so much."""

    loss: float
    """In points per game."""
    of_decisions: float
    """Their share of all decisions."""
    of_loss: float
    """Their share of the whole loss; 0 if there is none."""


def spread(losses: FloatArray) -> list[Share]:
    """How losses are spread over decisions, from small ones to large ones."""
    whole = float(losses.sum())
    shares = []
    for threshold in _THRESHOLDS:
        large = losses[losses >= threshold]
        of_loss = float(large.sum()) / whole if whole > 0 else 0.0
        shares.append(Share(threshold, len(large) / len(losses), of_loss))
    return shares


def decision_sections(
    names: Sequence[str],
    measured: Sequence[Losses],
    decisions: DecisionSet,
    worst: int,
    drawn_board: Callable[[Miss], str],
) -> list[Html]:
    """Of one bot or two; worst: how many misses of each are shown, with a board as text.

    names: of the bots, each unlike the other.
    """
    parts = [
        section(
            "Loss per decision",
            _loss_table(measured, decisions, names),
            figure(_phases_plot(measured, names), _PHASES),
        ),
        section("How the losses are spread", figure(_spread_plot(measured, names), _SPREAD)),
    ]
    for name, each in zip(names, measured, strict=True):
        misses = worst_misses(each, decisions, worst)
        if misses:
            shown = [_miss(miss, drawn_board(miss)) for miss in misses]
            parts.append(section(f"Worst misses of {name}", _MISSES, boards(shown)))
    return parts


_PHASES: Final = (
    "Error rating (PR) by phase of the game: 500 times the mean loss of a decision in points per"
    " game, lower is better. Bars are 95 % intervals, 1.96 standard errors to both sides; in"
    " brackets the number of decisions."
)
_SPREAD: Final = (
    "Left: the share of decisions that cost at least so much (a best candidate costs nothing)."
    " Right: what these decisions add to the whole loss: a curve that stays high far to the right"
    " tells of few large errors. Losses in points per game by the reference, whose own errors make"
    " small losses look larger. No error bars: neighbouring points are not independent."
)
_MISSES: Final = note(
    "X is on roll and at the bottom. ± is the standard error of the reference's own difference"
    " between the two plays, where the file tells it."
)


def _estimate(estimate: Estimate, digits: int, sign: str = "") -> str:
    return with_error(estimate.mean, estimate.stderr, digits, sign)


def _loss_table(measured: Sequence[Losses], decisions: DecisionSet, names: Sequence[str]) -> Html:
    caption = (
        f"{count(len(decisions.boards))} decisions of {decisions.name}; ± is one standard error"
    )
    rows = []
    if len(measured) == 1:
        for phase, loss in [("all", measured[0].overall), *measured[0].by_phase.items()]:
            share = percent(loss.best.mean, loss.best.stderr)
            cells = [count(loss.loss.n), _estimate(loss.loss, 4), _estimate(loss.pr, 2), share]
            rows.append([phase, *cells])
        header = ["phase", "decisions", "loss, ppg", "PR", "best plays"]
        return table(header, rows, caption=caption)
    a, b = measured
    overall, by_phase = mean_differences(a, b, decisions)
    all_a = {"all": a.overall, **a.by_phase}
    all_b = {"all": b.overall, **b.by_phase}
    for phase, difference in {"all": overall, **by_phase}.items():
        cells = [_estimate(all_a[phase].pr, 2), _estimate(all_b[phase].pr, 2)]
        paired = _estimate(in_pr(difference), 2, "+")
        rows.append([phase, count(all_a[phase].loss.n), *cells, paired])
    best = [percent(each.overall.best.mean, each.overall.best.stderr) for each in measured]
    rows.append(["best plays", "", *best, ""])
    header = ["phase", "decisions", *(f"PR of {name}" for name in names), "difference"]
    what = "; the difference is the first minus the second, with the error of paired differences"
    return table(header, rows, caption=caption + what)


def _phases_plot(measured: Sequence[Losses], names: Sequence[str]) -> Html:
    phases = {"all": measured[0].overall, **measured[0].by_phase}
    with drawing():
        drawn = new_figure(9.2, 0.9 + 0.42 * len(phases))
        panel = drawn.subplots()
        places = np.arange(len(phases))
        for number, (name, each) in enumerate(zip(names, measured, strict=True)):
            rates = [loss.pr for loss in (each.overall, *each.by_phase.values())]
            means = np.array([rate.mean for rate in rates])
            bars = Z95 * np.nan_to_num(np.array([rate.stderr for rate in rates]))
            shift = 0.24 * (number - (len(measured) - 1) / 2)
            panel.errorbar(
                means,
                places + shift,
                xerr=bars,
                fmt="o",
                color=series_color(number),
                markersize=5,
                elinewidth=2,
                label=legend_text(name),
            )
        panel.set_yticks(places, [f"{name} ({count(x.loss.n)})" for name, x in phases.items()])
        panel.set_ylim(len(phases) - 0.4, -0.6)  # the first one at the top
        panel.set_xlim(left=0)
        panel.set_xlabel("PR")
        panel.grid(axis="y", visible=False)
        if len(measured) > 1:
            drawn.legend(loc="outside upper right", ncols=2)
        return svg(drawn, "phases", "Error rating by phase with 95 % intervals")


def _spread_plot(measured: Sequence[Losses], names: Sequence[str]) -> Html:
    with drawing():
        drawn = new_figure(9.2, 3.0)
        panels = drawn.subplots(1, 2)
        for number, (name, each) in enumerate(zip(names, measured, strict=True)):
            losses, of_decisions, of_loss = _cumulative(each.losses)
            color = series_color(number)
            for panel, shares in zip(panels, (of_decisions, of_loss), strict=True):
                panel.step(losses, 100 * shares, where="pre", color=color, label=legend_text(name))
        for panel, of_what in zip(panels, ("of all decisions", "of the whole loss"), strict=True):
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_title(of_what)
            panel.set_xlabel("loss of at least, points per game")
            panel.set_ylabel("%")
            panel.set_ylim(0, None)
        if len(measured) > 1:
            panels[0].legend(loc="best")
        return svg(drawn, "spread", "Shares of decisions and of the loss by size of the loss")


def _cumulative(losses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Losses in steps of two percent from half a thousandth up, and the shares above each."""
    top = max(float(losses.max(initial=0.0)), 2 * _SMALLEST)
    steps = np.geomspace(_SMALLEST, top, 1 + round(np.log(top / _SMALLEST) / np.log(1.02)))
    ordered = np.sort(losses)
    below = np.searchsorted(ordered, steps * (1 - 1e-12))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    whole = sums[-1] if sums[-1] > 0 else 1.0
    return steps, 1 - below / len(losses), (sums[-1] - sums[below]) / whole


def _miss(miss: Miss, board: str) -> Html:
    dice = f"{miss.roll[0]}-{miss.roll[1]}"
    play = "a play by chance" if miss.play is None else miss.play
    lines = [
        f"loses {with_error(miss.loss, miss.stderr_loss, 3)} ppg · {miss.phase} ·"
        f" line {miss.line} · {miss.gnuid}",
        f"{dice}: it plays {play}; best is {miss.best_play}",
        board,
    ]
    return Html(f"<div>{preformatted(chr(10).join(lines))}</div>")
