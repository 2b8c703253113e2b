"""GNU Backgammon's Position ID and Match ID.

Position ID: for the opponent and then for the mover, for each of the own points 1 to 24 and the
bar, one bit 1 per checker and a bit 0; 80 bits, least significant bit of each byte first, written
as 14 base64 characters. Match ID: 72 bits of fields, written as 12 base64 characters.
"""

import base64
import re
from typing import Any, Final

import numpy as np

from engine.board import BAR, NUM_POINTS, NUM_SLOTS, Board, board_faults
from engine.errors import NotationError, PositionError
from engine.notation.fields import build_position, cube_exponent, shorten
from engine.notation.position import Offer, Position, Side

__all__ = [
    "format_gnuid",
    "format_match_id",
    "format_position_id",
    "parse_gnuid",
    "parse_match_id",
    "parse_position_id",
]

POSITION_ID_LENGTH: Final = 14
MATCH_ID_LENGTH: Final = 12

_POSITION_BITS: Final = 80
_NUM_PLACES: Final = NUM_POINTS + 1  # of one side: its points and its bar

# Match ID fields: first bit and number of bits.
_CUBE: Final = (0, 4)
_CUBE_OWNER: Final = (4, 2)
_ON_ROLL: Final = (6, 1)
_CRAWFORD: Final = (7, 1)
_GAME_STATE: Final = (8, 3)
_TURN: Final = (11, 1)
_DOUBLED: Final = (12, 1)
_RESIGNED: Final = (13, 2)
_LARGER_DIE: Final = (15, 3)
_SMALLER_DIE: Final = (18, 3)
_MATCH_LENGTH: Final = (21, 15)
_SCORES: Final = ((36, 15), (51, 15))
_NO_JACOBY: Final = (66, 1)
_UNUSED: Final = (67, 5)

_CENTRED: Final = 3
_LARGEST_CUBE_EXPONENT: Final = 15
_LARGEST_SCORE: Final = (1 << 15) - 1


def _decode_base64(text: str, what: str, length: int) -> int:
    if len(text) != length:
        raise NotationError(
            f"{what} '{shorten(text)}' has {len(text)} characters; it needs exactly {length} of"
            " A-Z a-z 0-9 + /"
        )
    strange = re.search(r"[^A-Za-z0-9+/]", text)
    if strange:
        raise NotationError(
            f"{what} '{shorten(text)}' has '{strange[0]}' at character {strange.start() + 1};"
            " accepted: A-Z a-z 0-9 + /"
        )
    raw = base64.b64decode(text + "=" * (-length % 4))
    if base64.b64encode(raw).decode().rstrip("=") != text:
        raise NotationError(f"{what} '{text}' has a last character other than A, Q, g or w")
    return int.from_bytes(raw, "little")


def _encode_base64(number: int, num_bytes: int) -> str:
    return base64.b64encode(number.to_bytes(num_bytes, "little")).decode().rstrip("=")


def parse_position_id(text: str) -> Board:
    """The board `(26,)` int8, seen by the side on roll, of a Position ID.

    Raises NotationError for anything but 14 characters that spell two sides, PositionError for a
    board that cannot occur.
    """
    text = text.strip()
    number = _decode_base64(text, "Position ID", POSITION_ID_LENGTH)
    bits = f"{number:0{_POSITION_BITS}b}"[::-1]
    counts = [len(ones) for ones in bits.split("0")]
    if len(counts) <= 2 * _NUM_PLACES or any(counts[2 * _NUM_PLACES :]):
        raise NotationError(
            f"Position ID '{text}' does not hold the checkers of two sides: its 80 bits need"
            " exactly one 0 after each of 50 places, and only 0 after the last"
        )
    opponent, mover = counts[:_NUM_PLACES], counts[_NUM_PLACES : 2 * _NUM_PLACES]
    board = np.zeros(NUM_SLOTS, dtype=np.int64)
    board[1:] = mover
    board[:BAR] += np.array(opponent[::-1]) * np.array([1] + [-1] * NUM_POINTS)
    shared = [
        p for p in range(1, NUM_POINTS + 1) if mover[p - 1] > 0 and opponent[NUM_POINTS - p] > 0
    ]
    faults = [f"both sides hold the mover's point {p}" for p in shared]
    faults += [
        f"{side} has {sum(places)} checkers; at most 15 fit"
        for side, places in (("mover", mover), ("opponent", opponent))
        if sum(places) > 15
    ]
    faults = faults or board_faults(board)
    if faults:
        raise PositionError(f"Position ID '{text}': {'; '.join(faults)}")
    return board.astype(np.int8)


def format_position_id(board: Board) -> str:
    """The Position ID of a valid board `(26,)` seen by the side on roll."""
    slots = [int(count) for count in board]
    opponent = [max(-count, 0) for count in slots[NUM_POINTS:0:-1]] + [slots[0]]
    mover = [max(count, 0) for count in slots[1:]]
    bits = "".join("1" * count + "0" for count in opponent + mover)
    return _encode_base64(int(bits[::-1], 2), _POSITION_BITS // 8)


def parse_match_id(text: str) -> dict[str, Any]:
    """The fields of `Position` that a Match ID tells, by name (all but the board).

    Raises NotationError. Whether the fields fit each other is for `Position` to say.
    """
    text = text.strip()
    number = _decode_base64(text, "Match ID", MATCH_ID_LENGTH)

    def field(place: tuple[int, int]) -> int:
        return (number >> place[0]) & ((1 << place[1]) - 1)

    def wrong(what: str) -> NotationError:
        return NotationError(f"Match ID '{text}' {what}")

    if field(_GAME_STATE) > 4:
        raise wrong(f"has game state {field(_GAME_STATE)}; accepted: 0 to 4")
    if field(_UNUSED):
        raise wrong("has one of its last five bits set; they are always 0")
    dice = (field(_LARGER_DIE), field(_SMALLER_DIE))
    if dice != (0, 0) and not all(1 <= die <= 6 for die in dice):
        raise wrong(f"has dice {dice[0]} and {dice[1]}; accepted: both 0, or both 1 to 6")
    mover, turn, owner = field(_ON_ROLL), field(_TURN), field(_CUBE_OWNER)
    match_length = field(_MATCH_LENGTH)
    return {
        "dice": dice if dice != (0, 0) else None,
        "cube_value": 1 << field(_CUBE),
        # Owner 2 is undefined; GNU Backgammon reads it as centred.
        "cube_owner": None if owner > 1 else _side_of(owner, mover),
        "decider": _side_of(turn, mover),
        "offer": _offer(bool(field(_DOUBLED)), mover, turn, owner, field(_RESIGNED) > 0),
        "resignation": field(_RESIGNED),
        "match_length": match_length,
        "mover_score": field(_SCORES[mover]),
        "opp_score": field(_SCORES[1 - mover]),
        "crawford": bool(field(_CRAWFORD)),
        # In match play the bit means nothing: old versions wrote 0, new ones 1.
        "jacoby": None if match_length else not field(_NO_JACOBY),
        "mover_player": mover,
        "game_state": field(_GAME_STATE),
    }


def _side_of(player: int, mover: int) -> Side:
    return "mover" if player == mover else "opponent"


def _offer(doubled: bool, mover: int, turn: int, owner: int, resigned: bool) -> Offer | None:
    """Which offer the double bit stands for.

    A beaver leaves the bit set, doubles the cube, gives it to the beaverer and hands the turn back
    to the doubler; a raccoon doubles again and hands the turn over (seen in GNU Backgammon 1.08).
    A resignation hands the turn to the other side once more.
    """
    if not doubled:
        return None
    if (turn == mover) != resigned:
        return "beaver"
    return "raccoon" if owner == 1 - mover else "double"


def format_match_id(position: Position) -> str:
    """The Match ID of a position. Raises NotationError for what it cannot hold.

    Beavers allowed or not and the largest cube are not part of it; Jacoby's rule not told is
    written as not in use.
    """
    mover = position.mover_player
    opponent = 1 - mover
    scores = (position.mover_score, position.opp_score)
    for name, count in (("score", max(scores)), ("match length", position.match_length)):
        if count > _LARGEST_SCORE:
            raise NotationError(
                f"a Match ID cannot hold a {name} of {count}; at most {_LARGEST_SCORE}"
            )
    if position.offer in ("beaver", "raccoon") and position.cube_owner != "opponent":
        raise NotationError(
            f"a Match ID holds a {position.offer} only with the cube on the opponent's side"
        )
    high, low = sorted(position.dice or (0, 0), reverse=True)
    players = {"mover": mover, "opponent": opponent, None: _CENTRED}
    values = {
        _CUBE: cube_exponent(position.cube_value, "a Match ID", _LARGEST_CUBE_EXPONENT),
        _CUBE_OWNER: players[position.cube_owner],
        _ON_ROLL: mover,
        _CRAWFORD: int(position.crawford),
        _GAME_STATE: position.game_state,
        _TURN: players[position.decider],
        _DOUBLED: int(position.offer is not None),
        _RESIGNED: position.resignation,
        _LARGER_DIE: high,
        _SMALLER_DIE: low,
        _MATCH_LENGTH: position.match_length,
        _SCORES[mover]: position.mover_score,
        _SCORES[opponent]: position.opp_score,
        _NO_JACOBY: int(position.match_length > 0 or not position.jacoby),
    }
    number = sum(value << place[0] for place, value in values.items())
    return _encode_base64(number, 9)


def parse_gnuid(text: str) -> Position:
    """The position of "PositionID:MatchID", or of a Position ID alone.

    A Position ID alone is money play with a centred cube at 1 and no dice. Raises NotationError
    and PositionError.
    """
    position_id, colon, match_id = text.partition(":")
    fields: dict[str, Any] = {"board": parse_position_id(position_id)}
    if colon:
        fields |= parse_match_id(match_id)
    return build_position("GNU Backgammon ID", text.strip(), **fields)


def format_gnuid(position: Position) -> str:
    """The position as "PositionID:MatchID". Raises NotationError for what it cannot hold."""
    return f"{format_position_id(position.board)}:{format_match_id(position)}"
