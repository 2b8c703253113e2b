"""Positions for tests of the notations: hypothesis strategies of what each notation can hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from engine.notation import Notation, Position
from tests.strategies import boards, rolls

__all__ = ["as_array", "finished_boards", "positions", "told_by"]

Fields = dict[str, Any]


def as_array(board: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int8]]:
    """A board of 26 ints as the engine has it."""
    return np.array(board, dtype=np.int8)


def finished_boards() -> st.SearchStrategy[tuple[int, ...]]:
    """Boards on which one side, or both, have no checkers left."""

    def without(board: tuple[int, ...], sides: tuple[bool, bool]) -> tuple[int, ...]:
        keeps_own, keeps_opp = sides
        owners = [False, *(n > 0 for n in board[1:])]
        return tuple(
            n if (keeps_own if own else keeps_opp) else 0
            for n, own in zip(board, owners, strict=True)
        )

    gone = st.sampled_from([(True, False), (False, True), (False, False)])
    return st.builds(without, boards(), gone)


@st.composite
def positions(draw: st.DrawFn, notation: Notation) -> Position:
    """Positions that a notation can hold, with what it does not tell left untold."""
    most = {"xgid": 30, "gnuid": 15, "ogid": 6}[notation]
    is_match = draw(st.booleans())
    limit = 32_767 if notation == "gnuid" else 999_999_999
    length = draw(st.integers(1, 25) | st.integers(1, limit)) if is_match else 0
    scores = st.integers(0, length - 1) if is_match else st.integers(0, 20)
    fields: Fields = {
        "board": as_array(draw(boards() | finished_boards())),
        "cube_value": 1 << draw(st.integers(0, most)),
        "cube_owner": draw(st.sampled_from([None, "mover", "opponent"])),
        "match_length": length,
        "mover_score": draw(scores),
        "opp_score": draw(scores),
        "mover_player": draw(st.sampled_from([0, 1])),
    }
    if is_match and draw(st.booleans()):
        fields["mover_score"] = length - 1
        fields["crawford"] = draw(st.booleans())
    if not is_match and notation != "ogid":
        fields["jacoby"] = draw(st.booleans())
    if notation == "xgid":
        fields["beaver"] = None if is_match else draw(st.booleans())
        fields["max_cube"] = 1 << draw(st.integers(0, most))
    return Position(**(fields | draw(_pending(notation, fields)) | draw(_ended(notation, length))))


def _pending(notation: Notation, fields: Fields) -> st.SearchStrategy[Fields]:
    """Dice, offer or resignation, and who decides."""
    roll = rolls() if notation == "xgid" else rolls().map(_in_order_of(notation))
    choices: list[st.SearchStrategy[Fields]] = [
        st.just({}),
        st.fixed_dictionaries({"dice": roll}),
        st.just({"offer": "double", "decider": "opponent", "cube_owner": None}),
        st.just({"offer": "double", "decider": "opponent", "cube_owner": "mover"}),
    ]
    if fields["match_length"] == 0 and notation != "ogid":
        choices += [
            st.just({"offer": "beaver", "cube_owner": "opponent"}),
            st.just({"offer": "raccoon", "decider": "opponent", "cube_owner": "opponent"}),
        ]
    if notation == "gnuid":
        points = st.integers(1, 3)
        choices += [
            st.fixed_dictionaries({"resignation": points, "decider": st.just("opponent")}),
            st.fixed_dictionaries(
                {"resignation": points, "decider": st.just("opponent"), "dice": roll}
            ),
            st.fixed_dictionaries(
                {"resignation": points, "offer": st.just("double"), "cube_owner": st.none()}
            ),
        ]
    return st.one_of(choices)


def _in_order_of(notation: Notation) -> Any:
    return lambda roll: tuple(sorted(roll, reverse=notation == "gnuid"))


def _ended(notation: Notation, length: int) -> st.SearchStrategy[Fields]:
    """Sometimes a game that is no longer played, where the notation can say so."""
    playing: st.SearchStrategy[Fields] = st.just({})
    none: Fields = {"offer": None, "resignation": 0, "dice": None}
    if notation == "xgid":
        return playing
    states = st.sampled_from([0, 2, 3, 4] if notation == "gnuid" else [2, 3, 4])

    def ended(state: int, reached: bool) -> Fields:
        decider = "opponent" if state == 4 else "mover"
        score = {"opp_score": length} if reached and length and state else {}
        return none | {"game_state": state, "decider": decider} | score

    return st.one_of(playing, playing, st.builds(ended, states, st.booleans()))


def told_by(notation: Notation, position: Position) -> Position:
    """The position with what the notation does not tell left out or as it is written instead."""
    money = position.match_length == 0
    if notation == "xgid":
        return position.replace(
            jacoby=bool(position.jacoby) if money else None,
            beaver=bool(position.beaver) if money else None,
            max_cube=position.max_cube or max(1024, position.cube_value),
        )
    dice = position.dice and tuple(sorted(position.dice, reverse=notation == "gnuid"))
    if notation == "gnuid":
        jacoby = bool(position.jacoby) if money else None
        return position.replace(dice=dice, jacoby=jacoby, beaver=None, max_cube=None)
    dead = position.max_cube == position.cube_value and position.cube_owner is None
    return position.replace(
        dice=dice, jacoby=None, beaver=None, max_cube=position.max_cube if dead else None
    )
