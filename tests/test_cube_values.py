"""The compiled cubeful values: against a slow reference, and what must hold for all of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent.cube import CONTACT_EFFICIENCY, board_efficiency, cubeful_equities, cubeful_equity
from agent.cube_table import cube_table, state_payoffs
from agent.cube_values import cubeless_equity_at, static_values_of, to_equity
from agent.kernels.cube import (
    BEAVERED,
    CENTRED,
    DOUBLED,
    LEVEL,
    LOSE_1,
    OWNER,
    TURNABLE,
    WIN_1,
    combine_rows,
    cubeful_rows,
    new_cube_work,
)
from agent.situation import Situation
from engine.board import START
from engine.errors import ConfigError
from engine.rules import Rules
from tests.cube_rows import Probs, match, money, probabilities, situations
from tests.reference_cube import no_double_value

EVEN: Probs = (0.5, 0.13, 0.01, 0.13, 0.01)


def no_double(probs: Probs, situation: Situation, efficiency: float, plies: int = 0) -> float:
    table = cube_table(situation, plies)
    return float(static_values_of(table, [probs], efficiency)[0, table.root])


@settings(max_examples=300)
@given(probabilities(), situations(), st.sampled_from([0.0, 0.5, CONTACT_EFFICIENCY, 1.0]))
def test_values_are_those_of_the_reference(
    probs: Probs, situation: Situation, efficiency: float
) -> None:
    found = no_double(probs, situation, efficiency)
    expected = no_double_value(situation, probs, efficiency)
    if not situation.is_match:
        expected /= situation.cube_value
    assert found == pytest.approx(expected, abs=2e-5)


@settings(max_examples=60)
@given(probabilities(), situations())
def test_what_one_side_wins_the_other_loses(probs: Probs, situation: Situation) -> None:
    win, win_g, win_bg, lose_g, lose_bg = probs
    other = (1 - win, lose_g, lose_bg, win_g, win_bg)
    found = no_double(probs, situation, 0.7)
    assert found == pytest.approx(-no_double(other, situation.flipped(), 0.7), abs=1e-9)


@settings(max_examples=60)
@given(probabilities(), situations(), st.integers(1, 3))
def test_more_plies_only_add_states(probs: Probs, situation: Situation, plies: int) -> None:
    """A table for a search has the same values for the states they share."""
    values = []
    for table in (cube_table(situation), cube_table(situation, plies)):
        nd = static_values_of(table, [probs], 0.68)
        keys = (tuple(row) for row in table.plan[: table.states, [LEVEL, OWNER]].tolist())
        values.append(dict(zip(keys, nd[0].tolist(), strict=True)))
    small, large = values
    assert set(small) <= set(large)
    for state, value in small.items():
        assert large[state] == pytest.approx(value, abs=1e-5)


@settings(max_examples=60)
@given(situations(), st.integers(0, 3))
def test_tables_follow_every_double_of_the_plies(situation: Situation, plies: int) -> None:
    """From the root, each side may double once a ply, and finds the state in the table."""
    table = cube_table(situation, plies)
    plan = table.plan.reshape(2, table.states, 5)
    payoff = table.payoff.reshape(2, table.rows, 7)
    assert table.rows >= table.levels
    reached = {table.root} | ({table.root_doubled} - {-1})
    for _ in range(plies + 1):
        for state in list(reached):
            for side in (0, 1):
                level, owner = plan[side, state, [LEVEL, OWNER]]
                turns = owner in (side, CENTRED) and payoff[side, level, TURNABLE]
                after = plan[side, state, DOUBLED]
                assert (after >= 0) == bool(turns)
                if turns:
                    assert plan[side, after, LEVEL] == level + 1
                    assert plan[side, after, OWNER] == 1 - side
                    reached.add(int(after))
    rows = payoff[:, :, :TURNABLE]
    np.testing.assert_array_equal(rows[0], -rows[1][:, ::-1])
    assert (np.diff(rows[0]) >= 0).all()


@settings(max_examples=60)
@given(st.lists(probabilities(), min_size=4, max_size=4), situations())
def test_combine_is_the_best_of_three(rows: list[Probs], situation: Situation) -> None:
    """max(no double, min(double / take or beaver, double / pass)), state by state."""
    table = cube_table(situation, 1)
    for side in (0, 1):
        nd, out = np.empty((4, table.states)), np.empty((4, table.states))
        work = new_cube_work(table)
        cubeful_rows(table, side, np.array(rows), np.full(4, 0.68), work, nd)
        combine_rows(table, side, nd, out)
        for state in range(table.states):
            taken, beaver = table.plan[side * table.states + state, [DOUBLED, BEAVERED]]
            for i in range(4):
                best = nd[i, state]
                if taken >= 0:
                    answers = [state_payoffs(table, state, side)[WIN_1]]
                    answers.append(nd[i, taken])
                    if beaver >= 0:
                        declined = state_payoffs(table, taken, side)[LOSE_1]
                        answers.append(max(nd[i, beaver], declined))
                    best = max(best, min(answers))
                assert out[i, state] == best


@given(probabilities(), situations(), st.sampled_from([0.0, 0.68, 1.0]))
def test_values_stay_within_what_can_be_won(
    probs: Probs, situation: Situation, efficiency: float
) -> None:
    table = cube_table(situation)
    row = state_payoffs(table, table.root)
    value = no_double(probs, situation, efficiency)
    assert row[0] - 1e-9 <= value <= row[5] + 1e-9
    assert np.isfinite(cubeful_equity(probs, situation, efficiency))


@given(probabilities(), probabilities(), situations())
def test_more_wins_are_never_worse(one: Probs, two: Probs, situation: Situation) -> None:
    low, high = sorted((one, two), key=lambda p: p[0])
    assume(low[1] <= high[1] and low[2] <= high[2] and low[3] >= high[3] and low[4] >= high[4])
    assert cubeful_equity(low, situation) <= cubeful_equity(high, situation) + 1e-9


def test_the_owner_has_the_best_of_it() -> None:
    """Mine is worth more than centred, that more than the opponent's, a dead one in between."""
    for situation in (money(cube_value=2, cube_offered=True), match(7, 7), match(9, 5)):
        values = [
            no_double(EVEN, Situation(**{**vars(situation), "cube_owner": owner}), 0.68)
            for owner in ("opponent", None, "mover")
        ]
        assert values[0] < values[1] < values[2]


def test_batch_is_each_alone(rng: np.random.Generator) -> None:
    win = rng.uniform(size=50)
    probs = np.stack([win, win * 0.3, win * 0.02, (1 - win) * 0.2, (1 - win) * 0.01], axis=1)
    efficiency = rng.uniform(size=50)
    batch = cubeful_equities(probs, match(5, 3), efficiency)
    alone = [cubeful_equity(p, match(5, 3), x) for p, x in zip(probs, efficiency, strict=True)]
    assert batch.tolist() == alone


def test_threads_and_repeats_do_not_disturb_each_other() -> None:
    """Money, a match score, DMP and money again: the same first and last answer, in all threads."""
    asked = [money(), match(5, 3), match(1, 1), money(jacoby=True), money()]

    def ask(_: int) -> list[float]:
        return [cubeful_equity((0.6, 0.2, 0.01, 0.1, 0.01), situation) for situation in asked]

    alone = ask(0)
    assert alone[0] == alone[-1]
    assert len(set(alone)) == 4
    with ThreadPoolExecutor(4) as pool:
        assert all(found == alone for found in pool.map(ask, range(40)))


def test_efficiency_by_kind_of_position() -> None:
    """0.68 with contact; races from 0.6 up to 40 pips, 0.00125 a pip more, at most 0.7."""
    far = np.zeros(26, dtype=np.int8)
    far[[6, 19]] = 15, -15
    short = np.zeros(26, dtype=np.int8)
    short[[1, 2, 19]] = 5, 5, -15
    middle = np.zeros(26, dtype=np.int8)
    middle[[4, 19]] = 15, -15
    found = board_efficiency(np.stack([START, far, short, middle]))
    assert found.tolist() == pytest.approx([0.68, 0.6625, 0.6, 0.625])
    long_race = np.zeros(26, dtype=np.int8)
    long_race[[12, 13]] = 15, -15
    assert float(board_efficiency(long_race)) == 0.7


def test_scoring_and_stakes() -> None:
    """Backgammons count as gammons in the scheme 1 / 2; with mars_with_cube=false all count 1."""
    probs: Probs = (0.6, 0.3, 0.1, 0.1, 0.05)
    assert cubeless_equity_at(probs, money()) == pytest.approx(2 * 0.6 - 1 + 0.4 - 0.15)
    two = money(scoring="oin_mars_12")
    assert cubeless_equity_at(probs, two) == pytest.approx(2 * 0.6 - 1 + 0.3 - 0.1)
    single = money(mars_with_cube=False)
    assert cubeless_equity_at(probs, single) == pytest.approx(2 * 0.6 - 1)
    four = money(scoring="mars_homemars_koks_1234")
    # To a net of four kinds 0.05 backgammons and 0.1 home gammons are 0.1, each two points.
    assert cubeless_equity_at(probs, four) == pytest.approx(2 * 0.6 - 1 + 0.3 + 2 * 0.1 - 0.1 - 0.1)
    match = Situation(rules=Rules(scoring=four.rules.scoring, match_to=5), mover_away=3, opp_away=5)
    with pytest.raises(ConfigError, match=r"as a match needs it; accepted: money play, or oin_"):
        cubeful_equity(probs, match)
    allowed = money(scoring="mars_homemars_koks_1234", mars_with_cube=False)
    assert cubeful_equity(probs, allowed) == cubeful_equity(probs, single)


def test_arithmetic_stakes_rise_by_one() -> None:
    """1, 2, 3, ...: a third player of the cube adds less, so the take point comes down to it."""
    table = cube_table(money(progression="arithmetic"), 1)
    stakes = table.payoff[: table.levels, WIN_1]
    assert stakes[:4].tolist() == [1, 2, 3, 4]
    capped = cube_table(money(cube_cap=4))
    assert capped.payoff[: capped.levels, WIN_1].tolist() == [1, 2, 4]
    assert capped.payoff[:, TURNABLE].tolist() == [1, 1, 0, 1, 1, 0]


def test_without_a_cube_values_are_cubeless() -> None:
    situation = Situation(rules=Rules(cube=False))
    assert cubeful_equity(EVEN, situation) == pytest.approx(cubeless_equity_at(EVEN, situation))
    table = cube_table(situation)
    assert to_equity(table, 1.0) == 1.0
    assert table.root_doubled == -1
