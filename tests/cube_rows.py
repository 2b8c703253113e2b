"""The golden cube decisions of GNU Backgammon, and situations in general, as tests need them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from agent.cube import board_efficiency
from agent.situation import Situation
from engine.rules import Rules

GOLDEN = Path(__file__).parent / "golden"
MET_OF_ROWS = GOLDEN / "met_gnubg_zadeh.json"
Probs = tuple[float, float, float, float, float]


def golden_rows() -> list[dict[str, Any]]:
    """All decisions of tests/golden/cube.jsonl."""
    lines = (GOLDEN / "cube.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def row_situation(row: dict[str, Any]) -> Situation:
    """Cube and score of a golden row."""
    length = row["length"]
    rules = Rules(
        cube_cap=None,
        match_to=length or None,
        jacoby=bool(row["jacoby"]),
        beaver=bool(row["beavers"]),
    )
    return Situation(
        rules=rules,
        cube_value=row["cube"],
        cube_owner=None if row["owner"] == "centre" else row["owner"],
        mover_away=length - row["score"][0] if length else None,
        opp_away=length - row["score"][1] if length else None,
        cube_offered=row["owner"] != "centre",
    )


def row_efficiency(row: dict[str, Any]) -> float:
    """How live GNU Backgammon takes the cube to be: by its class, which for us is a race or not."""
    return float(board_efficiency(np.array(row["b"])))


def money(**switches: Any) -> Situation:
    """A money game; switches of the rules and fields of the situation."""
    names = {"cube_value", "cube_owner", "cube_offered"}
    fields = {name: switches.pop(name) for name in list(switches) if name in names}
    if fields.get("cube_owner") is not None:
        fields.setdefault("cube_offered", True)
    return Situation(rules=Rules(**({"cube_cap": None} | switches)), **fields)


def match(
    mover_away: int,
    opp_away: int,
    *,
    length: int | None = None,
    cap: int | None = None,
    **more: Any,
) -> Situation:
    """A score of a match; more: fields of the situation."""
    rules = Rules(match_to=length or max(mover_away, opp_away), cube_cap=cap)
    if more.get("cube_owner") is not None:
        more.setdefault("cube_offered", True)
    return Situation(rules=rules, mover_away=mover_away, opp_away=opp_away, **more)


@st.composite
def probabilities(draw: st.DrawFn) -> Probs:
    """Five cumulative probabilities that fit together."""
    unit = st.floats(0, 1)
    win = draw(unit)
    win_g, lose_g = win * draw(unit), (1 - win) * draw(unit)
    return win, win_g, win_g * draw(unit), lose_g, lose_g * draw(unit)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Money and match, every rule of the cube, any owner."""
    owner = draw(st.sampled_from(["mover", "opponent", None]))
    progression = draw(st.sampled_from(["geometric", "arithmetic"]))
    exponent = draw(st.integers(0, 4))
    value = 1 << exponent if progression == "geometric" else 1 + exponent
    rules = Rules(
        progression=progression,
        cube_cap=draw(st.sampled_from([None, 1, 2, 8, 64])),
        mars_with_cube=draw(st.booleans()),
        scoring=draw(st.sampled_from(["oin_mars_koks_123", "oin_mars_12"])),
    )
    if draw(st.booleans()):
        rules = rules.replace(jacoby=draw(st.booleans()), beaver=draw(st.booleans()))
        return Situation(
            rules=rules, cube_value=value, cube_owner=owner, cube_offered=owner is not None
        )
    away = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    crawford = (away[0] == 1) != (away[1] == 1) and draw(st.booleans())
    return Situation(
        rules=rules.replace(match_to=25),
        cube_value=1 if crawford else value,
        cube_owner=None if crawford else owner,
        mover_away=away[0],
        opp_away=away[1],
        crawford=crawford,
        cube_offered=owner is not None and not crawford,
    )
