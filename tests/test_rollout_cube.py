"""Rollouts with the cube: exact endings, and every trial against a slow one by `agent.cube`."""

import dataclasses

import numpy as np
import pytest

from agent.cube import board_efficiency, cube_decision, cubeful_equities
from agent.cube_values import cubeless_equity_at
from agent.evaluator import Evaluator, swap_sides
from agent.rollout import Roller, RolloutSettings, Start, first_throws
from agent.search import Searcher
from agent.situation import Situation
from engine.bearoff.lookup import cubeful
from engine.bearoff.tables import load_tables
from engine.board import Board, flip
from engine.dice_stream import game_states, next_die
from engine.notation import parse_position
from engine.rules import Rules
from engine.scoring import next_stake
from tests.nets import SMALL, random_net
from tests.test_rollout import MIDDLE, NET, board_of, last

MONEY = Rules(jacoby=True, beaver=True)
CENTRED = Situation(rules=MONEY)
SITUATIONS = {
    "money, centred": CENTRED,
    "money, owned": Situation(rules=Rules(), cube_value=2, cube_owner="mover"),
    "money, not his": Situation(rules=Rules(), cube_value=2, cube_owner="opponent"),
    "match": Situation(rules=Rules(match_to=5), mover_away=3, opp_away=5),
    "match, owned": Situation(
        rules=Rules(match_to=7), mover_away=5, opp_away=4, cube_value=2, cube_owner="opponent"
    ),
    "double match point": Situation(rules=Rules(match_to=5), mover_away=1, opp_away=1),
    "Crawford": Situation(rules=Rules(match_to=5), mover_away=1, opp_away=3, crawford=True),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_against_a_slow_rollout(name: str) -> None:
    how = RolloutSettings(trials=36, truncate=7, seed=4, luck=False)
    roller = Roller(NET, how, SITUATIONS[name].rules, situation=SITUATIONS[name])
    for start, situation in zip(roller.position(MIDDLE), doubled_or_not(name), strict=True):
        fast = roller._round([start], 0, 36)[0].values[:, 5]
        slow = [reference(MIDDLE, how, situation, SITUATIONS[name], trial) for trial in range(12)]
        unit, offset = roller.table.unit, roller.table.offset
        np.testing.assert_allclose((fast[:12] - offset) / unit, slow, rtol=0, atol=2e-5)


def doubled_or_not(name: str) -> list[Situation]:
    situation = SITUATIONS[name]
    taken = next_stake(situation.cube_value, situation.rules)
    if situation.cube_owner == "opponent" or situation.crawford:
        return [situation]
    doubled = dataclasses.replace(situation, cube_value=taken, cube_owner="opponent")
    return [situation, doubled] if name != "double match point" else [situation]


def reference(
    board: Board, how: RolloutSettings, begin: Situation, first: Situation, trial: int
) -> float:
    """Worth of a trial that begins so, to the mover, in points per `first`'s stake or the like."""
    evaluator = Evaluator(NET)
    throws = first_throws(how.seed, 0, trial + 1)
    dice = game_states(how.seed, 0, trial + 1)
    seen, situation, sign = board, begin, 1
    assert how.truncate is not None
    for ply in range(how.truncate + 1):
        probs = evaluator.probabilities(seen[None])[0]
        over = not (seen[1:] > 0).any() or ((seen[1:25] >= 0).all() and seen[0] == 0)
        efficiency = float(board_efficiency(seen))
        decision = cube_decision(probs, situation, efficiency)
        if over:
            return worth(cubeless_equity_at(probs, situation), sign, situation, first)
        if ply == how.truncate:
            equity = cubeful_equities(probs[None], situation, efficiency)[0]
            return worth(equity if ply else decision.values.no_double, sign, situation, first)
        if ply > 0 and decision.doubles:
            if decision.answer == "pass":
                return worth(1.0, sign, situation, first)
            for _ in range(2 if decision.answer == "beaver" else 1):
                stake = next_stake(situation.cube_value, situation.rules)
                assert stake is not None
                situation = dataclasses.replace(situation, cube_value=stake, cube_owner="opponent")
        if ply < 2:
            faces = [face + 1 for face in divmod(int(throws[trial, ply]), 6)]
        else:
            faces = [int(next_die(dice, trial)), int(next_die(dice, trial))]
        counted = dataclasses.replace(situation, cube_offered=True)  # gammons, by Jacoby's rule
        seen = flip(best_play(seen, faces, counted))
        situation, sign = situation.flipped(), -sign
    raise AssertionError


def best_play(board: Board, faces: list[int], situation: Situation) -> Board:
    """By what wins and losses count at the cube as it stands, nobody turning it any more."""
    from engine.board import borne_off
    from engine.moves import legal_afterstates

    rows = legal_afterstates(board, faces)
    probs = swap_sides(Evaluator(NET).probabilities(flip(rows)))
    worths = [cubeless_equity_at(p, situation) for p in probs]
    best: Board = rows[np.lexsort((-borne_off(rows), -np.round(worths, 6)))[0]]
    return best


def worth(equity: float, sign: int, situation: Situation, first: Situation) -> float:
    """An equity of the side on roll as the first mover's, at the first stake."""
    decisions = [
        cube_decision((0.5, 0, 0, 0, 0), s, 0.68)
        for s in (situation if sign > 0 else situation.flipped(), first)
    ]
    if not first.is_match:
        return sign * equity * situation.cube_value / first.cube_value
    mwc = decisions[0].mwc(sign * equity)
    half, centre = decisions[1].half_mwc, decisions[1].centre_mwc
    assert mwc is not None
    assert half is not None
    assert centre is not None
    return (mwc - centre) / half


@pytest.mark.parametrize("owner", [None, "mover", "opponent"])
def test_known_endings_are_told_exactly(owner: str | None) -> None:
    board = board_of({6: 2, 3: 2}, {5: 3, 1: 1})
    situation = Situation(rules=Rules(), cube_owner=owner, cube_value=1 if owner is None else 2)  # type: ignore[arg-type]
    how = RolloutSettings(trials=1296)
    roller = Roller(NET, how, situation=situation, tables=load_tables())
    result = last(roller, roller.position(board))
    exact = cubeful(board, owner)  # type: ignore[arg-type]
    expected = [exact.no_double, exact.double_take][: 1 if owner == "opponent" else 2]
    assert [line.equity for line in result.lines] == pytest.approx(expected, abs=1e-6)
    assert result.ended == "settled"
    assert all(line.settled == "exact" for line in result.lines)


@pytest.mark.parametrize("name", ["money, centred", "match"])
def test_luck_taken_off_leaves_the_mean(name: str) -> None:
    situation = SITUATIONS[name]
    board = board_of({6: 5, 5: 4, 4: 3, 3: 3}, {6: 5, 5: 4, 4: 3, 3: 2, 2: 1})
    equities, errors = [], []
    for luck in (False, True):
        how = RolloutSettings(trials=288, luck=luck, seed=3)
        roller = Roller(NET, how, situation.rules, situation=situation)
        line = last(roller, roller.position(board)).lines[0]
        equities.append(line.equity)
        errors.append(line.stderr)
    assert abs(equities[0] - equities[1]) < 4 * np.hypot(*errors)


def test_whoever_looks() -> None:
    """A game seen by the other side has the opposite worth."""
    how = RolloutSettings(trials=12, truncate=9)
    lines = []
    for side, situation in ((0, CENTRED), (1, CENTRED.flipped())):
        roller = Roller(NET, how, MONEY, situation=situation)
        start = Start(board=MIDDLE, side=side, state=roller.table.root, may_double=True)
        lines.append(last(roller, [start]).lines[0])
    assert lines[1].equity == pytest.approx(-lines[0].equity, abs=1e-12)
    assert lines[1].probs[0] == pytest.approx(1 - lines[0].probs[0], abs=1e-12)
    assert lines[1].ends == lines[0].ends


def test_cut_at_once_it_is_the_net_with_the_cube() -> None:
    cut = Roller(NET, RolloutSettings(trials=36, truncate=0), MONEY, situation=CENTRED.flipped())
    line = last(cut, cut.plays(flip(MIDDLE)[None])).lines[0]
    probs = Evaluator(NET).probabilities(MIDDLE[None])
    expected = cubeful_equities(probs, CENTRED, float(board_efficiency(MIDDLE)))[0]
    assert line.equity == pytest.approx(-expected, abs=1e-6)
    assert line.settled == "valued"


def test_a_sure_pass_ends_the_trial() -> None:
    """The net that ships doubles out whoever has a closed board and two of the other's checkers."""
    from agent.checkpoint import default_net_path, load_net

    net = load_net(default_net_path())
    board = parse_position("XGID=bBBBCCC-c---ee------------:0:0:1:00:0:0:0:0:10").board
    how = RolloutSettings(trials=36, truncate=4)
    roller = Roller(net, how, Rules(jacoby=True), situation=Situation(rules=Rules(jacoby=True)))
    before = last(roller, roller.plays(flip(board)[None])).lines[0]
    assert before.ends == {"passed": 36}
    assert before.equity == -1
    assert before.stderr == 0


def test_jacobys_rule_without_a_cube_to_turn() -> None:
    """No double can make gammons count: plays are chosen as if they never did."""
    how = RolloutSettings(trials=36, truncate=11, seed=4)
    figures = []
    for switches in ({"jacoby": True}, {"mars_with_cube": False}, {}):
        rules = Rules(cube_cap=1, **switches)
        roller = Roller(NET, how, rules, situation=Situation(rules=rules))
        figures.append(last(roller, roller.position(MIDDLE)).lines[0])
    assert figures[0].equity == figures[1].equity
    assert figures[0].probs.tolist() == figures[1].probs.tolist() != figures[2].probs.tolist()


def test_a_deeper_trial_is_another_one() -> None:
    """Play at a depth looks at the stake: the search's cache tells states of the cube apart."""
    net = random_net(SMALL, np.random.default_rng(7))
    how = RolloutSettings(trials=6, truncate=2, ply=2, seed=1)
    situation = SITUATIONS["match"]
    equities = []
    for threads in (1, 2):
        settings = dataclasses.replace(how, threads=threads)
        roller = Roller(net, settings, situation.rules, situation=situation)
        equities.append([x.equity for x in last(roller, roller.position(MIDDLE)).lines])
    assert equities[0] == equities[1]
    assert Searcher(Evaluator(net)).probabilities(MIDDLE[None], 2).shape == (1, 5)
