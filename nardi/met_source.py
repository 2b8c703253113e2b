"""Which match equity table a command uses: the one nardi brings, or a file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.met import MatchEquityTable

__all__ = ["add_met", "met_of"]


def add_met(parser: argparse.ArgumentParser) -> None:
    """Add --met, which all commands that look at the score share."""
    parser.add_argument(
        "--met",
        type=Path,
        metavar="FILE",
        help="match equity table, JSON as nardi met --json writes it; default: Kazaross-XG2",
    )


def met_of(args: argparse.Namespace) -> "MatchEquityTable":
    """The table that was asked for. Raises ConfigError."""
    from agent.met import load_met

    return load_met(args.met)
