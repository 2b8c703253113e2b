"""The roll that a command is about, and the rules: from the command line or from the position."""

import argparse
import re
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError, PositionError

if TYPE_CHECKING:
    from engine.notation import Position
    from engine.rules import Game

__all__ = [
    "add_dice_and_rules",
    "add_game",
    "add_rules",
    "check_nothing_pending",
    "parse_dice",
    "rules_switches",
    "with_dice",
]

Roll = tuple[int, int]

_RULES_HELP = """\
house rules: international, caucasian, arena or long, and switches as name=value, separated by
commas, such as caucasian,jacoby=true; later ones win. What the position itself tells (Jacoby,
match, largest cube) holds unless it is said here. All switches: docs/rules.md"""


def add_dice_and_rules(parser: argparse.ArgumentParser, without: str) -> None:
    """Add --dice and --rules; without: what is done if there is no --dice."""
    parser.add_argument("--dice", metavar="31", help=f"the roll; without it {without}")
    add_rules(parser)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add --rules alone, for commands about positions before the roll."""
    parser.add_argument("--rules", metavar="RULES", default="", help=_RULES_HELP)


def add_game(parser: argparse.ArgumentParser) -> None:
    """Add --game: the game that start and boards of numbers are of."""
    parser.add_argument(
        "--game",
        choices=("short", "long"),
        help="short nardi (backgammon) or long nardi; default: what the position tells, and short"
        " for start and boards of numbers",
    )


def rules_switches(text: str, game: "Game | None") -> dict[str, Any]:
    """The switches that --rules sets, for a game; none if it was not given. Raises ConfigError."""
    from engine.rules import INTERNATIONAL, LONG_NARDI, parse_switches

    if not text:
        return {}
    return parse_switches(text, LONG_NARDI if game == "long" else INTERNATIONAL)


def parse_dice(text: str) -> Roll:
    """The roll that a text such as "31", "3-1" or "3 1" tells. Raises ConfigError."""
    found = re.fullmatch(r"\s*([1-6])\s*[-,/ ]?\s*([1-6])\s*", text, re.ASCII)
    if found is None:
        raise ConfigError(f"dice '{text}' are not two faces from 1 to 6; write them as 31 or 3-1")
    return int(found[1]), int(found[2])


def check_nothing_pending(position: "Position", then: str) -> None:
    """Raises PositionError if an offer waits for its answer; then: what this means here."""
    if position.offer is not None or position.resignation:
        what = "a cube offer" if position.offer is not None else "a resignation"
        raise PositionError(f"{what} is waiting for its answer; {then}")


def with_dice(position: "Position", dice: Roll | None) -> tuple["Position", list[str]]:
    """The position with the roll to play, if there is one, and what the user should know.

    dice: the roll asked for, which goes before the position's own.
    """
    own = position.dice
    if dice is None:
        return position, []
    notes = []
    if own is not None and sorted(own) != sorted(dice):
        notes = [f"--dice {dice[0]}{dice[1]} is played, not the position's {own[0]}{own[1]}"]
    return position.replace(dice=dice), notes
