"""`state.safetensors`: everything that a run goes on from, as named arrays and JSON; no pickle."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agent.kernels.value import NetArrays
from agent.net import ValueNet, ValueNetConfig, array_shapes, check_arrays
from engine.atomic_file import write_atomically
from engine.errors import CheckpointError, ConfigError
from engine.rules import Rules
from engine.scoring import has_four_kinds
from train.config import TrainConfig
from train.config_files import config_from_values
from train.progress import Positions, RunState

__all__ = ["STATE_FORMAT", "Check", "RunRecord", "Score", "Snapshot", "load_state", "save_state"]

STATE_FORMAT: Final = 1
"""Number of the file format; another one is refused."""

_KEY: Final = "nardi-run"
_PARTS: Final = ("contact", "race")


@dataclass(frozen=True, kw_only=True)
class Score:
    """Result of a match of the net that is trained against another bot."""

    opponent: str
    """Text that names the other bot."""
    ppg: float
    """Points per game of the net."""
    stderr_ppg: float
    """Standard error of `ppg`."""
    games: int
    """Games of the match."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Matches of one net against all opponents."""

    games: int
    """Games of self-play that the net had learned from."""
    scores: tuple[Score, ...]
    """One for each opponent; the last one's decides which net is best."""
    values: dict[str, float] = field(default_factory=dict)
    """Other figures of the net, by tags such as "yardstick_pr"."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What is known of a run besides what it has learned."""

    config: TrainConfig
    minutes: float | None
    """Limit of training time that the stages are spread over; None = the games of the stages."""
    device: str
    """Where the weights are fitted: "cpu" or "cuda"."""
    origin: dict[str, Any]
    """Where it comes from (command, commit, versions, parent), for the facts of its nets."""
    resumed_at: tuple[int, ...] = ()
    """Games played when a later session took over, for each of them."""
    checks: tuple[Check, ...] = ()
    """All checks so far."""
    best: Check | None = None
    """The check of the net in `best.safetensors`, the newest one that scored no less than the
    highest score before it by more than its standard error."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A moment of a run between two rounds."""

    record: RunRecord
    state: RunState
    learner: dict[str, NDArray[Any]]
    """As `Learner.state` has it."""
    previous: ValueNet
    """The weights that play the next round."""
    log_lengths: dict[str, int]
    """As `Metrics.lengths` tells them."""
    sorter: dict[str, NDArray[Any]] | None = None
    """As `Learner.state` has it, of the net that sorts plays; None if the run has none."""
    previous_sorter: ValueNet | None = None
    """The sorter for the next round."""
    beside: tuple[dict[str, NDArray[Any]], ...] = ()
    """As `Learner.state` has it, of nets that learn beside the settled one."""
    window: tuple[Positions, ...] = ()
    """Positions of rounds that are learned from again."""


def save_state(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot in place of the one before. Raises CheckpointError, the old file intact."""
    record = snapshot.record
    facts = {
        "format": STATE_FORMAT,
        "config": record.config.as_dict(),
        "minutes": record.minutes,
        "device": record.device,
        "origin": record.origin,
        "resumed_at": record.resumed_at,
        "checks": [dataclasses.asdict(check) for check in record.checks],
        "best": None if record.best is None else dataclasses.asdict(record.best),
        "state": dataclasses.asdict(snapshot.state),
        "log_lengths": snapshot.log_lengths,
    }
    arrays = {f"learner/{name}": array for name, array in snapshot.learner.items()}
    arrays |= _net_arrays("previous", snapshot.previous)
    if snapshot.sorter is not None and snapshot.previous_sorter is not None:
        arrays |= {f"sorter/{name}": array for name, array in snapshot.sorter.items()}
        arrays |= _net_arrays("previous_sorter", snapshot.previous_sorter)
    for number, learner in enumerate(snapshot.beside):
        arrays |= {f"beside/{number}/{name}": array for name, array in learner.items()}
    for number, part in enumerate(snapshot.window):
        arrays |= {f"window/{number}/{name}": a for name, a in part._asdict().items()}
    content = save(arrays, metadata={_KEY: json.dumps(facts, sort_keys=True)})
    try:
        write_atomically(path, content)
    except OSError as error:
        raise CheckpointError(f"state '{path}' cannot be written: {error.strerror}") from None


def load_state(path: Path) -> Snapshot:
    """Read what `save_state` wrote. Raises CheckpointError for a damaged or foreign file."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            # Copies: what the file gives may not be written to.
            arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"'{path}' is not the state of a run: {error}") from None
    try:
        facts = json.loads(metadata[_KEY])
        found = facts["format"]
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(
            f"'{path}' is a safetensors file, but not the state of a run"
        ) from None
    if found != STATE_FORMAT:
        raise CheckpointError(
            f"state '{path}' has format '{found}'; this version reads {STATE_FORMAT}"
        )
    try:
        record = RunRecord(
            config=config_from_values(facts["config"]),
            minutes=facts["minutes"],
            device=facts["device"],
            origin=facts["origin"],
            resumed_at=tuple(facts["resumed_at"]),
            checks=tuple(_check(values) for values in facts["checks"]),
            best=None if facts["best"] is None else _check(facts["best"]),
        )
        sorter, shape = _below(arrays, "sorter/"), record.config.selfplay.sorter
        window, beside = _below(arrays, "window/"), _below(arrays, "beside/")
        state = RunState(**facts["state"])
        return Snapshot(
            record=record,
            state=state,
            learner=_below(arrays, "learner/"),
            previous=_previous(
                record.config.net_after(state.fresh_stages, state.beside_stages),
                _below(arrays, "previous/"),
                record.config.play_rules,
            ),
            log_lengths=facts["log_lengths"],
            sorter=sorter or None,
            previous_sorter=_previous(
                shape, _below(arrays, "previous_sorter/"), record.config.play_rules
            )
            if sorter and shape is not None
            else None,
            beside=tuple(
                _below(beside, f"{number}/")
                for number in range(len({name.partition("/")[0] for name in beside}))
            ),
            window=tuple(
                _positions(_below(window, f"{number}/"))
                for number in range(len({name.partition("/")[0] for name in window}))
            ),
        )
    except (ConfigError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"state '{path}' was written by another version: {error}") from None


def _check(values: dict[str, Any]) -> Check:
    return Check(
        games=values["games"],
        scores=tuple(Score(**score) for score in values["scores"]),
        values=values.get("values", {}),  # states of before there were any lack it
    )


def _positions(arrays: dict[str, NDArray[Any]]) -> Positions:
    boards = arrays["boards"]
    # States of before there were any lack weights.
    weights = arrays.get("weights", np.ones(len(boards), dtype=np.float32))
    return Positions(boards, arrays["targets"], weights)


def _below(arrays: dict[str, NDArray[Any]], place: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(place): array for name, array in arrays.items() if name.startswith(place)
    }


def _net_arrays(place: str, net: ValueNet) -> dict[str, NDArray[Any]]:
    return {
        f"{place}/{part}/{name}": np.ascontiguousarray(array)
        for part in _PARTS
        for name, array in getattr(net, part)._asdict().items()
    }


def _previous(config: ValueNetConfig, arrays: dict[str, NDArray[Any]], rules: Rules) -> ValueNet:
    parts = {}
    for part in _PARTS:
        found = _below(arrays, f"{part}/")
        part_config = getattr(config, part)
        if faults := check_arrays(part_config, found):
            raise ValueError(f"{part}: {'; '.join(faults)}")
        parts[part] = NetArrays(**{name: found[name] for name in array_shapes(part_config)})
    return ValueNet(
        config,
        parts["contact"],
        parts["race"],
        game=rules.game,
        four_kinds=has_four_kinds(rules),
    )
