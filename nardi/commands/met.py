"""`nardi met`: a match equity table, the one that is used, one of a file, or a computed one."""

import argparse
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError
from nardi.met_source import add_met, met_of

if TYPE_CHECKING:
    from agent.met import MatchEquityTable

__all__ = ["add_parser", "run"]

_LENGTH = 15
_COLUMNS = 15  # of a block: 80 characters


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "met",
        help="show a match equity table, or work one out from a gammon rate",
        description="Chances to win a match from every score, in percent, by points away; of the"
        " table that nardi uses, of a file, or worked out from a gammon rate with nardi's model of"
        " the cube. With --json: a file that --met takes.",
        epilog="try: nardi met --length 9 --gammon-rate 0.26",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--length",
        type=int,
        default=_LENGTH,
        metavar="N",
        help=f"show scores up to N points away; default: {_LENGTH}",
    )
    parser.add_argument(
        "--gammon-rate",
        type=float,
        metavar="G",
        help="work a table out in which this share of wins, 0 to 1, is gammons",
    )
    add_met(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.met import LONGEST_MATCH, MatchEquityTable, default_met, extended, met_document
    from nardi.documents import json_line

    length: int = args.length
    if not 1 <= length <= LONGEST_MATCH:
        raise ConfigError(f"--length is '{length}'; accepted: 1 to {LONGEST_MATCH}")
    if args.gammon_rate is not None:
        if args.met is not None:
            raise ConfigError("--met and --gammon-rate exclude each other")
        from agent.met_model import computed_met

        table = computed_met(args.gammon_rate, length)
    else:
        table = extended(met_of(args), length)
    shown = MatchEquityTable(table.name, table.pre[:length, :length], table.post[:length])
    document = met_document(shown) | {"difference": _difference(shown, default_met())}
    print(json_line(document) if args.json else _text(shown, document["difference"]))
    return 0


def _difference(table: "MatchEquityTable", standard: "MatchEquityTable") -> dict[str, Any] | None:
    """How far a table is from the standard one, in percent, where both have own chances."""
    import numpy as np

    size = min(table.size, standard.size)
    pre = 100 * np.abs(table.pre[:size, :size] - standard.pre[:size, :size])
    post = 100 * np.abs(table.post[:size] - standard.post[:size])
    if max(pre.max(), post.max()) < 1e-6:
        return None
    row, column = (int(i) for i in np.unravel_index(pre.argmax(), pre.shape))
    return {
        "from": standard.name,
        "up_to_away": size,
        "max_percent": round(float(pre.max()), 4),
        "at_away": [row + 1, column + 1],
        "rms_percent": round(float(np.sqrt((pre**2).mean())), 4),
        "post_crawford_max_percent": round(float(post.max()), 4),
    }


def _text(table: "MatchEquityTable", difference: dict[str, Any] | None) -> str:
    lines = [f"{table.name}: percent of matches won by the side so many points away (rows)"]
    for start in range(0, table.size, _COLUMNS):
        columns = range(start, min(start + _COLUMNS, table.size))
        lines += ["", "     " + "".join(f"{n + 1:5}" for n in columns)]
        lines += [
            f"{row + 1:4} " + "".join(f"{100 * table.pre[row, n]:5.1f}" for n in columns)
            for row in range(table.size)
        ]
        lines += ["post " + "".join(f"{100 * table.post[n]:5.1f}" for n in columns)]
    lines += [
        "",
        "columns: points the opponent is away; row and column 1: the Crawford game",
        "post: the trailer so many points away after the Crawford game, the leader 1",
    ]
    if difference:
        at = "{}-away against {}-away".format(*difference["at_away"])
        lines.append(
            f"from {difference['from']}: at most {difference['max_percent']:.2f} ({at}),"
            f" rms {difference['rms_percent']:.2f};"
        )
        lines.append(f"post: at most {difference['post_crawford_max_percent']:.2f} percent")
    return "\n".join(lines)
