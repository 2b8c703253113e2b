"""GNU Backgammon and Open Sage as players: their choices, and the traps on the way to them."""

import importlib.metadata
import sys
from typing import Any

import numpy as np
import pytest

from agent.bot import Bot
from engine.board import Board
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from engine.notation import parse_position
from engine.rules import CAUCASIAN, INTERNATIONAL, Rules
from eval.peers.gnubg import gnubg_boards
from eval.peers.judge import JudgeBot, cubeless_equities
from eval.players import PLAYER_TEXTS, load_player
from tests.golden_cases import apply_steps, read_golden
from tests.outside import gnubg_lists

PROGRAMS = {"gnubg@0": "gnubg", "sage@0": "bgsage"}


@pytest.fixture(scope="module", params=sorted(PROGRAMS))
def program(request: pytest.FixtureRequest) -> Bot:
    return peer(request.param)


def peer(text: str) -> Bot:
    module = {"gnubg": "gnubg", "sage": "bgsage"}[text.split("@")[0]]
    pytest.importorskip(module, reason=f"{module} is not installed")
    return load_player(text)


def decisions(least: int = 2) -> list[dict[str, Any]]:
    """Golden positions with a choice, of all kinds."""
    return [line for line in read_golden("moves.jsonl.gz") if len(line["a"]) >= least]


def chosen(bot: Bot, lines: list[dict[str, Any]]) -> Board:
    boards = np.array([line["b"] for line in lines], dtype=np.int8)
    return bot.choose(boards, np.array([line["d"] for line in lines], dtype=np.int8))


# --- the same choice as on other ways to the same program ---


def test_gnubg_plays_as_the_other_binding() -> None:
    """gnubg_nn has the same nets and its own move generator and code around them."""
    gnubg_nn = pytest.importorskip("gnubg_nn", reason="gnubg_nn is not installed")
    lines = decisions()[:200]
    for line, after in zip(lines, chosen(peer("gnubg@0"), lines), strict=True):
        _, key = gnubg_nn.best_move(gnubg_lists(tuple(line["b"])), *line["d"], n=0, b=1)
        opp, own = reversed(gnubg_nn.boardfromkey(key))  # of the next player: own comes second
        theirs = [opp[24], *[own[n] - opp[23 - n] for n in range(24)], own[24]]
        if after.tolist() != theirs:  # figures of the two differ in the fifth digit
            gap = worth(gnubg_nn, after.tolist()) - worth(gnubg_nn, theirs)
            assert abs(gap) < 1e-4, f"{line['b']} {line['d']}: {after.tolist()}, not {theirs}"


def worth(gnubg_nn: Any, after: list[int]) -> float:
    if not any(count > 0 for count in after[1:]):
        return 1.0  # finished by one play or the other: all such results here are single games
    flipped = [max(after[25], 0), *[-after[25 - n] for n in range(1, 25)], after[0]]
    probs = np.array(gnubg_nn.probabilities(gnubg_lists(tuple(flipped)), 0))
    return -float(cubeless_equities(probs))


@pytest.mark.parametrize(("depth", "step"), [(1, 80), pytest.param(2, 100, marks=pytest.mark.slow)])
def test_gnubg_searches_as_its_own_search(depth: int, step: int) -> None:
    """Where its text can be used: it is cut at a checker borne off, so those are left out."""
    gnubg = pytest.importorskip("gnubg", reason="gnubg is not installed")
    bot = load_player(f"gnubg@{depth}")
    context = gnubg.evalcontext(0, depth, 1, 0, 0.0)
    lines = [line for line in decisions(8) if "bearoff" not in "".join(line["t"])][::step]
    changed = 0
    for line, after in zip(lines, chosen(bot, lines), strict=True):
        best = gnubg.findbestmove(
            gnubg_lists(tuple(line["b"])), gnubg.cubeinfo(), context, tuple(line["d"])
        )
        steps = list(zip(best[::2], best[1::2], strict=True))
        assert tuple(after.tolist()) == apply_steps(line["b"], steps), f"{line['b']} {line['d']}"
        raw = load_player("gnubg@0").best_play(line["b"], line["d"]).afterstate
        changed += int((raw != after).any())
    assert depth == 2 or changed > 0  # looking ahead is no mere ornament


@pytest.mark.parametrize(
    ("text", "level", "n"),
    [("sage@0", "1ply", 60), pytest.param("sage@1", "2ply", 40, marks=pytest.mark.slow)],
)
def test_sage_plays_as_its_own_analyzer(text: str, level: str, n: int) -> None:
    bot = peer(text)
    import bgsage

    analyzer = bgsage.BgBotAnalyzer(eval_level=level, cubeful=False)
    lines = decisions(4)[:: 1200 // n]
    for line, after in zip(lines, chosen(bot, lines), strict=True):
        best = analyzer.checker_play(line["b"], *line["d"], jacoby=False).moves[0]
        assert after.tolist() == list(best.board), f"{line['b']} {line['d']}"


# --- traps ---


def test_gnubg_lists_the_side_that_waits_first() -> None:
    board = np.array([1, 2, *[0] * 17, 3, -2, 0, 0, 0, -1, 4], dtype=np.int8)
    waiting, on_roll = gnubg_boards(board[np.newaxis])[0]
    assert waiting == [2, *[0] * 17, 3, *[0] * 5, 4]  # who has moved: owner of the board
    assert on_roll == [1, 0, 0, 0, 2, *[0] * 19, 1]


def test_a_won_race_is_won_by_the_owner(program: Bot) -> None:
    ahead = np.zeros(26, dtype=np.int8)
    ahead[1], ahead[10] = 2, -5
    behind = np.zeros(26, dtype=np.int8)
    behind[15], behind[24] = 5, -2
    assert program.probabilities(ahead[np.newaxis])[0, 0] > 0.99
    assert program.probabilities(behind[np.newaxis])[0, 0] < 0.01


@pytest.mark.parametrize(
    ("board", "result"),
    [
        ({1: -2}, (1, 0, 0, 0, 0)),
        ({10: -15}, (1, 1, 0, 0, 0)),
        ({1: -2, 10: -13}, (1, 1, 1, 0, 0)),
        ({0: 1, 10: -14}, (1, 1, 1, 0, 0)),
        ({1: 2}, (0, 0, 0, 0, 0)),
        ({18: 1, 2: 14}, (0, 0, 0, 1, 0)),
        ({19: 1, 2: 14}, (0, 0, 0, 1, 1)),
        ({25: 1, 2: 14}, (0, 0, 0, 1, 1)),
    ],
    ids=["won", "won-2", "won-3", "won-3-bar", "lost", "lost-2", "lost-3", "lost-3-bar"],
)
def test_finished_games_are_exact(
    program: Bot, board: dict[int, int], result: tuple[int, ...]
) -> None:
    """gnubg tells only zeros of them, and no net's figures would be exact."""
    b = np.zeros((1, 26), dtype=np.int8)
    for point, count in board.items():
        b[0, point] = count
    assert program.probabilities(b)[0].tolist() == list(result)


CASES = [
    ("--A--A------------------o-", (4, 2)),  # an automatic bear-off stopped at 5/3 or 2/off
    ("-A-AA---------------o-----", (6, 5)),  # gnubg's own text of 4/off 3/off is "4"
    ("--AA-A--------------o-----", (6, 4)),
    ("-C-----------------ccc--f-", (1, 1)),  # a doublet that ends the game
    ("-----------------b--cccd-A", (6, 1)),  # both dice must be played
    ("------------------b-cccd-A", (6, 1)),  # the larger die must
    ("------E-C---cE----bbbbbb-B", (2, 3)),  # no play
]


@pytest.mark.parametrize(("board", "roll"), CASES, ids=[f"{b}-{r[0]}{r[1]}" for b, r in CASES])
def test_play_is_whole_and_legal(program: Bot, board: str, roll: tuple[int, int]) -> None:
    position = parse_position(f"XGID={board}:0:0:1:00:0:0:0:0:10").board
    play = program.best_play(position, roll)
    legal = legal_afterstates(position, roll)
    assert play.afterstate.tolist() in legal.tolist()
    if len(legal) == 1:
        assert play.afterstate.tolist() == legal[0].tolist()


def test_sage_judges_by_the_position_before_the_play() -> None:
    bot = peer("sage@0")
    assert isinstance(bot, JudgeBot)
    board, roll = [0, -1, 4, 4, 3, -1, 2, 0, 0, 0, *[-2] * 6, 0, 0, -1, 0, 0, 0, 0, 2, 0, 0], (5, 2)
    legal = legal_afterstates(board, roll)
    before = np.array(board, dtype=np.int8)
    by_itself = cubeless_equities(bot.mover_probabilities(legal, None, 0))
    right = bot.equities(legal, before, 0)
    assert np.argmax(by_itself) != np.argmax(right)
    assert bot.best_play(board, roll).afterstate.tolist() == legal[np.argmax(right)].tolist()
    shares = bot.candidate_shares(before[np.newaxis], legal, np.array([0, len(legal)]))
    assert np.flatnonzero(shares).tolist() == [np.argmax(right)]


def test_batch_is_as_one_by_one(program: Bot) -> None:
    lines = decisions(1)[:40]
    together = chosen(program, lines)
    alone = [chosen(program, [line])[0] for line in reversed(lines)][::-1]
    assert together.tolist() == np.array(alone).tolist()


def test_candidates_are_all_there_is(program: Bot) -> None:
    """Of the best and the worst play it takes the best, of all but the best another one."""
    line = decisions(6)[3]
    board = np.array([line["b"]], dtype=np.int8)
    after = np.array(sorted(line["a"]), dtype=np.int8)
    best = np.flatnonzero(program.candidate_shares(board, after, np.array([0, len(after)])))[0]
    rest = np.delete(after, best, axis=0)
    shares = program.candidate_shares(
        np.concatenate([board, board]),
        np.concatenate([after, rest]),
        np.array([0, len(after), 2 * len(after) - 1]),
    )
    assert shares[best] == 1
    assert shares[len(after) :].sum() == 1


# --- texts and refusals ---


def test_names_say_both_counts() -> None:
    bot = peer("sage@1")
    assert bot.name == "sage@1 (bgsage 2-ply)"
    assert load_player(bot.name).name == bot.name
    assert peer("gnubg").name == "gnubg@0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gnubg@3", "accepted: gnubg@0, gnubg@1, gnubg@2"),
        ("sage@9", "accepted: sage@0, sage@1, sage@2"),
        ("sage@1 (bgsage 1-ply)", "contradicts itself"),
        ("gnubg@1 (bgsage 2-ply)", "contradicts itself"),
        ("gnubg@x", "unknown bot 'gnubg@x'"),
        ("wildbg", ", ".join(PLAYER_TEXTS)),
        ("", "unknown bot ''"),
        ("net:", "unknown bot 'net:'"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_player(text)
    assert message in str(error.value)


def test_own_bots_are_known() -> None:
    assert load_player(" pubeval@0 ", CAUCASIAN).rules == CAUCASIAN


@pytest.mark.parametrize("text", ["gnubg@0", "sage@1"])
def test_house_rules_are_refused(text: str) -> None:
    peer(text)
    with pytest.raises(ConfigError, match=r"only the international game.*hit_and_hide=allow"):
        load_player(text, CAUCASIAN)
    assert load_player(text, INTERNATIONAL.replace(jacoby=True, cube_cap=None)).rules != Rules()


@pytest.mark.parametrize(("text", "module"), [("gnubg@1", "gnubg"), ("sage@0", "bgsage")])
def test_missing_program(monkeypatch: pytest.MonkeyPatch, text: str, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as Python marks what cannot be imported
    with pytest.raises(ConfigError) as error:
        load_player(text)
    assert f"needs the package {module}, which is not installed" in str(error.value)
    assert "pip install 'nardi[peers]'" in str(error.value)


def test_figures_for_duels(program: Bot) -> None:
    """Each different version is another player; positions judged are counted where all are ours."""
    distribution = PROGRAMS[program.name.split(" ")[0]]
    assert program.fingerprint() == f"{distribution} {importlib.metadata.version(distribution)}"
    line = next(line for line in decisions(6) if all(any(n > 0 for n in a[1:]) for a in line["a"]))
    before = program.evaluations()
    assert before is not None
    chosen(program, [line])
    assert program.evaluations() == before + len(line["a"])
    assert program.cpu_seconds() == 0  # it works in this process
    program.close()


def test_searches_do_not_count() -> None:
    assert peer("gnubg@1").evaluations() is None
