"""`nardi rollout`: what a position or some plays are worth, by playing them out many times."""

import argparse
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from engine.errors import ConfigError, PositionError
from nardi.commands.best_move import add_net
from nardi.compiling import compiling_is_told
from nardi.exact_endings import prepare_tables
from nardi.met_source import add_met, met_of
from nardi.roll import (
    add_dice_and_rules,
    add_game,
    check_nothing_pending,
    parse_dice,
    rules_switches,
    with_dice,
)
from nardi.search_options import evaluators_of
from nardi.source import Answer, add_position, answer_all

if TYPE_CHECKING:
    from agent.evaluator import Evaluator
    from agent.rollout import Roller, Rollout
    from engine.moves import Steps
    from engine.notation import Position
    from engine.rules import Rules

__all__ = ["add_parser", "run"]

_TRIALS: Final = 1296
_PLAYS: Final = 3
_INTERRUPTED: Final = 130
_DESCRIPTION: Final = """\
Play a position, or the plays of a roll, out to the end many times with the net on both sides, and
tell the mean with its standard error. The luck of the dice is taken off, first throws are
stratified, all plays have the same dice. With dice: the best plays by the net, or those named.
The same seed gives the same figures for any number of threads. docs/rollouts.md tells more."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "rollout",
        help="play a position or plays out many times: equities with standard errors",
        description=_DESCRIPTION,
        epilog="try: nardi rollout start --dice 31 --trials 36 --truncate 6 --seed 1",
        allow_abbrev=False,
    )
    add_position(parser)
    add_game(parser)
    add_dice_and_rules(parser, without="the position's dice, or the position before the roll")
    parser.add_argument(
        "--plays", type=int, metavar="N", help=f"the N best plays by the net; default: {_PLAYS}"
    )
    parser.add_argument(
        "--play",
        action="append",
        metavar="PLAY",
        help='a play to roll out, such as "8/5 6/5"; may be repeated; instead of --plays',
    )
    parser.add_argument(
        "--trials", type=int, default=_TRIALS, metavar="N", help=f"games each; default: {_TRIALS}"
    )
    parser.add_argument(
        "--truncate",
        type=int,
        metavar="PLIES",
        help="cut a trial after so many plies, and take the net's value; default: never",
    )
    parser.add_argument("--no-luck", action="store_true", help="do not take off the dice's luck")
    parser.add_argument(
        "--ply", type=int, default=0, metavar="N", help="look-ahead of all plays; default: 0"
    )
    parser.add_argument(
        "--cube",
        action="store_true",
        help="with the cube, for money or at the position's score; without dice: double or not",
    )
    parser.add_argument(
        "--until-width",
        type=float,
        metavar="W",
        help="stop when the 95%% interval is W points or narrower to both sides: of the difference"
        " of the two best plays, or of the equity; at most --trials",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="default: one is drawn, and told")
    parser.add_argument(
        "--threads", type=int, metavar="T", help="threads that play; default: one for each CPU"
    )
    add_net(parser)
    add_met(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.checkpoint import sorter_for
    from agent.rollout import Roller, RolloutSettings
    from agent.situation import Situation
    from engine.bearoff.tables import load_tables
    from engine.notation import parse_position, position_rules
    from engine.rules import INTERNATIONAL
    from engine.variant import variant_of
    from nardi.cpus import num_cpus
    from nardi.documents import position_document
    from nardi.net_facts import net_document
    from nardi.rollout_view import Live, rollout_text

    dice = None if args.dice is None else parse_dice(args.dice)
    if args.position == "-":  # wrong rules end it before the first line
        rules_switches(args.rules, args.game)
    if args.plays is not None and args.plays < 1:
        raise ConfigError(f"--plays is '{args.plays}'; a whole number from 1 up fits")
    if args.plays is not None and args.play:
        raise ConfigError("--plays and --play exclude each other: the best ones, or those named")
    seed = secrets.randbits(32) if args.seed is None else args.seed
    settings = RolloutSettings(
        trials=args.trials,
        truncate=args.truncate,
        luck=not args.no_luck,
        ply=args.ply,
        until_width=args.until_width,
        seed=seed,
        threads=num_cpus() if args.threads is None else args.threads,
    )
    if args.seed is None:
        print(f"nardi rollout: seed {seed}", file=sys.stderr)
    met = met_of(args)
    prepare_tables()
    evaluators = evaluators_of(args)
    interrupted = False

    def answer(text: str) -> Answer:
        nonlocal interrupted
        position = parse_position(text, args.game)
        switches = rules_switches(args.rules, position.game)
        evaluator = evaluators(position.game)
        check_nothing_pending(position, "only positions before the roll, and plays, are rolled out")
        position, notes = with_dice(position, dice)
        rules, conflicts = position_rules(position, INTERNATIONAL, switches)
        if args.cube and not variant_of(rules).has_cube:
            raise ConfigError(
                f"{position.game} nardi is played without a doubling cube; leave out --cube"
            )
        situation = Situation.of_position(position, rules) if args.cube else None
        roller = Roller(
            evaluator.net,
            settings,
            rules,
            situation=situation,
            met=met,
            tables=load_tables(),
            sorter=sorter_for(evaluator.net),
        )
        if position.dice is None:
            if args.plays is not None or args.play:
                raise PositionError("plays need a roll: tell it with --dice")
            named: list[tuple[str, Steps]] = []
            starts = roller.position(position.board)
            count = None
        else:
            count, named, afterstates = _plays(args, evaluator, position, rules)
            starts = roller.plays(afterstates)
        begin = time.perf_counter()
        found: Rollout | None = None
        labels = [name for name, _ in named] or ["no double", "double, take"][: len(starts)]
        with compiling_is_told(), Live(settings.trials, labels) as live:
            try:
                for found in roller.roll_out(starts):
                    live.update(found)
            except KeyboardInterrupt:
                interrupted = True
                if found is None or args.position == "-":
                    raise
        assert found is not None
        document: dict[str, Any] = {
            "position": position_document(position),
            "dice": None if position.dice is None else list(position.dice),
            "rules": rules.as_dict(),
            "cube": args.cube,
            "met": met.name if situation is not None and situation.is_match else None,
            "net": net_document(evaluator.name, evaluator.net, rules),
            "ply": settings.ply,
            "truncate_plies": settings.truncate,
            "luck": settings.luck,
            "seed": seed,
            "trials": found.trials,
            "ended": found.ended or "interrupted",
            "seconds": round(time.perf_counter() - begin, 3),
        }
        document |= _figures(roller, found, position, named, afterstates if named else None, count)
        return Answer(document, rollout_text(document, position), [*notes, *conflicts])

    code = answer_all(args, answer)
    return _INTERRUPTED if interrupted else code


def _plays(
    args: argparse.Namespace, evaluator: "Evaluator", position: "Position", rules: "Rules"
) -> "tuple[int, list[tuple[str, Steps]], Any]":
    """How many plays are legal; texts, steps and afterstates of those to roll out."""
    import numpy as np

    from agent.ranking import rank_plays
    from engine.notation import format_play, parse_play

    assert position.dice is not None
    board = position.board
    ranked = rank_plays(evaluator, board, position.dice, rules)
    chosen: list[Any] = list(ranked[: args.plays or _PLAYS])
    if args.play:
        named = [parse_play(text, board, position.dice, rules) for text in args.play]
        # The same play named twice is one.
        chosen = list({play.afterstate.tobytes(): play for play in named}.values())
    texts = [(format_play(play.steps, board), play.steps) for play in chosen]
    return len(ranked), texts, np.stack([play.afterstate for play in chosen])


def _figures(
    roller: "Roller",
    found: "Rollout",
    position: "Position",
    named: "list[tuple[str, Steps]]",
    afterstates: Any,
    count: int | None,
) -> dict[str, Any]:
    """The figures of docs/json.md: of plays, or of the position."""
    from nardi.rollout_view import decision_of_lines, line_document

    if count is not None:
        plays = [
            {
                "play": named[i][0],
                "steps": [list(step) for step in named[i][1]],
                "afterstate": afterstates[i].tolist(),
                **line_document(roller, found.lines[i]),
            }
            for i in found.order
        ]
        return {"count": count, "plays": plays}
    lines = [line_document(roller, line) for line in found.lines]
    return {
        "no_double": lines[0],
        "double_take": lines[1] if len(lines) > 1 else None,
        "decision": decision_of_lines(roller, found) if roller.situation is not None else None,
    }
