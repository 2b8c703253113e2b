"""Plays money games or matches of two bots with the cube side by side.

The rules are those of `engine.game` and `engine.match`, whose state machines a test holds this to.
Nothing here depends on which games are played together: dice and draws belong to the stream.
Nobody resigns; games are played out or end with a pass.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot
from agent.cube_play import BEAVER, PASS
from agent.situation import Situation
from engine.board import Board
from engine.errors import NardiError
from engine.notation import Side
from engine.rules import Rules
from engine.scoring import KINDS, counted_factor, cube_in_use, next_stake, result_factors
from engine.variant import starter_throws_again, variant_of
from eval import lockstep
from eval.cube_dice import RowDice
from eval.cube_tally import CubeCounts
from eval.lockstep import Played, WorkMeter

__all__ = ["CubeTurns", "play_cube_games"]

_NOBODY = -1


class CubeTurns(NamedTuple):
    """One turn of all games that throw now, one row each, after the cube and before the play."""

    boards: Board
    """`(B, 26)` int8 seen by the side on roll. Not to be changed."""
    rolls: NDArray[np.int8]
    """`(B, 2)`."""
    situations: list[Situation]
    """Of each row, seen by the side on roll."""
    openings: NDArray[np.bool_]
    """Whether it is the opening throw of a game, `(B,)`."""
    movers: NDArray[np.int8]
    """Number of the bot on roll, `(B,)`, 0 or 1."""
    streams: NDArray[np.int64]
    """Number of the dice stream among those that are played, `(B,)`, from 0."""
    seatings: NDArray[np.int8]
    """Column of the game or match in `Played.points`, `(B,)`."""
    last_throw: NDArray[np.bool_]
    """Whether the other side has finished and this is the throw that can make a draw, `(B,)`."""


def play_cube_games(
    bots: Sequence[Bot],
    seed: int,
    first_stream: int,
    n_streams: int,
    rules: Rules,
    *,
    paired: bool = True,
    most_turns: int | None = None,
    on_turn: Callable[[int], None] = lambda n_over: None,
    watch: Callable[[CubeTurns], None] = lambda turns: None,
) -> Played:
    """Play the money games, or with `match_to` the matches, of some dice streams to their ends.

    Arguments as in `eval.lockstep.play_games`; most_turns: of a game. In a match game n of stream p
    has dice of its own, the same in both seatings. `Played.points` are points with the stake in
    money play, 1 or -1 for a match, 0 for one given up.
    """
    table = _Table(bots, seed, first_stream, n_streams, rules, paired=paired)
    most = lockstep.MOST_TURNS if most_turns is None else most_turns
    while len(rows := table.running()):
        n_over = table.start_games(rows) + table.offer(rows)
        rows = rows[table.in_play[rows]]
        if len(rows):
            n_over += table.play(rows, most, watch)
        on_turn(n_over)
    return table.played()


class _Table:
    """All games or matches, one a row; the two players are seats 0 and 1."""

    def __init__(
        self,
        bots: Sequence[Bot],
        seed: int,
        first_stream: int,
        n_streams: int,
        rules: Rules,
        *,
        paired: bool,
    ) -> None:
        n_seatings = 2 if paired else 1
        n = n_streams * n_seatings
        self._rules = rules
        self._flip = variant_of(rules).flip
        self._meters = [WorkMeter(bot) for bot in bots]
        self._counts = [CubeCounts(), CubeCounts()]
        self._first_stream = first_stream
        with_draws = any(bot.uses_draws for bot in bots)
        is_match = rules.match_to is not None
        self._dice = RowDice(
            seed,
            n,
            is_match=is_match,
            with_draws=with_draws,
            throws_again=starter_throws_again(rules),
        )
        self._situations: dict[tuple[int, int, int, int, bool], Situation] = {}
        self._points = np.zeros((n_streams, n_seatings), dtype=np.int64)
        self._n_unfinished = 0
        self._streams = np.repeat(np.arange(n_streams), n_seatings)
        self._seatings = np.tile(np.arange(n_seatings, dtype=np.int8), n_streams)
        self._done = np.zeros(n, dtype=np.bool_)
        self.in_play = np.zeros(n, dtype=np.bool_)
        """Whether a game runs that is not over."""
        # Of the running game:
        self._boards = np.tile(variant_of(rules).start, (n, 1))
        self._seats = np.zeros(n, dtype=np.int8)  # on roll
        self._starters = np.zeros(n, dtype=np.int8)
        self._turns = np.zeros(n, dtype=np.int64)
        self._cubes = np.ones(n, dtype=np.int64)
        self._owners = np.full(n, _NOBODY, dtype=np.int8)
        self._offered = np.zeros(n, dtype=np.bool_)
        self._last_throw = np.zeros(n, dtype=np.bool_)
        # Of the match:
        self._scores = np.zeros((n, 2), dtype=np.int64)
        self._n_games = np.zeros(n, dtype=np.int64)
        self._crawford = np.zeros(n, dtype=np.bool_)
        self._crawford_played = np.zeros(n, dtype=np.bool_)

    def running(self) -> NDArray[np.int64]:
        """Rows whose game or match is not over."""
        return np.flatnonzero(~self._done)

    def played(self) -> Played:
        return Played(
            self._points,
            self._n_unfinished,
            (self._meters[0].work, self._meters[1].work),
            cube=(self._counts[0], self._counts[1]),
        )

    def _count(self, bot: int, **more: int) -> None:
        self._counts[bot] = self._counts[bot].plus(CubeCounts(**more))

    # --- the start of a game ---

    def start_games(self, rows: NDArray[np.int64]) -> int:
        """Open a game where none runs; nothing is over by that."""
        for row in rows[~self.in_play[rows]].tolist():
            stream = self._first_stream + int(self._streams[row])
            ties, die_0, die_1 = self._dice.start(row, stream, int(self._n_games[row]))
            self._boards[row] = variant_of(self._rules).start
            self._seats[row] = self._starters[row] = 0 if die_0 > die_1 else 1
            self._turns[row] = 0
            self._cubes[row] = self._stake_after_ties(ties)
            self._owners[row] = _NOBODY
            self._offered[row] = self._last_throw[row] = False
            self._crawford[row] = self._is_crawford(row)
            self.in_play[row] = True
        return 0

    def _stake_after_ties(self, ties: int) -> int:
        rules, stake = self._rules, 1
        if not cube_in_use(rules) or rules.match_to is not None:
            return stake
        most = ties if rules.auto_doubles is None else min(ties, rules.auto_doubles)
        for _ in range(most):
            raised = next_stake(stake, rules)
            if raised is None:
                break
            stake = raised
        return stake

    def _is_crawford(self, row: int) -> bool:
        rules = self._rules
        if rules.match_to is None or not rules.crawford or self._crawford_played[row]:
            return False
        if not variant_of(rules).has_cube:
            return False
        one_away = self._scores[row] == rules.match_to - 1
        return bool(one_away[0] != one_away[1])

    # --- the cube ---

    def offer(self, rows: NDArray[np.int64]) -> int:
        """Let those on roll double; returns how many games or matches are over by that."""
        if not cube_in_use(self._rules):
            return 0
        some = rows[
            (self._turns[rows] > 0)
            & ~self._crawford[rows]
            & ~self._last_throw[rows]
            & ((self._owners[rows] == _NOBODY) | (self._owners[rows] == self._seats[rows]))
        ]
        if self._rules.cube_cap is not None:
            can_rise = [next_stake(cube, self._rules) is not None for cube in self._cubes[some]]
            some = some[np.array(can_rise, dtype=np.bool_)]
        n_over = 0
        for bot in (0, 1):
            asked = some[(self._seats[some] ^ self._seatings[some]) == bot]
            if len(asked):
                n_over += self._offer_of(bot, asked)
        return n_over

    def _offer_of(self, bot: int, rows: NDArray[np.int64]) -> int:
        situations = self._situations_of(rows)
        doubles = self._meters[bot].doubles(self._boards[rows], situations)
        which = np.flatnonzero(doubles)
        if len(which) == 0:
            return 0
        doubled = rows[which]
        of_doubled = [situations[i] for i in which]
        answers = self._meters[1 - bot].answers(self._boards[doubled], of_doubled)
        n_over = 0
        beavered = []
        for i, (row, answer) in enumerate(zip(doubled.tolist(), answers.tolist(), strict=True)):
            stake = int(self._cubes[row])
            raised = next_stake(stake, self._rules)
            assert raised is not None
            self._count(bot, doubles=1)
            self._offered[row] = True
            if answer == PASS:
                self._count(1 - bot, passes=1)
                n_over += self._end(row, int(self._seats[row]), stake)
            elif answer == BEAVER:
                if not self._may_beaver(raised):
                    raise NardiError(
                        f"bot '{self._meters[1 - bot].name}' beavers a double to {raised}, which"
                        f" the rules '{self._rules}' do not allow"
                    )
                beavered.append(i)
            else:
                self._count(1 - bot, takes=1)
                self._turn_cube(row, raised)
        if beavered:
            n_over += self._beavers(bot, doubled[beavered], [of_doubled[i] for i in beavered])
        return n_over

    def _may_beaver(self, raised: int) -> bool:
        rules = self._rules
        return rules.beaver and rules.match_to is None and next_stake(raised, rules) is not None

    def _beavers(self, bot: int, rows: NDArray[np.int64], situations: list[Situation]) -> int:
        """The bot has doubled and was beavered."""
        accepts = self._meters[bot].accepts_beavers(self._boards[rows], situations)
        n_over = 0
        for row, accepted in zip(rows.tolist(), accepts.tolist(), strict=True):
            raised = next_stake(int(self._cubes[row]), self._rules)
            assert raised is not None
            self._count(1 - bot, beavers=1)
            if accepted:
                twice = next_stake(raised, self._rules)
                assert twice is not None
                self._turn_cube(row, twice)
            else:
                self._count(bot, declined=1)
                n_over += self._end(row, 1 - int(self._seats[row]), raised)
        return n_over

    def _turn_cube(self, row: int, stake: int) -> None:
        self._cubes[row] = stake
        self._owners[row] = 1 - self._seats[row]

    def _situations_of(self, rows: NDArray[np.int64]) -> list[Situation]:
        """Seen by those on roll; equal ones are the same object."""
        seats = self._seats[rows]
        own, opp = self._scores[rows, seats], self._scores[rows, 1 - seats]
        owners = np.where(self._owners[rows] == _NOBODY, 2, self._owners[rows] ^ seats)
        keys = zip(
            self._cubes[rows].tolist(),
            owners.tolist(),
            own.tolist(),
            opp.tolist(),
            self._crawford[rows].tolist(),
            strict=True,
        )
        return [self._situations.get(key) or self._situation(key) for key in keys]

    def _situation(self, key: tuple[int, int, int, int, bool]) -> Situation:
        stake, owner, own, opp, crawford = key
        match_to = self._rules.match_to
        owners: tuple[Side | None, ...] = ("mover", "opponent", None)
        situation = Situation(
            rules=self._rules,
            cube_value=stake,
            cube_owner=owners[owner],
            mover_away=None if match_to is None else match_to - own,
            opp_away=None if match_to is None else match_to - opp,
            crawford=crawford,
            cube_offered=owners[owner] is not None,
        )
        self._situations[key] = situation
        return situation

    # --- throw and play ---

    def play(
        self, rows: NDArray[np.int64], most_turns: int, watch: Callable[[CubeTurns], None]
    ) -> int:
        """Throw and play once in each row; returns how many games or matches are over by that."""
        rolls, draws = self._dice.throw(rows)
        boards, seats, last_throw = self._boards[rows], self._seats[rows], self._last_throw[rows]
        situations = self._situations_of(rows)
        movers = seats ^ self._seatings[rows]
        turns = CubeTurns(
            boards,
            rolls,
            situations,
            self._turns[rows] == 0,
            movers,
            self._streams[rows],
            self._seatings[rows],
            last_throw,
        )
        watch(turns)
        after = self._chosen(turns, draws)
        self._turns[rows] += 1
        finished = ~(after[:, 1:] > 0).any(axis=1)
        gives_last = np.zeros_like(finished)
        if self._rules.end_rule == "last_chance_draw":
            gives_last = finished & ~last_throw & (seats == self._starters[rows])
        over = last_throw | (finished & ~gives_last)
        n_over = 0
        if over.any():
            # A second player who finishes as well leaves no checkers at all: factor 0, a draw.
            factors = result_factors(after[over], self._rules)
            for row, factor in zip(rows[over].tolist(), factors.tolist(), strict=True):
                n_over += self._finish(row, factor)
        goes_on = rows[~over]
        self._boards[goes_on] = self._flip(after[~over])
        self._last_throw[goes_on] = gives_last[~over]
        self._seats[goes_on] ^= 1
        for row in goes_on[self._turns[goes_on] >= most_turns].tolist():
            self._done[row] = True
            self.in_play[row] = False
            self._n_unfinished += 1
            n_over += 1
        return n_over

    def _chosen(self, turns: CubeTurns, draws: NDArray[np.float64] | None) -> Board:
        """Afterstates of all games' turn, each chosen by the bot on roll."""
        # For a last throw the side that has finished lends a checker to its bar, where it is in
        # nobody's way (as `engine.game` has it).
        boards = turns.boards.copy()
        lent = turns.last_throw & variant_of(self._rules).has_bar
        boards[lent, 0] = 1
        after = np.empty_like(boards)
        for number, bot in enumerate(self._meters):
            rows = np.flatnonzero(turns.movers == number)
            if len(rows):
                some = None if draws is None else draws[rows]
                of_rows = [turns.situations[row] for row in rows]
                after[rows] = bot.choose_at(boards[rows], turns.rolls[rows], of_rows, some)
        after[lent, 0] = 0
        return after

    # --- the end of a game ---

    def _finish(self, row: int, factor: int) -> int:
        """A game that was played out; factor: for the one on roll."""
        seat = int(self._seats[row])
        if factor == 0:
            return self._end(row, seat, 0)
        winner = seat if factor > 0 else 1 - seat
        kind = abs(factor)
        koks = KINDS[self._rules.scoring][kind - 1].name == "koks"
        self._count(winner ^ int(self._seatings[row]), gammons=int(kind > 1), backgammons=int(koks))
        counted = counted_factor(kind, self._rules, cube_offered=bool(self._offered[row]))
        return self._end(row, winner, int(self._cubes[row]) * counted)

    def _end(self, row: int, winner: int, points: int) -> int:
        """The game of a row is over; returns 1 if the match, or the money game, is as well."""
        self.in_play[row] = False
        bot = winner ^ int(self._seatings[row])
        if points:
            self._count(bot, wins=1)
        self._count(0, games=1, stakes=int(self._cubes[row]))
        self._count(1, games=1, stakes=int(self._cubes[row]))
        signed = points if bot == 0 else -points
        place = self._streams[row], self._seatings[row]
        match_to = self._rules.match_to
        if match_to is None:
            self._points[place] = signed
            self._done[row] = True
            return 1
        self._scores[row, winner] += points
        self._crawford_played[row] |= self._crawford[row]
        self._n_games[row] += 1
        if self._scores[row, winner] < match_to:
            return 0
        self._points[place] = 1 if bot == 0 else -1
        self._done[row] = True
        return 1
