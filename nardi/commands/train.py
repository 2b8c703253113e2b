"""`nardi train`: teach a net by self-play, in a folder from which it can go on at any time."""

import argparse
import dataclasses
import importlib.util
import math
import secrets
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.errors import ConfigError
from nardi.cpus import num_cpus

if TYPE_CHECKING:
    from agent.net import ValueNet
    from eval.references import DecisionSet
    from nardi.train_view import TrainView
    from train.config import TrainConfig
    from train.folder import RunFolder
    from train.resume import Score
    from train.run import Run
    from train.stopping import StopSignals

__all__ = ["CHECK_SEED", "CHECK_TURNS", "add_parser", "run"]

CHECK_SEED: Final = 3_141_592_653
"""Of the dice of all matches, so that nets of a run, and of different runs, meet the same luck."""
CHECK_TURNS: Final = 500
"""Turns after which a game of a match counts as 0: an untrained net can go on nearly for ever."""

_RUNS: Final = Path("runs")
# As `train.config_files`, which takes too long to import.
_PRESETS: Final = ("smoke", "short", "strong", "long", "further")
_NEEDS_NET: Final = "further"
_FIXED: Final = ("preset", "config", "set", "out", "from", "game", "rules", "seed")
_STOPPING: Final = (
    "\nnardi train: stopping after this round; once more to stop at once and lose what came after"
    " the last checkpoint"
)

_DESCRIPTION = """\
Teach a net by playing against itself, from random weights or from a net that is there. Everything
goes to one folder: settings, the newest and the best net, metrics (also for TensorBoard), and the
state from which --resume goes on. Stop it when you like: Ctrl-C and SIGTERM finish the round and
save. The same seed gives the same weights for any number of workers."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "train",
        help="teach a net by self-play",
        description=_DESCRIPTION,
        epilog="try: nardi train --preset smoke",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--preset",
        choices=_PRESETS,
        help="settings to begin with: smoke takes less than a minute, short about 20, strong"
        " two hours; long is of long nardi; further goes on --from a strong net, also under other"
        " --rules; default: short, of long nardi long",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file of settings that differ from those"
    )
    parser.add_argument(
        "--set",
        action="append",
        metavar="NAME=VALUE",
        help="one setting, such as learn.batch=512 or stage.0.explore=0.05; may be repeated",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="new folder of the run; default: runs/DATE-TIME"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in DIR")
    parser.add_argument(
        "--from", type=Path, metavar="NET", help="net file to begin with; keeps its shape"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--games", type=int, metavar="N", help="games to play; the stages keep their shares"
    )
    length.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="minutes to train; weights then depend on the speed of the machine",
    )
    parser.add_argument(
        "--game",
        choices=("short", "long"),
        help="short nardi (backgammon) or long nardi (docs/long.md); default: as the preset",
    )
    parser.add_argument(
        "--rules",
        metavar="RULES",
        help="house rules to learn under, such as caucasian or scoring=oin_mars_12 (docs/rules.md)",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="default: one is drawn, and told")
    parser.add_argument(
        "--workers", type=int, metavar="W", help="threads that play; default: one for each CPU"
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="where the weights are fitted; default: auto, a GPU if there is one",
    )
    parser.add_argument(
        "--yardstick",
        type=Path,
        metavar="FILE",
        help="file of decisions on which each check measures the net as well, as nardi benchmark"
        " --decisions does; nothing is learned from it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from train.stopping import StopSignals

    _check_options(args)
    stop = StopSignals(_STOPPING)
    return _drive(_resumed(args, stop) if args.resume else _begun(args, stop), stop, args.json)


# --- what is to be done ---


def _check_options(args: argparse.Namespace) -> None:
    if args.games is not None and args.games < 1:
        raise ConfigError(f"games '{args.games}'; accepted: whole numbers from 1 up")
    if args.minutes is not None and not (0 < args.minutes < math.inf):
        raise ConfigError(f"minutes '{args.minutes:g}'; accepted: a positive number")
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"workers '{args.workers}'; accepted: whole numbers from 1 up")
    if args.resume is not None:
        given = [name for name in _FIXED if getattr(args, name) is not None]
        if given:
            raise ConfigError(
                f"--{given[0]} does not go with --resume, which goes on with the run's own"
                " settings; accepted: --games or --minutes (more than before), --workers, --device"
            )
    for library in ("torch", "tensorboard"):
        if importlib.util.find_spec(library) is None:
            raise ConfigError(
                f"training needs {library}, which is not installed: pip install 'nardi[train]'"
            )


def _check_opponents(config: "TrainConfig") -> None:
    from eval.players import load_player

    for opponent in config.checks.opponents:
        load_player(opponent, config.play_rules)


def _yardstick(args: argparse.Namespace, config: "TrainConfig") -> "DecisionSet | None":
    if args.yardstick is None:
        return None
    if config.play_rules.game != "short":
        raise ConfigError("--yardstick: decisions are of short nardi only; leave it out")
    from eval.references import read_decisions

    decisions = read_decisions(args.yardstick)
    if len(decisions.boards) < 2:
        raise ConfigError(f"yardstick '{args.yardstick}' has one decision; accepted: two or more")
    return decisions


def _begun(args: argparse.Namespace, stop: "StopSignals") -> "_Session":
    """A new run. Everything that can be wrong is found before work starts."""
    from agent.checkpoint import load_net
    from engine.errors import CheckpointError
    from nardi.origin import commit_facts, parent_facts, version_facts
    from train.config_files import config_from_values, load_values
    from train.folder import RunFolder

    parent_path = getattr(args, "from")
    if args.preset == _NEEDS_NET and parent_path is None:
        raise ConfigError(
            f"preset '{_NEEDS_NET}' goes on from a strong net; name one: --from nardi, which"
            " comes with nardi, or --from FILE"
        )
    parent = None if parent_path is None else load_net(parent_path, game=None)
    values = load_values(
        args.preset or ("long" if args.game == "long" else "short"),
        args.config,
        args.set or (),
        net=None if parent is None else parent.config,
    )
    game = _set_rules(args, values)
    if parent is not None and parent.game != game:
        raise CheckpointError(
            f"net '{parent_path}' is for {parent.game} nardi, but the run is to learn {game} nardi;"
            f" accepted: a net of that game, or --game {parent.game}"
        )
    drawn = args.seed is None and "seed" not in values
    if args.seed is not None or drawn:
        values["seed"] = secrets.randbits(32) if drawn else args.seed
    config = config_from_values(values)
    if parent is not None:
        _check_shape(config, parent, parent_path)
    if args.games is not None:
        config = config.with_games(args.games)
    _check_opponents(config)
    yardstick = _yardstick(args, config)
    if args.out is None:
        folder = RunFolder.create_by_time(_RUNS, datetime.now())
    else:
        folder = RunFolder.create(args.out)
    try:
        from engine.scoring import has_four_kinds
        from train.learner import pick_device
        from train.resume import RunRecord
        from train.run import Run, first_net

        origin: dict[str, Any] = {
            "command": _command(args, config.seed),
            **commit_facts(),
            "versions": version_facts(),
            "parent": None if parent is None else parent_facts(parent_path, parent.facts),
        }
        record = RunRecord(
            config=config,
            minutes=args.minutes,
            device=pick_device(args.device or "auto"),
            origin=origin,
        )
        if parent is None:
            net = first_net(config)
        else:  # what it learns from now on is told by other outputs, perhaps
            net = dataclasses.replace(parent, four_kinds=has_four_kinds(config.play_rules))
        session = _Session(stop, yardstick)
        session.run = Run(
            folder, record, net, workers=args.workers or num_cpus(), **session.hooks()
        )
    except BaseException:
        folder.discard()
        raise
    if drawn:
        session.notes.append(f"seed {config.seed}")
    return session


def _set_rules(args: argparse.Namespace, values: dict[str, Any]) -> str:
    """Put the rules that --game and --rules ask for into the settings; gives the game.

    Raises ConfigError.
    """
    from engine.rules import INTERNATIONAL, LONG_NARDI, parse_rules

    own = parse_rules(str(values.get("rules", INTERNATIONAL)))
    game = args.game or own.game
    if args.rules is not None:
        # Text as it was given, but for switches that are read as changes of long nardi.
        values["rules"] = args.rules
        if game == "long":
            values["rules"] = str(parse_rules(args.rules, LONG_NARDI))
    elif game != own.game:
        values["rules"] = str(LONG_NARDI if game == "long" else INTERNATIONAL)
    asked = parse_rules(str(values.get("rules", INTERNATIONAL))).game
    if args.game is not None and asked != args.game:
        raise ConfigError(f"--rules {args.rules} are of {asked} nardi, --game of {args.game}")
    return asked


def _check_shape(config: "TrainConfig", parent: "ValueNet", path: Path) -> None:
    """Raises ConfigError if the settings ask for another shape than that of the net."""
    place = "net" if config.first_net is None else "first_net"
    asked, own = config.net_after(0).as_dict(), parent.config.as_dict()
    for part, settings in asked.items():
        for name, value in settings.items():
            if value != own[part][name]:
                raise ConfigError(
                    f"{place}.{part}.{name} is set to {value!r}, but net '{path}', which the run is"
                    f" to begin with, has {own[part][name]!r}; leave it out to keep that shape"
                )


def _command(args: argparse.Namespace, seed: int) -> str:
    """The command line that gives this run again, a drawn seed included."""
    words = ["nardi", "train"]
    for name in ("preset", "config", "from", "game", "rules", "games", "minutes", "device"):
        value = getattr(args, name)
        if value is not None:
            words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    for assignment in args.set or ():
        words += ["--set", assignment]
    return shlex.join([*words, "--seed", str(seed)])


def _resumed(args: argparse.Namespace, stop: "StopSignals") -> "_Session":
    """The run of a folder, to go on."""
    from train.folder import RunFolder

    folder = RunFolder.open(args.resume)
    try:
        import dataclasses

        from nardi.origin import commit_facts, version_facts
        from train.learner import pick_device
        from train.resume import load_state
        from train.run import Run

        snapshot = load_state(folder.state)
        record = snapshot.record
        _check_config_file(folder, record.config)
        config = _longer(args, record.config, record.minutes)
        _check_opponents(config)
        origin = {**record.origin, **commit_facts(), "versions": version_facts()}
        device = pick_device(args.device or record.device)
        record = dataclasses.replace(record, origin=origin, device=device)
        session = _Session(stop, _yardstick(args, config))
        session.run = Run.resume(
            folder,
            dataclasses.replace(snapshot, record=record),
            config=config,
            minutes=args.minutes,
            workers=args.workers or num_cpus(),
            **session.hooks(),
        )
    except BaseException:
        folder.close()
        raise
    run = session.run
    if run.is_over():
        run.close()
        more = "games" if record.minutes is None else "minutes"
        raise ConfigError(
            f"the run in '{folder.path}' is over, with {run.games:,} games; to train more, name"
            f" more --{more} than it had"
        )
    session.notes.append(f"going on after {run.games:,} games")
    return session


def _check_config_file(folder: "RunFolder", config: "TrainConfig") -> None:
    """Raises ConfigError if the settings in the folder are not those that the run has."""
    from train.config_files import config_from_values, read_values

    try:
        text = folder.config.read_text(encoding="utf-8")
    except OSError:
        return  # it is written anew
    if config_from_values(read_values(text, str(folder.config))) != config:
        raise ConfigError(
            f"'{folder.config}' was changed, but a run goes on with the settings it began with;"
            f" remove the file to do so, or begin a new run with --config {folder.config} --from"
            f" {folder.last}"
        )


def _longer(
    args: argparse.Namespace, config: "TrainConfig", minutes: float | None
) -> "TrainConfig":
    """The settings with the number of games asked for. Raises ConfigError for fewer than before."""
    if args.games is not None:
        if minutes is not None:
            raise ConfigError(
                f"the run is limited to {minutes:g} minutes; accepted: more --minutes"
            )
        if args.games <= config.games:
            raise ConfigError(
                f"games '{args.games}'; accepted: more than the {config.games} that the run had"
            )
        return config.longer(args.games)
    if args.minutes is not None:
        if minutes is None:
            raise ConfigError(f"the run is limited to {config.games} games; accepted: more --games")
        if args.minutes <= minutes:
            raise ConfigError(
                f"minutes '{args.minutes:g}'; accepted: more than the {minutes:g} that the run had"
            )
    return config


# --- doing it ---


class _Session:
    """A run with what surrounds it here: matches, the view of it, and what to say first."""

    run: "Run"
    view: "TrainView"

    def __init__(self, stop: "StopSignals", yardstick: "DecisionSet | None") -> None:
        self.stop = stop
        self.yardstick = yardstick
        self.notes: list[str] = []

    def hooks(self) -> dict[str, Any]:
        """Arguments of `Run` that bring it here."""
        return {
            "play_match": self.play_match,
            "measure": self.measure,
            "should_stop": lambda: self.stop.wanted,
        }

    def play_match(self, net: "ValueNet", opponent: str) -> "Score":
        """A match of the net, in this process and thread: no file and no process in between."""
        from agent.bot import NetBot
        from agent.evaluator import Evaluator
        from engine.errors import NardiError
        from eval.duel import Progress, play_duel
        from eval.players import load_player
        from train.resume import Score
        from train.stopping import StoppedError

        games = self.run.record.config.checks.games
        rules = self.run.record.config.play_rules

        def show(so_far: Progress) -> None:
            if self.stop.wanted:
                raise StoppedError
            self.view.match_going(opponent, so_far.n_games, games)

        duel = play_duel(
            NetBot("net", Evaluator(net), rules),
            load_player(opponent, rules),
            games,
            CHECK_SEED,
            rules,
            most_turns=CHECK_TURNS,
            on_progress=show,
        )
        if duel.interrupted:
            raise KeyboardInterrupt
        if duel.fault is not None:
            raise NardiError(duel.fault)
        return Score(
            opponent=opponent, ppg=duel.ppg.mean, stderr_ppg=duel.ppg.stderr, games=duel.n_games
        )

    def measure(self, net: "ValueNet") -> dict[str, float]:
        """What the net's decisions cost on the yardstick, if there is one."""
        if self.yardstick is None:
            return {}
        from agent.bot import NetBot
        from agent.evaluator import Evaluator
        from eval.decisions import measure_decisions

        pr = measure_decisions(NetBot("net", Evaluator(net)), self.yardstick).overall.pr
        return {"yardstick_pr": pr.mean, "yardstick_stderr_pr": pr.stderr}


def _drive(session: _Session, stop: "StopSignals", as_json: bool) -> int:
    from nardi.cli import DONE, INTERRUPTED
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.train_view import TrainView, verdict_document, verdict_text
    from train.run import warm_up

    run = session.run
    record = run.record
    checks = record.checks
    try:
        with stop, compiling_is_told():
            run.save()  # from here on it can be gone on with
            warm_up(luck_adjusted=any(stage.luck_adjusted for stage in record.config.stage))
            view = TrainView(
                record.config, record.minutes, run.trainer.state, checks[-1] if checks else None
            )
            session.view = view
            run.watch = view
            try:
                for note in session.notes:
                    view.say(note)
                view.say(_plan(run))
                over = run.run()
            finally:
                view.close()
    except KeyboardInterrupt:
        print(
            f"nardi train: stopped at once; to go on from the last checkpoint: nardi train --resume"
            f" {run.folder.path}",
            file=sys.stderr,
        )
        return INTERRUPTED
    finally:
        run.close()
    print(json_line(verdict_document(run, over)) if as_json else verdict_text(run, over))
    return DONE if over else INTERRUPTED


def _plan(run: "Run") -> str:
    record = run.record
    length = f"{record.config.games:,} games"
    if record.minutes is not None:
        length = (
            f"{record.minutes:g} minutes (weights depend on the machine's speed and on stops:"
            " no run will give exactly these again)"
        )
    return (
        f"{length}, {run.trainer.workers} workers, weights fitted on {record.device}; folder"
        f" {run.folder.path}"
    )
