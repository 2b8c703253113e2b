"""Learning curves of a run folder: its `metrics.jsonl` read back and checked line by line.

The tags are those that docs/training.md lists; others are passed over. A folder may belong to a run
that is still going on: a last line that has not been written to its end is left out.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from engine.errors import NardiError

__all__ = ["AXES", "Check", "Curves", "Figure", "Moment", "RunFolderError", "read_curves"]

AXES: Final = ("games", "minutes", "cpu-minutes", "positions")
"""What the course of a run can be told over."""

_METRICS: Final = "metrics.jsonl"
_CONFIG: Final = "config.toml"
_MOST_GAMES: Final = 2**53
_TIME: Final = "train/seconds"
_LOSS: Final = "train/loss"
_RACE_LOSS: Final = "train/race_loss"
_PLIES: Final = "selfplay/plies_per_game"

FloatArray = NDArray[np.float64]


class RunFolderError(NardiError):
    """A folder that holds no run of `nardi train`, or a file of it that is damaged."""


class Figure(NamedTuple):
    """A measured value."""

    mean: float
    stderr: float
    """Standard error; nan if it was not recorded."""


class Moment(NamedTuple):
    """How far a run was."""

    games: int
    """Games of self-play learned from."""
    positions: float
    """Positions of these games."""
    seconds: float
    """Of training, without matches and saving."""
    cpu_seconds: float
    """CPU time of training, of all threads; nan if it was not recorded."""

    def on(self, axis: str) -> float:
        """The place on one of `AXES`; nan if it was not recorded."""
        return {
            "games": float(self.games),
            "minutes": self.seconds / 60,
            "cpu-minutes": self.cpu_seconds / 60,
            "positions": self.positions,
        }[axis]


@dataclass(frozen=True, kw_only=True)
class Check:
    """How strong the net was at a moment."""

    moment: Moment
    scores: dict[str, Figure]
    """Points per game against each opponent, in the order of the file."""
    pr: Figure | None
    """Error rating by the run's yardstick; None if it had none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """The course of a run. Arrays have an element for each round of learning, `(N,)`."""

    path: Path
    moments: tuple[Moment, ...]
    """After each round."""
    loss: FloatArray
    """Cross entropy of a position, of the contact net; nan where none was learned from."""
    race_loss: FloatArray
    """The same of the race net."""
    checks: tuple[Check, ...]
    settings: dict[str, str] = field(default_factory=dict)
    """Settings of the run by dotted names, as JSON; empty if the folder has no config.toml."""

    @property
    def last(self) -> Moment:
        """Where the run is."""
        last_check = self.checks[-1].moment if self.checks else None
        last_round = self.moments[-1] if self.moments else None
        both = [moment for moment in (last_check, last_round) if moment is not None]
        return max(both, key=lambda moment: moment.games)

    def opponents(self) -> list[str]:
        """All opponents of all checks, in the order in which they occur."""
        return list(dict.fromkeys(name for check in self.checks for name in check.scores))

    def course(self, opponent: str) -> list[tuple[Moment, Figure]]:
        """The scores against one opponent."""
        return [(c.moment, c.scores[opponent]) for c in self.checks if opponent in c.scores]

    def pr_course(self) -> list[tuple[Moment, Figure]]:
        """The error ratings."""
        return [(check.moment, check.pr) for check in self.checks if check.pr is not None]

    def speeds(self) -> FloatArray:
        """Games per second of each round, `(N,)`."""
        games = np.diff([0, *(moment.games for moment in self.moments)])
        seconds = np.diff([0.0, *(moment.seconds for moment in self.moments)])
        return np.asarray(games / np.where(seconds > 0, seconds, math.nan))


def read_curves(path: Path) -> Curves:
    """Read a run folder. Raises RunFolderError that names the file, the line and the fault."""
    if not path.exists():
        raise RunFolderError(f"folder '{path}' does not exist")
    if not path.is_dir():
        raise RunFolderError(f"'{path}' is no folder; name the folder of a run of nardi train")
    file = path / _METRICS
    if not file.is_file():
        raise RunFolderError(f"folder '{path}' holds no run of nardi train: it has no '{_METRICS}'")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise RunFolderError(f"'{file}' cannot be read: {error.strerror}") from None
    reader = _Reader(file)
    for number, line in enumerate(_whole_lines(content), 1):
        if line.strip():
            reader.take(number, line)
    if not reader.moments and not reader.checks:
        raise RunFolderError(f"'{file}' holds no metrics yet; nothing was measured or learned")
    return Curves(
        path=path,
        moments=tuple(reader.moments),
        loss=np.array(reader.loss, dtype=np.float64),
        race_loss=np.array(reader.race_loss, dtype=np.float64),
        checks=tuple(reader.checks),
        settings=_settings(path / _CONFIG),
    )


def _whole_lines(content: bytes) -> Sequence[bytes]:
    lines = content.split(b"\n")
    return lines[:-1]  # what follows the last line's end: nothing, or a line being written


class _Reader:
    """Takes the lines of one file in order."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.moments: list[Moment] = []
        self.loss: list[float] = []
        self.race_loss: list[float] = []
        self.checks: list[Check] = []
        self._number = 0
        self._now = Moment(0, 0.0, 0.0, math.nan)

    def _fail(self, fault: str) -> NoReturn:
        raise RunFolderError(f"'{self.file}', line {self._number}: {fault}")

    def take(self, number: int, line: bytes) -> None:
        """A line: a round of learning, a check, or something else that is passed over."""
        self._number = number
        try:
            row = json.loads(line, parse_constant=self._no_constant)
        except (ValueError, RecursionError):
            self._fail("this is no JSON; the file is damaged or not of nardi train")
        if not isinstance(row, dict):
            self._fail("this is no JSON object; the file is not of nardi train")
        games = row.get("games")
        if type(games) is not int or not 0 <= games < _MOST_GAMES:
            self._fail("it has no 'games' (a whole number); the file is not of nardi train")
        if games < self._now.games:
            self._fail(f"games go back from {self._now.games:,} to {games:,}")
        if _LOSS in row or _PLIES in row:
            self._take_round(games, row)
        elif any(tag.startswith("eval/") for tag in row):
            self._take_check(games, row)

    def _no_constant(self, name: str) -> NoReturn:
        raise ValueError(name)

    def _number_of(self, row: Mapping[str, Any], tag: str) -> float:
        """A value; nan if it is null, as values are that were not finite."""
        value = row[tag]
        if value is None:
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail(f"'{tag}' is no number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self._fail(f"'{tag}' is out of range")
        return number

    def _take_round(self, games: int, row: Mapping[str, Any]) -> None:
        before = self._now
        # Of a generation some rounds are only played, and then none is while it is learned from.
        for tag, is_needed in ((_TIME, True), (_PLIES, games > before.games)):
            if is_needed and tag not in row:
                self._fail(f"it has no '{tag}'")
        seconds = self._number_of(row, _TIME)
        plies = self._number_of(row, _PLIES) if _PLIES in row else 0.0
        cpu = self._number_of(row, "train/cpu_seconds") if "train/cpu_seconds" in row else math.nan
        if not seconds >= before.seconds:
            self._fail("'train/seconds' goes back")
        if not plies >= 0:
            self._fail("'selfplay/plies_per_game' is negative or not known")
        positions = before.positions + plies * (games - before.games)
        self._now = Moment(games, positions, seconds, cpu)
        self.moments.append(self._now)
        self.loss.append(self._number_of(row, _LOSS) if _LOSS in row else math.nan)
        self.race_loss.append(self._number_of(row, _RACE_LOSS) if _RACE_LOSS in row else math.nan)

    def _take_check(self, games: int, row: Mapping[str, Any]) -> None:
        if self.moments and games != self._now.games:
            self._fail(
                f"a check after {games:,} games, where the last round has {self._now.games:,}"
            )
        # Before the first round no CPU time has been used, whether or not it will be recorded.
        moment = self._now if self.moments else Moment(games, 0.0, 0.0, 0.0)
        scores = {}
        for tag in row:
            if tag.startswith("eval/") and tag.endswith("_ppg") and not tag.endswith("_stderr_ppg"):
                opponent = tag.removeprefix("eval/").removesuffix("_ppg")
                scores[opponent] = self._figure(row, tag, f"eval/{opponent}_stderr_ppg")
        pr = None
        if "eval/yardstick_pr" in row:
            pr = self._figure(row, "eval/yardstick_pr", "eval/yardstick_stderr_pr")
        self.checks.append(Check(moment=moment, scores=scores, pr=pr))

    def _figure(self, row: Mapping[str, Any], tag: str, error_tag: str) -> Figure:
        stderr = self._number_of(row, error_tag) if error_tag in row else math.nan
        if stderr < 0:
            self._fail(f"'{error_tag}' is negative")
        return Figure(self._number_of(row, tag), stderr)


def _settings(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFolderError(f"'{file}' cannot be read: {error.strerror}") from None
    except ValueError as error:  # TOML or its encoding
        raise RunFolderError(f"'{file}' is damaged: {error}") from None
    return dict(_flat("", values))


def _flat(prefix: str, value: Any) -> list[tuple[str, str]]:
    """Dotted names and their values as JSON; a list of tables counts from 0, as `--set` does."""
    if isinstance(value, dict):
        return [pair for key, each in value.items() for pair in _flat(f"{prefix}.{key}", each)]
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return [pair for i, each in enumerate(value) for pair in _flat(f"{prefix}.{i}", each)]
    return [(prefix.removeprefix("."), json.dumps(value, default=str))]
