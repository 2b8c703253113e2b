"""Cube and score as a decision sees them: from positions, games and matches."""

import dataclasses

import pytest
from hypothesis import given

from agent.situation import Situation
from engine.actions import Offer, OpeningThrow, PlayTo, Take
from engine.errors import ConfigError
from engine.game import GameState
from engine.match import MatchState
from engine.notation import parse_position, position_rules
from engine.rules import INTERNATIONAL, Rules
from tests.cube_rows import situations


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
