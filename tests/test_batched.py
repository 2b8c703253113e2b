"""The numpy path against the compiled one, in all phases, for several shapes of nets."""

import numpy as np
import pytest

from agent.batched import batch_probabilities
from agent.evaluator import Evaluator
from agent.net import NetConfig, ValueNetConfig, new_value_net
from engine.board import START, flip
from engine.dice import game_generator, roll_dice
from engine.moves import legal_afterstates_batch
from engine.scoring import outcome_mask

SHAPES = {
    "pairs and experts": NetConfig(width=24),
    "nine tails": NetConfig(width=16, tails="back9"),
    "25 tails": NetConfig(width=16, tails="back25"),
    "one layer": NetConfig(width=20, pairs=False, experts="none", hidden=0),
}


def boards_of_games() -> np.ndarray:
    """Boards of random games from the opening to the end, finished ones included."""
    generator = game_generator(4, 0)
    boards = np.tile(START, (40, 1))
    found = []
    for _ in range(140):
        afterstates, offsets = legal_afterstates_batch(boards, roll_dice(generator, 40))
        picks = offsets[:-1] + (generator.random(40) * np.diff(offsets)).astype(np.int64)
        found.append(flip(afterstates[picks]))
        over = ~(afterstates[picks][:, 1:] > 0).any(axis=1)
        boards = np.where(over[:, None], START, found[-1])
    return np.concatenate(found)


@pytest.mark.parametrize("name", SHAPES)
def test_both_paths_agree(name: str) -> None:
    generator = np.random.default_rng(8)
    net = new_value_net(ValueNetConfig(contact=SHAPES[name]), generator)
    net.contact.pairs[:] = generator.normal(0, 0.1, net.contact.pairs.shape)
    boards = boards_of_games()
    expected = Evaluator(net).probabilities(boards)
    found = batch_probabilities(net, boards)
    assert np.abs(found - expected).max() < 1e-5
    over = (expected == outcome_mask(boards)).all(axis=1)
    assert over.sum() >= 10, "finished games must be among them"
    assert (found[over] == expected[over]).all()
