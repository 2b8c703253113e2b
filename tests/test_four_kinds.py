"""Nets that have learned four kinds of win: what their outputs tell, and everything built on it.

The third and the fifth output count a backgammon 1 and a home gammon 1/2, and weigh two points.
"""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.batched import batch_probabilities
from agent.bot import NetBot, load_bot
from agent.checkpoint import default_net_path, load_net, load_sorter, save_net, sorter_for
from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.net import NetConfig, ValueNet, ValueNetConfig
from agent.ranking import rank_plays, scored
from agent.rollout import Roller, RolloutSettings
from agent.search import Searcher
from agent.situation import Situation
from engine.board import Board, borne_off, flip
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from engine.rules import INTERNATIONAL, LONG_NARDI, Rules
from engine.scoring import result_factors
from engine.variant import variant_of
from eval.luck import LuckMeter, why_no_luck
from nardi.cli import DONE, FAILED, main
from tests.long_positions import boards_of_random_games
from tests.nets import random_net
from tests.strategies import mixed_boards
from tests.tiny_runs import TINY
from train.config_files import config_text
from train.selfplay import Round, RoundPlan, play_chunk

SCORING = "mars_homemars_koks_1234"
SHORT_FOUR = INTERNATIONAL.replace(scoring=SCORING)
LONG_FOUR = LONG_NARDI.replace(scoring=SCORING)
BOTH = pytest.mark.parametrize("rules", [SHORT_FOUR, LONG_FOUR], ids=["short", "long"])
SHAPE = ValueNetConfig(
    contact=NetConfig(width=8, experts="none", hidden=5, tails="back9"),
    race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
)
CLOSE = 2e-6
MEN = 15


def net_for(rules: Rules, seed: int = 1) -> ValueNet:
    generator = np.random.default_rng(seed)
    return random_net(SHAPE, generator, game=rules.game, four_kinds=rules.scoring == SCORING)


def points_of(probs: NDArray[np.floating]) -> NDArray[np.floating]:
    """What outputs are worth, written out: 1 for a win, 1 more for a gammon, 2 for the share."""
    win, gammon, share, lose_gammon, lose_share = np.moveaxis(np.asarray(probs), -1, 0)
    return np.asarray(2 * win - 1 + (gammon - lose_gammon) + 2 * (share - lose_share))


def some_boards(rules: Rules) -> Board:
    if rules.game == "long":
        return boards_of_random_games(7, 8, 150)
    some = itertools.islice(mixed_boards(np.random.default_rng(3)), 600)
    return np.array([board for board, _ in some], dtype=np.int8)


def finished_boards(rules: Rules) -> Board:
    """Finished boards of all kinds: the loser's checkers drawn in several ways, either side's."""
    rng = np.random.default_rng(11)
    rows = []
    for kind in range(200):
        loser = np.zeros(26, dtype=np.int8)
        left = MEN if kind % 5 else int(rng.integers(1, MEN))
        highest = (6, 18, 24)[kind % 3]
        for point in rng.integers(1, highest + 1, size=left):
            loser[point] += 1
        if kind % 4 == 0 and rules.game == "short":
            loser[25] += loser[highest]
            loser[highest] = 0
        rows += [loser, variant_of(rules).flip(loser)]
    return np.array(rows)


@BOTH
def test_finished_games_are_worth_their_points(rules: Rules) -> None:
    boards = finished_boards(rules)
    factors = result_factors(boards, rules)
    assert set(factors) == {-4, -3, -2, -1, 1, 2, 3, 4}
    net = net_for(rules)
    for probs in (Evaluator(net).probabilities(boards), batch_probabilities(net, boards)):
        assert (points_of(probs) == factors).all()
        assert (scored(probs, rules)[1] == factors).all()
        assert (cubeless_equity(probs, 2) == factors).all()


@BOTH
def test_both_ways_to_evaluate_agree_and_stay_in_bounds(rules: Rules) -> None:
    boards = some_boards(rules)
    net = net_for(rules)
    probs = Evaluator(net).probabilities(boards)
    assert np.abs(probs - batch_probabilities(net, boards)).max() < 1e-5
    running = result_factors(boards, rules) == 0
    win, gammon, share, lose_gammon, lose_share = probs[running].T
    assert (gammon <= win).all()
    assert (lose_gammon <= 1 - win + CLOSE).all()
    for lost, all_of, part in (
        (variant_of(rules).flip(boards[running]), gammon, share),
        (boards[running], lose_gammon, lose_share),
    ):
        none_off = borne_off(lost) == 0
        caught = variant_of(rules).can_be_caught(lost)
        assert (all_of[~none_off] == 0).all()
        assert (part[~none_off] == 0).all()
        # A home gammon alone is half a backgammon.
        assert (part <= np.where(caught, 1, 0.5) * all_of + CLOSE).all()
        assert (part[none_off] > 0).all()
        assert none_off.any()
        assert (none_off & ~caught).any()


@BOTH
def test_plays_are_those_of_most_points(rules: Rules) -> None:
    net = net_for(rules)
    evaluator = Evaluator(net)
    boards = [b for b in some_boards(rules) if result_factors(b, rules) == 0][:40]
    bot = NetBot("net", evaluator, rules)
    for board, roll in zip(boards, itertools.cycle(ROLLS.tolist())):
        afterstates = legal_afterstates(board, roll, rules)
        opp = evaluator.probabilities(variant_of(rules).flip(afterstates))
        equities = -points_of(opp)
        chosen = bot.choose(board[None], np.array([roll], dtype=np.int8))[0]
        (row,) = np.flatnonzero((afterstates == chosen).all(axis=1))
        assert equities[row] >= equities.max() - CLOSE
        ranked = rank_plays(evaluator, board, roll, rules)
        assert ranked[0].equity == pytest.approx(equities.max(), abs=CLOSE)
        assert np.abs(points_of(ranked[0].probs) - ranked[0].equity) < CLOSE


@BOTH
def test_looking_ahead_is_the_mean_over_rolls_by_points(rules: Rules) -> None:
    net = net_for(rules)
    evaluator = Evaluator(net)
    searcher = Searcher(evaluator, cache_bytes=1 << 16)
    boards = [b for b in some_boards(rules) if result_factors(b, rules) == 0][5:60:11]
    for board in boards:
        total = np.zeros(5)
        for roll, weight in zip(ROLLS.tolist(), ROLL_WEIGHTS, strict=True):
            afterstates = legal_afterstates(board, roll, rules)
            opp = evaluator.probabilities(variant_of(rules).flip(afterstates))
            total += weight * swap_sides(opp[np.argmin(points_of(opp))])
        found = searcher.probabilities(board[None], 1, rules)[0]
        assert found == pytest.approx(total / ROLL_WEIGHTS.sum(), abs=1e-5)


def about_to_win(**loser: int) -> Board:
    """X bears off his last checker with any roll; the loser's points as O counts them."""
    board = np.zeros(26, dtype=np.int8)
    for place, n in loser.items():
        board[25 if place == "bar" else int(place[1:])] = n
    board = flip(board)
    board[1] = 1
    return board


@pytest.mark.parametrize(
    ("board", "points"),
    [
        (about_to_win(p3=14), 1),
        (about_to_win(p6=14, p13=1), 2),
        (about_to_win(p6=15), 3),
        (about_to_win(p6=14, bar=1), 4),
    ],
    ids=["single", "gammon", "home gammon", "backgammon"],
)
def test_a_rollout_counts_the_points(board: Board, points: int) -> None:
    for luck in (True, False):
        settings = RolloutSettings(trials=36, seed=1, luck=luck)
        roller = Roller(net_for(SHORT_FOUR), settings, SHORT_FOUR)
        *_, found = roller.roll_out(roller.position(board))
        assert found.lines[0].equity == pytest.approx(points, abs=1e-5)
        assert points_of(found.lines[0].probs) == pytest.approx(points, abs=1e-5)


@BOTH
def test_luck_is_measured_in_points(rules: Rules) -> None:
    net = net_for(rules)
    evaluator = Evaluator(net)
    meter = LuckMeter(net, rules, n_likely=1000)
    boards = [b for b in some_boards(rules) if result_factors(b, rules) == 0][3:40:9]
    for board in boards:
        worth = np.array(
            [
                -points_of(
                    evaluator.probabilities(
                        variant_of(rules).flip(legal_afterstates(board, roll, rules))
                    )
                ).min()
                for roll in ROLLS.tolist()
            ]
        )
        mean = (worth * ROLL_WEIGHTS).sum() / ROLL_WEIGHTS.sum()
        rows = np.tile(board, (len(ROLLS), 1))
        found = meter.lucks(rows, ROLLS.astype(np.int8), np.zeros(len(ROLLS), dtype=np.bool_))
        assert found == pytest.approx(worth - mean, abs=1e-5)


def games_of(
    rules: Rules,
    n_games: int,
    *,
    luck_adjusted: bool,
    drawn_starts: float = 0.0,
    net: ValueNet | None = None,
) -> Round:
    """Games of a net, as if it had learned four kinds; λ = 1. None = the one that nardi brings."""
    plan = RoundPlan(
        seed=3,
        first_game=0,
        games=n_games,
        games_per_call=n_games,
        lambda_=1.0,
        explore=0.0,
        random_openings=0.0,
        random_plies=1,
        expected=0.0,
        luck_adjusted=luck_adjusted,
        drawn_starts=drawn_starts,
        rules=rules,
    )
    net = net or load_net(default_net_path(rules.game), rules.game)
    return play_chunk(dataclasses.replace(net, four_kinds=True), plan, 0, n_games)


@BOTH
def test_what_is_learned_are_the_points_of_the_result(rules: Rules) -> None:
    """Sampled, the result itself; with the luck of the dice taken out, the same in the mean."""
    sampled = games_of(rules, 1500, luck_adjusted=False)
    points = points_of(sampled.targets)
    # Among good players a backgammon of short nardi is rare; weak ones are seen in many plans.
    wild = sampled
    if rules.game == "short":
        weak = load_sorter()
        assert weak is not None
        wild = games_of(rules, 1500, luck_adjusted=False, drawn_starts=1.0, net=weak)
    assert set(np.unique(wild.targets[:, [2, 4]])) == {0, 0.5, 1}
    assert set(np.unique(sampled.targets[:, [2, 4]])) <= {0, 0.5, 1}
    assert {1, 2, 3, -1, -2, -3} <= set(np.unique(points)) <= {-4, -3, -2, -1, 1, 2, 3, 4}
    # A result belongs to its game: it changes sides at every ply and lasts for all of them.
    assert (points[1:] != -points[:-1]).sum() < sampled.games
    adjusted = games_of(rules, 60, luck_adjusted=True)
    means, errors = [], []
    for found in (sampled, adjusted):
        first = points_of(found.targets)[(found.boards == variant_of(rules).start).all(axis=1)]
        assert len(first) >= found.games
        means.append(first.mean())
        errors.append(first.std() / len(first) ** 0.5)
    assert abs(means[0] - means[1]) < 4 * np.hypot(*errors)
    assert errors[1] < 0.15


def test_the_file_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "four.safetensors"
    save_net(path, net_for(SHORT_FOUR))
    net = load_net(path)
    assert net.four_kinds
    assert net.facts["features"][-1] == "four-kinds-v1"
    save_net(path, net)
    assert load_net(path).facts["features"] == net.facts["features"]
    assert sorter_for(net) is None
    usual = tmp_path / "three.safetensors"
    save_net(usual, net_for(INTERNATIONAL))
    assert not load_net(usual).four_kinds
    assert sorter_for(load_net(usual)) is not None


def test_nets_and_scorings_that_do_not_fit(tmp_path: Path) -> None:
    other = "scoring=oin_mars_koks_123 is asked for; accepted: --rules scoring=mars_homemars"
    four, three = net_for(SHORT_FOUR), net_for(INTERNATIONAL)
    for net, rules, words in (
        (four, INTERNATIONAL, other),
        (three, SHORT_FOUR, "four kinds of win, which net 'net' has not learned"),
    ):
        evaluator = Evaluator(net)
        board = variant_of(rules).start
        with pytest.raises(ConfigError, match=words):
            NetBot("net", evaluator, rules)
        with pytest.raises(ConfigError, match=words):
            rank_plays(evaluator, board, (3, 1), rules)
        with pytest.raises(ConfigError, match=words):
            Searcher(evaluator).rank(board, (3, 1), 1, rules)
        with pytest.raises(ConfigError, match=words):
            Searcher(evaluator).evaluate(board, 0, Situation(rules=rules))
        with pytest.raises(ConfigError, match=words):
            Roller(net, RolloutSettings(trials=36), rules)
        with pytest.raises(ConfigError, match=words):
            LuckMeter(net, rules)
        path = tmp_path / "net.safetensors"
        save_net(path, net)
        with pytest.raises(ConfigError, match="four kinds of win"):
            load_bot(f"net:{path}@1", rules)
    assert "--luck-net names one that has" in str(why_no_luck(SHORT_FOUR))


def test_with_the_cube_the_points_count(tmp_path: Path) -> None:
    """A position won for sure is worth its points, whoever holds the cube; matches are refused."""
    searcher = Searcher(Evaluator(net_for(SHORT_FOUR)), cache_bytes=1 << 16)
    rules = SHORT_FOUR.replace(cube=True)
    board = about_to_win(p6=15)
    board[1], board[2] = 0, 2
    for owner in (None, "opponent"):
        situation = Situation(rules=rules, cube_owner=owner, cube_offered=owner is not None)
        found = searcher.evaluate(board, 1, situation)
        assert points_of(found.probs) == pytest.approx(cubeless_equity(found.probs, 2), abs=1e-6)
        assert found.cubeful >= 1
    match = Situation(rules=rules.replace(match_to=5), mover_away=3, opp_away=5)
    with pytest.raises(ConfigError, match="as a match needs it"):
        searcher.evaluate(board, 1, match)


@pytest.mark.parametrize("game", ["short", "long"])
def test_a_run_learns_it_and_its_net_answers(
    game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = f"long,scoring={SCORING}" if game == "long" else f"scoring={SCORING}"
    text = config_text(TINY).replace('"contact-v1"', '"none"')
    config = tmp_path / "tiny.toml"
    config.write_text(text)
    out = tmp_path / "run"
    words = ["--config", str(config), "--seed", "1", "--out", str(out), "--workers", "1"]
    more = ["--game", "long", "--set", 'checks.opponents=["random"]'] if game == "long" else []
    assert main(["train", "--rules", rules, *words, *more]) == DONE
    told = capsys.readouterr().out
    for hint in ("use it:", "measure it:"):
        (line,) = (line for line in told.splitlines() if line.startswith(hint))
        command = line.removeprefix(hint).split()[1:]
        if command[0] == "benchmark":
            command += ["--games", "4", "--seed", "1"]
        assert main(command) == DONE
        assert "warning" not in capsys.readouterr().err
    net = out / "last.safetensors"
    assert load_net(net, None).four_kinds
    assert main(["train", "--resume", str(out), "--games", "240"]) == DONE
    assert load_net(net, None).four_kinds
    capsys.readouterr()

    asked = ["start", "--game", game, "--net", str(net), "--rules", rules]
    assert main(["best-move", *asked, "--dice", "31", "--ply", "1", "--json"]) == DONE
    plays = json.loads(capsys.readouterr().out)["plays"]
    for play in plays:
        points = points_of(np.array(list(play["probs"].values())))
        assert play["equity_cubeless"] == pytest.approx(points, abs=1e-5)
    assert main(["eval", *asked]) == DONE
    told = capsys.readouterr()
    assert "wins count 1, 2, 3, 4" in told.out
    assert "a home gammon counts half in the columns of backgammons" in told.out
    assert "warning" not in told.err
    assert main(["rollout", *asked, "--trials", "36", "--truncate", "4", "--seed", "1"]) == DONE
    assert "a home gammon counts half" in capsys.readouterr().out
    duel = ["benchmark", f"net:{net}", "random", "--games", "20", "--seed", "1", "--json"]
    assert main([*duel, "--game", game, "--rules", rules, "--luck-net", str(net)]) == DONE
    assert json.loads(capsys.readouterr().out)["luck_net"] == f"net:{net}"

    assert main(["best-move", *asked[:-2], "--dice", "31"]) == FAILED
    captured = capsys.readouterr()
    assert f"accepted: --rules scoring={SCORING}" in captured.err
    assert captured.out == ""
