"""Which rules hold for a position: its own, those of the table, and those asked for by flag."""

from collections.abc import Mapping
from typing import Any

from engine.errors import ConfigError
from engine.notation.position import Position
from engine.rules import Rules

__all__ = ["position_rules"]


def position_rules(
    position: Position, base: Rules, switches: Mapping[str, Any]
) -> tuple[Rules, list[str]]:
    """The rules to use with a position, and what contradicts, in words.

    base: rules for everything that neither the position nor a flag tells; switches: what the user
    asked for by name (`engine.rules.parse_switches`). What the position tells (match length,
    Crawford game, Jacoby, beavers, largest cube, a cube in use) goes before the base rules, and a
    switch goes before the position; each switch that says something else than the position is one
    conflict. Raises ConfigError for an unknown switch or value.
    """
    told = _told(position)
    if switches.get("game", position.game) != position.game:
        raise ConfigError(
            f"a position of {position.game} nardi cannot be played by rules of"
            f" game={switches['game']}"
        )
    rules = base.replace(**told).replace(**switches)
    conflicts = [
        f"{name}: the position says {_text(told[name])}, but {_text(switches[name])} was asked for"
        " and is used"
        for name in told
        if name in switches and switches[name] != told[name]
    ]
    if rules.cube_cap is not None and position.cube_value > rules.cube_cap:
        conflicts.append(
            f"cube_cap: the cube shows {position.cube_value}, more than the largest cube"
            f" {rules.cube_cap}"
        )
    return rules, conflicts


def _told(position: Position) -> dict[str, Any]:
    """The switches that a position tells, by name."""
    told: dict[str, Any] = {"game": position.game} if position.game != "short" else {}
    if _tells_score(position):
        told["match_to"] = position.match_length or None
    if position.crawford:
        told["crawford"] = True
    if position.jacoby is not None:
        told["jacoby"] = position.jacoby
    if position.beaver is not None:
        told["beaver"] = position.beaver
    if position.max_cube is not None:
        told["cube_cap"] = position.max_cube
    if position.cube_value > 1 or position.cube_owner is not None or position.offer is not None:
        told["cube"] = True
    return told


def _tells_score(position: Position) -> bool:
    """False for a lone board or Position ID, which stands for money play without saying so."""
    return bool(
        position.match_length
        or position.mover_score
        or position.opp_score
        or position.jacoby is not None
        or position.beaver is not None
    )


def _text(value: object) -> str:
    return "null" if value is None else str(value).lower()
