"""`nardi eval`: probabilities and cubeless equity of a position before the roll, by a net."""

import argparse
from typing import TYPE_CHECKING, Any

from engine.errors import PositionError
from nardi.commands.best_move import add_net
from nardi.compiling import compiling_is_told
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from engine.notation import Position

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "eval",
        help="tell how often each side wins, and the equity, before the roll",
        description="Probabilities of win, gammon and backgammon for both sides and the cubeless"
        " equity of the side on roll, before the roll. Of a finished game: its result.",
        epilog="try: nardi eval start",
        allow_abbrev=False,
    )
    add_position(parser)
    add_net(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.evaluator import cubeless_equity, load_evaluator
    from engine.notation import parse_position, position_rules
    from engine.rules import INTERNATIONAL
    from nardi.documents import left_out, number, position_document, probs_document
    from nardi.net_facts import net_document, net_lines
    from nardi.render import board_text, equity_lines, probs_table, situation_text

    evaluator = load_evaluator(args.net)

    def answer(text: str) -> Answer:
        position = parse_position(text)
        if not position.board.any():
            raise PositionError("the board is empty: without checkers there is nothing to win")
        with compiling_is_told():
            probs = evaluator.probabilities(position.board[None])[0]
        net = net_document(evaluator.name, evaluator.net)
        rules, _ = position_rules(position, INTERNATIONAL, {})
        document: dict[str, Any] = {
            "position": position_document(position),
            "left_out": left_out(position, rules),
            "net": net,
            "probs": probs_document(probs),
            "equity": number(cubeless_equity(probs)),
            "ply": 0,
        }
        lines = [board_text(position), situation_text(position), ""]
        lines += [probs_table(document["probs"]), "", f"equity {document['equity']:+.3f}"]
        if document["position"]["phase"] == "over":
            lines[-1] += ", the result of the game"
        else:
            lines += equity_lines(document, rules, "before the roll")
            lines += net_lines(net)
        return Answer(document, "\n".join(lines), _notes(position))

    return answer_all(args, answer)


def _notes(position: "Position") -> list[str]:
    """What the position tells that the figures do not look at."""
    notes = []
    if position.dice is not None:
        faces = "{}-{}".format(*position.dice)
        notes.append(f"the figures are from before the roll; for the {faces} ask nardi best-move")
    if position.offer is not None or position.resignation:
        what = "a cube offer" if position.offer is not None else "a resignation"
        notes.append(f"{what} is waiting for its answer; the figures are as if X were on roll")
    return notes
