"""Figures of round robins as text and as JSON; the JSON is documented in docs/json.md."""

import math
from typing import Any

from eval.league import League
from nardi import duel_view
from nardi.duel_view import with_error

__all__ = ["document", "notes", "table"]


def document(league: League) -> dict[str, Any]:
    """The JSON of a round robin."""
    ratings = league.ratings or [None] * len(league.bots)
    return {
        "bots": [
            {
                "bot": bot,
                "rating_ppg": None if rating is None else rating.mean,
                "stderr_rating_ppg": None
                if rating is None or math.isnan(rating.stderr)
                else rating.stderr,
            }
            for bot, rating in zip(league.bots, ratings, strict=True)
        ],
        "games_per_pair": league.n_games,
        "duels": [
            {"bots": [i, k], **duel_view.document(duel)} for (i, k), duel in league.duels.items()
        ],
        "seed": league.seed,
        "seconds": league.seconds,
        "rules": league.rules.as_dict(),
        "ended": league.ended,
        "interrupted": league.ended == "interrupted",
        "fault": league.fault,
    }


def table(league: League) -> str:
    """The figures for people: ratings and everyone against everyone, best first."""
    n_bots = len(league.bots)
    n_pairs = n_bots * (n_bots - 1) // 2
    order = list(range(n_bots))
    if league.ratings is not None:
        means = [rating.mean for rating in league.ratings]
        order.sort(key=lambda number: -means[number])
    names = [f"{place}  {league.bots[number]}" for place, number in enumerate(order, 1)]
    width = max(map(len, names))
    cells = [[_cell(league, i, k) for k in order] for i in order]
    widths = [max(len(row[column]) for row in cells) for column in range(n_bots)]
    heads = [f"{column + 1:>{widths[column]}}" for column in range(n_bots)]
    rated = [
        "-" if league.ratings is None else with_error(league.ratings[number]) for number in order
    ]
    rating_width = max(len("rating"), *map(len, rated))
    lines = [
        f"{n_bots} bots, {n_pairs} duels of {league.n_games:,} games, seed {league.seed}, rules"
        f" {league.rules}",
        "",
        f"{'':{width}}   {'rating':>{rating_width}}   {'   '.join(heads)}".rstrip(),
    ]
    for name, rating, row in zip(names, rated, cells, strict=True):
        scores = "   ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True))
        lines.append(f"{name:{width}}   {rating:>{rating_width}}   {scores}".rstrip())
    told = [duel.adjusted is not None for duel in league.duels.values()]
    if all(told):
        how = "; luck of the dice taken out"
    elif any(told):
        how = "; luck of the dice taken out where * stands"
    else:
        how = ""
    lines += [
        "",
        f"points per game of the bot on the left against the one above{how}",
        "rating: the mean over all bots, itself included; ± is one standard error",
        f"{league.seconds:,.1f} s",
    ]
    return "\n".join(lines)


def _cell(league: League, i: int, k: int) -> str:
    score = league.score(i, k)
    if score is None:
        return "-"
    told = [duel.adjusted is not None for duel in league.duels.values()]
    of_pair = league.duels[min(i, k), max(i, k)]
    mixed = any(told) and not all(told)
    mark = ("*" if of_pair.adjusted is not None else " ") if mixed else ""
    shown = with_error(score) if not math.isnan(score.stderr) else f"{score.mean:+.3f}"
    return shown + mark


def notes(league: League) -> list[str]:
    """What else is to be told, on stderr."""
    told = []
    for duel in league.duels.values():
        for note in duel_view.notes(duel, league.n_games):
            told.append(f"{duel.a.bot} against {duel.b.bot}: {note}")
    missing = len(league.bots) * (len(league.bots) - 1) // 2 - len(league.duels)
    if missing:
        if league.fault is not None and all(duel.fault is None for duel in league.duels.values()):
            told.append(f"error: {league.fault}")
        told.append(f"{missing} duels were not played")
    return told
