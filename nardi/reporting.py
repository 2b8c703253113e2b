"""What a report tells about itself: the command that makes it again, and the code behind it."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nardi import __version__
from nardi.origin import commit_facts

__all__ = ["ReportFacts", "report_facts", "tell_report"]


class ReportFacts(NamedTuple):
    """Where the figures of a report come from."""

    command: str
    version: str
    commit: str | None
    dirty: bool | None

    def document(self) -> dict[str, Any]:
        """As data for report.json; documented in docs/json.md."""
        return {"command": self.command, "nardi": self.version, **self._code()}

    def _code(self) -> dict[str, Any]:
        return {"commit": self.commit, "dirty": self.dirty}

    def rows(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        rows = [("command", self.command), ("nardi", self.version)]
        if self.commit is not None:
            changed = ", with changes that are not committed" if self.dirty else ""
            rows.append(("commit", f"{self.commit}{changed}"))
        return rows


def report_facts(words: Sequence[str]) -> ReportFacts:
    """Of this code. words: of the command line behind `nardi` that gives the same figures."""
    return ReportFacts(f"nardi {shlex.join(words)}", __version__, **commit_facts())


def tell_report(command: str, path: Path) -> None:
    """Say on stderr where the report is."""
    print(f"nardi {command}: the report is {path}", file=sys.stderr)
