"""The part of a report about a duel: the score as it grew, the results, both sides."""

import math
from typing import Any, Final

import numpy as np

from eval.curves import FloatArray
from eval.duel import Duel, Side, Standing, match_win
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
    how = "" if duel.adjusted is None else ", less the luck of the dice"
    if duel.is_match:
        won = match_win(duel.best)
        return (
            f"{duel.a.bot} wins {with_error(100 * won.mean, 100 * won.stderr, 2)} % of"
            f" {count(duel.n_games)} matches to {duel.rules.match_to} points against"
            f" {duel.b.bot}{how}."
        )
    score = with_error(duel.best.mean, duel.best.stderr, 3, "+")
    return (
        f"{duel.a.bot} scores {score} points per game against {duel.b.bot}{how}, in"
        f" {count(duel.n_games)} games."
    )


def duel_sections(duel: Duel) -> list[Html]:
    """Score, results and sides."""
    return [
        section("Score", _score_table(duel), *_remarks(duel), figure(_curve(duel), _CURVE)),
        section("Results", _sides_table(duel), *_cube_parts(duel)),
    ]


def _cube_parts(duel: Duel) -> list[Html]:
    """What was done with the cube, and the results but of matches, which are won or lost."""
    parts = []
    if duel.cube is not None:
        rows = [
            [bot, *map(count, (c.doubles, c.takes, c.passes, c.beavers))]
            for bot, c in zip((duel.a.bot, duel.b.bot), duel.cube, strict=True)
        ]
        stake = duel.cube[0].stakes / max(duel.cube[0].games, 1)
        caption = f"{count(duel.cube[0].games)} games; the average stake is {stake:.2f}"
        parts.append(table(["", "doubles", "takes", "passes", "beavers"], rows, caption=caption))
    if not duel.is_match:
        parts.append(figure(_results_plot(duel), _RESULTS))
    return parts


_CURVE: Final = (
    "The first bot's score, of all games so far, after every part of the duel. Bands are"
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
        shown = match_win(estimate) if duel.is_match else estimate
        low, high = shown.interval(0.95)
        sign = "" if duel.is_match else "+"
        interval = "–" if math.isnan(low) else f"{low:{sign}.3f} to {high:{sign}.3f}"
        rows.append([name, with_error(shown.mean, shown.stderr, 4, sign), interval])
    what = "matches" if duel.is_match else "games"
    score = "share of matches won by" if duel.is_match else "points per game of"
    over = f"pairs of {what} with the same dice" if duel.paired else what
    caption = f"{count(duel.n_games)} {what}; ± is one standard error, over {over}"
    return table(["", f"{score} {duel.a.bot}", "95 %"], rows, caption=caption)


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
            f"{count(duel.n_unfinished)} {'matches' if duel.is_match else 'games'} were given up"
            f" as endless and count {'half' if duel.is_match else '0 points'}."
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
        _draw_course(panel, duel.curve, [_in_unit(duel, s.ppg) for s in duel.curve], 0, "as played")
        adjusted = [_in_unit(duel, s.adjusted) for s in duel.curve if s.adjusted is not None]
        if len(adjusted) == len(duel.curve):
            _draw_course(panel, duel.curve, adjusted, 1, "less the luck")
            panel.legend(loc="best")
        _limit(panel, duel)
        if not duel.is_match:
            zero_line(panel)
        panel.set_xlim(left=0)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.xaxis.set_major_formatter("{x:,.0f}")
        what = "matches" if duel.is_match else "games"
        score = "share of matches won" if duel.is_match else "points per game"
        panel.set_xlabel(what)
        panel.set_ylabel(score)
        title = f"{score[0].upper()}{score[1:]} of {duel.a.bot} over the {what} played"
        return svg(drawn, "course", title)


def _in_unit(duel: Duel, score: Estimate) -> Estimate:
    return match_win(score) if duel.is_match else score


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
    ends: FloatArray = np.array([_in_unit(duel, s.ppg).interval(0.95) for s in late])
    ends = ends[~np.isnan(ends).any(axis=1)]
    if len(ends):
        low, high = float(ends.min()), float(ends.max())
        room = 0.06 * (high - low) or 0.1
        panel.set_ylim(low - room, high + room)


def _sides_table(duel: Duel) -> Html:
    rows = []
    for side in (duel.a, duel.b):
        rates = (side.win, side.gammon, side.backgammon)
        n = duel.n_games if duel.cube is None else duel.cube[0].games
        cells = [percent(r, share_error(round(r * n), n)) for r in rates]
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
    results = np.arange(-most, most + 1)
    if duel.cube is not None:  # stakes leave wide gaps
        results = np.array(sorted(duel.points))
    places = np.arange(len(results)) if duel.cube is not None else results
    numbers = np.array([duel.points.get(int(points), 0) for points in results])
    shares = 100 * numbers / duel.n_games
    bars = [100 * Z95 * share_error(int(n), duel.n_games) for n in numbers]
    with drawing():
        drawn = new_figure(9.2, 2.8)
        panel = drawn.subplots()
        colors = [series_color(0 if points > 0 else 1) for points in results]
        panel.bar(places, shares, color=colors, width=0.7, alpha=0.75)
        shown = numbers > 0
        panel.errorbar(
            places[shown], shares[shown], yerr=np.array(bars)[shown], fmt="none", ecolor=INK
        )
        for place, share, bar, n in zip(places, shares, bars, numbers, strict=True):
            if n:
                panel.text(place, share + bar, f"{share:.1f}", ha="center", va="bottom")
        panel.set_xticks(places, [_result(int(points)) for points in results])
        panel.set_ylim(0, 1.12 * max(shares + np.array(bars)))
        panel.grid(axis="x", visible=False)
        panel.set_xlabel(f"points of {duel.a.bot}")
        panel.set_ylabel("% of games")
        return svg(drawn, "results", "Results of the games in percent")


def _result(points: int) -> str:
    return f"{points:+d}".replace("-", "−") if points else "0"
