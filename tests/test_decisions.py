"""Loss per decision and value errors against plain reckoning."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.bot import Bot, NetBot, load_bot
from agent.evaluator import Evaluator, cubeless_equity
from engine.board import START, Board, IntArray, flip, has_contact
from engine.errors import ConfigError
from engine.moves import legal_afterstates, legal_afterstates_batch
from engine.notation import parse_play, parse_position
from engine.rules import INTERNATIONAL
from eval.decisions import (
    mean_differences,
    measure_decisions,
    measure_positions,
    worst_misses,
)
from eval.phases import PHASE_NAMES, phase_numbers
from eval.references import OUTPUTS, DecisionSet, read_decisions, read_positions
from eval.value_errors import rmse_differences
from tests.decision_files import made_up_decisions, made_up_positions, write_lines
from tests.nets import SMALL, random_net

BASELINES = ["random", "pip-greedy", "pubeval"]


@pytest.fixture(scope="module")
def net_bot() -> NetBot:
    return NetBot("small", Evaluator(random_net(SMALL, np.random.default_rng(2026))))


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return made_up_decisions(np.random.default_rng(7), 120)


@pytest.fixture(scope="module")
def decisions(lines: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> DecisionSet:
    return read_decisions(write_lines(tmp_path_factory.mktemp("d") / "d.jsonl.gz", lines))


def one_decision(path: Path, board: list[int], roll: list[int], *worth: float) -> DecisionSet:
    """The first plays of a roll, in order, and what they are worth."""
    plays = legal_afterstates(board, roll)
    candidates = [
        {"afterstate": after.tolist(), "equity": equity}
        for after, equity in zip(plays, worth, strict=False)
    ]
    line = {"before": board, "dice": roll, "candidates": candidates}
    return read_decisions(write_lines(path / "one.jsonl", [line]))


# --- what bots take ---


@pytest.mark.parametrize("name", ["pip-greedy", "pubeval"])
def test_of_all_plays_a_bot_takes_what_it_plays(name: str, rng: np.random.Generator) -> None:
    some = made_up_decisions(rng, 300)
    boards = np.array([line["before"] for line in some], dtype=np.int8)
    rolls = np.array([line["dice"] for line in some], dtype=np.int8)
    bot = load_bot(name)
    afterstates, offsets = legal_afterstates_batch(boards, rolls)
    shares = bot.candidate_shares(boards, afterstates, offsets)
    assert set(shares) == {0.0, 1.0}
    assert (afterstates[shares == 1] == bot.choose(boards, rolls)).all()


def test_a_net_takes_what_it_plays(net_bot: NetBot, rng: np.random.Generator) -> None:
    some = made_up_decisions(rng, 300)
    boards = np.array([line["before"] for line in some], dtype=np.int8)
    rolls = np.array([line["dice"] for line in some], dtype=np.int8)
    afterstates, offsets = legal_afterstates_batch(boards, rolls)
    shares = net_bot.candidate_shares(boards, afterstates, offsets)
    # Rounding differs between boards judged one by one and from their parent's sums.
    same = (afterstates[shares == 1] == net_bot.choose(boards, rolls)).all(axis=1)
    assert same.mean() > 0.98


def test_random_takes_all_alike() -> None:
    bot = load_bot("random")
    offsets = np.array([0, 2, 3, 7])
    shares = bot.candidate_shares(np.tile(START, (3, 1)), np.tile(START, (7, 1)), offsets)
    assert shares.tolist() == [0.5, 0.5, 1.0, 0.25, 0.25, 0.25, 0.25]


def test_ties_are_broken_as_in_play(tmp_path: Path) -> None:
    """Of equal plays pip-greedy takes the last, others the first, whatever the file's order."""
    plays = legal_afterstates(START, (3, 1)).tolist()
    for order in ((0, 1), (1, 0)):
        candidates = [{"afterstate": plays[n], "equity": float(n)} for n in order]
        line = {"before": START.tolist(), "dice": [3, 1], "candidates": candidates}
        found = read_decisions(write_lines(tmp_path / "d.jsonl", [line]))
        assert measure_decisions(load_bot("pip-greedy"), found).losses.tolist() == [0]

        class Indifferent(Bot):
            has_probabilities = True

            def choose(self, *_: object) -> Board:
                raise AssertionError

            def probabilities(self, boards: Board) -> "np.ndarray[Any, np.dtype[np.float32]]":
                return np.full((len(boards), 5), 0.25, dtype=np.float32)

        assert measure_decisions(Indifferent("same"), found).losses.tolist() == [1]


def test_pubeval_goes_by_the_position_before_the_play(tmp_path: Path) -> None:
    """Passing the last enemy is judged with the weights for contact, as it plays."""
    board = [0] * 26
    board[13], board[6], board[5], board[4] = 1, 5, 5, 4
    board[10], board[20], board[21] = -1, -8, -6
    bot = load_bot("pubeval")
    found = one_decision(tmp_path, board, [6, 4], *np.linspace(0, 1, 30))
    assert len(found.afterstates) >= 2
    taken = found.afterstates[measure_decisions(bot, found).shares == 1][0]
    assert (taken == bot.best_play(board, (6, 4)).afterstate).all()
    assert has_contact(board)
    assert not has_contact(found.afterstates).all()


def test_a_bot_without_probabilities_has_to_rank() -> None:
    class Mute(Bot):
        def choose(self, *_: object) -> Board:
            raise AssertionError

    with pytest.raises(ConfigError, match="bot 'mute' only chooses plays"):
        Mute("mute").candidate_shares(START[np.newaxis], START[np.newaxis], np.array([0, 1]))


def test_finished_games_are_worth_their_result(net_bot: NetBot, tmp_path: Path) -> None:
    """Bearing off the last two beats everything that a net may think of the rest."""
    board = [0] * 26
    board[1], board[4], board[20] = 1, 1, -3
    found = one_decision(tmp_path, board, [4, 1], 0.9, 1.0)
    finished = int(np.flatnonzero(~(found.afterstates[:, 1:] > 0).any(axis=1))[0])
    assert measure_decisions(net_bot, found).shares[finished] == 1
    assert measure_decisions(load_bot("pubeval"), found).shares[finished] == 1


# --- figures ---


def plain_losses(bot: Bot, lines: list[dict[str, Any]]) -> list[float]:
    """One decision after the other, from the file's own objects."""
    losses = []
    for line in lines:
        candidates = sorted(line["candidates"], key=lambda each: each["afterstate"])
        equities = [each["equity"] for each in candidates]
        if bot.name == "random":
            taken = sum(equities) / len(equities)
        elif bot.has_probabilities:
            after = np.array([each["afterstate"] for each in candidates], dtype=np.int8)
            own = -cubeless_equity(bot.probabilities(flip(after)))
            taken = equities[int(np.argmax(own))]
        else:
            taken = equities[int(np.argmax(_plain_scores(bot, line, candidates)))]
        losses.append(max(equities) - taken)
    return losses


def _plain_scores(bot: Bot, line: dict[str, Any], candidates: list[dict[str, Any]]) -> Any:
    """1 for the candidate that the bot takes alone of these, found by asking about pairs."""
    board = np.array([line["before"]], dtype=np.int8)
    boards = [np.array(each["afterstate"], dtype=np.int8) for each in candidates]
    wins = np.zeros(len(boards))
    for i in range(len(boards)):
        for j in range(i + 1, len(boards)):
            pair = np.stack([boards[i], boards[j]])
            shares = bot.candidate_shares(board, pair, np.array([0, 2]))
            wins[i] += shares[0]
            wins[j] += shares[1]
    return wins


@pytest.mark.parametrize("name", [*BASELINES, "net"])
def test_losses(
    name: str, lines: list[dict[str, Any]], decisions: DecisionSet, net_bot: NetBot
) -> None:
    bot = net_bot if name == "net" else load_bot(name)
    measured = measure_decisions(bot, decisions)
    expected = np.array(plain_losses(bot, lines))
    assert measured.bot == bot.name
    assert measured.losses == pytest.approx(expected, abs=1e-12)
    assert (measured.losses >= 0).all()
    n = len(lines)
    overall = measured.overall
    assert overall.loss.n == overall.best.n == n
    assert overall.loss.mean == pytest.approx(expected.mean())
    assert overall.loss.stderr == pytest.approx(expected.std(ddof=1) / math.sqrt(n))
    assert overall.pr.mean == pytest.approx(500 * expected.mean())
    assert overall.pr.stderr == pytest.approx(500 * overall.loss.stderr)
    if name != "random":
        assert overall.best.mean == pytest.approx((expected == 0).mean())
    # Phases part the decisions.
    phases = [PHASE_NAMES[i] for i in phase_numbers([line["before"] for line in lines])]
    assert list(measured.by_phase) == [name for name in PHASE_NAMES if name in phases]
    for phase, figures in measured.by_phase.items():
        some = expected[[each == phase for each in phases]]
        assert figures.loss.n == len(some)
        assert figures.loss.mean == pytest.approx(some.mean())


def test_random_takes_the_best_as_often_as_there_are_plays(
    lines: list[dict[str, Any]], decisions: DecisionSet
) -> None:
    measured = measure_decisions(load_bot("random"), decisions)
    expected = np.mean([1 / len(line["candidates"]) for line in lines])
    assert measured.overall.best.mean == pytest.approx(expected)
    assert measured.values is None


def test_all_of_equal_best_plays_count_as_best(tmp_path: Path) -> None:
    found = one_decision(tmp_path, START.tolist(), [3, 1], 0.5, 0.5, 0.2)
    measured = measure_decisions(load_bot("random"), found)
    assert measured.overall.best.mean == pytest.approx(2 / 3)
    assert measured.overall.loss.mean == pytest.approx(0.1)
    assert math.isnan(measured.overall.pr.stderr)


def test_who_knows_the_truth_loses_nothing(decisions: DecisionSet) -> None:
    class Oracle(Bot):
        def choose(self, *_: object) -> Board:
            raise AssertionError

        def candidate_shares(
            self, boards: Board, afterstates: Board, offsets: IntArray
        ) -> "np.ndarray[Any, np.dtype[np.float64]]":
            shares = np.zeros(len(afterstates))
            for first, end in itertools.pairwise(offsets):
                shares[first + int(np.argmax(decisions.equities[first:end]))] = 1
            return shares

    measured = measure_decisions(Oracle("oracle"), decisions)
    assert measured.overall.loss.mean == 0
    assert measured.overall.best.mean == 1
    assert worst_misses(measured, decisions, 10) == []


# --- two bots ---


def test_paired_differences(decisions: DecisionSet, net_bot: NetBot) -> None:
    a = measure_decisions(load_bot("pubeval"), decisions)
    b = measure_decisions(net_bot, decisions)
    overall, by_phase = mean_differences(a, b, decisions)
    differences = a.losses - b.losses
    assert overall.mean == pytest.approx(a.overall.loss.mean - b.overall.loss.mean)
    assert overall.stderr == pytest.approx(differences.std(ddof=1) / math.sqrt(len(differences)))
    assert list(by_phase) == list(a.by_phase)
    for phase, each in by_phase.items():
        mean = a.by_phase[phase].loss.mean - b.by_phase[phase].loss.mean
        assert each.mean == pytest.approx(mean)
        assert each.n == a.by_phase[phase].loss.n
    same, _ = mean_differences(a, a, decisions)
    assert (same.mean, same.stderr) == (0, 0)


# --- the worst ---


@pytest.mark.parametrize("name", ["pubeval", "random"])
def test_worst_misses(name: str, lines: list[dict[str, Any]], decisions: DecisionSet) -> None:
    bot = load_bot(name)
    measured = measure_decisions(bot, decisions)
    misses = worst_misses(measured, decisions, 15)
    assert [miss.loss for miss in misses] == sorted(measured.losses, reverse=True)[:15]
    for miss in misses:
        line = lines[miss.line - 1]
        position = parse_position(miss.gnuid)
        assert position.board.tolist() == line["before"]
        assert position.dice is not None
        assert sorted(position.dice) == sorted(line["dice"]) == sorted(miss.roll)
        by_board = {tuple(each["afterstate"]): each for each in line["candidates"]}

        def found(
            text: str,
            board: Board = position.board,
            roll: tuple[int, int] = miss.roll,
            by_board: dict[tuple[int, ...], dict[str, Any]] = by_board,
        ) -> dict[str, Any]:
            return by_board[tuple(parse_play(text, board, roll, INTERNATIONAL).afterstate.tolist())]

        best = found(miss.best_play)
        assert best["equity"] == max(each["equity"] for each in line["candidates"])
        number = int(phase_numbers(position.board[np.newaxis])[0])
        assert miss.phase == PHASE_NAMES[number]
        if name == "random":
            assert miss.play is None
            assert math.isnan(miss.stderr_loss)
        else:
            assert miss.play is not None
            taken = found(miss.play)
            assert best["equity"] - taken["equity"] == pytest.approx(miss.loss)
            assert miss.stderr_loss == pytest.approx(math.hypot(best["se"], taken["se"]))


def test_fewer_misses_than_asked_for(tmp_path: Path) -> None:
    found = one_decision(tmp_path, START.tolist(), [3, 1], 0.5, 0.4)
    right = measure_decisions(load_bot("pubeval"), found)
    assert len(worst_misses(right, found, 5)) == int(right.overall.loss.mean > 0)
    assert worst_misses(measure_decisions(load_bot("random"), found), found, 0) == []


# --- values ---


def clustered_stderr(values: "np.ndarray[Any, Any]", sizes: list[int]) -> float:
    """Standard error of the mean from the spread of what whole groups add, group by group."""
    mean = values.mean()
    start, total = 0, 0.0
    for size in sizes:
        total += float((values[start : start + size] - mean).sum()) ** 2
        start += size
    n = len(sizes)
    return math.sqrt(n / (n - 1) * total) / len(values)


def test_values_of_candidates(
    lines: list[dict[str, Any]], decisions: DecisionSet, net_bot: NetBot
) -> None:
    measured = measure_decisions(net_bot, decisions)
    assert measured.values is not None
    candidates = [
        each
        for line in lines
        for each in sorted(line["candidates"], key=lambda one: one["afterstate"])
    ]
    after = np.array([each["afterstate"] for each in candidates], dtype=np.int8)
    opp = net_bot.probabilities(flip(after)).astype(float)
    own = np.column_stack([1 - opp[:, 0], opp[:, 3], opp[:, 4], opp[:, 1], opp[:, 2]])
    equity = 2 * own[:, 0] - 1 + own[:, 1] + own[:, 2] - own[:, 3] - own[:, 4]
    expected = {"equity": equity - [each["equity"] for each in candidates]}
    for i, name in enumerate(OUTPUTS):
        expected[name] = own[:, i] - [each["probs"][i] for each in candidates]
    assert list(measured.values.fits) == ["equity", *OUTPUTS]
    sizes = [len(line["candidates"]) for line in lines]
    for name, fit in measured.values.fits.items():
        errors = expected[name]
        rmse = math.sqrt((errors**2).mean())
        assert fit.bias.mean == pytest.approx(errors.mean(), abs=1e-6)
        assert fit.bias.stderr == pytest.approx(clustered_stderr(errors, sizes), rel=1e-4)
        assert fit.rmse.mean == pytest.approx(rmse, rel=1e-4)
        assert fit.rmse.stderr == pytest.approx(
            clustered_stderr(errors**2, sizes) / (2 * rmse), rel=1e-3
        )


def test_values_of_positions(net_bot: NetBot, tmp_path: Path, rng: np.random.Generator) -> None:
    """Both kinds of lines: the same position told before the roll and as an afterstate."""
    some = [line for line in made_up_positions(rng, 80) if "board" in line]
    turned = []
    for line in some:
        win, win_gammon, win_bg, lose_gammon, lose_bg = line["probs"]
        turned.append(
            {
                "afterstate": flip(line["board"]).tolist(),
                "equity": -line["equity"],
                "probs": [1 - win, lose_gammon, lose_bg, win_gammon, win_bg],
            }
        )
    plain = measure_positions(net_bot, read_positions(write_lines(tmp_path / "a", some)))
    other = measure_positions(net_bot, read_positions(write_lines(tmp_path / "b", turned)))
    assert plain.n == len(some) == 40
    swaps = {
        "equity": ("equity", -1),
        "win": ("win", -1),
        "win_gammon": ("lose_gammon", 1),
        "win_bg": ("lose_bg", 1),
    }
    for name, (swapped, sign) in swaps.items():
        assert plain.errors[name] == pytest.approx(sign * other.errors[swapped], abs=1e-5)
    probs = net_bot.probabilities(np.array([line["board"] for line in some], dtype=np.int8))
    errors = cubeless_equity(probs) - [line["equity"] for line in some]
    fit = plain.fits["equity"]
    assert fit.bias.mean == pytest.approx(errors.mean(), abs=1e-5)
    assert fit.bias.stderr == pytest.approx(errors.std(ddof=1) / math.sqrt(40), rel=1e-4)
    assert fit.rmse.mean == pytest.approx(math.sqrt((errors**2).mean()), rel=1e-4)


def test_difference_of_rmse(net_bot: NetBot, tmp_path: Path, rng: np.random.Generator) -> None:
    """The paired error agrees with that of resampled positions."""
    other = NetBot("other", Evaluator(random_net(SMALL, np.random.default_rng(5))))
    path = write_lines(tmp_path / "p", made_up_positions(rng, 200))
    a, b = (measure_positions(bot, read_positions(path)) for bot in (net_bot, other))
    difference = rmse_differences(a, b)["equity"]
    one, two = a.errors["equity"] ** 2, b.errors["equity"] ** 2
    assert difference.mean == pytest.approx(math.sqrt(one.mean()) - math.sqrt(two.mean()))
    picks = rng.integers(0, len(one), size=(4000, len(one)))
    spread = (np.sqrt(one[picks].mean(axis=1)) - np.sqrt(two[picks].mean(axis=1))).std()
    assert difference.stderr == pytest.approx(spread, rel=0.1)
    assert rmse_differences(a, a)["win"].mean == 0


@pytest.mark.parametrize("name", BASELINES)
def test_positions_need_probabilities(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    path = write_lines(tmp_path / "p", made_up_positions(rng, 4))
    with pytest.raises(ConfigError, match=f"bot '{name}' only chooses plays"):
        measure_positions(load_bot(name), read_positions(path))
