"""`nardi decisions`: makes decision sets, files of plays with what they are worth."""

import argparse
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nardi.commands.best_move import add_net

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eval.decision_files import CubeDecision, Decision

    Make = Callable[[Callable[[int], None]], Sequence[Decision | CubeDecision]]

__all__ = ["add_parser", "run"]

_COUNT: Final = 400
_ROLLOUT_COUNT: Final = 200
_TRIALS: Final = 648
_BEAROFF: Final = """\
Decisions near the end of races with exact equities, no more than 6 checkers a side: each from
another race from random starts, one of the turns in which the plays differ by 0.01 points or more.
The same seed gives the same decisions; those of a smaller count come first."""
_CUBE: Final = """\
Decisions of the cube near the end of races with exact equities, no more than 6 checkers a side, for
money with an unlimited cube, centred or the mover's: each from another race from random starts, one
of the turns in which a wrong double, or none, costs 0.01 points or more, none of them too clear.
The same seed gives the same decisions; those of a smaller count come first."""
_ROLLOUT: Final = """\
Decisions of games of the net against itself, with equities by rollouts: the best plays by a look
ahead that are close to each other, rolled out on the same dice. A decision takes many seconds, so
what is there is kept in FILE.part after each; the same command goes on from there. The same seed,
net and settings give the same decisions; those of a smaller count come first."""
_ROLLOUT_TRY: Final = (
    "try: nardi decisions rollout --count 2 --trials 36 --truncate 4 --seed 1 --out set.jsonl.gz"
)


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "decisions",
        help="make a file of decisions to measure bots on",
        description="Make a decision set for nardi benchmark --decisions: positions with a roll,"
        " the plays, and what each of them is worth (docs/benchmarks.md has the format).",
        epilog="try: nardi decisions bearoff --count 100 --seed 1 --out decisions.jsonl.gz",
        allow_abbrev=False,
    )
    kinds = parser.add_subparsers(title="kinds", metavar="KIND", dest="kind", required=True)
    bearoff = kinds.add_parser(
        "bearoff",
        help="exact equities near the end of races",
        description=_BEAROFF,
        epilog="try: nardi decisions bearoff --count 100 --seed 1 --out decisions.jsonl.gz",
        allow_abbrev=False,
    )
    cube = kinds.add_parser(
        "bearoff-cube",
        help="decisions of the cube near the end of races, exact equities",
        description=_CUBE,
        epilog="try: nardi decisions bearoff-cube --count 100 --seed 1 --out decisions.jsonl.gz",
        allow_abbrev=False,
    )
    rollout = kinds.add_parser(
        "rollout",
        help="positions of self-play with equities by rollouts",
        description=_ROLLOUT,
        epilog=_ROLLOUT_TRY,
        allow_abbrev=False,
    )
    rollout.add_argument(
        "--plays", type=int, default=4, metavar="N", help="candidates, 2 to 5 at most; default: 4"
    )
    rollout.add_argument(
        "--window",
        type=float,
        default=0.12,
        metavar="W",
        help="points within which candidates are of the best by the look ahead; default: 0.12",
    )
    rollout.add_argument(
        "--look", type=int, default=1, metavar="N", help="plies of that look ahead; default: 1"
    )
    rollout.add_argument(
        "--trials", type=int, default=_TRIALS, metavar="N", help=f"games each; default: {_TRIALS}"
    )
    rollout.add_argument(
        "--truncate", type=int, metavar="PLIES", help="cut trials after so many; default: never"
    )
    rollout.add_argument(
        "--ply", type=int, default=0, metavar="N", help="look-ahead of plays of trials; default: 0"
    )
    rollout.add_argument(
        "--until-width",
        type=float,
        metavar="W",
        help="stop trials of a decision when the 95%% interval of the difference of its best two is"
        " W points or narrower to both sides",
    )
    rollout.add_argument(
        "--threads", type=int, metavar="T", help="threads that play; default: one for each CPU"
    )
    add_net(rollout)
    for kind, count in ((bearoff, _COUNT), (cube, _COUNT), (rollout, _ROLLOUT_COUNT)):
        kind.add_argument(
            "--count", type=int, default=count, metavar="N", help=f"decisions; default: {count}"
        )
        kind.add_argument("--seed", type=int, metavar="S", help="default: one is drawn, and told")
        kind.add_argument(
            "--out",
            type=Path,
            required=True,
            metavar="FILE",
            help="file to write or replace; compressed if its name ends in .gz",
        )
        kind.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.errors import ConfigError
    from eval.decision_files import Decision, write_decisions
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.exact_endings import prepare_tables
    from nardi.progress import Progress

    if not args.out.absolute().parent.is_dir():
        raise ConfigError(f"'{args.out}' cannot be written: its folder does not exist")
    seed = secrets.randbits(32) if args.seed is None else args.seed
    if args.seed is None:
        print(f"nardi decisions: seed {seed}", file=sys.stderr)
    makers = {"bearoff": _bearoff, "bearoff-cube": _bearoff_cube, "rollout": _rollout}
    make = makers[args.kind](args, seed)
    begin = time.perf_counter()
    with compiling_is_told():
        prepare_tables()
        with Progress("nardi decisions", args.count, "decisions") as progress:
            decisions = make(progress.update)
    size = write_decisions(args.out, decisions)
    if args.kind == "rollout":
        from eval.rollout_decisions import part_file

        part_file(args.out).unlink(missing_ok=True)
    document: dict[str, Any] = {
        "file": str(args.out),
        "kind": args.kind,
        "count": len(decisions),
        "candidates": sum(len(each.equities) for each in decisions if isinstance(each, Decision)),
        "seed": seed,
        "bytes": size,
        "seconds": time.perf_counter() - begin,
    }
    if args.json:
        print(json_line(document))
    else:
        plays = f" with {document['candidates']:,} candidates" if document["candidates"] else ""
        print(
            f"{document['count']:,} decisions{plays},"
            f" {size / 1000:,.0f} kB, in {args.out}\n"
            f"now try: nardi benchmark net --decisions {args.out}"
        )
    return 0


def _bearoff(args: argparse.Namespace, seed: int) -> "Make":
    from eval.bearoff_decisions import bearoff_decisions

    return lambda tell: bearoff_decisions(args.count, seed, tell)


def _bearoff_cube(args: argparse.Namespace, seed: int) -> "Make":
    from eval.bearoff_decisions import bearoff_cube_decisions

    return lambda tell: bearoff_cube_decisions(args.count, seed, tell)


def _rollout(args: argparse.Namespace, seed: int) -> "Make":
    from agent.checkpoint import load_sorter
    from agent.evaluator import load_evaluator
    from agent.rollout import RolloutSettings
    from agent.search import check_ply
    from eval.rollout_decisions import RolloutDecisions, SetSettings, part_file
    from nardi.cpus import num_cpus

    settings = SetSettings(
        count=args.count,
        seed=seed,
        plays=args.plays,
        window=args.window,
        look=check_ply(args.look),
    )
    rollout = RolloutSettings(
        trials=args.trials,
        truncate=args.truncate,
        ply=args.ply,
        until_width=args.until_width,
        seed=seed,
        threads=num_cpus() if args.threads is None else args.threads,
    )

    def make(tell: "Callable[[int], None]") -> "list[Decision]":
        evaluator = load_evaluator(args.net)
        maker = RolloutDecisions(evaluator.net, settings, rollout, evaluator.tables, load_sorter())
        return maker.make(part_file(args.out), tell)

    return make
