"""How far a long command is, on stderr: a bar on a terminal, a line every few seconds elsewhere."""

import sys
import time
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]

_LINE_EVERY_S = 5.0


class Progress:
    """Shows how many of `total` things are done, how fast, and what is left; a context manager."""

    def __init__(self, command: str, total: int, unit: str) -> None:
        """command: said at the start of each line; unit: what is counted, such as "games"."""
        self._command = command
        self._total = total
        self._unit = unit
        self._start = self._last_line = time.perf_counter()
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, unit=f" {unit}", file=sys.stderr, leave=False, dynamic_ncols=True
            )

    def update(self, done: int, note: str = "") -> None:
        """done: all that is done by now; note: what else to show, such as the score so far."""
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(done - self._bar.n)
            return
        now = time.perf_counter()
        if now - self._last_line < _LINE_EVERY_S:
            return
        self._last_line = now
        rate = done / (now - self._start)
        left = f"{(self._total - done) / rate:,.0f} s left" if rate else "time left unknown"
        line = (
            f"{self._command}: {done:,} of {self._total:,} {self._unit},"
            f" {rate:,.{0 if rate >= 10 else 2}f} {self._unit}/s, {left}"
        )
        print(f"{line}, {note}" if note else line, file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
