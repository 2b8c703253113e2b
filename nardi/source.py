"""Where positions come from: the command line, or many lines of stdin; and how answers go out."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Answer", "add_position", "answer_all"]


class Answer(NamedTuple):
    """What a command says about one position, for programs and for people."""

    document: dict[str, Any]
    text: str
    notes: Sequence[str] = ()
    """What the user should know but is not part of the result; goes to stderr."""


def add_position(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the arguments POSITION and --json, which all commands about positions share.

    optional: POSITION may be missing and is None then.
    """
    parser.add_argument(
        "position",
        metavar="POSITION",
        nargs="?" if optional else None,
        type=str.strip,
        help="XGID, GNU ID, OGID, 26 numbers or start; - reads one a line from stdin and"
        " writes one JSON document a line",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def answer_all(args: argparse.Namespace, answer: Callable[[str], Answer]) -> int:
    """Print the answer to `args.position`, or with "-" one JSON line for each line of stdin.

    A line of stdin that cannot be answered gives a JSON line with its number and the error, and
    the exit code 2 in the end; blank lines give nothing. Raises NardiError for a single position.
    """
    if args.position == "-":
        return _answer_lines(args.command, answer)
    result = answer(args.position)
    _tell(result.notes, f"nardi {args.command}: note")
    if args.json:
        from nardi.documents import json_line

        print(json_line(result.document))
    else:
        print(result.text)
    return 0


def _answer_lines(command: str, answer: Callable[[str], Answer]) -> int:
    from engine.errors import NardiError
    from nardi.documents import json_line

    if sys.stdin is None:  # the caller closed it
        raise NardiError("there is no stdin to read positions from")
    code = 0
    # Bytes, because undecodable text in one line must not end the reading of the others.
    for number, line in enumerate(sys.stdin.buffer, start=1):
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace").strip()
        if not text:
            continue
        try:
            result = answer(text)
            document = result.document
            _tell(result.notes, f"nardi {command}: note: line {number}")
        except NardiError as error:
            document = {"error": str(error), "error_type": type(error).__name__}
            code = 2
        # Flushed, so that a program which writes a line and waits for its answer is not left alone.
        print(json_line({"line": number, **document}), flush=True)
    return code


def _tell(notes: Sequence[str], label: str) -> None:
    for message in notes:
        print(f"{label}: {message}", file=sys.stderr)
