"""GNU Backgammon and Open Sage with the cube: their own decisions, and plays at a score."""

import numpy as np
import pytest

from agent.bot import Bot
from agent.cube_play import DOUBLE_PASS, DOUBLE_TAKE, NO_DOUBLE
from agent.situation import Situation
from engine.board import Board
from engine.moves import legal_afterstates
from engine.rules import INTERNATIONAL, Rules
from eval.players import load_player
from tests.strategies import mixed_boards

SEVEN = INTERNATIONAL.replace(match_to=7)
SITUATIONS = [
    Situation(),
    Situation(rules=Rules(jacoby=True)),
    Situation(cube_value=2, cube_owner="mover"),
    Situation(rules=SEVEN, mover_away=3, opp_away=5),
    Situation(rules=SEVEN, mover_away=4, opp_away=2, cube_value=2, cube_owner="mover"),
    Situation(rules=SEVEN, mover_away=3, opp_away=1),
]


def peer(text: str) -> Bot:
    module = {"gnubg": "gnubg", "sage": "bgsage"}[text.split("@")[0]]
    pytest.importorskip(module, reason=f"{module} is not installed")
    return load_player(text)


def some(rng: np.random.Generator, n: int) -> tuple[Board, list[Situation]]:
    positions = mixed_boards(rng)
    boards = np.array([next(positions)[0] for _ in range(n)], dtype=np.int8)
    return boards, [SITUATIONS[i % len(SITUATIONS)] for i in range(n)]


def test_sage_decides_as_its_own_evaluation(rng: np.random.Generator) -> None:
    """Its one call that does everything reads all nets anew each time, so it is not used."""
    bot = peer("sage@0")
    import bgbot_cpp
    import bgsage

    nets = bgsage.default_weights()
    model = (nets.strategy_type, nets.weight_paths_list, nets.hidden_sizes_list)
    database = bgbot_cpp.BearoffDB()
    assert database.load(bgsage.weights.bearoff_db_path())
    owners = bgbot_cpp.CubeOwner
    boards, situations = some(rng, 12)
    values = bot.cube_values(boards, situations)
    for board, s, found in zip(boards, situations, values, strict=True):
        theirs = bgbot_cpp.evaluate_cube_decision_unified(
            board.tolist(),
            s.cube_value,
            owners.PLAYER if s.cube_owner == "mover" else owners.CENTERED,
            *model,
            away1=s.mover_away or 0,
            away2=s.opp_away or 0,
            is_crawford=False,
            jacoby=s.rules.jacoby,
            beaver=False,
            bearoff_db=database,
        )
        for column, name in ((NO_DOUBLE, "nd"), (DOUBLE_TAKE, "dt"), (DOUBLE_PASS, "dp")):
            assert found[column] == pytest.approx(theirs[f"equity_{name}"], abs=2e-4), (name, s)


@pytest.mark.parametrize("text", ["gnubg@0", "sage@0", "gnubg@1"])
def test_peers_play_and_decide_at_every_score(text: str, rng: np.random.Generator) -> None:
    bot = peer(text)
    boards, situations = some(rng, 12)
    rolls = rng.integers(1, 7, size=(12, 2)).astype(np.int8)
    for board, roll, after in zip(
        boards, rolls, bot.choose_at(boards, rolls, situations), strict=True
    ):
        assert (legal_afterstates(board, roll) == after).all(axis=1).any()
    doubles, answers = bot.doubles(boards, situations), bot.answers(boards, situations)
    assert doubles.shape == answers.shape == (12,)
    assert set(answers.tolist()) <= {0, 1, 2}


@pytest.mark.slow
def test_deeper_sage_decides_by_its_search(rng: np.random.Generator) -> None:
    bot = peer("sage@1")
    boards, situations = some(rng, 3)
    raw = peer("sage@0").cube_values(boards, situations)
    values = bot.cube_values(boards, situations)
    assert np.isfinite(values[:, :3]).all()
    assert np.abs(values[:, :3] - raw[:, :3]).max() < 1.5
    assert (values[:, :2] != raw[:, :2]).any()
