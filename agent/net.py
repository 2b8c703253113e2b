"""Value nets: their shape, their weights, and new ones with random weights.

A value net is two nets of the same kind, one for contact and one for races. Each has a sparse first
layer (rows of `raw-v1`, and of `pairs-v1` where its config says so), ReLU, one hidden layer of ReLU
that also takes the expert inputs, and five sigmoids: the cumulative probabilities of win, win
gammon, win backgammon, lose gammon and lose backgammon of the side on roll. Where wins have four
kinds the third and the fifth are the mean of 1 for a backgammon and 1/2 for a home gammon: half the
points that they are worth above a gammon. So five outputs give the equity of every scoring scheme.
"""

import dataclasses
import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from agent.kernels.value import NetArrays
from engine.errors import ConfigError
from engine.features import (
    EXPERT_INPUTS,
    NUM_PAIR_ROWS,
    NUM_POINT_ROWS,
    PAIR_BASE,
    POINT_BASE,
    POINT_CLIP,
    num_expert_inputs,
)
from engine.rules import Game

__all__ = [
    "DEFAULT_CONFIG",
    "OUTPUTS",
    "NetConfig",
    "ValueNet",
    "ValueNetConfig",
    "array_shapes",
    "new_value_net",
]

OUTPUTS: Final = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")
"""Names of the five outputs, in their order."""

Tails = Literal["one", "back9", "back25"]
_NUM_TAILS: Final[dict[str, int]] = {"one": 1, "back9": 9, "back25": 25}
_LARGEST_WIDTH: Final = 1024  # what the kernels' scratch holds
_LARGEST_HIDDEN: Final = 512


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    """Shape of one net. Raises ConfigError, naming every fault, for a value not told here."""

    width: int = 128
    """Units of the first layer, 1 to 1024."""
    pairs: bool = True
    """Whether the first layer has rows for pairs of slots besides rows for single ones."""
    experts: str = "contact-v1"
    """Expert inputs into the layer after the first; "none" or a name of `engine.features`."""
    hidden: int = 32
    """Units of the second layer, 1 to 512; 0 = the outputs follow the first layer."""
    tails: Tails = "one"
    """Layers after the first: "one" for all positions, "back9" by each side's checkers back."""
    groups: int = 1
    """Equal parts of the units of both layers that meet in the outputs only, so that the layer
    after the first costs that much less; a divisor of `width` and `hidden`."""

    def __post_init__(self) -> None:
        faults = []
        for name, least, largest in (
            ("width", 1, _LARGEST_WIDTH),
            ("hidden", 0, _LARGEST_HIDDEN),
        ):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not least <= value <= largest
            ):
                faults.append(f"{name} is '{value}'; a whole number from {least} to {largest} fits")
        pairs: Any = self.pairs
        if not isinstance(pairs, bool):
            faults.append(f"pairs is '{pairs}'; true or false fits")
        if not isinstance(self.experts, str) or self.experts not in EXPERT_INPUTS:
            faults.append(f"experts is '{self.experts}'; accepted: {', '.join(EXPERT_INPUTS)}")
        if self.tails not in get_args(Tails):
            faults.append(f"tails is '{self.tails}'; accepted: {', '.join(get_args(Tails))}")
        groups: Any = self.groups
        if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
            faults.append(f"groups is '{groups}'; a whole number from 1 up fits")
        elif (
            not faults
            and groups > 1
            and (self.hidden == 0 or self.width % groups or self.hidden % groups)
        ):
            faults.append(
                f"groups is '{groups}'; a divisor of width ({self.width}) and hidden"
                f" ({self.hidden}) fits, and without a second layer 1"
            )
        if faults:
            raise ConfigError("net config: " + "; ".join(faults))

    @property
    def num_tails(self) -> int:
        """How many output tails the net has."""
        return _NUM_TAILS[self.tails]

    @property
    def num_experts(self) -> int:
        """How many expert inputs the net takes."""
        return num_expert_inputs(self.experts)


@dataclass(frozen=True, kw_only=True)
class ValueNetConfig:
    """Shapes of the two nets that make a value net."""

    contact: NetConfig = field(default_factory=NetConfig)
    race: NetConfig = field(
        default_factory=lambda: NetConfig(width=64, pairs=False, experts="none", hidden=0)
    )

    def as_dict(self) -> dict[str, Any]:
        """The config as plain values, for files."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ValueNetConfig":
        """The config of `as_dict`'s values; raises ConfigError for unknown names or values."""
        parts = {}
        unknown = sorted(set(values) - {"contact", "race"})
        if unknown:
            raise ConfigError(f"net config: unknown part '{unknown[0]}'; known: contact, race")
        known = [f.name for f in dataclasses.fields(NetConfig)]
        for part, settings in values.items():
            if not isinstance(settings, dict):
                raise ConfigError(
                    f"net config: '{part}' is '{settings}'; a table of settings is needed"
                )
            unknown = sorted(set(settings) - set(known))
            if unknown:
                raise ConfigError(
                    f"net config: unknown setting '{part}.{unknown[0]}'; known: {', '.join(known)}"
                )
            parts[part] = NetConfig(**settings)
        return cls(**parts)


DEFAULT_CONFIG: Final = ValueNetConfig()


def array_shapes(config: NetConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a net's arrays, in the order of `NetArrays`."""
    tails, experts = config.num_tails, config.num_experts
    groups = config.groups
    second = (config.hidden or len(OUTPUTS)) // groups
    return {
        "points": (NUM_POINT_ROWS, config.width),
        "pairs": (NUM_PAIR_ROWS if config.pairs else 0, config.width),
        "bias": (config.width,),
        "w2": (tails * groups, config.width // groups + experts, second),
        "b2": (tails * groups, second),
        "w3": (tails, config.hidden, len(OUTPUTS)),
        "b3": (tails, len(OUTPUTS)),
    }


class Playing(NamedTuple):
    """Weights of the nets for contact and for races, as `ValueNet.playing` has them."""

    contact: NetArrays
    race: NetArrays


_LARGE_ARRAYS: Final = ("points", "pairs", "w2")


def _in_16_bits(net: NetArrays) -> NetArrays | None:
    """The net with its large arrays as the bits of 16-bit floats; None if one would be rounded."""
    halves = {}
    for name in _LARGE_ARRAYS:
        array = getattr(net, name)
        with np.errstate(over="ignore"):
            half = array.astype(np.float16)
        if not np.array_equal(half.astype(np.float32), array):
            return None
        halves[name] = half.view(np.uint16)  # numba has no arithmetic of these; kernels load them
    return net._replace(**halves)


@dataclass(frozen=True, eq=False)
class ValueNet:
    """Weights of a value net with their shapes, and the facts that travel with them."""

    config: ValueNetConfig
    contact: NetArrays
    race: NetArrays
    facts: dict[str, Any] = field(default_factory=dict)
    """What is known of its origin and strength; kept in its file."""
    game: Game = "short"
    """The game that it is for."""
    four_kinds: bool = False
    """Whether it learned what wins count by `mars_homemars_koks_1234`, and its third and fifth
    outputs are shares as told above."""

    @property
    def scheme(self) -> int:
        """What its outputs tell, as kernels ask: `agent.kernels.boards`."""
        return int(self.is_long) + 2 * int(self.four_kinds)

    @property
    def is_long(self) -> bool:
        """Whether it is for long nardi, as kernels ask."""
        return self.game == "long"

    @cached_property
    def playing(self) -> Playing:
        """Its weights as kernels that play take them.

        If 16 bits hold every one of the large arrays exactly, as after reading a file of 8 or 16
        bits, those are 16-bit floats: the same values to the last bit from half the memory, which
        is what a large net waits for. The net's own arrays must not change afterwards.
        """
        contact, race = _in_16_bits(self.contact), _in_16_bits(self.race)
        if contact is None or race is None:
            return Playing(self.contact, self.race)
        return Playing(contact, race)

    def in_half(self) -> "ValueNet":
        """A copy whose large arrays are rounded to 16-bit floats, so that `playing` holds them so.

        Equities change by some 1e-4. A net with a weight too large for that is given as it is.
        """
        parts = []
        for net in (self.contact, self.race):
            with np.errstate(over="ignore"):
                arrays = {
                    name: getattr(net, name).astype(np.float16).astype(np.float32)
                    for name in _LARGE_ARRAYS
                }
            if not all(np.isfinite(array).all() for array in arrays.values()):
                return self
            parts.append(net._replace(**arrays))
        return dataclasses.replace(self, contact=parts[0], race=parts[1])

    def num_weights(self) -> int:
        """Number of weights of both nets."""
        return sum(a.size for net in (self.contact, self.race) for a in net)

    def checksum(self) -> str:
        """SHA-256 of the weights in hexadecimal digits, whatever the file and its facts."""
        digest = hashlib.sha256()
        for net in (self.contact, self.race):
            for name, array in net._asdict().items():
                digest.update(f"{name} {array.shape} {array.dtype}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


# Typical outcomes of a game between equals, as starting point of the output biases.
_BASE_RATES = np.array([0.5, 0.14, 0.01, 0.14, 0.01])


def _new_arrays(config: NetConfig, generator: np.random.Generator) -> NetArrays:
    shapes = array_shapes(config)
    arrays = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
    # Rows of one slot start as sums of steps, so that counts that differ by one start alike, each
    # further checker counting less. Some 14 rows are lit at once.
    points = arrays["points"]
    steps = np.array([1.0, 0.7, 0.3, 0.2, 0.15, 0.1] + [0.1] * 9)
    for slot, base in enumerate(POINT_BASE):
        most = POINT_CLIP if slot < len(PAIR_BASE) else 15
        signs = (1, -1) if slot < len(PAIR_BASE) else (1,)
        for sign in signs:
            row = np.zeros(config.width)
            for n in range(1, most + 1):
                row = row + generator.normal(0, 0.1 * steps[n - 1], config.width)
                points[base + sign * n] = row
    second = (config.hidden or len(OUTPUTS)) // config.groups
    width = config.width // config.groups
    layers = []
    for _ in range(config.groups):
        w2 = np.empty(shapes["w2"][1:])
        w2[:width] = generator.normal(0, (2 / width) ** 0.5, (width, second))
        w2[width:] = generator.normal(0, 0.05, (config.num_experts, second))
        layers.append(w2)
    w2 = np.tile(np.array(layers), (config.num_tails, 1, 1))
    logits = np.log(_BASE_RATES / (1 - _BASE_RATES))
    if config.hidden:
        arrays["w2"][:] = w2
        scale = 0.5 * (1 / config.hidden) ** 0.5
        arrays["w3"][:] = generator.normal(0, scale, (config.hidden, len(OUTPUTS)))
        arrays["b3"][:] = logits
    else:
        arrays["w2"][:] = 0.25 * w2
        arrays["b2"][:] = logits
    return NetArrays(**arrays)


def new_value_net(
    config: ValueNetConfig,
    generator: np.random.Generator,
    game: Game = "short",
    *,
    four_kinds: bool = False,
) -> ValueNet:
    """A value net with random weights for a game; pair rows start at zero."""
    contact = _new_arrays(config.contact, generator)
    race = _new_arrays(config.race, generator)
    return ValueNet(config, contact, race, game=game, four_kinds=four_kinds)


def check_arrays(config: NetConfig, arrays: dict[str, NDArray[np.float32]]) -> list[str]:
    """What is wrong with a net's arrays, in words; empty if nothing is."""
    faults = []
    for name, shape in array_shapes(config).items():
        if name not in arrays:
            faults.append(f"array '{name}' is missing")
        elif arrays[name].shape != shape or arrays[name].dtype != np.float32:
            found = arrays[name]
            faults.append(
                f"array '{name}' is {found.shape} {found.dtype}, its config asks for"
                f" {shape} float32"
            )
        elif not np.isfinite(arrays[name]).all():
            faults.append(f"array '{name}' holds numbers that are not finite")
    return faults
