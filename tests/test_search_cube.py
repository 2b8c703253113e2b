"""Looking ahead with the cube: brute force, scores, DMP, ties, exact endings, one process asked
for different situations."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.checkpoint import default_net_path, load_net
from agent.cube import cube_decision
from agent.cube_judge import judge_cube
from agent.cube_states import choice_weights
from agent.cube_values import board_efficiency, table_of
from agent.evaluator import Evaluator, cubeless_equity
from agent.kernels.cube import combine_rows, cubeful_rows, new_cube_work
from agent.move_filter import FILTERS
from agent.search import Searcher
from agent.situation import Situation
from engine.bearoff.lookup import cubeful as exact_cubeful
from engine.bearoff.tables import load_tables
from engine.board import NUM_CHECKERS, START, Board, borne_off, flip, opp_borne_off
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.moves import legal_afterstates
from engine.notation import parse_position
from engine.rules import INTERNATIONAL
from tests.nets import SMALL, random_net

CLOSE = 5e-6
MONEY = Situation()
TO_7 = INTERNATIONAL.replace(match_to=7)
SITUATIONS = {
    "money": MONEY,
    "mine": Situation(cube_value=2, cube_owner="mover"),
    "Jacoby, beavers": Situation(rules=INTERNATIONAL.replace(jacoby=True, beaver=True)),
    "5 away, 3 away": Situation(rules=TO_7, mover_away=5, opp_away=3),
    "theirs at 4 away, 2 away": Situation(
        rules=TO_7, mover_away=4, opp_away=2, cube_value=2, cube_owner="opponent"
    ),
    "Crawford": Situation(rules=TO_7, mover_away=1, opp_away=3, crawford=True),
    "post-Crawford": Situation(rules=TO_7, mover_away=3, opp_away=1),
    "DMP": Situation(rules=TO_7, mover_away=1, opp_away=1),
    "no cube": Situation(rules=INTERNATIONAL.replace(cube=False)),
}
NEAR_THE_END = np.array([0, 1, 0, 0, 1, 0, 1, 1] + [0] * 13 + [-1, 0, -1, -1, 0], dtype=np.int8)[
    :26
]
POSITIONS = {
    "start": START,
    "C29": parse_position("XGID=-aBa--D-CB--cB---d-cB-ba--:0:0:1:00:0:0:0:0:10").board,
    "near the end": NEAR_THE_END,
    "contact near the end": np.array([0, 2, 1, 0, 0, 0, -1] + [0] * 16 + [-3, 0, 1], dtype=np.int8),
}


@cache
def evaluator() -> Evaluator:
    return Evaluator(random_net(SMALL, np.random.default_rng(1)))


@cache
def searcher() -> Searcher:
    return Searcher(evaluator(), cache_bytes=1 << 18)


@cache
def strong() -> Searcher:
    return Searcher(Evaluator(load_net(default_net_path())))


@cache
def with_tables() -> Searcher:
    return Searcher(Evaluator(load_net(default_net_path()), tables=load_tables()))


def best_reply(board: Board, roll: list[int], weights: NDArray[np.float32], side: int) -> Board:
    """The play of `side`, on roll, that the net takes without looking further."""
    rows = legal_afterstates(board, roll)
    opp = evaluator().probabilities(flip(rows))
    w = weights[1 - side]
    worth = np.full(len(rows), w[5], dtype=np.float32)
    for k in range(5):
        worth = worth + w[k] * opp[:, k]
    order = sorted(range(len(rows)), key=lambda i: (worth[i], -borne_off(rows[i]), i))
    return rows[order[0]]


def brute_force(board: Board, ply: int, side: int, table: Any) -> NDArray[np.float64]:
    """Values of all states without doubling now, by their definition."""
    nd = np.empty((1, table.states))
    if ply == 0 or NUM_CHECKERS in (borne_off(board), opp_borne_off(board)):
        probs = evaluator().probabilities(board[None]).astype(np.float64)
        work = new_cube_work(table)  # type: ignore[no-untyped-call]
        cubeful_rows(table, side, probs, board_efficiency(board[None]), work, nd)
        return nd
    total = np.zeros((1, table.states))
    weights = choice_weights(table)
    for roll, weight in zip(ROLLS.tolist(), ROLL_WEIGHTS.tolist(), strict=True):
        after = flip(best_reply(board, roll, weights, side))
        there = brute_force(after, ply - 1, 1 - side, table)
        doubled = np.empty_like(there)
        combine_rows(table, 1 - side, there, doubled)
        total -= weight * doubled
    return total / 36


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("place", POSITIONS)
def test_one_ply_is_brute_force(name: str, place: str) -> None:
    situation, board = SITUATIONS[name], POSITIONS[place]
    value = searcher().evaluate(board, 1, situation)
    table = table_of(situation, 1)
    assert value.states == pytest.approx(brute_force(board, 1, 0, table)[0], abs=CLOSE)
    assert value.ply == 1


@pytest.mark.parametrize("name", ["money", "5 away, 3 away", "Jacoby, beavers"])
def test_two_plies_are_brute_force(name: str) -> None:
    situation, board = SITUATIONS[name], NEAR_THE_END
    value = searcher().evaluate(board, 2, situation)
    table = table_of(situation, 2)
    assert value.states == pytest.approx(brute_force(board, 2, 0, table)[0], abs=CLOSE)


@pytest.mark.parametrize("name", SITUATIONS)
def test_without_a_look_it_is_the_models_decision(name: str) -> None:
    situation = SITUATIONS[name]
    for board in POSITIONS.values():
        value = searcher().evaluate(board, 0, situation)
        x = float(board_efficiency(board))
        here = cube_decision(value.probs, situation, x, values=value.states)
        model = cube_decision(value.probs, situation, x)
        assert here.action == model.action
        assert here.equity == pytest.approx(model.equity, abs=1e-6)
        assert value.cubeful == pytest.approx(model.equity, abs=1e-6)


@pytest.mark.parametrize("ply", [0, 1])
@pytest.mark.parametrize("name", SITUATIONS)
def test_a_play_is_worth_what_the_opponent_loses(name: str, ply: int) -> None:
    situation = SITUATIONS[name]
    ranked = searcher().rank(START, (4, 1), ply, move_filter=FILTERS["full"], situation=situation)
    for play in ranked[:4]:
        assert play.cubeful is not None
        value = searcher().evaluate(flip(play.afterstate), ply, situation.flipped())
        assert play.cubeful == pytest.approx(-value.cubeful, abs=CLOSE)
    worth = [play.cubeful for play in ranked if play.cubeful is not None]
    assert worth == sorted(worth, reverse=True)


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_gammons_are_worth_nothing_at_double_match_point(ply: int) -> None:
    """C24: 2p - 1 whatever the gammons."""
    board = parse_position("XGID=bBBBCCC-c---ee------------:0:0:1:00:0:0:0:0:10").board
    value = strong().evaluate(board, ply, SITUATIONS["DMP"])
    assert value.cubeful == pytest.approx(2 * float(value.probs[0]) - 1, abs=1e-6)
    assert value.cubeful < 1 < float(cubeless_equity(value.probs))
    assert strong().evaluate(board, ply, SITUATIONS["no cube"]).cubeful > 1.3


def test_gammons_count_by_jacobys_rule_where_the_cube_can_still_be_turned() -> None:
    """And nothing where it cannot, for then no double can make them count."""
    plain = choice_weights(table_of(MONEY))
    jacoby = INTERNATIONAL.replace(jacoby=True)
    assert choice_weights(table_of(Situation(rules=jacoby))).tolist() == plain.tolist()
    for rules in (jacoby.replace(cube_cap=1), INTERNATIONAL.replace(mars_with_cube=False)):
        for plies in (0, 2):
            weights = choice_weights(table_of(Situation(rules=rules), plies))
            assert weights[:, 0].tolist() == [2, 2]
            assert not weights[:, 1:5].any()


def test_ties_in_cubeful_equity_go_to_the_cubeless_one() -> None:
    """C39: whatever the opponent rolls, both plays are cashed next turn."""
    board = parse_position("3zvBAAB/ZwAAAA").board
    for ply in (1, 2):
        ranked = strong().rank(board, (4, 2), ply, situation=MONEY)
        assert len(ranked) == 2
        first, second = (play.cubeful for play in ranked)
        assert first is not None
        assert second is not None
        assert first >= second >= 1
        assert first == pytest.approx(second, abs=5e-4)  # a rest of hope for a gammon
        assert ranked[0].equity > ranked[1].equity
        assert int(borne_off(ranked[0].afterstate) - borne_off(board)) == 2


def test_the_owner_of_the_cube_changes_the_best_play() -> None:
    """C29, second position: with a centred cube O cashes whatever is played."""
    board = parse_position("XGID=--CBCBC------B--b--cabbcb-:0:0:1:00:0:0:0:0:10").board
    ranked = strong().rank(board, (2, 1), 1, situation=MONEY)
    best = [play for play in ranked if play.ply == 1]
    assert len(best) > 1
    assert {play.cubeful for play in best} == {-1.0}
    assert [play.equity for play in best] == sorted((p.equity for p in best), reverse=True)
    owned = strong().rank(board, (2, 1), 1, situation=Situation(cube_value=2, cube_owner="mover"))
    assert owned[0].cubeful is not None
    assert -0.75 < owned[0].cubeful < -0.4


def test_exact_endings_stay_exact() -> None:
    board = np.zeros(26, dtype=np.int8)
    board[[1, 3, 6]] = 1, 2, 1
    board[[24, 20, 22]] = -1, -1, -2
    for owner in (None, "mover", "opponent"):
        truth = exact_cubeful(board, owner)
        situation = Situation(cube_value=1 if owner is None else 2, cube_owner=owner)
        for ply in range(4):
            value = with_tables().evaluate(board, ply, situation)
            assert value.cubeful == pytest.approx(truth.equity, abs=3e-6)
            assert value.states[value.table.root] == pytest.approx(truth.no_double, abs=3e-6)
    raw = judge_cube(with_tables().evaluator, board, MONEY)
    assert raw.source == "exact"


def test_one_process_asked_for_different_situations() -> None:
    """First and last answer are the same, and equal to those of fresh ones, with threads or not."""
    asked = [SITUATIONS[name] for name in ("money", "5 away, 3 away", "DMP", "money")]
    boards = [POSITIONS["C29"], NEAR_THE_END]

    def answers(one: Searcher) -> list[list[float]]:
        return [
            [one.evaluate(board, ply, s).cubeful for board in boards for ply in (0, 1, 2)]
            for s in asked
        ]

    used = answers(searcher())
    assert used[0] == used[-1]
    assert used[0] != used[1] != used[2]
    for threads in (1, 2, 3):
        assert answers(Searcher(evaluator(), threads=threads, cache_bytes=4096)) == used
    for situation, expected in zip(asked, used, strict=True):
        fresh = Searcher(evaluator(), cache_bytes=0)
        assert fresh.evaluate(boards[0], 2, situation).cubeful == expected[2]


def test_equities_look_the_same_from_both_sides() -> None:
    """Mirror invariance with the cube: the flipped situation's mover, one roll later."""
    situation = SITUATIONS["theirs at 4 away, 2 away"]
    for board in POSITIONS.values():
        table = table_of(situation, 1)
        flipped = table_of(situation.flipped(), 1)
        side_1 = brute_force(board, 0, 1, table)[0, table.root]
        there = searcher().evaluate(board, 0, situation.flipped())
        equity = (side_1 + table.offset) / table.unit
        nd = (there.states[flipped.root] - flipped.offset) / flipped.unit
        assert equity == pytest.approx(nd, abs=1e-6)
