"""Cube and score as a decision sees them: from positions, games and matches."""

import dataclasses
import math

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from agent.cube import cube_decision
from agent.situation import Situation
from engine.actions import Offer, OpeningThrow, PlayTo, Take
from engine.errors import ConfigError, NardiError, PositionError
from engine.game import GameState
from engine.match import MatchState
from engine.notation import Position, parse_position, position_rules
from engine.rules import INTERNATIONAL, Rules
from tests.cube_rows import Probs, probabilities, situations


def of_xgid(xgid: str, **switches: object) -> Situation:
    position = parse_position(xgid)
    return Situation.of_position(position, position_rules(position, INTERNATIONAL, switches)[0])


@given(situations())
def test_flipped_twice_is_the_same(situation: Situation) -> None:
    other = situation.flipped()
    assert other.flipped() == situation
    assert (other.mover_away, other.opp_away) == (situation.opp_away, situation.mover_away)
    assert other.is_dmp == situation.is_dmp
    assert other.post_crawford == situation.post_crawford


def test_of_positions() -> None:
    money = of_xgid("XGID=-b----E-C---eE---c-e----B-:1:-1:1:00:0:0:3:0:10")
    assert (money.cube_value, money.cube_owner, money.cube_offered) == (2, "opponent", True)
    assert not money.is_match
    assert money.rules.jacoby
    assert money.rules.beaver
    score = of_xgid("XGID=-b----E-C---eE---c-e----B-:0:0:1:00:2:4:1:5:10")
    assert (score.mover_away, score.opp_away, score.crawford) == (3, 1, True)
    assert not score.post_crawford
    after = of_xgid("XGID=-b----E-C---eE---c-e----B-:0:0:-1:00:2:4:0:5:10")
    assert (after.mover_away, after.opp_away, after.crawford) == (1, 3, False)
    assert after.post_crawford
    asked = of_xgid("XGID=-b----E-C---eE---c-e----B-:0:0:1:00:2:4:0:5:10", match_to=None)
    assert (asked.mover_away, asked.rules.match_to) == (None, None)
    longer = of_xgid("XGID=-b----E-C---eE---c-e----B-:0:0:1:00:2:4:0:5:10", match_to=9)
    assert (longer.mover_away, longer.opp_away) == (7, 5)


def test_of_games_and_matches() -> None:
    """Through a taken double: seen by each side when it is on roll."""
    match = MatchState.start(Rules(match_to=7), score=(2, 5))
    with pytest.raises(ConfigError, match="nobody is on roll"):
        Situation.of_match(match)
    match = match.apply(OpeningThrow((6, 1)))
    match = match.apply(PlayTo(match.game.legal_afterstates()[0]))
    before = Situation.of_match(match)  # player 1 is on roll
    assert (before.mover_away, before.opp_away) == (2, 5)
    assert (before.cube_owner, before.cube_offered) == (None, False)
    pending = match.apply(Offer())
    assert Situation.of_match(pending) == before
    taken = Situation.of_match(pending.apply(Take()))
    assert (taken.cube_value, taken.cube_owner, taken.cube_offered) == (2, "opponent", True)
    game = GameState.at(match.game.board, 0, Rules(jacoby=True), cube_value=2)
    assert not Situation.of_game(game).cube_offered  # an automatic double is no offer
    with pytest.raises(ConfigError, match="does not fit"):
        Situation.of_game(match.game)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"crawford": True}, "one side is one point away"),
        ({"mover_away": 0}, "need a point or more"),
        ({"cube_value": 0}, "accepted: 1 or more"),
        ({"rules": Rules(match_to=5, cube=False), "cube_owner": "mover"}, "without one"),
    ],
    ids=["crawford", "won", "cube", "no cube"],
)
def test_contradictions(fields: dict[str, object], message: str) -> None:
    good = Situation(rules=Rules(match_to=5), mover_away=3, opp_away=3)
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(good, **fields)  # type: ignore[arg-type]


@st.composite
def cubes_and_scores(draw: st.DrawFn) -> Position:
    """Positions of any cube and score that a notation can hold, also absurd ones."""
    length = draw(st.sampled_from([0, 1, 2, 7, 25, 64, 999_999_999]))
    scores = st.integers(0, max(length - 1, 0)) | st.integers(max(length - 3, 0), length)
    fields = {
        "cube_value": draw(st.integers(1, 5)) << draw(st.integers(0, 30)),
        "cube_owner": draw(st.sampled_from([None, "mover", "opponent"])),
        "match_length": length,
        "mover_score": draw(scores),
        "opp_score": draw(scores),
        "crawford": draw(st.booleans()),
        "jacoby": draw(st.sampled_from([None, False, True])),
        "beaver": draw(st.sampled_from([None, False, True])),
        "max_cube": draw(st.sampled_from([None, 1, 64, 1 << 30])),
    }
    try:
        return Position(**fields)
    except PositionError:
        reject()


@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(cubes_and_scores(), probabilities())
def test_any_position_has_a_decision_or_an_error(position: Position, probs: Probs) -> None:
    """Whatever a notation can hold: finite figures, or one of our errors."""
    rules, _ = position_rules(position, INTERNATIONAL, {})
    try:
        decision = cube_decision(probs, Situation.of_position(position, rules))
    except NardiError:
        return
    values = decision.values
    found = [values.no_double, values.double_take, values.double_pass, values.double_beaver]
    assert all(math.isfinite(value) for value in found if value is not None)
    assert (values.double_take is None) == (decision.answer is None)
    assert min(decision.costs.values(), default=0) >= -1e-7
    if decision.take_point is not None:
        assert 0 <= decision.take_point <= 1
