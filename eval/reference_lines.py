"""Lines of files with reference equities, taken apart and checked."""

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from engine.board import NUM_CHECKERS, NUM_SLOTS, Board, validate
from engine.errors import NardiError, PositionError

__all__ = ["OUTPUTS", "ReferenceFileError", "ReferenceLine", "reference_lines", "shown"]

OUTPUTS: Final = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")
"""Names of the five cumulative probabilities, in their order."""

_GZIP: Final = b"\x1f\x8b"
_SLACK: Final = 0.1
"""By which a rollout with variance reduction may miss the range of what it estimates."""
_AGREEMENT: Final = 0.05
"""By which an equity may miss that of its probabilities: rounding, or estimates of their own."""


class ReferenceFileError(NardiError):
    """A file of decisions or positions that cannot be read, or a line of it that is wrong."""


def reference_lines(path: Path) -> Iterator["ReferenceLine"]:
    """The objects of a file, one a line."""
    number = 0
    try:
        with path.open("rb") as file:
            is_gzip = file.peek(2)[:2] == _GZIP
            with gzip.open(file) if is_gzip else file as plain:
                for number, content in enumerate(plain, start=1):
                    if content.strip():
                        yield ReferenceLine(path, number, content)
    except EOFError:
        raise ReferenceFileError(
            f"'{path}' is cut off: its gzip data end after line {number}"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ReferenceFileError(
            f"'{path}' is damaged: its gzip data cannot be read after line {number} ({error})"
        ) from None
    except OSError as error:
        raise ReferenceFileError(f"'{path}' cannot be read: {error.strerror or error}") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"'{text}' is not a number of JSON")


class ReferenceLine:
    """One line of a file, taken apart; everything raises ReferenceFileError for what is wrong.

    where: the part of the line that is meant, such as "candidate 2: "; "" = the whole.
    """

    def __init__(self, path: Path, number: int, content: bytes) -> None:
        self.path = path
        self.number = number
        try:
            text = content.decode("utf-8-sig" if number == 1 else "utf-8")
            values = json.loads(text, parse_constant=_no_number)
        except UnicodeDecodeError:
            self.fail("", "is not UTF-8 text")
        except (ValueError, RecursionError) as error:
            self.fail("", f"is not JSON: {error}")
        if not isinstance(values, dict):
            self.fail("", f"is not a JSON object but {shown(values)}")
        self.values: dict[str, Any] = values

    def fail(self, where: str, message: str) -> NoReturn:
        raise ReferenceFileError(f"'{self.path}', line {self.number}: {where}{message}")

    def field(self, values: dict[str, Any], name: str, where: str = "") -> Any:
        if name not in values:
            found = ", ".join(f"'{key}'" for key in list(values)[:8]) or "nothing"
            self.fail(where, f"'{name}' is missing; there is {found}")
        return values[name]

    def board(self, values: dict[str, Any], name: str, where: str = "") -> Board:
        """`(26,)` int8: a board that can occur."""
        value = self.field(values, name, where)
        where = f"{where}'{name}'"
        if not isinstance(value, list) or len(value) != NUM_SLOTS:
            length = f"{len(value)} elements" if isinstance(value, list) else shown(value)
            self.fail(where, f" is {length}; accepted: a list of {NUM_SLOTS} whole numbers")
        for slot, count in enumerate(value):
            if type(count) is not int or abs(count) > NUM_CHECKERS:
                self.fail(
                    where,
                    f" has {shown(count)} in slot {slot}; accepted: whole numbers from"
                    f" -{NUM_CHECKERS} to {NUM_CHECKERS}",
                )
        try:
            return validate(value)
        except PositionError as error:
            self.fail(where, f" cannot occur: {error}")

    def finite(self, value: object, where: str, least: float, most: float) -> float:
        """A finite number within a range, by which it may be missed a little."""
        if type(value) not in (int, float):
            self.fail(where, f" is {shown(value)}; accepted: a number")
        assert isinstance(value, int | float)
        number = float(value) if abs(value) < 1e300 else math.inf
        if not math.isfinite(number):
            self.fail(where, " is not finite")
        if not least - _SLACK <= number <= most + _SLACK:
            self.fail(where, f" is {number:g}; accepted: {least:g} to {most:g}")
        return number

    def equity(self, values: dict[str, Any], where: str = "") -> float:
        return self.finite(self.field(values, "equity", where), f"{where}'equity'", -3, 3)

    def probs(self, values: dict[str, Any], where: str = "") -> list[float]:
        """Five probabilities that fit the equity."""
        value = self.field(values, "probs", where)
        if not isinstance(value, list) or len(value) != len(OUTPUTS):
            length = f"{len(value)} elements" if isinstance(value, list) else shown(value)
            self.fail(
                where, f"'probs' is {length}; accepted: a list of 5 numbers, {', '.join(OUTPUTS)}"
            )
        p = [
            self.finite(x, f"{where}'probs' ({name})", 0, 1)
            for name, x in zip(OUTPUTS, value, strict=True)
        ]
        of_probs = 2 * p[0] - 1 + p[1] + p[2] - p[3] - p[4]
        equity = self.equity(values, where)
        if abs(of_probs - equity) > _AGREEMENT:
            self.fail(
                where,
                f"'equity' is {equity:g}, but that of 'probs' is {of_probs:.4f}; accepted: cubeless"
                f" equity and cumulative probabilities ({', '.join(OUTPUTS)}) of the same side",
            )
        return p


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else f"{text[:37]}..."
