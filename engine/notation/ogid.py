"""OGID, the position identifier of OpenGammon: five to eleven fields with colons between them.

Checkers stand on absolute pips: 0 is White's bar, 25 Black's, White's own point n is pip 25 - n,
Black's own point n is pip n. White is player 1 of `Position.mover_player`.
"""

import re
from typing import Final

import numpy as np

from engine.board import BAR, NUM_CHECKERS, NUM_SLOTS, Board, flip
from engine.errors import NotationError
from engine.notation.fields import build_position, count_field, cube_exponent, shorten
from engine.notation.position import Position, Side

__all__ = ["format_ogid", "looks_like_ogid", "parse_ogid"]

_PIPS: Final = "0123456789abcdefghijklmnop"
_CUBE_FIELD: Final = re.compile(r"([NWBD?])([0-9]{1,2})([NOTP])")
_LENGTH_FIELD: Final = re.compile(r"([0-9]{1,9})(?:(C|L)|G[0-9]{0,9})?")
_LARGEST_CUBE_EXPONENT: Final = 6

# gnubg's game state of each OGID state; a state not told is IW.
_GAME_STATES: Final = {
    "IW": 1,
    "IB": 1,
    "R": 1,
    "C": 1,
    "D": 1,
    "A": 1,
    "": 1,
    "G": 2,
    "M": 2,
    "RG": 3,
    "RM": 3,
    "P": 4,
}
_STATE_TEXTS: Final = {2: ("G", "M"), 3: ("RG", "RM"), 4: ("P", "P")}
_DROPPED: Final = 4


def looks_like_ogid(text: str) -> bool:
    """Whether a text without label is rather an OGID than another identifier."""
    fields = text.split(":")
    return len(fields) > 2 and _CUBE_FIELD.fullmatch(fields[2]) is not None


def parse_ogid(text: str) -> Position:
    """The position of an OGID, with or without "OGID=" before it.

    The move number and a fixed number of games are read over. Raises NotationError that names
    the field, or PositionError for a board that cannot occur.
    """
    ogid = re.sub(r"\A\s*ogid\s*[=:]\s*", "", text, count=1, flags=re.IGNORECASE).strip()
    fields = ogid.split(":")
    if not 5 <= len(fields) <= 11:
        raise NotationError(
            f"OGID '{shorten(ogid)}' has {len(fields)} fields; it needs 5 to 11: White's checkers,"
            " Black's checkers, cube, dice, colour, state, White's score, Black's score, length,"
            " move number, checkers"
        )
    cube = _CUBE_FIELD.fullmatch(fields[2])
    if cube is None or int(cube[2]) > _LARGEST_CUBE_EXPONENT:
        raise NotationError(
            f"OGID field 3 (cube) is '{shorten(fields[2])}'; accepted: N, W, B, D or ?, then 0 to"
            f" {_LARGEST_CUBE_EXPONENT}, then N, O, T or P, such as N0N"
        )
    dice = _parse_dice(fields[3])
    state = fields[5] if len(fields) > 5 else "IW"
    _check("6 (state)", state, tuple(_GAME_STATES))
    _check("5 (colour)", fields[4], ("W", "B"))
    is_offer = state == "D"
    if cube[3] == "O" and not is_offer:
        raise NotationError(f"OGID offers the cube in field 3, but its state is '{state}', not D")
    # The colour is that of the last action; the double itself, if one is pending.
    mover = fields[4] if is_offer else {"W": "B", "B": "W"}[fields[4]]
    if state == "IW" and dice is None:
        mover = "W"
    is_white = mover == "W"
    score_white = count_field(fields[6], "OGID field 7 (score)") if len(fields) > 6 else 0
    score_black = count_field(fields[7], "OGID field 8 (score)") if len(fields) > 7 else 0
    length, mark = _parse_length(fields[8] if len(fields) > 8 else "0")
    if len(fields) > 9:
        count_field(fields[9], "OGID field 10 (move number)")
    if len(fields) > 10:
        _check("11 (checkers)", fields[10], (str(NUM_CHECKERS),))
    cube_value = 1 << int(cube[2])
    game_state = _GAME_STATES[state]
    black_board = _parse_checkers(fields[0], fields[1])
    position = build_position(
        "OGID",
        ogid,
        board=flip(black_board) if is_white else black_board,
        dice=dice,
        cube_value=cube_value,
        cube_owner=_cube_owner(cube[1], is_white),
        decider="opponent" if is_offer or game_state == _DROPPED else "mover",
        offer="double" if is_offer else None,
        match_length=length,
        mover_score=score_white if is_white else score_black,
        opp_score=score_black if is_white else score_white,
        crawford=mark == "C",
        max_cube=cube_value if cube[1] == "D" else None,
        mover_player=1 if is_white else 0,
        game_state=game_state,
    )
    if mark == "L" and not position.post_crawford and game_state == 1:
        raise NotationError(
            f"OGID length '{fields[8]}' says post-Crawford, but nobody is one point away at"
            f" {score_white}-{score_black}"
        )
    return position


def _check(field: str, text: str, accepted: tuple[str, ...]) -> None:
    if text not in accepted:
        choices = ", ".join(choice or "nothing" for choice in accepted)
        raise NotationError(f"OGID field {field} is '{shorten(text)}'; accepted: {choices}")


def _parse_dice(text: str) -> tuple[int, int] | None:
    if text == "":
        return None
    if not re.fullmatch(r"[1-6][1-6]", text):
        raise NotationError(
            f"OGID field 4 (dice) is '{shorten(text)}'; accepted: empty (not rolled) or two faces"
            " from 1 to 6 such as 36"
        )
    return int(text[0]), int(text[1])


def _parse_length(text: str) -> tuple[int, str | None]:
    found = _LENGTH_FIELD.fullmatch(text)
    if found is None:
        raise NotationError(
            f"OGID field 9 (length) is '{shorten(text)}'; accepted: a whole number (0 = money),"
            " then nothing, C (Crawford), L (post-Crawford) or G and a number of games"
        )
    return int(found[1]), found[2]


def _cube_owner(letter: str, is_white: bool) -> Side | None:
    if letter not in ("W", "B"):
        return None
    return "mover" if (letter == "W") == is_white else "opponent"


def _parse_checkers(white: str, black: str) -> Board:
    """The board seen by Black, whose own points are the pips. Raises NotationError."""
    board = np.zeros(NUM_SLOTS, dtype=np.int64)
    white_pips, black_pips = (
        [_pip(letter, name) for letter in text]
        for text, name in ((white, "White's"), (black, "Black's"))
    )
    for name, pips, foreign_bar in (("White", white_pips, BAR), ("Black", black_pips, 0)):
        if foreign_bar in pips:
            raise NotationError(
                f"OGID has a checker of {name} on '{_PIPS[foreign_bar]}', the other side's bar"
            )
        if len(pips) > NUM_CHECKERS:
            raise NotationError(
                f"OGID has {len(pips)} checkers of {name}; at most {NUM_CHECKERS} fit"
            )
    shared = sorted(set(white_pips) & set(black_pips))
    if shared:
        raise NotationError(f"OGID has checkers of both sides on '{_PIPS[shared[0]]}'")
    for pip in black_pips:
        board[pip] += 1
    for pip in white_pips:
        board[pip] += 1 if pip == 0 else -1
    return board.astype(np.int8)


def _pip(letter: str, whose: str) -> int:
    pip = _PIPS.find(letter)
    if pip < 0:
        raise NotationError(
            f"OGID has '{letter}' among {whose} checkers; accepted: 0-9 and a-p (pips 0 to 25)"
        )
    return pip


def format_ogid(position: Position) -> str:
    """The position as OGID. Raises NotationError for what it cannot hold.

    Jacoby's rule, beavers and the largest cube are not part of it (but a centred cube that can go
    no further is written as dead); the move number is written as 0.
    """
    if position.game_state not in (1, *_STATE_TEXTS):
        raise NotationError("an OGID cannot tell that no game is being played (game state 0)")
    if position.resignation:
        raise NotationError("an OGID cannot hold an offered resignation")
    if position.offer not in (None, "double"):
        raise NotationError(f"an OGID cannot hold a {position.offer}")
    is_white = position.mover_player == 1
    mover, opponent = ("W", "B") if is_white else ("B", "W")
    is_dead = position.max_cube == position.cube_value and position.cube_owner is None
    owner = {None: "D" if is_dead else "N", "mover": mover, "opponent": opponent}
    exponent = cube_exponent(position.cube_value, "an OGID", _LARGEST_CUBE_EXPONENT)
    is_offer = position.offer is not None
    scores = (position.mover_score, position.opp_score)
    white_score, black_score = scores if is_white else scores[::-1]
    mark = "C" if position.crawford else "L" if position.post_crawford else ""
    fields = (
        *_format_checkers(flip(position.board) if is_white else position.board),
        f"{owner[position.cube_owner]}{exponent}{'O' if is_offer else 'N'}",
        "".join(str(die) for die in sorted(position.dice or ())),
        mover if is_offer else opponent,
        _state(position),
        white_score,
        black_score,
        f"{position.match_length}{mark}",
        0,
    )
    return ":".join(str(field) for field in fields)


def _state(position: Position) -> str:
    if position.game_state in _STATE_TEXTS:
        is_match_over = (
            position.match_length > 0 and min(position.mover_away, position.opp_away) < 1
        )
        return _STATE_TEXTS[position.game_state][is_match_over]
    return "R" if position.offer is None else "D"


def _format_checkers(black_board: Board) -> tuple[str, str]:
    slots = black_board.tolist()
    black = "".join(_PIPS[pip] * max(n, 0) for pip, n in enumerate(slots) if pip > 0)
    white = _PIPS[0] * slots[0] + "".join(_PIPS[pip] * max(-slots[pip], 0) for pip in range(1, BAR))
    return white, black
