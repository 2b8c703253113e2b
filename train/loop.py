"""The schedule of a run: what is played and learned from, the same for any number of threads.

There are two kinds of stages. *Rounds*: round k is played by the averaged weights after round
k - 2, so that its games can be played while round k - 1 is learned from. *Generations*: one settled
net plays many games; then they are learned from several times, slice by slice, in a cycle of steps
from large to small that ends in the settled net of the next generation.

Rounds, slices, chunks of games and minibatches are of fixed size and keyed by number: the weights
depend on the settings and the seed, never on threads or on time. Only a limit in minutes lifts
that, since it ties the schedule to the clock.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agent.checkpoint import load_sorter
from agent.net import ValueNet, ValueNetConfig, new_value_net
from engine.errors import ConfigError
from engine.scoring import has_four_kinds
from train.beside import learn_together, one_net
from train.config import StageConfig, TrainConfig
from train.learner import Learner
from train.progress import Learned, Played, Positions, Progress, RunState
from train.selfplay import Round, RoundPlan, play_round

__all__ = ["Trainer"]

_SALT_SORTER = (1 << 42) + 1  # spawn key of the sorter's first weights
_SALT_FRESH = (1 << 42) + 2  # spawn keys of weights that a stage begins with
_SALT_BESIDE = (1 << 42) + 3  # spawn keys of weights that learn beside the settled net
_SALT_ORDER = 1 << 41  # spawn keys of the shuffles, beyond those of games and draws
_SLICE = 65_536  # positions of a generation learned from between two moments that may be saved
# Of the sorter in generations, whatever the net's: with small steps or few of them a new one names
# plays hardly better than by chance, and every backup is of a bad play.
_SORTER_RATE: Final = (3e-3, 1e-5)
_SORTER_BATCH: Final = 512
_WARM_UP = 0.025  # share of a generation's cycle in which its steps grow to their full size


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * share


def _cycle_rate(ends: tuple[float, float], share: float) -> float:
    """Step in a generation's cycle: it grows over `_WARM_UP` and falls from end to end."""
    return float(min(share / _WARM_UP, 1.0) * ends[0] * (ends[1] / ends[0]) ** share)


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
        self.device = device
        self.sorter: Learner | None = None
        """Learns the small net that sorts plays, if a stage takes luck out."""
        self.previous_sorter: ValueNet | None = None
        """The sorter that belongs to `previous`."""
        shape = config.selfplay.sorter
        if shape is not None and any(stage.luck_adjusted for stage in config.stage):
            ready = config.selfplay.sorter_ready
            first = self._ready_sorter(shape) if ready else self._new_net(shape, _SALT_SORTER)
            self.state.sorter_games = max(config.selfplay.sorter_games, 1) if ready else 0
            self.sorter = Learner(first, config.learn, device)
            self.previous_sorter = self.sorter.averaged()
        self.beside: list[Learner] = []
        """Those that learn beside `learner` and will be made one with it."""
        self.window: list[Positions] = []
        """Positions of the latest rounds, those that later rounds learn from again."""

    def stage_at(self, share: float) -> tuple[StageConfig, float]:
        """The stage that a share 0..1 of the run lies in, and how much of that stage is done."""
        number, done = self._place(share)
        return self.config.stage[number], done

    def _place(self, share: float) -> tuple[int, float]:
        """The same with the stage's number."""
        # Rounded, since n / games * games may lie just below n, in the stage before.
        done = round(share * self.config.games, 6)
        for number, stage in enumerate(self.config.stage):
            if done < stage.games:
                return number, done / stage.games
            done -= stage.games
        return len(self.config.stage) - 1, 1.0

    def share_done(self, games: int) -> float:
        """Share of the run that is done, by games or, with a limit in minutes, by the clock."""
        if self.minutes is not None:
            return min(self.state.seconds / (60 * self.minutes), 1.0)
        return min(games / self.config.games, 1.0)

    def finished(self) -> bool:
        """Whether the run is at its end."""
        return self.share_done(self.state.games) >= 1 and self.settled

    @property
    def settled(self) -> bool:
        """Whether no generation is under way, so that the net is one that would play."""
        return self.state.generation_end == 0

    def _set_learning(self, stage: StageConfig) -> None:
        """Let the learners take a stage's minibatches and averages."""
        config = self.config.learn
        if stage.batch is not None:
            config = dataclasses.replace(config, batch=stage.batch)
        if stage.race_batch is not None:
            config = dataclasses.replace(config, race_batch=stage.race_batch)
        if stage.average is not None:
            config = dataclasses.replace(config, average=stage.average)
        for learner in (self.learner, self.sorter, *self.beside):
            if learner is not None:
                learner.config = config

    def _plan(self, first_game: int) -> RoundPlan:
        number, share = self._place(self.share_done(first_game))
        selfplay = self.config.selfplay
        games = selfplay.games_per_round
        n_games = games
        if not self.settled:
            number = self.state.generation_stage
            n_games = min(games, self.state.generation_end - first_game)
        elif self.minutes is None:
            n_games = min(games, self.config.games - first_game)
        stage = self.config.stage[number]
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
            loss_scale=math.inf if stage.explore_loss is None else stage.explore_loss,
            drawn_starts=stage.drawn_starts,
            races=stage.races,
            race_lambda=stage.race_lambda,
            drawn_lambda=stage.drawn_lambda,
            drawn_weight=stage.drawn_weight,
            rules=self.config.play_rules,
            luck_adjusted=stage.luck_adjusted,
            # The round is played by the weights of two rounds before.
            sorter_keep=selfplay.sorter_keep if self._sorts(first_game) else 0,
        )

    def _sorter_learns_rounds(self) -> bool:
        """Whether rounds need a sorter; generations teach their own."""
        return any(stage.luck_adjusted and not stage.generation for stage in self.config.stage)

    def _sorts(self, first_game: int) -> bool:
        """Whether the sorter has learned enough when this game is played."""
        if self.sorter is None:
            return False
        settings = self.config.selfplay
        if not self.settled:
            return self.state.sorter_games >= settings.sorter_games
        # The weights that play are two rounds old.
        least = settings.sorter_games + 2 * settings.games_per_round
        return self._sorter_learns_rounds() and (settings.sorter_ready or first_game >= least)

    def run(self, after_round: Callable[[Progress], bool]) -> bool:
        """Train to the end, or until `after_round` gives False; whether the end was reached.

        after_round is called when the state is consistent, so it may save; it may take its time,
        which is not counted.
        """
        executor = ThreadPoolExecutor(max_workers=self.workers)
        try:
            while not self.finished():
                if self._in_generations(self.state.games):
                    going = self._run_generation(executor, after_round)
                else:
                    going = self._run_rounds(executor, after_round)
                if not going:
                    return self.finished()
            return True
        finally:
            # What is being played for a next round that will not come is given up.
            executor.shutdown(cancel_futures=True)

    def _in_generations(self, games: int) -> bool:
        if not self.settled:
            return True
        stage, _ = self.stage_at(self.share_done(games))
        return stage.generation > 0

    # --- rounds ---

    def _run_rounds(
        self, executor: ThreadPoolExecutor, after_round: Callable[[Progress], bool]
    ) -> bool:
        """Rounds to the end of the run or to a stage of generations; False if told to stop."""
        plan = self._plan(self.state.games)
        chunks = play_round(self.previous, plan, executor, self.previous_sorter)
        current, current_sorter = self.learner.averaged(), self._sorter_net()
        while True:
            clock = _Clock()
            rounds = list(chunks)
            next_game = plan.first_game + plan.games
            next_plan = None
            is_last = self.minutes is None and next_game >= self.config.games
            if not is_last and not self._in_generations(next_game):
                next_plan = self._plan(next_game)
                chunks = play_round(current, next_plan, executor, current_sorter)
            progress = self._learn_round(plan, rounds, clock)
            self.previous, current = current, self.learner.averaged()
            self.previous_sorter, current_sorter = current_sorter, self._sorter_net()
            if not after_round(progress):
                return False
            if self.finished() or next_plan is None:
                return True
            plan = next_plan

    def _learn_round(self, plan: RoundPlan, rounds: list[Round], clock: "_Clock") -> Progress:
        stage, share = self.stage_at(self.share_done(plan.first_game))
        new = Positions.joined(rounds)
        self.window = [*self._kept(self.window, stage), new]
        boards, targets, weights = Positions.joined(self.window)
        order = self._shuffled(len(boards), self.state.round)
        rate = stage.rate[0] * (stage.rate[1] / stage.rate[0]) ** share
        self._set_learning(stage)
        report = self.learner.learn(boards, targets, order, rate, weights=weights)
        self.learner.check_finite()
        if self.sorter is not None and self._sorter_learns_rounds():
            self.sorter.learn(boards, targets, order, rate)
            self.sorter.check_finite()
            self.state.sorter_games += plan.games
        seconds = clock.add_to(self.state)
        self.state.round += 1
        self.state.games += plan.games
        self.state.positions += len(new.boards)
        return Progress(
            state=dataclasses.replace(self.state),
            learned=Learned(loss=report.loss, race_loss=report.race_loss, rate=rate),
            played=_played(plan, new, seconds),
        )

    @staticmethod
    def _kept(parts: list[Positions], stage: StageConfig) -> list[Positions]:
        """Those that are learned from again beside the next part."""
        return parts[max(len(parts) - stage.replay + 1, 0) :]

    def _shuffled(self, n: int, *key: int) -> NDArray[np.int64]:
        first, *rest = key
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=(_SALT_ORDER + first, *rest))
        return np.random.Generator(np.random.PCG64(sequence)).permutation(n)

    # --- generations ---

    def _run_generation(
        self, executor: ThreadPoolExecutor, after_round: Callable[[Progress], bool]
    ) -> bool:
        """Play and learn from the generation under way or a new one; False if told to stop."""
        state = self.state
        if self.settled:
            state.generation_stage, _ = self._place(self.share_done(state.games))
            stage = self.config.stage[state.generation_stage]
            state.generation_end = state.games + stage.generation
            if self.minutes is None:
                end = sum(part.games for part in self.config.stage[: state.generation_stage + 1])
                state.generation_end = min(state.generation_end, end)
        stage = self.config.stage[state.generation_stage]
        if state.games < state.generation_end:
            if not self._play_generation(executor, after_round):
                return False
            if self.settled:
                return True
        window = self.window[-stage.replay :]
        positions = Positions.joined(window)
        size = len(positions.boards)
        total = stage.passes * len(window[-1].boards)
        order, shuffled = np.empty(0, dtype=np.int64), -1
        while not self.settled:
            clock = _Clock()
            number, first = divmod(state.learned, size)
            if number != shuffled:
                order, shuffled = self._shuffled(size, state.generation_end, number), number
            rows = order[first : min(first + _SLICE, first + total - state.learned)]
            progress = self._learn_slice(stage, positions.taken(rows), total, clock)
            if not after_round(progress):
                return False
        return True

    def _play_generation(
        self, executor: ThreadPoolExecutor, after_round: Callable[[Progress], bool]
    ) -> bool:
        """Play the rest of a generation, or drop it if time is over; False if told to stop."""
        state = self.state
        # From half the memory, which is what a large net waits for.
        player, sorter = self.learner.averaged().in_half(), self._sorter_net()
        plan = self._plan(state.games)
        chunks = play_round(player, plan, executor, sorter)
        while True:
            clock = _Clock()
            next_game = plan.first_game + plan.games
            is_last = next_game >= state.generation_end
            next_plan, next_chunks = plan, chunks
            if not is_last:
                # Asked for before this round is over, so that no thread waits for its last games.
                next_plan = self._plan(next_game)
                next_chunks = play_round(player, next_plan, executor, sorter)
            new = Positions.joined(list(chunks))
            seconds = clock.add_to(state)
            self.window.append(new)
            state.played_rounds += 1
            state.round += 1
            state.games += plan.games
            state.positions += len(new.boards)
            is_over = not is_last and self.share_done(state.games) >= 1
            if is_over:
                del self.window[-state.played_rounds :]
                state.played_rounds = state.generation_end = 0
            elif is_last:
                self._begin_cycle()
            progress = Progress(
                state=dataclasses.replace(state), played=_played(plan, new, seconds)
            )
            if not after_round(progress):
                return False
            if is_last or is_over:
                return True
            plan, chunks = next_plan, next_chunks

    def _begin_cycle(self) -> None:
        """Join the rounds of a generation, and begin to learn from it with Adam's moments anew."""
        state = self.state
        parts = self.window[-state.played_rounds :]
        whole = Positions.joined(parts)
        stage = self.config.stage[state.generation_stage]
        older = self.window[: -state.played_rounds]
        self.window = [*self._kept(older, stage), whole]
        state.played_rounds = state.learned = 0
        if stage.fresh and state.fresh_stages <= state.generation_stage:
            state.fresh_stages = state.generation_stage + 1
            settings = self.config
            fresh = self._new_net(settings.net, _SALT_FRESH, state.fresh_stages)
            settled = self.learner.averaged()
            if fresh.config.race == settled.config.race:
                # Generations hold few races, and what is known of them holds for any contact net.
                fresh = dataclasses.replace(fresh, race=settled.race)
            self.learner = Learner(fresh, settings.learn, self.device)
            self.previous = self.learner.averaged()
        else:
            self.learner.restart()
        if stage.beside and state.beside_stages <= state.generation_stage:
            self.begin_beside(stage.beside)
        shape = self.config.selfplay.sorter
        if self.sorter is not None and shape is not None:
            if stage.fresh and state.sorter_games == 0:
                first = self._new_net(shape, _SALT_SORTER, state.fresh_stages)
                self.sorter = Learner(first, self.config.learn, self.device)
            else:
                self.sorter.restart()

    def begin_beside(self, count: int) -> None:
        """New nets that learn beside the settled one, in the stage of the generation under way."""
        stage = self.state.generation_stage
        self.beside = [
            Learner(
                self._new_net(self.config.group_net, _SALT_BESIDE, stage, number),
                self.config.learn,
                self.device,
            )
            for number in range(count)
        ]

    def _join_beside(self) -> None:
        """Make the settled net and those beside it one, if there are any."""
        if not self.beside:
            return
        net = one_net(self.learner, self.beside)
        self.beside = []
        self.state.beside_stages = self.state.generation_stage + 1
        self.learner = Learner(net, self.config.learn, self.device)

    def _learn_slice(
        self,
        stage: StageConfig,
        positions: Positions,
        total: int,
        clock: "_Clock",
    ) -> Progress:
        state = self.state
        boards, targets, _ = positions
        order = np.arange(len(boards))
        # The middle of the slice, so that the first steps are not of size 0.
        share = (state.learned + len(boards) / 2) / total
        rate = _cycle_rate(stage.rate, share)
        self._set_learning(stage)
        report = learn_together(
            self.learner, self.beside, positions, order, rate, workers=self.workers
        )
        self.learner.check_finite()
        # The sorter is small; its cycle is the first pass.
        if self.sorter is not None and share * stage.passes < 1:
            self.sorter.config = dataclasses.replace(self.sorter.config, batch=_SORTER_BATCH)
            rate_there = _cycle_rate(_SORTER_RATE, share * stage.passes)
            self.sorter.learn(boards, targets, order, rate_there)
            self.sorter.check_finite()
            state.sorter_games += round(len(boards) / state.positions * state.games)
        clock.add_to(state)
        state.round += 1
        state.learned += len(boards)
        cycle = state.learned / total
        if state.learned >= total:
            self._join_beside()
            state.generation_end = state.learned = 0
            self.previous, self.previous_sorter = self.learner.averaged(), self._sorter_net()
            self.window = self._kept(self.window, stage)
        return Progress(
            state=dataclasses.replace(state),
            learned=Learned(loss=report.loss, race_loss=report.race_loss, rate=rate),
            cycle=cycle,
        )

    # --- nets ---

    def _new_net(self, shape: ValueNetConfig, *key: int) -> ValueNet:
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=key)
        generator = np.random.Generator(np.random.PCG64(sequence))
        rules = self.config.play_rules
        return new_value_net(shape, generator, rules.game, four_kinds=has_four_kinds(rules))

    def _ready_sorter(self, shape: ValueNetConfig) -> ValueNet:
        """The small net that comes with nardi. Raises ConfigError if it does not fit."""
        rules = self.config.play_rules
        net = load_sorter(rules.game)
        if net is None or net.config != shape:
            raise ConfigError(
                "selfplay.sorter_ready: the small net that comes with nardi is of short nardi and"
                " has 32 units (selfplay.sorter_width=32); otherwise false fits"
            )
        return dataclasses.replace(net, four_kinds=has_four_kinds(rules))

    def _sorter_net(self) -> ValueNet | None:
        return None if self.sorter is None else self.sorter.averaged()

    def net(self, facts: dict[str, Any] | None = None) -> ValueNet:
        """The averaged weights as they are now."""
        return self.learner.averaged(facts)


class _Clock:
    """Time since it was made, on the wall and of all threads."""

    def __init__(self) -> None:
        self._begin = time.perf_counter(), time.process_time()

    def add_to(self, state: RunState) -> float:
        """Count the time in a run's state; gives the seconds."""
        seconds = time.perf_counter() - self._begin[0]
        state.seconds += seconds
        state.cpu_seconds += time.process_time() - self._begin[1]
        return seconds


def _played(plan: RoundPlan, new: Positions, seconds: float) -> Played:
    return Played(
        games_per_s=plan.games / seconds,
        plies_per_game=len(new.boards) / plan.games,
        lambda_=plan.lambda_,
        expected=plan.expected,
    )
