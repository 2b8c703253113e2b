"""Luck of the dice: what a game's rolls were worth beyond their mean, by one net for both sides.

V(b, r) is what a roll r is worth on board b to the side on roll: the equity, by the net, of the
play that the net likes best of the likely ones; finished games count exactly. A roll's luck is
V(b, r) minus the mean of V(b, .) over all 36 throws, and so has mean 0 whatever the net and whoever
plays: a game's result less the luck of all its rolls has the same mean as the result, and most of
the spread is gone. The opening throw also tells who starts. Its luck is V(start, r) to the starter;
over the 15 rolls, or all 36 throws where the starter throws anew, and both starters the mean is 0
by symmetry.

Source of the idea: D. Montgomery, "Variance reduction", GammOnLine, February 2000.
"""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.checkpoint import default_net_path, load_net
from agent.kernels.replies import new_play_scratch
from agent.kernels.value import new_work
from agent.net import ValueNet
from agent.pubeval import pubeval_table
from agent.ranking import check_kinds_told, scoring_weights
from engine.board import Board
from engine.errors import ConfigError
from engine.play_codes import MAX_PLAYS
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import has_four_kinds
from engine.variant import SHORT, play_switches, variant_of
from eval.kernels.luck import lucks_of_rolls
from eval.lockstep import Turns

__all__ = ["LUCK_UNITS", "N_LIKELY", "GameLuck", "LuckMeter", "load_luck_meter", "why_no_luck"]

LUCK_UNITS: Final = 1_000_000
"""A game's luck is kept in whole millionths of a point, so that sums are exact in any order."""

N_LIKELY: Final = 8
"""Plays of each roll of short nardi that the net looks at: those that a quick linear evaluation,
pubeval's, puts first. Any number is unbiased. Net against net, 150 single games: spread of a game
1.40 as played; 0.30 by all plays in 28 ms, 0.32 by 6 in 13 ms, 0.35 by 3 in 10 ms, 0.59 by 1 in
7 ms."""


def why_no_luck(rules: Rules, *, cube: bool = False, brought: bool = True) -> str | None:
    """Why the luck of games by these rules cannot be told, in words; None if it can.

    cube: whether they are played with the cube, or in matches; brought: by the net that nardi
    brings, which does not know all rules.
    """
    if brought and has_four_kinds(rules):
        return (
            f"scoring={rules.scoring} has four kinds of win, which the net that nardi brings has"
            " not learned; --luck-net names one that has"
        )
    if cube and variant_of(rules) is not SHORT:
        return f"luck can be told of matches of short nardi only, not of game={rules.game}"
    return None


class LuckMeter:
    """The common evaluator. Not to be shared by threads at the same time: it owns its scratch."""

    def __init__(
        self,
        net: ValueNet,
        rules: Rules = INTERNATIONAL,
        name: str = "net",
        *,
        n_likely: int = N_LIKELY,
    ) -> None:
        """n_likely: plays of each roll that the net looks at, 1 or more, see `N_LIKELY`.

        Raises ConfigError for rules that `why_no_luck` refuses, and as `check_kinds_told` does.
        """
        if reason := why_no_luck(rules, brought=False):
            raise ConfigError(reason)
        if net.game != rules.game:
            raise ConfigError(
                f"net '{name}' is for {net.game} nardi and cannot tell the luck of"
                f" game={rules.game}"
            )
        check_kinds_told(net, rules, name)
        self.name = name
        """The text that names the net: "net" or "net:FILE"."""
        self.net = net
        self._bg_weight = float(scoring_weights(rules)[0, 2])
        self._switches = play_switches(rules)
        self._tables = np.stack([pubeval_table(race=False), pubeval_table(race=True)])
        self._n_likely = n_likely
        self._work = new_work(net.contact, net.race, MAX_PLAYS, scheme=net.scheme)
        self._scratch = new_play_scratch()

    def fingerprint(self) -> str:
        """Text that changes when the luck of the same games would be told otherwise."""
        return f"{self.net.checksum()} {self._n_likely}"

    def lucks(
        self, boards: Board, rolls: NDArray[np.int8], openings: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Luck of each roll in points of the side on roll, `(B,)`.

        boards: `(B, 26)` int8 of running games before the roll, seen by the mover, taken as valid;
        rolls: `(B, 2)`; openings: `(B,)`, whether it is the opening throw.
        """
        lucks = np.empty(len(boards))
        lucks_of_rolls(
            self.net.playing.contact,
            self.net.playing.race,
            np.require(boards, np.int8, ["C", "W"]),
            np.require(rolls, np.int8, ["C", "W"]),
            np.require(openings, np.bool_, ["C", "W"]),
            self._bg_weight,
            self._switches,
            self._tables,
            self._n_likely,
            self._work,
            self._scratch,
            lucks,
        )
        return lucks


def load_luck_meter(path: Path | None, rules: Rules = INTERNATIONAL) -> LuckMeter:
    """A meter with the net of a file, or with the one that ships. Raises CheckpointError too."""
    name = "net" if path is None else f"net:{path}"
    net = load_net(default_net_path(rules.game) if path is None else path, rules.game)
    return LuckMeter(net, rules, name)


class GameLuck:
    """Adds up the luck of games that are played in lockstep; `watch` is for `play_games`."""

    def __init__(self, meter: LuckMeter, n_streams: int, n_seatings: int) -> None:
        self._meter = meter
        self._sums = np.zeros((n_streams, n_seatings))

    def watch(self, turns: Turns) -> None:
        # A last throw decides between a loss and a draw; the net knows of neither.
        rows = np.flatnonzero(~turns.last_throw)
        if len(rows) == 0:
            return
        openings = np.full(len(rows), turns.number == 0)
        lucks = self._meter.lucks(turns.boards[rows], turns.rolls[rows], openings)
        signed = np.where(turns.movers[rows] == 0, lucks, -lucks)
        self._sums[turns.streams[rows], turns.seatings[rows]] += signed

    def units(self) -> NDArray[np.int64]:
        """Luck of the first bot in every game, as `Played.points` has them, in `LUCK_UNITS`."""
        return np.rint(self._sums * LUCK_UNITS).astype(np.int64)
