"""`nardi compare`: the courses of training runs side by side, as a table, JSON or a page."""

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eval.curves import Curves, Figure, Moment

__all__ = ["add_parser", "run"]

_AXES = ("games", "minutes", "cpu-minutes", "positions")

_DESCRIPTION = """\
Tell how training runs went, each told by the folder that nardi train made: how far it is, its last
and its best score against every opponent it was checked with, and its error rating (PR) if it was
trained with --yardstick. Runs that are still going on may be looked at, too. With --report the
learning curves are drawn together on an HTML page, against games and minutes of training."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "compare",
        help="tell how training runs went, and draw their learning curves together",
        description=_DESCRIPTION,
        epilog="try: nardi compare runs/demo --report report",
        allow_abbrev=False,
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a run of nardi train"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="write report.html, a page with plots, and report.json, its figures, to this folder,"
        " which is made if it is not there; needs matplotlib",
    )
    parser.add_argument(
        "--x",
        action="append",
        choices=_AXES,
        help="with --report, what the curves are drawn against; may be given several times;"
        " default: games and minutes",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from engine.errors import ConfigError
    from eval.curves import read_curves
    from eval.report.drawing import check_drawable
    from eval.report.files import prepare_folder
    from eval.report.runs import labels
    from nardi.cli import DONE
    from nardi.documents import json_line

    if args.x is not None and args.report is None:
        raise ConfigError("--x goes with --report only")
    if args.report is not None:
        check_drawable()
        prepare_folder(args.report)
    paths = list(dict.fromkeys(args.runs))
    runs = dict(zip(labels(paths), map(read_curves, paths), strict=True))
    document = compare_document(runs)
    try:
        print(json_line(document) if args.json else compare_text(runs), flush=True)
    finally:  # also if the reader of our output went away
        if args.report is not None:
            _report(args, runs, document)
    return DONE


def _report(
    args: argparse.Namespace, runs: "Mapping[str, Curves]", document: dict[str, Any]
) -> None:
    from eval.report.files import write_report
    from eval.report.runs import runs_page
    from nardi.reporting import command_words, report_facts, tell_report

    axes = list(dict.fromkeys(args.x or ("games", "minutes")))
    made_by = report_facts(command_words(args, ["runs"]))
    page = runs_page(runs, axes, made_by.rows())
    path = write_report(args.report, page, {**made_by.document(), "runs": document["runs"]})
    tell_report(args.command, path)


# --- JSON ---


def compare_document(runs: "Mapping[str, Curves]") -> dict[str, Any]:
    """The JSON of runs by label; documented in docs/json.md."""
    return {"runs": [_run_document(label, curves) for label, curves in runs.items()]}


def _run_document(label: str, curves: "Curves") -> dict[str, Any]:
    from eval.report.runs import thinned

    last = curves.last
    bins = thinned(curves)
    return {
        "name": label,
        "run": str(curves.path),
        **_moment_document(last),
        "games_per_s": last.games / last.seconds if last.seconds > 0 else None,
        "loss": _known(bins[-1].loss) if bins else None,
        "race_loss": _known(bins[-1].race_loss) if bins else None,
        "scores": {
            opponent: _last_and_best(curves.course(opponent), "ppg")
            for opponent in curves.opponents()
        },
        "pr": _last_and_best(curves.pr_course(), "pr") if curves.pr_course() else None,
        "checks": [
            {
                **_moment_document(check.moment),
                "scores": {
                    name: _figure_document(score, "ppg") for name, score in check.scores.items()
                },
                "pr": None if check.pr is None else _figure_document(check.pr, "pr"),
            }
            for check in curves.checks
        ],
        "rounds": [
            {
                **_moment_document(each.moment),
                "loss": _known(each.loss),
                "race_loss": _known(each.race_loss),
                "games_per_s": _known(each.games_per_s),
            }
            for each in bins
        ],
        "settings": curves.settings,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _moment_document(moment: "Moment") -> dict[str, Any]:
    return {
        "games": moment.games,
        "positions": round(moment.positions),
        "seconds": moment.seconds,
        "cpu_seconds": _known(moment.cpu_seconds),
    }


def _figure_document(figure: "Figure", unit: str) -> dict[str, float | None]:
    return {unit: _known(figure.mean), f"stderr_{unit}": _known(figure.stderr)}


def _last_and_best(course: "list[tuple[Moment, Figure]]", unit: str) -> dict[str, Any]:
    from eval.report.runs import best

    top = best(course, lowest=unit == "pr")
    found = {"last": course[-1], "best": top}
    return {
        name: None
        if each is None
        else {"games": each[0].games, "seconds": each[0].seconds, **_figure_document(each[1], unit)}
        for name, each in found.items()
    }


# --- text ---


def compare_text(runs: "Mapping[str, Curves]") -> str:
    """The figures for people: how far the runs are, then each opponent's scores."""
    width = max(len(label) for label in runs) + 2
    lines = _progress_lines(runs, width)
    opponents = list(dict.fromkeys(name for run in runs.values() for name in run.opponents()))
    for opponent in opponents:
        courses = {label: run.course(opponent) for label, run in runs.items()}
        lines += ["", f"Points per game against {opponent}", *_course_lines(courses, width)]
    if not opponents:
        lines += ["", "No net has been measured yet."]
    pr = {label: run.pr_course() for label, run in runs.items() if run.pr_course()}
    if pr:
        lines += ["", "Error rating (PR), lower is better", *_course_lines(pr, width, lowest=True)]
    return "\n".join(lines)


def _progress_lines(runs: "Mapping[str, Curves]", width: int) -> list[str]:
    from eval.report.runs import thinned

    has_cpu = any(run.last.cpu_seconds > 0 for run in runs.values())
    cpu_head = f"{'CPU-min':>9}" if has_cpu else ""
    lines = [
        f"{'':{width}}{'games':>12}{'minutes':>9}{cpu_head}{'positions':>14}{'games/s':>9}"
        f"{'loss':>8}"
    ]
    for label, run in runs.items():
        last, bins = run.last, thinned(run)
        speed = f"{last.games / last.seconds:,.0f}" if last.seconds > 0 else "-"
        loss = f"{bins[-1].loss:.4f}" if bins and not math.isnan(bins[-1].loss) else "-"
        known = not math.isnan(last.cpu_seconds)
        cpu = f"{last.cpu_seconds / 60 if known else '-':>9{',.1f' if known else ''}}"
        lines.append(
            f"{label:{width}}{last.games:12,}{last.seconds / 60:9,.1f}{cpu if has_cpu else ''}"
            f"{last.positions:14,.0f}{speed:>9}{loss:>8}"
        )
    return lines


def _course_lines(
    courses: "Mapping[str, list[tuple[Moment, Figure]]]", width: int, *, lowest: bool = False
) -> list[str]:
    from eval.report.runs import best

    lines = [f"{'':{width}}{'last':>16}{'games':>12}{'best':>18}{'games':>12}"]
    for label, course in courses.items():
        top = best(course, lowest=lowest)
        if top is None:
            lines.append(f"{label:{width}}{'not measured':>16}")
            continue
        cells = f"{_figure_text(course[-1][1], lowest):>16}{course[-1][0].games:12,}"
        lines.append(f"{label:{width}}{cells}{_figure_text(top[1], lowest):>18}{top[0].games:12,}")
    return lines


def _figure_text(figure: "Figure", is_pr: bool) -> str:
    from eval.report.texts import with_error

    return with_error(*figure, 2 if is_pr else 3, "" if is_pr else "+")
