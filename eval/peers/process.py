"""A program that is asked in lines and answers in lines, and that can neither hang nor outlive us.

Threads move the lines, so that nothing here ever waits for a pipe without a limit. The program is
the head of a session of its own: Ctrl-C is for us alone, and what it started ends with it.
"""

import contextlib
import math
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import IO, Final

from engine.errors import ConfigError, NardiError

__all__ = ["MOST_BYTES", "LineProcess"]

MOST_BYTES: Final = 1 << 20
"""Longest line that is read; a program that writes more without an end of line is given up."""

_LINES_AHEAD: Final = 4096  # lines that wait to be read; a program that floods us then waits, too
_GRACE_S: Final = 1.0  # for ending by itself when its stdin ends
_TAIL_BYTES: Final = 2000
_LOOK_AROUND_S: Final = 2.0  # how often processes that the program started are looked for
_PROC: Final = Path("/proc")


class LineProcess:
    """A running program. Raises ConfigError if the command cannot be started.

    To be closed after use; that happens also when it is forgotten, and when Python ends.
    """

    def __init__(self, command: str) -> None:
        """command: as a shell reads its words, but no shell is started."""
        try:
            words = shlex.split(command) if os.name == "posix" else command
        except ValueError as error:
            raise ConfigError(f"command '{command}' cannot be read: {error}") from None
        if not words:
            raise ConfigError("the command is empty; accepted: a program and its arguments")
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(f"command '{command}' cannot be started: {reason}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._questions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.Queue[bytes | None] = queue.Queue(_LINES_AHEAD)
        self._stderr: deque[int] = deque(maxlen=_TAIL_BYTES)
        self._cpu_seconds = 0.0
        self._members = [process.pid]
        self._looked_at = -math.inf
        over = threading.Event()
        threads = [
            threading.Thread(target=target, args=args, daemon=True)
            for target, args in (
                (_write_lines, (process.stdin, self._questions)),
                (_read_lines, (process.stdout, self._answers, over)),
                (_read_tail, (process.stderr, self._stderr)),
            )
        ]
        for thread in threads:
            thread.start()
        self._end = weakref.finalize(self, _end, process, self._questions, over, threads)

    def send(self, line: str) -> None:
        """Write a line, some time; a program that has ended is noticed by `receive`."""
        self._questions.put(line.encode() + b"\n")

    def receive(self, limit_s: float) -> bytes:
        """The next line, without its end. Raises NardiError that tells why there is none."""
        if not self._end.alive:
            raise NardiError("was closed before")
        try:
            line = self._answers.get(timeout=limit_s)
        except queue.Empty:
            raise NardiError(
                f"wrote nothing for {limit_s:g} s (does it flush its output after every line?)"
            ) from None
        if line is None:
            self._answers.put(None)  # for whoever asks again
            raise NardiError(self._how_it_ended())
        if len(line) > MOST_BYTES:
            raise NardiError(f"wrote more than {MOST_BYTES:,} bytes without an end of line")
        return line.rstrip(b"\r\n")

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def stderr_tail(self) -> str:
        """The last that it wrote to stderr, without the first line if that is cut off."""
        text = bytes(self._stderr.copy()).decode(errors="replace")
        if len(self._stderr) == _TAIL_BYTES and "\n" in text:
            text = text.partition("\n")[2]
        return text.strip()

    def cpu_seconds(self) -> float:
        """CPU time of the program and all that it started; 0 where the system does not tell.

        Linux tells, in hundredths of a second. After the end: what was last seen.
        """
        if not self._end.alive or not (_PROC / "self" / "stat").exists():
            return self._cpu_seconds
        now = time.monotonic()
        if now - self._looked_at > _LOOK_AROUND_S:
            self._looked_at = now
            pids = [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]
            session = self._process.pid
            self._members = [pid for pid in pids if _stat(pid)[:1] == [session]]
        ticks = sum(sum(_stat(pid)[1:]) for pid in self._members)
        self._cpu_seconds = max(self._cpu_seconds, ticks / os.sysconf("SC_CLK_TCK"))
        return self._cpu_seconds

    def close(self) -> None:
        """End the program, gently if it ends within a second once its stdin does."""
        self.cpu_seconds()
        self._end()


def _stat(pid: int) -> list[int]:
    """Session of a process, and its ticks of CPU time with those of its ended children."""
    try:
        # The second field is the name in brackets, which may hold anything.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return [int(fields[3]), *(int(field) for field in fields[11:15])]
    except (OSError, ValueError, IndexError):
        return []  # it has just ended


# --- what the threads do; none of them may hold the object, or it would never be forgotten ---


def _write_lines(stream: IO[bytes], lines: "queue.SimpleQueue[bytes | None]") -> None:
    with contextlib.suppress(OSError, ValueError):
        while (line := lines.get()) is not None:
            stream.write(line)
            if lines.empty():
                stream.flush()
    with contextlib.suppress(OSError, ValueError):
        stream.close()


def _read_lines(
    stream: IO[bytes], lines: "queue.Queue[bytes | None]", over: threading.Event
) -> None:
    line: bytes | None = b""
    with contextlib.suppress(OSError, ValueError), stream:
        while line is not None and not over.is_set():
            line = stream.readline(MOST_BYTES + 1) or None
            while not over.is_set():
                with contextlib.suppress(queue.Full):
                    lines.put(line, timeout=0.1)
                    break


def _read_tail(stream: IO[bytes], tail: deque[int]) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        while chunk := os.read(stream.fileno(), 4096):
            tail.extend(chunk)


def _end(
    process: "subprocess.Popen[bytes]",
    questions: "queue.SimpleQueue[bytes | None]",
    over: threading.Event,
    threads: list[threading.Thread],
) -> None:
    over.set()
    questions.put(None)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    # Also after its own end: what it started may go on.
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    for thread in threads:
        thread.join(_GRACE_S)
