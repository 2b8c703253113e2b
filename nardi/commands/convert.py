"""`nardi convert`: a position from any notation to a chosen one."""

import argparse

from nardi.roll import add_game
from nardi.source import Answer, add_position, answer_all

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "convert",
        help="write a position in another notation",
        description="Write a position in another notation. What the other notation cannot express"
        " is an error, never left out silently.",
        epilog="try: nardi convert 4HPwATDgc/ABMA --to xgid",
        allow_abbrev=False,
    )
    add_position(parser)
    add_game(parser)
    parser.add_argument(
        "--to",
        required=True,
        choices=("xgid", "gnuid", "ogid", "longid"),
        help="gnuid is GNU Backgammon's PositionID:MatchID, longid the notation of long nardi",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.notation import format_position, parse_position
    from nardi.documents import position_document

    def answer(text: str) -> Answer:
        position = parse_position(text, args.game)
        converted = format_position(position, args.to)
        document = {"to": args.to, "text": converted, "position": position_document(position)}
        return Answer(document, converted)

    return answer_all(args, answer)
