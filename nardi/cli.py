"""Parser, dispatch and exit codes of the command `nardi`.

Exit codes: 0 done; 1 ran and the answer is no; 2 could not run (bad input or a fault of ours);
130 interrupted; 141 the reader of our output went away. Nothing heavy is imported here: `--help`
and `--version` must start in a blink.
"""

import argparse
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

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
    met,
    net,
    plays,
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
    show,
    best_move,
    eval_command,
    cube,
    bearoff,
    plays,
    convert,
    met,
    net,
    train,
    benchmark,
    decisions,
    compare,
    bot,
)

# XGIDs and raw boards may begin with "-", which argparse would take for an option.
_POSITION_WITH_DASH = re.compile(r"-[-A-Za-z]{14,}:|-[-A-Oa-o]{25}$|-\d+\s*[\s,]")

_DESCRIPTION = """\
A backgammon (short nardi) bot: ranks plays, judges positions and doubles with
a net, trains and measures nets, lists legal plays under house rules, shows
positions and match equities, converts between identifiers.

POSITION is one of:
  start                                          the opening position
  4HPwATDgc/ABMA                                 GNU position ID
  4HPwATDgc/ABMA:cAkAAAAAAAAE                    with match ID
  XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10
  11ccccchhhjjjjj:66666888dddddoo:N0N::B:R:0:0:1:0   OGID
  '0 -2 0 0 ...'                                 26 numbers, see docs/formats.md
  -                                              many, one a line, from stdin

Results go to stdout, everything else to stderr. Exit codes: 0 done, 2 could not
run, 130 interrupted."""

_EPILOG = "try: nardi best-move start --dice 31"


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint about stray words tells the usual reason."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments:"):
            message += " (a position with blanks in it needs quotes)"
        super().error(message)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the chosen command's function is in `args.run`."""
    parser = Parser(
        prog="nardi",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"nardi {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for command in _COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code.

    Wrong usage, `--help` and `--version` end with SystemExit, as argparse has it.
    """
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
