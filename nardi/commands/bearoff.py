"""`nardi bearoff`: what the tables of exact endings know of a position; or make them now."""

import argparse
import textwrap
import time
from typing import TYPE_CHECKING, Any, Final

from nardi.compiling import compiling_is_told
from nardi.exact_endings import prepare_tables
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from engine.bearoff.lookup import Cubeful, Rolls
    from engine.notation import Position

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Of a race near its end: the chances of the number of rolls each side needs, who wins how often,
and, with up to 6 checkers a side at home, exact equities for money with and without the cube, and
what to do with it. The tables are computed when first needed, which takes some seconds, and kept
(docs/bearoff.md); --build makes them now."""
_LEAST_SHOWN: Final = 5e-5


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "bearoff",
        help="tell exact chances, equities and cube action near the end of a race",
        description=_DESCRIPTION,
        epilog="try: nardi bearoff XGID=-BBA----------------a-ab--:0:0:1:00:0:0:0:0:10",
        allow_abbrev=False,
    )
    add_position(parser, optional=True)
    parser.add_argument(
        "--build",
        action="store_true",
        help="compute the tables now, whatever is kept, and keep them",
    )
    parser.set_defaults(run=run, usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    if args.build == (args.position is not None):
        args.usage_error("either a POSITION or --build is needed, and not both")
    if args.build:
        return _build(args)
    return answer_all(args, _answer)


def _build(args: argparse.Namespace) -> int:
    from engine.bearoff.arrays import TWO_SIDED_CHECKERS
    from engine.bearoff.ranks import num_positions
    from engine.bearoff.tables import build_and_keep, tables_path
    from nardi.documents import json_line
    from nardi.progress import Progress

    begin = time.perf_counter()
    total = num_positions(6, TWO_SIDED_CHECKERS)
    with compiling_is_told(), Progress("nardi bearoff", total, "positions") as progress:
        tables = build_and_keep(lambda done, _: progress.update(done))
    path = tables_path()
    kept = path if path is not None and path.exists() else None
    document: dict[str, Any] = {
        "file": None if kept is None else str(kept),
        "bytes": sum(array.nbytes for array in tables),
        "seconds": time.perf_counter() - begin,
    }
    size = f"{document['bytes'] / 1e6:.1f} MB in {document['seconds']:.1f} s"
    print(json_line(document) if args.json else f"{size}, kept in {kept or 'no file'}")
    return 0


def _answer(text: str) -> Answer:
    from engine.bearoff.lookup import covers, cubeful, cubeless, roll_chances, why_not_covered
    from engine.board import borne_off, opp_borne_off
    from engine.errors import PositionError
    from engine.notation import parse_position
    from nardi.documents import number, position_document, probs_document
    from nardi.render import board_text, probs_table, situation_text

    position = parse_position(text)
    if position.game != "short":
        raise PositionError("the tables of endings are of short nardi only")
    board = position.board
    if reason := why_not_covered(board):
        raise PositionError(f"the tables of endings do not know this position: {reason}")
    with compiling_is_told():
        prepare_tables()
        exact = bool(covers(board[None], exactly=True)[0])
        probs = cubeless(board[None])[0]
        sides = roll_chances(board)
        first_off = roll_chances(board, first_off=True)
        owners: dict[str, Cubeful] = {}
        if exact:
            owners = {
                "centred": cubeful(board),
                "mover": cubeful(board, "mover"),
                "opponent": cubeful(board, "opponent"),
            }
    none_off = (borne_off(board) == 0, opp_borne_off(board) == 0)
    document: dict[str, Any] = {
        "position": position_document(position),
        "table": "two-sided" if exact else "one-sided",
        "exact": exact,
        "probs": probs_document(probs),
        "equity": number(2 * probs[0] - 1 + probs[1] - probs[3]),
        "cubeful": {name: _cube_document(value) for name, value in owners.items()} or None,
        "cubeful_missing": why_not_covered(board, exactly=True),
    }
    for side, rolls, first, is_whole in zip(
        ("mover", "opp"), sides, first_off, none_off, strict=True
    ):
        document[f"{side}_rolls"] = _rolls_document(rolls)
        document[f"{side}_rolls_to_first_off"] = _rolls_document(first) if is_whole else None
    lines = [board_text(position), situation_text(position), ""]
    lines += [_rolls_table(sides), "", probs_table(document["probs"]), ""]
    kind = "exact" if exact else "if both sides play for the fewest rolls"
    lines += [f"equity {document['equity']:+.4f} without a cube, {kind}"]
    if exact:
        lines += ["", *_cube_lines(owners, position)]
    else:
        lines += textwrap.wrap(f"no equities with the cube: {document['cubeful_missing']}", 80)
    return Answer(document, "\n".join(lines), _notes(position))


def _rolls_document(rolls: "Rolls") -> dict[str, Any]:
    from nardi.documents import number

    return {"mean": round(rolls.mean, 6), "chances": [number(chance) for chance in rolls.chances]}


def _cube_document(value: "Cubeful") -> dict[str, Any]:
    from nardi.documents import number

    return {
        "no_double": number(value.no_double),
        "double_take": None if value.double_take is None else number(value.double_take),
        "double_pass": value.double_pass,
        "equity": number(value.equity),
        "double": value.double,
        "take": value.take,
    }


def _rolls_table(sides: "tuple[Rolls, Rolls]") -> str:
    """Chances of each number of rolls, X beside O, those that can be seen with two digits."""
    rows = ["rolls needed        X        O"]
    longest = max(len(rolls.chances) for rolls in sides)
    for count in range(longest):
        chances = [
            float(rolls.chances[count]) if count < len(rolls.chances) else 0.0 for rolls in sides
        ]
        if max(chances) >= _LEAST_SHOWN:
            cells = "".join(
                f"{chance:9.2%}" if chance >= _LEAST_SHOWN else f"{'-':>9}" for chance in chances
            )
            rows.append(f"{count:12}{cells}")
    rows.append(f"{'mean':>12}" + "".join(f"{rolls.mean:9.3f}" for rolls in sides))
    return "\n".join(rows)


def _cube_lines(owners: "dict[str, Cubeful]", position: "Position") -> list[str]:
    """The cubeful equities for each owner of the cube; the position's own is marked."""
    names = {"centred": "centred", "mover": "with X", "opponent": "with O"}
    rows = ["money, cube    no double   double, take   double, pass   action"]
    for name, value in owners.items():
        mark = "*" if name == (position.cube_owner or "centred") else " "
        offers = "".join(
            f"{'-':>15}" if equity is None else f"{equity:+15.4f}"
            for equity in (value.double_take, value.double_pass)
        )
        rows.append(f"{mark} {names[name]:12}{value.no_double:+10.4f}{offers}   {_action(value)}")
    rows.append("in units of the cube, exact; nobody can lose a gammon, so Jacoby's rule and")
    rows.append("beavers change nothing; * is this position's cube")
    return rows


def _action(value: "Cubeful") -> str:
    if value.double is None:
        return "may not double"
    double = {"yes": "double", "no": "no double", "either": "double or not"}[value.double]
    take = {"yes": "take", "no": "pass", "either": "take or pass"}[value.take or "either"]
    return f"{double}, {take}"


def _notes(position: "Position") -> list[str]:
    """What the position tells that the figures do not look at."""
    notes = []
    if position.dice is not None:
        faces = "{}-{}".format(*position.dice)
        notes.append(f"the figures are from before the roll; the {faces} is not looked at")
    if position.offer is not None or position.resignation:
        what = "a cube offer" if position.offer is not None else "a resignation"
        notes.append(f"{what} is waiting for its answer; the figures are as if X were on roll")
    if position.match_length:
        notes.append("the equities are for money; the score of the match is not looked at")
    return notes
