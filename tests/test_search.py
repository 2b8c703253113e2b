"""Looking ahead: n plies against brute force, perspective, threads, cache, rules, filters."""

import itertools
import time
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.bot import NetBot
from agent.checkpoint import default_net_path, load_net
from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.move_filter import FILTERS, NORMAL, MoveFilter, move_filter
from agent.ranking import rank_plays, scored
from agent.search import MAX_DEPTH, Searcher
from agent.situation import Situation
from engine.bearoff.tables import load_tables
from engine.board import NUM_CHECKERS, START, Board, borne_off, flip, opp_borne_off
from engine.dice import ROLL_WEIGHTS, ROLLS, game_generator, roll_dice
from engine.errors import ConfigError, PositionError
from engine.moves import legal_afterstates, legal_afterstates_batch
from engine.notation import parse_position
from engine.rules import CAUCASIAN, INTERNATIONAL, Rules
from tests.nets import SMALL, random_net

CLOSE = 2e-6
BAN_HOME_HIT = INTERNATIONAL.replace(hit_then_bear_off="ban_home_hit", hit_and_hide="ban")
TWO_KINDS = INTERNATIONAL.replace(scoring="oin_mars_12")

POSITIONS = {
    "start": START,
    "both on the bar": parse_position("XGID=bA----D-C---dE---c-e---A-A:0:0:1:00:0:0:0:0:10").board,
    "bar-many": parse_position("tm0DBwDgc/ABYA").board,
    "bear-off with contact": parse_position("YEYF4TnO7w4AAA").board,
    "race": parse_position("XGID=-BBBCCC------------cccbbb-:0:0:1:00:0:0:0:0:10").board,
    "three against two": np.array([0, 1, 0, 0, 1, 0, 1] + [0] * 15 + [-1, 0, -1, 0], dtype=np.int8),
    "hit from the bar late": np.array(
        [0, 2, 2, 2, 0, 2, -1] + [0] * 12 + [-2, -2, -2, -2, 0, 0, 1], dtype=np.int8
    ),
}


@cache
def evaluator() -> Evaluator:
    return Evaluator(random_net(SMALL, np.random.default_rng(1)))


@cache
def searcher() -> Searcher:
    return Searcher(evaluator(), cache_bytes=1 << 16)


def is_over(board: Board) -> bool:
    return NUM_CHECKERS in (borne_off(board), opp_borne_off(board))


def brute_force(board: Board, ply: int, rules: Rules) -> NDArray[np.float64]:
    """The value by its definition, one board after the other."""
    if ply == 0 or is_over(board):
        return evaluator().probabilities(board[None])[0].astype(np.float64)
    total = np.zeros(5)
    for roll, weight in zip(ROLLS.tolist(), ROLL_WEIGHTS.tolist(), strict=True):
        best = flip(rank_plays(evaluator(), board, roll, rules)[0].afterstate)
        total += weight * swap_sides(brute_force(best, ply - 1, rules)).astype(np.float64)
    return total / 36


def some_positions(n: int, seed: int) -> tuple[Board, NDArray[np.int8]]:
    """Positions of games that a net plays against itself, with rolls."""
    generator = game_generator(seed, 0)
    boards = np.tile(START, (n, 1))
    strong = strong_evaluator()
    for ply in range(40):
        moving = np.arange(n) * 40 // n > ply  # so that all stages come up
        after = flip(strong.choose(boards, roll_dice(generator, n)))
        running = (borne_off(after) < NUM_CHECKERS) & (opp_borne_off(after) < NUM_CHECKERS)
        boards = np.where((moving & running)[:, None], after, boards)
    return boards, roll_dice(generator, n)


@cache
def strong_evaluator() -> Evaluator:
    return Evaluator(load_net(default_net_path()))


@pytest.mark.parametrize("rules", [INTERNATIONAL, CAUCASIAN, BAN_HOME_HIT, TWO_KINDS], ids=str)
@pytest.mark.parametrize("name", POSITIONS)
def test_one_ply_is_brute_force(name: str, rules: Rules) -> None:
    board = POSITIONS[name]
    value = searcher().probabilities(board[None], 1, rules)[0]
    assert np.abs(value - brute_force(board, 1, rules)).max() < CLOSE


@pytest.mark.parametrize("name", ["three against two", "bar-many", "hit from the bar late"])
def test_two_plies_are_brute_force(name: str) -> None:
    board = POSITIONS[name]
    value = searcher().probabilities(board[None], 2)[0]
    assert np.abs(value - brute_force(board, 2, INTERNATIONAL)).max() < CLOSE


def test_near_the_end_deep_values_are_exact() -> None:
    """C42: the sign of finished games, of either side, at every depth."""
    last = np.zeros(26, dtype=np.int8)
    last[1], last[24] = 1, -1
    assert searcher().probabilities(last[None], 1)[0].tolist() == [1, 0, 0, 0, 0]
    two = np.zeros(26, dtype=np.int8)
    two[6], two[3], two[24] = 1, 1, -2
    win = legal_wins(two)
    assert 0 < win < 1
    for ply in (2, 3, 4):
        value = searcher().probabilities(two[None], ply)[0]
        assert value == pytest.approx([win, 0, 0, 0, 0], abs=CLOSE)
    # The side on roll has lost unless its one roll gets the last checker home: a gammon then.
    lost = np.zeros(26, dtype=np.int8)
    lost[6], lost[24] = 15, -1
    for ply in (2, 3):
        value = searcher().probabilities(lost[None], ply)[0]
        saved = saves_gammon(lost)
        assert value == pytest.approx([0, 0, 0, 1 - saved, 0], abs=CLOSE)


def saves_gammon(board: Board) -> float:
    """Chance that a roll bears off at least one checker, if the play does where it can."""
    saved = 0
    for roll, weight in zip(ROLLS.tolist(), ROLL_WEIGHTS.tolist(), strict=True):
        best = rank_plays(evaluator(), board, roll)[0].afterstate
        saved += weight * (borne_off(best) > 0)
    return saved / 36


def legal_wins(board: Board) -> float:
    """Chance to bear off everything with the next roll."""
    wins = 0
    for roll, weight in zip(ROLLS.tolist(), ROLL_WEIGHTS.tolist(), strict=True):
        wins += weight * bool((borne_off(legal_afterstates(board, roll)) == NUM_CHECKERS).any())
    return wins / 36


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_a_roll_ranks_the_opponents_view(ply: int) -> None:
    """What a play is worth is minus what the position after it is worth to the opponent."""
    ranked = searcher().rank(START, (3, 1), ply, move_filter=FILTERS["full"])
    assert [play.ply for play in ranked] == [ply] * len(ranked)
    after = np.stack([play.afterstate for play in ranked])
    opp = searcher().probabilities(flip(after), ply)
    assert np.abs(swap_sides(opp) - np.stack([play.probs for play in ranked])).max() < CLOSE
    equities = [float(play.equity) for play in ranked]
    assert equities == sorted(equities, reverse=True)
    assert np.abs(equities + cubeless_equity(opp)).max() < 2 * CLOSE


@pytest.mark.parametrize("rules", [INTERNATIONAL, CAUCASIAN], ids=str)
def test_the_first_of_a_ranking_is_what_is_chosen(rules: Rules) -> None:
    boards, rolls = some_positions(12, 3)
    for ply in (0, 1, 2)[: 3 if rules == INTERNATIONAL else 2]:
        chosen = searcher().choose(boards, rolls, ply, rules)
        for board, roll, after in zip(boards, rolls, chosen, strict=True):
            ranked = searcher().rank(board, roll.tolist(), ply, rules)
            assert ranked[0].afterstate.tolist() == after.tolist()
    raw = searcher().choose(boards, rolls, 0)
    assert raw.tolist() == evaluator().choose(boards, rolls).tolist()


def test_neither_threads_nor_cache_nor_history_change_a_value() -> None:
    boards, rolls = some_positions(4, 4)
    sorter = random_net(SMALL, np.random.default_rng(5))
    fresh = Searcher(evaluator(), sorter, keep=4, cache_bytes=0)
    values = fresh.probabilities(boards, 2)
    plays = fresh.choose(boards, rolls, 2)
    for threads, cache_bytes in ((1, 1 << 20), (2, 0), (2, 4096), (3, 1 << 20)):
        other = Searcher(evaluator(), sorter, keep=4, threads=threads, cache_bytes=cache_bytes)
        for _ in range(2):
            assert other.probabilities(boards, 2).tolist() == values.tolist()
        assert other.choose(boards, rolls, 2).tolist() == plays.tolist()
        # The same boards under other rules in between must not be taken for these.
        other.probabilities(boards, 2, TWO_KINDS)
        assert other.probabilities(boards, 2).tolist() == values.tolist()


@pytest.mark.slow
def test_nor_do_they_at_three_plies() -> None:
    """The cache has many hits there."""
    boards, _ = some_positions(3, 4)
    values = Searcher(evaluator(), cache_bytes=0).probabilities(boards, 3)
    for threads in (1, 2):
        other = Searcher(evaluator(), threads=threads, cache_bytes=1 << 20)
        assert other.probabilities(boards, 3).tolist() == values.tolist()
        counts = other.cache_counts()
        assert counts.hits > counts.lookups / 20


def test_a_time_budget_is_kept() -> None:
    """Six plies would take hours; what is done in time is a whole ranking."""
    one = Searcher(strong_evaluator())
    one.warm_up()
    start = time.monotonic()
    ranked = one.rank(START, (2, 1), MAX_DEPTH, seconds=0.3)
    assert time.monotonic() - start < 3
    assert 1 <= ranked[0].ply < MAX_DEPTH
    plies = [play.ply for play in ranked]
    assert plies == sorted(plies, reverse=True)
    # With time enough it is the search to the depth asked for, and then of all plays.
    wide = one.rank(START, (2, 1), 1, seconds=60)
    full = one.rank(START, (2, 1), 1, move_filter=FILTERS["full"])
    assert [play.afterstate.tolist() for play in wide] == [p.afterstate.tolist() for p in full]
    assert {play.ply for play in wide} == {1}
    nothing = one.rank(START, (2, 1), 2, seconds=1e-9)
    assert {play.ply for play in nothing} == {0}


def test_the_cache_is_used_and_no_larger_than_told() -> None:
    one = Searcher(evaluator(), cache_bytes=1 << 20)
    one.probabilities(START[None], 2)
    before = one.cache_counts()
    one.probabilities(START[None], 2)
    after = one.cache_counts()
    assert after.hits - before.hits == after.lookups - before.lookups > 0
    assert 1 << 18 < after.n_bytes <= 1 << 20


def test_a_sorter_that_keeps_all_changes_nothing() -> None:
    boards, _ = some_positions(4, 6)
    sorter = random_net(SMALL, np.random.default_rng(7))
    plain = searcher().probabilities(boards, 1)
    assert Searcher(evaluator(), sorter, keep=500).probabilities(boards, 1).tolist() == (
        plain.tolist()
    )
    few = Searcher(evaluator(), sorter, keep=1).probabilities(boards, 1)
    assert np.abs(few - plain).max() > 1e-3
    # By the net itself the best of the sorted plays is the best of all.
    own = Searcher(evaluator(), evaluator().net, keep=1).probabilities(boards, 1)
    assert np.abs(own - plain).max() < CLOSE


@pytest.mark.parametrize("ply", [0, 1])
def test_tables_are_left_out_where_they_do_not_hold(ply: int) -> None:
    """Who is off first has not won yet where the other side has a last throw."""
    net, tables = evaluator().net, load_tables()
    last_throw = INTERNATIONAL.replace(end_rule="last_chance_draw")
    ending = POSITIONS["three against two"]
    plain = Searcher(Evaluator(net), cache_bytes=1 << 16)
    exact = Searcher(Evaluator(net, tables=tables), cache_bytes=1 << 16)
    by_net = plain.probabilities(ending[None], ply).tolist()
    by_table = exact.probabilities(ending[None], ply).tolist()
    assert by_table != by_net
    assert exact.probabilities(ending[None], ply, last_throw).tolist() == by_net
    situation = Situation(rules=last_throw)
    assert exact.evaluate(ending, ply, situation).probs.tolist() == by_net[0]
    for asked, unlike in ((exact, plain), (plain, exact)):
        ranked = asked.rank(ending, (2, 1), ply, last_throw)
        others = unlike.rank(ending, (2, 1), ply, last_throw)
        assert [play.probs.tolist() for play in ranked] == [play.probs.tolist() for play in others]
    assert exact.probabilities(ending[None], ply).tolist() == by_table  # nothing is left behind
    bot = NetBot("net", Evaluator(net, tables=tables), last_throw)
    if ply == 0:
        assert bot.probabilities(ending[None]).tolist() == by_net
        assert bot.evaluations() == 1


def test_looking_ahead_changes_some_choices() -> None:
    """C35: a deeper look that changes nothing is none."""
    boards, rolls = some_positions(240, 8)
    strong = Searcher(strong_evaluator())
    changed = (strong.choose(boards, rolls, 1) != strong.choose(boards, rolls, 0)).any(axis=1)
    assert 0.05 <= changed.mean() <= 0.20


@pytest.mark.parametrize("ply", [1, 2])
def test_probabilities_keep_their_order_and_impossible_ones_are_0(ply: int) -> None:
    """C13, and the same for all positions."""
    boards, _ = some_positions(24, 9)
    p = searcher().probabilities(boards, ply)
    assert (p[:, 0] >= p[:, 1]).all()
    assert (p[:, 1] >= p[:, 2]).all()
    assert (1 - p[:, 0] >= p[:, 3]).all()
    assert (p[:, 3] >= p[:, 4]).all()
    assert (p >= 0).all()
    assert (p[borne_off(boards) > 0, 3:] == 0).all()
    assert (p[opp_borne_off(boards) > 0, 1:3] == 0).all()
    for play in searcher().rank(POSITIONS["bear-off with contact"], (5, 4), ply):
        assert play.probs[3:].tolist() == [0, 0]


def test_depths_do_not_mix() -> None:
    ranked = searcher().rank(START, (2, 1), 2, move_filter=FILTERS["tiny"])
    plies = [play.ply for play in ranked]
    assert plies == sorted(plies, reverse=True)
    assert plies.count(2) <= 2
    assert plies.count(2) + plies.count(1) <= 3
    for _, group in itertools.groupby(ranked, lambda play: play.ply):
        equities = [play.equity for play in group]
        assert equities == sorted(equities, reverse=True)


def test_scoring_without_backgammons() -> None:
    ranked = searcher().rank(START, (4, 2), 1, TWO_KINDS)
    for play in ranked:
        assert play.probs[[2, 4]].tolist() == [0, 0]
        assert play.equity == pytest.approx(scored(play.probs, TWO_KINDS)[1], abs=CLOSE)


def test_of_equal_plays_the_one_with_more_checkers_off_comes_first() -> None:
    """C39: a race decided for certain, all plays equal."""
    net = random_net(SMALL, np.random.default_rng(1))
    for arrays in (net.contact, net.race):
        for array in arrays:
            array[:] = 0
        (arrays.b3 if arrays.w3.shape[1] else arrays.b2)[:] = -30
    board = parse_position("3zvBAAB/ZwAAAA").board
    blind = Searcher(Evaluator(net))
    for ply in (0, 1):
        ranked = blind.rank(board, (4, 2), ply)
        assert ranked[0].equity == ranked[1].equity == (-1) ** ply
        assert [int(borne_off(play.afterstate) - borne_off(board)) for play in ranked] == [2, 1]


def test_filters_are_told_apart_by_name() -> None:
    assert move_filter("normal") is NORMAL
    with pytest.raises(ConfigError, match=r"unknown filter 'huge'; accepted: tiny, narrow, normal"):
        move_filter("huge")
    sizes = [f.steps[0] for f in FILTERS.values()]
    assert sizes == sorted(sizes)
    two = MoveFilter(name="x", steps=((4, 0.1), (2, 0.05)))
    assert [two.step(depth) for depth in range(3)] == [(4, 0.1), (2, 0.05), (2, 0.05)]


@pytest.mark.parametrize("ply", [-1, MAX_DEPTH + 1, True])
def test_depths_that_cannot_be_searched(ply: int) -> None:
    with pytest.raises(ConfigError, match="accepted: 0 to"):
        searcher().probabilities(START[None], ply)


def test_bad_positions_are_refused() -> None:
    over = np.zeros(26, dtype=np.int8)
    over[3] = 2
    with pytest.raises(PositionError, match="the game is over"):
        searcher().rank(over, (3, 1), 1)
    with pytest.raises(PositionError, match="row 1"):
        searcher().choose(np.stack([START, over]), [[3, 1], [3, 1]], 1)
    bad = START.copy()
    bad[4] = 9
    with pytest.raises(PositionError, match="row 0"):
        searcher().probabilities(bad[None], 1)
    assert searcher().probabilities(over[None], 2).tolist() == [[0, 0, 0, 0, 0]]


def test_house_rules_are_kept_in_the_tree() -> None:
    """Under hit_and_hide = ban another position comes up after some plays."""
    boards, rolls = some_positions(100, 11)
    here = searcher().probabilities(boards, 1)
    there = searcher().probabilities(boards, 1, CAUCASIAN)
    assert (here != there).any()
    for board, roll, after in zip(
        boards, rolls, searcher().choose(boards, rolls, 1, CAUCASIAN), strict=True
    ):
        legal = legal_afterstates_batch(board[None], roll[None], CAUCASIAN)[0]
        assert (legal == after).all(axis=1).any()
