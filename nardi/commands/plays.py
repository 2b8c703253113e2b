"""`nardi plays`: the legal plays of a roll under house rules."""

import argparse
import re
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError, PositionError
from nardi.compiling import compiling_is_told
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from engine.notation import Position

__all__ = ["add_parser", "parse_dice", "run"]

_RULES_HELP = """\
house rules: international, caucasian or arena, and switches as name=value, separated by commas,
such as caucasian,jacoby=true; later ones win. What the position itself tells (Jacoby, match,
largest cube) holds unless it is said here. All switches: docs/rules.md"""


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
    parser.add_argument("--dice", metavar="31", help="the roll; without it the position's dice")
    parser.add_argument("--rules", metavar="RULES", default="", help=_RULES_HELP)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.moves import legal_plays
    from engine.notation import format_play, parse_position, position_rules
    from engine.rules import INTERNATIONAL, parse_switches
    from nardi.documents import position_document

    dice = None if args.dice is None else parse_dice(args.dice)
    switches = parse_switches(args.rules) if args.rules else {}

    def answer(text: str) -> Answer:
        position, roll, notes = _to_play(parse_position(text), dice)
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        with compiling_is_told():
            afterstates, steps = legal_plays(position.board, roll, rules)
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


def parse_dice(text: str) -> tuple[int, int]:
    """The roll that a text such as "31", "3-1" or "3 1" tells. Raises ConfigError."""
    found = re.fullmatch(r"\s*([1-6])\s*[-,/ ]?\s*([1-6])\s*", text, re.ASCII)
    if found is None:
        raise ConfigError(f"dice '{text}' are not two faces from 1 to 6; write them as 31 or 3-1")
    return int(found[1]), int(found[2])


def _to_play(
    position: "Position", dice: tuple[int, int] | None
) -> tuple["Position", tuple[int, int], list[str]]:
    """The position with the roll to play, the roll, and what the user should know.

    dice: the roll asked for, which goes before the position's own. Raises PositionError if
    nothing can be played.
    """
    if position.offer is not None or position.resignation:
        what = "a cube offer" if position.offer is not None else "a resignation"
        raise PositionError(f"{what} is waiting for its answer; plays come after that")
    own = position.dice
    if dice is None:
        if own is None:
            raise PositionError(
                "the position tells no dice; give them with --dice, as in --dice 31"
            )
        return position, own, []
    notes = []
    if own is not None and sorted(own) != sorted(dice):
        notes = [f"--dice {dice[0]}{dice[1]} is played, not the position's {own[0]}{own[1]}"]
    return position.replace(dice=dice), dice, notes
