"""One turn of short nardi step by step, in plain Python: which orders of steps can be played, and
why one cannot. The compiled generators list plays; this judges a play somebody brings."""

from collections.abc import Sequence

from engine.board import BAR, OFF, Board
from engine.rules import Rules

__all__ = ["Step", "playable_orders", "step_fault"]

Step = tuple[int, int]
"""(from, to): points 1 to 24 of the mover, 25 = bar, 0 = off."""

_PLAIN, _MARKED, _HIDING = range(3)  # a checker that has not hit; has hit; has hit and hides
_HOME_END = 6


class _Turn:
    """State in the middle of a turn: board, dice left, and what hitters do on each point."""

    def __init__(self, board: Sequence[int], dice: list[int], rules: Rules) -> None:
        self.board = list(board)
        self.dice = dice
        self.rules = rules
        self.kinds = [[max(n, 0), 0, 0] for n in self.board]
        self.home_hit = False

    def copy(self) -> "_Turn":
        other = _Turn(self.board, list(self.dice), self.rules)
        other.kinds = [list(kinds) for kinds in self.kinds]
        other.home_hit = self.home_hit
        return other

    def rear(self) -> int:
        return max((point for point in range(1, BAR + 1) if self.board[point] > 0), default=0)

    def fault(self, step: Step) -> str | None:
        """Why a step cannot be played whatever the die, or None."""
        source, target = step
        if not (1 <= source <= BAR and OFF <= target < BAR):
            return "from is 1 to 24 or 25 for the bar, to is 0 for off or 1 to 24"
        if self.board[source] <= 0:
            return "no checker of the mover is there" if source < BAR else "nobody is on the bar"
        if self.board[BAR] > 0 and source != BAR:
            return "a checker is on the bar and must enter first"
        if target >= source:
            return "checkers move from higher to lower points"
        if target > OFF and self.board[target] < -1:
            return f"point {target} is closed"
        if target == OFF and self.rear() > _HOME_END:
            return "not all checkers are home"
        if not self.dice_for(step):
            dice = "-".join(str(die) for die in self.dice)
            return f"no die for it is left of {dice}" if dice else "no die is left"
        if not self.moving_kinds(step):
            return "a checker may not be borne off after that hit in the same turn"
        return None

    def dice_for(self, step: Step) -> list[int]:
        """The dice left that this step can use, each face once."""
        source, target = step
        exact = {die for die in self.dice if source - die == target}
        if target == OFF and source == self.rear():
            exact |= {die for die in self.dice if die > source}
        return sorted(exact)

    def moving_kinds(self, step: Step) -> list[int]:
        """Kinds of checker on the source point that the house rules let make this step."""
        source, target = step
        kinds = [kind for kind in range(3) if self.kinds[source][kind] > 0]
        if target == OFF:
            if self.rules.hit_then_bear_off == "ban_hitter":
                kinds = [kind for kind in kinds if kind == _PLAIN]
            if self.rules.hit_then_bear_off == "ban_home_hit" and self.home_hit:
                kinds = []
        return kinds

    def after(self, step: Step, die: int, kind: int) -> "_Turn":
        source, target = step
        turn = self.copy()
        turn.dice.remove(die)
        turn.board[source] -= 1
        turn.kinds[source][kind] -= 1
        if target > OFF:
            if turn.board[target] == -1:
                turn.board[target] = 1
                turn.board[0] += 1
                turn.home_hit |= target <= _HOME_END
                kind = _MARKED
            else:
                if kind != _PLAIN:
                    hides = self.rules.hit_and_hide == "ban" and turn.board[target] > 0
                    kind = _HIDING if hides else _MARKED
                turn.board[target] += 1
            turn.kinds[target][kind] += 1
        return turn

    def hides(self) -> bool:
        return any(kinds[_HIDING] > 0 for kinds in self.kinds)


def _dice(roll: Sequence[int]) -> list[int]:
    return [roll[0]] * 4 if roll[0] == roll[1] else list(roll)


def _continuations(
    board: Board, roll: Sequence[int], steps: Sequence[Step], rules: Rules
) -> list[_Turn]:
    turns = [_Turn([int(n) for n in board], _dice(roll), rules)]
    for step in steps:
        turns = [
            turn.after(step, die, kind)
            for turn in turns
            if turn.fault(step) is None
            for die in turn.dice_for(step)
            for kind in turn.moving_kinds(step)
        ]
    return turns


def playable_orders(
    board: Board, roll: Sequence[int], steps: Sequence[Step], rules: Rules
) -> list[Board]:
    """Boards after the steps in this order, one per way to read them; empty if none can be played.

    Does not ask whether the turn is complete. board: `(26,)` int8 seen by the mover.
    """
    ends = [turn for turn in _continuations(board, roll, steps, rules) if not turn.hides()]
    boards = []
    for turn in ends:
        after = board.copy()
        after[:] = turn.board
        boards.append(after)
    return boards


def step_fault(board: Board, roll: Sequence[int], steps: Sequence[Step], rules: Rules) -> str:
    """Why the steps cannot be played in this order, in words."""
    for i, step in enumerate(steps):
        turns = _continuations(board, roll, steps[:i], rules)
        faults = [fault for turn in turns if (fault := turn.fault(step)) is not None]
        if len(faults) == len(turns):
            names = {BAR: "bar", OFF: "off"}
            source, target = (names.get(point, point) for point in step)
            return f"step {i + 1}, {source}/{target}: {faults[0]}"
    return "a checker that hit would end the turn safe on one of its own side's points"
