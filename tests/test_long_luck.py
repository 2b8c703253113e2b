"""Luck of the dice in long nardi: against a slow reference, null tests, and what is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.bot import load_bot
from agent.checkpoint import save_net
from agent.evaluator import Evaluator
from agent.net import ValueNet
from agent.ranking import scored
from engine.board import Board
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.errors import CheckpointError, ConfigError
from engine.long_board import LONG_START
from engine.moves import legal_afterstates
from engine.rules import LONG_NARDI, Rules
from engine.variant import LONG
from eval.duel import play_duel
from eval.lockstep import Turns, play_games
from eval.luck import LUCK_UNITS, GameLuck, LuckMeter, load_luck_meter, why_no_luck
from eval.stats import Moments
from nardi.cli import main
from tests.nets import SMALL, random_net
from tests.test_long_nets import OTHER_RULES, boards_of_games, long_net

Capture = pytest.CaptureFixture[str]


def running(n: int, seed: int = 3) -> Board:
    """Boards of random games that go on."""
    boards = boards_of_games()
    boards = boards[(boards > 0).any(axis=1) & (boards < 0).any(axis=1)]
    return boards[np.random.default_rng(seed).choice(len(boards), n, replace=False)]


def value_of_roll(evaluator: Evaluator, board: Board, roll: list[int], rules: Rules) -> float:
    after = legal_afterstates(board, roll, rules)
    return float(-scored(evaluator.probabilities(LONG.flip(after)), rules)[1].min())


@pytest.mark.parametrize("rules", [LONG_NARDI, *OTHER_RULES], ids=str)
def test_against_all_plays_of_all_rolls(rules: Rules) -> None:
    boards = np.concatenate([running(25), LONG_START[np.newaxis]])
    rolls = np.random.default_rng(4).integers(1, 7, size=(26, 2)).astype(np.int8)
    openings = np.zeros(26, dtype=np.bool_)
    openings[25] = True
    rolls[25] = 4, 4  # the starter has thrown anew
    lucks = LuckMeter(long_net(), rules).lucks(boards, rolls, openings)
    evaluator = Evaluator(long_net())
    for board, roll, opening, luck in zip(boards, rolls, openings, lucks, strict=True):
        expected = value_of_roll(evaluator, board, roll.tolist(), rules)
        if not opening:
            values = [value_of_roll(evaluator, board, each.tolist(), rules) for each in ROLLS]
            expected -= float(np.average(values, weights=ROLL_WEIGHTS))
        assert luck == pytest.approx(expected, abs=2e-5)
    assert lucks.std() > 1e-3


def test_mean_over_all_rolls_is_zero() -> None:
    meter = LuckMeter(long_net(), LONG_NARDI)
    for board in running(10):
        lucks = meter.lucks(np.tile(board, (21, 1)), ROLLS, np.zeros(21, dtype=np.bool_))
        assert float(lucks @ ROLL_WEIGHTS) == pytest.approx(0, abs=1e-6)


def test_sum_over_games_is_from_the_first_bots_side() -> None:
    bots = [load_bot(name, LONG_NARDI) for name in ("heuristic", "pip-greedy")]
    meter = LuckMeter(long_net(), LONG_NARDI)
    luck = GameLuck(meter, 2, 2)
    expected = np.zeros((2, 2))

    def watch(turns: Turns) -> None:
        luck.watch(turns)
        openings = np.full(len(turns.boards), turns.number == 0)
        lucks = meter.lucks(turns.boards, turns.rolls, openings)
        for i, each in enumerate(lucks):
            expected[turns.streams[i], turns.seatings[i]] += -each if turns.movers[i] else each

    play_games(bots, 8, 5, 2, LONG_NARDI, watch=watch)
    assert luck.units() / LUCK_UNITS == pytest.approx(expected, abs=1e-5)
    assert np.abs(expected).min() > 1e-4


def test_luck_has_mean_zero_whoever_plays_and_judges(tmp_path: Path) -> None:
    """Single games, so that nothing cancels, and a net that knows nothing."""
    path = tmp_path / "long.safetensors"
    save_net(path, long_net())
    lucks: list[NDArray[np.int64]] = []
    figures = play_duel(
        "heuristic",
        "pip-greedy",
        200,
        7,
        LONG_NARDI,
        luck=True,
        luck_net=path,
        paired=False,
        on_chunk=lambda played: lucks.append(played.luck),  # type: ignore[arg-type]
    )
    luck = Moments.of((np.concatenate(lucks)[:, 0] / LUCK_UNITS).tolist()).estimate()
    assert 0.001 < luck.stderr < 0.2
    assert abs(luck.mean) < 3.5 * luck.stderr
    assert figures.adjusted is not None
    assert figures.luck_net == f"net:{path}"


def test_error_between_like_players_is_much_smaller(tmp_path: Path) -> None:
    """The net that ships against itself, one game a stream: all that is left is luck."""
    single = play_duel("net", "net", 120, 1, LONG_NARDI, luck=True, paired=False)
    assert single.adjusted is not None
    assert abs(single.adjusted.mean) < 3.5 * single.adjusted.stderr
    assert single.ppg.stderr > 2.5 * single.adjusted.stderr > 0


def test_what_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert why_no_luck(LONG_NARDI) is None
    reason = why_no_luck(LONG_NARDI, cube=True)
    assert reason is not None
    assert "matches of short nardi only" in reason
    four_kinds = dataclasses.replace(LONG_NARDI, scoring="mars_homemars_koks_1234")
    assert "four kinds of win" in str(why_no_luck(four_kinds))
    short: ValueNet = random_net(SMALL, np.random.default_rng(1))
    with pytest.raises(ConfigError, match="is for short nardi and cannot tell the luck"):
        LuckMeter(short, LONG_NARDI)
    save_net(tmp_path / "short.safetensors", short)
    with pytest.raises(CheckpointError, match="not for long nardi"):
        load_luck_meter(tmp_path / "short.safetensors", LONG_NARDI)
    words = ["benchmark", "net", "net", "--game", "long", "--games", "2", "--seed", "1"]
    assert main([*words, "--match", "3", "--luck"]) == 2
    assert "matches of short nardi only" in capsys.readouterr().err


def test_benchmark_tells_whose_luck_is_taken_out(capsys: Capture) -> None:
    words = ["benchmark", "--game", "long", "--games", "8", "--seed", "1", "--workers", "1"]
    for bots, net in ((["net@0", "net@0"], "net"), (["net@0", "heuristic"], None)):
        assert main([*words, *bots, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["luck_net"] == net
