"""The states of the cube in a look ahead to the end of the game: exact, without interpolation."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.cube_table import cube_table, state_payoffs
from agent.kernels.cube import WIN_1, combine_rows
from agent.situation import Situation
from engine.bearoff.lookup import cubeful, cubeless
from engine.board import NUM_CHECKERS, borne_off, flip
from engine.dice import ROLLS
from engine.moves import legal_afterstates
from tests.cube_rows import match, money

PLIES = 8  # so often the cube can be turned in the table; the games below are over by then


def race(own: list[int], opp: list[int]) -> NDArray[np.int8]:
    """A race at home: checkers on own points 1, 2, ... of each side."""
    board = np.zeros(26, dtype=np.int8)
    for point, n in enumerate(own, start=1):
        board[point] = n
    for point, n in enumerate(opp, start=1):
        board[25 - point] = -n
    return board


def played_out(situation: Situation, board: NDArray[np.int8]) -> NDArray[np.float64]:
    """Values `(S,)` for side 0 on roll, without doubling now, by all games to their end."""
    table = cube_table(situation, PLIES)

    @cache
    def best(side: int, place: bytes) -> NDArray[np.float64]:
        nd, out = no_double(side, place)[None], np.zeros((1, table.states))
        combine_rows(table, side, nd, out)
        return out[0]

    @cache
    def no_double(side: int, place: bytes) -> NDArray[np.float64]:
        total = np.zeros(table.states)
        for high, low in ROLLS.tolist():
            worths = []
            for after in legal_afterstates(np.frombuffer(place, dtype=np.int8), (high, low)):
                if borne_off(after) == NUM_CHECKERS:
                    won = [state_payoffs(table, s, side)[WIN_1] for s in range(table.states)]
                    worths.append(np.array(won))
                else:
                    worths.append(-best(1 - side, flip(after).tobytes()))
            total += (1 if high == low else 2) * np.max(worths, axis=0)
        return total / 36

    values = no_double(0, board.tobytes())
    found = [values[table.root]]
    if table.root_doubled >= 0:
        found.append(values[table.root_doubled])
    return np.array(found)


BOARDS = [
    race([1, 1], [1, 1]),
    race([0, 0, 0, 1, 0, 1], [2]),
    race([0, 1, 0, 0, 1], [1, 0, 1]),
    race([0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1]),
    race([2, 1], [1, 2]),
]


@pytest.mark.parametrize("number", range(len(BOARDS)))
def test_money_is_exact(number: int) -> None:
    """Centred, owned and the opponent's cube: the equities of the two-sided table."""
    board = BOARDS[number]
    for owner in (None, "mover", "opponent"):
        exact = cubeful(board, owner)
        found = played_out(money(cube_owner=owner), board)
        assert found[0] == pytest.approx(exact.no_double, abs=1e-5)
        if exact.double_take is not None:
            assert found[1] == pytest.approx(exact.double_take, abs=1e-5)


@pytest.mark.parametrize("number", range(len(BOARDS)))
def test_double_match_point_is_the_winning_chance(number: int) -> None:
    board = BOARDS[number]
    win = float(cubeless(board[None])[0, 0])
    assert played_out(match(1, 1), board)[0] == pytest.approx(2 * win - 1, abs=1e-5)


def test_a_score_by_hand() -> None:
    """Two away each, a last roll: doubled, the game decides the match."""
    board = race([0, 0, 0, 1, 0, 1], [2])
    win = float(cubeless(board[None])[0, 0])  # the opponent is off next turn
    no_double, doubled = played_out(match(2, 2), board)
    one_away = 2 * 0.67736 - 1
    assert no_double == pytest.approx(win * one_away - (1 - win) * one_away, abs=1e-5)
    assert doubled == pytest.approx(2 * win - 1, abs=1e-5)
