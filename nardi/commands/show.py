"""`nardi show`: a position as a text board, or as JSON."""

import argparse

from nardi.roll import add_game
from nardi.source import Answer, add_position, answer_all

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "show",
        help="show a position as a board, with its identifiers in every notation",
        description="Show a position as a board (X is on roll and moves from 24 to 1) with pip"
        " counts, cube and score, and its identifiers in every notation of its game.",
        epilog="try: nardi show 4HPwATDgc/ABMA",
        allow_abbrev=False,
    )
    add_position(parser)
    add_game(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.notation import parse_position
    from nardi.documents import position_document
    from nardi.render import position_text

    def answer(text: str) -> Answer:
        position = parse_position(text, args.game)
        return Answer({"position": position_document(position)}, position_text(position))

    return answer_all(args, answer)
