"""Two nets made one whose outputs are the mean of both, before the sigmoid.

What two nets of different beginnings get wrong is half their own, and the mean takes most of that
away, at the cost of both. The joined net keeps them as groups of units that meet in the outputs
only, and can be trained on as one.
"""

import dataclasses
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.kernels.value import NetArrays
from agent.net import NetConfig, ValueNet, ValueNetConfig
from engine.errors import ConfigError

__all__ = ["join_nets"]

FloatArray = NDArray[np.float32]

_ALIKE: Final = ("pairs", "experts", "tails")
_PARTS: Final = ("contact", "race")


def join_nets(one: ValueNet, other: ValueNet) -> ValueNet:
    """The two nets as one, each of their groups counting alike; without facts.

    A part, contact or race, that both have with the same weights is taken once. Raises ConfigError
    if they are of different games or kinds of win, or their shapes do not fit together.
    """
    if (one.game, one.four_kinds) != (other.game, other.four_kinds):
        raise ConfigError("nets of different games or kinds of win cannot be joined")
    configs, arrays = {}, {}
    for part in _PARTS:
        pair = [(getattr(net.config, part), getattr(net, part)) for net in (one, other)]
        configs[part], arrays[part] = _joined(part, *pair)
    config = ValueNetConfig(contact=configs["contact"], race=configs["race"])
    return dataclasses.replace(
        one, config=config, contact=arrays["contact"], race=arrays["race"], facts={}
    )


def _joined(
    part: str, one: tuple[NetConfig, NetArrays], other: tuple[NetConfig, NetArrays]
) -> tuple[NetConfig, NetArrays]:
    (a, x), (b, y) = one, other
    if a == b and all(np.array_equal(left, right) for left, right in zip(x, y, strict=True)):
        return one
    _check_fit(part, a, b)
    share = np.float32(b.groups / (a.groups + b.groups))

    def mean(left: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray((1 - share) * left + share * right, dtype=np.float32)

    def side_by_side(left: FloatArray, right: FloatArray) -> FloatArray:
        return np.concatenate([left, right], axis=-1)

    if a.hidden:
        w2, b2 = (
            _by_tail(a.num_tails, left, right) for left, right in ((x.w2, y.w2), (x.b2, y.b2))
        )
        w3 = np.concatenate([(1 - share) * x.w3, share * y.w3], axis=1)
        groups = a.groups + b.groups
    else:
        units = [(1 - share) * x.w2[:, : a.width], share * y.w2[:, : b.width]]
        w2 = np.concatenate([*units, mean(x.w2[:, a.width :], y.w2[:, b.width :])], axis=1)
        b2, w3, groups = mean(x.b2, y.b2), x.w3, 1
    config = dataclasses.replace(
        a, width=a.width + b.width, hidden=a.hidden + b.hidden, groups=groups
    )
    return config, NetArrays(
        points=side_by_side(x.points, y.points),
        pairs=side_by_side(x.pairs, y.pairs),
        bias=side_by_side(x.bias, y.bias),
        w2=w2,
        b2=b2,
        w3=w3,
        b3=mean(x.b3, y.b3),
    )


def _check_fit(part: str, a: NetConfig, b: NetConfig) -> None:
    faults = [name for name in _ALIKE if getattr(a, name) != getattr(b, name)]
    if bool(a.hidden) != bool(b.hidden) or (
        a.hidden
        and (a.width // a.groups, a.hidden // a.groups)
        != (b.width // b.groups, b.hidden // b.groups)
    ):
        faults.append("units of a group")
    if faults:
        raise ConfigError(
            f"nets whose {part} nets differ in {' and '.join(faults)} cannot be joined; accepted:"
            " two of the same shape"
        )


def _by_tail(n_tails: int, left: FloatArray, right: FloatArray) -> FloatArray:
    """Layers `(T G, ...)` of two nets, those of a tail together."""
    parts = [layers.reshape(n_tails, -1, *layers.shape[1:]) for layers in (left, right)]
    return np.concatenate(parts, axis=1).reshape(-1, *left.shape[1:])
