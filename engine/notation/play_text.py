"""The words of a play: text to checker paths and back, without asking what is legal."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from engine.board import BAR, OFF, Board
from engine.errors import NotationError
from engine.notation.fields import shorten

__all__ = ["PASS", "Path", "format_steps", "is_pass", "read_paths", "split_dice"]

PASS: Final = "pass"
"""Canonical text of a forced pass."""

_PASS_WORDS: Final = re.compile(
    r"pass|passes|dances?|danced|can(?:not|'t)_(?:move|play)|no_(?:legal_)?(?:move|play)s?"
)
_CUBE_WORDS: Final = re.compile(
    r"(?:re)?doubles?|no_double|roll|takes?|accepts?|drops?|rejects?|beavers?|raccoons?|resigns?"
)
_LONGEST: Final = 200  # no play needs half as many characters
_BLANK: Final = r"[\s,;]+"
_POINT: Final = r"(?:bar|off|b|o|[0-9]{1,2})"
_PATH: Final = re.compile(
    rf"({_POINT}(?:/{_POINT}\*?)+|{_POINT}(?:-{_POINT}\*?)+)(?:\s*\(([0-9]{{1,3}})\)(\*?))?",
    re.ASCII,
)
_NAMES: Final = {"bar": BAR, "b": BAR, "off": OFF, "o": OFF}
_ACCEPTED: Final = (
    "moves such as 8/5, 24/18/13*, 6/5(2), bar/20, 6/off with blanks or commas between them, or"
    f" {PASS}"
)


@dataclass(frozen=True, kw_only=True)
class Path:
    """One checker's way as a text names it, and how many checkers go it."""

    points: tuple[int, ...]
    """At least two places, 25 = bar, 0 = off; places in between may be left out."""
    starred: frozenset[int]
    """The places that the text marks as hits."""
    count: int = 1
    """Number of checkers that go this way."""


def split_dice(text: str) -> tuple[tuple[int, int] | None, str]:
    """The dice that match files write before a play ("31: 8/5 6/5"), if any, and the play."""
    found = re.match(r"\s*([1-6])([1-6])\s*:", text, re.ASCII)
    if found is None:
        return None, text
    return (int(found[1]), int(found[2])), text[found.end() :]


def is_pass(text: str) -> bool:
    """Whether a text says in words, or with nothing at all, that no play is made."""
    word = _word(text)
    return word == "" or _PASS_WORDS.fullmatch(word) is not None


def _word(text: str) -> str:
    return "_".join(text.strip(" \t\r\n()-").lower().split())


def read_paths(text: str) -> list[Path]:
    """The checker paths that a play text names, in its order. Raises NotationError.

    Accepts any case, b / bar / 25 and o / off / 0, blanks, commas or semicolons between moves,
    slashes or hyphens within them, a bare list of points by twos, hit stars and counts (2) to (4).
    """
    if _CUBE_WORDS.fullmatch(_word(text)):
        raise _unreadable(text, "is a cube action, not a play")
    if re.fullmatch(r"\s*\?{2,}\s*", text):
        raise _unreadable(text, "stands for a play that was not made")
    if len(text) > _LONGEST:
        raise _unreadable(text, f"has {len(text)} characters")
    rest = text.strip().lower()
    bare = [part for part in re.split(_BLANK, rest) if part]
    if len(bare) > 1 and all(re.fullmatch(rf"{_POINT}\*?", part, re.ASCII) for part in bare):
        if len(bare) % 2:
            raise _unreadable(text, f"names {len(bare)} points, which cannot be paired")
        rest = " ".join(f"{a}/{b}" for a, b in zip(bare[::2], bare[1::2], strict=True))
    paths = []
    at = 0
    while at < len(rest):
        found = _PATH.match(rest, at)
        end = len(rest) if found is None else found.end()
        gap = re.compile(_BLANK).match(rest, end)
        if found is None or (gap is None and end < len(rest)):
            raise _unreadable(text, f"cannot be read from '{shorten(rest[at:])}' on")
        paths.append(_path(found, text))
        at = end if gap is None else gap.end()
    if not paths:
        raise _unreadable(text, "names no play")
    return paths


def _path(found: re.Match[str], text: str) -> Path:
    places = re.split("[/-]", found[1])
    names = [place.rstrip("*") for place in places]
    points = tuple(_NAMES[name] if name in _NAMES else int(name) for name in names)
    for name, point in zip(names, points, strict=True):
        if point > BAR:
            raise _unreadable(text, f"has the point '{name}'; points are 1 to 24")
    if OFF in points[:-1]:
        raise _unreadable(text, "moves on from off, where a checker stays")
    if BAR in points[1:]:
        raise _unreadable(text, "moves to the bar, where only hit checkers go")
    count = 1 if found[2] is None else int(found[2])
    if found[2] is not None and not 2 <= count <= 4:
        raise _unreadable(text, f"has the count '({found[2]})'; counts are (2) to (4)")
    starred = {point for place, point in zip(places, points, strict=True) if place.endswith("*")}
    if found[3]:
        starred.add(points[-1])
    return Path(points=points, starred=frozenset(starred), count=count)


def _unreadable(text: str, why: str) -> NotationError:
    return NotationError(f"play '{shorten(text)}' {why}; accepted: {_ACCEPTED}")


def format_steps(steps: Sequence[Sequence[int]], board: Board) -> str:
    """The canonical text of a play's steps in playing order, from the board before it.

    High to low, one checker's steps joined unless it hits on the way, equal moves counted, one
    star per point hit: "24/20*/16(2) 6/4". A forced pass is "pass".
    """
    if not steps:
        return PASS
    ways: list[list[int]] = []
    # Sources from high to low, so that a checker's later steps find its earlier ones.
    for source, target in sorted(((step[0], step[1]) for step in steps), reverse=True):
        way = next((w for w in ways if w[-1] == source), None)
        if way is None:
            ways.append([source, target])
        else:
            way.append(target)
    ways.sort(key=lambda way: (way[0], way[-1], way), reverse=True)
    hits = {target for _, target in steps if target > OFF and board[target] == -1}
    texts = []
    for way, same in groupby(ways):
        parts = [_place(way[0])]
        for point in way[1:]:
            if point in hits:
                parts.append(f"{point}*")
                hits.remove(point)
            elif point == way[-1]:
                parts.append(_place(point))
        count = sum(1 for _ in same)
        texts.append("/".join(parts) + (f"({count})" if count > 1 else ""))
    return " ".join(texts)


def _place(point: int) -> str:
    return {BAR: "bar", OFF: "off"}.get(point, str(point))
