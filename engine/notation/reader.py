"""Which notation a text is in, and positions read from and written in any of them."""

import re
from typing import Final, Literal

from engine.board import NUM_SLOTS, START
from engine.errors import NotationError
from engine.long_board import LONG_START
from engine.notation.fields import build_position, shorten
from engine.notation.gnuid import format_gnuid, parse_gnuid
from engine.notation.longid import format_longid, looks_like_longid, parse_longid
from engine.notation.ogid import format_ogid, looks_like_ogid, parse_ogid
from engine.notation.position import Position
from engine.notation.xgid import format_xgid, parse_xgid
from engine.rules import Game

__all__ = ["NOTATIONS", "Notation", "format_position", "notations_of", "parse_position"]

Notation = Literal["xgid", "gnuid", "ogid", "longid"]
NOTATIONS: Final[tuple[Notation, ...]] = ("xgid", "gnuid", "ogid")
"""What `format_position` writes of short nardi."""
_OF_LONG: Final[tuple[Notation, ...]] = ("longid",)

_ACCEPTED: Final = (
    "a GNU Backgammon ID (4HPwATDgc/ABMA or 4HPwATDgc/ABMA:cAkAAAAAAAAA), an XGID"
    " (XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10), an OGID"
    " (11ccccchhhjjjjj:66666888dddddoo:N0N::B:R:0:0:0), 26 whole numbers, or start; of long nardi"
    " LONG=-----------o-----------O"
)
_WRITERS: Final = {
    "xgid": format_xgid,
    "gnuid": format_gnuid,
    "ogid": format_ogid,
    "longid": format_longid,
}
_LABELLED_POSITION_ID: Final = re.compile(r"\bposition[ _-]?id\s*[:=]?\s*(\S*)", re.IGNORECASE)
_LABELLED_MATCH_ID: Final = re.compile(r"\bmatch[ _-]?id\s*[:=]?\s*(\S*)", re.IGNORECASE)


def notations_of(position: Position) -> tuple[Notation, ...]:
    """The notations of the position's game."""
    return _OF_LONG if position.game == "long" else NOTATIONS


def parse_position(text: str, game: Game | None = None) -> Position:
    """The position a text tells in any notation that nardi reads.

    Accepted: a Position ID alone or with a Match ID (joined by a colon or a blank, or as GNU
    Backgammon prints them in "Position ID: … Match ID: …"), an XGID anywhere in a text, an OGID, a
    board of 26 whole numbers seen by the side on roll (with commas, blanks or brackets), the word
    start, or LONG= (docs/long.md). game: which game start and numbers are of, None = short nardi;
    the other notations are of one game and must be of this one. Raises NotationError if the text
    cannot be read, PositionError if what it says cannot occur.
    """
    text = text.strip().strip("\"'`\ufeff").strip()
    position = _parse(text, game or "short")
    if game is not None and position.game != game:
        raise NotationError(f"'{shorten(text)}' is a position of {position.game} nardi, not {game}")
    return position


def _parse(text: str, game: Game) -> Position:
    if text.lower() == "start":
        return Position(game=game, board=LONG_START if game == "long" else START)
    if looks_like_longid(text):
        return parse_longid(text)
    if re.search(r"xgid\s*=", text, re.IGNORECASE):
        return parse_xgid(text)
    if re.match(r"ogid\s*[=:]", text, re.IGNORECASE) or looks_like_ogid(text):
        return parse_ogid(text)
    if re.fullmatch(r"[-0-9\s,()\[\]]+", text, re.ASCII) and re.search(r"[\s,\[(]", text):
        return _parse_board(text, game)
    if text.count(":") >= 3 and not _LABELLED_POSITION_ID.search(text):
        return parse_xgid(text)
    return parse_gnuid(_find_gnuid(text))


def _parse_board(text: str, game: Game) -> Position:
    inner = re.fullmatch(r"\s*(?:\[([^\[\]()]*)\]|\(([^\[\]()]*)\)|([^\[\]()]*))\s*", text)
    numbers = "" if inner is None else (inner[1] or inner[2] or inner[3] or "").strip()
    parts = re.split(r"\s*,\s*|\s+", numbers)
    wrong = [part for part in parts if not re.fullmatch(r"-?[0-9]{1,3}", part, re.ASCII)]
    if inner is None or wrong or len(parts) != NUM_SLOTS:
        what = f"has '{shorten(wrong[0])}'" if wrong else f"has {len(parts)} numbers"
        raise NotationError(
            f"board '{shorten(text)}' {what if inner else 'has its brackets wrong'}; it needs"
            f" exactly {NUM_SLOTS} whole numbers: the opponent's bar, points 1 to 24, the mover's"
            " bar"
        )
    return build_position("board", text, board=[int(part) for part in parts], game=game)


def _find_gnuid(text: str) -> str:
    """The "PositionID" or "PositionID:MatchID" that a text holds. Raises NotationError."""
    position_id = _LABELLED_POSITION_ID.search(text)
    if position_id is not None:
        match_id = _LABELLED_MATCH_ID.search(text, position_id.end())
        labelled = [position_id[1]] if match_id is None else [position_id[1], match_id[1]]
        return ":".join(part.rstrip(",;.)") for part in labelled)
    bare = re.sub(r"\Agnu(?:bg)?[ _-]?id\s*[:=]?\s*", "", text, count=1, flags=re.IGNORECASE)
    parts = re.split(r"\s*:\s*|\s+", bare)
    if not text or len(parts) > 2 or not all(_could_be_id(part) for part in parts):
        raise NotationError(f"'{shorten(text)}' is no position; accepted: {_ACCEPTED}")
    if [len(part) for part in parts] == [12]:
        raise NotationError(
            f"'{bare}' has 12 characters like a Match ID, which tells no board; put a Position ID"
            " (14 characters) and a colon before it"
        )
    return ":".join(parts)


def _could_be_id(part: str) -> bool:
    """Whether a part is near enough to an identifier for a message about its length or letters."""
    return part == "" or (8 <= len(part) <= 20 and part.isascii() and part.isprintable())


def format_position(position: Position, notation: Notation) -> str:
    """The position written in a notation: "xgid", "gnuid", "ogid" or "longid".

    Raises NotationError, with the reason, for a position which the notation cannot hold.
    """
    if notation not in _WRITERS:
        raise NotationError(f"unknown notation '{notation}'; accepted: {', '.join(_WRITERS)}")
    if notation not in notations_of(position):
        raise NotationError(
            f"{notation} cannot hold a position of {position.game} nardi; accepted:"
            f" {', '.join(notations_of(position))}"
        )
    return _WRITERS[notation](position)
