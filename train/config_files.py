"""Where settings of a training run come from: presets, TOML files, `--set`; and back to TOML."""

import dataclasses
import json
import tomllib
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

from agent.net import ValueNetConfig
from engine.errors import ConfigError
from train.config import TrainConfig

__all__ = [
    "PRESETS",
    "config_from_values",
    "config_text",
    "load_config",
    "load_values",
    "read_values",
    "set_value",
]

PRESETS: Final = ("smoke", "short", "strong", "long", "further")
"""Names of the presets that come with nardi."""


def _build(kind: Any, values: Any, where: str) -> Any:
    """A settings object, or a plain value, of a type from what TOML or JSON gave."""
    if dataclasses.is_dataclass(kind):
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where}: a table of settings is needed, not '{values}'")
        hints = get_type_hints(kind)
        known = {f.name.rstrip("_"): f.name for f in dataclasses.fields(kind)}
        for name in values:
            if name not in known:
                raise ConfigError(
                    f"unknown setting '{where + '.' if where else ''}{name}';"
                    f" known: {', '.join(known)}"
                )
        parts = {
            known[name]: _build(hints[known[name]], value, f"{where}.{name}".lstrip("."))
            for name, value in values.items()
        }
        try:
            return kind(**parts)  # type: ignore[operator]
        except TypeError as error:
            raise ConfigError(f"{where}: {error}") from None
    if get_origin(kind) is types.UnionType:
        (kind,) = (part for part in get_args(kind) if part is not types.NoneType)
        return None if values is None else _build(kind, values, where)
    if get_origin(kind) is tuple:
        if not isinstance(values, list | tuple):
            raise ConfigError(f"{where}: a list is needed, not '{values}'")
        inner = get_args(kind)[0]
        return tuple(_build(inner, item, f"{where}.{i}") for i, item in enumerate(values))
    return values


def config_from_values(values: Mapping[str, Any]) -> TrainConfig:
    """Settings from nested plain values. Raises ConfigError that names the setting at fault."""
    config = _build(TrainConfig, values, "")
    assert isinstance(config, TrainConfig)
    return config


def read_values(text: str, source: str) -> dict[str, Any]:
    """The values of a TOML text; source names it in errors. Raises ConfigError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: {error}") from None


def _preset_values(name: str) -> dict[str, Any]:
    if name not in PRESETS:
        raise ConfigError(f"unknown preset '{name}'; known: {', '.join(PRESETS)}")
    resource = files("train").joinpath("presets", f"{name}.toml")
    return read_values(resource.read_text(encoding="utf-8"), f"preset '{name}'")


def _merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(values.get(name), dict):
            _merge(values[name], value)
        else:
            values[name] = value


def set_value(values: dict[str, Any], assignment: str) -> None:
    """Apply "learn.batch=512" or "stage.0.rate=[1e-3,1e-4]" to nested values. Raises ConfigError.

    The value is read as TOML; what TOML does not know is taken as text.
    """
    path, equals, text = assignment.partition("=")
    if not equals or not path.strip():
        raise ConfigError(
            f"'{assignment}' is not a setting; write NAME=VALUE, e.g. learn.batch=512"
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    *parents, last = path.strip().split(".")
    place: Any = values
    for name in parents:
        if isinstance(place, list) and name.isdigit() and int(name) < len(place):
            place = place[int(name)]
        elif isinstance(place, dict):
            place = place.setdefault(name, {})
        else:
            raise ConfigError(f"unknown setting '{path.strip()}': there is no '{name}'")
    if isinstance(place, list) and last.isdigit() and int(last) < len(place):
        place[int(last)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise ConfigError(f"unknown setting '{path.strip()}': there is no '{last}'")


def load_values(
    preset: str = "short",
    file: Path | None = None,
    assignments: Sequence[str] = (),
    *,
    net: ValueNetConfig | None = None,
) -> dict[str, Any]:
    """Nested values of a preset, changed by a TOML file and then by assignments.

    net: takes the place of the preset's shape of the net, if given. Raises ConfigError.
    """
    values = _preset_values(preset)
    if net is not None:
        values["first_net" if "first_net" in values else "net"] = net.as_dict()
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"config file '{file}' cannot be read: {error}") from None
        _merge(values, read_values(text, f"config file '{file}'"))
    for assignment in assignments:
        set_value(values, assignment)
    return values


def load_config(
    preset: str = "short", file: Path | None = None, assignments: Sequence[str] = ()
) -> TrainConfig:
    """Settings of a preset, changed by a TOML file and then by assignments. Raises ConfigError."""
    return config_from_values(load_values(preset, file, assignments))


def config_text(config: TrainConfig) -> str:
    """The settings as TOML that `read_values` and `config_from_values` turn into them again."""
    return "\n".join(_toml_lines(config.as_dict(), "")).lstrip("\n") + "\n"


def _toml_lines(values: Mapping[str, Any], place: str) -> Iterator[str]:
    """A table of TOML: first its plain values, then the tables in it."""
    tables = []
    for name, value in values.items():
        if isinstance(value, dict):
            tables.append((f"{place}{name}", "[{}]", [value]))
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            tables.append((f"{place}{name}", "[[{}]]", value))
        else:
            yield f"{name} = {_toml_value(value)}"
    for name, header, items in tables:
        for item in items:
            lines = list(_toml_lines(item, f"{name}."))
            if not lines[0].startswith("\n"):
                yield "\n" + header.format(name)
            yield from lines


def _toml_value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(item) for item in value)}]"
    # JSON writes texts, numbers and booleans as TOML has them.
    return json.dumps(value, ensure_ascii=False)
