"""Random, pip-greedy and pubeval against plain versions of themselves and golden scores."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent import pubeval
from agent.baselines import PubevalBot, RandomBot
from agent.bot import Bot, load_bot
from agent.pubeval import SCORE_UNIT
from engine.board import NUM_SLOTS, START, Board, has_contact, pip_count
from engine.errors import ConfigError, PositionError
from engine.moves import legal_afterstates
from engine.rules import CAUCASIAN, INTERNATIONAL, Rules
from tests.outside import gnubg_lists
from tests.strategies import mixed_boards

BoardTuple = tuple[int, ...]

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "pubeval.json").read_text(encoding="utf-8")
)
NAMES = ["random", "pip-greedy", "pubeval"]


def positions(rng: np.random.Generator, number: int) -> tuple[Board, Board]:
    """Boards of all kinds with rolls."""
    some = list(itertools.islice(mixed_boards(rng), number))
    boards = np.array([board for board, _ in some], dtype=np.int8)
    return boards, np.array([roll for _, roll in some], dtype=np.int8)


def plain_pubeval(afterstate: Sequence[int], race: bool) -> float:
    """The score, feature by feature as its author describes them."""
    weights = GOLDEN["weights"]["race" if race else "contact"]
    x = [0.0] * 122
    for j in range(1, 25):
        n, base = afterstate[25 - j], 5 * (j - 1)
        x[base] = float(n == -1)
        x[base + 1] = float(n == 1)
        x[base + 2] = float(n >= 2)
        x[base + 3] = float(n == 3)
        x[base + 4] = (n - 3) / 2 if n >= 4 else 0.0
    x[120] = afterstate[0] / 2
    x[121] = (15 - sum(n for n in afterstate[1:] if n > 0)) / 15
    return sum(w * feature for w, feature in zip(weights, x, strict=True))


# --- pubeval ---


def test_weights() -> None:
    assert list(pubeval._CONTACT) == GOLDEN["weights"]["contact"]
    assert list(pubeval._RACE) == GOLDEN["weights"]["race"]


def test_golden_scores() -> None:
    vectors = GOLDEN["vectors"]
    afterstates = np.array([vector["afterstate"] for vector in vectors], dtype=np.int8)
    race = np.array([vector["race"] for vector in vectors], dtype=np.int64)
    scores = PubevalBot().scores(afterstates, race) / SCORE_UNIT
    assert len(vectors) == 60
    assert 0 < race.sum() < 60
    assert scores == pytest.approx([vector["score"] for vector in vectors], abs=1e-4)


def test_scores_of_all_kinds_of_boards(rng: np.random.Generator) -> None:
    boards, _ = positions(rng, 400)
    bot = PubevalBot()
    for race in (False, True):
        scores = bot.scores(boards, np.full(len(boards), int(race))) / SCORE_UNIT
        assert scores == pytest.approx([plain_pubeval(b, race) for b in boards.tolist()], abs=1e-9)


def test_scores_of_gnubg(rng: np.random.Generator) -> None:
    gnubg_nn = pytest.importorskip("gnubg_nn", reason="gnubg_nn is not installed")
    boards, _ = positions(rng, 400)
    scores = PubevalBot().scores(boards, 1 - has_contact(boards).astype(np.int64)) / SCORE_UNIT
    # After the play the other side is on roll, which gnubg_nn puts last.
    theirs = [gnubg_nn.pub_eval_score(gnubg_lists(b)[::-1]) for b in boards.tolist()]
    assert scores == pytest.approx(theirs, abs=1e-4)


def plain_pubeval_choice(board: BoardTuple, roll: Sequence[int], rules: Rules) -> BoardTuple:
    race = not has_contact(board)
    best, best_score = None, -np.inf
    for row in legal_afterstates(board, roll, rules).tolist():
        finished = not any(n > 0 for n in row[1:])
        score = np.inf if finished else round(plain_pubeval(row, race), 9)
        if score > best_score:
            best, best_score = tuple(row), score
    assert best is not None
    return best


@pytest.mark.parametrize("rules", [INTERNATIONAL, CAUCASIAN], ids=str)
def test_pubeval_plays(rules: Rules, rng: np.random.Generator) -> None:
    boards, rolls = positions(rng, 150)
    chosen = load_bot("pubeval", rules).choose(boards, rolls)
    for board, roll, after in zip(boards.tolist(), rolls.tolist(), chosen.tolist(), strict=True):
        assert tuple(after) == plain_pubeval_choice(tuple(board), roll, rules), (board, roll)


def test_race_weights_serve_where_contact_is_over_before_the_play() -> None:
    """10-point checker and the opponent's on 9 have not passed each other until the play."""
    board = [0] * NUM_SLOTS
    board[5], board[10], board[9], board[20] = 3, 2, -2, -4
    roll = (4, 3)
    rows = legal_afterstates(board, roll).tolist()
    chosen = {race: max(rows, key=lambda row: plain_pubeval(row, race)) for race in (False, True)}
    assert has_contact(board)
    assert chosen[False] != chosen[True]
    assert load_bot("pubeval").best_play(board, roll).afterstate.tolist() == chosen[False]
    board[9], board[11] = 0, -2
    rows = legal_afterstates(board, roll).tolist()
    chosen = {race: max(rows, key=lambda row: plain_pubeval(row, race)) for race in (False, True)}
    assert not has_contact(board)
    assert chosen[False] != chosen[True]
    assert load_bot("pubeval").best_play(board, roll).afterstate.tolist() == chosen[True]


def test_finishing_beats_every_score() -> None:
    """5-4 bears off the last two checkers, or moves 5/1 and 4/off with the higher linear score."""
    board = [0] * NUM_SLOTS
    board[1], board[4], board[5], board[19] = -1, 1, 1, -1
    rows = legal_afterstates(board, (5, 4)).tolist()
    finish, other = [0] * NUM_SLOTS, rows[-1]
    finish[1], finish[19] = -1, -1
    assert rows == [finish, other]
    assert plain_pubeval(other, race=False) > plain_pubeval(finish, race=False)
    boards, rolls = np.array([board], dtype=np.int8), np.array([[5, 4]], dtype=np.int8)
    assert load_bot("pubeval").choose(boards, rolls).tolist() == [finish]


# --- pip-greedy ---


def test_pip_greedy_plays(rng: np.random.Generator) -> None:
    boards, rolls = positions(rng, 300)
    chosen = load_bot("pip-greedy").choose(boards, rolls)
    hits = 0
    for board, roll, after in zip(boards, rolls, chosen, strict=True):
        rows = legal_afterstates(board, roll.tolist())
        keys = [(int(pip_count(row)), -number) for number, row in enumerate(rows)]
        assert after.tolist() == rows[-min(keys)[1]].tolist(), (board, roll)
        hits += bool(after[0] > board[0])
    assert hits > 20


# --- random ---


def test_random_is_uniform_over_results() -> None:
    """3-1 from the start: 16 results, each to be met by one sixteenth of the draws."""
    n_draws = 16 * 50
    draws = (np.arange(n_draws) + 0.5) / n_draws
    boards = np.tile(START, (n_draws, 1))
    rolls = np.tile(np.array([3, 1], dtype=np.int8), (n_draws, 1))
    chosen = RandomBot("random").choose(boards, rolls, draws)
    found, counts = np.unique(chosen, axis=0, return_counts=True)
    assert found.tolist() == legal_afterstates(START, (3, 1)).tolist()
    assert counts.tolist() == [50] * 16


def test_random_takes_the_whole_range_of_draws() -> None:
    draws = np.array([0.0, np.nextafter(1.0, 0.0)])
    boards, rolls = np.tile(START, (2, 1)), np.array([[6, 6], [6, 6]], dtype=np.int8)
    chosen = RandomBot("random").choose(boards, rolls, draws)
    assert chosen.tolist() == legal_afterstates(START, (6, 6))[[0, -1]].tolist()


def test_random_needs_draws() -> None:
    with pytest.raises(ConfigError, match="needs draws"):
        RandomBot("random").choose(START[np.newaxis], np.array([[3, 1]], dtype=np.int8))


# --- all of them ---


@pytest.fixture(params=NAMES)
def bot(request: pytest.FixtureRequest) -> Bot:
    return load_bot(request.param)


def test_batches_change_nothing(bot: Bot, rng: np.random.Generator) -> None:
    boards, rolls = positions(rng, 60)
    draws = rng.random(60)
    together = bot.choose(boards, rolls, draws)
    for i in range(60):
        alone = bot.choose(boards[i : i + 1], rolls[i : i + 1], draws[i : i + 1])
        assert alone.tolist() == together[i : i + 1].tolist()


def test_no_positions(bot: Bot) -> None:
    none = bot.choose(
        np.empty((0, 26), dtype=np.int8), np.empty((0, 2), dtype=np.int8), np.empty(0)
    )
    assert none.shape == (0, 26)
    assert none.dtype == np.int8


def test_forced_pass(bot: Bot) -> None:
    board = np.array([0] * 6 + [5] + [0] * 12 + [-2] * 6 + [1], dtype=np.int8)
    after = bot.choose(board[np.newaxis], np.array([[6, 6]], dtype=np.int8), np.array([0.5]))
    assert after.tolist() == [board.tolist()]


def test_a_finished_game_is_refused(bot: Bot) -> None:
    boards = np.stack([START, np.zeros(26, dtype=np.int8)])
    boards[1, 6] = 3
    rolls = np.array([[3, 1], [3, 1]], dtype=np.int8)
    with pytest.raises(PositionError, match="row 1"):
        bot.choose(boards, rolls, np.zeros(2))
