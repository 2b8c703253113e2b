"""Parser, dispatch and exit codes of the command `nardi`.

Exit codes: 0 done; 1 ran and the answer is no; 2 could not run (bad input or a fault of ours);
130 interrupted; 141 the reader of our output went away. Nothing heavy is imported here: `--help`
and `--version` must start in a blink.
"""

import argparse
import gc
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from engine.errors import NardiError
from nardi import __version__
from nardi.commands import (
    bearoff,
    benchmark,
    best_move,
    bot,
    compare,
    convert,
    cube,
    decisions,
    join,
    met,
    net,
    plays,
    rollout,
    show,
    train,
)
from nardi.commands import eval as eval_command
from nardi.compiling import no_cache_hint

__all__ = ["DONE", "FAILED", "INTERRUPTED", "NO_READER", "build_parser", "main"]

DONE = 0
FAILED = 2
INTERRUPTED = 130
NO_READER = 141

_COMMANDS = (
    ("ask about a position", (best_move, eval_command, cube, rollout, bearoff)),
    ("train and measure", (train, benchmark, compare, decisions, net, join)),
    ("look up and convert", (show, plays, convert, met)),
    ("for other programs", (bot,)),
)

# XGIDs and raw boards may begin with "-", which argparse would take for an option.
_POSITION_WITH_DASH = re.compile(r"-[-A-Za-z]{14,}:|-[-A-Oa-o]{25}$|-\d+\s*[\s,]")

_DESCRIPTION = """\
A backgammon (short nardi) bot that teaches itself: ask it for the best play or
cube action, train nets by self-play, measure bots against each other.

POSITION is one of:
  start                                          the opening position
  4HPwATDgc/ABMA                                 GNU position ID
  4HPwATDgc/ABMA:cAkAAAAAAAAE                    with match ID
  XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10
  11ccccchhhjjjjj:66666888dddddoo:N0N::B:R:0:0:1:0   OGID
  '0 -2 0 0 ...'                                 26 numbers, see docs/formats.md
  -                                              many, one a line, from stdin

Results go to stdout, everything else to stderr. Exit codes: 0 done, 2 could not
run, 130 interrupted, 141 the reader of the output went away."""

_EPILOG = """\
nardi COMMAND --help tells more of each.
try: nardi best-move start --dice 31"""

_NAME_WIDTH = 11


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint about stray words tells the usual reason."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments:"):
            message += " (a position with blanks in it needs quotes)"
        super().error(message)


class _Subparsers(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Subcommands that keep what they are for, so that the help can list them in groups."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.purposes: dict[str, str] = {}

    def add_parser(self, name: str, **kwargs: Any) -> Any:
        self.purposes[name] = kwargs.pop("help")
        return super().add_parser(name, **kwargs)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the chosen command's function is in `args.run`."""
    parser = Parser(
        prog="nardi",
        usage="nardi [-h] [--version] COMMAND ...",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"nardi {__version__}")
    subparsers = parser.add_subparsers(
        dest="command", prog="nardi", action=_Subparsers, help=argparse.SUPPRESS
    )
    assert isinstance(subparsers, _Subparsers)
    lines = []
    for group, commands in _COMMANDS:
        known = len(subparsers.purposes)
        for command in commands:
            command.add_parser(subparsers)
        lines.append(f"{group}:")
        for name, purpose in list(subparsers.purposes.items())[known:]:
            wrapped = textwrap.wrap(purpose, 76 - _NAME_WIDTH)
            lines.append(f"  {name:{_NAME_WIDTH}}{wrapped[0]}")
            lines += [" " * (_NAME_WIDTH + 2) + line for line in wrapped[1:]]
        lines.append("")
    parser.epilog = "\n".join([*lines, _EPILOG])
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code.

    Wrong usage, `--help` and `--version` end with SystemExit, as argparse has it.
    """
    # Imports make many objects and no garbage: looking for some cost 5 % of a quick command's time.
    gc.set_threshold(50_000)
    words = list(sys.argv[1:] if argv is None else argv)
    warnings.formatwarning = _plain_warning
    parser = build_parser()
    args = parser.parse_args([_protected(word) for word in words])
    if args.command is None:
        parser.print_help(sys.stderr)
        return FAILED
    try:
        code: int = args.run(args)
        if sys.stdout is not None:  # None if the caller closed it
            sys.stdout.flush()
    except NardiError as error:
        print(f"nardi {args.command}: error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"nardi {args.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except OSError as error:
        _discard_output()
        print(f"nardi {args.command}: error: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        if hint := no_cache_hint(error):
            print(f"nardi {args.command}: error: {hint}", file=sys.stderr)
            return FAILED
        traceback.print_exc()
        print(f"nardi {args.command}: this is a fault of nardi, not of the input", file=sys.stderr)
        return FAILED
    return code


def _plain_warning(message: Warning | str, *_: object, **__: object) -> str:
    """A warning as users should see it: without the line of ours that it comes from."""
    return f"nardi: warning: {message}\n"


def _discard_output() -> None:
    """Python flushes stdout once more when it ends; let that go nowhere after a failed write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _protected(word: str) -> str:
    """The word, with a blank before it if it is a position that looks like an option."""
    return " " + word if _POSITION_WITH_DASH.match(word) else word
