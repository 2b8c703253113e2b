"""How deep and how long a command looks ahead: its options, and the searcher they ask for."""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from engine.errors import ConfigError

if TYPE_CHECKING:
    from agent.evaluator import Evaluator
    from agent.move_filter import MoveFilter
    from agent.search import Searcher
    from engine.rules import Game

__all__ = [
    "DEFAULT_PLY",
    "Looks",
    "add_filter",
    "add_ply",
    "evaluators_of",
    "looks_of",
    "searcher_of",
    "searchers_of",
]

DEFAULT_PLY: Final = 2
_MAX_PLY: Final = 6  # agent.kernels.tree.MAX_DEPTH, which is slow to import for a help text
_MAX_PLY_IN_TIME: Final = 5


@dataclass(frozen=True, kw_only=True)
class Looks:
    """What the options say."""

    ply: int
    filter: "MoveFilter"
    seconds: float | None
    """Time for each roll; None = as deep as `ply`, however long it takes."""


def add_ply(parser: argparse.ArgumentParser) -> None:
    """Add --ply."""
    parser.add_argument(
        "--ply",
        type=int,
        metavar="N",
        help="how many further rolls to look at, as GNU Backgammon counts: 0 = the net's own"
        f" estimate, up to {_MAX_PLY}; each takes about twenty times as long as the one before;"
        f" default: {DEFAULT_PLY}, well below a second for a play",
    )


def add_filter(parser: argparse.ArgumentParser) -> None:
    """Add --filter and --time-per-move."""
    parser.add_argument(
        "--filter",
        metavar="NAME",
        default="normal",
        help="which plays are looked at more deeply: tiny, narrow, normal, large or full = all;"
        " default: normal, see docs/search.md",
    )
    parser.add_argument(
        "--time-per-move",
        type=float,
        metavar="SECONDS",
        help="look as deep and as wide as this time allows, at most as deep as --ply"
        f" (default then: {_MAX_PLY_IN_TIME}); the answer then depends on the speed of the machine",
    )


def looks_of(args: argparse.Namespace) -> Looks:
    """What --ply and, where the command has them, --filter and --time-per-move say.

    Raises ConfigError.
    """
    from agent.move_filter import move_filter

    seconds = getattr(args, "time_per_move", None)
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise ConfigError(f"--time-per-move is '{seconds:g}'; a number of seconds above 0 fits")
    ply = args.ply
    if ply is None:
        ply = DEFAULT_PLY if seconds is None else _MAX_PLY_IN_TIME
    if not 0 <= ply <= _MAX_PLY:
        raise ConfigError(f"--ply is '{ply}'; accepted: 0 to {_MAX_PLY}")
    name = getattr(args, "filter", "normal")
    return Looks(ply=ply, filter=move_filter(name), seconds=seconds)


def searchers_of(args: argparse.Namespace) -> "Callable[[Game], Searcher]":
    """Gives the searcher for a game, as `searcher_of`, made when it is first asked for.

    A net that cannot be read is found at once, as `evaluators_of` does. Raises CheckpointError.
    """
    of_game = cache(lambda game: searcher_of(args, game))
    _read_at_once(args, of_game)
    return of_game


def evaluators_of(args: argparse.Namespace) -> "Callable[[Game], Evaluator]":
    """Gives the net of --net or of the game, read when it is first asked for.

    The net of --net, and without one that of --game if many positions are to come, is read at once,
    so that a wrong one ends the command. Raises CheckpointError.
    """
    from agent.evaluator import load_evaluator

    of_game = cache(lambda game: load_evaluator(args.net, game))
    _read_at_once(args, of_game)
    return of_game


def _read_at_once(args: argparse.Namespace, of_game: "Callable[[Game], object]") -> None:
    from agent.checkpoint import load_net

    if args.net is not None:
        of_game(load_net(args.net, game=None).game)
    elif args.position == "-":
        of_game(args.game or "short")


def searcher_of(args: argparse.Namespace, game: "Game" = "short") -> "Searcher":
    """The net of --net or of the game, with the sorter that nardi brings for it, on all CPUs.

    Raises CheckpointError, also for a net of the other game.
    """
    from agent.checkpoint import sorter_for
    from agent.evaluator import load_evaluator
    from agent.search import Searcher
    from nardi.cpus import num_cpus
    from nardi.exact_endings import prepare_tables

    prepare_tables()
    evaluator = load_evaluator(args.net, game)
    return Searcher(evaluator, sorter_for(evaluator.net), threads=num_cpus())
