"""One interface for every player, and the texts that name them.

A bot is named by `random`, `pip-greedy`, `pubeval`, `net` (the net that nardi brings) or
`net:FILE`. A net may say how many further rolls it looks at, as GNU Backgammon counts them, such as
`net@2`; `@0` is also meant without it. `net@0.5s` looks as far ahead as half a second for each play
allows.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.cube_player import CubePlayer
from engine.board import Board, IntArray
from engine.dice import check_roll
from engine.errors import ConfigError
from engine.moves import Steps, legal_afterstates_batch, legal_plays
from engine.rules import INTERNATIONAL, Rules
from engine.variant import variant_of

if TYPE_CHECKING:
    from agent.evaluator import Evaluator
    from agent.search import Searcher
    from agent.situation import Situation

__all__ = [
    "BOT_TEXTS",
    "BestPlay",
    "Bot",
    "FloatArray",
    "NetBot",
    "SearchBot",
    "always",
    "best_rows",
    "load_bot",
]

FloatArray = NDArray[np.float64]
Probs = NDArray[np.float32]

BOT_TEXTS = ("random", "pip-greedy", "pubeval", "heuristic", "net", "net:FILE")
"""The texts that `load_bot` knows; a net may be followed by its depth, such as `@2`, or by the
time for each play, such as `@0.5s`."""

_MOST_PLIES_IN_TIME = 5


@dataclass(frozen=True, kw_only=True)
class BestPlay:
    """The play that a bot chooses in one position."""

    afterstate: Board
    """`(26,)` int8, seen by the mover."""
    steps: Steps
    """(from, to) pairs in a legal playing order; () for a forced pass."""
    text: str
    """The play as people write it, such as "8/5 6/5"."""


def best_rows(scores: NDArray[Any], offsets: IntArray, *, last: bool = False) -> IntArray:
    """Row of the highest score of each position, the first or last one of equals; `(B,)` int64.

    scores: `(M,)`; position i owns rows offsets[i] to offsets[i + 1], at least one.
    """
    starts = offsets[:-1]
    if len(starts) == 0:
        return starts
    best = np.maximum.reduceat(scores, starts)
    rows = np.flatnonzero(scores == np.repeat(best, np.diff(offsets)))
    if last:
        return rows[np.searchsorted(rows, offsets[1:]) - 1]
    return rows[np.searchsorted(rows, starts)]


def always(rows: IntArray, n_rows: int) -> FloatArray:
    """Shares `(n_rows,)` of plays of which these rows are always taken and the others never."""
    shares = np.zeros(n_rows)
    shares[rows] = 1
    return shares


class Bot(CubePlayer, ABC):
    """A player: gives a play for every position and roll; some give probabilities as well."""

    uses_draws: ClassVar[bool] = False
    """Whether it looks at `draws`; all others play the same whenever they are asked."""
    has_probabilities: ClassVar[bool] = False
    """Whether `probabilities` gives some."""

    def __init__(self, name: str, rules: Rules = INTERNATIONAL) -> None:
        self.name = name
        """The text that names it."""
        self.rules = rules
        """The rules it plays by."""

    @abstractmethod
    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        """The chosen afterstates, `(B, 26)` int8, still seen by the movers.

        boards: `(B, 26)` int8 seen by the movers; rolls: `(B, 2)`; draws: `(B,)` uniform numbers in
        [0, 1), one for each decision, which only a bot with `uses_draws` needs and looks at: what
        is played depends on nothing else, so games may be batched in any way. With no legal play
        the result is the unchanged board. Raises PositionError that names the first bad row.
        """

    def probabilities(self, boards: Board) -> Probs:
        """Cumulative outcome probabilities for the owners, on roll, before the roll.

        boards: `(B, 26)` int8. Returns `(B, 5)` float32: win, win gammon, win backgammon, lose
        gammon, lose backgammon. Raises ConfigError if the bot has none.
        """
        raise ConfigError(
            f"bot '{self.name}' only chooses plays and knows no probabilities; those that do:"
            " net, net:FILE"
        )

    def candidate_shares(self, boards: Board, afterstates: Board, offsets: IntArray) -> FloatArray:
        """How often the bot takes each of some plays where there are no others; `(M,)`.

        boards: `(B, 26)` before the plays, seen by the movers; afterstates: `(M, 26)` still seen by
        them; position i owns rows offsets[i] to offsets[i + 1], at least one, in lexicographic
        order. Shares of a position add up to 1; a bot that does not play by chance takes one play
        always. Taken as legal. Raises ConfigError as `probabilities` does: this method ranks by the
        equity of those; a bot without them has one of its own.
        """
        from agent.ranking import scored

        opp_probs = self.probabilities(variant_of(self.rules).flip(afterstates))
        return always(best_rows(-scored(opp_probs, self.rules)[1], offsets), len(afterstates))

    def decision_shares(
        self, boards: Board, rolls: NDArray[np.int8], afterstates: Board, offsets: IntArray
    ) -> FloatArray:
        """As `candidate_shares`, of plays of these rolls, `(B, 2)`: for who has to know them."""
        return self.candidate_shares(boards, afterstates, offsets)

    def cpu_seconds(self) -> float:
        """CPU time that processes of its own have used so far; this process's time not included."""
        return 0.0

    def evaluations(self) -> int | None:
        """Positions it has evaluated so far, by a net or otherwise; None if it does not count."""
        return None

    def fingerprint(self) -> str:
        """Text that changes when it would play otherwise under the same name; "" = nothing known.

        Games that were played before are only gone on with by a bot with the same fingerprint.
        """
        return ""

    def close(self) -> None:
        """End processes of its own, if it has some; it cannot play after that. May be repeated."""

    def best_play(
        self, board: ArrayLike, roll: Sequence[int], draw: float | None = None
    ) -> BestPlay:
        """The play chosen in one position. draw: for a bot that uses chance, as in `choose`.

        board: `(26,)` integers seen by the mover. Raises PositionError for a board or roll that
        cannot occur and for a finished game.
        """
        from engine.notation import format_play

        faces = check_roll(roll)
        afterstates, plays = legal_plays(board, faces, self.rules)
        before = np.asarray(board, dtype=np.int8)
        draws = None if draw is None else np.array([draw])
        chosen = self.choose(before[np.newaxis], np.array([faces], dtype=np.int8), draws)[0]
        number = int(np.flatnonzero((afterstates == chosen).all(axis=1))[0])
        steps = plays[number]
        return BestPlay(afterstate=chosen, steps=steps, text=format_play(steps, before))


class NetBot(Bot):
    """A net that takes the play with the highest cubeless equity, without looking further."""

    has_probabilities = True

    def __init__(self, name: str, evaluator: "Evaluator", rules: Rules = INTERNATIONAL) -> None:
        from agent.ranking import check_kinds_told, plays_like_international, plays_like_usual

        super().__init__(name, rules)
        check_kinds_told(evaluator.net, rules, name)
        self._evaluator = evaluator.for_rules(rules)
        self._is_international = plays_like_international(rules)
        self._is_usual = plays_like_usual(rules)

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        if self._is_usual:
            return self._evaluator.choose(boards, rolls, self.rules)
        afterstates, offsets = legal_afterstates_batch(boards, rolls, self.rules)
        from agent.ranking import scored

        opp_boards = variant_of(self.rules).flip(afterstates)
        opp_equities = scored(self.probabilities(opp_boards), self.rules)[1]
        chosen: Board = afterstates[best_rows(-opp_equities, offsets)]
        return chosen

    def probabilities(self, boards: Board) -> Probs:
        return self._evaluator.probabilities(boards)

    def choose_at(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: "Sequence[Situation]",
        draws: FloatArray | None = None,
    ) -> Board:
        if not self._is_international:
            return super().choose_at(boards, rolls, situations)
        return self._evaluator.choose_at(boards, rolls, situations)

    def cube_values(self, boards: Board, situations: "Sequence[Situation]") -> FloatArray:
        from agent.cube_play import cube_values

        probs = self.probabilities(boards)
        return cube_values(probs, boards, situations, tables=self._evaluator.tables)

    def evaluations(self) -> int:
        return self._evaluator.evaluations()

    def fingerprint(self) -> str:
        return self._evaluator.net.checksum()


class SearchBot(Bot):
    """A net that looks ahead, to a depth or for a time."""

    has_probabilities = True

    def __init__(
        self,
        name: str,
        searcher: "Searcher",
        ply: int,
        rules: Rules = INTERNATIONAL,
        seconds: float | None = None,
    ) -> None:
        """seconds: time for each play, which then may be looked at as deep as this allows; what is
        played depends on the machine. Values of positions are of depth `ply` all the same."""
        from agent.ranking import check_kinds_told
        from agent.search import check_ply

        super().__init__(name, rules)
        check_kinds_told(searcher.evaluator.net, rules, name)
        self._searcher = searcher
        self._ply = check_ply(ply)
        self._seconds = seconds

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        if self._seconds is None:
            return self._searcher.choose(boards, rolls, self._ply, self.rules)
        return self._choose_singly(boards, rolls, [None] * len(boards))

    def choose_at(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: "Sequence[Situation]",
        draws: FloatArray | None = None,
    ) -> Board:
        return self._choose_singly(boards, rolls, situations)

    def _choose_singly(
        self, boards: Board, rolls: NDArray[np.int8], situations: "Sequence[Situation | None]"
    ) -> Board:
        ply = self._ply if self._seconds is None else _MOST_PLIES_IN_TIME
        chosen = np.empty_like(boards)
        for i, situation in enumerate(situations):
            ranked = self._searcher.rank(
                boards[i],
                rolls[i].tolist(),
                ply,
                self.rules,
                situation=situation,
                seconds=self._seconds,
                to_choose=True,
            )
            chosen[i] = ranked[0].afterstate
        return chosen

    def cube_values(self, boards: Board, situations: "Sequence[Situation]") -> FloatArray:
        from agent.cube_play import action_values

        values = np.empty((len(boards), 5))
        for i, (board, situation) in enumerate(zip(boards, situations, strict=True)):
            found = self._searcher.evaluate(board, self._ply, situation)
            states = found.states[np.newaxis]
            values[i] = action_values(found.table, states, situation)[0]
        return values

    def probabilities(self, boards: Board) -> Probs:
        return self._searcher.probabilities(boards, self._ply, self.rules)

    def evaluations(self) -> int:
        return self._searcher.evaluations()

    def fingerprint(self) -> str:
        seconds = "" if self._seconds is None else f" seconds {self._seconds}"
        return f"{self._searcher.fingerprint()} ply {self._ply}{seconds}"


def load_bot(text: str, rules: Rules = INTERNATIONAL) -> Bot:
    """The bot that a text names, playing by these rules; its `name` is the text.

    Raises ConfigError for an unknown text or a depth that cannot be searched, and what reading the
    net's file raises.
    """
    from agent.baselines import PipGreedyBot, PubevalBot, RandomBot
    from agent.long_heuristic import LongHeuristicBot

    name = text.strip()
    found = re.fullmatch(r"(.*?)(?:@(?:(\d+)|(\d+(?:\.\d+)?)s))?", name, re.DOTALL | re.ASCII)
    assert found is not None
    kind, depth = found[1], int(found[2] or 0)
    seconds = None if found[3] is None else float(found[3])
    baselines: dict[str, Callable[[str, Rules], Bot]] = {
        "random": RandomBot,
        "pip-greedy": PipGreedyBot,
        "pubeval": PubevalBot,
        "heuristic": LongHeuristicBot,
    }
    is_net = kind == "net" or (kind.startswith("net:") and kind != "net:")
    if kind not in baselines and not is_net:
        raise ConfigError(
            f"unknown bot '{text}'; known: {', '.join(BOT_TEXTS)}, the nets with an optional depth"
            " such as net@2 or time such as net@0.5s"
        )
    if kind in baselines:
        if depth > 0 or seconds is not None:
            raise ConfigError(f"bot '{text}': {kind} cannot look ahead; accepted: {kind}")
        return baselines[kind](name, rules)
    path = Path(kind.removeprefix("net:")) if kind.startswith("net:") else None
    from agent.evaluator import load_evaluator

    evaluator = load_evaluator(path, rules.game)
    if depth == 0 and seconds is None:
        return NetBot(name, evaluator, rules)
    if seconds == 0:
        raise ConfigError(f"bot '{text}' has no time; accepted: more than 0 seconds")
    from agent.checkpoint import sorter_for
    from agent.search import Searcher

    searcher = Searcher(evaluator, sorter_for(evaluator.net))
    if seconds is not None:
        searcher.warm_up()
        return SearchBot(name, searcher, 1, rules, seconds)
    return SearchBot(name, searcher, depth, rules)
