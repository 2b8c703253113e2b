"""Shapes of value nets: what a config accepts, which arrays follow, and new random weights."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.net import (
    DEFAULT_CONFIG,
    OUTPUTS,
    NetConfig,
    ValueNet,
    ValueNetConfig,
    array_shapes,
    check_arrays,
    new_value_net,
)
from engine.board import START, phase
from engine.errors import ConfigError
from engine.features import POINT_BASE
from tests.strategies import mixed_boards

SMALL = ValueNetConfig(
    contact=NetConfig(width=16, hidden=8),
    race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
)


def new_net(seed: int = 1, config: ValueNetConfig = SMALL) -> ValueNet:
    return new_value_net(config, np.random.default_rng(seed))


def arrays_of(net: ValueNet) -> dict[str, NDArray[np.float32]]:
    return {
        f"{part}/{name}": array
        for part in ("contact", "race")
        for name, array in getattr(net, part)._asdict().items()
    }


# --- configs ---


@pytest.mark.parametrize(
    ("setting", "value", "accepted"),
    [
        ("width", 0, "from 1 to 1024"),
        ("width", 1025, "from 1 to 1024"),
        ("width", 8.0, "from 1 to 1024"),
        ("width", "8", "from 1 to 1024"),
        ("width", True, "from 1 to 1024"),
        ("width", None, "from 1 to 1024"),
        ("hidden", -1, "from 0 to 512"),
        ("hidden", 513, "from 0 to 512"),
        ("hidden", False, "from 0 to 512"),
        ("pairs", 1, "true or false"),
        ("pairs", "yes", "true or false"),
        ("experts", "contact-v2", "none, contact-v1"),
        ("experts", None, "none, contact-v1"),
        ("experts", ["none"], "none, contact-v1"),
        ("tails", "two", "one, back9, back25"),
        ("tails", 9, "one, back9, back25"),
        ("tails", ["one"], "one, back9, back25"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_accepted(
    setting: str, value: object, accepted: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        NetConfig(**{setting: value})  # type: ignore[arg-type]
    assert f"{setting} is '{value}'" in str(caught.value)
    assert accepted in str(caught.value)


def test_all_wrong_settings_are_named_at_once() -> None:
    wrong: dict[str, Any] = {
        "width": 0,
        "pairs": 2,
        "experts": "all",
        "hidden": 999,
        "tails": "none",
    }
    with pytest.raises(ConfigError) as caught:
        NetConfig(**wrong)
    assert all(f"{setting} is '{value}'" in str(caught.value) for setting, value in wrong.items())


@pytest.mark.parametrize(("width", "hidden"), [(1, 0), (1, 1), (1024, 512)])
def test_the_smallest_and_the_largest_net_answer(width: int, hidden: int) -> None:
    config = NetConfig(width=width, hidden=hidden, pairs=False, tails="back9")
    net = new_net(1, ValueNetConfig(contact=config, race=config))
    probs = Evaluator(net).probabilities(START[np.newaxis])[0]
    assert np.isfinite(probs).all()
    assert 0 < probs[0] < 1


def test_configs_are_frozen_and_come_back_from_plain_values() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NetConfig().width = 9  # type: ignore[misc]
    for config in (DEFAULT_CONFIG, SMALL):
        assert ValueNetConfig.from_dict(config.as_dict()) == config
    assert ValueNetConfig.from_dict({}) == DEFAULT_CONFIG
    part = ValueNetConfig.from_dict({"contact": {"width": 7}})
    assert part.contact == NetConfig(width=7)
    assert part.race == DEFAULT_CONFIG.race


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"contact": {}, "bearoff": {}}, "unknown part 'bearoff'.*contact, race"),
        ({"race": {"depth": 3}}, "unknown setting 'race.depth'.*width, pairs"),
        ({"race": {"width": 0}}, "width is '0'"),
        ({"race": 64}, "'race' is '64'.*table of settings"),
        ({"contact": ["width"]}, "'contact' is .*table of settings"),
    ],
)
def test_wrong_plain_values_are_config_errors(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ValueNetConfig.from_dict(values)


# --- arrays ---


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            NetConfig(),
            {
                "points": (370, 128),
                "pairs": (6615, 128),
                "bias": (128,),
                "w2": (1, 128 + 24, 32),
                "b2": (1, 32),
                "w3": (1, 32, 5),
                "b3": (1, 5),
            },
        ),
        (
            NetConfig(width=8, pairs=False, experts="none", hidden=0, tails="back9"),
            {
                "points": (370, 8),
                "pairs": (0, 8),
                "bias": (8,),
                "w2": (9, 8, 5),
                "b2": (9, 5),
                "w3": (9, 0, 5),
                "b3": (9, 5),
            },
        ),
    ],
)
def test_arrays_have_the_documented_shapes(
    config: NetConfig, expected: dict[str, tuple[int, ...]]
) -> None:
    assert array_shapes(config) == expected
    net = new_net(1, ValueNetConfig(contact=config, race=config))
    for arrays in (net.contact, net.race):
        assert list(arrays._fields) == list(expected)
        assert {name: array.shape for name, array in arrays._asdict().items()} == expected
        assert {array.dtype for array in arrays} == {np.dtype(np.float32)}
        assert all(array.flags.c_contiguous for array in arrays)
        assert check_arrays(config, arrays._asdict()) == []
    assert net.num_weights() == 2 * sum(int(np.prod(shape)) for shape in expected.values())


def test_numbers_of_tails_and_experts() -> None:
    found = [NetConfig(tails=tails).num_tails for tails in ("one", "back9", "back25")]
    assert found == [1, 9, 25]
    assert NetConfig(experts="none").num_experts == 0
    assert NetConfig(experts="contact-v1").num_experts == 24


def test_arrays_that_do_not_fit_are_told_in_words() -> None:
    good = new_net().contact._asdict()
    config = SMALL.contact
    assert check_arrays(config, good) == []
    missing = {name: array for name, array in good.items() if name != "w3"}
    wider = good | {"bias": np.zeros(17, dtype=np.float32)}
    doubles = good | {"b2": good["b2"].astype(np.float64)}
    spoiled = good["points"].copy()
    spoiled[3, 1] = np.nan
    for arrays, words in (
        (missing, "'w3' is missing"),
        (wider, r"'bias' is (17,) float32, its config asks for (16,)"),
        (doubles, "'b2' is (1, 8) float64"),
        (good | {"points": spoiled}, "'points' holds numbers that are not finite"),
    ):
        faults = check_arrays(config, arrays)
        assert len(faults) == 1
        assert words in faults[0]


# --- new nets ---


def test_the_generator_decides_the_weights() -> None:
    one, again, other = arrays_of(new_net(1)), arrays_of(new_net(1)), arrays_of(new_net(2))
    assert one.keys() == again.keys() == other.keys()
    assert all((one[name] == again[name]).all() for name in one)
    for name in ("contact/points", "contact/w2", "contact/w3", "race/points", "race/w2"):
        assert (one[name] != other[name]).any(), name
    net = new_net()
    assert net.config == SMALL
    assert net.facts == {}
    # Both parts are of their own chance, also where they have the same shape.
    twins = new_net(1, ValueNetConfig(contact=SMALL.contact, race=SMALL.contact))
    assert (twins.contact.points != twins.race.points).any()


def test_new_nets_start_as_described() -> None:
    net = new_net()
    assert not net.contact.pairs.any()
    points = net.contact.points
    for slot in range(28):
        assert not points[POINT_BASE[slot]].any()  # the row of an empty slot, which is never lit
    # Counts that differ by one start alike: closer than those of two sides, or of two slots.
    for slot in (6, 13, 24):
        near = np.abs(points[POINT_BASE[slot] + 4] - points[POINT_BASE[slot] + 3]).mean()
        far = np.abs(points[POINT_BASE[slot] + 4] - points[POINT_BASE[slot] - 4]).mean()
        assert near < 0.5 * far


@pytest.mark.parametrize("seed", range(5))
def test_new_nets_expect_a_game_between_equals(seed: int) -> None:
    """Nothing is saturated: small differences of boards give small differences of values."""
    rng = np.random.default_rng(100 + seed)
    boards = [board for board, _ in itertools.islice(mixed_boards(rng), 300)]
    kinds = np.array([phase(board) for board in boards])
    probs = Evaluator(new_net(seed, DEFAULT_CONFIG)).probabilities(np.array(boards, dtype=np.int8))
    for kind in ("contact", "race"):
        win = probs[kinds == kind, 0]
        assert 0.2 < win.mean() < 0.8
        assert 0.002 < win.std() < 0.3
        assert ((win > 0.01) & (win < 0.99)).all()


def test_outputs_are_named_in_the_order_of_the_equity() -> None:
    assert OUTPUTS == ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")
    probs = np.array([0.6, 0.25, 0.05, 0.1, 0.02], dtype=np.float32)
    # 0.4 lost, once each; 0.1 of them twice and 0.02 three times.
    assert cubeless_equity(probs) == pytest.approx(0.6 + 0.25 + 0.05 - 0.4 - 0.1 - 0.02)
    assert cubeless_equity(swap_sides(probs)) == pytest.approx(-cubeless_equity(probs))
    assert swap_sides(probs).tolist() == pytest.approx([0.4, 0.1, 0.02, 0.25, 0.05])
    assert swap_sides(swap_sides(probs)) == pytest.approx(probs)
    with pytest.raises(ValueError, match="5 columns"):
        cubeless_equity(probs[:4])
