"""How a game has ended: winner, stake, the factor that is paid, and the reason in words."""

from dataclasses import dataclass
from typing import Literal

from engine.actions import Player, other_player
from engine.board import Board
from engine.rules import Rules
from engine.scoring import KINDS, WinKind, counted_factor, result, why_factor_is_one

__all__ = ["Ending", "GameResult", "beaver_declined", "drawn", "played_out", "refused", "resigned"]

Ending = Literal["borne_off", "refused", "beaver_declined", "resigned", "draw"]


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """How a game has ended; points = stake x factor."""

    winner: Player | None
    """None = draw."""
    points: int
    stake: int
    factor: int
    """The factor that is paid, after Jacoby's rule and `mars_with_cube`; 0 for a draw."""
    ending: Ending
    kind: str | None
    """oin, mars, home_mars or koks, where the game was played out or resigned."""
    why: str
    """The reason in words."""


def played_out(
    after: Board, mover: Player, stake: int, rules: Rules, *, cube_offered: bool
) -> GameResult:
    """A game that ends with a finished board, seen by the mover who made the last play."""
    win = result(after, rules)
    winner = mover if win.winner == "mover" else other_player(mover)
    why = f"{win.kind.name}: {win.kind.why}"
    return _paid("borne_off", winner, stake, win.factor, win.kind, why, rules, cube_offered)


def resigned(
    factor: int, winner: Player, stake: int, rules: Rules, *, cube_offered: bool
) -> GameResult:
    """A game that the loser has resigned by the kind of win with this factor."""
    kind = KINDS[rules.scoring][factor - 1]
    why = f"resigned by {kind.name}"
    return _paid("resigned", winner, stake, factor, kind, why, rules, cube_offered)


def _paid(
    ending: Ending,
    winner: Player,
    stake: int,
    factor: int,
    kind: WinKind,
    why: str,
    rules: Rules,
    cube_offered: bool,
) -> GameResult:
    counted = counted_factor(factor, rules, cube_offered=cube_offered)
    if counted != factor:
        why += f"; {why_factor_is_one(rules, cube_offered=cube_offered)}"
    return GameResult(
        winner=winner,
        points=stake * counted,
        stake=stake,
        factor=counted,
        ending=ending,
        kind=kind.name,
        why=why,
    )


def refused(winner: Player, stake: int) -> GameResult:
    """A refused double; stake: before the offer."""
    why = "the double was refused, which loses the stake that stood before the offer"
    return _lost_stake("refused", winner, stake, why)


def beaver_declined(winner: Player, stake: int) -> GameResult:
    """A declined beaver; stake: the one first offered."""
    why = "the beaver was declined, which loses the stake that was first offered"
    return _lost_stake("beaver_declined", winner, stake, why)


def _lost_stake(ending: Ending, winner: Player, stake: int, why: str) -> GameResult:
    return GameResult(
        winner=winner, points=stake, stake=stake, factor=1, ending=ending, kind=None, why=why
    )


def drawn(stake: int) -> GameResult:
    """A draw by the last throw."""
    why = "both players have borne off everything, the second one with his last throw"
    return GameResult(
        winner=None, points=0, stake=stake, factor=0, ending="draw", kind=None, why=why
    )
