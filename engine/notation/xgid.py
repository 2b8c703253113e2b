"""XGID, the identifier of eXtreme Gammon: ten fields with colons between them.

The board is absolute: neither letters nor point order change with the side on roll. Capitals are
the bottom player's checkers, who is player 1 of `Position.mover_player`.
"""

import re
from typing import Final

import numpy as np

from engine.board import BAR, NUM_SLOTS, Board, flip
from engine.errors import NotationError
from engine.notation.fields import (
    LARGEST_EXPONENT,
    build_position,
    count_field,
    cube_exponent,
    shorten,
)
from engine.notation.position import Offer, Position, Side

__all__ = ["format_xgid", "parse_xgid"]

NUM_FIELDS: Final = 10

_BOTTOM: Final = "ABCDEFGHIJKLMNO"  # 1 to 15 checkers of the bottom player
_TOP: Final = _BOTTOM.lower()
_OFFERS: Final[dict[str, Offer]] = {"D": "double", "B": "beaver", "R": "raccoon"}
_OFFER_LETTERS: Final = {offer: letter for letter, offer in _OFFERS.items()}
_USUAL_MAX_CUBE: Final = 10  # exponent; what eXtreme Gammon writes: 1024
_PLAYING: Final = 1


def parse_xgid(text: str) -> Position:
    """The position of the first XGID in a text, with or without "XGID=" before it.

    Raises NotationError that names the field, or PositionError for a board that cannot occur.
    """
    label = re.search(r"xgid\s*=\s*", text, re.IGNORECASE)
    rest = (text[label.end() :] if label else text).split(maxsplit=1)
    xgid = rest[0].strip("\"'`").rstrip(",.;)") if rest else ""
    fields = xgid.split(":")
    if len(fields) != NUM_FIELDS:
        raise NotationError(
            f"XGID '{shorten(xgid)}' has {len(fields)} fields; it needs exactly {NUM_FIELDS}:"
            " board, cube, cube position, turn, dice, two scores, rule, match length, largest cube"
        )
    bottom_board = _parse_board(fields[0])
    cube = count_field(fields[1], "XGID field 2 (log2 of the cube)", LARGEST_EXPONENT)
    owner = _choice(fields[2], "3 (cube position)", ("1", "0", "-1"))
    is_bottom = _choice(fields[3], "4 (turn)", ("1", "-1")) == "1"
    dice, offer = _parse_dice(fields[4])
    scores = [count_field(fields[n], f"XGID field {n + 1} (score)") for n in (5, 6)]
    match_length = count_field(fields[8], "XGID field 9 (match length)")
    rule = count_field(fields[7], "XGID field 8 (rule)", 1 if match_length else 3)
    max_cube = count_field(fields[9], "XGID field 10 (log2 of the largest cube)", LARGEST_EXPONENT)
    mover_score, opp_score = scores if is_bottom else scores[::-1]
    position = build_position(
        "XGID",
        xgid,
        board=bottom_board if is_bottom else flip(bottom_board),
        dice=dice,
        cube_value=1 << cube,
        cube_owner=_cube_owner(owner, is_bottom),
        decider="opponent" if offer in ("double", "raccoon") else "mover",
        offer=offer,
        match_length=match_length,
        mover_score=mover_score,
        opp_score=opp_score,
        crawford=match_length > 0 and rule == 1,
        jacoby=None if match_length else rule & 1 == 1,
        beaver=None if match_length else rule & 2 == 2,
        max_cube=1 << max_cube,
        mover_player=1 if is_bottom else 0,
    )
    if position.crawford and not position.one_away:
        raise NotationError(
            f"XGID '{shorten(xgid)}' says Crawford game, but nobody is one point away at"
            f" {scores[0]}-{scores[1]} of {match_length}"
        )
    return position


def _choice(text: str, field: str, accepted: tuple[str, ...]) -> str:
    if text not in accepted:
        raise NotationError(
            f"XGID field {field} is '{shorten(text)}'; accepted: {', '.join(accepted)}"
        )
    return text


def _cube_owner(owner: str, is_bottom: bool) -> Side | None:
    if owner == "0":
        return None
    return "mover" if (owner == "1") == is_bottom else "opponent"


def _parse_dice(text: str) -> tuple[tuple[int, int] | None, Offer | None]:
    if text == "00":
        return None, None
    if text in _OFFERS:
        return None, _OFFERS[text]
    if not re.fullmatch(r"[1-6][1-6]", text):
        raise NotationError(
            f"XGID field 5 (dice) is '{shorten(text)}'; accepted: 00 (not rolled), two faces from"
            " 1 to 6 such as 63, D (doubled), B (beavered), R (raccooned)"
        )
    return (int(text[0]), int(text[1])), None


def _parse_board(text: str) -> Board:
    """The board seen by the bottom player."""
    if len(text) != NUM_SLOTS:
        raise NotationError(
            f"XGID board '{shorten(text)}' has {len(text)} characters; it needs exactly {NUM_SLOTS}"
        )
    board = np.zeros(NUM_SLOTS, dtype=np.int8)
    for slot, letter in enumerate(text):
        if letter == "-":
            continue
        is_bottom = letter in _BOTTOM
        count = max(_BOTTOM.find(letter), _TOP.find(letter)) + 1
        if count == 0:
            raise NotationError(
                f"XGID board has '{letter}' at character {slot + 1}; accepted: - (empty), A-O"
                " (1 to 15 checkers of the bottom player), a-o (of the top player)"
            )
        if slot in (0, BAR) and is_bottom != (slot == BAR):
            raise NotationError(
                f"XGID board has '{letter}' at character {slot + 1}, the bar of the"
                f" {'top' if is_bottom else 'bottom'} player, which holds his checkers only:"
                f" {'a-o' if is_bottom else 'A-O'}"
            )
        board[slot] = count if is_bottom or slot == 0 else -count
    return board


def format_xgid(position: Position) -> str:
    """The position as "XGID=…". Raises NotationError for what it cannot hold.

    Jacoby's rule and beavers not told are written as not in use, a largest cube not told as 1024
    (or the cube's value, if that is larger).
    """
    if position.game_state != _PLAYING:
        raise NotationError(
            f"an XGID cannot tell game state {position.game_state}; only a game being played"
        )
    if position.resignation:
        raise NotationError("an XGID cannot hold an offered resignation")
    if position.crawford and not position.one_away:
        raise NotationError("an XGID holds a Crawford game only if a side is one point away")
    is_bottom = position.mover_player == 1
    cube = cube_exponent(position.cube_value, "an XGID", LARGEST_EXPONENT)
    max_cube = max(_USUAL_MAX_CUBE, cube)
    if position.max_cube is not None:
        max_cube = cube_exponent(position.max_cube, "the last field of an XGID", LARGEST_EXPONENT)
    owners = {None: 0, "mover": 1 if is_bottom else -1, "opponent": -1 if is_bottom else 1}
    dice = "00" if position.dice is None else f"{position.dice[0]}{position.dice[1]}"
    if position.offer is not None:
        dice = _OFFER_LETTERS[position.offer]
    scores = (position.mover_score, position.opp_score)
    bottom_score, top_score = scores if is_bottom else scores[::-1]
    rule = bool(position.jacoby) + 2 * bool(position.beaver)
    if position.match_length:
        rule = int(position.crawford)
    fields = (
        _format_board(position.board if is_bottom else flip(position.board)),
        cube,
        owners[position.cube_owner],
        1 if is_bottom else -1,
        dice,
        bottom_score,
        top_score,
        rule,
        position.match_length,
        max_cube,
    )
    return "XGID=" + ":".join(str(field) for field in fields)


def _format_board(bottom_board: Board) -> str:
    letters = ["-"] * NUM_SLOTS
    for slot, count in enumerate(bottom_board.tolist()):
        if count:
            is_bottom = count > 0 and slot != 0
            letters[slot] = (_BOTTOM if is_bottom else _TOP)[abs(count) - 1]
    return "".join(letters)
