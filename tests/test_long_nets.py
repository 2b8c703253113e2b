"""Nets of long nardi: perspective, plays, search, rollouts and self-play."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.batched import batch_probabilities
from agent.evaluator import Evaluator, swap_sides
from agent.net import NetConfig, ValueNet, ValueNetConfig
from agent.ranking import rank_plays
from agent.rollout import Roller, RolloutSettings
from agent.search import Searcher
from engine.board import NUM_CHECKERS, Board, borne_off, opp_borne_off
from engine.dice import ROLL_WEIGHTS, ROLLS, roll_dice
from engine.errors import ConfigError, PositionError
from engine.long_board import LONG_START, has_long_contact
from engine.moves import legal_afterstates
from engine.rules import INTERNATIONAL, LONG_NARDI, Rules
from engine.scoring import outcome_mask
from engine.sides import OPP_SLOTS, flip_in_place
from engine.variant import LONG, SHORT
from tests.long_positions import boards_of_random_games, constructed_turns
from tests.nets import random_net
from train.kernels.rows import board_kinds
from train.selfplay import Round, RoundPlan, play_chunk

CLOSE = 2e-6
SHAPE = ValueNetConfig(
    contact=NetConfig(width=8, experts="none", hidden=5),
    race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
)
TAILS = ValueNetConfig(contact=NetConfig(width=12, experts="none", hidden=4, tails="back9"))
OTHER_RULES = (
    LONG_NARDI.replace(head_exception="principle", block_rule="always"),
    LONG_NARDI.replace(head_exception="none", block_check="turn"),
    LONG_NARDI.replace(block_rule="none"),
)


def long_net(shape: ValueNetConfig = SHAPE, seed: int = 1) -> ValueNet:
    return random_net(shape, np.random.default_rng(seed), game="long")


@cache
def evaluator() -> Evaluator:
    return Evaluator(long_net())


@cache
def searcher() -> Searcher:
    return Searcher(evaluator(), cache_bytes=1 << 16)


@cache
def boards_of_games() -> Board:
    return boards_of_random_games(4, 12, 160)


def is_over(board: Board) -> bool:
    return NUM_CHECKERS in (borne_off(board), opp_borne_off(board))


# --- boards ---


def test_the_other_sides_slots() -> None:
    board = boards_of_games()[40]
    for is_long, variant in ((0, SHORT), (1, LONG)):
        points = OPP_SLOTS[is_long, 1:25]
        assert (OPP_SLOTS[is_long][OPP_SLOTS[is_long]] == np.arange(26)).all()
        assert (-board[points] == variant.flip(board)[1:25]).all()
        turned = board.astype(np.int64)
        flip_in_place.py_func(turned, is_long)
        assert (turned == variant.flip(board)).all()


def test_phases_and_outcomes() -> None:
    boards = boards_of_games()
    kinds = np.empty(len(boards), dtype=np.int64)
    board_kinds(boards, 1, kinds)
    over = np.array([is_over(board) for board in boards])
    contact = has_long_contact(boards)
    assert (kinds == np.where(over, 0, np.where(contact, 1, 2))).all()
    assert min((kinds == kind).sum() for kind in range(3)) >= 10
    probs = evaluator().probabilities(boards)
    possible = outcome_mask(boards, LONG_NARDI)
    assert (probs[over] == possible[over]).all()
    assert (probs[~possible] == 0).all()
    assert (probs[:, [2, 4]] == 0).all()
    assert (probs[~over][:, 1] > 0).any()


@pytest.mark.parametrize("shape", [SHAPE, TAILS], ids=["one tail", "nine tails"])
def test_numpy_and_compiled_paths_agree(shape: ValueNetConfig) -> None:
    net = long_net(shape)
    boards = boards_of_games()[::3]
    assert np.abs(batch_probabilities(net, boards) - Evaluator(net).probabilities(boards)).max() < (
        1e-5
    )


def test_a_checker_on_a_bar_is_refused() -> None:
    board = LONG_START.copy()
    board[24], board[25] = 14, 1
    with pytest.raises(PositionError, match="nobody is on the bar"):
        evaluator().rank(board, (3, 1))


# --- plays ---


@pytest.mark.parametrize("rules", [LONG_NARDI, *OTHER_RULES], ids=str)
def test_plays_are_the_legal_ones_valued_as_whole_boards(rules: Rules) -> None:
    turns = [
        (np.array(board, dtype=np.int8), roll) for board, roll, _ in constructed_turns(rng(), 60)
    ]
    boards = boards_of_games()[::60]
    turns += [
        (board, tuple(roll))
        for board, roll in zip(boards, roll_dice(rng(), len(boards)).tolist(), strict=True)
        if not is_over(board)
    ]
    for board, roll in turns:
        legal = legal_afterstates(board, roll, rules)
        rows, probs, equity, _ = evaluator().rank(board, roll, rules)
        order = np.lexsort(rows.T[::-1])
        assert (rows[order] == legal).all()
        whole = swap_sides(evaluator().probabilities(LONG.flip(rows)))
        assert np.abs(probs - whole).max() < CLOSE
        assert (np.diff(equity) <= 0).all()
        chosen = evaluator().choose(board[None], np.array([roll]), rules)[0]
        place = int(np.flatnonzero((rows == chosen).all(axis=1))[0])
        assert equity[place] >= equity[0] - CLOSE


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


# --- looking ahead ---


def brute_force(board: Board, ply: int, rules: Rules) -> NDArray[np.float64]:
    """The value by its definition, one board after the other."""
    if ply == 0 or is_over(board):
        return evaluator().probabilities(board[None])[0].astype(np.float64)
    total = np.zeros(5)
    for roll, weight in zip(ROLLS.tolist(), ROLL_WEIGHTS.tolist(), strict=True):
        best = LONG.flip(rank_plays(evaluator(), board, roll, rules)[0].afterstate)
        total += weight * swap_sides(brute_force(best, ply - 1, rules)).astype(np.float64)
    return total / 36


def test_plies_are_brute_force() -> None:
    boards = boards_of_games()
    middle, late = boards[12 * 30], boards[12 * 60]
    for board in (LONG_START, middle, late):
        for rules in (LONG_NARDI, OTHER_RULES[0]):
            value = searcher().probabilities(board[None], 1, rules)[0]
            assert np.abs(value - brute_force(board, 1, rules)).max() < CLOSE
    few = np.zeros(26, dtype=np.int8)
    few[[3, 5]], few[[14, 15]] = 1, -1
    value = searcher().probabilities(few[None], 2, LONG_NARDI)[0]
    assert np.abs(value - brute_force(few, 2, LONG_NARDI)).max() < CLOSE


def test_ranking_and_rollout_agree_with_the_search() -> None:
    board = boards_of_games()[12 * 30]
    ranked = searcher().rank(board, (4, 2), 1, LONG_NARDI)
    after = LONG.flip(ranked[0].afterstate)
    value = searcher().probabilities(after[None], 1, LONG_NARDI)[0]
    assert ranked[0].probs == pytest.approx(swap_sides(value), abs=CLOSE)
    # Cut after one play and without the luck of its roll a trial is the mean over all rolls.
    settings = RolloutSettings(trials=36, truncate=1, seed=3)
    roller = Roller(long_net(), settings, LONG_NARDI)
    *_, found = roller.roll_out(roller.position(board))
    value = searcher().probabilities(board[None], 1, LONG_NARDI)[0]
    assert found.lines[0].probs == pytest.approx(value, abs=1e-5)
    whole = Roller(long_net(), RolloutSettings(trials=36, luck=False, seed=3), LONG_NARDI)
    *_, played = whole.roll_out(whole.position(board))
    assert played.lines[0].ends == {"finished": 36}


def test_rules_of_another_game_are_refused() -> None:
    with pytest.raises(ConfigError, match="is for long nardi"):
        evaluator().for_rules(INTERNATIONAL)
    with pytest.raises(ConfigError, match="is for short nardi"):
        Evaluator(random_net(SHAPE, rng())).for_rules(LONG_NARDI)


# --- self-play ---


def played(net: ValueNet, games: int, **changes: object) -> Round:
    settings: dict[str, object] = {
        "seed": 3,
        "first_game": 0,
        "games": games,
        "games_per_call": games,
        "lambda_": 1.0,
        "explore": 0.0,
        "random_openings": 0.0,
        "random_plies": 1,
        "expected": 0.0,
        "rules": LONG_NARDI,
    }
    return play_chunk(net, RoundPlan(**(settings | changes)), 0, games)  # type: ignore[arg-type]


def test_games_are_legal_and_targets_are_results() -> None:
    found = played(long_net(), 6)
    boards = found.boards
    starts = np.flatnonzero((boards == LONG_START).all(axis=1))
    assert len(starts) == 6
    ends = [*starts[1:], len(boards)]
    for first, end in zip(starts, ends, strict=True):
        for t in range(first, min(end - 1, first + 25)):
            before = LONG.flip(boards[t + 1]).tobytes()
            assert any(
                before in {row.tobytes() for row in legal_afterstates(boards[t], roll, LONG_NARDI)}
                for roll in ROLLS.tolist()
            )
        # The last mover has won; results change sides from ply to ply.
        wins = found.targets[first:end, 0]
        assert wins.tolist() == [(end - 1 - t) % 2 == 0 for t in range(first, end)]
        assert (found.targets[first:end, [2, 4]] == 0).all()


def test_a_doublet_may_begin() -> None:
    """The starter throws anew after the opening throw: one game in six begins with a doublet."""

    def doublets(rules: Rules) -> int:
        boards = played(long_net(), 60, rules=rules).boards
        after = np.flatnonzero((boards == LONG_START).all(axis=1)) + 1
        firsts = LONG.flip(boards[after])
        plays = {
            tuple(roll): {row.tobytes() for row in legal_afterstates(LONG_START, roll, rules)}
            for roll in ROLLS.tolist()
        }
        of_doublets = set().union(*(plays[(n, n)] for n in range(1, 7)))
        others = set().union(*(rows for roll, rows in plays.items() if roll[0] != roll[1]))
        return sum(row.tobytes() in of_doublets - others for row in firsts)

    assert doublets(LONG_NARDI) >= 3
    assert doublets(LONG_NARDI.replace(opening_dice_played=True)) == 0


def test_backups_are_the_means_over_all_rolls() -> None:
    found = played(long_net(), 1, lambda_=0.0, luck_adjusted=True)
    some = np.arange(0, len(found.boards) - 1, 9)
    values = searcher().probabilities(found.boards[some], 1, LONG_NARDI)
    assert np.abs(values - found.targets[some]).max() < 1e-5
    expected = played(long_net(), 1, expected=1.0)
    values = searcher().probabilities(expected.boards[some[:10]], 1, LONG_NARDI)
    assert np.abs(values - expected.targets[some[:10]]).max() < 1e-5
