"""Files of duels that can be gone on with: JSON lines, one for the duel, then one a chunk of games.

A chunk is appended and synced when it is over, so a stop of any kind loses only what was in play.
Every line ends with a checksum of what stands before. A last line that was cut off is dropped, any
other fault refused; lines are compared with the duel's first line before anything is written.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from engine.errors import ConfigError, NardiError
from eval.cube_tally import CubeCounts
from eval.duel_workers import Chunk
from eval.lockstep import Played, Work

__all__ = ["DuelFile", "opened", "read_seed"]

_FORMAT: Final = 1
_KIND: Final = "nardi duel"
_CHECKSUM: Final = "crc32"


class DuelFile:
    """An open file of a duel: the chunks that are in it, and room for more."""

    def __init__(self, path: Path, stream: IO[bytes], chunks: list[tuple[Chunk, Played]]) -> None:
        self._path = path
        self._stream = stream
        self._end = sum(chunks[-1][0]) if chunks else 0
        self.chunks = chunks
        """Those that were there when it was opened, in order, without gaps from stream 0 on."""

    def append(self, chunk: Chunk, played: Played) -> None:
        """Write one more chunk, unless it was there. Raises NardiError if there is no room."""
        if chunk[0] != self._end:
            return
        try:
            _append(self._stream, _record(chunk, played))
        except OSError as error:
            raise NardiError(f"'{self._path}' cannot be written: {error.strerror}") from error
        self._end += chunk[1]


@contextmanager
def opened(path: Path, head: dict[str, Any]) -> Iterator[DuelFile]:
    """The file of a duel, made if it is not there, for this process alone until it is closed.

    head: what tells this duel from others, as plain JSON values. Raises ConfigError for a file of
    another duel, of another kind, damaged, or in use, and OSError.
    """
    first = {"file": _KIND, "format": _FORMAT} | head
    with open(path, "a+b") as stream:
        _lock(stream, path)
        stream.seek(0)
        content = stream.read()
        whole, _, torn = content.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        if not lines:
            if not _line(first).startswith(torn):
                raise ConfigError(f"'{path}' is no file of a duel; it is left as it is")
            stream.truncate(0)
            _append(stream, first)
            yield DuelFile(path, stream, [])
            return
        _check_head(path, _parsed(path, 1, lines[0]), first)
        chunks: list[tuple[Chunk, Played]] = []
        for number, line in enumerate(lines[1:], 2):
            chunks.append(_chunk(path, number, _parsed(path, number, line), chunks, head))
        if torn:
            stream.truncate(len(content) - len(torn))
        yield DuelFile(path, stream, chunks)


def read_seed(path: Path) -> int | None:
    """Seed of the duel in a file; None if there is none yet. Raises ConfigError, OSError."""
    try:
        with open(path, "rb") as stream:
            line = stream.readline()
    except FileNotFoundError:
        return None
    if not line.endswith(b"\n"):
        return None
    seed = _parsed(path, 1, line).get("seed")
    return seed if isinstance(seed, int) else None


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, allow_nan=False)
    checksum = zlib.crc32(text.encode())
    return f'{text[:-1]}, "{_CHECKSUM}": {checksum}}}\n'.encode()


def _append(stream: IO[bytes], record: dict[str, Any]) -> None:
    stream.write(_line(record))
    stream.flush()
    os.fsync(stream.fileno())


def _lock(stream: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(f"'{path}' is in use: another duel writes to it") from None


# --- reading ---


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict) or (number == 1 and record.get("file") != _KIND):
        if number == 1:
            raise ConfigError(f"'{path}' is no file of a duel; it is left as it is")
        raise ConfigError(f"'{path}', line {number}: damaged: no JSON object")
    checksum = record.pop(_CHECKSUM, None)
    if zlib.crc32(json.dumps(record).encode()) != checksum:
        raise ConfigError(
            f"'{path}', line {number}: damaged: the checksum does not fit. With this line and all"
            " after it removed the duel goes on from there"
        )
    return record


def _check_head(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if found["format"] != _FORMAT:
        raise ConfigError(
            f"'{path}' has format {found['format']}; this version knows format {_FORMAT}"
        )
    differing = [
        f"{name} {found.get(name)!r}, here {value!r}"
        for name, value in wanted.items()
        if ({"cube": False} | found).get(name) != value
    ]
    if differing:
        raise ConfigError(f"'{path}' is the file of another duel: {'; '.join(differing)}")


def _record(chunk: Chunk, played: Played) -> dict[str, Any]:
    return {
        "first_stream": chunk[0],
        "points": played.points.tolist(),
        "luck_millionths": None if played.luck is None else played.luck.tolist(),
        "unfinished": played.n_unfinished,
        "work": [work._asdict() for work in played.work],
        **({} if played.cube is None else {"cube": [each._asdict() for each in played.cube]}),
    }


def _chunk(
    path: Path,
    number: int,
    record: dict[str, Any],
    before: list[tuple[Chunk, Played]],
    head: dict[str, Any],
) -> tuple[Chunk, Played]:
    first = sum(before[-1][0]) if before else 0
    if record.get("first_stream") != first:
        raise ConfigError(
            f"'{path}', line {number}: games from dice stream {record.get('first_stream')} on;"
            f" those from {first} on must come first"
        )
    n_seatings = 2 if head["paired"] else 1
    try:
        points = np.array(record["points"], dtype=np.int64)
        cube = None
        if head["cube"]:
            cube = CubeCounts(**record["cube"][0]), CubeCounts(**record["cube"][1])
        luck = record["luck_millionths"]
        played = Played(
            points,
            int(record["unfinished"]),
            (Work(**record["work"][0]), Work(**record["work"][1])),
            None if luck is None else np.array(luck, dtype=np.int64),
            cube,
        )
        good = points.ndim == 2 and points.shape[1] == n_seatings and len(points) > 0
        good = good and (played.luck is not None) == (head["luck"] is not None)
        good = good and (played.luck is None or played.luck.shape == points.shape)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        good = False
    if not good:
        raise ConfigError(f"'{path}', line {number}: no games of such a duel")
    return (first, len(points)), played
