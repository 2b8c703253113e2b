"""The schedule of a run: rounds of self-play and of learning, overlapped and reproducible.

Round k is played by the averaged weights after round k - 2, so that its games can be played while
round k - 1 is learned from. Rounds, chunks of games and minibatches are of fixed size and keyed by
number: the weights depend on the settings and the seed, never on threads or on time. Only a limit
in minutes lifts that, since it ties the schedule to the clock.
"""

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.net import ValueNet, new_value_net
from train.config import StageConfig, TrainConfig
from train.learner import Learner
from train.selfplay import Round, RoundPlan, play_round

__all__ = ["Positions", "Progress", "RunState", "Trainer"]

_SALT_SORTER = (1 << 42) + 1  # spawn key of the sorter's first weights
_SALT_ORDER = 1 << 41  # spawn keys of the shuffles, beyond those of games and draws


@dataclass(kw_only=True)
class RunState:
    """How far a run has come; what it has learned is in the learner."""

    round: int = 0
    """Rounds learned from so far."""
    games: int = 0
    """Games learned from so far."""
    positions: int = 0
    seconds: float = 0.0
    """Seconds of training so far, matches and saving not counted, all sessions together."""
    cpu_seconds: float = 0.0
    """The same in seconds of CPU time, all threads together."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What is told after each round."""

    state: RunState
    loss: float
    race_loss: float
    games_per_s: float
    plies_per_game: float
    rate: float
    lambda_: float
    expected: float


class Positions(NamedTuple):
    """Positions of one round with what is to be learned of them."""

    boards: NDArray[np.int8]
    """`(N, 26)`, seen by the side on roll."""
    targets: NDArray[np.float32]
    """`(N, 5)`, for the side on roll."""


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * share


class Trainer:
    """One run, from its first round or from where an earlier session stopped.

    net: the weights to begin with; workers: threads that play; minutes: if given, the stages are
    spread over that time instead of their games.
    """

    def __init__(
        self,
        config: TrainConfig,
        net: ValueNet,
        *,
        workers: int,
        minutes: float | None = None,
        device: str = "cpu",
    ) -> None:
        self.config = config
        self.minutes = minutes
        self.workers = workers
        self.learner = Learner(net, config.learn, device)
        self.state = RunState()
        self.previous = self.learner.averaged()
        """Averaged weights after the last round but one; they play the next round."""
        self.sorter: Learner | None = None
        """Learns the small net that sorts plays, if a stage takes luck out."""
        self.previous_sorter: ValueNet | None = None
        """The sorter that belongs to `previous`."""
        shape = config.selfplay.sorter
        if shape is not None and any(stage.luck_adjusted for stage in config.stage):
            sequence = np.random.SeedSequence(config.seed, spawn_key=(_SALT_SORTER,))
            first = new_value_net(shape, np.random.Generator(np.random.PCG64(sequence)))
            self.sorter = Learner(first, config.learn, device)
            self.previous_sorter = self.sorter.averaged()
        self.window: list[Positions] = []
        """Positions of the latest rounds, those that later rounds learn from again."""

    def stage_at(self, share: float) -> tuple[StageConfig, float]:
        """The stage that a share 0..1 of the run lies in, and how much of that stage is done."""
        # Rounded, since n / games * games may lie just below n, in the stage before.
        done = round(share * self.config.games, 6)
        for stage in self.config.stage:
            if done < stage.games:
                return stage, done / stage.games
            done -= stage.games
        return self.config.stage[-1], 1.0

    def share_done(self, games: int) -> float:
        """Share of the run that is done, by games or, with a limit in minutes, by the clock."""
        if self.minutes is not None:
            return min(self.state.seconds / (60 * self.minutes), 1.0)
        return min(games / self.config.games, 1.0)

    def finished(self) -> bool:
        """Whether the run is at its end."""
        return self.share_done(self.state.games) >= 1

    def _plan(self, first_game: int) -> RoundPlan:
        stage, share = self.stage_at(self.share_done(first_game))
        selfplay = self.config.selfplay
        games = selfplay.games_per_round
        n_games = games
        if self.minutes is None:
            n_games = min(games, self.config.games - first_game)
        return RoundPlan(
            seed=self.config.seed,
            first_game=first_game,
            games=n_games,
            games_per_call=selfplay.games_per_call,
            lambda_=_between(stage.lambda_, share),
            explore=stage.explore,
            random_openings=stage.random_openings,
            random_plies=stage.random_plies,
            expected=_between(stage.expected, share),
            luck_adjusted=stage.luck_adjusted,
            # The round is played by the weights of two rounds before.
            sorter_keep=selfplay.sorter_keep
            if self.sorter is not None and first_game >= selfplay.sorter_games + 2 * games
            else 0,
        )

    def run(self, after_round: Callable[[Progress], bool]) -> bool:
        """Train to the end, or until `after_round` gives False; whether the end was reached.

        after_round is called when the state is consistent, so it may save; it may take its time,
        which is not counted.
        """
        if self.finished():
            return True
        executor = ThreadPoolExecutor(max_workers=self.workers)
        try:
            plan = self._plan(self.state.games)
            chunks = play_round(self.previous, plan, executor, self.previous_sorter)
            current, current_sorter = self.learner.averaged(), self._sorter_net()
            while True:
                started = time.perf_counter(), time.process_time()
                rounds = list(chunks)
                next_game = plan.first_game + plan.games
                next_plan = None
                if self.minutes is not None or next_game < self.config.games:
                    next_plan = self._plan(next_game)
                    chunks = play_round(current, next_plan, executor, current_sorter)
                progress = self._learn(plan, rounds, started)
                self.previous, current = current, self.learner.averaged()
                self.previous_sorter, current_sorter = current_sorter, self._sorter_net()
                if not after_round(progress):
                    return self.finished()
                if self.finished() or next_plan is None:
                    return True
                plan = next_plan
        finally:
            # What is being played for a next round that will not come is given up.
            executor.shutdown(cancel_futures=True)

    def _learn(
        self, plan: RoundPlan, rounds: list[Round], started: tuple[float, float]
    ) -> Progress:
        stage, share = self.stage_at(self.share_done(plan.first_game))
        new = Positions(
            np.concatenate([r.boards for r in rounds]),
            np.concatenate([r.targets for r in rounds]),
        )
        self.window = [*self.window[max(len(self.window) - stage.replay + 1, 0) :], new]
        boards = np.concatenate([part.boards for part in self.window])
        targets = np.concatenate([part.targets for part in self.window])
        sequence = np.random.SeedSequence(
            self.config.seed, spawn_key=(_SALT_ORDER + self.state.round,)
        )
        order = np.random.Generator(np.random.PCG64(sequence)).permutation(len(boards))
        rate = stage.rate[0] * (stage.rate[1] / stage.rate[0]) ** share
        report = self.learner.learn(boards, targets, order, rate)
        self.learner.check_finite()
        if self.sorter is not None:
            self.sorter.learn(boards, targets, order, rate)
            self.sorter.check_finite()
        seconds = time.perf_counter() - started[0]
        self.state.round += 1
        self.state.games += plan.games
        self.state.positions += len(new.boards)
        self.state.seconds += seconds
        self.state.cpu_seconds += time.process_time() - started[1]
        return Progress(
            state=dataclasses.replace(self.state),
            loss=report.loss,
            race_loss=report.race_loss,
            games_per_s=plan.games / seconds,
            plies_per_game=len(new.boards) / plan.games,
            rate=rate,
            lambda_=plan.lambda_,
            expected=plan.expected,
        )

    def _sorter_net(self) -> ValueNet | None:
        return None if self.sorter is None else self.sorter.averaged()

    def net(self, facts: dict[str, Any] | None = None) -> ValueNet:
        """The averaged weights as they are now."""
        return self.learner.averaged(facts)
