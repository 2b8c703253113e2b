"""A decision set of our own: positions of self-play, their best plays, equities by rollouts.

Each decision is of another game, by the net against itself; every second one on average begins with
some random plays, so that odd positions occur, too. One turn of the game is picked in which a look
ahead finds two plays or more close to each other; these are rolled out on the same dice, so that
the differences are more precise than the standard errors of the equities.

A set takes hours. What is there is kept after every decision in a file beside the one asked for,
and a later run with the same settings goes on from there and comes to the same set.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from agent.evaluator import Evaluator
from agent.net import ValueNet
from agent.rollout import Roller, RolloutSettings
from agent.search import Searcher
from engine.atomic_file import write_atomically
from engine.bearoff.arrays import BearoffArrays
from engine.bearoff.lookup import covers
from engine.board import NUM_CHECKERS, START, Board, borne_off, flip
from engine.dice import game_generator, roll_dice
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from eval.decision_files import Decision

__all__ = ["RolloutDecisions", "SetSettings", "part_file"]

_KIND: Final = "nardi decisions by rollouts"
_FORMAT: Final = 1
_RANDOM_PLIES: Final = 8
_MOST_PLIES: Final = 1_000  # of a game; nets that know nothing could go on


@dataclass(frozen=True, kw_only=True)
class SetSettings:
    """What decides which decisions a set has. Raises ConfigError for what does not fit."""

    count: int
    seed: int
    plays: int = 4
    """Candidates of a decision, at most; 2 to 5."""
    window: float = 0.12
    """Points per game within which a candidate must be of the best, by the look ahead."""
    look: int = 1
    """Depth of the look ahead that finds them."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError(f"count '{self.count}' of decisions; accepted: from 1 up")
        if not 2 <= self.plays <= 5:
            raise ConfigError(f"plays '{self.plays}' do not fit; accepted: 2 to 5")
        if not 0 < self.window <= 6:
            raise ConfigError(f"window '{self.window}' does not fit; accepted: up to 6 points")


def part_file(path: Path) -> Path:
    """Where an unfinished set is kept."""
    return path.with_name(f"{path.name}.part")


class RolloutDecisions:
    """Makes a set, the same one for the same settings, net and tables."""

    def __init__(
        self,
        net: ValueNet,
        settings: SetSettings,
        rollout: RolloutSettings,
        tables: BearoffArrays | None = None,
        sorter: ValueNet | None = None,
    ) -> None:
        self.settings = settings
        evaluator = Evaluator(net, tables=tables)
        self._searcher = Searcher(evaluator, sorter, threads=rollout.threads)
        self._roller = Roller(net, rollout, tables=tables, sorter=sorter)
        how = {key: value for key, value in asdict(rollout).items() if key != "threads"}
        wanted = {key: value for key, value in asdict(settings).items() if key != "count"}
        self._head = {
            "file": _KIND,
            "format": _FORMAT,
            "net": self._searcher.fingerprint(),
            "exact_endings": tables is not None,
            **wanted,
            "rollout": how,
        }

    def make(
        self, keep: Path | None = None, on_progress: Callable[[int], None] | None = None
    ) -> list[Decision]:
        """All decisions; keep: the file of unfinished ones, which is gone on with if it is there.

        The first ones of a longer set are those of a shorter set. on_progress: told how many there
        are. Raises ConfigError for a file of another set, and OSError.
        """
        records = [] if keep is None else self._read(keep)
        decisions = [_decision(record["decision"]) for record in records]
        seen = {_key(decision.before, decision.dice) for decision in decisions}
        game = records[-1]["game"] + 1 if records else 0
        while len(decisions) < self.settings.count:
            found = self._find(game, seen)
            decision = None if found is None else self._roll_out(*found)
            if decision is not None:
                seen.add(_key(decision.before, decision.dice))
                records.append({"game": game, "decision": decision.document()})
                # As it is in a file, so that it does not matter whether it came from there.
                decisions.append(_decision(records[-1]["decision"]))
                if keep is not None:
                    self._write(keep, records)
            game += 1
            if on_progress is not None:
                on_progress(len(decisions))
        return decisions[: self.settings.count]

    def _find(self, game: int, seen: set[bytes]) -> tuple[Board, tuple[int, int], Board] | None:
        """A turn of a game with its candidates, or None if the game has no fitting one."""
        generator = game_generator(self.settings.seed, game)
        turns = list(self._turns(generator))
        for number in generator.permutation(len(turns)):
            board, dice = turns[number]
            if _key(board, dice) in seen or covers(board[np.newaxis], exactly=True)[0]:
                continue
            if len(legal_afterstates(board, dice)) < 2:
                continue
            settings = self.settings
            ranked = self._searcher.rank(board, dice, settings.look)
            close = [
                play.afterstate
                for play in ranked[: settings.plays]
                if play.ply == ranked[0].ply and play.equity >= ranked[0].equity - settings.window
            ]
            if len(close) > 1:
                # In an order that tells nothing of what they are worth.
                return board, dice, np.unique(np.stack(close), axis=0)
        return None

    def _turns(self, generator: np.random.Generator) -> Iterator[tuple[Board, tuple[int, int]]]:
        """The turns of a game after its random opening, if it has one."""
        n_random = 0
        if generator.random() < 0.5:
            n_random = 1 + int(generator.integers(_RANDOM_PLIES))
        board: Board = START
        for ply in range(_MOST_PLIES):
            rolls = roll_dice(generator)
            while ply == 0 and rolls[0, 0] == rolls[0, 1]:
                rolls = roll_dice(generator)
            dice = int(rolls[0, 0]), int(rolls[0, 1])
            if ply < n_random:
                rows = legal_afterstates(board, dice)
                after = rows[generator.integers(len(rows))]
            else:
                yield board, dice
                after = self._searcher.evaluator.choose(board[np.newaxis], rolls)[0]
            if borne_off(after) == NUM_CHECKERS:
                return
            board = flip(after)

    def _roll_out(self, board: Board, dice: tuple[int, int], afterstates: Board) -> Decision | None:
        """The decision; None if an error cannot be told, or it does not matter what is played."""
        *_, found = self._roller.roll_out(self._roller.plays(afterstates))
        if any(line.suspicious for line in found.lines):
            return None
        if len({line.equity for line in found.lines}) == 1:
            return None
        return Decision(
            before=board,
            dice=dice,
            afterstates=afterstates,
            equities=np.array([line.equity for line in found.lines]),
            stderrs=np.array([line.stderr for line in found.lines]),
            probs=np.stack([line.probs for line in found.lines]).clip(0, 1),
        )

    def _write(self, path: Path, records: list[dict[str, Any]]) -> None:
        lines = [self._head, *records]
        write_atomically(path, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    def _read(self, path: Path) -> list[dict[str, Any]]:
        if not path.exists():
            return []
        try:
            head, *records = (json.loads(line) for line in path.read_text("utf-8").splitlines())
        except ValueError:
            raise ConfigError(
                f"'{path}' is no unfinished set of decisions; it is left as it is"
            ) from None
        if head != json.loads(json.dumps(self._head)):
            raise ConfigError(
                f"'{path}' is an unfinished set with other settings or of another net; remove it or"
                " name another --out; it is left as it is"
            )
        return list(records)


def _key(board: Board, dice: tuple[int, int]) -> bytes:
    return board.tobytes() + bytes(sorted(dice))


def _decision(document: dict[str, Any]) -> Decision:
    """The decision of a line of a file."""
    candidates = document["candidates"]
    die_a, die_b = document["dice"]
    return Decision(
        before=np.array(document["before"], dtype=np.int8),
        dice=(die_a, die_b),
        afterstates=np.array([c["afterstate"] for c in candidates], dtype=np.int8),
        equities=np.array([c["equity"] for c in candidates], dtype=np.float64),
        stderrs=np.array([c["se"] for c in candidates], dtype=np.float64),
        probs=np.array([c["probs"] for c in candidates], dtype=np.float64),
    )
