"""The page of one run or several: their learning curves drawn together, and how they differ."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from eval.curves import AXES, Curves, Figure, FloatArray, Moment
from eval.report.drawing import Z95, drawing, legend_text, new_figure, series_color, svg, zero_line
from eval.report.page import Html, facts, figure, note, page, section, table
from eval.report.texts import count, with_error

__all__ = ["Bin", "best", "labels", "runs_page", "thinned"]

_LATE: Final = 0.1  # share of the longest course from which the panel of the late part begins
_MOST_BINS: Final = 100
_UNITS: Final = {
    "games": "games of self-play",
    "minutes": "minutes of training",
    "cpu-minutes": "CPU-minutes of training",
    "positions": "positions learned from",
}
_BANDS: Final = "Bands are 95 % intervals, 1.96 standard errors to both sides"
_Course = Sequence[tuple[Moment, Figure]]


class Bin(NamedTuple):
    """Some rounds in a row, put together."""

    moment: Moment
    """After the last one of them."""
    loss: float
    """Mean over the rounds that have one; nan if none has."""
    race_loss: float
    games_per_s: float
    """Games of the bin over their time; nan if that was none."""


def labels(paths: Sequence[Path]) -> list[str]:
    """Short names of runs: the ends of their paths, as long as it takes to tell them apart."""
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    found = []
    for i, mine in enumerate(parts):
        others = [other for k, other in enumerate(parts) if k != i and other != mine]
        length = 1
        while length < len(mine) and any(other[-length:] == mine[-length:] for other in others):
            length += 1
        found.append("/".join(mine[-length:]) or str(paths[i]))
    return found


def best(course: _Course, *, lowest: bool = False) -> tuple[Moment, Figure] | None:
    """The check with the best value that is known; of equals the first. None if there is none."""
    known = [each for each in course if not math.isnan(each[1].mean)]
    if not known:
        return None
    return (min if lowest else max)(known, key=lambda each: each[1].mean)


def thinned(curves: Curves, most: int = _MOST_BINS) -> list[Bin]:
    """The rounds in at most so many bins of like numbers of rounds."""
    bins = []
    before = Moment(0, 0.0, 0.0, 0.0)
    rows = np.array_split(np.arange(len(curves.moments)), min(most, len(curves.moments)) or 1)
    for some in rows:
        if len(some) == 0:
            continue
        moment = curves.moments[int(some[-1])]
        seconds = moment.seconds - before.seconds
        speed = (moment.games - before.games) / seconds if seconds > 0 else math.nan
        bins.append(Bin(moment, _mean(curves.loss[some]), _mean(curves.race_loss[some]), speed))
        before = moment
    return bins


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def runs_page(
    runs: Mapping[str, Curves], axes: Sequence[str], made_by: Sequence[tuple[str, str]]
) -> str:
    """The page. runs: by label; axes: some of `AXES`; made_by: facts about the report itself.

    Raises NoPlotsError without matplotlib.
    """
    opponents = list(dict.fromkeys(name for run in runs.values() for name in run.opponents()))
    parts = [section("Where they are" if len(runs) > 1 else "Where it is", _overview(runs))]
    axes = [axis for axis in axes if _has_axis(runs, axis)]
    for number, opponent in enumerate(reversed(opponents)):
        courses = {label: run.course(opponent) for label, run in runs.items()}
        parts.append(_course_section(f"ppg{number}", f"Score against {opponent}", courses, axes))
    pr = {label: run.pr_course() for label, run in runs.items()}
    if any(pr.values()):
        parts.append(_course_section("pr", "Error rating (PR)", pr, axes, lowest=True))
    if any(run.moments for run in runs.values()):
        parts.append(_rounds_section(runs, axes))
    parts.append(_settings_section(runs))
    parts.append(section("This report", facts(made_by)))
    title = "Training runs compared" if len(runs) > 1 else f"Training run {next(iter(runs))}"
    return page(title, _lead(runs, opponents), *parts)


def _has_axis(runs: Mapping[str, Curves], axis: str) -> bool:
    assert axis in AXES
    return any(not math.isnan(run.last.on(axis)) for run in runs.values())


def _lead(runs: Mapping[str, Curves], opponents: Sequence[str]) -> str:
    told = []
    for label, run in runs.items():
        text = f"{label}: {count(run.last.games)} games"
        course = run.course(opponents[-1]) if opponents else []
        if course:
            text += (
                f", {with_error(*course[-1][1], 3, '+')} points per game against {opponents[-1]}"
            )
        told.append(text)
    return "; ".join(told) + "."


def _overview(runs: Mapping[str, Curves]) -> Html:
    rows = []
    for label, run in runs.items():
        last, bins = run.last, thinned(run)
        speed = last.games / last.seconds if last.seconds > 0 else math.nan
        rows.append(
            [
                label,
                count(last.games),
                _number(last.seconds / 60, 1),
                _number(last.cpu_seconds / 60, 1),
                _number(last.positions / 1e6, 2),
                _number(speed, 0),
                _number(bins[-1].loss, 4) if bins else "–",
            ]
        )
    header = ["run", "games", "minutes", "CPU-minutes", "million positions", "games/s", "loss"]
    return table(
        header,
        rows,
        caption="Minutes are those of training, without matches and saving. Loss: cross entropy of"
        " a contact position, mean of the last bin of rounds.",
    )


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


# --- scores ---


def _course_section(
    name: str,
    title: str,
    courses: Mapping[str, _Course],
    axes: Sequence[str],
    *,
    lowest: bool = False,
) -> Html:
    """Table and plots of the checks. lowest: whether lower values are better."""
    unit = "PR" if lowest else "points per game"
    with drawing():
        drawn = _draw_courses(courses, axes, unit, lowest=lowest)
        plot = svg(drawn, name, f"{title} over {', '.join(_UNITS[axis] for axis in axes)}")
    digits, sign = (2, "") if lowest else (3, "+")
    rows = []
    for label, course in courses.items():
        top = best(course, lowest=lowest)
        if top is None:
            rows.append([label, *["–"] * 6])
            continue
        cells = [label]
        for moment, value in (course[-1], top):
            text = with_error(*value, digits, sign)
            cells += [text, count(moment.games), _number(moment.seconds / 60, 1)]
        rows.append(cells)
    header = ["run", "last", "games", "minutes", "best", "games", "minutes"]
    better = "Lower is better. " if lowest else ""
    meaning = (
        "PR is 500 times the mean loss of a decision in points per game. "
        if lowest
        else "Points per game the net wins. "
    )
    caption = (
        f"{meaning}{better}{_BANDS}. Left: the whole course but the check before the first game,"
        f" on a logarithmic axis. Right: from {_LATE:.0%} of the longest course on."
    )
    remark = "± is one standard error. The best of many checks owes a part to luck; its true value"
    return section(
        title,
        table(header, rows),
        note(f"{remark} is a little {'higher' if lowest else 'lower'}."),
        figure(plot, caption),
    )


def _draw_courses(
    courses: Mapping[str, _Course], axes: Sequence[str], unit: str, *, lowest: bool
) -> Any:
    drawn = new_figure(9.2, 2.9 * len(axes) + 0.3)
    panels = drawn.subplots(len(axes), 2, squeeze=False)
    for (whole, late), axis in zip(panels, axes, strict=True):
        places = [moment.on(axis) for course in courses.values() for moment, _ in course]
        first = _LATE * max((x for x in places if not math.isnan(x)), default=0.0)
        for number, (label, course) in enumerate(courses.items()):
            _draw_course(whole, course, axis, number, label, math.ulp(0.0))
            _draw_course(late, course, axis, number, label, first)
        if any(x > 0 for x in places):
            whole.set_xscale("log")
        for panel in (whole, late):
            panel.set_xlabel(_UNITS[axis])
            _thousands(panel)
            if not lowest:
                zero_line(panel)
        whole.set_ylabel(unit)
    panels[0][0].set_title("whole course")
    panels[0][1].set_title(f"from {_LATE:.0%} of the longest course on")
    if len(courses) > 1:
        panels[0][1].legend(loc="best")
    return drawn


def _draw_course(
    panel: Any,
    course: _Course,
    axis: str,
    number: int,
    label: str,
    first: float,
) -> None:
    """The part of a course from `first` on."""
    points = [(moment.on(axis), *value) for moment, value in course if moment.on(axis) >= first]
    if not points:
        return
    x, mean, stderr = np.array(points, dtype=np.float64).T
    color = series_color(number)
    half = Z95 * np.nan_to_num(stderr)
    panel.fill_between(x, mean - half, mean + half, color=color, alpha=0.18, linewidth=0)
    panel.plot(x, mean, marker="o", color=color, label=legend_text(label))


def _thousands(panel: Any) -> None:
    """Ticks as 500, 20k, 1.5M."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short(x)))
    panel.xaxis.set_minor_locator(NullLocator())


def _short(x: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(x) >= size:
            return f"{x / size:g}{letter}"
    return f"{x:g}"


# --- rounds ---


def _rounds_section(runs: Mapping[str, Curves], axes: Sequence[str]) -> Html:
    with drawing():
        drawn = new_figure(9.2, 2.6 * len(axes) + 0.3)
        panels = drawn.subplots(len(axes), 3, squeeze=False)
        for row, axis in zip(panels, axes, strict=True):
            for number, (label, run) in enumerate(runs.items()):
                bins = thinned(run)
                x = [each.moment.on(axis) for each in bins]
                for panel, values in zip(row, _columns(bins), strict=True):
                    panel.plot(x, values, color=series_color(number), label=legend_text(label))
            titles = ("loss, contact", "loss, race", "games per second")
            for panel, title in zip(row, titles, strict=True):
                panel.set_title(title)
                panel.set_xlabel(_UNITS[axis])
                panel.xaxis.set_major_locator(_few_ticks())
                _thousands(panel)
            row[2].set_ylim(bottom=0)
        if len(runs) > 1:
            panels[0][0].legend(loc="upper right")
        plot = svg(drawn, "rounds", "Loss and speed of training")
    caption = (
        "Loss is the cross entropy of a position in nats, of the net for contact and of the net for"
        f" races; each point is the mean of some rounds (at most {_MOST_BINS} points a run). It is"
        " no scale of strength: the dice make most of it, and its floor moves with λ. No error"
        " bars: the spread of neighbouring points shows it. Games per second are those of training."
    )
    return section("Loss and speed", figure(plot, caption))


def _columns(bins: Sequence[Bin]) -> tuple[list[float], list[float], list[float]]:
    losses = [each.loss for each in bins]
    race_losses = [each.race_loss for each in bins]
    return losses, race_losses, [each.games_per_s for each in bins]


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=4)


# --- settings ---


def _settings_section(runs: Mapping[str, Curves]) -> Html:
    names = list(dict.fromkeys(name for run in runs.values() for name in run.settings))
    if not names:
        return section("Settings", note("The folders have no config.toml."))
    told = {name: [run.settings.get(name, "–") for run in runs.values()] for name in names}
    if len(runs) > 1:
        differing = {name: values for name, values in told.items() if len(set(values)) > 1}
        if not differing:
            return section("Settings", note("All settings are the same."))
        rows = [[name, *values] for name, values in differing.items()]
        caption = f"Settings that differ; {len(told) - len(rows)} others are the same."
    else:
        rows, caption = [[name, *values] for name, values in told.items()], ""
    texts = range(1, len(runs) + 1)
    return section("Settings", table(["setting", *runs], rows, caption=caption, texts=texts))
