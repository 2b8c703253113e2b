"""Decisions and plays with the cube of every kind of bot, many at a time."""

from collections.abc import Sequence

import numpy as np
import pytest

from agent.bot import Bot, NetBot, load_bot
from agent.checkpoint import load_sorter
from agent.cube import board_efficiency, cube_decision
from agent.cube_play import BEAVER, PASS, TAKE, cubeful_worths
from agent.cube_player import CubePlayer
from agent.evaluator import Evaluator, load_evaluator
from agent.search import Searcher
from agent.situation import Situation
from engine.board import START, Board, flip
from engine.moves import legal_afterstates
from engine.notation import parse_play, parse_position
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, Rules
from tests.nets import SMALL, random_net
from tests.strategies import mixed_boards

_SEVEN = INTERNATIONAL.replace(match_to=7)
SITUATIONS = [
    Situation(),
    Situation(cube_value=2, cube_owner="mover"),
    Situation(cube_value=2, cube_owner="opponent"),
    Situation(rules=Rules(jacoby=True, beaver=True)),
    Situation(rules=_SEVEN, mover_away=3, opp_away=5),
    Situation(rules=_SEVEN, mover_away=1, opp_away=1),
    Situation(rules=_SEVEN, mover_away=2, opp_away=4, cube_value=2, cube_owner="mover"),
    Situation(rules=_SEVEN, mover_away=1, opp_away=2, crawford=True),
    Situation(rules=_SEVEN, mover_away=2, opp_away=1),
]


def some(rng: np.random.Generator, n: int) -> tuple[Board, np.ndarray, list[Situation]]:  # type: ignore[type-arg]
    positions = mixed_boards(rng)
    boards = np.array([next(positions)[0] for _ in range(n)], dtype=np.int8)
    rolls = rng.integers(1, 7, size=(n, 2)).astype(np.int8)
    return boards, rolls, [SITUATIONS[i % len(SITUATIONS)] for i in range(n)]


def net_bot(rules: Rules = INTERNATIONAL) -> NetBot:
    return NetBot("net", Evaluator(random_net(SMALL, np.random.default_rng(5))), rules)


def test_decisions_are_those_of_one_at_a_time(rng: np.random.Generator) -> None:
    bot = load_bot("net")
    boards, _, situations = some(rng, 120)
    doubles, answers = bot.doubles(boards, situations), bot.answers(boards, situations)
    accepts = bot.accepts_beavers(boards, situations)
    probs = bot.probabilities(boards)
    n_doubles = 0
    for i, situation in enumerate(situations):
        one = cube_decision(probs[i], situation, float(board_efficiency(boards[i])))
        assert doubles[i] == one.doubles
        if one.answer is not None:
            assert answers[i] == {"pass": PASS, "take": TAKE, "beaver": BEAVER}[one.answer]
        if one.values.double_beaver is not None:
            assert accepts[i] == (one.values.double_beaver > -2)
        n_doubles += one.doubles
    assert 5 < n_doubles < 100
    assert not doubles[[i for i, s in enumerate(situations) if s.crawford]].any()
    assert not doubles[[i for i, s in enumerate(situations) if s.is_dmp]].any()


def test_compiled_plays_are_the_best_of_all(rng: np.random.Generator) -> None:
    bot = net_bot()
    boards, rolls, situations = some(rng, 90)
    chosen = bot.choose_at(boards, rolls, situations)
    in_python = CubePlayer.choose_at(bot, boards, rolls, situations)
    differing = 0
    for i, situation in enumerate(situations):
        legal = legal_afterstates(boards[i], rolls[i])
        worths = cubeful_worths(bot.probabilities(flip(legal)), legal, [situation] * len(legal))
        for after in (chosen[i], in_python[i]):
            number = int(np.flatnonzero((legal == after).all(axis=1))[0])
            assert worths[number] == pytest.approx(worths.max(), abs=2e-6)
        differing += not (chosen[i] == bot.choose(boards[i : i + 1], rolls[i : i + 1])[0]).all()
    assert differing > 0


@pytest.mark.parametrize("rules", [CAUCASIAN, ARENA, CAUCASIAN.replace(match_to=5)], ids=str)
def test_house_rules_are_kept_with_the_cube(rules: Rules, rng: np.random.Generator) -> None:
    bot = net_bot(rules)
    boards, rolls, _ = some(rng, 60)
    away = None if rules.match_to is None else 3
    situation = Situation(rules=rules, mover_away=away, opp_away=away)
    chosen = bot.choose_at(boards, rolls, [situation] * 60)
    for board, roll, after in zip(boards, rolls, chosen, strict=True):
        assert (legal_afterstates(board, roll, rules) == after).all(axis=1).any()


def test_the_owner_of_the_cube_changes_the_play() -> None:
    """C29: with these chances of the opponent the second play is better if the cube is centred."""
    board = parse_position("XGID=-aBa--D-CB--cB---d-cB-ba--:0:0:1:66:0:0:0:0:10").board
    plays = ("20/14(2) 9/3(2)", "13/7 9/3(2) 7/1")
    afterstates = np.stack([parse_play(text, board, (6, 6)).afterstate for text in plays])
    opp_probs = [[0.2657, 0.0511, 0.0018, 0.2413, 0.0057], [0.3146, 0.0663, 0.003, 0.3625, 0.0085]]
    centred = cubeful_worths(opp_probs, afterstates, [Situation()] * 2)
    owned = Situation(cube_value=2, cube_owner="opponent")
    assert centred[1] > centred[0]
    worths = cubeful_worths(opp_probs, afterstates, [owned] * 2)
    assert worths[0] > worths[1] + 0.005


def test_plays_that_all_lose_the_stake_go_by_cubeless_equity() -> None:
    """C29: with the cube in the middle the opponent cashes after every play."""
    bot = load_bot("net")
    board = parse_position("XGID=--CBCBC------B--b--cabbcb-:0:0:1:21:0:0:0:0:10").board
    roll = np.array([[2, 1]], dtype=np.int8)
    legal = legal_afterstates(board, (2, 1))
    opp_probs = bot.probabilities(flip(legal))
    worths = cubeful_worths(opp_probs, legal, [Situation()] * len(legal))
    equal = np.flatnonzero(worths > worths.max() - 1e-7)
    assert len(equal) > 1
    assert worths.max() == pytest.approx(-1)
    cubeless = -(2 * opp_probs[:, 0] - 1 + opp_probs[:, 1:3].sum(1) - opp_probs[:, 3:].sum(1))
    best = equal[np.argmax(cubeless[equal])]
    assert (bot.choose_at(board[np.newaxis], roll, [Situation()])[0] == legal[best]).all()


def pips_board(own: int, opp: int) -> Board:
    """A race with so many pips, up to 6 a checker."""
    board = np.zeros(26, dtype=np.int8)
    board[own // 10] = 10 - own % 10
    board[own // 10 + 1] = own % 10
    board[25 - opp // 10] = -(10 - opp % 10)
    board[25 - opp // 10 - 1] -= opp % 10
    return board


@pytest.mark.parametrize("name", ["random", "pip-greedy", "pubeval"])
@pytest.mark.parametrize(
    ("own", "opp", "doubles", "redoubles", "takes"),
    [
        (50, 53, False, False, True),
        (50, 54, True, False, True),
        (44, 48, True, True, True),
        (50, 56, True, True, True),
        (50, 57, True, True, False),
        (50, 40, False, False, True),
    ],
)
def test_bots_without_probabilities_count_pips(
    name: str, own: int, opp: int, doubles: bool, redoubles: bool, takes: bool
) -> None:
    bot = load_bot(name)
    board = pips_board(own, opp)[np.newaxis]

    def double(situation: Situation) -> bool:
        return bool(bot.doubles(board, [situation])[0])

    assert double(Situation()) == doubles
    assert double(Situation(cube_value=2, cube_owner="mover")) == redoubles
    assert not double(Situation(cube_value=2, cube_owner="opponent"))
    assert not double(Situation(rules=_SEVEN, mover_away=1, opp_away=2))  # of no use
    assert not double(Situation(rules=_SEVEN, mover_away=2, opp_away=1, crawford=True))
    answers: Sequence[int] = bot.answers(board, [Situation()]).tolist()
    assert answers == [TAKE if takes else PASS]
    assert bot.accepts_beavers(board, [Situation()]).tolist() == [True]


def test_a_bot_that_looks_ahead_plays_with_the_cube(rng: np.random.Generator) -> None:
    bot = load_bot("net@1")
    searcher = Searcher(load_evaluator(), load_sorter())
    boards, rolls, situations = some(rng, 9)
    chosen = bot.choose_at(boards, rolls, situations)
    doubles, answers = bot.doubles(boards, situations), bot.answers(boards, situations)
    for i, situation in enumerate(situations):
        best = searcher.rank(boards[i], rolls[i].tolist(), 1, situation=situation)[0]
        assert (chosen[i] == best.afterstate).all()
        found = searcher.evaluate(boards[i], 1, situation)
        one = cube_decision(found.probs, situation, plies=1, values=found.states)
        assert doubles[i] == one.doubles
        if one.answer is not None:
            assert answers[i] == {"pass": PASS, "take": TAKE, "beaver": BEAVER}[one.answer]


class _Sure(Bot):
    """Thinks the same of every position."""

    has_probabilities = True

    def __init__(self, probs: tuple[float, ...]) -> None:
        super().__init__("sure")
        self._probs = probs

    def choose(
        self,
        boards: Board,
        rolls: np.ndarray,
        draws: np.ndarray | None = None,  # type: ignore[type-arg]
    ) -> Board:
        raise AssertionError

    def probabilities(self, boards: Board) -> np.ndarray:  # type: ignore[type-arg]
        return np.tile(np.array(self._probs, dtype=np.float32), (len(boards), 1))


@pytest.mark.parametrize(("away", "answer"), [(2, PASS), (3, TAKE), (4, PASS)])
def test_after_the_crawford_game(away: int, answer: int) -> None:
    """C23: the trailer doubles at once, the leader has a free drop at an even score."""
    bot = _Sure((0.525, 0.15, 0.01, 0.13, 0.01))
    start = START[np.newaxis]
    trailing = [Situation(rules=_SEVEN, mover_away=away, opp_away=1)]
    assert bot.doubles(start, trailing).tolist() == [True]
    assert bot.answers(start, trailing).tolist() == [answer]
    leading = [trailing[0].flipped()]
    assert bot.doubles(start, leading).tolist() == [False]
    crawford = [Situation(rules=_SEVEN, mover_away=away, opp_away=1, crawford=True)]
    assert bot.doubles(start, crawford).tolist() == [False]


def test_gammons_with_and_without_jacoby() -> None:
    """C24 and C25: too good to double for money, a cash with Jacoby's rule, nothing at DMP."""
    bot = _Sure((0.98, 0.95, 0.1, 0.001, 0.0))
    board = START[np.newaxis]
    assert bot.doubles(board, [Situation()]).tolist() == [False]
    jacoby = [Situation(rules=Rules(jacoby=True))]
    assert bot.doubles(board, jacoby).tolist() == [True]
    assert bot.answers(board, jacoby).tolist() == [PASS]
    dmp = [Situation(rules=_SEVEN, mover_away=1, opp_away=1)]
    assert bot.doubles(board, dmp).tolist() == [False]
    assert bot.cube_values(board, dmp)[0, 0] == pytest.approx(0.96, abs=1e-6)


def test_beavers_and_the_largest_cube() -> None:
    """C28: a double from the start is beavered, if the cube goes so high."""
    bot = _Sure((0.525, 0.15, 0.01, 0.13, 0.01))
    board = START[np.newaxis]
    beavers = Rules(beaver=True)
    assert bot.answers(board, [Situation(rules=beavers)]).tolist() == [BEAVER]
    capped = Rules(beaver=True, cube_cap=2)
    assert bot.answers(board, [Situation(rules=capped)]).tolist() == [TAKE]
    match = Rules(beaver=True, match_to=5)
    level = [Situation(rules=match, mover_away=5, opp_away=5)]
    assert bot.answers(board, level).tolist() == [TAKE]
