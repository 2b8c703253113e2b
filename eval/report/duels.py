"""The part of a report about a duel: the score as it grew, the results, both sides."""

import math
from typing import Any, Final

import numpy as np

from eval.curves import FloatArray
from eval.duel import Duel, Side, Standing
from eval.report.drawing import INK, Z95, drawing, new_figure, series_color, svg, zero_line
from eval.report.page import Html, figure, note, section, table
from eval.report.texts import count, percent, with_error
from eval.stats import Estimate

__all__ = ["duel_lead", "duel_sections", "share_error"]


def share_error(n: int, games: int) -> float:
    """Standard error of a share as if games were independent; paired ones are nearly so."""
    share = n / games
    return math.sqrt(share * (1 - share) / games)


def duel_lead(duel: Duel) -> str:
    """The result in one sentence."""
    score = with_error(duel.best.mean, duel.best.stderr, 3, "+")
    how = "" if duel.adjusted is None else ", less the luck of the dice"
    return (
        f"{duel.a.bot} scores {score} points per game against {duel.b.bot}{how}, in"
        f" {count(duel.n_games)} games."
    )


def duel_sections(duel: Duel) -> list[Html]:
    """Score, results and sides."""
    return [
        section("Score", _score_table(duel), *_remarks(duel), figure(_curve(duel), _CURVE)),
        section("Results", _sides_table(duel), figure(_results_plot(duel), _RESULTS)),
    ]


_CURVE: Final = (
    "The first bot's points per game, of all games so far, after every part of the duel. Bands are"
    " 95 % intervals for one look, 1.96 standard errors (over pairs of games with the same dice) to"
    " both sides: of a curve that is watched all along, the true value is now and then outside with"
    " higher probability than that. The beginning, where bands are widest, is cut off."
)
_RESULTS: Final = (
    "How the games ended, in percent of all games: points won by the first bot, below 0 points lost"
    " to the second. Bars are 95 % intervals, as if games were independent."
)


def _score_table(duel: Duel) -> Html:
    rows = []
    for name, estimate in (("as played", duel.ppg), ("less the luck", duel.adjusted)):
        if estimate is None:
            continue
        low, high = estimate.interval(0.95)
        interval = "–" if math.isnan(low) else f"{low:+.3f} to {high:+.3f}"
        rows.append([name, with_error(estimate.mean, estimate.stderr, 4, "+"), interval])
    header = ["", f"points per game of {duel.a.bot}", "95 %"]
    what = "pairs of games with the same dice" if duel.paired else "games"
    caption = f"{count(duel.n_games)} games; ± is one standard error, over {what}"
    return table(header, rows, caption=caption)


def _remarks(duel: Duel) -> list[Html]:
    remarks = []
    if duel.adjusted is not None and duel.adjusted.stderr > 0:
        ratio = duel.ppg.stderr / duel.adjusted.stderr
        remarks.append(
            "What every roll was worth beyond its mean is taken out by one net for both sides"
            f" ({duel.luck_net}). That leaves the expected score as it is and makes the error"
            f" {ratio:.1f} times smaller here, which is worth {ratio**2:.0f} times the games."
        )
    if duel.n_unfinished:
        remarks.append(
            f"{count(duel.n_unfinished)} games were given up as endless and count 0 points."
        )
    ends = {
        "interrupted": "The duel was interrupted; its games so far count.",
        "decided": "The duel ended as soon as the score was known to differ from 0.",
        "width": "The duel ended as soon as the interval was narrow enough.",
        "fault": f"The duel ended with a fault: {duel.fault}",
    }
    if duel.ended in ends:
        remarks.append(ends[duel.ended])
    return [note(text) for text in remarks]


def _curve(duel: Duel) -> Html:
    from matplotlib.ticker import MaxNLocator

    with drawing():
        drawn = new_figure(9.2, 3.6)
        panel = drawn.subplots()
        _draw_course(panel, duel.curve, [s.ppg for s in duel.curve], 0, "as played")
        adjusted = [s.adjusted for s in duel.curve if s.adjusted is not None]
        if len(adjusted) == len(duel.curve):
            _draw_course(panel, duel.curve, adjusted, 1, "less the luck")
            panel.legend(loc="best")
        _limit(panel, duel)
        zero_line(panel)
        panel.set_xlim(left=0)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.set_xlabel("games")
        panel.set_ylabel("points per game")
        return svg(drawn, "course", f"Points per game of {duel.a.bot} over the games played")


def _draw_course(
    panel: Any, curve: tuple[Standing, ...], estimates: list[Estimate], number: int, label: str
) -> None:
    games = [standing.n_games for standing in curve]
    means = np.array([estimate.mean for estimate in estimates])
    half = Z95 * np.array([estimate.stderr for estimate in estimates])
    color = series_color(number)
    panel.fill_between(games, means - half, means + half, color=color, alpha=0.2, linewidth=0)
    marker = "o" if len(games) == 1 else None
    panel.plot(games, means, color=color, label=label, marker=marker)


def _limit(panel: Any, duel: Duel) -> None:
    """Show the band of the plain score as it was after a tenth of the games, and all later ones."""
    late = [s for s in duel.curve if s.n_games >= duel.n_games / 10]
    ends: FloatArray = np.array([s.ppg.interval(0.95) for s in late])
    ends = ends[~np.isnan(ends).any(axis=1)]
    if len(ends):
        low, high = float(ends.min()), float(ends.max())
        room = 0.06 * (high - low) or 0.1
        panel.set_ylim(low - room, high + room)


def _sides_table(duel: Duel) -> Html:
    rows = []
    for side in (duel.a, duel.b):
        rates = (side.win, side.gammon, side.backgammon)
        cells = [percent(r, share_error(round(r * duel.n_games), duel.n_games)) for r in rates]
        rows.append([side.bot, *cells, *_work(side)])
    header = ["", "wins", "gammons", "backgammons"]
    header += ["decisions", "CPU µs a decision", "evaluations/s"]
    caption = (
        "Rates are cumulative (a backgammon counts as a gammon, too); ± is one standard error, as"
        " if games were independent."
    )
    return table(header, rows, caption=caption)


def _work(side: Side) -> list[str]:
    work = side.work
    if work.decisions == 0:
        return ["–"] * 3
    evaluations = work.evaluations
    return [
        count(work.decisions),
        f"{1e6 * work.cpu_seconds / work.decisions:,.0f}",
        f"{evaluations / work.cpu_seconds:,.0f}" if evaluations and work.cpu_seconds else "–",
    ]


def _results_plot(duel: Duel) -> Html:
    most = max(3, *(abs(points) for points in duel.points))
    places = np.arange(-most, most + 1)
    numbers = np.array([duel.points.get(int(points), 0) for points in places])
    shares = 100 * numbers / duel.n_games
    bars = [100 * Z95 * share_error(int(n), duel.n_games) for n in numbers]
    with drawing():
        drawn = new_figure(9.2, 2.8)
        panel = drawn.subplots()
        colors = [series_color(0 if points > 0 else 1) for points in places]
        panel.bar(places, shares, color=colors, width=0.7, alpha=0.75)
        shown = numbers > 0
        panel.errorbar(
            places[shown], shares[shown], yerr=np.array(bars)[shown], fmt="none", ecolor=INK
        )
        for place, share, bar, n in zip(places, shares, bars, numbers, strict=True):
            if n:
                panel.text(place, share + bar, f"{share:.1f}", ha="center", va="bottom")
        panel.set_xticks(places, [_result(int(points)) for points in places])
        panel.set_ylim(0, 1.12 * max(shares + np.array(bars)))
        panel.grid(axis="x", visible=False)
        panel.set_xlabel(f"points of {duel.a.bot}")
        panel.set_ylabel("% of games")
        return svg(drawn, "results", "Results of the games in percent")


def _result(points: int) -> str:
    return f"{points:+d}".replace("-", "−") if points else "0"
