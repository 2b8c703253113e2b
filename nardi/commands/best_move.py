"""`nardi best-move`: the best plays of a roll, or of each of the 21 rolls, by a net."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError
from nardi.compiling import compiling_is_told
from nardi.met_source import add_met, met_of
from nardi.roll import (
    add_dice_and_rules,
    add_game,
    check_nothing_pending,
    parse_dice,
    rules_switches,
    with_dice,
)
from nardi.search_options import Looks, add_filter, add_ply, looks_of, searchers_of
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from agent.met import MatchEquityTable
    from agent.search import Searcher
    from agent.situation import Situation
    from engine.notation import Position

__all__ = ["add_net", "add_parser", "run"]

Roll = tuple[int, int]

_TOP = 5
_TOP_OF_EACH_ROLL = 1
_NO_DICE = (
    "the position's dice, or the cube action and the best play of each of the 21 rolls if it tells"
    " none"
)


def add_net(parser: argparse.ArgumentParser) -> None:
    """Add --net, which all commands that answer with a net share."""
    parser.add_argument(
        "--net",
        type=Path,
        metavar="FILE",
        help="the net to ask: a file, or fast, a small one for weak machines; default: the one that"
        " nardi brings for the game",
    )


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "best-move",
        help="rank the plays of a roll with their equities and probabilities",
        description="Rank the legal plays of a roll by equity with the cube, at the position's"
        " score or for money, with the cubeless equity and the mover's probabilities after each"
        " play. Without dice: the cube action, and the best play of each of the 21 rolls.",
        epilog="try: nardi best-move start --dice 31",
        allow_abbrev=False,
    )
    add_position(parser)
    add_game(parser)
    add_dice_and_rules(parser, without=_NO_DICE)
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help=f"how many plays to tell; default: {_TOP}, or {_TOP_OF_EACH_ROLL} of each roll",
    )
    add_ply(parser)
    add_filter(parser)
    add_net(parser)
    add_met(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.situation import Situation
    from engine.dice import ROLLS
    from engine.notation import parse_position, position_rules
    from engine.rules import INTERNATIONAL
    from engine.variant import variant_of
    from nardi.cube_decision import cube_answer
    from nardi.documents import position_document
    from nardi.net_facts import net_document

    dice = None if args.dice is None else parse_dice(args.dice)
    if args.position == "-":  # wrong rules end it before the first line
        rules_switches(args.rules, args.game)
    if args.top is not None and args.top < 1:
        raise ConfigError(f"--top is '{args.top}'; a whole number from 1 up fits")
    looks = looks_of(args)
    met = met_of(args)
    searchers = searchers_of(args)
    warm = set()

    def answer(text: str) -> Answer:
        position = parse_position(text, args.game)
        switches = rules_switches(args.rules, position.game)
        searcher = searchers(position.game)
        evaluator = searcher.evaluator
        if looks.seconds is not None and position.game not in warm:
            with compiling_is_told():
                searcher.warm_up()
            warm.add(position.game)
        check_nothing_pending(position, "its answer: nardi cube; plays come after it")
        position, notes = with_dice(position, dice)
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        situation = Situation.of_position(position, rules)
        document: dict[str, Any] = {
            "position": position_document(position),
            "dice": None if position.dice is None else list(position.dice),
            "rules": rules.as_dict(),
            "net": net_document(evaluator.name, evaluator.net, rules),
            "met": met.name if situation.is_match else None,
            "filter": looks.filter.name,
            "time_per_move_s": looks.seconds,
        }

        def plays(roll: Roll, top: int) -> dict[str, Any]:
            return _best_plays(searcher, position, roll, situation, looks, met, top)

        with compiling_is_told():
            if position.dice is not None:
                document |= plays(position.dice, args.top or _TOP)
            else:
                if variant_of(rules).has_cube:
                    cube = cube_answer(searcher, position.board, situation, looks.ply, met)
                    document["cube"] = cube.document(answers=False)
                top = args.top or _TOP_OF_EACH_ROLL
                rolls: list[Roll] = [(int(high), int(low)) for high, low in ROLLS]
                document["rolls"] = [{"dice": list(roll), **plays(roll, top)} for roll in rolls]
        return Answer(document, _text(document, position, situation), [*notes, *conflicts])

    return answer_all(args, answer)


def _best_plays(
    searcher: "Searcher",
    position: "Position",
    roll: Roll,
    situation: "Situation",
    looks: Looks,
    met: "MatchEquityTable",
    top: int,
) -> dict[str, Any]:
    """The number of plays and the best ones of a roll, as docs/json.md has them."""
    from agent.cube_values import mwc_of, table_of
    from engine.notation import format_play
    from nardi.documents import number, probs_document

    ranked = searcher.rank(
        position.board,
        roll,
        looks.ply,
        move_filter=looks.filter,
        situation=situation,
        seconds=looks.seconds,
        met=met,
    )
    table = table_of(situation, looks.ply, met) if situation.is_match else None
    worths = [round(some.cubeful or 0.0, 6) + 0.0 for some in ranked]
    return {
        "count": len(ranked),
        "plays": [
            {
                "play": format_play(some.steps, position.board),
                "steps": [list(step) for step in some.steps],
                "afterstate": some.afterstate.tolist(),
                "ply": some.ply,
                "equity": worth,
                "diff": round(worth - worths[0], 6),
                "equity_cubeless": number(some.equity),
                "mwc": None if table is None else round(mwc_of(table, worth), 6),
                "probs": probs_document(some.probs),
            }
            for some, worth in zip(ranked[:top], worths, strict=False)
        ],
    }


def _text(document: dict[str, Any], position: "Position", situation: "Situation") -> str:
    from nardi.cube_view import decision_lines
    from nardi.net_facts import net_lines
    from nardi.render import board_text, equity_lines, plays_table, situation_text

    rows: list[tuple[str, dict[str, Any]]] = []
    lines = [board_text(position)]
    if "plays" in document:
        shown, count = document["plays"], document["count"]
        head = f"{len(shown)} of {count} legal plays" if count > 1 else "the only legal play"
        rows = [(str(rank), play) for rank, play in enumerate(shown, start=1)]
    else:
        head = "cube action, and best play of each roll" if "cube" in document else ""
        head = head or "best play of each roll"
        for roll in document["rolls"]:
            label = "-".join(str(face) for face in roll["dice"])
            rows += [("" if i else label, play) for i, play in enumerate(roll["plays"])]
    lines += [f"{situation_text(position)}: {head}, rules {situation.rules}", ""]
    if "cube" in document:
        redouble = position.cube_owner == "mover"
        lines += [*decision_lines(document["cube"]["decision"], redouble=redouble), ""]
    return "\n".join(
        [
            *lines,
            plays_table(rows),
            "",
            *equity_lines(situation, document["met"]),
            *net_lines(document["net"]),
        ]
    )
