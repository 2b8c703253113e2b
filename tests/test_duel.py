"""Duels: against games played one at a time by the state machine, null tests, workers, ends."""

import dataclasses
import itertools
import math
import multiprocessing
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.baselines import RandomBot
from agent.bot import Bot, FloatArray, load_bot
from engine.actions import OpeningThrow, PlayTo, Throw
from engine.board import Board
from engine.dice import game_generator, roll_dice
from engine.errors import ConfigError
from engine.game import GameState
from engine.results import GameResult
from engine.rules import CAUCASIAN, INTERNATIONAL, Rules
from eval import duel, duel_workers, lockstep
from eval.duel import Duel, Progress, play_duel
from eval.duel_workers import Chunk, Games
from eval.lockstep import play_games

# No cube at all: the state machine then counts the factors of the scoring scheme, as duels do.
CUBELESS = INTERNATIONAL.replace(cube=False)
FOUR_KINDS = CUBELESS.replace(scoring="mars_homemars_koks_1234")
TWO_KINDS = CAUCASIAN.replace(cube=False, scoring="oin_mars_12")
LAST_CHANCE = CUBELESS.replace(end_rule="last_chance_draw")


def bots_of(*texts: str, rules: Rules = INTERNATIONAL) -> list[Bot]:
    return [load_bot(text, rules) for text in texts]


def game_by_game(
    bots: list[Bot], seed: int, stream: int, seating: int, rules: Rules
) -> tuple[int, GameResult]:
    """One game by the rules of `engine.game`: points of the first bot, and the result."""
    dice = game_generator(seed, stream)
    draws = dice.spawn(1)[0]
    state = GameState.start(rules)
    while state.phase == "opening":
        state = state.apply(OpeningThrow(tuple(roll_dice(dice)[0].tolist())))
    while state.result is None:
        if state.phase == "roll":
            state = state.apply(Throw(tuple(roll_dice(dice)[0].tolist())))
        assert state.on_roll is not None
        board = state.board.copy()
        board[0] += state.last_throw  # a lent checker; a finished side has no plays to look at
        rolls = np.array([state.dice], dtype=np.int8)
        after = bots[state.on_roll ^ seating].choose(board[np.newaxis], rolls, draws.random(1))[0]
        after[0] -= state.last_throw
        state = state.apply(PlayTo(after))
    result = state.result
    if result.winner is None:
        return 0, result
    return (result.points if result.winner == seating else -result.points), result


def without_curve(figures: Duel) -> Duel:
    return dataclasses.replace(figures, curve=())


# --- games ---


@pytest.mark.parametrize("rules", [CUBELESS, TWO_KINDS, FOUR_KINDS, LAST_CHANCE], ids=str)
@pytest.mark.parametrize("texts", [("pubeval", "pip-greedy"), ("random", "pubeval")])
def test_games_against_the_state_machine(texts: tuple[str, str], rules: Rules) -> None:
    bots = bots_of(*texts, rules=rules)
    points = play_games(bots, 11, 3, 6, rules).points
    assert points.shape == (6, 2)
    for stream, seating in itertools.product(range(6), range(2)):
        expected, _ = game_by_game(bots, 11, 3 + stream, seating, rules)
        assert points[stream, seating] == expected, (stream, seating)


def test_draws_by_the_last_throw() -> None:
    bots = bots_of("pubeval", "pubeval", rules=LAST_CHANCE)
    points = play_games(bots, 5, 0, 300, LAST_CHANCE, paired=False).points[:, 0]
    drawn = np.flatnonzero(points == 0)
    assert len(drawn) > 0
    for stream in drawn[:3].tolist():
        _, result = game_by_game(bots, 5, stream, 0, LAST_CHANCE)
        assert result.ending == "draw"


def test_dice_are_the_stream_of_the_game() -> None:
    """The same ones with and without draws, and nothing but throws of the stream in order."""
    streams = np.arange(3)
    with_draws, without = (lockstep._Dice(9, 4, 3, draws, INTERNATIONAL) for draws in (True, False))
    for turn in range(150):
        for dice in (with_draws, without):
            dice.throw(turn, streams)
        assert (with_draws.rolls(turn, streams) == without.rolls(turn, streams)).all()
    throws = roll_dice(game_generator(9, 5), 400)
    opening = int(np.flatnonzero(throws[:, 0] != throws[:, 1])[0])
    fresh = lockstep._Dice(9, 4, 3, False, INTERNATIONAL)
    for turn in range(150):
        fresh.throw(turn, streams)
        assert fresh.rolls(turn, streams)[1].tolist() == throws[opening + turn].tolist()
    assert fresh.starting_seats[1] == (throws[opening, 1] > throws[opening, 0])


def test_endless_games_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    bots = bots_of("pubeval", "random")
    whole = play_games(bots, 2, 0, 20).points
    limited = play_duel("pubeval", "random", 40, 2, most_turns=50)
    monkeypatch.setattr(lockstep, "MOST_TURNS", 50)
    over: list[int] = []
    played = play_games(bots, 2, 0, 20, on_turn=over.append)
    given_up = played.points != whole
    assert len(over) == 50
    assert 0 < played.n_unfinished == given_up.sum() == 40 - sum(over) < 40
    assert (played.points[given_up] == 0).all()
    figures = play_duel("pubeval", "random", 40, 2)
    assert figures.n_unfinished == played.n_unfinished
    assert figures.n_games == 40
    assert figures.a.win + figures.b.win == pytest.approx(1 - figures.n_unfinished / 40)
    assert figures.ppg.mean == played.points.mean()
    assert limited.ppg == figures.ppg
    assert limited.n_unfinished == figures.n_unfinished


# --- figures ---


@pytest.mark.parametrize("rules", [CUBELESS, TWO_KINDS, FOUR_KINDS], ids=str)
def test_rates_and_error(rules: Rules) -> None:
    bots = bots_of("random", "pubeval", rules=rules)
    games = [
        game_by_game(bots, 4, stream, seating, rules)
        for stream, seating in itertools.product(range(10), range(2))
    ]
    figures = play_duel("random", "pubeval", 20, 4, rules)
    for side, sign in ((figures.a, 1), (figures.b, -1)):
        won = [result for points, result in games if points * sign > 0]
        assert side.win == len(won) / 20
        assert side.gammon == sum(result.factor > 1 for result in won) / 20
        assert side.backgammon == sum(result.kind == "koks" for result in won) / 20
    pairs = np.array([points for points, _ in games]).reshape(10, 2).mean(axis=1)
    assert figures.ppg.mean == pytest.approx(pairs.mean())
    assert figures.ppg.stderr == pytest.approx(pairs.std(ddof=1) / math.sqrt(10))
    assert (figures.ppg.n, figures.n_games, figures.seed) == (10, 20, 4)
    assert figures.b.backgammon <= figures.b.gammon <= figures.b.win
    assert figures.b.gammon > 0


def test_two_games_tell_no_error() -> None:
    figures = play_duel("pubeval", "random", 2, 1)
    assert math.isnan(figures.ppg.stderr)
    assert figures.ppg.mean > 0


def test_the_cube_does_not_count() -> None:
    """Jacoby's rule and single wins with the cube are for games with a cube."""
    plain = play_duel("pubeval", "random", 20, 6)
    rules = INTERNATIONAL.replace(jacoby=True, mars_with_cube=False)
    assert play_duel("pubeval", "random", 20, 6, rules).ppg == plain.ppg
    assert plain.a.gammon > 0


# --- null tests ---


@pytest.mark.parametrize("text", ["pubeval", "random"])
def test_a_bot_against_itself_is_exactly_zero(text: str) -> None:
    points = play_games(bots_of(text, text), 3, 0, 30).points
    assert (points[:, 0] == -points[:, 1]).all()
    figures = play_duel(text, text, 60, 3)
    assert (figures.ppg.mean, figures.ppg.stderr) == (0.0, 0.0)
    assert figures.a == figures.b


@pytest.mark.parametrize(
    ("a", "b"), [("pubeval", "pip-greedy"), ("random", "pubeval"), ("pip-greedy", "random")]
)
def test_swapped_bots_negate_exactly(a: str, b: str) -> None:
    one, other = play_duel(a, b, 12, 12), play_duel(b, a, 12, 12)
    assert one.ppg.mean == -other.ppg.mean != 0
    assert one.ppg.stderr == other.ppg.stderr
    assert (one.a, one.b) == (other.b, other.a)


def test_unpaired_games_of_equals_are_zero_within_error() -> None:
    """With seat 0 favoured anywhere this would not hold: the first bot always sits there."""
    figures = play_duel("pubeval", "pubeval", 3000, 1, paired=False)
    assert figures.ppg.n == figures.n_games == 3000
    assert 0.01 < figures.ppg.stderr < 0.05
    assert abs(figures.ppg.mean) < 3.5 * figures.ppg.stderr


class BlindBot(RandomBot):
    """Sees nothing either, but takes its plays from the other end."""

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        assert draws is not None
        return super().choose(boards, rolls, np.nextafter(1.0, 0.0) - draws)


@pytest.mark.parametrize("paired", [True, False])
def test_a_player_that_knows_nothing_does_not_beat_random(paired: bool) -> None:
    figures = play_duel(BlindBot("blind"), "random", 1200, 2, paired=paired)
    assert figures.ppg.stderr < 0.1
    assert abs(figures.ppg.mean) < 3.5 * figures.ppg.stderr


def test_paired_and_single_games_tell_the_same() -> None:
    paired = play_duel("pubeval", "pip-greedy", 400, 8)
    single = play_duel("pubeval", "pip-greedy", 400, 8, paired=False)
    assert paired.ppg.mean > 1.5
    assert abs(paired.ppg.mean - single.ppg.mean) < 4 * (paired.ppg.stderr + single.ppg.stderr)


# --- chunks and workers ---


@pytest.mark.parametrize("texts", [("pubeval", "pip-greedy"), ("random", "pubeval")])
def test_chunks_change_nothing(texts: tuple[str, str]) -> None:
    whole = play_duel(*texts, 60, 5)
    for chunk_streams in (1, 7):
        parts = play_duel(*texts, 60, 5, chunk_streams=chunk_streams)
        assert without_curve(parts) == without_curve(whole)
        assert parts.curve[-1] == whole.curve[-1]
        assert len(parts.curve) > len(whole.curve)


@pytest.fixture
def eager_workers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Workers are used however short the duel; the list tells how many were started."""
    started: list[int] = []
    play_there = duel_workers._play_there

    def spy(games: Games, chunks: list[Chunk], workers: int, *rest: object) -> object:
        started.append(workers)
        return play_there(games, chunks, workers, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(duel_workers, "_WORTH_WORKERS_S", 0.0)
    monkeypatch.setattr(duel_workers, "_play_there", spy)
    return started


def test_workers_change_nothing(eager_workers: list[int]) -> None:
    seen: list[Progress] = []
    one = play_duel("random", "pubeval", 240, 5, CAUCASIAN, chunk_streams=16)
    two = play_duel(
        "random", "pubeval", 240, 5, CAUCASIAN, chunk_streams=16, workers=2, on_progress=seen.append
    )
    assert eager_workers == [2]
    assert two == one
    assert len(one.curve) == 8
    assert [progress.n_games for progress in seen] == sorted(progress.n_games for progress in seen)


def test_few_games_need_no_workers() -> None:
    play_duel("pubeval", "pip-greedy", 40, 5, workers=64)
    assert multiprocessing.active_children() == []


# --- interruptions and errors ---


def interrupt_after(n_games: int) -> Callable[[Progress], None]:
    """Ctrl-C as soon as so many games count."""

    def on_progress(progress: Progress) -> None:
        if 2 * progress.ppg.n >= n_games:
            raise KeyboardInterrupt

    return on_progress


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted(
    workers: int, eager_workers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are those of a shorter duel: nothing of the unfinished games is in them."""
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)
    figures = play_duel(
        "pubeval",
        "pip-greedy",
        2000,
        5,
        chunk_streams=4,
        workers=workers,
        on_progress=interrupt_after(24),
    )
    assert eager_workers == ([2] if workers == 2 else [])
    assert figures.interrupted
    assert 24 <= figures.n_games < 2000
    shorter = play_duel("pubeval", "pip-greedy", figures.n_games, 5)
    assert figures == dataclasses.replace(shorter, ended="interrupted", curve=figures.curve)
    assert figures.curve[-1] == shorter.curve[-1]
    assert multiprocessing.active_children() == []


def test_interrupted_before_anything_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)
    with pytest.raises(KeyboardInterrupt):
        play_duel("pubeval", "pip-greedy", 100, 5, on_progress=interrupt_after(0))


def test_a_worker_that_dies_is_told(
    eager_workers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)

    def kill_workers(_: Progress) -> None:
        for child in multiprocessing.active_children():
            child.kill()

    figures = play_duel(
        "pubeval", "random", 400, 5, chunk_streams=8, workers=2, on_progress=kill_workers
    )
    assert eager_workers == [2]
    assert figures.ended == "fault"
    assert figures.fault is not None
    assert re.search(r"worker .* pubeval against random .* dice stream \d+", figures.fault)
    assert 16 <= figures.n_games < 400
    shorter = play_duel("pubeval", "random", figures.n_games, 5)
    assert figures.curve[-1] == shorter.curve[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_games": 7}, "games '7'; accepted: an even number"),
        ({"n_games": 0}, "games '0'"),
        ({"n_games": -2}, "games '-2'"),
        ({"n_games": 0, "paired": False}, "games '0'; accepted: a number from 1"),
        ({"seed": -1}, "seed '-1'"),
        ({"workers": 0}, "workers '0'"),
        ({"chunk_streams": 0}, "chunk_streams '0'"),
        ({"a": "nobody"}, "unknown bot 'nobody'"),
        ({"a": load_bot("random", CAUCASIAN)}, "'random' plays by the rules caucasian"),
        ({"a": load_bot("random"), "n_games": 1000, "workers": 2}, "named by texts"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    arguments = {"a": "pubeval", "b": "random", "n_games": 10, "seed": 1} | change
    with pytest.raises(ConfigError, match=message):
        play_duel(**arguments)  # type: ignore[arg-type]
