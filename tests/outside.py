"""Legal plays by other programs, each optional: a test that needs a missing one is skipped."""

from collections.abc import Callable

import pytest

from tests import reference_rules

__all__ = ["OUTSIDE", "bgsage_positions", "gnubg_lists", "gnubg_positions"]

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]


def gnubg_lists(board: BoardTuple) -> list[list[int]]:
    """gnubg_nn's board: the opponent first, each side's 24 points and bar as that side counts."""
    opp = [max(-board[25 - point], 0) for point in range(1, 25)] + [board[0]]
    own = [max(board[point], 0) for point in range(1, 25)] + [board[25]]
    return [opp, own]


def gnubg_positions(board: BoardTuple, roll: Roll) -> set[BoardTuple]:
    """By gnubg_nn, which answers with keys of positions, and with none if there is no play."""
    gnubg_nn = pytest.importorskip("gnubg_nn", reason="gnubg_nn is not installed")
    found = set()
    for key in gnubg_nn.moves(gnubg_lists(board), *roll):
        opp_after, own_after = gnubg_nn.boardfromkey(key)
        points = [own_after[n] - opp_after[23 - n] for n in range(24)]
        found.add((opp_after[24], *points, own_after[24]))
    return found or {board}


def bgsage_positions(board: BoardTuple, roll: Roll) -> set[BoardTuple]:
    """By bgsage, which has our layout and answers with the unchanged board if there is no play.

    Where the mover could finish with fewer dice than can be used (a longer turn hits on the
    way), it allows both. Exactly these positions are taken out; one more or less is a mismatch.
    """
    bgsage = pytest.importorskip("bgsage", reason="bgsage is not installed")
    found = {tuple(after) for after in bgsage.possible_moves(list(board), *roll)}
    return found - reference_rules.early_finishes(board, roll)


OUTSIDE: dict[str, Callable[[BoardTuple, Roll], set[BoardTuple]]] = {
    "gnubg_nn": gnubg_positions,
    "bgsage": bgsage_positions,
}
