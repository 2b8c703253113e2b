"""The course of a run, in `metrics.jsonl` and for TensorBoard, both written by one call.

Names of the values are TensorBoard's tags; the x axis is games played.
"""

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.errors import CheckpointError

__all__ = ["Metrics"]


class _Log:
    """A file that only grows, and that can be cut back to a length it had when it was synced."""

    def __init__(self, path: Path, length: int) -> None:
        self.path = path
        self._file = path.open("ab")
        # What came after the checkpoint that the run goes on from will come again.
        if self._file.tell() > length:
            self._file.truncate(length)
        self.is_empty = os.fstat(self._file.fileno()).st_size == 0

    def write(self, content: bytes) -> None:
        self._file.write(content)

    def flush(self) -> None:
        self._file.flush()

    def synced_length(self) -> int:
        """Bring everything to the disk; the length then."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        self._file.close()


class Metrics:
    """Writes values of a run to both files; a context manager.

    lengths: of the files as `lengths` told them when the checkpoint was written that the run goes
    on from; None for a new run. Raises CheckpointError if a file cannot be written.
    """

    def __init__(
        self, json_path: Path, events_path: Path, lengths: Mapping[str, int] | None = None
    ) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        known = lengths or {}
        try:
            self._json = _Log(json_path, known.get("metrics", 0))
            self._events = _Log(events_path, known.get("events", 0))
        except OSError as error:
            raise _unwritable(error) from None
        self._records = RecordWriter(self._events)
        if self._events.is_empty:
            self._record(file_version="brain.Event:2")

    def _record(self, **event: Any) -> None:
        # TensorBoard's own writer has a thread, whose failures come late or never.
        from tensorboard.compat.proto.event_pb2 import Event

        self._records.write(Event(wall_time=time.time(), **event).SerializeToString())

    def write(self, games: int, values: Mapping[str, float]) -> None:
        """Write values, named by their tags, of the moment when so many games were played.

        Values that are not finite become null in JSON. Raises CheckpointError.
        """
        from tensorboard.compat.proto.summary_pb2 import Summary

        row = {tag: value if math.isfinite(value) else None for tag, value in values.items()}
        entries = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        try:
            line = json.dumps({"games": games, **row}, allow_nan=False)
            self._json.write(line.encode() + b"\n")
            self._record(step=games, summary=Summary(value=entries))
            self._json.flush()
            self._events.flush()
        except OSError as error:
            raise _unwritable(error) from None

    def lengths(self) -> dict[str, int]:
        """Lengths of the files in bytes, all of them on the disk. Raises CheckpointError."""
        try:
            return {
                "metrics": self._json.synced_length(),
                "events": self._events.synced_length(),
            }
        except OSError as error:
            raise _unwritable(error) from None

    def close(self) -> None:
        """Close both files. Raises CheckpointError if what is left cannot be written."""
        try:
            self._json.close()
        except OSError as error:
            raise _unwritable(error) from None
        finally:
            try:
                self._events.close()
            except OSError as error:
                raise _unwritable(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except CheckpointError:
            if error is None:  # else the first failure is what has to be told
                raise


def _unwritable(error: OSError) -> CheckpointError:
    return CheckpointError(f"metrics cannot be written: {error.strerror}")
