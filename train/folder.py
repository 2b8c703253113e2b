"""The folder of a run: where its files lie, and that one process at a time writes there."""

import contextlib
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import IO, Self

from engine.errors import ConfigError

if sys.platform != "win32":
    import fcntl

__all__ = ["RunFolder"]


class RunFolder:
    """Paths of a run's files, and the folder held for this process until `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        """All settings, as TOML; to be read by people and by `--config`."""
        self.metrics = path / "metrics.jsonl"
        """One JSON object for each round of learning and for each check."""
        self.events = path / "events.out.tfevents.nardi"
        """The same for TensorBoard."""
        self.last = path / "last.safetensors"
        """The newest net."""
        self.best = path / "best.safetensors"
        """The net with the best score of all checks."""
        self.sorter = path / "sorter.safetensors"
        """The small net that sorts plays, of a run that takes luck out."""
        self.state = path / "state.safetensors"
        """Everything that the run goes on from."""
        self._lock_path = path / ".lock"
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new run's folder, made if it is not there. Raises ConfigError if it is in use.

        An empty folder may be there already. One that cannot be written is refused.
        """
        folder = cls(path)
        if folder.state.exists():
            raise ConfigError(
                f"folder '{path}' holds a run already; go on with it by --resume {path}, or name"
                " another folder"
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            in_use = any(name != folder._lock_path.name for name in os.listdir(path))
        except OSError as error:
            raise ConfigError(f"folder '{path}' cannot be used: {error.strerror}") from None
        if in_use:
            raise ConfigError(f"folder '{path}' is not empty; name a new or an empty one")
        folder._claim()
        return folder

    @classmethod
    def create_by_time(cls, parent: Path, now: datetime) -> Self:
        """A new run's folder below parent, named by date and time."""
        name = now.strftime("%Y-%m-%dT%H-%M-%S")
        for number in range(1, 100):
            path = parent / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue  # another run began in the same second
            except OSError as error:
                raise ConfigError(f"folder '{path}' cannot be made: {error.strerror}") from None
            return cls.create(path)
        raise ConfigError(f"folder '{parent}' has a hundred runs of this second")

    @classmethod
    def open(cls, path: Path) -> Self:
        """The folder of a run that was begun. Raises ConfigError if there is none or it is busy."""
        folder = cls(path)
        if not folder.state.is_file():
            what = f"has no '{folder.state.name}'" if path.is_dir() else "does not exist"
            raise ConfigError(f"there is no run to go on with: folder '{path}' {what}")
        folder._claim()
        for leftover in path.glob(".*.safetensors.*"):  # of a process killed while it was saving
            leftover.unlink(missing_ok=True)
        return folder

    def _claim(self) -> None:
        try:
            self._lock = self._lock_path.open("a")
        except OSError as error:
            raise ConfigError(f"folder '{self.path}' cannot be written: {error.strerror}") from None
        if sys.platform != "win32":
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.close()
                raise ConfigError(f"another process is training in folder '{self.path}'") from None
            except OSError:  # a file system without locks
                pass

    def close(self) -> None:
        """Let another process have the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def discard(self) -> None:
        """Close and, if nothing was written there yet, remove the folder."""
        self.close()
        if not self.state.exists():
            self._lock_path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not empty, or not ours to remove
                self.path.rmdir()
