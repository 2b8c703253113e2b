"""A cube decision as data for JSON and as text for a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nardi.render import MOVER, OPPONENT

if TYPE_CHECKING:
    from agent.cube import CubeDecision

__all__ = ["beaver_document", "beaver_lines", "decision_document", "decision_lines"]

_DIGITS = 6
_EQUITIES = (
    ("no_double", "no {again}double"),
    ("double_take", "{again}double, take"),
    ("double_pass", "{again}double, pass"),
    ("double_beaver", "{again}double, beaver"),
)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS) + 0.0


def decision_document(decision: "CubeDecision", *, answers: bool) -> dict[str, Any]:
    """The `decision` object of docs/json.md; answers: whether a double waits for its answer."""
    values = {name: getattr(decision.values, name) for name, _ in _EQUITIES}
    gammon = decision.gammon_value
    doubled = decision.gammon_value_doubled
    return {
        "kind": "answer" if answers else "double",
        "decider": "opponent" if answers else "mover",
        "action": decision.answer if answers else decision.action,
        "double": decision.doubles,
        "answer": decision.answer,
        "why_not": decision.why_not,
        "equity": _rounded(decision.equity_doubled if answers else decision.equity),
        "equities": {name: _rounded(value) for name, value in values.items()},
        "mwc": None
        if decision.half_mwc is None
        else {name: _rounded(decision.mwc(value)) for name, value in values.items()},
        "margin": _rounded(decision.answer_margin if answers else decision.margin),
        "close": decision.answer_close if answers else decision.close,
        "costs": {name: _rounded(cost) for name, cost in decision.costs.items()},
        "take_point": _rounded(decision.take_point),
        "take_point_dead": _rounded(decision.take_point_dead),
        "take_point_live": _rounded(decision.take_point_live),
        "cash_point": _rounded(decision.cash_point),
        "gammon_value": {"mover": _rounded(gammon[0]), "opponent": _rounded(gammon[1])},
        "gammon_value_doubled": None
        if doubled is None
        else {"mover": _rounded(doubled[0]), "opponent": _rounded(doubled[1])},
    }


def decision_lines(document: Mapping[str, Any], *, redouble: bool) -> list[str]:
    """The decision in words, what it is made of, and the points, of a `decision_document`."""
    again = "re" if redouble else ""
    answers = document["kind"] == "answer"
    lines = [_headline(document)]
    mwc = document["mwc"]
    lines += ["", " " * 22 + "equity" + ("" if mwc is None else "     wins the match")]
    for name, words in _EQUITIES:
        value = document["equities"][name]
        if value is None or (answers and name == "no_double"):
            continue
        chance = "" if mwc is None else f"{mwc[name]:19.2%}"
        lines.append(f"  {words.format(again=again):<17}{value:+9.3f}{chance}")
    costs = {name: cost for name, cost in document["costs"].items() if cost > 0}
    if answers:
        costs = {name: costs[name] for name in ("take", "pass", "beaver") if name in costs}
    if costs:
        told = ", ".join(f"{name.replace('_', ' ')} {cost:.3f}" for name, cost in costs.items())
        lines += ["", f"a mistake costs: {told}"]
    lines += ["", *_points(document)]
    return lines


def _headline(document: Mapping[str, Any]) -> str:
    side = OPPONENT if document["kind"] == "answer" else MOVER
    text = f"{side}: {document['action']}"
    if document["why_not"] is not None:
        return f"{text}: {document['why_not']}"
    if document["margin"] is not None:
        text += f", by {document['margin']:.3f}" + (", close" if document["close"] else "")
    return text


def _points(document: Mapping[str, Any]) -> list[str]:
    lines = []
    if document["take_point"] is not None:
        lines.append(
            f"{OPPONENT} takes with {document['take_point']:.1%} or more (dead cube"
            f" {document['take_point_dead']:.1%}, live {document['take_point_live']:.1%}),"
        )
        lines.append(f"so {MOVER} cashes from {document['cash_point']:.1%}")
    values = [("gammon value", document["gammon_value"])]
    if document["gammon_value_doubled"] is not None:
        values.append(("after a double", document["gammon_value_doubled"]))
    told = "; ".join(
        f"{name} {MOVER} {value['mover']:.2f}, {OPPONENT} {value['opponent']:.2f}"
        for name, value in values
    )
    return [*lines, told]


def beaver_document(accepted: float, declined: float) -> dict[str, Any]:
    """The `decision` object where the mover's double has been beavered."""
    accepts = accepted >= declined
    return {
        "kind": "beaver",
        "decider": "mover",
        "action": "accept the beaver" if accepts else "decline the beaver",
        "equity": _rounded(max(accepted, declined)),
        "equities": {"accept": _rounded(accepted), "decline": _rounded(declined)},
        "margin": _rounded(abs(accepted - declined)),
    }


def beaver_lines(document: Mapping[str, Any]) -> Sequence[str]:
    """The same for people."""
    return [
        f"{MOVER}: {document['action']}, by {document['margin']:.3f}",
        "",
        *(f"  {name:<10}{value:+9.3f}" for name, value in document["equities"].items()),
    ]
