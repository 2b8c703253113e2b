"""Nets for tests: small, random everywhere, in all the shapes that a config allows."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.checkpoint import save_net
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.rules import Game

__all__ = ["CONFIGS", "SMALL", "all_arrays", "random_net", "small_net_file"]

_PLAIN = NetConfig(width=8, pairs=False, experts="none", hidden=0)

SMALL = ValueNetConfig(contact=NetConfig(width=8, hidden=5), race=_PLAIN)
"""A quick net that has every part: pairs, expert inputs, a second hidden layer."""

CONFIGS: dict[str, ValueNetConfig] = {
    "small": SMALL,
    "plain": ValueNetConfig(contact=_PLAIN, race=_PLAIN),
    "default, half as wide": ValueNetConfig(
        contact=NetConfig(width=64, hidden=32), race=NetConfig(width=32, pairs=False, hidden=0)
    ),
    "nine tails": ValueNetConfig(
        contact=NetConfig(width=24, hidden=7, tails="back9"),
        race=NetConfig(width=16, pairs=True, experts="none", hidden=3),
    ),
    "nine tails without hidden layer": ValueNetConfig(
        contact=NetConfig(width=33, hidden=0, tails="back9"),
        race=NetConfig(width=9, pairs=True, hidden=0, tails="back9"),
    ),
    "25 tails": ValueNetConfig(
        contact=NetConfig(width=24, hidden=7, tails="back25"),
        race=NetConfig(width=16, pairs=False, experts="none", hidden=3),
    ),
    "groups": ValueNetConfig(
        contact=NetConfig(width=24, hidden=6, tails="back9", groups=3),
        race=NetConfig(width=16, pairs=False, experts="none", hidden=6, groups=2),
    ),
    "pairs alone": ValueNetConfig(
        contact=NetConfig(width=16, experts="none", hidden=0),
        race=NetConfig(width=40, pairs=False, hidden=11),
    ),
}
"""Shapes by a name that tells what is special: pairs, expert inputs, layers, tails, odd widths."""


def all_arrays(net: ValueNet) -> dict[str, NDArray[np.float32]]:
    """All arrays of a net by "part/name"."""
    parts = {"contact": net.contact, "race": net.race}
    return {
        f"{part}/{name}": array
        for part, arrays in parts.items()
        for name, array in arrays._asdict().items()
    }


def random_net(
    config: ValueNetConfig,
    generator: np.random.Generator,
    facts: dict[str, Any] | None = None,
    game: Game = "short",
    *,
    four_kinds: bool = False,
) -> ValueNet:
    """A net without a zero in it: no part of it can be left out and go unnoticed."""
    fresh = new_value_net(config, generator)
    net = ValueNet(config, fresh.contact, fresh.race, facts or {}, game, four_kinds)
    for array in all_arrays(net).values():
        array += generator.normal(0, 0.1, array.shape).astype(np.float32)
    return net


def small_net_file(folder: Path, facts: dict[str, Any] | None = None) -> Path:
    """A file with a small random net, always the same one."""
    path = folder / "small.safetensors"
    save_net(path, random_net(SMALL, np.random.default_rng(2026), facts))
    return path
