"""One turn step by step, in plain Python: which orders of steps can be played, and why one cannot.

The compiled generators list plays; this judges a play somebody brings.
"""

from collections.abc import Sequence

from engine.board import BAR, OFF, Board
from engine.long_board import HEAD, forms_block
from engine.rules import Rules

__all__ = ["Step", "playable_orders", "step_fault"]

Step = tuple[int, int]
"""(from, to): points 1 to 24 of the mover, 25 = bar, 0 = off."""

_PLAIN, _MARKED, _HIDING = range(3)  # a checker that has not hit; has hit; has hit and hides
_HOME_END = 6


class _Turn:
    """State in the middle of a turn: board, dice left, and what hitters do on each point."""

    closed_by = 2
    """Opposing checkers that close a point."""
    end_fault = "a checker that hit would end the turn safe on one of its own side's points"
    """Why a turn that `may_end` refuses cannot be."""

    def __init__(self, board: Sequence[int], dice: list[int], rules: Rules) -> None:
        self.board = list(board)
        self.dice = dice
        self.rules = rules
        self.kinds = [[max(n, 0), 0, 0] for n in self.board]
        self.home_hit = False

    def copy(self) -> "_Turn":
        other = type(self)(self.board, list(self.dice), self.rules)
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
        if target > OFF and self.board[target] <= -self.closed_by:
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

    def may_end(self) -> bool:
        return all(kinds[_HIDING] == 0 for kinds in self.kinds)


class _LongTurn(_Turn):
    """State in the middle of a turn of long nardi, where nobody is hit."""

    closed_by = 1
    end_fault = "the turn would end with a forbidden block of six points in a row"
    n_heads = 1
    """Checkers that may still leave the head."""

    def copy(self) -> "_LongTurn":
        other = _LongTurn(self.board, list(self.dice), self.rules)
        other.n_heads = self.n_heads
        return other

    def fault(self, step: Step) -> str | None:
        if (fault := super().fault(step)) is not None:
            return fault
        if step[0] == HEAD and self.n_heads == 0:
            return "no other checker may leave the head in this turn"
        if self.rules.block_check == "step":
            after = self.after(step, self.dice_for(step)[0], _PLAIN)
            if forms_block(after.board, self.rules):
                return (
                    "six points in a row are forbidden"
                    if self.rules.block_rule == "always"
                    else "six points in a row, which no opposing checker has passed, are forbidden"
                )
        return None

    def after(self, step: Step, die: int, kind: int) -> "_LongTurn":
        turn = super().after(step, die, kind)
        assert isinstance(turn, _LongTurn)
        turn.n_heads -= step[0] == HEAD
        return turn

    def may_end(self) -> bool:
        return self.rules.block_check == "step" or not forms_block(self.board, self.rules)


def _dice(roll: Sequence[int]) -> list[int]:
    return [roll[0]] * 4 if roll[0] == roll[1] else list(roll)


def _start(board: Board, roll: Sequence[int], rules: Rules, n_heads: int) -> _Turn:
    counts = [int(n) for n in board]
    if rules.game == "short":
        return _Turn(counts, _dice(roll), rules)
    turn = _LongTurn(counts, _dice(roll), rules)
    turn.n_heads = n_heads
    return turn


def _continuations(
    board: Board, roll: Sequence[int], steps: Sequence[Step], rules: Rules, n_heads: int
) -> list[_Turn]:
    turns = [_start(board, roll, rules, n_heads)]
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
    board: Board, roll: Sequence[int], steps: Sequence[Step], rules: Rules, n_heads: int = 1
) -> list[Board]:
    """Boards after the steps in this order, one per way to read them; empty if none can be played.

    Does not ask whether the turn is complete. board: `(26,)` int8 seen by the mover; n_heads:
    checkers that may leave the head in long nardi.
    """
    turns = _continuations(board, roll, steps, rules, n_heads)
    ends = [turn for turn in turns if turn.may_end()] if steps else turns
    boards = []
    for turn in ends:
        after = board.copy()
        after[:] = turn.board
        boards.append(after)
    return boards


def step_fault(
    board: Board, roll: Sequence[int], steps: Sequence[Step], rules: Rules, n_heads: int = 1
) -> str:
    """Why the steps cannot be played in this order, in words."""
    for i, step in enumerate(steps):
        turns = _continuations(board, roll, steps[:i], rules, n_heads)
        faults = [fault for turn in turns if (fault := turn.fault(step)) is not None]
        if len(faults) == len(turns):
            names = {BAR: "bar", OFF: "off"}
            source, target = (names.get(point, point) for point in step)
            return f"step {i + 1}, {source}/{target}: {faults[0]}"
    return _start(board, roll, rules, n_heads).end_fault
