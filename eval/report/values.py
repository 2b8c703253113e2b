"""The part of a report about values: RMSE and bias, and each value against its reference."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from eval.curves import FloatArray
from eval.report.drawing import Z95, drawing, new_figure, series_color, svg, zero_line
from eval.report.page import Html, figure, section, table
from eval.report.texts import count, with_error
from eval.value_errors import ValueErrors, rmse_differences

__all__ = ["value_sections"]

_MOST_POINTS: Final = 2_000
_BINS: Final = 12
_FEWEST_IN_BIN: Final = 10


def value_sections(
    name: str, title: str, measured: Mapping[str, ValueErrors], equities: FloatArray
) -> list[Html]:
    """Of one bot or two on the same values.

    name: of the plot, unlike all others on the page; measured: by bot; equities: the reference's.
    """
    caption = (
        "The bot's cubeless equity minus the reference's, in points per game, over the reference's."
        f" {_points_told(len(equities))} The line is the mean of a bin of like numbers of values,"
        " its bars 95 % intervals (as if values were independent); at 0 there is no bias."
    )
    return [
        section(
            title,
            _values_table(measured),
            figure(_errors_plot(name, measured, equities), caption),
        )
    ]


def _points_told(n: int) -> str:
    if n <= _MOST_POINTS:
        return "A point is a value."
    return f"A point is a value; {count(len(_some(n)))} of {count(n)}, evenly taken, are drawn."


def _some(n: int) -> Any:
    """Rows that are drawn."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(np.int64))


def _values_table(measured: Mapping[str, ValueErrors]) -> Html:
    header = ["", *(f"{kind} of {bot}" for bot in measured for kind in ("RMSE", "bias"))]
    quantities = list(next(iter(measured.values())).fits)
    paired = {}
    if len(measured) == 2:
        a, b = measured.values()
        paired = rmse_differences(a, b)
        header.append("difference of RMSE")
    rows = []
    for quantity in quantities:
        cells = [quantity.replace("_", " ") + (", ppg" if quantity == "equity" else "")]
        for each in measured.values():
            fit = each.fits[quantity]
            cells.append(with_error(fit.rmse.mean, fit.rmse.stderr, 4))
            cells.append(with_error(fit.bias.mean, fit.bias.stderr, 4, "+"))
        if paired:
            difference = paired[quantity]
            cells.append(with_error(difference.mean, difference.stderr, 4, "+"))
        rows.append(cells)
    n = next(iter(measured.values())).n
    caption = f"{count(n)} values; ± is one standard error; bias is the bot minus the reference"
    if paired:
        caption += "; the difference, first minus second, has the error of paired differences"
    return table(header, rows, caption=caption)


def _errors_plot(name: str, measured: Mapping[str, ValueErrors], equities: FloatArray) -> Html:
    with drawing():
        drawn = new_figure(9.2, 3.3)
        panels = drawn.subplots(1, len(measured), squeeze=False, sharey=True)[0]
        rows = _some(len(equities))
        for number, (panel, (bot, each)) in enumerate(zip(panels, measured.items(), strict=True)):
            color, errors = series_color(number), each.errors["equity"]
            panel.plot(
                equities[rows], errors[rows], ".", color=color, markersize=4, alpha=0.3, mew=0
            )
            centres, means, bars = _binned(equities, errors)
            panel.errorbar(centres, means, yerr=bars, color=color, elinewidth=1.5, marker="o")
            zero_line(panel)
            panel.set_title(bot)
            panel.set_xlabel("reference equity, points per game")
        panels[0].set_ylabel("error, points per game")
        return svg(drawn, name, "Errors of equities over the reference")


def _binned(equities: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean equity and error of bins of like numbers of values, and half the 95 % interval."""
    order = np.argsort(equities, kind="stable")
    n_bins = max(1, min(_BINS, len(order) // _FEWEST_IN_BIN))
    parts = np.array_split(order, n_bins)
    centres = np.array([equities[part].mean() for part in parts])
    means = np.array([errors[part].mean() for part in parts])
    spreads = [errors[p].std(ddof=1) / np.sqrt(len(p)) if len(p) > 1 else 0.0 for p in parts]
    return centres, means, Z95 * np.array(spreads)
