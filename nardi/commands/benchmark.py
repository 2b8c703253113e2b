"""`nardi benchmark`: points per game of one bot against another, or what its decisions cost."""

import argparse
import math
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nardi.cpus import num_cpus

if TYPE_CHECKING:
    from eval.duel import Duel, Side
    from eval.stats import Estimate

__all__ = ["add_parser", "run"]

_GAMES: Final = 2000
_WORST: Final = 5
_OF_DUELS: Final = ("games", "seed", "workers", "rules")

_BOT_HELP = """\
random, pip-greedy, pubeval, net (the one that nardi brings) or net:FILE; a depth may follow, as in
net@0. Other programs (pip install 'nardi[peers]'): gnubg@N and sage@N with N = 0, 1 or 2"""
_DESCRIPTION = """\
Play cubeless money games of two bots and tell how many points per game A wins from B. Every dice
stream is played twice, the second time with the seats swapped, so that part of the luck cancels.
The same seed gives the same figures for any number of workers. Ctrl-C ends it with the figures so
far. With --decisions or --positions nothing is played: A, and B if there is one, are measured on
decisions or positions whose worth is known (docs/benchmarks.md), a hundred times more sensitively
than by games."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "benchmark",
        help="play two bots against each other and tell points per game",
        description=_DESCRIPTION,
        epilog="try: nardi benchmark pubeval pip-greedy --games 400 --seed 1",
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", help=_BOT_HELP)
    parser.add_argument("b", metavar="B", nargs="?", help="the other one, named likewise")
    parser.add_argument(
        "--decisions",
        type=Path,
        metavar="FILE",
        help="tell loss per decision, and where A differs from B, on a file of decisions",
    )
    parser.add_argument(
        "--positions",
        type=Path,
        metavar="FILE",
        help="tell how far equities and probabilities are off on a file of positions",
    )
    parser.add_argument(
        "--worst",
        type=int,
        metavar="N",
        help=f"misses to show with --decisions; default: {_WORST}",
    )
    parser.add_argument("--games", type=int, metavar="N", help=f"an even number; default: {_GAMES}")
    parser.add_argument("--seed", type=int, metavar="S", help="default: one is drawn, and told")
    parser.add_argument(
        "--workers", type=int, metavar="W", help="processes to use; default: one for each CPU"
    )
    parser.add_argument(
        "--rules",
        metavar="RULES",
        help="house rules, such as caucasian; the cube's do not count (docs/rules.md)",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="write report.html, a page with plots, and report.json, its figures, to this folder,"
        " which is made if it is not there; needs matplotlib",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    from engine.errors import ConfigError

    if args.report is not None:
        from nardi.benchmark_report import prepare

        prepare(args.report)
    if args.worst is not None and args.decisions is None:
        raise ConfigError("--worst goes with --decisions only")
    if args.decisions is not None or args.positions is not None:
        for name in _OF_DUELS:
            if getattr(args, name) is not None:
                raise ConfigError(
                    f"--{name} is about games; it does not go with --decisions and --positions"
                )
        return _measure(args)
    if args.b is None:
        args.usage_error("a second bot B is needed to play against (or --decisions, --positions)")
    return _duel(args)


def _measure(args: argparse.Namespace) -> int:
    """Loss per decision, value errors, or both."""
    from engine.errors import ConfigError
    from eval.decisions import measure_decisions, measure_positions
    from eval.players import load_player
    from eval.references import read_decisions, read_positions
    from nardi import loss_view
    from nardi.cli import DONE
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line

    worst = _WORST if args.worst is None else args.worst
    if worst < 0:
        raise ConfigError(f"worst '{worst}'; accepted: whole numbers from 0 up")
    names = [name for name in (args.a, args.b) if name is not None]
    document: dict[str, Any] = {"decisions": None, "positions": None}
    texts = []
    of_decisions, of_positions = None, None
    with compiling_is_told():
        bots = [load_player(name) for name in names]
        if args.decisions is not None:
            decisions = read_decisions(args.decisions)
            losses = [measure_decisions(bot, decisions) for bot in bots]
            document["decisions"] = loss_view.decisions_document(losses, decisions, worst)
            texts.append(loss_view.decisions_text(losses, decisions, worst))
            of_decisions = (decisions, losses, worst)
        if args.positions is not None:
            positions = read_positions(args.positions)
            errors = [measure_positions(bot, positions) for bot in bots]
            document["positions"] = loss_view.positions_document(names, errors, positions)
            texts.append(loss_view.positions_text(names, errors, positions))
            of_positions = (positions, errors)
    print(json_line(document) if args.json else "\n\n".join(texts))
    if args.report is not None:
        from nardi.benchmark_report import report_measures
        from nardi.reporting import command_words

        words = command_words(args, ["a", "b"])
        report_measures(args.report, words, names, document, of_decisions, of_positions)
    return DONE


def _duel(args: argparse.Namespace) -> int:
    from engine.rules import parse_rules
    from eval.duel import Progress as DuelProgress
    from eval.duel import play_duel
    from eval.lockstep import MOST_TURNS
    from nardi.cli import DONE, INTERRUPTED
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.progress import Progress

    games = _GAMES if args.games is None else args.games
    seed = secrets.randbits(32) if args.seed is None else args.seed
    if args.seed is None:
        print(f"nardi benchmark: seed {seed}", file=sys.stderr)
    with compiling_is_told(), Progress("nardi benchmark", games, "games") as progress:

        def show(so_far: DuelProgress) -> None:
            known = not math.isnan(so_far.ppg.stderr)
            progress.update(so_far.n_games, f"{_with_error(so_far.ppg)} ppg" if known else "")

        duel = play_duel(
            args.a,
            args.b,
            games,
            seed,
            parse_rules(args.rules or "international"),
            workers=num_cpus() if args.workers is None else args.workers,
            on_progress=show,
        )
    document = _document(duel)
    print(json_line(document) if args.json else _table(duel))
    if args.report is not None:
        from nardi.benchmark_report import report_duel
        from nardi.reporting import command_words

        words = command_words(args, ["a", "b"], games=games, seed=seed)
        report_duel(args.report, words, duel, document)
    if duel.n_unfinished:
        print(
            f"nardi benchmark: {duel.n_unfinished:,} games were not over after {MOST_TURNS:,} turns"
            " and count as 0 points",
            file=sys.stderr,
        )
    if duel.interrupted:
        print(
            f"nardi benchmark: interrupted; the figures are of the first {duel.n_games:,} of"
            f" {games:,} games",
            file=sys.stderr,
        )
        return INTERRUPTED
    return DONE


def _with_error(estimate: "Estimate") -> str:
    return f"{estimate.mean:+.3f} ± {estimate.stderr:.3f}"


def _document(duel: "Duel") -> dict[str, Any]:
    """The JSON of a duel; documented in docs/json.md."""
    return {
        "a": _side_document(duel.a),
        "b": _side_document(duel.b),
        "games": duel.n_games,
        "ppg": duel.ppg.mean,
        "stderr_ppg": None if math.isnan(duel.ppg.stderr) else duel.ppg.stderr,
        "seed": duel.seed,
        "seconds": duel.seconds,
        "rules": duel.rules.as_dict(),
        "unfinished": duel.n_unfinished,
        "interrupted": duel.interrupted,
    }


def _side_document(side: "Side") -> dict[str, Any]:
    return {
        "bot": side.bot,
        "win": side.win,
        "gammon": side.gammon,
        "backgammon": side.backgammon,
    }


def _table(duel: "Duel") -> str:
    """The figures for people."""
    sides = (duel.a, duel.b)
    width = max(len(side.bot) for side in sides)
    rows = [f"{'':{width}}       win    gammon  backgammon"]
    for side in sides:
        rates = f"{side.win:10.2%}{side.gammon:10.2%}{side.backgammon:12.2%}"
        rows.append(f"{side.bot:{width}}{rates}")
    if math.isnan(duel.ppg.stderr):
        score = f"{duel.ppg.mean:+.3f} points per game (one pair of games tells no error)"
    else:
        low, high = duel.ppg.interval(0.95)
        score = f"{_with_error(duel.ppg)} points per game (95%: {low:+.3f} to {high:+.3f})"
    return "\n".join(
        [
            f"{duel.a.bot} against {duel.b.bot}: {duel.n_games:,} games, seed {duel.seed}, rules"
            f" {duel.rules}",
            "",
            *rows,
            "",
            f"{duel.a.bot} scores {score}",
            f"{duel.seconds:,.1f} s, {duel.n_games / duel.seconds:,.0f} games/s",
        ]
    )
