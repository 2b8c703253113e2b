"""Loss per decision of the cube: what doubling, or not, and answering cost by reference equities.

Of every position two decisions are judged, each as if the other side did the right thing: whether
the side on roll doubles, and what its opponent would answer to a double. Losses are in points per
present stake, at a score in their equivalent.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot
from agent.cube_play import BEAVER, PASS, TAKE
from engine.notation import Position, format_position
from eval.cube_references import CubeDecisionSet
from eval.decisions import Loss
from eval.stats import Estimate, Moments

__all__ = ["KINDS", "CubeLosses", "CubeMiss", "cube_differences", "measure_cube", "worst_cube"]

FloatArray = NDArray[np.float64]
Kind = Literal["double", "answer"]

KINDS: Final[tuple[Kind, ...]] = ("double", "answer")
"""The two decisions of a position."""

_WORDS: Final = {PASS: "pass", TAKE: "take", BEAVER: "beaver"}
_COLUMN: Final = {PASS: 2, TAKE: 1, BEAVER: 3}
_LEAST_MISS: Final = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class CubeLosses:
    """How a bot does on the decisions of the cube of a set."""

    bot: str
    """The text that names it."""
    actions: dict[Kind, tuple[str, ...]]
    """What it does in each decision: "double" or "no double"; "take", "pass" or "beaver"."""
    losses: dict[Kind, FloatArray]
    """`(B,)` of each kind."""
    overall: dict[Kind, Loss]


@dataclass(frozen=True, kw_only=True)
class CubeMiss:
    """A decision of the cube that costs something."""

    loss: float
    line: int
    gnuid: str
    kind: Kind
    action: str
    """What the bot does."""
    best: str
    """What is right."""


def measure_cube(bot: Bot, decisions: CubeDecisionSet) -> CubeLosses:
    """Let a bot decide in all positions of a set. Raises what the bot raises."""
    doubles = bot.doubles(decisions.boards, decisions.situations)
    answers = bot.answers(decisions.boards, decisions.situations)
    nd = decisions.equities[:, 0]
    right = _doubled(decisions)
    given = decisions.equities[np.arange(len(nd)), [_COLUMN[a] for a in answers.tolist()]]
    losses: dict[Kind, FloatArray] = {
        "double": np.maximum(nd, right) - np.where(doubles, right, nd),
        "answer": given - right,
    }
    if np.isnan(losses["answer"]).any():
        row = int(np.argmax(np.isnan(losses["answer"])))
        raise ValueError(f"bot '{bot.name}' beavers in line {decisions.lines[row]}, against rules")
    return CubeLosses(
        bot=bot.name,
        actions={
            "double": tuple("double" if d else "no double" for d in doubles.tolist()),
            "answer": tuple(_WORDS[a] for a in answers.tolist()),
        },
        losses=losses,
        overall={
            kind: Loss(loss=_mean(each), best=_mean(each <= _LEAST_MISS))
            for kind, each in losses.items()
        },
    )


def _mean(values: NDArray[Any]) -> Estimate:
    return Moments.of(values.tolist()).estimate()


def _doubled(decisions: CubeDecisionSet) -> FloatArray:
    """Worth of a double that is answered rightly."""
    return np.asarray(np.nanmin(decisions.equities[:, 1:], axis=1))


def cube_differences(a: CubeLosses, b: CubeLosses) -> dict[Kind, Estimate]:
    """a's loss minus b's, with the error of paired differences."""
    return {kind: _mean(a.losses[kind] - b.losses[kind]) for kind in KINDS}


def worst_cube(losses: CubeLosses, decisions: CubeDecisionSet, n: int) -> list[CubeMiss]:
    """The decisions of both kinds that cost most, worst first, at most n."""
    found: list[CubeMiss] = []
    right = _doubled(decisions)
    for kind in KINDS:
        each = losses.losses[kind]
        for row in np.argsort(-each, kind="stable")[:n].tolist():
            if each[row] <= _LEAST_MISS:
                break
            found.append(
                CubeMiss(
                    loss=float(each[row]),
                    line=int(decisions.lines[row]),
                    gnuid=_gnuid(decisions, row),
                    kind=kind,
                    action=losses.actions[kind][row],
                    best=_best(kind, decisions.equities[row].tolist(), float(right[row])),
                )
            )
    return sorted(found, key=lambda miss: -miss.loss)[:n]


def _best(kind: Kind, equities: Sequence[float], right: float) -> str:
    if kind == "double":
        return "double" if right > equities[0] else "no double"
    return next(_WORDS[a] for a in (TAKE, PASS, BEAVER) if equities[_COLUMN[a]] == right)


def _gnuid(decisions: CubeDecisionSet, row: int) -> str:
    s = decisions.situations[row]
    length = s.rules.match_to or 0
    position = Position(
        board=decisions.boards[row],
        cube_value=s.cube_value,
        cube_owner=s.cube_owner,
        match_length=length,
        mover_score=length - (s.mover_away or length),
        opp_score=length - (s.opp_away or length),
        crawford=s.crawford,
    )
    if not length:
        position = dataclasses.replace(position, jacoby=s.rules.jacoby, beaver=s.rules.beaver)
    return format_position(position, "gnuid")
