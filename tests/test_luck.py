"""Luck of the dice: against a slow reference, exact bear-offs, null tests, wrong evaluators."""

import dataclasses
import functools
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.bot import NetBot, load_bot
from agent.checkpoint import default_net_path, load_net
from agent.evaluator import Evaluator
from agent.net import ValueNet
from agent.pubeval import pubeval_table
from agent.ranking import scored
from engine.board import START, Board, flip, has_contact
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from engine.play_codes import MAX_PLAYS
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, Rules
from engine.variant import SHORT
from eval import lockstep
from eval.duel import play_duel
from eval.lockstep import Turns, play_games
from eval.luck import LUCK_UNITS, GameLuck, LuckMeter, why_no_luck
from eval.stats import Moments
from eval.tally import adjusted_units
from tests.nets import SMALL, all_arrays, random_net, small_net_file
from tests.strategies import mixed_boards

FOUR_KINDS = INTERNATIONAL.replace(scoring="mars_homemars_koks_1234")
NO_HIT_THEN_OFF = INTERNATIONAL.replace(hit_then_bear_off="ban_home_hit")


@pytest.fixture(scope="module")
def weak_net() -> ValueNet:
    """It knows nothing of the game."""
    return random_net(SMALL, np.random.default_rng(5))


@functools.cache
def shipped_net() -> ValueNet:
    return load_net(default_net_path())


def some_boards(rng: np.random.Generator, n: int) -> Board:
    positions = mixed_boards(rng)
    return np.array([next(positions)[0] for _ in range(n)], dtype=np.int8)


def value_of_roll(evaluator: Evaluator, board: Board, roll: list[int], rules: Rules) -> float:
    after = legal_afterstates(board, roll, rules)
    return float(-scored(evaluator.probabilities(flip(after)), rules)[1].min())


# --- one roll ---


@pytest.mark.parametrize("rules", [INTERNATIONAL, CAUCASIAN, ARENA, NO_HIT_THEN_OFF], ids=str)
def test_against_all_plays_of_all_rolls(
    rules: Rules, weak_net: ValueNet, rng: np.random.Generator
) -> None:
    boards = some_boards(rng, 25)
    boards[0] = 0
    boards[0, [0, 25]] = 1, 2  # on the bar against a closed board: a pass
    boards[0, 19:25] = -2
    rolls = rng.integers(1, 7, size=(25, 2)).astype(np.int8)
    meter = LuckMeter(weak_net, rules, n_likely=MAX_PLAYS)
    lucks = meter.lucks(boards, rolls, np.zeros(25, dtype=np.bool_))
    evaluator = Evaluator(weak_net)
    for board, roll, luck in zip(boards, rolls, lucks, strict=True):
        values = [value_of_roll(evaluator, board, each.tolist(), rules) for each in ROLLS]
        mean = float(np.average(values, weights=ROLL_WEIGHTS))
        thrown = value_of_roll(evaluator, board, roll.tolist(), rules)
        assert luck == pytest.approx(thrown - mean, abs=2e-5)
    assert lucks[0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("n_likely", [1, 3])
def test_likely_plays_are_those_that_pubeval_puts_first(
    n_likely: int, weak_net: ValueNet, rng: np.random.Generator
) -> None:
    boards = some_boards(rng, 20)
    rolls = rng.integers(1, 7, size=(20, 2)).astype(np.int8)
    tables = [pubeval_table(race=False), pubeval_table(race=True)]
    evaluator = Evaluator(weak_net)

    def value(board: Board, roll: list[int]) -> float:
        after = legal_afterstates(board, roll)
        table = tables[0 if has_contact(board) else 1]
        scores = table[np.arange(26), after.astype(np.int64) + 15].sum(axis=1)
        likely = after[np.argsort(-scores, kind="stable")[:n_likely]]
        return float(-scored(evaluator.probabilities(flip(likely)), INTERNATIONAL)[1].min())

    meter = LuckMeter(weak_net, n_likely=n_likely)
    lucks = meter.lucks(boards, rolls, np.zeros(20, dtype=np.bool_))
    for board, roll, luck in zip(boards, rolls, lucks, strict=True):
        values = [value(board, each.tolist()) for each in ROLLS]
        expected = value(board, roll.tolist()) - np.average(values, weights=ROLL_WEIGHTS)
        assert luck == pytest.approx(expected, abs=2e-5)


def test_mean_over_all_rolls_is_zero(weak_net: ValueNet, rng: np.random.Generator) -> None:
    meter = LuckMeter(weak_net)
    for board in some_boards(rng, 10):
        lucks = meter.lucks(np.tile(board, (21, 1)), ROLLS, np.zeros(21, dtype=np.bool_))
        assert float(lucks @ ROLL_WEIGHTS) == pytest.approx(0, abs=1e-6)
        assert lucks.std() > 1e-4


def test_the_opening_throw_counts_who_starts(weak_net: ValueNet) -> None:
    """Luck of seat 0 over the 30 openings, 15 rolls and both starters: mean 0, and nothing less."""
    rolls = ROLLS[ROLLS[:, 0] != ROLLS[:, 1]]
    boards = np.tile(START, (15, 1))
    meter = LuckMeter(weak_net, n_likely=MAX_PLAYS)
    lucks = meter.lucks(boards, rolls, np.ones(15, dtype=np.bool_))
    evaluator = Evaluator(weak_net)
    for roll, luck in zip(rolls, lucks, strict=True):
        worth = value_of_roll(evaluator, START, roll.tolist(), INTERNATIONAL)
        assert luck == pytest.approx(worth, abs=2e-5)
        for starter in (0, 1):
            game = GameLuck(meter, 1, 1)
            game.watch(
                Turns(
                    0,
                    boards[:1],
                    roll[np.newaxis],
                    np.array([starter], dtype=np.int8),
                    np.zeros(1, dtype=np.int64),
                    np.zeros(1, dtype=np.int8),
                    np.zeros(1, dtype=np.bool_),
                )
            )
            signed = luck if starter == 0 else -luck
            assert game.units()[0, 0] == pytest.approx(signed * LUCK_UNITS, abs=0.51)


def test_finished_games_count_exactly(weak_net: ValueNet) -> None:
    """Whoever rolls a 2 or more wins a gammon, otherwise the net's guess counts."""
    board = np.zeros(26, dtype=np.int8)
    board[2], board[19] = 1, -15
    boards = np.tile(board, (21, 1))
    lucks = LuckMeter(weak_net).lucks(boards, ROLLS, np.zeros(21, dtype=np.bool_))
    wins = lucks[(ROLLS.max(axis=1) > 1) | (ROLLS.sum(axis=1) == 2)]
    assert len(wins) == 21  # 1-1 is a double
    assert np.abs(lucks).max() < 1e-6
    board[2], board[6] = 0, 1
    boards = np.tile(board, (21, 1))
    lucks = LuckMeter(weak_net).lucks(boards, ROLLS, np.zeros(21, dtype=np.bool_))
    wins = lucks[ROLLS.max(axis=1) == 6]
    assert np.ptp(wins) < 1e-6
    assert wins.min() > 0


def test_rules_that_the_net_does_not_know(weak_net: ValueNet) -> None:
    assert why_no_luck(CAUCASIAN) is None
    reason = why_no_luck(FOUR_KINDS)
    assert reason is not None
    assert "four kinds of win" in reason
    with pytest.raises(ConfigError, match="four kinds of win"):
        LuckMeter(weak_net, FOUR_KINDS)
    with pytest.raises(ConfigError, match="four kinds of win"):
        play_duel("pubeval", "random", 2, 1, FOUR_KINDS, luck=True)


def test_a_net_for_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="luck is not told"):
        play_duel("pubeval", "random", 2, 1, luck_net=small_net_file(tmp_path))


# --- games: the sum over the rolls, from the first bot's side ---


def test_sum_over_a_game(weak_net: ValueNet) -> None:
    bots = [load_bot("pubeval"), load_bot("pip-greedy")]
    meter = LuckMeter(weak_net, n_likely=MAX_PLAYS)
    together = GameLuck(meter, 3, 2)
    seen: list[Turns] = []

    def watch(turns: Turns) -> None:
        together.watch(turns)
        seen.append(turns)

    play_games(bots, 8, 5, 3, watch=watch)
    evaluator = Evaluator(weak_net)
    expected = np.zeros((3, 2))
    for turns in seen:
        for i in range(len(turns.boards)):
            values = [
                value_of_roll(evaluator, turns.boards[i], roll.tolist(), INTERNATIONAL)
                for roll in ([turns.rolls[i]] if turns.number == 0 else [turns.rolls[i], *ROLLS])
            ]
            luck = values[0]
            if turns.number:
                luck -= float(np.average(values[1:], weights=ROLL_WEIGHTS))
            expected[turns.streams[i], turns.seatings[i]] += -luck if turns.movers[i] else luck
        if turns.number == 15:  # the rest is the same again, and slow here
            break
    partly = GameLuck(meter, 3, 2)
    for turns in seen[:16]:
        partly.watch(turns)
    assert partly.units() / LUCK_UNITS == pytest.approx(expected, abs=1e-3)
    assert (together.units() != partly.units()).any()


def test_chunks_and_order_change_nothing(tmp_path: Path) -> None:
    net = small_net_file(tmp_path)
    whole = play_duel("pubeval", "pip-greedy", 16, 5, luck=True, luck_net=net)
    parts = play_duel("pubeval", "pip-greedy", 16, 5, luck=True, luck_net=net, chunk_streams=5)
    assert dataclasses.replace(parts, curve=()) == dataclasses.replace(whole, curve=())
    assert whole.luck_net == f"net:{net}"
    assert whole.adjusted is not None
    swapped = play_duel("pip-greedy", "pubeval", 16, 5, luck=True, luck_net=net)
    assert swapped.adjusted is not None
    assert swapped.adjusted.mean == -whole.adjusted.mean
    assert swapped.adjusted.stderr == whole.adjusted.stderr


def test_the_figures_are_those_of_the_games(weak_net: ValueNet, tmp_path: Path) -> None:
    net = small_net_file(tmp_path)
    played = []
    figures = play_duel("pubeval", "random", 40, 5, luck=True, luck_net=net, on_chunk=played.append)
    games = np.concatenate([each.points for each in played])
    lucks = np.concatenate([each.luck for each in played if each.luck is not None])
    assert games.shape == lucks.shape == (20, 2)
    pairs = (games - lucks / LUCK_UNITS).mean(axis=1)
    assert figures.adjusted is not None
    assert figures.adjusted.mean == pytest.approx(pairs.mean(), abs=1e-9)
    assert figures.adjusted.stderr == pytest.approx(pairs.std(ddof=1) / math.sqrt(20), rel=1e-9)
    assert figures.curve[-1].adjusted == figures.adjusted
    assert np.concatenate([adjusted_units(each) for each in played]).shape == (20,)


def test_a_bot_against_itself_is_exactly_zero(tmp_path: Path) -> None:
    net = small_net_file(tmp_path)
    figures = play_duel("pubeval", "pubeval", 40, 3, luck=True, luck_net=net)
    assert figures.adjusted is not None
    assert (figures.adjusted.mean, figures.adjusted.stderr) == (0.0, 0.0)


def test_last_throws_have_no_luck(tmp_path: Path) -> None:
    rules = INTERNATIONAL.replace(end_rule="last_chance_draw")
    net = small_net_file(tmp_path)
    figures = play_duel("pubeval", "pubeval", 60, 3, rules, luck=True, luck_net=net)
    assert figures.points[0] > 0
    assert figures.adjusted is not None
    assert figures.adjusted.mean == 0.0


# --- unbiased: exact bear-offs, and evaluators that know nothing ---


def small_bear_off() -> Board:
    """Three checkers a side, all home, seen by either side."""
    board = np.zeros(26, dtype=np.int8)
    board[[6, 3, 2]] = 1
    board[[19, 22, 23]] = -1
    return board


@functools.cache
def exact_score(texts: tuple[str, str]) -> float:
    """Points per game of the first of two bots from `small_bear_off`, by going through all games.

    The opening throw is no double and gives the start to either side with equal chances.
    """
    bots = [load_bot(text) for text in texts]

    @functools.cache
    def replies(number: int, key: bytes, roll: tuple[int, int]) -> list[tuple[bytes, float]]:
        board = np.frombuffer(key, dtype=np.int8).copy()
        if texts[number] == "random":
            rows = legal_afterstates(board, roll)
            return [(flip(row).tobytes(), 1 / len(rows)) for row in rows]
        chosen = bots[number].choose(board[np.newaxis], np.array([roll], dtype=np.int8))[0]
        return [(flip(chosen).tobytes(), 1.0)]

    def after(number: int, key: bytes, roll: tuple[int, int]) -> float:
        total = 0.0
        for reply, share in replies(number, key, roll):
            opponent = np.frombuffer(reply, dtype=np.int8)
            done = opponent[0] == 0 and not (opponent[1:25] < 0).any()
            total += share * (1.0 if done else -worth(1 - number, reply))
        return total

    @functools.cache
    def worth(number: int, key: bytes) -> float:
        """Points of a bot on roll. Somebody has borne off, so all wins are single."""
        values = [after(number, key, (int(a), int(b))) for a, b in ROLLS]
        return float(np.average(values, weights=ROLL_WEIGHTS))

    start = small_bear_off().tobytes()
    openings = [(int(a), int(b)) for a, b in ROLLS if a != b]
    first = sum(after(0, start, roll) for roll in openings) / 15
    second = sum(after(1, start, roll) for roll in openings) / 15
    return (first - second) / 2


@pytest.fixture
def bear_offs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games begin with `small_bear_off`."""
    short = dataclasses.replace(SHORT, start=small_bear_off())
    monkeypatch.setattr(lockstep, "variant_of", lambda rules: short)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("evaluator", ["weak", "shipped"])
def test_exact_bear_offs(
    evaluator: str, paired: bool, bear_offs: None, tmp_path: Path, weak_net: ValueNet
) -> None:
    exact = exact_score(("pubeval", "random"))
    assert 0.05 < exact < 0.5
    net = None if evaluator == "shipped" else small_net_file(tmp_path)
    figures = play_duel(
        "pubeval", "random", 1600, 1, luck=True, luck_net=net, paired=paired, chunk_streams=800
    )
    assert figures.adjusted is not None
    for score in (figures.ppg, figures.adjusted):
        assert abs(score.mean - exact) < 4 * score.stderr
    assert figures.adjusted.stderr < 0.024
    if evaluator == "shipped":
        # random's mistakes are left, and in pairs they are all there is.
        assert figures.adjusted.stderr < (0.9 if paired else 0.6) * figures.ppg.stderr


def test_a_perfect_evaluator_leaves_nothing_to_chance(
    bear_offs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two on the ace points each: the starter wins, which is luck and nothing else."""
    board = np.zeros(26, dtype=np.int8)
    board[1], board[24] = 2, -2
    short = dataclasses.replace(SHORT, start=board)
    monkeypatch.setattr(lockstep, "variant_of", lambda rules: short)
    figures = play_duel("pubeval", "pip-greedy", 200, 1, luck=True, paired=False)
    assert figures.adjusted is not None
    assert abs(figures.ppg.mean) < 0.3
    assert figures.ppg.stderr > 0.05
    assert (figures.adjusted.mean, figures.adjusted.stderr) == (0.0, 0.0)


def test_luck_has_mean_zero_whoever_plays_and_judges(tmp_path: Path) -> None:
    """Single games, so that nothing cancels, and a net that knows nothing."""
    lucks: list[NDArray[np.int64]] = []
    play_duel(
        "pubeval",
        "pip-greedy",
        80,
        7,
        luck=True,
        luck_net=small_net_file(tmp_path),
        paired=False,
        on_chunk=lambda played: lucks.append(played.luck),  # type: ignore[arg-type]
    )
    luck = Moments.of((np.concatenate(lucks)[:, 0] / LUCK_UNITS).tolist()).estimate()
    assert 0.005 < luck.stderr < 0.2
    assert abs(luck.mean) < 3.5 * luck.stderr


def noisy(net: ValueNet, share: float, seed: int) -> ValueNet:
    """A net that plays almost as well: every weight is off by a share of its layer's spread."""
    generator = np.random.default_rng(seed)
    other = ValueNet(
        net.config,
        type(net.contact)(*(array.copy() for array in net.contact)),
        type(net.race)(*(array.copy() for array in net.race)),
    )
    for array in all_arrays(other).values():
        if array.size:
            array += generator.normal(0, share * array.std(), array.shape).astype(np.float32)
    return other


@pytest.mark.slow
def test_error_between_like_players_is_four_times_smaller() -> None:
    bots = [NetBot(f"noisy {seed}", Evaluator(noisy(shipped_net(), 0.1, seed))) for seed in (1, 2)]
    paired = play_duel(bots[0], bots[1], 600, 1, luck=True)
    assert paired.adjusted is not None
    assert abs(paired.adjusted.mean) < 0.15
    assert paired.ppg.stderr > 4 * paired.adjusted.stderr > 0
    difference = paired.ppg.mean - paired.adjusted.mean
    assert abs(difference) < 3.5 * paired.ppg.stderr
    single = play_duel("net", "net", 400, 1, luck=True, paired=False)
    assert single.adjusted is not None
    assert abs(single.adjusted.mean) < 3.5 * single.adjusted.stderr
    assert single.ppg.stderr > 4 * single.adjusted.stderr > 0
