"""Luck of the dice with the cube, by one net for both sides.

As in `eval.luck`, but V(b, r) is the cubeful worth with the cube as it stands when the roll is
thrown: in money play points times the stake, in a match 2 * match-winning chance - 1. Doubles,
takes and passes are decisions and no luck. Every roll's luck has mean 0 whatever the net and its
idea of the cube, so the score less the luck of all rolls has the mean of the score.

At a score the two sides are not alike, so an opening throw, which also tells who starts, has as its
luck V(start, r) less the mean over the 15 openings and both starters.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.checkpoint import default_net_path, load_net
from agent.cube_play import grouped
from agent.cube_values import table_of
from agent.kernels.cube import new_cube_work
from agent.kernels.value import new_work
from agent.net import ValueNet
from agent.pubeval import pubeval_table
from agent.ranking import check_kinds_told
from agent.situation import Situation
from engine.board import Board
from engine.errors import ConfigError
from engine.play_codes import MAX_PLAYS
from engine.rules import INTERNATIONAL, Rules
from engine.short_moves import new_scratch
from engine.variant import bans, variant_of
from eval.cube_games import CubeTurns
from eval.kernels.cube_luck import cubeful_lucks
from eval.luck import LUCK_UNITS, N_LIKELY, why_no_luck

__all__ = ["CubeLuck", "CubeLuckMeter", "load_cube_luck_meter"]

_OPENING_ROLL = np.array([[2, 1]], dtype=np.int8)  # any: the mean over all is asked for


class CubeLuckMeter:
    """The common evaluator. Not to be shared by threads at the same time: it owns its scratch."""

    def __init__(
        self,
        net: ValueNet,
        rules: Rules = INTERNATIONAL,
        name: str = "net",
        *,
        n_likely: int = N_LIKELY,
    ) -> None:
        """n_likely: plays of each roll that the net looks at, see `eval.luck.N_LIKELY`.

        Raises ConfigError for rules that `eval.luck.why_no_luck` refuses, and as `check_kinds_told`
        and `agent.cube_table.check_kinds` do.
        """
        if reason := why_no_luck(rules, cube=True, brought=False):
            raise ConfigError(reason)
        check_kinds_told(net, rules, name)
        self.name = name
        """The text that names the net: "net" or "net:FILE"."""
        self.net = net
        self._start = variant_of(rules).start[np.newaxis].copy()
        self._bans = bans(rules)
        self._tables = np.stack([pubeval_table(race=False), pubeval_table(race=True)])
        self._n_likely = n_likely
        self._work = new_work(net.contact, net.race, MAX_PLAYS, scheme=net.scheme)
        self._scratch = new_scratch()
        self._opening_means: dict[Situation, float] = {}

    def fingerprint(self) -> str:
        """Text that changes when the luck of the same games would be told otherwise."""
        return f"{self.net.checksum()} {self._n_likely} cube"

    def lucks(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: Sequence[Situation],
        openings: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Luck of each roll for the side on roll, `(B,)`, in points or 2 * match-winning chance.

        boards: `(B, 26)` int8 of running games before the roll, seen by the mover, taken as valid;
        rolls: `(B, 2)`; situations: one a row, after all cube decisions; openings: `(B,)`, whether
        it is the opening throw.
        """
        lucks = np.empty(len(boards))
        for situation, rows in grouped(situations):
            is_opening = openings[rows]
            stake = 1 if situation.is_match else situation.cube_value
            for some, opening in ((rows[~is_opening], False), (rows[is_opening], True)):
                if len(some) == 0:
                    continue
                self._run(boards, rolls, some, opening, situation, lucks)
                if opening:
                    lucks[some] -= self._opening_mean(situation)
                lucks[some] *= stake
        return lucks

    def _opening_mean(self, situation: Situation) -> float:
        """Worth of a game to the mover before it is known who starts, in the table's unit."""
        if situation not in self._opening_means:
            of_starters = [
                self._run(self._start, _OPENING_ROLL, np.zeros(1, np.int64), True, s, np.empty(1))
                for s in (situation, situation.flipped())
            ]
            self._opening_means[situation] = (of_starters[0] - of_starters[1]) / 2
        return self._opening_means[situation]

    def _run(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        rows: NDArray[np.int64],
        opening: bool,
        situation: Situation,
        lucks: NDArray[np.float64],
    ) -> float:
        table = table_of(situation)
        return float(
            cubeful_lucks(
                self.net.playing.contact,
                self.net.playing.race,
                np.require(boards, np.int8, ["C", "W"]),
                np.require(rolls, np.int8, ["C", "W"]),
                rows,
                opening,
                table,
                new_cube_work(table),  # type: ignore[no-untyped-call]
                *self._bans,
                self._tables,
                self._n_likely,
                self._work,
                self._scratch,
                lucks,
            )
        )


def load_cube_luck_meter(path: Path | None, rules: Rules = INTERNATIONAL) -> CubeLuckMeter:
    """A meter with the net of a file, or with the one that ships. Raises CheckpointError too."""
    name = "net" if path is None else f"net:{path}"
    return CubeLuckMeter(load_net(default_net_path() if path is None else path), rules, name)


class CubeLuck:
    """Adds up the luck of games or matches played in lockstep; `watch` is for `play_cube_games`."""

    def __init__(self, meter: CubeLuckMeter, n_streams: int, n_seatings: int) -> None:
        self._meter = meter
        self._sums = np.zeros((n_streams, n_seatings))

    def watch(self, turns: CubeTurns) -> None:
        # A last throw decides between a loss and a draw; the net knows of neither.
        rows = np.flatnonzero(~turns.last_throw)
        if len(rows) == 0:
            return
        lucks = self._meter.lucks(
            turns.boards[rows],
            turns.rolls[rows],
            [turns.situations[row] for row in rows],
            turns.openings[rows],
        )
        signed = np.where(turns.movers[rows] == 0, lucks, -lucks)
        np.add.at(self._sums, (turns.streams[rows], turns.seatings[rows]), signed)

    def units(self) -> NDArray[np.int64]:
        """Luck of the first bot, as `Played.points` has the games or matches, in `LUCK_UNITS`."""
        return np.rint(self._sums * LUCK_UNITS).astype(np.int64)
