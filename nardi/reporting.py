"""What a report tells about itself: the command that makes it again, and the code behind it."""

import argparse
import hashlib
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from nardi import __version__
from nardi.origin import commit_facts

if TYPE_CHECKING:
    from engine.rules import Game

__all__ = ["ReportFacts", "command_words", "net_of_bot", "report_facts", "tell_report"]


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


_NO_FIGURES: Final = ("command", "json", "report", "run", "usage_error", "workers")
"""What of a command line does not change the figures."""


def command_words(
    args: argparse.Namespace, positionals: Sequence[str], **known: object
) -> list[str]:
    """Words of the command line that gives the same figures again.

    positionals: names of the arguments that are no options, in order. known: values that take the
    place of what was given or left out, such as a seed that was drawn. Options that are None or
    False were not given; a list is an option that may be repeated.
    """
    values = {**vars(args), **known}
    words = [str(args.command)]
    for name in positionals:
        value = values.pop(name)
        words += [str(each) for each in (value if isinstance(value, list) else [value]) if each]
    for name, value in values.items():
        if name in _NO_FIGURES or value is None or value is False:
            continue
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        else:
            for each in value if isinstance(value, list) else [value]:
                words += [option, str(each)]
    return words


def tell_report(command: str, path: Path) -> None:
    """Say on stderr where the report is."""
    print(f"nardi {command}: the report is {path}", file=sys.stderr)


def net_of_bot(bot: str, game: "Game" = "short") -> dict[str, Any] | None:
    """What is known of the net that a bot's text names: file, hash, games, commit, strength.

    game: of which the net is that nardi brings. None for bots that have no net of ours.
    """
    from agent.checkpoint import default_net_path, load_net, net_path
    from nardi.net_facts import learned_rules

    kind = bot.partition("@")[0] if not bot.startswith("net:") else bot
    if kind.startswith("net:"):
        path = Path(re.sub(r"@[\d.]+s?$", "", kind.removeprefix("net:"), flags=re.ASCII))
        path = net_path(path)
    elif kind == "net":
        path = default_net_path(game)
    else:
        return None
    known = load_net(path, game=None).facts
    return {
        "file": path.name if kind == "net" else str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rules": str(learned_rules(known)),
        **{key: known.get(key) for key in ("games", "seed", "commit", "strength")},
    }
