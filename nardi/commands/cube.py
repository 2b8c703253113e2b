"""`nardi cube`: whether to double, and whether to take, by a net."""

import argparse
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError, PositionError
from nardi.commands.best_move import add_net
from nardi.compiling import compiling_is_told
from nardi.met_source import add_met, met_of
from nardi.roll import add_rules
from nardi.search_options import add_ply, looks_of, searcher_of
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from engine.notation import Position

__all__ = ["add_parser", "run"]

_SOURCES = {
    "table": "probabilities by the tables of endings, see nardi bearoff",
    "exact": "exact, by the tables of endings, see nardi bearoff",
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "cube",
        help="tell whether to double, and whether to take a double",
        description="The cube action of the side on roll and the answer to it, before the roll,"
        " with the equities of every action; at a score also as chances to win the match. If a"
        " double is pending: its answer.",
        epilog="try: nardi cube XGID=-A-Bb-DBB---bBa---bcbbaA-A:0:0:-1:00:4:0:0:0:8",
        allow_abbrev=False,
    )
    add_position(parser)
    add_rules(parser)
    add_ply(parser)
    add_net(parser)
    add_met(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.cube import beaver_decision, board_efficiency
    from agent.situation import Situation
    from engine.bearoff.lookup import covers, fits_rules
    from engine.notation import parse_position, position_rules
    from engine.rules import INTERNATIONAL, parse_switches
    from nardi.cube_decision import cube_answer
    from nardi.cube_view import beaver_document, beaver_lines, decision_lines
    from nardi.documents import number, position_document, probs_document
    from nardi.net_facts import net_document, net_lines
    from nardi.render import board_text, probs_table, situation_text

    switches = parse_switches(args.rules) if args.rules else {}
    ply = looks_of(args).ply
    met = met_of(args)
    searcher = searcher_of(args)
    evaluator = searcher.evaluator

    def answer(text: str) -> Answer:
        position = parse_position(text)
        if position.game == "long":
            raise ConfigError("long nardi is played without a doubling cube")
        _check_before_roll(position)
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        situation = Situation.of_position(position, rules)
        answers = position.offer == "double"
        net = net_document(evaluator.name, evaluator.net, rules)
        document: dict[str, Any] = {
            "position": position_document(position),
            "rules": rules.as_dict(),
            "net": net,
            "met": met.name if situation.is_match else None,
        }
        with compiling_is_told():
            if position.offer == "beaver":
                probs = searcher.probabilities(position.board[None], ply, rules)[0]
                known = fits_rules(rules) and bool(covers(position.board[None])[0])
                efficiency = float(board_efficiency(position.board))
                worths = beaver_decision(probs, situation, efficiency, met)
                document |= {
                    "ply": ply,
                    "source": "table" if known else "net",
                    "efficiency": round(efficiency, 6),
                    "probs": probs_document(probs),
                    "decision": beaver_document(*worths),
                }
                lines = list(beaver_lines(document["decision"]))
            else:
                judged = cube_answer(searcher, position.board, situation, ply, met)
                probs, decision = judged.probs, judged.decision
                if answers and decision.answer is None:
                    raise PositionError(
                        f"the double that is pending is illegal: {decision.why_not}"
                    )
                document |= judged.document(answers=answers)
                redouble = position.cube_owner == "mover"
                lines = decision_lines(document["decision"], redouble=redouble)
        document["equity_cubeless"] = number(_cubeless(probs, situation, met))
        shown = [board_text(position), f"{situation_text(position)}, rules {rules}", "", *lines]
        shown += ["", probs_table(document["probs"]), ""]
        shown.append(f"cubeless equity {document['equity_cubeless']:+.3f}")
        shown += _units(situation.is_match, met.name, document["ply"])
        source = document["source"]
        shown += net_lines(net) if source == "net" else [_SOURCES[source]]
        return Answer(document, "\n".join(shown), conflicts)

    return answer_all(args, answer)


def _cubeless(probs: Any, situation: Any, met: Any) -> float:
    from agent.cube import cubeless_equity_at

    return cubeless_equity_at(probs, situation, met)


def _check_before_roll(position: "Position") -> None:
    """Raises PositionError if no cube decision can come now."""
    from engine.board import phase

    if phase(position.board) == "over" or not position.board.any():
        raise PositionError("the game is over: there is no cube decision")
    if position.resignation:
        raise PositionError("a resignation is waiting for its answer: there is no cube decision")
    if position.offer == "raccoon":
        raise PositionError(
            "raccoons are not played here: a beaver may only be accepted or declined"
        )
    if position.dice is not None:
        faces = "{}-{}".format(*position.dice)
        raise PositionError(
            f"there is no cube decision: the {faces} is thrown, and doubling comes before the roll;"
            " for the play ask nardi best-move"
        )


def _units(is_match: bool, met_name: str, ply: int) -> list[str]:
    looks = "no look-ahead" if ply == 0 else f"{ply}-ply"
    if not is_match:
        return [f"equities: X's points per game at the present stake, {looks}"]
    return [
        f"equities: X's, {looks}; +1 is to win a single game at this stake, -1 to",
        f"lose it; by the match equity table {met_name}",
    ]
