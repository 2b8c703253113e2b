"""Games and matches with the cube, side by side, against the state machines of the engine."""

import numpy as np
import pytest

from agent.baselines import PipGreedyBot
from engine.rules import ARENA, INTERNATIONAL, Rules, parse_rules
from eval.cube_games import CubeTurns, play_cube_games
from eval.cube_tally import CubeCounts
from tests.cube_bots import WildBot, engine_score

MONEY = [
    "international",
    "jacoby=true,beaver=true,auto_doubles=2",
    "beaver=true,auto_doubles=null,cube_cap=null",
    "arena,beaver=true,cube_cap=4",
    "caucasian,progression=arithmetic,beaver=true,cube_cap=5,jacoby=true",
    "end_rule=last_chance_draw,scoring=mars_homemars_koks_1234,jacoby=true",
    "cube=false,jacoby=true",
    "cube_cap=1,auto_doubles=3",
]
MATCHES = [
    "match_to=1",
    "match_to=3",
    "match_to=5,crawford=false,beaver=true,jacoby=true,auto_doubles=3",
    "match_to=7,progression=arithmetic",
    "match_to=5,end_rule=last_chance_draw,cube_cap=2",
    "match_to=4,cube=false,scoring=mars_homemars_koks_1234",
]


def check_against_engine(rules: Rules, n_streams: int, seed: int) -> CubeCounts:
    bots = WildBot("a", rules), WildBot("b", rules, one_in=9)
    first = 5
    played = play_cube_games(bots, seed, first, n_streams, rules)
    assert played.cube is not None
    assert played.n_unfinished == 0
    n_games, stakes, passes, gammons = 0, 0, 0, 0
    for stream in range(n_streams):
        for seating in (0, 1):
            points, games = engine_score(bots, seed, first + stream, seating, rules)
            assert played.points[stream, seating] == points, (stream, seating)
            results = [game.result for game in games]
            n_games += len(games)
            stakes += sum(game.cube_value for game in games)
            passes += sum(r is not None and r.ending == "refused" for r in results)
            gammons += sum(r is not None and r.kind not in (None, "oin") for r in results)
    a, b = played.cube
    assert a.games == b.games == n_games
    assert a.stakes == b.stakes == stakes
    assert a.passes + b.passes == passes
    assert a.gammons + b.gammons == gammons
    assert a.doubles == b.takes + b.passes + b.beavers
    assert b.doubles == a.takes + a.passes + a.beavers
    return a.plus(b)


@pytest.mark.parametrize("text", MONEY)
def test_money_games_are_those_of_the_engine(text: str) -> None:
    rules = parse_rules(text)
    both = check_against_engine(rules, 12, 3)
    assert (both.doubles > 0) == (rules.cube and rules.cube_cap != 1)
    assert (both.beavers > 0) == (rules.beaver and both.doubles > 0)


@pytest.mark.parametrize("text", MATCHES)
def test_matches_are_those_of_the_engine(text: str) -> None:
    rules = parse_rules(text)
    both = check_against_engine(rules, 8, 4)
    assert both.beavers == 0
    assert (both.doubles > 0) == rules.cube


@pytest.mark.slow
@pytest.mark.parametrize("text", [*MONEY, *MATCHES])
def test_thousands_of_games_are_those_of_the_engine(text: str) -> None:
    check_against_engine(parse_rules(text), 60 if "match" in text else 150, 11)


def test_games_do_not_depend_on_what_is_played_together() -> None:
    rules = INTERNATIONAL.replace(match_to=3)
    bots = WildBot("a", rules), WildBot("b", rules)
    whole = play_cube_games(bots, 7, 0, 6, rules)
    parts = [play_cube_games(bots, 7, first, 2, rules) for first in (0, 2, 4)]
    assert (np.concatenate([part.points for part in parts]) == whole.points).all()
    assert whole.cube is not None
    total = CubeCounts()
    for part in parts:
        assert part.cube is not None
        total = total.plus(part.cube[0])
    assert total == whole.cube[0]
    unpaired = play_cube_games(bots, 7, 0, 6, rules, paired=False)
    assert (unpaired.points[:, 0] == whole.points[:, 0]).all()


def test_a_bot_against_itself_scores_nothing_over_a_pair() -> None:
    rules = INTERNATIONAL.replace(jacoby=True)
    bots = PipGreedyBot(rules=rules), PipGreedyBot(rules=rules)
    played = play_cube_games(bots, 1, 0, 40, rules)
    assert (played.points.sum(axis=1) == 0).all()
    assert played.points.any()


def test_the_crawford_game_knows_no_double_and_the_next_does() -> None:
    rules = INTERNATIONAL.replace(match_to=3)
    bots = WildBot("a", rules, one_in=2), WildBot("b", rules, one_in=2)
    seen: set[tuple[bool, int]] = set()

    def watch(turns: CubeTurns) -> None:
        for situation in turns.situations:
            if situation.crawford:
                assert situation.cube_value == 1
                assert situation.cube_owner is None
                assert 1 in (situation.mover_away, situation.opp_away)
            if situation.post_crawford:
                seen.add((situation.is_dmp, situation.cube_value))

    play_cube_games(bots, 2, 0, 25, rules, watch=watch)
    assert (False, 2) in seen


def test_games_without_end_are_given_up() -> None:
    rules = ARENA.replace(match_to=3)
    bots = WildBot("a", rules), WildBot("b", rules)
    played = play_cube_games(bots, 2, 0, 3, rules, most_turns=5)
    assert played.n_unfinished > 0
    assert set(played.points.ravel().tolist()) <= {-1, 0, 1}
