"""The page that `nardi benchmark --report` writes, of decisions, positions and duels."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.report.drawing import check_drawable
from eval.report.files import prepare_folder, write_report
from eval.report.page import Html, facts, page, section
from eval.report.texts import count, with_error
from nardi.reporting import net_of_bot, report_facts, tell_report

if TYPE_CHECKING:
    from engine.rules import Game
    from eval.cube_decisions import CubeLosses
    from eval.cube_references import CubeDecisionSet
    from eval.decisions import Losses
    from eval.duel import Duel
    from eval.league import League
    from eval.references import DecisionSet, PositionSet
    from eval.stats import Estimate
    from eval.value_errors import ValueErrors

__all__ = ["prepare", "report_duel", "report_league", "report_measures"]


def prepare(folder: Path) -> None:
    """Make sure that a report can be written. Raises NardiError if not, before anything is done."""
    check_drawable()
    prepare_folder(folder)


def _write(
    folder: Path,
    words: Sequence[str],
    bots: Sequence[str],
    title: str,
    lead: str,
    parts: Sequence[Html],
    document: Mapping[str, Any],
    settings: Sequence[tuple[str, str]] = (),
    game: "Game" = "short",
) -> None:
    """Both files, with what the bots are and where the figures come from.

    words: of the command line, behind `nardi`; bots: texts that name them.
    """
    nets = {bot: net for bot in dict.fromkeys(bots) if (net := net_of_bot(bot, game)) is not None}
    made_by = report_facts(words)
    told = [(f"net of {bot}", _net_text(net)) for bot, net in nets.items()]
    text = page(
        title, lead, *parts, section("This report", facts([*made_by.rows(), *settings, *told]))
    )
    path = write_report(folder, text, {**made_by.document(), "nets": nets, **document})
    tell_report("benchmark", path)


def _net_text(net: Mapping[str, Any]) -> str:
    games, commit = net["games"], net["commit"]
    told = [
        net["file"],
        f"sha256 {net['sha256'][:12]}…",
        f"{count(games)} games trained" if isinstance(games, int) else "games trained not told",
        f"commit {commit}" if isinstance(commit, str) else "commit not told",
    ]
    return ", ".join(told)


def report_measures(
    folder: Path,
    words: Sequence[str],
    bots: Sequence[str],
    document: Mapping[str, Any],
    decisions: "tuple[DecisionSet, Sequence[Losses], int] | None",
    cube: "tuple[CubeDecisionSet, Sequence[CubeLosses], int] | None",
    positions: "tuple[PositionSet, Sequence[ValueErrors]] | None",
) -> None:
    """Of one bot or two. document: as --json prints it; the ints: how many misses to show."""
    from eval.report.cube_losses import KIND_NAMES, cube_sections
    from eval.report.losses import decision_sections, spread
    from eval.report.values import value_sections

    names = list(bots)
    if len(set(names)) < len(names):
        names = [f"{letter}: {name}" for letter, name in zip("AB", names, strict=False)]
    parts: list[Html] = []
    leads = []
    distribution = None
    if decisions is not None:
        some, losses, worst = decisions
        rates = [
            f"{name} has a PR of {with_error(each.overall.pr.mean, each.overall.pr.stderr, 2)}"
            for name, each in zip(names, losses, strict=True)
        ]
        leads.append(f"{' and '.join(rates)} on {count(len(some.boards))} decisions")
        parts += decision_sections(names, losses, some, worst, lambda miss: _board(miss.gnuid))
        of_candidates = {
            name: each.values
            for name, each in zip(names, losses, strict=True)
            if each.values is not None
        }
        if of_candidates:
            title = "Values of the candidates"
            parts += value_sections("candidates", title, of_candidates, some.equities)
        distribution = {
            key: [
                {
                    "loss_ppg": share.loss,
                    "decision_share": share.of_decisions,
                    "loss_share": share.of_loss,
                }
                for share in spread(each.losses)
            ]
            for key, each in zip("ab", losses, strict=False)
        }
    if cube is not None:
        cubes, cube_losses, worst = cube
        rates = [
            f"{name} has a PR of {with_error(rate.mean, rate.stderr, 2)} in {KIND_NAMES[kind]}"
            for name, each in zip(names, cube_losses, strict=True)
            for kind, rate in ((kind, loss.pr) for kind, loss in each.overall.items())
        ]
        leads.append(f"{' and '.join(rates)} on {count(len(cubes.boards))} decisions of the cube")
        parts += cube_sections(names, cube_losses, cubes, worst, _board)
    if positions is not None:
        of, errors = positions
        rates = [
            f"{name} errs by {each.fits['equity'].rmse.mean:.4f}"
            for name, each in zip(names, errors, strict=True)
        ]
        leads.append(f"{' and '.join(rates)} points (RMSE) on {count(len(of.boards))} positions")
        by_name = dict(zip(names, errors, strict=True))
        title = f"Values of the positions of {of.name}"
        parts += value_sections("positions", title, by_name, of.equities)
    title = " and ".join(names) + (" measured" if len(names) == 1 else " compared")
    _write(
        folder,
        words,
        bots,
        title,
        "; ".join(leads) + ".",
        parts,
        {**document, "loss_distribution": distribution},
    )


def report_duel(
    folder: Path, words: Sequence[str], duel: "Duel", document: Mapping[str, Any]
) -> None:
    """Of one duel. document: as --json prints it."""
    from eval.report.duels import duel_lead, duel_sections

    title = f"{duel.a.bot} against {duel.b.bot}"
    settings = [("seed", str(duel.seed)), ("rules", str(duel.rules))]
    unit, name = ("matches", "match_win") if duel.is_match else ("games", "ppg")
    more = {
        "curve": [
            {
                unit: standing.n_games,
                **_figures(name, _in_unit(duel, standing.ppg)),
                **_figures(f"adjusted_{name}", _in_unit(duel, standing.adjusted)),
            }
            for standing in duel.curve
        ],
    }
    bots = [duel.a.bot, duel.b.bot]
    if duel.luck_net is not None:
        bots.append(duel.luck_net)
    parts = [*duel_sections(duel)]
    told = {**document, **more}
    game = duel.rules.game
    _write(folder, words, bots, title, duel_lead(duel), parts, told, settings, game)


def report_league(
    folder: Path, words: Sequence[str], league: "League", document: Mapping[str, Any]
) -> None:
    """Of a round robin that has ratings. document: as --json prints it."""
    from eval.report.leagues import league_lead, league_sections

    assert league.ratings is not None
    scores = {pair: duel.best for pair, duel in league.duels.items()}
    parts = league_sections(league.bots, league.ratings, scores)
    settings = [("seed", str(league.seed)), ("rules", str(league.rules))]
    lead = league_lead(league.bots, league.ratings)
    title = f"{len(league.bots)} bots, everyone against everyone"
    nets = {duel.luck_net for duel in league.duels.values() if duel.luck_net is not None}
    bots = [*league.bots, *nets]
    game = league.rules.game
    _write(folder, words, bots, title, lead, parts, document, settings, game)


def _in_unit(duel: "Duel", score: "Estimate | None") -> "Estimate | None":
    from eval.duel import match_win

    return match_win(score) if duel.is_match and score is not None else score


def _figures(name: str, estimate: "Estimate | None") -> dict[str, float | None]:
    if estimate is None:
        return {name: None, f"stderr_{name}": None}
    stderr = None if math.isnan(estimate.stderr) else estimate.stderr
    return {name: estimate.mean, f"stderr_{name}": stderr}


def _board(gnuid: str) -> str:
    from engine.notation import parse_position
    from nardi.render import board_text

    return board_text(parse_position(gnuid))
