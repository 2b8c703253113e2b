"""What is told about a net: which one answered, and everything that is in its file.

The facts in a file were written by whoever made it; what is missing or has another form than ours
is left out or shown as it is.
"""

import json
import sys
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.net import NetConfig, ValueNet
    from engine.rules import Rules

__all__ = [
    "learned_rules",
    "net_document",
    "net_file_document",
    "net_file_text",
    "net_lines",
    "warn_of_rules",
]

_SHOWN_FIRST = ("games", "seed", "parent", "commit", "dirty", "command", "versions", "strength")
_SHOWN_OTHERWISE = ("format", "variant", "features", "net")
_WIDTH = 80


def net_document(name: str, net: "ValueNet", rules: "Rules") -> dict[str, Any]:
    """The `net` object of the answering commands: which net it was; documented in docs/json.md.

    rules: those it answers under. Warns on stderr, once, if it has learned under others.
    """
    facts = net.facts
    learned = learned_rules(facts)
    warn_of_rules(name, learned, rules)
    told = {key: facts.get(key) for key in ("games", "commit", "strength")}
    return {"name": name, "rules": str(learned), **told}


def learned_rules(facts: Mapping[str, Any]) -> "Rules":
    """The rules that a net has learned under; by default the usual ones of its game."""
    from engine.errors import ConfigError
    from engine.rules import INTERNATIONAL, LONG_NARDI, parse_rules

    usual = LONG_NARDI if facts.get("variant") == "long" else INTERNATIONAL
    try:
        return parse_rules(str(facts.get("rules", usual)))
    except ConfigError:  # of a later version
        return usual


@cache
def warn_of_rules(name: str, learned: "Rules", rules: "Rules") -> None:
    """Warn on stderr, once, of a net that has learned under other rules than it is to play by."""
    from agent.ranking import plays_alike

    if not plays_alike(learned, rules):
        print(
            f"nardi: warning: net '{name}' has learned under the rules '{learned}'; under '{rules}'"
            " its values and plays may be off",
            file=sys.stderr,
        )


def net_lines(document: Mapping[str, Any]) -> list[str]:
    """Which net answered and how good it is, of a `net_document`."""
    games = document["games"]
    told = "games trained not told" if games is None else f"{_count(games)} games trained"
    strength = document["strength"]
    parts = [str(document["name"]), told, _strength(strength) if strength else "strength not told"]
    return _wrapped(f"answered by {', '.join(parts)}", indent=0)


def net_file_document(path: Path, net: "ValueNet") -> dict[str, Any]:
    """The JSON of `nardi net`; documented in docs/json.md."""
    weights = {part: sum(a.size for a in getattr(net, part)) for part in ("contact", "race")}
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "weights": {**weights, "all": net.num_weights()},
        "facts": net.facts,
    }


def net_file_text(document: Mapping[str, Any], net: "ValueNet") -> str:
    """The same for people: one fact a line, what is not known marked as such."""
    facts = document["facts"]
    rows = [
        ("file", f"{document['file']}, {document['bytes']:,} bytes"),
        ("format", f"{facts['format']}, {facts['variant']} nardi"),
        ("features", ", ".join(facts["features"])),
    ]
    for part in ("contact", "race"):
        shape = _shape(getattr(net.config, part))
        rows.append((part, f"{shape}; {document['weights'][part]:,} weights"))
    others = sorted(set(facts) - {*_SHOWN_FIRST, *_SHOWN_OTHERWISE})
    for key in (*_SHOWN_FIRST, *others):
        write = {"games": _count, "strength": _strength, "parent": _parent}.get(key, _plain)
        rows.append((key, write(facts[key]) if key in facts else "not told"))
    label = max(len(name) for name, _ in rows) + 2
    return "\n".join(
        line for name, value in rows for line in _wrapped(f"{name:<{label}}{value}", indent=label)
    )


def _wrapped(text: str, indent: int) -> list[str]:
    """Lines of a text, paths and other long words left whole."""
    return textwrap.wrap(
        text,
        _WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shape(config: "NetConfig") -> str:
    parts = [f"{config.width} units", "pairs" if config.pairs else "no pairs"]
    parts.append(f"{config.experts} ({config.num_experts})" if config.num_experts else "no experts")
    parts.append(f"hidden {config.hidden}" if config.hidden else "no hidden layer")
    if config.groups > 1:
        parts.append(f"{config.groups} groups")
    return ", ".join([*parts, f"tails {config.tails}"])


def _strength(value: Any) -> str:
    """The measured scores, such as "+0.612 ± 0.010 ppg against pubeval", or what else is told."""
    if isinstance(value, Mapping) and all(isinstance(score, Mapping) for score in value.values()):
        scores = [_score(opponent, score) for opponent, score in value.items()]
        if scores and all(scores):
            return "; ".join(str(score) for score in scores)
    return _plain(value)


def _score(opponent: str, score: Mapping[str, Any]) -> str | None:
    numbers = [score.get(key) for key in ("ppg", "stderr_ppg")]
    if not all(isinstance(number, int | float) for number in numbers):
        return None
    text = f"{numbers[0]:+.3f} ± {numbers[1]:.3f} ppg against {opponent}"
    games = score.get("games")
    return f"{text} ({games:,} games)" if isinstance(games, int) else text


def _parent(value: Any) -> str:
    return "none, it began with random weights" if value is None else _plain(value)


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _plain(value)


def _plain(value: Any) -> str:
    """A fact as text: text as it is, yes or no, all else as JSON."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
