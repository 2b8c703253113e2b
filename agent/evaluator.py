"""A value net as a player: boards in, probabilities or chosen plays out, one or many at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.candidates import find_candidates
from agent.checkpoint import default_net_path, load_net
from agent.kernels.choice import choose_plays
from agent.kernels.replies import new_play_scratch
from agent.kernels.value import boards_probs, money_weights, new_work
from agent.net import ValueNet
from engine.bearoff.arrays import BearoffArrays
from engine.bearoff.lookup import fits_rules
from engine.board import Board, borne_off
from engine.dice import check_roll
from engine.errors import ConfigError
from engine.moves import check_batch, check_boards, check_running
from engine.play_codes import MAX_PLAYS
from engine.rules import INTERNATIONAL, LONG_NARDI, Game, Rules
from engine.variant import play_switches

if TYPE_CHECKING:
    from agent.situation import Situation

__all__ = ["Evaluator", "cubeless_equity", "load_evaluator", "swap_sides"]

FloatArray = NDArray[np.float32]


def cubeless_equity(probs: ArrayLike, third: float = 1) -> FloatArray:
    """Cubeless money equity of each row, for the side the row belongs to.

    probs: `(..., 5)`, cumulative, order win, win gammon, win bg, lose gammon, lose bg; third: what
    win bg counts above a gammon. Returns `(...)` float32 in points per game, within [-3, 3] where
    it is 1. Raises ValueError if the last axis is not 5.
    """
    p = np.asarray(probs, dtype=np.float32)
    if p.shape[-1:] != (5,):
        raise ValueError(f"probabilities have 5 columns, these have shape {p.shape}")
    weight = np.float32(third)
    wins = 2 * p[..., 0] - 1 + p[..., 1] + weight * p[..., 2]
    return np.asarray(wins - p[..., 3] - weight * p[..., 4])


def swap_sides(probs: ArrayLike) -> FloatArray:
    """The same probabilities for the other side, `(..., 5)`: (1 - win, lg, lbg, wg, wbg)."""
    p = np.asarray(probs, dtype=np.float32)
    return np.concatenate([1 - p[..., :1], p[..., 3:5], p[..., 1:3]], axis=-1)


class Evaluator:
    """A loaded net. Not to be shared by threads at the same time: it owns its scratch."""

    def __init__(
        self, net: ValueNet, name: str = "net", tables: BearoffArrays | None = None
    ) -> None:
        """tables: of exact endings, which go before the net where they know a board; a net of
        long nardi, or of four kinds of win, does without."""
        if net.scheme != 0:
            tables = None
        self.net = net
        self.name = name
        self.n_evaluated = 0
        """Positions it has evaluated so far."""
        self.tables = tables
        self._work = new_work(net.contact, net.race, MAX_PLAYS, tables, scheme=net.scheme)
        self._scratch = new_play_scratch()
        self._third = 2 if net.four_kinds else 1
        # Compiling it takes a tenth of a second each time.
        self._weights = money_weights.py_func(self._third)
        self._without_tables: Evaluator | None = None

    def for_rules(self, rules: Rules) -> "Evaluator":
        """This net with its tables if they hold under these rules, else the same net without.

        Raises ConfigError for rules of a game that the net is not for.
        """
        if rules.game != self.net.game:
            raise ConfigError(
                f"net '{self.name}' is for {self.net.game} nardi, not for the rules '{rules}';"
                f" accepted: rules of game={self.net.game}"
            )
        if self.tables is None or fits_rules(rules):
            return self
        if self._without_tables is None:
            self._without_tables = Evaluator(self.net, self.name)
        return self._without_tables

    def evaluations(self) -> int:
        """Positions evaluated so far, also those of `for_rules`."""
        other = self._without_tables
        return self.n_evaluated + (0 if other is None else other.n_evaluated)

    def probabilities(self, boards: ArrayLike) -> FloatArray:
        """`(B, 5)` float32 for `(B, 26)` boards, each for its owner, who is on roll.

        Finished games give their exact outcome. Raises PositionError for wrong shapes and for
        counts that cannot occur, naming the first bad row.
        """
        b = check_boards(boards, self._own_rules)
        probs = np.empty((len(b), 5), dtype=np.float32)
        boards_probs(self.net.playing.contact, self.net.playing.race, b, self._work, probs)
        self.n_evaluated += len(b)
        return probs

    @property
    def _own_rules(self) -> Rules:
        return LONG_NARDI if self.net.is_long else INTERNATIONAL

    def choose(self, boards: ArrayLike, rolls: ArrayLike, rules: Rules | None = None) -> Board:
        """The best afterstate of each position, `(B, 26)` int8, still seen by the mover.

        boards: `(B, 26)`, rolls: `(B, 2)`; rules: by which plays are legal, all of which count wins
        as the game's usual ones do; None = those. Of equal plays the one with more checkers off,
        then the first in lexicographic order.
        """
        rules = rules or self._own_rules
        b, faces = check_batch(boards, rolls, rules)
        out = np.empty_like(b)
        self.n_evaluated += choose_plays(
            self.net.playing.contact,
            self.net.playing.race,
            b,
            faces,
            self._weights,
            play_switches(rules),
            self._work,
            self._scratch,
            out,
        )
        return out

    def choose_at(
        self, boards: ArrayLike, rolls: ArrayLike, situations: "Sequence[Situation]"
    ) -> Board:
        """As `choose`, by cubeful equity; situations: one for each row, seen by the mover.

        Of equal plays the one with the higher cubeless equity, then the first in the order in
        which they are found. Raises ConfigError as `agent.cube_table.cube_table` does.
        """
        from agent.cube_play import grouped
        from agent.cube_values import table_of
        from agent.kernels.cube import new_cube_work
        from agent.kernels.cube_choice import choose_cubeful_plays

        b, faces = check_batch(boards, rolls)
        out = np.empty_like(b)
        for situation, rows in grouped(situations):
            table = table_of(situation)
            self.n_evaluated += choose_cubeful_plays(
                self.net.playing.contact,
                self.net.playing.race,
                b,
                faces,
                rows,
                table,
                new_cube_work(table),  # type: ignore[no-untyped-call]
                self._work,
                out,
            )
        return out

    def rank(
        self, board: ArrayLike, roll: Sequence[int], rules: Rules | None = None
    ) -> tuple[Board, FloatArray, FloatArray, NDArray[np.int64]]:
        """All plays of a roll, best first: afterstates, mover's probabilities and equities, codes.

        Returns `(N, 26)` int8 still seen by the mover, `(N, 5)` and `(N,)` float32 for the mover
        after the play, and `(N,)` int64 codes of `engine.play_codes` (empty for a pass). rules: as
        in `choose`.
        """
        rules = rules or self._own_rules
        b = check_running(board, rules)
        faces = check_roll(roll)
        net = self.net
        rows, probs, codes = find_candidates(
            net.playing.contact,
            net.playing.race,
            self._work,
            self._scratch,
            b,
            faces,
            play_switches(rules),
            self._weights,
        )
        equity = -cubeless_equity(probs, self._third)
        self.n_evaluated += len(rows)
        order = np.lexsort((-borne_off(rows), -equity))
        return rows[order], swap_sides(probs[order]), equity[order], codes[order[codes != 0]]


def load_evaluator(path: Path | None = None, game: Game = "short") -> Evaluator:
    """The net of a file, or the one for this game that ships, with the tables of exact endings.

    Raises CheckpointError, also for a net of the other game.
    """
    from engine.bearoff.tables import load_tables

    name = "net" if path is None else f"net:{path}"
    net = load_net(default_net_path(game) if path is None else path, game)
    return Evaluator(net, name, None if game == "long" else load_tables())
