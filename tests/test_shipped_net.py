"""The net that comes with nardi: its facts, strength and plays, and the border of its halves."""

import re
from pathlib import Path

import numpy as np
import pytest

from agent.bot import load_bot
from agent.checkpoint import default_net_path, load_net, read_facts
from agent.evaluator import Evaluator, cubeless_equity
from agent.kernels.value import new_work
from agent.ranking import scoring_weights
from engine.board import START, has_contact
from engine.play_codes import MAX_PLAYS
from engine.rules import INTERNATIONAL
from engine.short_moves import new_scratch
from engine.variant import play_switches
from eval.duel import play_duel
from train.kernels.selfplay import expected_values
from train.selfplay import RoundPlan, play_chunk

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 12_000_000
PLAYS = play_switches(INTERNATIONAL)


def test_its_facts_say_where_it_comes_from() -> None:
    facts = read_facts(default_net_path())
    assert facts["command"].startswith("nardi train --preset")
    assert facts["parent"] is None
    assert facts["games"] == sum(stage["games"] for stage in facts["train"]["stage"])
    assert re.fullmatch("[0-9a-f]{40}", facts["commit"])
    assert facts["seed"] == facts["train"]["seed"]
    assert default_net_path().stat().st_size < MOST_BYTES


def test_the_list_of_nets_tells_of_it() -> None:
    facts = read_facts(default_net_path())
    row = next(
        line
        for line in (ROOT / "checkpoints" / "README.md").read_text("utf-8").splitlines()
        if default_net_path().name in line and line.startswith("|")
    )
    assert f"{facts['games']:,}" in row
    assert facts["commit"][:7] in row
    assert facts["command"] in row


def test_it_beats_pubeval() -> None:
    """The claim is +0.5 points per game at least; 1,000 games tell the score to within 0.04."""
    figures = play_duel("net", "pubeval", 1000, 3)
    assert figures.ppg.mean > 0.5 - 4 * figures.ppg.stderr
    assert figures.ppg.mean > 0.3


@pytest.mark.parametrize(
    ("roll", "play"),
    [
        ((3, 1), "8/5 6/5"),
        ((4, 2), "8/4 6/4"),
        ((6, 1), "13/7 8/7"),
        ((5, 3), "8/3 6/3"),
        ((6, 5), "24/13"),
    ],
)
def test_it_knows_the_openings_that_nobody_doubts(roll: tuple[int, int], play: str) -> None:
    assert load_bot("net").best_play(START, roll).text == play


def test_no_jump_where_contact_ends() -> None:
    """The last contact positions of games are valued as well by one more look as any others.

    Their plays lead into races, which the other net values: if the two did not fit together, the
    value before the roll and its exact mean over the rolls would be further apart there.
    """
    net = load_net(default_net_path())
    plan = RoundPlan(
        seed=77,
        first_game=0,
        games=200,
        games_per_call=200,
        lambda_=1.0,
        explore=0.0,
        random_openings=0.0,
        random_plies=1,
        expected=0.0,
    )
    boards = play_chunk(net, plan, 0, plan.games).boards
    contact = has_contact(boards)
    border = np.flatnonzero(contact[:-1] & ~contact[1:])
    inner = np.flatnonzero(contact)[::20]
    errors = {}
    for name, rows in (("border", border), ("inner", inner)):
        some = boards[rows]
        means = np.zeros((len(some), 5), dtype=np.float32)
        work = new_work(net.contact, net.race, MAX_PLAYS)
        weights = scoring_weights(INTERNATIONAL)
        rows = np.arange(len(some))
        scratch = new_scratch()
        expected_values(net.contact, net.race, some, rows, weights, PLAYS, work, scratch, means)
        values = cubeless_equity(Evaluator(net).probabilities(some))
        errors[name] = values - cubeless_equity(means)
    assert len(border) > 150
    assert abs(errors["border"].mean()) < 0.02
    assert np.sqrt((errors["border"] ** 2).mean()) < 1.5 * np.sqrt((errors["inner"] ** 2).mean())
