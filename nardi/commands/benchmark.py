"""`nardi benchmark`: how many points per game one bot wins from another."""

import argparse
import math
import os
import secrets
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eval.duel import Duel, Side
    from eval.stats import Estimate

__all__ = ["add_parser", "run"]

_BOT_HELP = """\
random, pip-greedy, pubeval, net (the one that nardi brings) or net:FILE; a depth may follow, as in
net@0"""
_DESCRIPTION = """\
Play cubeless money games of two bots and tell how many points per game A wins from B. Every dice
stream is played twice, the second time with the seats swapped, so that part of the luck cancels.
The same seed gives the same figures for any number of workers. Ctrl-C ends it with the figures so
far."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "benchmark",
        help="play two bots against each other and tell points per game",
        description=_DESCRIPTION,
        epilog="try: nardi benchmark pubeval pip-greedy --games 400 --seed 1",
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", help=_BOT_HELP)
    parser.add_argument("b", metavar="B", help="the other one, named likewise")
    parser.add_argument(
        "--games", type=int, default=2000, metavar="N", help="an even number; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, metavar="S", help="default: one is drawn, and told")
    parser.add_argument(
        "--workers", type=int, metavar="W", help="processes to use; default: one for each CPU"
    )
    parser.add_argument(
        "--rules",
        default="international",
        metavar="RULES",
        help="house rules, such as caucasian; the cube's do not count (docs/rules.md)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.rules import parse_rules
    from eval.duel import Progress as DuelProgress
    from eval.duel import play_duel
    from eval.lockstep import MOST_TURNS
    from nardi.cli import DONE, INTERRUPTED
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.progress import Progress

    seed = secrets.randbits(32) if args.seed is None else args.seed
    if args.seed is None:
        print(f"nardi benchmark: seed {seed}", file=sys.stderr)
    with compiling_is_told(), Progress("nardi benchmark", args.games, "games") as progress:

        def show(so_far: DuelProgress) -> None:
            known = not math.isnan(so_far.ppg.stderr)
            progress.update(so_far.n_games, f"{_with_error(so_far.ppg)} ppg" if known else "")

        duel = play_duel(
            args.a,
            args.b,
            args.games,
            seed,
            parse_rules(args.rules),
            workers=_num_cpus() if args.workers is None else args.workers,
            on_progress=show,
        )
    print(json_line(_document(duel)) if args.json else _table(duel))
    if duel.n_unfinished:
        print(
            f"nardi benchmark: {duel.n_unfinished:,} games were not over after {MOST_TURNS:,} turns"
            " and count as 0 points",
            file=sys.stderr,
        )
    if duel.interrupted:
        print(
            f"nardi benchmark: interrupted; the figures are of the first {duel.n_games:,} of"
            f" {args.games:,} games",
            file=sys.stderr,
        )
        return INTERRUPTED
    return DONE


def _num_cpus() -> int:
    """Number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
