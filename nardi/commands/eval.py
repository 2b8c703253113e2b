"""`nardi eval`: probabilities and equities of a position before the roll, by a net."""

import argparse
from typing import TYPE_CHECKING, Any

from engine.errors import PositionError
from nardi.commands.best_move import add_net
from nardi.compiling import compiling_is_told
from nardi.met_source import add_met, met_of
from nardi.roll import add_game, add_rules, rules_switches
from nardi.search_options import add_ply, looks_of, searchers_of
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from engine.notation import Position

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "eval",
        help="tell how often each side wins, and the equity, before the roll",
        description="Probabilities of win, gammon and backgammon for both sides, and the equity of"
        " the side on roll with the cube and without, before the roll. Of a finished game: its"
        " result.",
        epilog="try: nardi eval start",
        allow_abbrev=False,
    )
    add_position(parser)
    add_game(parser)
    add_rules(parser)
    add_ply(parser)
    add_net(parser)
    add_met(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.cube import cubeless_equity_at
    from agent.cube_values import mwc_of
    from agent.ranking import check_kinds_told, scored
    from agent.situation import Situation
    from engine.notation import parse_position, position_rules
    from engine.rules import INTERNATIONAL
    from engine.variant import variant_of
    from nardi.documents import number, position_document, probs_document
    from nardi.net_facts import net_document, net_lines
    from nardi.render import board_text, equity_lines, probs_table, situation_text

    if args.position == "-":  # wrong rules end it before the first line
        rules_switches(args.rules, args.game)
    ply = looks_of(args).ply
    met = met_of(args)
    searchers = searchers_of(args)

    def answer(text: str) -> Answer:
        position = parse_position(text, args.game)
        switches = rules_switches(args.rules, position.game)
        searcher = searchers(position.game)
        evaluator = searcher.evaluator
        if not position.board.any():
            raise PositionError("the board is empty: without checkers there is nothing to win")
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        net = net_document(evaluator.name, evaluator.net, rules)
        document: dict[str, Any] = {
            "position": position_document(position),
            "rules": rules.as_dict(),
            "net": net,
        }
        lines = [board_text(position), situation_text(position), ""]
        if document["position"]["phase"] == "over":
            check_kinds_told(evaluator.net, rules, evaluator.name)
            with compiling_is_told():
                probs, equity = scored(evaluator.probabilities(position.board[None])[0], rules)
            result = number(equity)
            document |= {
                "met": None,
                "ply": 0,
                "probs": probs_document(probs),
                "equity": result,
                "equity_cubeless": result,
                "mwc": None,
            }
            lines += [probs_table(document["probs"]), ""]
            lines.append(f"equity {result:+.3f}, the result of the game")
            return Answer(document, "\n".join(lines), [*conflicts, *_notes(position)])
        situation = Situation.of_position(position, rules)
        with compiling_is_told():
            value = searcher.evaluate(position.board, ply, situation, met)
        document |= {
            "met": met.name if situation.is_match else None,
            "ply": value.ply,
            "probs": probs_document(value.probs),
            "equity": round(value.cubeful, 6) + 0.0,
            "equity_cubeless": number(cubeless_equity_at(value.probs, situation, met)),
            "mwc": round(mwc_of(value.table, value.cubeful), 6) if situation.is_match else None,
        }
        lines += [probs_table(document["probs"]), ""]
        chance = f", wins the match {document['mwc']:.2%}" if situation.is_match else ""
        if variant_of(rules).has_cube:
            chance = f" with the cube{chance}; without {document['equity_cubeless']:+.3f}"
        lines.append(f"equity {document['equity']:+.3f}{chance}; {ply}-ply")
        lines += equity_lines(situation, document["met"])
        lines += net_lines(net)
        return Answer(document, "\n".join(lines), [*conflicts, *_notes(position)])

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
