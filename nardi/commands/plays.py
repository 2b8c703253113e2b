"""`nardi plays`: the legal plays of a roll under house rules."""

import argparse
from typing import Any

from engine.errors import PositionError
from nardi.compiling import compiling_is_told
from nardi.roll import (
    add_dice_and_rules,
    add_game,
    check_nothing_pending,
    parse_dice,
    rules_switches,
    with_dice,
)
from nardi.source import Answer, add_position, answer_all

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "plays",
        help="list the legal plays of a roll under house rules",
        description="List the legal plays of a roll, each distinct result once, in the numbering of"
        " the side on roll.",
        epilog="try: nardi plays start --dice 31 --rules caucasian",
        allow_abbrev=False,
    )
    add_position(parser)
    add_game(parser)
    add_dice_and_rules(parser, without="the position's dice")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.moves import legal_plays
    from engine.notation import format_play, parse_position, position_rules
    from engine.rules import INTERNATIONAL
    from nardi.documents import position_document

    dice = None if args.dice is None else parse_dice(args.dice)
    if args.position == "-":  # wrong rules end it before the first line
        rules_switches(args.rules, args.game)

    def answer(text: str) -> Answer:
        position = parse_position(text, args.game)
        switches = rules_switches(args.rules, position.game)
        check_nothing_pending(position, "plays come after that")
        position, notes = with_dice(position, dice)
        if position.dice is None:
            raise PositionError(
                "the position tells no dice; give them with --dice, as in --dice 31"
            )
        roll = position.dice
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        with compiling_is_told():
            afterstates, steps = legal_plays(position.board, roll, rules, position.context)
        texts = [format_play(some, position.board) for some in steps]
        document: dict[str, Any] = {
            "position": position_document(position),
            "dice": list(roll),
            "rules": rules.as_dict(),
            "count": len(texts),
            "plays": [
                {"play": play, "steps": [list(step) for step in some], "afterstate": row.tolist()}
                for play, some, row in zip(texts, steps, afterstates, strict=True)
            ],
        }
        noun = "play" if len(texts) == 1 else "plays"
        head = f"{len(texts)} legal {noun} of {roll[0]}-{roll[1]}, rules {rules}"
        text = "\n".join([head, *(f"  {play}" for play in texts)])
        return Answer(document, text, [*notes, *conflicts])

    return answer_all(args, answer)
