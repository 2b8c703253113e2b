"""What bots did with the cube in a duel, as text and as JSON."""

from typing import Any

from eval.cube_tally import CubeCounts
from eval.duel import Duel

__all__ = ["cube_document", "cube_lines"]


def cube_document(duel: Duel) -> dict[str, Any] | None:
    """The object "cube" of the JSON; None without a cube."""
    if duel.cube is None:
        return None
    a, b = duel.cube
    return {
        "average_stake": _share(a.stakes, a.games),
        "a": _side(a, b),
        "b": _side(b, a),
    }


def _side(own: CubeCounts, opp: CubeCounts) -> dict[str, Any]:
    return {
        "doubles": own.doubles,
        "doubles_per_game": _share(own.doubles, own.games),
        "offered": opp.doubles,
        "takes": own.takes,
        "passes": own.passes,
        "beavers": own.beavers,
        "take_share": _share(own.takes + own.beavers, opp.doubles),
        "declined_beavers": own.declined,
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def cube_lines(duel: Duel) -> list[str]:
    """The same for people; [] without a cube."""
    if duel.cube is None:
        return []
    a, b = duel.cube
    width = max(len(duel.a.bot), len(duel.b.bot))
    lines = [
        "",
        f"{'':{width}}   doubles  per game     takes    passes   beavers",
    ]
    for bot, counts in ((duel.a.bot, a), (duel.b.bot, b)):
        each = _share(counts.doubles, counts.games)
        per_game = "-" if each is None else f"{each:.2f}"
        lines.append(
            f"{bot:{width}}{counts.doubles:10,}{per_game:>10}{counts.takes:10,}"
            f"{counts.passes:10,}{counts.beavers:10,}"
        )
    stake = _share(a.stakes, a.games)
    if stake is not None:
        lines.append(f"average stake {stake:.2f}")
    return lines
