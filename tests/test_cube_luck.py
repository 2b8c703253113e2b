"""Luck with the cube: mean zero, null tests, unbiased, against a slow reference, smaller errors."""

import numpy as np
import pytest

from agent.checkpoint import default_net_path, load_net
from agent.cube_play import cubeful_worths
from agent.evaluator import Evaluator
from agent.net import ValueNet
from agent.situation import Situation
from engine.board import START, Board, flip
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from engine.rules import ARENA, INTERNATIONAL, Rules
from eval.cube_games import play_cube_games
from eval.cube_luck import CubeLuck, CubeLuckMeter
from eval.duel import play_duel
from eval.luck import LUCK_UNITS
from eval.stats import Moments
from eval.tally import adjusted_units
from tests.cube_bots import WildBot
from tests.nets import SMALL, random_net
from tests.strategies import mixed_boards

SEVEN = INTERNATIONAL.replace(match_to=7)
JACOBY = INTERNATIONAL.replace(jacoby=True, beaver=True, auto_doubles=2)
SITUATIONS = [
    Situation(),
    Situation(rules=JACOBY, cube_value=2),
    Situation(rules=JACOBY, cube_value=4, cube_owner="opponent"),
    Situation(cube_value=8, cube_owner="mover"),
    Situation(rules=SEVEN, mover_away=2, opp_away=5),
    Situation(rules=SEVEN, mover_away=4, opp_away=3, cube_value=2, cube_owner="mover"),
    Situation(rules=SEVEN, mover_away=1, opp_away=3, crawford=True),
    Situation(rules=ARENA),
]


@pytest.fixture(scope="module")
def weak_net() -> ValueNet:
    """It knows nothing of the game."""
    return random_net(SMALL, np.random.default_rng(5))


def some_boards(rng: np.random.Generator, n: int) -> Board:
    positions = mixed_boards(rng)
    return np.array([next(positions)[0] for _ in range(n)], dtype=np.int8)


def worth_of_roll(net: ValueNet, board: Board, roll: list[int], situation: Situation) -> float:
    """In points, or 2 * match-winning chance - 1 but for a constant."""
    after = legal_afterstates(board, roll, situation.rules)
    probs = Evaluator(net).probabilities(flip(after))
    worth = float(cubeful_worths(probs, after, [situation] * len(after)).max())
    if not situation.is_match:
        return worth * situation.cube_value
    from agent.cube_values import table_of

    return worth * table_of(situation).unit


@pytest.mark.parametrize("number", range(len(SITUATIONS)))
def test_against_all_plays_of_all_rolls(
    number: int, weak_net: ValueNet, rng: np.random.Generator
) -> None:
    situation = SITUATIONS[number]
    boards = some_boards(rng, 4)
    rolls = rng.integers(1, 7, size=(4, 2)).astype(np.int8)
    meter = CubeLuckMeter(weak_net, situation.rules, n_likely=100)
    lucks = meter.lucks(boards, rolls, [situation] * 4, np.zeros(4, dtype=np.bool_))
    for board, roll, luck in zip(boards, rolls, lucks, strict=True):
        values = [worth_of_roll(weak_net, board, each.tolist(), situation) for each in ROLLS]
        mean = float(np.average(values, weights=ROLL_WEIGHTS))
        thrown = worth_of_roll(weak_net, board, roll.tolist(), situation)
        assert luck == pytest.approx(thrown - mean, abs=3e-5 * situation.cube_value)


@pytest.mark.parametrize("number", range(len(SITUATIONS)))
def test_means_over_all_rolls_and_openings_are_zero(
    number: int, weak_net: ValueNet, rng: np.random.Generator
) -> None:
    situation = SITUATIONS[number]
    meter = CubeLuckMeter(weak_net, situation.rules)
    n = len(ROLLS)
    for board in some_boards(rng, 3):
        boards = np.tile(board, (n, 1))
        lucks = meter.lucks(boards, ROLLS, [situation] * n, np.zeros(n, dtype=np.bool_))
        assert float(lucks @ ROLL_WEIGHTS) == pytest.approx(0, abs=1e-6 * situation.cube_value)
    openings = ROLLS[ROLLS[:, 0] != ROLLS[:, 1]]
    boards = np.tile(START, (15, 1))
    ones = np.ones(15, dtype=np.bool_)
    own = meter.lucks(boards, openings, [situation] * 15, ones)
    opp = meter.lucks(boards, openings, [situation.flipped()] * 15, ones)
    assert float(own.sum() - opp.sum()) == pytest.approx(0, abs=1e-5 * situation.cube_value)
    assert own.std() > 1e-5


def test_finished_games_count_with_the_stake(weak_net: ValueNet) -> None:
    """Whoever rolls more than a 1 wins a gammon, which counts with an owned cube, not by Jacoby."""
    board = np.zeros(26, dtype=np.int8)
    board[2], board[19] = 1, -15
    boards, n = np.tile(board, (21, 1)), np.zeros(21, dtype=np.bool_)
    always = (ROLLS.max(axis=1) > 1) | (ROLLS.sum(axis=1) == 2)
    assert always.all()
    meter = CubeLuckMeter(weak_net, JACOBY)
    for situation in (Situation(rules=JACOBY), SITUATIONS[2]):
        assert np.abs(meter.lucks(boards, ROLLS, [situation] * 21, n)).max() < 1e-9


def test_a_net_of_three_kinds_of_win_does_not_know_the_luck_of_four() -> None:
    with pytest.raises(ConfigError, match="four kinds"):
        CubeLuckMeter(
            load_net(default_net_path()), Rules(scoring="mars_homemars_koks_1234", cube=True)
        )


@pytest.mark.parametrize("rules", [JACOBY, SEVEN.replace(match_to=3)], ids=str)
def test_a_bot_against_itself_scores_zero_by_any_luck(rules: Rules, weak_net: ValueNet) -> None:
    """Paired, all luck is the same and the seats are swapped; unpaired it is zero in the mean."""
    bots = WildBot("a", rules), WildBot("a", rules)
    luck = CubeLuck(CubeLuckMeter(weak_net, rules, n_likely=2), 6, 2)
    played = play_cube_games(bots, 3, 0, 6, rules, watch=luck.watch)
    played = played._replace(luck=luck.units())
    assert adjusted_units(played).tolist() == [0] * 6
    assert played.luck is not None
    assert (np.abs(played.luck) > LUCK_UNITS / 100).all()


@pytest.mark.slow
@pytest.mark.parametrize("rules", [JACOBY, SEVEN.replace(match_to=5)], ids=str)
def test_luck_is_zero_in_the_mean(rules: Rules) -> None:
    """Unpaired, a bot against itself: less the luck 0, and closer to it than as played."""
    duel = play_duel("net", "net", 400, 5, rules, cube=True, paired=False, luck=True)
    assert duel.adjusted is not None
    assert abs(duel.adjusted.mean) < 3.5 * duel.adjusted.stderr
    assert duel.ppg.stderr > 3 * duel.adjusted.stderr


@pytest.mark.slow
@pytest.mark.parametrize("rules", [JACOBY, SEVEN.replace(match_to=3)], ids=str)
def test_luck_has_mean_zero_by_a_net_that_knows_nothing(rules: Rules, weak_net: ValueNet) -> None:
    """Whoever plays, and whoever judges: wild bots, of which one doubles more often."""
    bots = WildBot("a", rules, one_in=5), WildBot("b", rules, one_in=30)
    luck = CubeLuck(CubeLuckMeter(weak_net, rules, n_likely=1), 400, 1)
    play_cube_games(bots, 3, 0, 400, rules, paired=False, watch=luck.watch)
    mean = Moments.of((luck.units()[:, 0] / LUCK_UNITS).tolist()).estimate()
    assert abs(mean.mean) < 3.5 * mean.stderr


@pytest.mark.slow
def test_the_mean_is_that_of_the_games_as_played() -> None:
    duel = play_duel("net", "pubeval", 1000, 2, JACOBY.replace(cube_cap=4), cube=True, luck=True)
    assert duel.adjusted is not None
    apart = duel.adjusted.mean - duel.ppg.mean
    assert abs(apart) < 3.5 * duel.ppg.stderr
    assert duel.adjusted.stderr < 0.6 * duel.ppg.stderr
