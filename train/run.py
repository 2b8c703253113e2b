"""A whole run in its folder: trains, checks, saves, stops and goes on.

The folder always holds a state from which the run goes on to the very weights that it would have
had without a stop; what is lost by a crash is the work since the last save, a minute or two of it.
"""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from agent.checkpoint import save_net
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.atomic_file import write_atomically
from engine.errors import CheckpointError
from engine.scoring import has_four_kinds
from train.config import SelfPlayConfig, StageConfig, TrainConfig
from train.config_files import config_text
from train.folder import RunFolder
from train.learner import DivergedError
from train.loop import Trainer
from train.metrics import Metrics
from train.progress import Progress
from train.resume import Check, RunRecord, Score, Snapshot, save_state
from train.stopping import StoppedError

__all__ = ["SAVE_EVERY_S", "Measure", "PlayMatch", "Run", "Watch", "first_net", "warm_up"]

SAVE_EVERY_S: Final = 30.0
"""Seconds of work after which the run is saved, at the end of the round."""

SAVE_SHARE: Final = 0.02
"""Share of the time that saving may take where the window of a generation makes the state large."""

_SALT_NET: Final = 1 << 42  # spawn key of the first weights, beyond those of games and shuffles

PlayMatch = Callable[[ValueNet, str], Score]
"""Plays a net against the bot that a text names; may raise StoppedError when the run is to stop."""
Measure = Callable[[ValueNet], dict[str, float]]
"""Other figures of a net that each check logs, by tags to which "eval/" is added."""


class Watch:
    """Is told how a run goes; this one does nothing with it."""

    def round_done(self, progress: Progress) -> None:
        """A round was learned from."""

    def check_done(self, check: Check, is_best: bool) -> None:
        """The net was checked; is_best: it is the best one so far."""


def first_net(config: TrainConfig) -> ValueNet:
    """The random weights that a run begins with, keyed by its seed."""
    sequence = np.random.SeedSequence(config.seed, spawn_key=(_SALT_NET,))
    generator = np.random.Generator(np.random.PCG64(sequence))
    rules = config.play_rules
    return new_value_net(
        config.net_after(0), generator, rules.game, four_kinds=has_four_kinds(rules)
    )


def warm_up(*, luck_adjusted: bool = True) -> None:
    """Train for a moment and throw it away, so that all compiling is over before a run's clock.

    luck_adjusted: whether what only runs need that take luck out is compiled as well.
    """
    tiny = NetConfig(width=4, hidden=4)
    config = TrainConfig(
        net=ValueNetConfig(contact=tiny),
        selfplay=SelfPlayConfig(games_per_round=1),
        stage=(
            StageConfig(games=2, expected=(0.1, 0.1)),
            *((StageConfig(games=2, luck_adjusted=True, generation=2),) if luck_adjusted else ()),
        ),
    )
    Trainer(config, first_net(config), workers=1).run(lambda progress: True)


class Run:
    """One run in its folder; a new one, or one that goes on (`resume`)."""

    def __init__(
        self,
        folder: RunFolder,
        record: RunRecord,
        net: ValueNet,
        *,
        workers: int,
        play_match: PlayMatch | None = None,
        measure: Measure = lambda net: {},
        watch: Watch | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        log_lengths: dict[str, int] | None = None,
    ) -> None:
        """net: the weights to begin with; workers: threads that play; play_match: None = no checks.

        measure: what else each check logs. should_stop is asked after each round. Raises
        CheckpointError if the folder cannot be written.
        """
        torch.set_num_threads(1)  # more of them would make sums depend on their number
        self.folder = folder
        self.record = record
        self.trainer = Trainer(
            record.config, net, workers=workers, minutes=record.minutes, device=record.device
        )
        self._play_match = play_match
        self._measure = measure
        self.watch = watch or Watch()
        """Is told how it goes."""
        self._should_stop = should_stop
        self._saved_games: int | None = None
        self._last_save = time.monotonic()
        self._save_took = 0.0
        self._metrics = Metrics(folder.metrics, folder.events, log_lengths)

    @classmethod
    def resume(
        cls,
        folder: RunFolder,
        snapshot: Snapshot,
        *,
        config: TrainConfig | None = None,
        minutes: float | None = None,
        **how: Any,
    ) -> "Run":
        """The run of a snapshot, to go on; how: as for a new one.

        config: its settings with more games, minutes: a longer limit; None = as it was. Raises
        CheckpointError if the state does not fit the settings.
        """
        config, limit = config or snapshot.record.config, snapshot.record.minutes
        if limit and minutes is not None and config.stage[-1].generation:
            config = config.longer(round(config.games * minutes / limit))
        record = dataclasses.replace(
            snapshot.record,
            config=config,
            minutes=snapshot.record.minutes if minutes is None else minutes,
            resumed_at=(*snapshot.record.resumed_at, snapshot.state.games),
        )
        run = cls(folder, record, snapshot.previous, log_lengths=snapshot.log_lengths, **how)
        try:
            run.trainer.state = dataclasses.replace(snapshot.state)
            run.trainer.learner.load_state(snapshot.learner)
            run.trainer.begin_beside(len(snapshot.beside))
            for learner, state in zip(run.trainer.beside, snapshot.beside, strict=True):
                learner.load_state(state)
            if run.trainer.sorter is not None:
                if snapshot.sorter is None:
                    raise KeyError("it has no sorter, which the settings ask for")
                run.trainer.sorter.load_state(snapshot.sorter)
        except (KeyError, ValueError) as error:
            run.close()
            raise CheckpointError(f"state '{folder.state}' does not fit its net: {error}") from None
        run.trainer.previous = snapshot.previous
        run.trainer.previous_sorter = snapshot.previous_sorter
        run.trainer.window = list(snapshot.window)
        run._saved_games = snapshot.state.games
        return run

    @property
    def games(self) -> int:
        """Games of self-play learned from so far."""
        return self.trainer.state.games

    def is_over(self) -> bool:
        """Whether nothing is left to do, the last check included."""
        return self.trainer.finished() and not self._lacks_check()

    def run(self) -> bool:
        """Go on to the end, or until `should_stop`; whether the end was reached. Saves at the end.

        Raises DivergedError for the first loss or weight that is not finite, and CheckpointError
        if something cannot be written; the last checkpoint is intact then.
        """
        try:
            write_atomically(self.folder.config, config_text(self.record.config).encode())
        except OSError as error:
            raise CheckpointError(
                f"'{self.folder.config}' cannot be written: {error.strerror}. {self._last_good()}"
            ) from None
        self.save()
        with contextlib.suppress(StoppedError):
            if self._check_is_due():
                self._check()
            if self._train() and self._lacks_check():
                self._check()
        self.save()
        return self.is_over()

    def _train(self) -> bool:
        try:
            return self.trainer.run(self._after_round)
        except DivergedError as error:
            state, learner = self.trainer.state, self.trainer.learner
            steps = ", ".join(f"{part} net {steps:,}" for part, steps in learner.steps.items())
            raise DivergedError(
                f"{error}; that was in round {state.round:,} after {state.games:,} games (seed"
                f" {self.record.config.seed}; minibatch steps: {steps}). {self._last_good()}; or to"
                f" take smaller steps, begin a new run --from {self.folder.last} with a lower"
                " stage.0.rate"
            ) from None

    def _after_round(self, progress: Progress) -> bool:
        values: dict[str, float] = {
            "train/seconds": progress.state.seconds,
            "train/cpu_seconds": progress.state.cpu_seconds,
        }
        if (learned := progress.learned) is not None:
            values["train/loss"] = learned.loss
            values["train/race_loss"] = learned.race_loss
            values["train/rate"] = learned.rate
        if (played := progress.played) is not None:
            values["train/lambda"] = played.lambda_
            values["train/expected"] = played.expected
            values["selfplay/games_per_s"] = played.games_per_s
            values["selfplay/plies_per_game"] = played.plies_per_game
        if progress.cycle is not None:
            values["train/cycle"] = progress.cycle
        self._metrics.write(self.games, values)
        self.watch.round_done(progress)
        if self._should_stop():
            return False
        if self._check_is_due(new_net=progress.cycle is not None):
            self._check()
        if time.monotonic() - self._last_save >= max(SAVE_EVERY_S, self._save_took / SAVE_SHARE):
            self.save()
        return True

    # --- checks ---

    def _lacks_check(self) -> bool:
        checks = self.record.checks
        return self._play_match is not None and (not checks or checks[-1].games < self.games)

    def _check_is_due(self, *, new_net: bool = False) -> bool:
        """new_net: whether a generation is learned from; its settled net is always checked."""
        checks, settings = self.record.checks, self.record.config.checks
        # Of a generation only the net that it settles in is worth a match.
        if not self._lacks_check() or not self.trainer.settled:
            return False
        if new_net:
            return True
        due = max(settings.first_games, checks[-1].games * settings.growth) if checks else 0
        return self.games >= due

    def _check(self) -> None:
        """Play all opponents, measure, keep the net if it is the best, and save."""
        assert self._play_match is not None
        net = self.trainer.net()
        scores = []
        for opponent in self.record.config.checks.opponents:
            if self._should_stop():
                raise StoppedError
            scores.append(self._play_match(net, opponent))
        check = Check(games=self.games, scores=tuple(scores), values=self._measure(net))
        # Of nets that play alike, as far as matches tell, the one that has learned more.
        highest = max((old.scores[-1].ppg for old in self.record.checks), default=-math.inf)
        is_best = scores[-1].ppg > highest - scores[-1].stderr_ppg
        self.record = dataclasses.replace(
            self.record,
            checks=(*self.record.checks, check),
            best=check if is_best else self.record.best,
        )
        values = {}
        for score in scores:
            values[f"eval/{score.opponent}_ppg"] = score.ppg
            values[f"eval/{score.opponent}_stderr_ppg"] = score.stderr_ppg
        values |= {f"eval/{tag}": value for tag, value in check.values.items()}
        self._metrics.write(self.games, values)
        self.save(is_best=is_best)
        self.watch.check_done(check, is_best)

    # --- saving ---

    def save(self, *, is_best: bool = False) -> None:
        """Write the net and the state, and the net once more if it is the best one so far.

        Raises CheckpointError, the old state intact.
        """
        begin = time.monotonic()
        try:
            facts = self._facts()
            net = self.trainer.net(facts)
            save_net(self.folder.last, net)
            if self.trainer.sorter is not None:
                # The matches were the net's; the sorter plays none.
                of_sorter = {name: fact for name, fact in facts.items() if name != "strength"}
                save_net(self.folder.sorter, self.trainer.sorter.averaged(of_sorter))
            if is_best:
                save_net(self.folder.best, net)
            snapshot = Snapshot(
                record=self.record,
                state=self.trainer.state,
                learner=self.trainer.learner.state(),
                previous=self.trainer.previous,
                log_lengths=self._metrics.lengths(),
                sorter=None if self.trainer.sorter is None else self.trainer.sorter.state(),
                previous_sorter=self.trainer.previous_sorter,
                beside=tuple(learner.state() for learner in self.trainer.beside),
                window=tuple(self.trainer.window),
            )
            save_state(self.folder.state, snapshot)
        except CheckpointError as error:
            raise CheckpointError(f"{error}. {self._last_good()}") from None
        self._saved_games = self.games
        self._last_save = time.monotonic()
        self._save_took = self._last_save - begin

    def _last_good(self) -> str:
        if self._saved_games is None:
            return "Nothing was saved before"
        return (
            f"The last good checkpoint, of {self._saved_games:,} games, is intact; go on from it"
            f" with --resume {self.folder.path}"
        )

    def _facts(self) -> dict[str, Any]:
        """What a net's file tells of its origin."""
        state, record = self.trainer.state, self.record
        facts: dict[str, Any] = {
            **record.origin,
            "variant": record.config.play_rules.game,
            "rules": str(record.config.play_rules),
            "train": record.config.as_dict(),
            "games": state.games,
            "positions": state.positions,
            "seconds": round(state.seconds, 1),
            "cpu_seconds": round(state.cpu_seconds, 1),
            "seed": record.config.seed,
        }
        if record.minutes is not None:
            facts["minutes"] = record.minutes
        if record.resumed_at:
            facts["resumed_at"] = record.resumed_at
        if record.checks:
            check = record.checks[-1]
            facts["strength"] = {
                score.opponent: {
                    "ppg": score.ppg,
                    "stderr_ppg": score.stderr_ppg,
                    "games": score.games,
                    "after_games": check.games,
                }
                for score in check.scores
            }
        return facts

    def close(self) -> None:
        """Close the files of metrics and let the folder go. Raises CheckpointError."""
        try:
            self._metrics.close()
        finally:
            self.folder.close()
