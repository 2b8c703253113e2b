"""The part of a report about a round robin: who scores what against whom, and the ratings."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from eval.report.drawing import Z95, drawing, new_figure, series_color, svg
from eval.report.page import Html, figure, section, table
from eval.report.texts import with_error
from eval.stats import Estimate

__all__ = ["league_lead", "league_sections"]

_RATINGS: Final = (
    "Ratings in points per game, best first: a bot's mean score over all bots, itself (0) included."
    " Bars are 95 % intervals, 1.96 standard errors to both sides."
)


def _ranked(ratings: Sequence[Estimate]) -> list[int]:
    """Numbers of the bots, best first; equal ones in their order."""
    return sorted(range(len(ratings)), key=lambda number: -ratings[number].mean)


def league_lead(bots: Sequence[str], ratings: Sequence[Estimate]) -> str:
    """The result in one sentence. ratings: of each bot, in points per game."""
    first, *_ = order = _ranked(ratings)
    rating = with_error(ratings[first].mean, ratings[first].stderr, 3, "+")
    return f"{bots[first]} is first of {len(order)} with a rating of {rating} points per game."


def league_sections(
    bots: Sequence[str],
    ratings: Sequence[Estimate],
    scores: Mapping[tuple[int, int], Estimate],
) -> list[Html]:
    """Ratings and cross table, best first.

    ratings: of each bot, in points per game; scores: points per game of bot i against bot k, by
    (i, k), each pair once in either order; pairs that have not played are missing.
    """
    order = _ranked(ratings)
    places = {number: place for place, number in enumerate(order, 1)}
    rated = [
        [f"{places[i]}. {bots[i]}", with_error(ratings[i].mean, ratings[i].stderr, 4, "+")]
        for i in order
    ]
    crossed = [[f"{places[i]}. {bots[i]}", *(_cell(scores, i, k) for k in order)] for i in order]
    header = ["", *(f"{places[k]}. {bots[k]}" for k in order)]
    caption = (
        "Points per game of the bot on the left against the one above; ± is one standard error."
    )
    return [
        section(
            "Ratings",
            table(["", "rating, ppg"], rated, caption="± is one standard error"),
            figure(_ratings_plot(bots, ratings, order), _RATINGS),
        ),
        section("Everyone against everyone", table(header, crossed, caption=caption)),
    ]


def _cell(scores: Mapping[tuple[int, int], Estimate], i: int, k: int) -> str:
    sign, score = 1, scores.get((i, k))
    if score is None:
        sign, score = -1, scores.get((k, i))
    if i == k or score is None:
        return "–"
    return with_error(sign * score.mean, score.stderr, 3, "+")


def _ratings_plot(bots: Sequence[str], ratings: Sequence[Estimate], order: Sequence[int]) -> Html:
    means = np.array([ratings[i].mean for i in order])
    bars = Z95 * np.nan_to_num(np.array([ratings[i].stderr for i in order]))
    places = np.arange(len(order))
    with drawing():
        drawn = new_figure(9.2, 0.7 + 0.36 * len(order))
        panel = drawn.subplots()
        panel.errorbar(
            means, places, xerr=bars, fmt="o", color=series_color(0), markersize=5, elinewidth=2
        )
        panel.set_yticks(places, [f"{place}. {bots[i]}" for place, i in enumerate(order, 1)])
        panel.set_ylim(len(order) - 0.4, -0.6)
        panel.grid(axis="y", visible=False)
        panel.set_xlabel("rating, points per game")
        return svg(drawn, "ratings", "Ratings of all bots with 95 % intervals")
