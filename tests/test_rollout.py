"""Rollouts: exact where the truth is known, the same for any number of threads, fair."""

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.checkpoint import default_net_path, load_net
from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.net import ValueNet
from agent.rollout import Roller, Rollout, RolloutSettings, Start, first_throws, why_no_rollout
from agent.search import Searcher
from engine.bearoff.lookup import cubeless
from engine.bearoff.tables import load_tables
from engine.board import START, Board, flip
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.dice_stream import game_states, next_die
from engine.errors import ConfigError, PositionError
from engine.moves import legal_afterstates, legal_afterstates_batch
from engine.notation import parse_position
from engine.rules import INTERNATIONAL, Rules, parse_rules
from tests.nets import SMALL, random_net

FloatArray = NDArray[np.floating]
NET = random_net(SMALL, np.random.default_rng(2026))


def settings(trials: int = 36, **more: object) -> RolloutSettings:
    return RolloutSettings(trials=trials, **more)  # type: ignore[arg-type]


def board_of(mover: dict[int, int], opponent: dict[int, int]) -> Board:
    """Checkers of both sides by their own points."""
    board = np.zeros(26, dtype=np.int8)
    for point, n in mover.items():
        board[point] = n
    for point, n in opponent.items():
        board[25 - point] = -n
    return board


def last(roller: Roller, starts: list[Start]) -> Rollout:
    *_, end = roller.roll_out(starts)
    assert end.ended is not None
    return end


def roll(board: Board, how: RolloutSettings, net: ValueNet = NET, **more: object) -> Rollout:
    roller = Roller(net, how, **more)  # type: ignore[arg-type]
    return last(roller, roller.position(board))


MIDDLE = parse_position("XGID=-a--BaC-BA--cC--bb-c-b-Aa-:0:0:1:00:0:0:0:0:10").board
RACE = board_of({6: 3, 5: 3, 4: 3, 3: 2, 2: 2, 1: 2}, {6: 4, 5: 3, 4: 3, 3: 2, 2: 1, 1: 2})
ONE_EACH = board_of({6: 1}, {6: 1})


class TestThrows:
    def test_every_throw_and_every_pair_once(self) -> None:
        throws = first_throws(5, 0, 2 * 1296)
        for begin in range(0, len(throws), 36):
            for column in (0, 1):
                assert sorted(throws[begin : begin + 36, column]) == list(range(36))
        for begin in (0, 1296):
            pairs = throws[begin : begin + 1296]
            assert len({tuple(pair) for pair in pairs.tolist()}) == 1296
        assert (throws[:1296] != throws[1296:]).any()

    def test_any_trials_alone(self) -> None:
        whole = first_throws(5, 0, 3000)
        np.testing.assert_array_equal(first_throws(5, 1290, 2600), whole[1290:2600])
        assert (first_throws(6, 0, 36) != whole[:36]).any()


class TestExact:
    @pytest.mark.parametrize("luck", [False, True])
    def test_a_game_of_two_throws_comes_out_exactly(self, luck: bool) -> None:
        """Each side bears its last checker off with 27 of 36 throws, and surely with two."""
        line = roll(ONE_EACH, settings(1296, luck=luck)).lines[0]
        win = 27 / 36 + (9 / 36) ** 2
        np.testing.assert_allclose(line.probs, [win, 0, 0, 0, 0], rtol=0, atol=2e-7)
        assert line.equity == pytest.approx(2 * win - 1, abs=4e-7)
        assert line.ends == {"finished": 1296}
        assert not line.suspicious
        assert line.probs[0] == pytest.approx(cubeless(ONE_EACH[None])[0, 0], abs=1e-6)

    @pytest.mark.parametrize("luck", [False, True])
    def test_longer_bear_offs_agree_with_the_table(self, luck: bool) -> None:
        # One checker a side leaves hardly a choice, so that even a random net plays right.
        board = board_of({6: 1, 1: 1}, {5: 2})
        exact = cubeless(board[None])[0, 0]
        line = roll(board, settings(720, luck=luck)).lines[0]
        assert line.stderr > 0
        assert line.probs[0] == pytest.approx(exact, abs=4 * line.stderr_probs[0] + 1e-6)

    def test_known_positions_are_told_exactly(self) -> None:
        board = board_of({6: 2, 3: 2}, {5: 3, 1: 1})
        result = roll(board, settings(1296), tables=load_tables())
        line = result.lines[0]
        np.testing.assert_allclose(line.probs, cubeless(board[None])[0], atol=1e-7)
        assert line.settled == "exact"
        assert line.stderr == 0
        assert not line.suspicious
        assert result.ended == "settled"
        assert result.trials == 36
        assert line.ends == {"exact": 36}

    def test_trials_end_where_the_table_begins(self) -> None:
        board = board_of({6: 4, 5: 3}, {6: 4, 5: 3})
        line = roll(board, settings(36), tables=load_tables()).lines[0]
        assert line.ends["exact"] > 30
        assert 1 < line.mean_plies < 6

    def test_a_play_that_ends_the_game(self) -> None:
        before = board_of({1: 2}, {10: 1, 6: 14})
        roller = Roller(NET, settings(36))
        result = last(roller, roller.plays(legal_afterstates(before, (1, 2))))
        np.testing.assert_array_equal(result.lines[0].probs, [1, 1, 0, 0, 0])
        assert result.lines[0].equity == 2
        assert result.lines[0].settled == "over"


class TestSameFigures:
    def test_for_any_number_of_threads(self) -> None:
        results = [
            roll(MIDDLE, settings(40, seed=9, truncate=6, threads=threads)) for threads in (1, 2, 4)
        ]
        for result in results[1:]:
            for name in ("probs", "stderr_probs"):
                np.testing.assert_array_equal(
                    getattr(result.lines[0], name), getattr(results[0].lines[0], name)
                )
            assert result.lines[0].equity == results[0].lines[0].equity
        assert roll(MIDDLE, settings(40, seed=8, truncate=6)).lines[0].equity != (
            results[0].lines[0].equity
        )

    def test_lines_do_not_depend_on_their_company(self) -> None:
        roller = Roller(NET, settings(36, truncate=10))
        afterstates = legal_afterstates(MIDDLE, (3, 1))[:3]
        together = last(roller, roller.plays(afterstates))
        alone = last(roller, roller.plays(afterstates[2:3]))
        assert together.lines[2].equity == alone.lines[0].equity

    def test_whoever_looks(self) -> None:
        """The same game seen by the other side: probabilities swapped, equity negated."""
        roller = Roller(NET, settings(12))
        own = last(roller, roller.position(MIDDLE)).lines[0]
        other = last(roller, roller.plays(flip(MIDDLE)[None])).lines[0]
        assert other.equity == pytest.approx(-own.equity, abs=1e-12)
        np.testing.assert_allclose(
            other.probs, [1 - own.probs[0], *own.probs[3:], *own.probs[1:3]], atol=1e-12
        )
        assert other.stderr == pytest.approx(own.stderr, abs=1e-12)


class TestValues:
    def test_cut_at_once_it_is_the_net(self) -> None:
        line = roll(MIDDLE, settings(36, truncate=0)).lines[0]
        probs = Evaluator(NET).probabilities(MIDDLE[None])[0]
        np.testing.assert_allclose(line.probs, probs, rtol=0, atol=1e-7)
        assert line.settled == "valued"
        assert not line.suspicious
        deeper = roll(MIDDLE, settings(36, truncate=0, ply=1)).lines[0]
        looked = Searcher(Evaluator(NET)).probabilities(MIDDLE[None], 1)[0]
        np.testing.assert_allclose(deeper.probs, looked, rtol=0, atol=1e-7)

    def test_one_ply_of_all_throws_is_the_mean_over_the_rolls(self) -> None:
        for luck in (False, True):
            line = roll(MIDDLE, settings(36, truncate=1, luck=luck)).lines[0]
            looked = Searcher(Evaluator(NET)).probabilities(MIDDLE[None], 1)[0]
            np.testing.assert_allclose(line.probs, looked, rtol=0, atol=1e-6)
            assert line.settled == ("valued" if luck else None)

    def test_luck_taken_off_leaves_the_mean(self) -> None:
        plain = roll(RACE, settings(360, luck=False)).lines[0]
        less = roll(RACE, settings(360)).lines[0]
        error = (plain.stderr**2 + less.stderr**2) ** 0.5
        assert abs(plain.equity - less.equity) < 4 * error
        errors = np.hypot(plain.stderr_probs, less.stderr_probs)
        assert (np.abs(plain.probs - less.probs) <= 4 * errors + 1e-9).all()

    def test_luck_taken_off_leaves_little_spread(self) -> None:
        net = load_net(default_net_path())
        plain, less = (
            roll(START, settings(72, truncate=10, luck=luck), net=net).lines[0]
            for luck in (False, True)
        )
        assert 4 * less.stderr < plain.stderr
        assert (3 * less.stderr_probs < plain.stderr_probs).all()
        assert abs(plain.equity - less.equity) < 4 * plain.stderr

    def test_equity_is_that_of_the_probabilities(self) -> None:
        line = roll(MIDDLE, settings(36, truncate=20, luck=False)).lines[0]
        assert line.equity == pytest.approx(float(cubeless_equity(line.probs)), abs=1e-5)

    @pytest.mark.parametrize("rules", ["international", "caucasian", "arena"])
    def test_against_a_slow_rollout(self, rules: str) -> None:
        how = settings(36, truncate=6, seed=4)
        held = parse_rules(rules)
        values, lucks = reference(MIDDLE, how, held, 2)
        for luck in (False, True):
            fast = trials(MIDDLE, RolloutSettings(trials=36, truncate=6, seed=4, luck=luck), held)
            np.testing.assert_allclose(fast[:2], values - luck * lucks, rtol=0, atol=2e-6)

    def test_deeper_plays_are_those_of_the_search(self) -> None:
        how = settings(36, truncate=3, seed=4, ply=1, luck=False)
        fast = trials(MIDDLE, how, INTERNATIONAL)
        values, _ = reference(MIDDLE, how, INTERNATIONAL, 4)
        np.testing.assert_allclose(fast[:4], values, rtol=0, atol=2e-6)


class TestOutcomes:
    @pytest.mark.parametrize("luck", [False, True])
    def test_probabilities_are_ordered(self, luck: bool) -> None:
        for board in (START, MIDDLE, RACE):
            line = roll(board, settings(12, luck=luck)).lines[0]
            win, gammon, bg, lose_gammon, lose_bg = line.probs
            assert 1 >= win >= gammon >= bg >= 0
            assert 1 - win >= lose_gammon >= lose_bg >= 0

    @pytest.mark.parametrize("luck", [False, True])
    def test_no_gammon_once_a_checker_is_off(self, luck: bool) -> None:
        board = parse_position("YEYF4TnO7w4AAA").board
        roller = Roller(NET, settings(12, luck=luck))
        result = last(roller, roller.plays(legal_afterstates(board, (5, 4))))
        assert len(result.lines) == 2
        for line in result.lines:
            np.testing.assert_array_equal(line.probs[3:], 0)
            np.testing.assert_array_equal(line.stderr_probs[3:], 0)

    def test_zero_spread_is_suspicious_unless_decided(self) -> None:
        board = board_of({1: 1}, {6: 10, 5: 5})
        unknown = roll(board, settings(luck=False)).lines[0]
        assert unknown.stderr == 0
        assert unknown.suspicious
        known = roll(board, settings(luck=False), tables=load_tables()).lines[0]
        assert known.settled == "decided"
        assert not known.suspicious
        # Nearly won is not decided, however many trials say so.
        near = board_of({1: 3}, {1: 3})
        assert not roll(near, settings(luck=False), tables=load_tables()).lines[0].suspicious
        likely = board_of({6: 6, 5: 6, 4: 3}, {8: 15})
        line = roll(likely, settings(luck=False), tables=load_tables()).lines[0]
        assert line.settled is None
        assert line.suspicious == (line.stderr == 0)


class TestStopping:
    def test_at_a_width(self) -> None:
        how = settings(2_000, truncate=6, until_width=0.05)
        result = roll(MIDDLE, how)
        assert result.ended == "width"
        assert 144 <= result.trials < 2_000
        assert result.trials % 36 == 0
        assert 1.96 * result.lines[0].stderr <= 0.05
        threads = roll(MIDDLE, settings(2_000, truncate=6, until_width=0.05, threads=2))
        assert threads.trials == result.trials

    def test_the_two_best_plays_are_told_apart(self) -> None:
        roller = Roller(NET, settings(2_000, truncate=2, until_width=0.06))
        result = last(roller, roller.plays(legal_afterstates(MIDDLE, (6, 1))[:3]))
        best, second = (result.lines[i] for i in result.order[:2])
        assert best.diff == 0
        assert best.stderr_diff == 0
        assert second.diff <= 0
        assert result.ended == "width"
        assert 1.96 * second.stderr_diff <= 0.06

    def test_no_width_is_trusted_without_spread(self) -> None:
        board = board_of({1: 1}, {6: 10, 5: 5})
        result = roll(board, settings(180, luck=False, until_width=0.1))
        assert result.ended == "trials"
        assert result.trials == 180

    def test_progress(self) -> None:
        roller = Roller(NET, settings(100, truncate=2))
        seen = [(r.trials, r.ended) for r in roller.roll_out(roller.position(MIDDLE))]
        assert seen == [(36, None), (72, None), (100, "trials")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trials": 0}, "trials '0'"),
        ({"truncate": -1}, "truncate '-1'"),
        ({"ply": 9}, "ply '9'"),
        ({"seed": -1}, "seed '-1'"),
        ({"threads": 0}, "threads '0'"),
        ({"until_width": 0.0}, "width '0.0'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_settings_that_do_not_fit(change: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RolloutSettings(**change)  # type: ignore[arg-type]


def test_rules_that_cannot_be_rolled_out() -> None:
    assert why_no_rollout(parse_rules("caucasian")) is None
    for switches, word in (
        ({"end_rule": "last_chance_draw"}, "last throw"),
        ({"scoring": "mars_homemars_koks_1234"}, "four kinds"),
    ):
        with pytest.raises(ConfigError, match=word):
            Roller(NET, settings(), INTERNATIONAL.replace(**switches))
    roller = Roller(NET, settings())
    with pytest.raises(PositionError, match="over"):
        roller.position(board_of({}, {1: 1}))


def trials(board: Board, how: RolloutSettings, rules: Rules) -> FloatArray:
    """`(N, 5)` of each trial: rollouts of one more trial each, taken apart."""
    roller = Roller(NET, how, rules)
    played = roller._round(roller.position(board), 0, how.trials)[0]
    values = played.values[:, :5].copy()
    if rules.scoring == "oin_mars_12":
        values[:, [2, 4]] = 0
    return values


def reference(
    board: Board, how: RolloutSettings, rules: Rules, n: int
) -> tuple[FloatArray, FloatArray]:
    """Values and luck `(n, 5)` of the first trials, by the public functions."""
    searcher = Searcher(Evaluator(NET))
    throws = first_throws(how.seed, 0, n)
    dice = game_states(how.seed, 0, n)
    values, lucks = np.zeros((n, 5)), np.zeros((n, 5))

    def of_mover(probs: FloatArray, ply: int) -> FloatArray:
        if rules.scoring == "oin_mars_12":
            probs = probs.copy()
            probs[..., [2, 4]] = 0
        return probs if ply % 2 == 0 else swap_sides(probs)

    for trial in range(n):
        seen = board
        assert how.truncate is not None
        for ply in range(how.truncate):
            if ply < 2:
                faces = divmod(int(throws[trial, ply]), 6)
                dice_now = (faces[0] + 1, faces[1] + 1)
            else:
                dice_now = (int(next_die(dice, trial)), int(next_die(dice, trial)))
            rolls = np.array([dice_now], dtype=np.int8)
            if how.luck:
                mean = np.zeros(5)
                for faces_of, weight in zip(ROLLS, ROLL_WEIGHTS, strict=True):
                    rows, _ = legal_afterstates_batch(seen[None], faces_of[None], rules)
                    after = searcher.choose(seen[None], faces_of[None], 0, rules)
                    assert (rows == after).all(axis=1).any()
                    value = of_mover(searcher.probabilities(flip(after), 0)[0], ply + 1)
                    mean += weight * value / 36
                    if sorted(faces_of.tolist()) == sorted(dice_now):
                        thrown = value
                lucks[trial] += thrown - mean
            seen = flip(searcher.choose(seen[None], rolls, how.ply, rules)[0])
            if (seen[1:25] <= 0).all() and seen[25] == 0:
                break
        else:
            ply += 1
        values[trial] = of_mover(searcher.probabilities(seen[None], how.ply, rules)[0], ply)
    return values, lucks


class TestSorter:
    """A net that sorts plays is for the luck alone: the net plays what it plays without one."""

    # Many plays a roll, or a sorter would leave them all.
    SPREAD = board_of(
        {24: 1, 22: 1, 18: 2, 13: 3, 11: 1, 9: 2, 8: 2, 6: 2, 4: 1},
        {24: 1, 21: 2, 15: 1, 13: 3, 10: 2, 8: 2, 6: 3, 3: 1},
    )
    SORTER = random_net(SMALL, np.random.default_rng(7))

    def test_results_are_those_without_a_sorter(self) -> None:
        how = settings(72, truncate=12, luck=False, seed=3)
        one, other = roll(self.SPREAD, how), roll(self.SPREAD, how, sorter=self.SORTER)
        np.testing.assert_allclose(other.lines[0].probs, one.lines[0].probs, atol=1e-6)
        np.testing.assert_allclose(other.lines[0].stderr, one.lines[0].stderr, atol=1e-6)

    def test_luck_keeps_its_mean(self) -> None:
        """The games are the same, so the luck taken off is all that differs."""
        how = settings(360, truncate=6, seed=3)
        one, other = roll(self.SPREAD, how), roll(self.SPREAD, how, sorter=self.SORTER)
        error = np.hypot(one.lines[0].stderr, other.lines[0].stderr)
        assert 0 < abs(one.lines[0].equity - other.lines[0].equity) < 4 * error
