"""Asking a run to stop: Ctrl-C and SIGTERM end it after the round, a second one at once."""

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["StopSignals", "StoppedError"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(Exception):
    """A match was given up because the run is to stop."""


class StopSignals:
    """While entered: the first signal sets `wanted`, the second raises KeyboardInterrupt.

    notice: written to stderr when the first one comes. Does nothing outside the main thread, where
    Python delivers no signals.
    """

    def __init__(self, notice: str) -> None:
        self.wanted = False
        self._notice = notice.encode() + b"\n"
        self._before: dict[int, Any] = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
        # Not print: the signal may have come in the middle of one. A closed stderr is no reason to
        # stop in another way.
        with contextlib.suppress(OSError):
            os.write(2, self._notice)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
