"""`nardi decisions`: makes decision sets, files of plays with what they are worth."""

import argparse
import secrets
import sys
import time
from pathlib import Path
from typing import Any, Final

__all__ = ["add_parser", "run"]

_COUNT: Final = 400
_BEAROFF: Final = """\
Decisions near the end of races with exact equities, no more than 6 checkers a side: each from
another race from random starts, one of the turns in which the plays differ by 0.01 points or more.
The same seed gives the same decisions; those of a smaller count come first."""


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
    bearoff.add_argument(
        "--count", type=int, default=_COUNT, metavar="N", help=f"decisions; default: {_COUNT}"
    )
    bearoff.add_argument("--seed", type=int, metavar="S", help="default: one is drawn, and told")
    bearoff.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="file to write or replace; compressed if its name ends in .gz",
    )
    bearoff.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.errors import ConfigError
    from eval.bearoff_decisions import bearoff_decisions
    from eval.decision_files import write_decisions
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.exact_endings import prepare_tables
    from nardi.progress import Progress

    if not args.out.absolute().parent.is_dir():
        raise ConfigError(f"'{args.out}' cannot be written: its folder does not exist")
    seed = secrets.randbits(32) if args.seed is None else args.seed
    if args.seed is None:
        print(f"nardi decisions: seed {seed}", file=sys.stderr)
    begin = time.perf_counter()
    with compiling_is_told():
        prepare_tables()
        with Progress("nardi decisions", args.count, "decisions") as progress:
            decisions = bearoff_decisions(args.count, seed, progress.update)
    size = write_decisions(args.out, decisions)
    document: dict[str, Any] = {
        "file": str(args.out),
        "kind": args.kind,
        "count": len(decisions),
        "candidates": sum(len(decision.equities) for decision in decisions),
        "seed": seed,
        "bytes": size,
        "seconds": time.perf_counter() - begin,
    }
    if args.json:
        print(json_line(document))
    else:
        print(
            f"{document['count']:,} decisions with {document['candidates']:,} candidates,"
            f" {size / 1000:,.0f} kB, in {args.out}\n"
            f"now try: nardi benchmark net --decisions {args.out}"
        )
    return 0
