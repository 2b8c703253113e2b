"""What `nardi train` shows: progress on stderr while it runs, and the verdict at the end."""

import dataclasses
import math
import sys
import textwrap
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from train.run import Watch

if TYPE_CHECKING:
    from train.config import TrainConfig
    from train.progress import Progress, RunState
    from train.resume import Check, Score
    from train.run import Run

__all__ = ["TrainView", "verdict_document", "verdict_text"]

_WIDTH: Final = 80
_LINE_EVERY_S: Final = 5.0
_RECENT_ROUNDS: Final = 20
_SURE: Final = 3.0  # standard errors that a score must have risen by to be called learning

# What a score against pubeval means; gnubg's is published with its 0-ply at +0.64.
_PUBEVAL: Final = "pubeval, a simple program that is the usual yardstick"
_LEVELS: Final = (
    (-1.0, f"plays like a beginner: it loses clearly to {_PUBEVAL}"),
    (-0.1, f"knows the basics, but is weaker than {_PUBEVAL}"),
    (0.1, f"is about as strong as {_PUBEVAL}: a casual player"),
    (0.35, f"is stronger than {_PUBEVAL}: a fair player"),
    (0.55, f"is much stronger than {_PUBEVAL}: a good player"),
    (
        math.inf,
        f"is far stronger than {_PUBEVAL}; GNU Backgammon without look-ahead scores +0.64 there",
    ),
)


def _score(score: "Score") -> str:
    return f"{score.opponent} {_with_error(score.ppg, score.stderr_ppg)}"


def _with_error(mean: float, stderr: float) -> str:
    return f"{mean:+.3f} ± {stderr:.3f}"


def _pr(check: "Check") -> str:
    """The error rating by a yardstick, "" if there is none."""
    if "yardstick_pr" not in check.values:
        return ""
    return f"{check.values['yardstick_pr']:.2f} ± {check.values['yardstick_stderr_pr']:.2f}"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class TrainView(Watch):
    """A bar on a terminal, flushed lines every few seconds elsewhere."""

    def __init__(
        self, config: "TrainConfig", minutes: float | None, state: "RunState", last: "Check | None"
    ) -> None:
        """state: where the session begins; last: the last check before it."""
        self._config = config
        self._minutes = minutes
        # The first games of random nets are long, so the speed is that of the last rounds only.
        self._recent = deque([(state.games, state.seconds)], maxlen=_RECENT_ROUNDS)
        self._last_line = time.monotonic()
        self._last_score = "" if last is None else _score(last.scores[-1])
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            by_games = minutes is None
            self._bar = tqdm(
                total=config.games if by_games else round(60 * (minutes or 0)),
                initial=state.games if by_games else round(state.seconds),
                unit=" games" if by_games else " s",
                file=sys.stderr,
                leave=False,
                dynamic_ncols=True,
            )

    def say(self, text: str) -> None:
        """A line that stays."""
        line = f"nardi train: {text}"
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)
        self._last_line = time.monotonic()

    def _say_if_quiet(self, text: str) -> None:
        if time.monotonic() - self._last_line >= _LINE_EVERY_S:
            self.say(text)

    def round_done(self, progress: "Progress") -> None:
        state = progress.state
        loss = "" if progress.learned is None else f"loss {progress.learned.loss:.3f}"
        if progress.cycle is not None and progress.played is None:
            loss = f"learning from them {progress.cycle:.0%}, {loss}"
        if self._bar is not None:
            done = state.games if self._minutes is None else int(state.seconds)
            games = [] if self._minutes is None else [f"{state.games:,} games"]
            note = [*games, loss, self._last_score]
            self._bar.set_postfix_str(", ".join(part for part in note if part), refresh=False)
            self._bar.update(min(done, self._bar.total) - self._bar.n)
            return
        games_before, seconds_before = self._recent[0]
        rate = (state.games - games_before) / (state.seconds - seconds_before)
        self._recent.append((state.games, state.seconds))
        if self._minutes is None:
            total = self._config.games
            games = [f"{state.games:,} of {total:,} games"]
            left = max(total - state.games, 0) / rate if rate else math.inf
        else:
            games = [f"{state.games:,} games"]
            left = max(60 * self._minutes - state.seconds, 0)
        if progress.cycle is None or progress.played is not None:
            games.append(f"{rate:,.0f} games/s")
        parts = [*games, loss, self._last_score]
        if math.isfinite(left):
            parts.append(f"{_span(left)} left")
        self._say_if_quiet(", ".join(part for part in parts if part))

    def match_going(self, opponent: str, done: int, total: int) -> None:
        """A match is being played."""
        text = f"match against {opponent}: {done:,} of {total:,} games"
        if self._bar is not None:
            self._bar.set_postfix_str(text)
        else:
            self._say_if_quiet(text)

    def check_done(self, check: "Check", is_best: bool) -> None:
        self._last_score = _score(check.scores[-1])
        scores = ", ".join(_score(score) for score in check.scores)
        best = " (best so far)" if is_best and check.games else ""
        pr = _pr(check)
        yardstick = f", PR {pr}" if pr else ""
        self.say(f"after {check.games:,} games: {scores} ppg{yardstick}{best}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _gains(checks: "tuple[Check, ...]") -> dict[str, tuple[float, float]]:
    """How much the score against each opponent rose from the first to the last check, ± s.e."""
    first = {score.opponent: score for score in checks[0].scores}
    return {
        end.opponent: (
            end.ppg - first[end.opponent].ppg,
            math.hypot(end.stderr_ppg, first[end.opponent].stderr_ppg),
        )
        for end in checks[-1].scores
        if end.opponent in first
    }


def _has_learned(checks: "tuple[Check, ...]") -> bool | None:
    """Whether some score rose beyond doubt and none fell so; None if that was not measured."""
    if len(checks) < 2:
        return None
    gains = _gains(checks).values()
    rose = any(gain > _SURE * stderr for gain, stderr in gains)
    return rose and not any(gain < -_SURE * stderr for gain, stderr in gains)


def verdict_document(run: "Run", over: bool) -> dict[str, Any]:
    """The JSON of a run; documented in docs/training.md. over: whether it reached its end."""
    record, state = run.record, run.trainer.state
    return {
        "run": str(run.folder.path),
        "net": str(run.folder.last),
        "best": None if record.best is None else str(run.folder.best),
        "best_games": None if record.best is None else record.best.games,
        "finished": over,
        "games": state.games,
        "positions": state.positions,
        "seconds": state.seconds,
        "seed": record.config.seed,
        "learned": _has_learned(record.checks),
        "checks": [dataclasses.asdict(check) for check in record.checks],
    }


def verdict_text(run: "Run", over: bool) -> str:
    """The same for people: whether it learned, how strong the net is, and what to do with it."""
    from engine.rules import INTERNATIONAL, LONG_NARDI

    record, state, folder = run.record, run.trainer.state, run.folder
    rate = f" ({state.games / state.seconds:,.0f} games/s)" if state.seconds else ""
    head = "Trained" if over else "Stopped"
    lines = [
        f"{head} after {state.games:,} games and {_span(state.seconds)} of training{rate},"
        f" seed {record.config.seed}."
    ]
    if record.checks:
        lines += ["", *_table(record.checks), "", *_judgement(record.checks)]
    net = folder.last if record.best is None else folder.best
    lines += ["", f"newest net:  {folder.last}"]
    if record.best is not None:
        lines.append(f"best net:    {folder.best} (after {record.best.games:,} games)")
    more = ""
    if over:
        # Generations are long: five more, not all games again.
        added = 5 * record.config.stage[-1].generation or state.games
        more = (
            f" --games {state.games + added}"
            if record.minutes is None
            else f" --minutes {2 * record.minutes:g}"
        )
    yardstick = record.config.checks.opponents[-1]
    rules = record.config.play_rules
    usual = LONG_NARDI if rules.game == "long" else INTERNATIONAL
    game = " --game long" if rules.game == "long" else ""
    if rules != usual:  # a net may be of use under the rules alone that it has learned
        game += f" --rules {rules}"
    lines += [
        f"use it:      nardi best-move start{game} --dice 31 --net {net}",
        f"measure it:  nardi benchmark net:{net} {yardstick}{game}",
        f"{'train more' if over else 'go on'}:{'  ' if over else '       '}"
        f"nardi train --resume {folder.path}{more}",
    ]
    return "\n".join(lines)


def _table(checks: "tuple[Check, ...]") -> list[str]:
    first, last = checks[0], checks[-1]
    by_name = {score.opponent: score for score in first.scores}
    title = "points per game against"
    width = max(len(title), *(len(score.opponent) for score in last.scores))
    only = len(checks) == 1
    header = f"after {first.games:,} games" if first.games else "at the start"
    rows = [f"{title:<{width}}{header:>20}{'' if only else f'after {last.games:,} games':>24}"]
    for score in last.scores:
        start = by_name.get(score.opponent)
        begin = "" if start is None else _with_error(start.ppg, start.stderr_ppg)
        end = "" if only else f"{_with_error(score.ppg, score.stderr_ppg):>24}"
        rows.append(f"{score.opponent:<{width}}{begin:>20}{end}")
    begin, end = _pr(first), "" if only else f"{_pr(last):>24}"
    if _pr(last):
        rows.append(f"{'PR, lower is better':<{width}}{begin:>20}{end}")
    return rows


def _judgement(checks: "tuple[Check, ...]") -> list[str]:
    lines = []
    learned = _has_learned(checks)
    if learned is not None:
        gains = ", ".join(
            f"{_with_error(*gain)} against {opponent}" for opponent, gain in _gains(checks).items()
        )
        words = {
            True: "It learned: its scores changed by",
            False: "That it learned is not shown: its scores changed by",
        }[learned]
        lines += textwrap.wrap(f"{words} {gains}.", _WIDTH)
    last = {score.opponent: score for score in checks[-1].scores}
    said = []
    if (score := last.get("random")) is not None:
        if score.ppg > 2 * score.stderr_ppg:
            said.append("beats random play")
        else:
            said.append("does not beat random play yet")
    if (score := last.get("pubeval")) is not None:
        said.append(next(words for most, words in _LEVELS if score.ppg < most))
    if (score := last.get("heuristic")) is not None:
        beats = "beats" if score.ppg > 2 * score.stderr_ppg else "does not yet beat"
        said.append(f"{beats} heuristic, a player by rules of thumb")
    if said:
        lines += textwrap.wrap(f"The net {' and '.join(said)}.", _WIDTH)
    return lines
