"""`nardi best-move`: the best plays of a roll, or of each of the 21 rolls, by a net."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError
from nardi.compiling import compiling_is_told
from nardi.roll import add_dice_and_rules, check_nothing_pending, parse_dice, with_dice
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from agent.evaluator import Evaluator
    from engine.notation import Position
    from engine.rules import Rules

__all__ = ["add_net", "add_parser", "run"]

Roll = tuple[int, int]

_PLY = 0  # search comes later
_TOP = 5
_TOP_OF_EACH_ROLL = 1
_NO_DICE = "the position's dice, or the best play of each of the 21 rolls if it tells none"


def add_net(parser: argparse.ArgumentParser) -> None:
    """Add --net, which all commands that answer with a net share."""
    parser.add_argument(
        "--net", type=Path, metavar="FILE", help="the net to ask; default: the one nardi brings"
    )


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "best-move",
        help="rank the plays of a roll with their equities and probabilities",
        description="Rank the legal plays of a roll by cubeless equity, with the mover's"
        " probabilities after each play. Without dice: the best play of each of the 21 rolls.",
        epilog="try: nardi best-move start --dice 31",
        allow_abbrev=False,
    )
    add_position(parser)
    add_dice_and_rules(parser, without=_NO_DICE)
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help=f"how many plays to tell; default: {_TOP}, or {_TOP_OF_EACH_ROLL} of each roll",
    )
    add_net(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.evaluator import load_evaluator
    from engine.dice import ROLLS
    from engine.notation import parse_position, position_rules
    from engine.rules import INTERNATIONAL, parse_switches
    from nardi.documents import left_out, position_document
    from nardi.net_facts import net_document

    dice = None if args.dice is None else parse_dice(args.dice)
    switches = parse_switches(args.rules) if args.rules else {}
    if args.top is not None and args.top < 1:
        raise ConfigError(f"--top is '{args.top}'; a whole number from 1 up fits")
    evaluator = load_evaluator(args.net)

    def answer(text: str) -> Answer:
        position = parse_position(text)
        check_nothing_pending(position, "cube decisions come later, and plays after the answer")
        position, notes = with_dice(position, dice)
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        document: dict[str, Any] = {
            "position": position_document(position),
            "dice": None if position.dice is None else list(position.dice),
            "rules": rules.as_dict(),
            "left_out": left_out(position, rules),
            "net": net_document(evaluator.name, evaluator.net),
        }
        with compiling_is_told():
            if position.dice is not None:
                document |= _best_plays(evaluator, position, position.dice, rules, args.top or _TOP)
            else:
                top = args.top or _TOP_OF_EACH_ROLL
                rolls: list[Roll] = [(int(high), int(low)) for high, low in ROLLS]
                document["rolls"] = [
                    {"dice": list(roll), **_best_plays(evaluator, position, roll, rules, top)}
                    for roll in rolls
                ]
        return Answer(document, _text(document, position, rules), [*notes, *conflicts])

    return answer_all(args, answer)


def _best_plays(
    evaluator: "Evaluator", position: "Position", roll: Roll, rules: "Rules", top: int
) -> dict[str, Any]:
    """The number of plays and the best ones of a roll, as docs/json.md has them."""
    from agent.ranking import rank_plays
    from engine.notation import format_play
    from nardi.documents import number, probs_document

    ranked = rank_plays(evaluator, position.board, roll, rules)
    best = number(ranked[0].equity)
    return {
        "count": len(ranked),
        "plays": [
            {
                "play": format_play(some.steps, position.board),
                "steps": [list(step) for step in some.steps],
                "afterstate": some.afterstate.tolist(),
                "equity": number(some.equity),
                "diff": round(number(some.equity) - best, 8),
                "probs": probs_document(some.probs),
                "ply": _PLY,
            }
            for some in ranked[:top]
        ],
    }


def _text(document: dict[str, Any], position: "Position", rules: "Rules") -> str:
    from nardi.net_facts import net_lines
    from nardi.render import board_text, equity_lines, plays_table, situation_text

    rows: list[tuple[str, dict[str, Any]]] = []
    if "plays" in document:
        shown, count = document["plays"], document["count"]
        head = f"{len(shown)} of {count} legal plays" if count > 1 else "the only legal play"
        rows = [(str(rank), play) for rank, play in enumerate(shown, start=1)]
    else:
        head = "best play of each roll"
        for roll in document["rolls"]:
            label = "-".join(str(face) for face in roll["dice"])
            rows += [("" if i else label, play) for i, play in enumerate(roll["plays"])]
    return "\n".join(
        [
            board_text(position),
            f"{situation_text(position)}: {head}, rules {rules}",
            "",
            plays_table(rows),
            "",
            *equity_lines(document, rules, "after the play"),
            *net_lines(document["net"]),
        ]
    )
