"""Texts that name bots, and what every bot offers."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.baselines import PipGreedyBot, PubevalBot, RandomBot
from agent.bot import BOT_TEXTS, Bot, NetBot, SearchBot, best_rows, load_bot
from agent.checkpoint import save_net
from agent.evaluator import cubeless_equity
from agent.net import NetConfig, ValueNetConfig, new_value_net
from engine.board import START, Board, flip
from engine.errors import CheckpointError, ConfigError, PositionError
from engine.moves import legal_afterstates, play_steps
from engine.notation import parse_play
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, Rules
from engine.scoring import result_factors
from eval.duel import play_duel
from tests.strategies import mixed_boards

# With 6-2 the checkers on 10 hit on 8 and could go on to 2, but not under the Caucasian rules.
HIT_AND_HIDE = [0, 0, 2, 0, 0, 0, 0, 0, -1, 0, 2, *[0] * 8, -2, *[0] * 6]


# --- texts ---


@pytest.mark.parametrize(
    ("text", "kind"),
    [("random", RandomBot), ("pip-greedy", PipGreedyBot), ("pubeval", PubevalBot)],
)
@pytest.mark.parametrize("depth", ["", "@0", "@00"])
def test_baselines_by_name(text: str, depth: str, kind: type[Bot]) -> None:
    bot = load_bot(text + depth, CAUCASIAN)
    assert type(bot) is kind
    assert bot.name == text + depth
    assert bot.rules == CAUCASIAN


def test_blanks_around_a_name_do_no_harm() -> None:
    assert load_bot(" pubeval\n").name == "pubeval"


@pytest.mark.parametrize(
    "text",
    [
        *("", "@0", "gnubg", "Pubeval", "nets", "net:", "net:@0", "random:x", "random\nx"),
        *("random@", "random@x", "random@-1", "pubeval@0@0", "pubeval@٠"),
    ],
)
def test_unknown_texts(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_bot(text)
    message = str(caught.value)
    assert f"unknown bot '{text}'" in message
    assert all(known in message for known in BOT_TEXTS)


@pytest.mark.parametrize("text", ["random@1", "pubeval@2", "pip-greedy@1", "random@1s"])
def test_depth_is_for_nets(text: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot look ahead; accepted: \S+$"):
        load_bot(text)


@pytest.mark.parametrize("text", ["net:{}", "net:{}@0"])
def test_a_missing_net(text: str, tmp_path: Path) -> None:
    file = tmp_path / "at@home" / "none.safetensors"
    with pytest.raises(CheckpointError, match=r"at@home/none\.safetensors"):
        load_bot(text.format(file))


# --- best_play ---


def test_best_play() -> None:
    play = load_bot("pubeval").best_play(START, (1, 3))
    assert play.text == "8/5 6/5"
    assert play.afterstate.dtype == np.int8
    assert play_steps(START, (1, 3), play.steps).tolist() == play.afterstate.tolist()


def test_best_play_is_what_choose_chooses(rng: np.random.Generator) -> None:
    positions = mixed_boards(rng)
    for text in ("pubeval", "pip-greedy", "random"):
        bot = load_bot(text, CAUCASIAN)
        for _ in range(20):
            board, roll = next(positions)
            draw = float(rng.random())
            play = bot.best_play(board, roll, draw)
            one = np.array([board], dtype=np.int8), np.array([roll], dtype=np.int8)
            assert play.afterstate.tolist() == bot.choose(*one, np.array([draw]))[0].tolist()
            after = play_steps(board, roll, play.steps, CAUCASIAN)
            assert after.tolist() == play.afterstate.tolist()
            read = parse_play(play.text, np.array(board, dtype=np.int8), roll, CAUCASIAN)
            assert read.afterstate.tolist() == play.afterstate.tolist()


def test_best_play_keeps_to_the_rules() -> None:
    """Hitting and going on to safety is one of the plays only where it is allowed."""
    hides = [1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, *[0] * 8, -2, *[0] * 6]
    for rules in (INTERNATIONAL, CAUCASIAN):
        bot = load_bot("random", rules)
        draws = (np.arange(50) + 0.5) / 50
        plays = [bot.best_play(HIT_AND_HIDE, (6, 2), float(draw)) for draw in draws]
        found = {tuple(play.afterstate.tolist()) for play in plays}
        assert found == set(map(tuple, legal_afterstates(HIT_AND_HIDE, (6, 2), rules).tolist()))
        assert (tuple(hides) in found) == (rules == INTERNATIONAL)


def test_forced_pass() -> None:
    closed = [0] * 6 + [5] + [0] * 12 + [-2] * 6 + [1]
    play = load_bot("pubeval").best_play(closed, (6, 6))
    assert play.steps == ()
    assert play.afterstate.tolist() == closed


@pytest.mark.parametrize(
    ("board", "roll"), [([0] * 26, (3, 1)), (START, (7, 1)), (START[1:], (3, 1))]
)
def test_best_play_checks_what_it_gets(board: list[int], roll: tuple[int, int]) -> None:
    with pytest.raises(PositionError):
        load_bot("pubeval").best_play(board, roll)


def test_baselines_have_no_probabilities() -> None:
    with pytest.raises(ConfigError, match=r"'pubeval' only chooses plays.*net:FILE"):
        load_bot("pubeval").probabilities(START[np.newaxis])


# --- best_rows ---


def test_best_rows(rng: np.random.Generator) -> None:
    counts = rng.integers(1, 6, size=200)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    scores = rng.integers(-3, 4, size=offsets[-1])
    rows = best_rows(scores, offsets)
    expected = [
        start + int(np.argmax(scores[start:end]))
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    assert rows.tolist() == expected
    assert best_rows(np.empty(0), np.zeros(1, dtype=np.int64)).tolist() == []


# --- nets ---


class PipEvaluator:
    """Stands for a net: the side that is ahead in pips wins more, gammons and all."""

    name = "pips"
    net = new_value_net(ValueNetConfig(), np.random.default_rng(1))
    """Whose kinds of win are three; it is not asked."""

    def for_rules(self, rules: Rules) -> "PipEvaluator":
        return self

    def probabilities(self, boards: Board) -> NDArray[np.float32]:
        from engine.board import opp_pip_count, pip_count

        win = 0.5 + (opp_pip_count(boards) - pip_count(boards)) / 1000
        ends = result_factors(boards)
        win = np.where(ends == 0, win, ends > 0)
        probs = [win, 0.5 * win, 0.4 * win, 0.5 * (1 - win), 0.4 * (1 - win)]
        return np.stack(probs, axis=1).astype(np.float32)

    def choose(self, boards: Board, rolls: NDArray[np.int8], rules: Rules) -> Board:
        raise AssertionError("its own choice is for international rules alone")


def net_bot(rules: Rules) -> NetBot:
    return NetBot("net:pips", PipEvaluator(), rules)  # type: ignore[arg-type]


def test_a_net_leaves_international_plays_to_its_evaluator() -> None:
    rolls = np.array([[3, 1]], dtype=np.int8)
    for rules in (INTERNATIONAL, INTERNATIONAL.replace(jacoby=True, cube=False, match_to=7)):
        with pytest.raises(AssertionError, match="international"):
            net_bot(rules).choose(START[np.newaxis], rolls)


@pytest.mark.parametrize("rules", [CAUCASIAN, ARENA], ids=str)
def test_a_net_plays_by_house_rules(rules: Rules, rng: np.random.Generator) -> None:
    """The best afterstate is the one on which the other side's equity is lowest."""
    positions = mixed_boards(rng)
    bot = net_bot(rules)
    some = [next(positions) for _ in range(40)]
    boards = np.array([board for board, _ in some], dtype=np.int8)
    rolls = np.array([roll for _, roll in some], dtype=np.int8)
    for board, roll, after in zip(boards, rolls, bot.choose(boards, rolls), strict=True):
        rows = legal_afterstates(board, roll.tolist(), rules)
        win, wg, wb, lg, lb = bot.probabilities(flip(rows)).T
        backgammons = wb - lb if rules == CAUCASIAN else 0
        opp_equities = 2 * win - 1 + wg - lg + backgammons
        assert after.tolist() == rows[int(np.argmin(opp_equities))].tolist()


def test_a_net_of_three_kinds_of_win_does_not_know_four() -> None:
    with pytest.raises(ConfigError, match="mars_homemars_koks_1234"):
        net_bot(INTERNATIONAL.replace(scoring="mars_homemars_koks_1234"))


@pytest.fixture(scope="module")
def net_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained net."""
    small = NetConfig(width=8, pairs=False, experts="none", hidden=0)
    config = ValueNetConfig(contact=small, race=small)
    path = tmp_path_factory.mktemp("nets") / "small.safetensors"
    save_net(path, new_value_net(config, np.random.default_rng(5)))
    return path


@pytest.mark.parametrize("depth", ["@1", "@0.05s"])
def test_a_net_that_looks_ahead(depth: str, net_file: Path, rng: np.random.Generator) -> None:
    bot = load_bot(f"net:{net_file}{depth}")
    assert isinstance(bot, SearchBot)
    boards = np.stack([START, START, flip(START)])
    rolls = np.array([[2, 1], [4, 3], [6, 6]], dtype=np.int8)
    chosen = bot.choose(boards, rolls)
    for board, roll, after in zip(boards, rolls, chosen, strict=True):
        assert (legal_afterstates(board, roll.tolist()) == after).all(axis=1).any()
    raw = load_bot(f"net:{net_file}")
    assert np.abs(bot.probabilities(boards) - raw.probabilities(boards)).max() > 1e-3
    assert bot.fingerprint() != load_bot(f"net:{net_file}@2").fingerprint() != raw.fingerprint()
    before = bot.evaluations()
    assert before is not None
    bot.choose(boards, rolls)
    assert (bot.evaluations() or 0) > before
    if depth == "@1":
        shares = bot.candidate_shares(
            START[None], legal_afterstates(START, (2, 1)), np.array([0, 15])
        )
        best = int(np.argmax(shares))
        assert shares.sum() == shares[best] == 1


def test_no_time_is_refused(net_file: Path) -> None:
    with pytest.raises(ConfigError, match="has no time"):
        load_bot(f"net:{net_file}@0s")


def test_a_net_from_a_file(net_file: Path, rng: np.random.Generator) -> None:
    """What it chooses has the highest equity by its own probabilities."""
    bot = load_bot(f"net:{net_file}@0")
    assert bot.name == f"net:{net_file}@0"
    positions = mixed_boards(rng)
    some = [next(positions) for _ in range(60)]
    boards = np.array([board for board, _ in some], dtype=np.int8)
    rolls = np.array([roll for _, roll in some], dtype=np.int8)
    probs = bot.probabilities(boards)
    assert probs.shape == (60, 5)
    assert probs.dtype == np.float32
    for board, roll, after in zip(boards, rolls, bot.choose(boards, rolls), strict=True):
        rows = legal_afterstates(board, roll.tolist())
        equities = -cubeless_equity(bot.probabilities(flip(rows)))
        chosen = np.flatnonzero((rows == after).all(axis=1))
        assert len(chosen) == 1
        assert equities[chosen[0]] >= equities.max() - 1e-5


def test_a_net_plays_the_same_in_any_chunks(net_file: Path) -> None:
    text = f"net:{net_file}"
    whole = play_duel(text, "pubeval", 20, 1)
    parts = play_duel(text, "pubeval", 20, 1, chunk_streams=3)
    assert parts.ppg == whole.ppg
    play_duel(text, "pubeval", 20, 1, INTERNATIONAL.replace(end_rule="last_chance_draw"))
    itself = play_duel(text, text, 20, 1)
    assert (itself.ppg.mean, itself.ppg.stderr) == (0.0, 0.0)


def test_the_net_that_nardi_brings() -> None:
    try:
        bot = load_bot("net")
    except CheckpointError as error:
        pytest.skip(f"no net ships with this version yet: {error}")
    assert bot.best_play(START, (3, 1)).text == "8/5 6/5"
