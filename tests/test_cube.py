"""Cube decisions: what made other programs fail, by the number of the case, and every rule.

Probabilities stand here as numbers, so that what is tested is the cube and not a net. Those of the
positions of the cases are GNU Backgammon's (gnubg_nn 1.1.0a11, no look-ahead).
"""

import math
from typing import Any

import numpy as np
import pytest

from agent.cube import (
    CubeValues,
    beaver_decision,
    cube_decision,
    cubeful_equity,
    decide,
    why_no_double,
)
from agent.cube_table import cube_table, state_payoffs
from agent.kernels.cube import combine_rows, doubled_value
from agent.situation import Situation
from engine.errors import ConfigError
from engine.notation import parse_position, position_rules
from engine.rules import INTERNATIONAL
from tests.command_line import python
from tests.cube_rows import Probs, match, money

START: Probs = (0.52508, 0.14946, 0.00685, 0.12536, 0.00531)
CLOSED_BOARD: Probs = (0.981, 0.969, 0.2, 0.0, 0.0)
TOO_GOOD: Probs = (0.78377, 0.44269, 0.01517, 0.05876, 0.00184)


def plain(win: float) -> Probs:
    """No gammons."""
    return win, 0.0, 0.0, 0.0, 0.0


def of_xgid(xgid: str, **switches: Any) -> Situation:
    position = parse_position(xgid)
    return Situation.of_position(position, position_rules(position, INTERNATIONAL, switches)[0])


# --- cases ---


@pytest.mark.parametrize(("away", "answer"), [(2, "pass"), (3, "take"), (4, "pass")])
def test_c23_free_double_and_free_drop(away: int, answer: str) -> None:
    """After the Crawford game the trailer doubles at once, the leader has one free drop."""
    opening = START
    trailer = cube_decision(opening, match(away, 1, length=7))
    assert trailer.doubles
    assert trailer.answer == answer
    assert trailer.action == f"double, {answer}"
    leader = cube_decision(opening, match(1, away, length=7))
    assert not leader.doubles
    assert leader.why_not is not None
    assert "the cube is dead" in leader.why_not
    crawford = cube_decision(opening, match(away, 1, length=7, crawford=True))
    assert (crawford.answer, crawford.values.double_take) == (None, None)
    assert crawford.action == "no cube decision"
    assert crawford.why_not == "nobody may double in the Crawford game"


def test_c24_gammons_count_nothing_at_double_match_point() -> None:
    """2 * win - 1 whatever the gammons; in money without Jacoby almost 2."""
    assert cubeful_equity(CLOSED_BOARD, match(1, 1)) == pytest.approx(2 * 0.981 - 1)
    assert cubeful_equity(plain(0.981), match(1, 1)) == pytest.approx(2 * 0.981 - 1)
    assert cubeful_equity(CLOSED_BOARD, money()) == pytest.approx(2.1, abs=0.15)
    decision = cube_decision(CLOSED_BOARD, match(1, 1))
    assert not decision.doubles
    assert decision.gammon_value == (0, 0)


def test_c25_c26_jacoby_and_too_good() -> None:
    """With Jacoby's rule and a centred cube nothing is worth more than 1; C26: not close."""
    xgid = "XGID=-A-Bb-DBB---bBa---bcbbaA-A:0:0:-1:00:4:0:0:0:8"
    off = cube_decision(TOO_GOOD, of_xgid(xgid))
    assert off.action == "too good to double, pass"
    assert off.values.double_take is not None
    assert off.values.no_double == pytest.approx(1.15, abs=0.05)
    assert off.values.double_take == pytest.approx(1.83, abs=0.06)
    assert off.margin == pytest.approx(off.values.no_double - 1)
    assert off.margin is not None
    assert off.margin > 0.1
    assert not off.close
    on = cube_decision(TOO_GOOD, of_xgid(xgid, jacoby=True))
    assert on.action == "double, pass"
    assert on.values.no_double <= 1
    sure = cube_decision(CLOSED_BOARD, money(jacoby=True))
    assert sure.action == "double, pass"
    assert sure.values.no_double <= 1
    assert cube_decision(CLOSED_BOARD, money()).action == "too good to double, pass"
    owned = money(jacoby=True, cube_value=2, cube_owner="mover")
    assert cube_decision(CLOSED_BOARD, owned).action == "too good to redouble, pass"


def test_c27_the_mistake_of_redoubling_is_at_the_doubling_end() -> None:
    """No redouble / take, since the redoubled cube is worth less than 1."""
    situation = of_xgid("XGID=-BcBECB--a--------abbbbb--:1:1:1:00:2:0:0:5:10")
    assert (situation.mover_away, situation.opp_away) == (3, 5)
    decision = cube_decision((0.81969, 0.44352, 0.01658, 0.0, 0.0), situation)
    assert decision.action == "no redouble, take"
    assert decision.values.double_take is not None
    assert decision.values.double_take < decision.values.no_double < 1
    assert decision.costs["double"] == pytest.approx(
        decision.values.no_double - decision.values.double_take
    )
    assert decision.costs["no_double"] == decision.costs["take"] == 0


def test_c28_c30_a_double_at_the_start_is_a_beaver() -> None:
    """It is compared with not doubling, and costs something: more if it is beavered."""
    plain_rules = cube_decision(START, money())
    assert plain_rules.action == "no double, take"
    decision = cube_decision(START, money(beaver=True, jacoby=True))
    assert decision.action == "no double, beaver"
    values = decision.values
    assert values.double_take is not None
    assert values.double_beaver is not None
    assert values.double_take < 0
    assert values.double_beaver == pytest.approx(2 * values.double_take, abs=1e-5)
    assert decision.costs["double"] == pytest.approx(values.no_double - values.double_beaver)
    assert plain_rules.costs["double"] == pytest.approx(0.27, abs=0.03)
    assert decision.costs["take"] == pytest.approx(-values.double_take, abs=1e-5)
    assert cube_decision(START, match(7, 7)).values.double_beaver is None


def test_c28_a_beaver_may_be_wrong_under_the_largest_cube() -> None:
    """8 rolls of 36 win; after the others the opponent cashes, if he may still turn the cube."""
    later = 0.2267  # the mover's chance after a bad roll, so that cubeless he has -0.203

    def root_values(cap: int | None, value: int) -> tuple[float, float, float]:
        situation = money(beaver=True, cube_cap=cap, cube_value=value)
        table = cube_table(situation, 1)
        n_states = table.states
        dead = [(2 * (1 - later) - 1) * state_payoffs(table, s, 1)[3] for s in range(n_states)]
        opponents, nd = np.array([dead]), np.zeros((1, n_states))
        best = np.zeros_like(opponents)
        combine_rows(table, 1, opponents, best)
        for s in range(n_states):
            nd[0, s] = (8 * state_payoffs(table, s)[3] - 28 * best[0, s]) / 36
        doubled = doubled_value.py_func(table, 0, table.root, nd, 0)
        return nd[0, table.root_doubled], nd[0, table.root_beavered], doubled

    take, beaver, doubled = root_values(64, 16)
    assert take == pytest.approx(2 * -20 / 36)  # 32, and he can still turn it to 64
    assert beaver == pytest.approx(4 * -0.203, abs=1e-3)  # 64 can be turned no more
    assert doubled == take
    take, beaver, doubled = root_values(128, 16)
    assert beaver == pytest.approx(4 * -20 / 36)
    assert doubled == -2  # the doubler declines the beaver and loses the doubled stake


def test_c31_take_points() -> None:
    """Without gammons, by Kazaross-XG2, at a score by hand."""
    offered = cube_decision(plain(0.6), match(2, 4, length=5))
    assert offered.take_point_dead == pytest.approx(0.3713, abs=1e-4)
    assert offered.take_point_live == pytest.approx(0.1856, abs=1e-4)
    assert offered.take_point == offered.take_point_live  # he redoubles for nothing
    by_trailer = cube_decision(plain(0.7), match(4, 2, length=5))
    assert by_trailer.take_point_dead == pytest.approx(0.199, abs=0.002)
    redoubled = match(3, 5, length=5, cube_value=2, cube_owner="mover")
    five = cube_decision(plain(0.7), redoubled)
    assert five.take_point_dead == pytest.approx(0.2107, abs=1e-4)
    even = cube_decision(plain(0.6), match(2, 2))
    assert even.take_point_dead == pytest.approx(0.3226, abs=1e-4)
    assert even.take_point_live == pytest.approx(0.3226, abs=1e-4)
    unlimited = cube_decision(plain(0.7), money())
    assert unlimited.take_point_dead == pytest.approx(0.25)
    assert unlimited.take_point_live == pytest.approx(0.2, abs=1e-5)
    assert unlimited.take_point == pytest.approx(0.215, abs=0.003)
    assert unlimited.cash_point == pytest.approx(1 - 0.215, abs=0.003)


@pytest.mark.parametrize("value", [32, 1 << 30])
def test_c32_a_cube_beyond_the_match(value: int) -> None:
    """Stakes are never more than what is needed: 32 and 2^30 are the same in a 25-point match."""
    for owner in ("mover", "opponent", None):
        for away in ((25, 25), (3, 20)):
            one = match(*away, length=25, cube_value=32, cube_owner=owner)
            other = match(*away, length=25, cube_value=value, cube_owner=owner)
            decisions = [cube_decision(TOO_GOOD, s) for s in (one, other)]
            assert decisions[0].action == decisions[1].action
            assert decisions[0].values == decisions[1].values
            assert math.isfinite(decisions[1].equity)
    big = cube_decision(TOO_GOOD, money(cube_value=value, cube_owner="mover"))
    assert big.values == cube_decision(TOO_GOOD, money(cube_value=2, cube_owner="mover")).values


def test_c34_money_is_not_refused_and_what_is_refused_says_why() -> None:
    """A money question gets an answer, a score that cannot be an error of ours."""
    assert cube_decision(plain(0.75), money()).action == "double, take"
    with pytest.raises(ConfigError, match="both sides of a match need a point"):
        match(0, 3, length=3)
    with pytest.raises(ConfigError, match="does not fit match_to=None"):
        Situation(rules=INTERNATIONAL, mover_away=3, opp_away=3)
    with pytest.raises(ConfigError, match="up to 200"):
        cube_decision(plain(0.75), match(300, 300))


# --- rules ---


@pytest.mark.parametrize(
    ("values", "double", "answer", "action"),
    [
        (CubeValues(no_double=0.5, double_take=0.6, double_pass=1), True, "take", "double, take"),
        (CubeValues(no_double=0.9, double_take=1.2, double_pass=1), True, "pass", "double, pass"),
        (CubeValues(no_double=1.0, double_take=1.2, double_pass=1), True, "pass", "double, pass"),
        (
            CubeValues(no_double=1.2, double_take=1.5, double_pass=1),
            *(False, "pass", "too good to double, pass"),
        ),
        (
            CubeValues(no_double=1.2, double_take=0.9, double_pass=1),
            *(False, "take", "too good to double, take"),
        ),
        (
            CubeValues(no_double=0.2, double_take=0.1, double_pass=1),
            *(False, "take", "no double, take"),
        ),
        (
            CubeValues(no_double=0.1, double_take=-0.1, double_pass=1, double_beaver=-0.2),
            *(False, "beaver", "no double, beaver"),
        ),
        (
            CubeValues(no_double=-0.5, double_take=-0.1, double_pass=1, double_beaver=-0.2),
            *(True, "beaver", "double, beaver"),
        ),
        (
            CubeValues(no_double=0.5, double_take=0.6, double_pass=1, double_beaver=1.2),
            *(True, "take", "double, take"),
        ),
        (
            CubeValues(no_double=0.5, double_take=None, double_pass=None),
            *(False, None, "no cube decision"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_actions_in_words(
    values: CubeValues, double: bool, answer: str | None, action: str
) -> None:
    assert decide(values) == (double, answer, action)
    again = action.replace("double", "redouble")
    assert decide(values, redouble=True) == (
        *(double, answer),
        again if answer is not None else action,
    )


@pytest.mark.parametrize(
    ("situation", "reason"),
    [
        (money(), None),
        (money(cube=False), "without a cube"),
        (money(cube_value=2, cube_owner="opponent"), "the opponent owns the cube"),
        (money(cube_cap=64, cube_value=64, cube_owner="mover"), "cannot go beyond 64"),
        (match(1, 3, length=5, crawford=True), "Crawford game"),
        (match(3, 1, length=5, crawford=True), "Crawford game"),
        (match(3, 1, length=5), None),
        (match(1, 3, length=5), "the cube is dead"),
        (match(2, 5, length=5, cube_value=2, cube_owner="mover"), "the cube is dead"),
        (match(5, 2, length=5, cube_value=2, cube_owner="mover"), None),
    ],
    ids=str,
)
def test_why_no_double(situation: Situation, reason: str | None) -> None:
    found = why_no_double(situation)
    assert (found is None) == (reason is None)
    assert reason is None or (found is not None and reason in found)
    decision = cube_decision(plain(0.9), situation)
    assert decision.why_not == found
    assert decision.doubles == (reason is None and decision.equity_doubled is not None)


def test_pass_is_the_stake_before_the_offer() -> None:
    """In money and arithmetic stakes 1; at a score the chance after that many points."""
    for situation in (money(), money(cube_value=4, cube_owner="mover")):
        assert cube_decision(plain(0.8), situation).values.double_pass == pytest.approx(1)
    three = money(progression="arithmetic", cube_value=3, cube_owner="mover")
    decision = cube_decision(plain(0.7), three)
    assert decision.values.double_pass == pytest.approx(1)
    assert decision.take_point_dead == pytest.approx((4 - 3) / (4 + 4))
    score = cube_decision(plain(0.8), match(7, 6))
    assert score.mwc(score.values.double_pass) == pytest.approx(0.5)


def test_mars_with_cube_off_has_no_gammons() -> None:
    decision = cube_decision(TOO_GOOD, money(mars_with_cube=False))
    assert decision.gammon_value == (0, 0)
    assert decision.gammon_value_doubled == (0, 0)
    assert decision.values == cube_decision(plain(0.78377), money()).values
    arena = cube_decision(TOO_GOOD, money(mars_with_cube=False, scoring="oin_mars_12"))
    assert arena.values == decision.values


def test_automatic_doubles_leave_the_cube_and_jacoby_in_force() -> None:
    """A centred cube at 2 was turned by nobody: the same as at 1, a point being twice as much."""
    for jacoby in (False, True):
        one = cube_decision(TOO_GOOD, money(jacoby=jacoby, auto_doubles=None))
        two = cube_decision(TOO_GOOD, money(jacoby=jacoby, auto_doubles=None, cube_value=2))
        assert one.values == two.values
        assert one.action == two.action
    nearly = cube_decision(TOO_GOOD, money(cube_cap=2, cube_value=1))
    capped = cube_decision(TOO_GOOD, money(cube_cap=2, cube_value=2))
    assert nearly.answer == "pass"
    assert capped.answer is None


def test_a_beaver_is_accepted_unless_it_costs_more() -> None:
    """Declining loses the doubled stake; accepting plays on for twice that."""
    beavered = money(beaver=True, cube_value=2, cube_owner="opponent")
    accepted, declined = beaver_decision(START, beavered)
    assert declined == -1
    assert accepted > declined
    offer = cube_decision(START, money(beaver=True)).values
    assert offer.double_beaver == pytest.approx(2 * accepted, abs=1e-5)
    hopeless, declined = beaver_decision(plain(0.02), beavered)
    assert hopeless < declined
    assert cube_decision(plain(0.02), money(beaver=True)).values.double_beaver == -2
    with pytest.raises(ConfigError, match="cannot be beavered"):
        beaver_decision(START, money(beaver=True, cube_cap=2, cube_value=2))


def test_answers_and_margins_of_the_one_who_answers() -> None:
    decision = cube_decision(plain(0.9), money())
    values = decision.values
    assert values.double_take is not None
    assert (decision.answer, decision.equity) == ("pass", 1)
    assert decision.answer_margin == pytest.approx(values.double_take - 1)
    assert decision.costs["take"] == pytest.approx(values.double_take - 1)
    near = cube_decision(plain(0.785), money())
    assert near.answer_close


def test_a_fresh_process_gives_the_same() -> None:
    """Nothing that was asked before has a part in an answer."""
    asked = "money(), match(5, 3), match(1, 1), money()"
    code = (
        "from tests.cube_rows import *; from agent.cube import *;"
        f"print([cubeful_equity((0.6, 0.2, 0.01, 0.1, 0.01), s) for s in ({asked})])"
    )
    fresh = python("-c", code)
    assert fresh.returncode == 0, fresh.stderr
    situations = (money(), match(5, 3), match(1, 1), money())
    here = [cubeful_equity((0.6, 0.2, 0.01, 0.1, 0.01), s) for s in situations]
    assert fresh.stdout.strip() == str(here)
    assert here[0] == here[-1]


def test_c29_whoever_owns_the_cube_changes_the_worth_of_a_play() -> None:
    """With a centred cube the opponent cashes after any play; with one's own he has to win."""
    after_one, after_other = plain(0.80), plain(0.83)  # the opponent's chances after two plays
    centred = money()
    assert cubeful_equity(after_one, centred.flipped()) == 1
    assert cubeful_equity(after_other, centred.flipped()) == 1
    owned = money(cube_value=2, cube_owner="mover")
    worths = [-cubeful_equity(p, owned.flipped()) for p in (after_one, after_other)]
    assert -1 < worths[1] < worths[0]
    theirs = money(cube_value=2, cube_owner="opponent")
    assert cubeful_equity(after_one, theirs.flipped()) == 1
