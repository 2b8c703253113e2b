"""Self-play that takes luck out: exact backups, what is made of them, and runs that use them."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.checkpoint import load_net
from agent.cube_states import NO_CUBE
from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.kernels.replies import Nets
from agent.kernels.tree import new_room
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.bearoff.lookup import cubeless
from engine.bearoff.tables import load_tables
from engine.board import flip, has_contact
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.dice_stream import game_states
from engine.errors import ConfigError
from engine.rules import INTERNATIONAL
from engine.variant import play_switches
from tests.test_resume import assert_same_end
from tests.tiny_runs import TINY, begin, complete, go_on, made_up_match
from train.config import SelfPlayConfig, StageConfig
from train.kernels.exact import adjusted_returns, play_exact_games
from train.kernels.rows import board_kinds
from train.kernels.selfplay import MAX_PLIES
from train.selfplay import RoundPlan, play_chunk

Floats = NDArray[np.float32]
START = [0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0]


def a_net(seed: int) -> ValueNet:
    layer = NetConfig(width=8, pairs=False, experts="none", hidden=0)
    return new_value_net(ValueNetConfig(contact=layer, race=layer), np.random.default_rng(seed))


def play(
    board: list[int],
    n_games: int,
    *,
    net: ValueNet,
    tables: Any = None,
    keep: int = 0,
    is_opening: bool = True,
    explore: float = 0.0,
    loss_scale: float = np.inf,
    races: float = 1.0,
) -> dict[str, NDArray[Any]]:
    """Games of a net from a board: what the kernel records."""
    sorter = a_net(2)
    rows = max(n_games * 100, 5 * MAX_PLIES) + MAX_PLIES
    got = {
        "boards": np.empty((rows, 26), dtype=np.int8),
        "values": np.empty((rows, 5), dtype=np.float32),
        "backups": np.empty((rows, 5), dtype=np.float32),
        "ends": np.zeros(n_games, dtype=np.int64),
    }
    nets = Nets(
        contact=net.contact,
        race=net.race,
        small_contact=sorter.contact,
        small_race=sorter.race,
        keep=keep,
        window=np.float32(9),
        weights=np.array([[2, 1, 1, -1, -1, -1]] * 2, dtype=np.float32),
        two_sided=0,
        switches=play_switches(INTERNATIONAL),
        generation=1,
        table=NO_CUBE,
        exact_cube=False,
    )
    room = new_room(net.contact, net.race, sorter.contact, sorter.race, tables, 1 << 12, 5)
    done = play_exact_games(
        nets,
        room,
        game_states(3, 0, n_games),
        0,
        np.repeat(np.array(board, dtype=np.int8)[None], n_games, axis=0),
        np.full(n_games, is_opening),
        explore,
        loss_scale,
        0.0,
        1,
        races,
        np.empty((1, 26), dtype=np.int64),
        *got.values(),
    )
    assert done == n_games
    end = int(got["ends"][-1])
    return {name: array if name == "ends" else array[:end] for name, array in got.items()}


def returns(got: dict[str, NDArray[Any]], lambda_: float | list[float]) -> Floats:
    targets = np.empty_like(got["values"])
    lambdas = np.broadcast_to(np.float32(lambda_), len(targets)).copy()
    adjusted_returns(got["values"], got["backups"], got["ends"], lambdas, targets)
    return targets


def test_a_backup_is_the_mean_over_the_rolls_of_the_best_plays_value() -> None:
    net = a_net(1)
    got = play(START, 1, net=net)
    evaluator = Evaluator(net)
    some = np.linspace(0, len(got["boards"]) - 1, 12).astype(int)
    for row in some:
        board = got["boards"][row]
        mean = np.zeros(5)
        for roll, weight in zip(ROLLS, ROLL_WEIGHTS, strict=True):
            after = evaluator.choose(board[np.newaxis], roll[np.newaxis])
            mean += weight / 36 * swap_sides(evaluator.probabilities(flip(after)))[0]
        np.testing.assert_allclose(got["backups"][row], mean, atol=2e-6)


def test_values_are_those_of_the_positions_that_follow() -> None:
    net = a_net(1)
    got = play(START, 2, net=net, explore=0.3)
    assert not np.array_equal(got["boards"][:20], play(START, 2, net=net)["boards"][:20])
    first_end = got["ends"][0]
    followed = np.delete(np.arange(len(got["boards"]) - 1), first_end - 1)
    found = Evaluator(net).probabilities(got["boards"][followed + 1])
    np.testing.assert_allclose(got["values"][followed], found, atol=2e-6)


def test_returns_of_a_game_by_hand() -> None:
    got = {
        "values": np.array([[0.6, 0.1, 0, 0.2, 0], [0.3, 0, 0, 0.1, 0], [1, 0, 0, 0, 0]], "f4"),
        "backups": np.array([[0.5, 0.2, 0, 0.1, 0], [0.7, 0.3, 0, 0, 0], [0.4, 0, 0, 0, 0]], "f4"),
        "ends": np.array([3]),
    }
    targets = returns(got, 0.5)
    # e_2 = TV_2 - V_2 = 0.1; e_1 = TV_1 - V_1 - 0.5 e_2, and the sides' gammons change places.
    np.testing.assert_allclose(targets[2], [0.4, 0, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(targets[1], [0.7 - 0.05, 0.3 - 0.05, 0, 0, 0], atol=1e-6)
    e_1 = [0.7 - 0.6 - 0.05, 0.3 - 0.1 - 0.05, 0, -0.2, 0]
    want = [0.5 - 0.5 * e_1[0], 0.2 + 0.5 * e_1[3], 0, 0.1 + 0.5 * e_1[1], 0]
    np.testing.assert_allclose(targets[0], want, atol=1e-6)
    whole = 0.3 - 0.1 - 0.1  # the gammons of e_1 if the last ply counts in full
    mixed = returns(got, [0.5, 1.0, 1.0])[0]
    np.testing.assert_allclose(
        mixed[[0, 3]], [0.5 - 0.5 * (0.7 - 0.6 - 0.1), 0.1 + 0.5 * whole], atol=1e-6
    )


def test_without_lambda_the_returns_are_the_backups() -> None:
    got = play(START, 1, net=a_net(1))
    np.testing.assert_array_equal(returns(got, 0.0), got["backups"])


def test_in_known_endings_every_return_is_exact() -> None:
    """Where values are exact there is no luck left: each game's return is the exact value."""
    board = [0] * 26
    board[1:7] = [1, 1, 1, 1, 1, 1]
    board[24], board[20], board[19] = -2, -1, -2
    got = play(board, 20, net=a_net(1), tables=load_tables(), is_opening=False)
    exact = cubeless(got["boards"])
    assert len(set(map(bytes, got["boards"]))) > 30
    np.testing.assert_allclose(returns(got, 1.0)[:, 0], exact[:, 0], atol=1e-5)


def test_returns_are_unbiased_however_bad_the_net() -> None:
    """With λ = 1 the mean over games is what the net's play is worth, not what it thinks."""
    board = [0] * 26
    board[1], board[3], board[24], board[21] = 2, 1, -2, -2
    net = a_net(7)
    got = play(board, 3000, net=net, is_opening=False)
    first = np.concatenate([[0], got["ends"][:-1]])
    equities = cubeless_equity(returns(got, 1.0)[first])
    exact = float(cubeless_equity(cubeless(np.array([board], dtype=np.int8)))[0])
    thought = float(cubeless_equity(Evaluator(net).probabilities(np.array([board])))[0])
    error = equities.std() / np.sqrt(len(equities))
    assert abs(thought - exact) > 0.2
    # So few checkers leave hardly a choice: any play is nearly the best.
    assert abs(equities.mean() - exact) < 4 * error + 0.01


NEAR_A_RACE = [0, 5, 4, 3, 2, 0, 0, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0, -5, -5, -4, 0, 0, 0, 0]


def test_games_stop_where_contact_ends_but_for_the_share_asked_for() -> None:
    net = a_net(1)
    whole, none, some = (
        play(NEAR_A_RACE, 60, net=net, is_opening=False, races=races) for races in (1.0, 0.0, 0.4)
    )
    assert not has_contact(whole["boards"]).all()
    assert has_contact(none["boards"]).all()
    went_on = [
        not has_contact(some["boards"][first:end]).all()
        for first, end in itertools.pairwise([0, *some["ends"]])
    ]
    assert 0.2 < np.mean(went_on) < 0.6
    # The last position of a game that stops is worth its backup, in which no luck is left.
    last = none["ends"] - 1
    np.testing.assert_array_equal(returns(none, 0.8)[last], none["backups"][last])


def test_a_game_that_begins_as_a_race_is_played_on() -> None:
    race = [0, *[3, 3, 3, 2, 2, 2], *[0] * 12, *[-3, -3, -3, -2, -2, -2], 0]
    got = play(race, 5, net=a_net(1), is_opening=False, races=0.0)
    assert (np.diff([0, *got["ends"]]) > 3).all()


def test_races_are_left_out_only_where_luck_is_adjusted() -> None:
    with pytest.raises(ConfigError, match="without luck_adjusted 1 fits"):
        StageConfig(games=10, races=0.5)
    with pytest.raises(ConfigError, match=r"races is '1\.5'"):
        StageConfig(games=10, luck_adjusted=True, races=1.5)


def test_a_sorter_that_keeps_all_changes_nothing() -> None:
    net = a_net(1)
    one, other = play(START, 2, net=net), play(START, 2, net=net, keep=500)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def test_the_net_plays_whatever_the_sorter_leaves() -> None:
    """A sorter changes backups alone: of the thrown roll the net looks at every play."""
    net = a_net(1)
    whole, few = (play(START, 4, net=net, explore=0.1, keep=keep) for keep in (0, 1))
    for name in ("boards", "values", "ends"):
        np.testing.assert_array_equal(few[name], whole[name])
    assert np.abs(few["backups"] - whole["backups"]).max() > 0.01


def test_backups_with_a_sorter_are_on_average_those_of_all_plays() -> None:
    """What the sorter misses in the thrown roll is added, so that over the dice nothing is."""
    net = a_net(7)
    one = play(START, 1, net=net, is_opening=False)["backups"][0]
    got = play(START, 400, net=net, is_opening=False, keep=1)
    first = np.concatenate([[0], got["ends"][:-1]])
    afterwards = got["boards"][first + 1]
    mean, some, plays = np.zeros(5), [], set()
    for roll, weight in zip(ROLLS, ROLL_WEIGHTS, strict=True):
        after = Evaluator(net).choose(np.array([START], dtype=np.int8), roll[np.newaxis])
        of_this_roll = np.flatnonzero((afterwards == flip(after)).all(1))
        plays.add(after.tobytes())
        some.append(got["backups"][first[of_this_roll[0]]])
        mean += weight / 36 * some[-1]
    assert len(plays) == 21  # otherwise a play does not tell the roll
    assert np.ptp(some, axis=0)[0] > 0.01
    np.testing.assert_allclose(mean, one, atol=2e-6)


PLAN = RoundPlan(
    seed=4,
    first_game=0,
    games=3,
    games_per_call=3,
    lambda_=0.9,
    explore=0.02,
    random_openings=0.5,
    random_plies=6,
    expected=0.0,
    luck_adjusted=True,
)


def test_rounds_need_a_sorter_only_where_the_plan_keeps_few() -> None:
    plan = PLAN
    whole = play_chunk(a_net(1), plan, 0, 3)
    sorted_ = play_chunk(a_net(1), dataclasses.replace(plan, sorter_keep=2), 0, 3, a_net(2))
    assert np.isfinite(whole.targets).all()
    np.testing.assert_array_equal(whole.boards, sorted_.boards)
    assert not np.array_equal(whole.targets, sorted_.targets)


def test_races_may_have_a_lambda_of_their_own() -> None:
    """Races are learned from as with that λ throughout; plies before count it on from there."""
    plan = dataclasses.replace(PLAN, games=6, games_per_call=6, lambda_=0.5, random_openings=0.0)
    low = play_chunk(a_net(1), plan, 0, 6)
    high = play_chunk(a_net(1), dataclasses.replace(plan, lambda_=1.0), 0, 6)
    mixed = play_chunk(a_net(1), dataclasses.replace(plan, race_lambda=1.0), 0, 6)
    np.testing.assert_array_equal(low.boards, mixed.boards)
    np.testing.assert_array_equal(high.boards, mixed.boards)
    kinds = np.empty(len(low.boards), dtype=np.int64)
    board_kinds(low.boards, 0, kinds)
    races = kinds == 2
    assert races.sum() > 20
    np.testing.assert_array_equal(mixed.targets[races], high.targets[races])
    assert not np.array_equal(mixed.targets[races], low.targets[races])
    last = np.flatnonzero(races[1:] & ~races[:-1])  # of contact
    assert len(last) > 2
    # By hand: the backup, and half of what the next ply's target adds to its value.
    for row in last:
        found = mixed.targets[row] - low.targets[row]
        wanted = -0.5 * (high.targets[row + 1, 0] - low.targets[row + 1, 0])
        assert found[0] == pytest.approx(wanted, abs=1e-6)


def test_games_from_drawn_boards_may_have_a_lambda_of_their_own() -> None:
    """Their contact is learned from with it, races of theirs and other games are not."""
    plan = dataclasses.replace(
        PLAN, games=20, games_per_call=20, lambda_=0.5, drawn_starts=0.5, random_openings=0.0
    )
    low = play_chunk(a_net(1), plan, 0, 20)
    high = play_chunk(a_net(1), dataclasses.replace(plan, lambda_=1.0), 0, 20)
    mixed = play_chunk(a_net(1), dataclasses.replace(plan, drawn_lambda=1.0), 0, 20)
    as_low = (mixed.targets == low.targets).all(1)
    as_high = (mixed.targets == high.targets).all(1)
    assert (as_low | as_high).all()
    starts = np.flatnonzero((low.boards == np.array(START, dtype=np.int8)).all(1))
    assert 4 < len(starts) < 16
    assert as_low[starts].all()
    assert 0.2 < np.mean(~as_low) < 0.9
    # A λ of races is that of their games' races, too.
    kinds = np.empty(len(low.boards), dtype=np.int64)
    board_kinds(low.boards, 0, kinds)
    of_races = dataclasses.replace(plan, drawn_lambda=1.0, race_lambda=0.5)
    targets = play_chunk(a_net(1), of_races, 0, 20).targets
    np.testing.assert_array_equal(targets[kinds == 2], low.targets[kinds == 2])
    assert not np.array_equal(targets[kinds == 1], low.targets[kinds == 1])


def test_games_from_drawn_boards_may_count_less() -> None:
    """Their contact does; how they are played and what is learned of them stays."""
    plan = dataclasses.replace(
        PLAN, games=20, games_per_call=20, drawn_starts=0.5, drawn_lambda=1.0, random_openings=0.0
    )
    alike = play_chunk(a_net(1), plan, 0, 20)
    assert (alike.weights == 1).all()
    less = play_chunk(a_net(1), dataclasses.replace(plan, drawn_weight=0.25), 0, 20)
    np.testing.assert_array_equal(less.boards, alike.boards)
    np.testing.assert_array_equal(less.targets, alike.targets)
    assert less.weights.dtype == np.float32
    kinds = np.empty(len(less.boards), dtype=np.int64)
    board_kinds(less.boards, 0, kinds)
    other = play_chunk(a_net(1), dataclasses.replace(plan, drawn_lambda=0.0), 0, 20)
    of_drawn = (other.targets != alike.targets).any(1) & (kinds == 1)
    assert 0.2 < of_drawn.mean() < 0.9
    assert (less.weights[of_drawn] == 0.25).all()
    # A λ shows nowhere at a game's last ply; those of drawn games count less as well.
    assert set(np.unique(less.weights)) == {0.25, 1}
    assert (less.weights[kinds == 2] == 1).all()
    assert (less.weights == 0.25).sum() - of_drawn.sum() <= 20
    starts = np.flatnonzero((less.boards == np.array(START, dtype=np.int8)).all(1))
    assert (less.weights[starts] == 1).all()
    with pytest.raises(ConfigError, match="drawn_weight is for games whose luck is adjusted"):
        StageConfig(games=10, drawn_weight=0.5)
    with pytest.raises(ConfigError, match=r"drawn_weight is '1\.5'"):
        StageConfig(games=10, luck_adjusted=True, drawn_weight=1.5)


def test_a_lambda_of_races_needs_luck_adjusted_games() -> None:
    with pytest.raises(ConfigError, match="drawn_lambda is for games whose luck is adjusted"):
        StageConfig(games=10, drawn_lambda=1.0)
    with pytest.raises(ConfigError, match=r"drawn_lambda is '1\.5'"):
        StageConfig(games=10, luck_adjusted=True, drawn_lambda=1.5)
    with pytest.raises(ConfigError, match="race_lambda is for games whose luck is adjusted"):
        StageConfig(games=10, race_lambda=1.0)
    with pytest.raises(ConfigError, match="race_lambda is '2'"):
        StageConfig(games=10, luck_adjusted=True, race_lambda=2)


LUCKY = dataclasses.replace(
    TINY,
    selfplay=SelfPlayConfig(games_per_round=20, sorter_width=4, sorter_games=20),
    stage=(
        StageConfig(games=40),
        StageConfig(games=100, lambda_=(0.9, 0.8), luck_adjusted=True, replay=3),
    ),
)


@pytest.mark.parametrize("stops", [[1], [4, 1]], ids=str)
def test_runs_with_sorter_and_replay_go_on_as_if_never_stopped(
    tmp_path: Path, stops: list[int]
) -> None:
    assert complete(begin(tmp_path / "whole", LUCKY))
    run = begin(tmp_path / "run", LUCKY, workers=2)
    for number, rounds in enumerate(stops):
        assert not complete(run, rounds)
        run = go_on(tmp_path / "run", workers=1 + number % 3)
    assert complete(run)
    assert_same_end(tmp_path / "run", tmp_path / "whole")
    sorters = [(tmp_path / name / "sorter.safetensors").read_bytes() for name in ("run", "whole")]
    assert len(sorters[0]) > 1000


def test_the_scores_of_matches_are_the_nets_and_not_the_sorters(tmp_path: Path) -> None:
    assert complete(begin(tmp_path / "run", LUCKY, play_match=made_up_match([0.1] * 9, [])))
    of_net, of_sorter = (
        load_net(tmp_path / "run" / f"{name}.safetensors").facts for name in ("last", "sorter")
    )
    assert "strength" in of_net
    assert "strength" not in of_sorter
    assert of_sorter["games"] == of_net["games"]


def test_luck_adjusted_and_expected_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        StageConfig(games=10, luck_adjusted=True, expected=(0.0, 0.1))
