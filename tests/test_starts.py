"""Drawn boards: legal, about what they say, keyed by the game."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.net import NetConfig, ValueNetConfig, new_value_net
from engine.board import BAR, START, board_faults, flip
from train.kernels.rows import board_kinds
from train.selfplay import RoundPlan, play_round
from train.starts import KINDS, drawn_board

PLAN = RoundPlan(
    seed=3,
    first_game=0,
    games=40,
    games_per_call=10,
    lambda_=0.5,
    explore=0.0,
    random_openings=0.0,
    random_plies=1,
    expected=0.0,
    drawn_starts=0.5,
)
TINY = NetConfig(width=4, pairs=False, experts="none", hidden=0)
NET = new_value_net(ValueNetConfig(contact=TINY, race=TINY), np.random.default_rng(2))


@given(st.integers(0, 2**32), st.integers(0, len(KINDS) - 1))
def test_drawn_boards_are_legal_and_hold_all_checkers(seed: int, kind: int) -> None:
    board = drawn_board(np.random.default_rng(seed), kind)
    assert board_faults(board) == []
    assert (board == drawn_board(np.random.default_rng(seed), kind)).all()


def checkers_back(board: np.ndarray, side: int) -> tuple[int, int]:
    """Checkers in the opponent's home or on the bar, and points made there."""
    seen = board if side == 0 else flip(board)
    home = seen[19:25]
    return int(np.maximum(home, 0).sum() + seen[BAR]), int((home >= 2).sum())


def test_each_kind_is_about_what_it_says() -> None:
    for kind, name in enumerate(KINDS):
        boards = [drawn_board(np.random.default_rng([kind, i]), kind) for i in range(200)]
        back = [[checkers_back(board, side) for side in (0, 1)] for board in boards]
        if name.endswith("back game"):
            assert all(max(anchors for _, anchors in sides) >= 2 for sides in back)
        elif name == "ace-point game":
            assert all(max(anchors for _, anchors in sides) >= 1 for sides in back)
        elif name == "containment":
            some_off = [
                min(np.maximum(seen[1:], 0).sum() for seen in (board, flip(board))) < 15
                for board in boards
            ]
            assert all(some_off)
        else:
            assert all((seen[18:25] > 0).any() for b in boards for seen in (b, flip(b)))
        kinds = np.empty(len(boards), dtype=np.int64)
        board_kinds(np.array(boards), 0, kinds)
        assert np.mean(kinds == 1) > 0.9, name  # contact
        # Either side may be the one on roll.
        if name != "prime against prime":
            assert 0.35 < np.mean([sides[0][0] > sides[1][0] for sides in back]) < 0.65, name


def test_all_kinds_are_drawn() -> None:
    boards = {drawn_board(np.random.default_rng(i)).tobytes() for i in range(500)}
    assert len(boards) == 500


def boards_of(plan: RoundPlan, workers: int) -> list[bytes]:
    with ThreadPoolExecutor(workers) as executor:
        return [part.boards.tobytes() for part in play_round(NET, plan, executor)]


@pytest.mark.parametrize("luck_adjusted", [False, True], ids=["sampled", "luck-adjusted"])
def test_the_share_asked_for_begins_with_drawn_boards(luck_adjusted: bool) -> None:
    plan = dataclasses.replace(PLAN, luck_adjusted=luck_adjusted, games=30)
    with ThreadPoolExecutor(1) as executor:
        parts = list(play_round(NET, plan, executor))
    drawn = 0
    for first, part in zip(range(0, 30, 10), parts, strict=True):
        n_starts = 0
        for game in range(first, first + 10):
            sequence = np.random.SeedSequence(3, spawn_key=((1 << 40) - 1, game))
            generator = np.random.Generator(np.random.PCG64(sequence))
            if generator.random() < 0.5:
                board = drawn_board(generator)
                assert (part.boards == board).all(axis=1).any(), game
                drawn += 1
            else:
                n_starts += 1
        assert (part.boards == START).all(axis=1).sum() == n_starts
    assert 5 < drawn < 25


def test_games_do_not_depend_on_threads_or_chunks() -> None:
    assert boards_of(PLAN, 1) == boards_of(PLAN, 3)
    wide = boards_of(dataclasses.replace(PLAN, games_per_call=40), 1)
    assert b"".join(wide) == b"".join(boards_of(PLAN, 2))
