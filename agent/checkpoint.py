"""Reading and writing nets: one `.safetensors` file, its facts as JSON under one metadata key.

Facts hold at least: format, variant, features (names), net (config), and what training adds: train
(config), games, seed, parent, commit, dirty, versions, strength. A format number this version does
not know is refused; nothing is guessed.
"""

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agent.kernels.value import NetArrays
from agent.net import ValueNet, ValueNetConfig, array_shapes, check_arrays
from agent.rounding import SCALE_SUFFIX, rounded, widened
from engine.atomic_file import write_atomically
from engine.errors import CheckpointError, ConfigError
from engine.features import EXPERT_INPUTS
from engine.rules import Game

__all__ = [
    "FORMAT",
    "RELEASED",
    "default_net_path",
    "load_net",
    "load_sorter",
    "net_path",
    "read_facts",
    "save_net",
    "sorter_for",
]

FORMAT: Final = 1
"""Number of the file format; another one is refused, but for 2, the same with numbers of 8 bits."""
_ROUNDED_FORMAT: Final = 2
_ROUNDED_BITS: Final = 8

_KEY: Final = "nardi"
_PARTS: Final = ("contact", "race")
_DEFAULT_NAMES: Final[dict[Game, str]] = {
    "short": "nardi.safetensors",
    "long": "long.safetensors",
}
_SORTER_NAME: Final = "fast.safetensors"
RELEASED: Final = ("nardi", "fast", "long", "caucasian")
"""Names of the nets that come with nardi; each may stand for its file."""
_FOUR_KINDS: Final = "four-kinds-v1"  # of its outputs: `ValueNet.four_kinds`
_KNOWN_FEATURES: Final = (
    "raw-v1",
    "pairs-v1",
    *(name for name in EXPERT_INPUTS if name != "none"),
    _FOUR_KINDS,
)


def default_net_path(game: Game = "short") -> Path:
    """The net for a game that ships with nardi. Raises CheckpointError if there is none."""
    name = _DEFAULT_NAMES[game]
    path = Path(str(files("checkpoints").joinpath(name)))
    if not path.is_file():
        train = "nardi train" if game == "short" else f"nardi train --game {game}"
        raise CheckpointError(
            f"this installation has no net '{name}'; train one with `{train}` and name"
            " its file (--net FILE; as a bot: net:FILE)"
        )
    return path


def load_sorter(game: Game = "short") -> ValueNet | None:
    """The small net that ships with nardi to sort plays in a search; None if the game has none."""
    if game != "short":
        return None
    path = Path(str(files("checkpoints").joinpath(_SORTER_NAME)))
    return load_net(path) if path.is_file() else None


def sorter_for(net: ValueNet) -> ValueNet | None:
    """The small net that ships with nardi, if it sorts the plays of this net; None if none does."""
    return None if net.four_kinds else load_sorter(net.game)


def net_path(path: Path) -> Path:
    """The file that a path names, or the name of a released net if there is no such file.

    A folder of that name, such as `nardi` in a checkout, is not meant.
    """
    if str(path) in RELEASED and not path.is_file():
        return _file_of(str(path))
    return path


def _file_of(released: str) -> Path:
    return Path(str(files("checkpoints").joinpath(f"{released}.safetensors")))


def save_net(path: Path, net: ValueNet, *, bits: int = 32) -> None:
    """Write a net and its facts. Raises CheckpointError if the file cannot be written.

    bits: of a number, one of `agent.rounding.BITS`; with fewer than 32 the weights are rounded, the
    file is smaller, and what is read back is float32 again.
    """
    facts = dict(net.facts) | {
        "format": _ROUNDED_FORMAT if bits == _ROUNDED_BITS else FORMAT,
        "variant": net.facts.get("variant", net.game),
        "features": ["raw-v1"]
        + (["pairs-v1"] if net.config.contact.pairs or net.config.race.pairs else [])
        + sorted({net.config.contact.experts, net.config.race.experts} - {"none"})
        + ([_FOUR_KINDS] if net.four_kinds else []),
        "net": net.config.as_dict(),
    }
    arrays: dict[str, NDArray[Any]] = {}
    for part in _PARTS:
        for name, array in getattr(net, part)._asdict().items():
            arrays |= rounded(f"{part}/{name}", array, bits)
    content = save(arrays, metadata={_KEY: json.dumps(facts, sort_keys=True)})
    try:
        write_atomically(path, content)
    except OSError as error:
        raise CheckpointError(f"net '{path}' cannot be written: {error.strerror}") from None


def _open(path: Path) -> Any:
    path = net_path(path)
    if not path.is_file():
        what = "is a folder, not a file"
        if not path.is_dir():
            ours = " or ".join(name for name in RELEASED if _file_of(name).is_file())
            what = f"does not exist; accepted: a file, or {ours}, which come with nardi"
        raise CheckpointError(f"net '{path}' {what}")
    try:
        return safe_open(path, framework="numpy")
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"'{path}' is not a readable net: {error}") from None


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of a net file. Raises CheckpointError if it is not one of ours."""
    with _open(path) as file:
        return _facts(path, file)


def _facts(path: Path, file: Any) -> dict[str, Any]:
    metadata = file.metadata() or {}
    try:
        # A number that is not finite, such as the error of a single pair of games, is not known.
        facts = json.loads(metadata[_KEY], parse_constant=lambda _: None)
    except (KeyError, ValueError, RecursionError):
        raise CheckpointError(f"'{path}' is a safetensors file, but not a net of nardi") from None
    found = facts.get("format") if isinstance(facts, dict) else None
    if found not in (FORMAT, _ROUNDED_FORMAT):
        raise CheckpointError(
            f"net '{path}' has format '{found}'; this version reads {FORMAT} and {_ROUNDED_FORMAT}"
        )
    assert isinstance(facts, dict)
    return facts


def _check_use(path: Path, facts: dict[str, Any], game: Game | None) -> None:
    """Raises CheckpointError if a net is for another game, or sees what this version does not."""
    variant = facts.get("variant")
    if variant not in _DEFAULT_NAMES:
        raise CheckpointError(
            f"net '{path}' is for the game '{variant}'; this version plays"
            f" {' and '.join(_DEFAULT_NAMES)}"
        )
    if game is not None and variant != game:
        raise CheckpointError(
            f"net '{path}' is for the game '{variant}', not for {game} nardi, which is asked for"
        )
    features = facts.get("features")
    if not isinstance(features, list):
        raise CheckpointError(f"net '{path}' does not tell its features")
    unknown = [name for name in features if name not in _KNOWN_FEATURES]
    if unknown:
        raise CheckpointError(
            f"net '{path}' needs features '{unknown[0]}'; this version knows"
            f" {', '.join(_KNOWN_FEATURES)}"
        )
    shapes = facts.get("net")
    if not isinstance(shapes, dict) or not all(isinstance(shapes.get(p), dict) for p in _PARTS):
        raise CheckpointError(f"net '{path}' does not tell the shapes of {' and '.join(_PARTS)}")


def _arrays(file: Any, part: str, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Those arrays of a part that the file has. Raises ValueError for scales that do not fit."""
    there = set(file.keys())
    arrays = {}
    for name in names:
        place = f"{part}/{name}"
        if place not in there:
            continue
        scales = place + SCALE_SUFFIX
        try:
            arrays[name] = widened(
                file.get_tensor(place), file.get_tensor(scales) if scales in there else None
            )
        except ValueError as error:
            raise ValueError(f"array '{name}' {error}") from None
    return arrays


def load_net(path: Path, game: Game | None = "short") -> ValueNet:
    """A net and its facts. Raises CheckpointError for a missing, damaged or foreign file.

    game: the one that it is to be for; None = any.
    """
    with _open(path) as file:
        facts = _facts(path, file)
        _check_use(path, facts, game)
        try:
            config = ValueNetConfig.from_dict(facts["net"])
        except ConfigError as error:
            raise CheckpointError(f"net '{path}' was made by another version: {error}") from None
        parts = {}
        for part in _PARTS:
            part_config = getattr(config, part)
            try:
                arrays = _arrays(file, part, array_shapes(part_config))
            except (TypeError, ValueError) as error:  # TypeError: a number that numpy has not
                raise CheckpointError(f"net '{path}', {part}: {error}") from None
            faults = check_arrays(part_config, arrays)
            if faults:
                raise CheckpointError(f"net '{path}', {part}: {'; '.join(faults)}")
            parts[part] = NetArrays(**arrays)
    return ValueNet(
        config,
        parts["contact"],
        parts["race"],
        facts,
        facts["variant"],
        _FOUR_KINDS in facts["features"],
    )
