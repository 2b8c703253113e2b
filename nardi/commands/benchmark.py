"""`nardi benchmark`: points per game of one bot against another, or what its decisions cost."""

import argparse
import math
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nardi.cpus import num_cpus

if TYPE_CHECKING:
    from engine.rules import Rules

__all__ = ["add_parser", "run"]

_GAMES: Final = 2000
_WORST: Final = 5
_MATCHES: Final = 200
_GAMES_AT_MOST: Final = 100_000  # where something else is to end it
_OF_DUELS: Final = (
    *("games", "seed", "workers", "game", "rules", "luck", "luck_net"),
    *("until_width", "until_decided", "out"),
    *("cube", "money", "match", "jacoby", "beaver"),
)
# Against these the luck is no help: their blunders, judged by what is best, swing more than dice.
_TOO_WEAK: Final = {"random", "pip-greedy", "heuristic"}

_BOT_HELP = """\
random, pip-greedy, pubeval, heuristic (of long nardi), net (the one that nardi brings) or net:FILE;
a depth may follow, as in net@0. Other programs (pip install 'nardi[peers]'): gnubg@N and sage@N
with N = 0, 1 or 2; any other: exec:COMMAND (docs/protocol.md)"""
_DESCRIPTION = """\
Play money games of two bots, without the cube or with it, and tell how many points per game the
first wins from the second, or play matches and tell how many it wins; of three or more bots, play
games of all pairs and rate them. Every dice stream is played twice, the
second time with the seats swapped, so that part of the luck cancels; most of the rest is taken out
by what a net thinks of each roll. The same seed gives the same figures for any number of workers.
Ctrl-C ends it with the figures so far. With --decisions or --positions nothing is played: one bot
or two are measured on decisions or positions whose worth is known (docs/benchmarks.md), a hundred
times more sensitively than by games."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "benchmark",
        help="play bots against each other and tell points per game",
        description=_DESCRIPTION,
        epilog="try: nardi benchmark pubeval pip-greedy --games 400 --seed 1",
        allow_abbrev=False,
    )
    parser.add_argument("bots", metavar="BOT", nargs="+", help=_BOT_HELP)
    parser.add_argument(
        "--decisions",
        type=Path,
        metavar="FILE",
        help="tell loss per decision, and where A differs from B, on a file of decisions of plays"
        " or of the cube, or on a set that nardi brings: bearoff, bearoff-cube, rollout",
    )
    parser.add_argument(
        "--positions",
        type=Path,
        metavar="FILE",
        help="tell how far equities and probabilities are off on a file of positions",
    )
    parser.add_argument(
        "--worst",
        type=int,
        metavar="N",
        help=f"misses to show with --decisions; default: {_WORST}",
    )
    parser.add_argument(
        "--games",
        type=int,
        metavar="N",
        help="of games or of matches: an even number, the most with --until-...; default:"
        f" {_GAMES} games or {_MATCHES} matches, {_GAMES_AT_MOST} with --until-...",
    )
    kinds = parser.add_argument_group("games with the cube (docs/benchmarks.md)")
    kinds.add_argument(
        "--cube",
        action="store_true",
        help="play with the doubling cube, by all of the rules: money games unless --match or the"
        " rules say otherwise",
    )
    lengths = kinds.add_mutually_exclusive_group()
    lengths.add_argument(
        "--match",
        type=int,
        metavar="N",
        help="with the cube, matches to N points; in long nardi without it",
    )
    lengths.add_argument("--money", action="store_true", help="with the cube, money games")
    kinds.add_argument(
        "--jacoby",
        action="store_true",
        help="with the cube, gammons count only after a double (rules jacoby=true); default:"
        " not so",
    )
    kinds.add_argument(
        "--beaver",
        action="store_true",
        help="with the cube, a double may be doubled back (rules beaver=true); default: not so",
    )
    parser.add_argument(
        "--until-width",
        type=float,
        metavar="W",
        help="stop when the 95%% interval is the score ± W or narrower; W in points per game, or"
        " in matches as a share of them, such as 0.01",
    )
    parser.add_argument(
        "--until-decided",
        action="store_true",
        help="stop when one bot is better for sure: with equal bots that happens in 5%% of duels at"
        " most, though it is looked at again and again",
    )
    parser.add_argument(
        "--luck",
        action=argparse.BooleanOptionalAction,
        help="take the luck of the dice out of the score, by a net for both sides; default: yes,"
        " but not with random, pip-greedy and heuristic",
    )
    parser.add_argument(
        "--luck-net", type=Path, metavar="FILE", help="the net for that; default: the one of nardi"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="keep the games there; the same command goes on where it was stopped. With three or"
        " more bots a folder",
    )
    parser.add_argument(
        "--seed", type=int, metavar="S", help="default: that of --out, or one is drawn, and told"
    )
    parser.add_argument(
        "--workers", type=int, metavar="W", help="processes to use; default: one for each CPU"
    )
    parser.add_argument(
        "--game",
        choices=("short", "long"),
        help="short nardi (backgammon) or long nardi (docs/long.md); default: short",
    )
    parser.add_argument(
        "--rules",
        metavar="RULES",
        help="house rules, such as caucasian; those of the cube count with the cube only"
        " (docs/rules.md)",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="write report.html, a page with plots, and report.json, its figures, to this folder,"
        " which is made if it is not there; needs matplotlib",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on one line")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    from engine.errors import ConfigError

    if args.report is not None:
        from nardi.benchmark_report import prepare

        prepare(args.report)
    n_bots = len(args.bots)
    if args.worst is not None and args.decisions is None:
        raise ConfigError("--worst goes with --decisions only")
    if args.decisions is not None or args.positions is not None:
        for name in _OF_DUELS:
            if getattr(args, name) not in (None, False):
                raise ConfigError(
                    f"--{name.replace('_', '-')} is about games; it does not go with --decisions"
                    " and --positions"
                )
        if n_bots > 2:
            raise ConfigError(f"{n_bots} bots; --decisions and --positions take one or two")
        return _measure(args)
    if n_bots == 1:
        args.usage_error("a second bot B is needed to play against (or --decisions, --positions)")
    return _duel(args) if n_bots == 2 else _league(args)


def _measure(args: argparse.Namespace) -> int:
    """Loss per decision, value errors, or both."""
    from engine.errors import ConfigError
    from eval.cube_decisions import measure_cube
    from eval.decisions import measure_decisions, measure_positions
    from eval.players import load_player
    from eval.references import read_any_decisions, read_positions
    from nardi import cube_loss_view, loss_view
    from nardi.cli import DONE
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line

    worst = _WORST if args.worst is None else args.worst
    if worst < 0:
        raise ConfigError(f"worst '{worst}'; accepted: whole numbers from 0 up")
    names = args.bots
    document: dict[str, Any] = {"decisions": None, "cube_decisions": None, "positions": None}
    texts = []
    of_decisions, of_cube, of_positions = None, None, None
    with compiling_is_told():
        bots = [load_player(name) for name in names]
        if args.decisions is not None:
            decisions, cube = read_any_decisions(args.decisions)
            if decisions is not None:
                losses = [measure_decisions(bot, decisions) for bot in bots]
                document["decisions"] = loss_view.decisions_document(losses, decisions, worst)
                texts.append(loss_view.decisions_text(losses, decisions, worst))
                of_decisions = (decisions, losses, worst)
            if cube is not None:
                cube_losses = [measure_cube(bot, cube) for bot in bots]
                document["cube_decisions"] = cube_loss_view.cube_decisions_document(
                    cube_losses, cube, worst
                )
                texts.append(cube_loss_view.cube_decisions_text(cube_losses, cube, worst))
                of_cube = (cube, cube_losses, worst)
        if args.positions is not None:
            positions = read_positions(args.positions)
            errors = [measure_positions(bot, positions) for bot in bots]
            document["positions"] = loss_view.positions_document(names, errors, positions)
            texts.append(loss_view.positions_text(names, errors, positions))
            of_positions = (positions, errors)
    try:
        print(json_line(document) if args.json else "\n\n".join(texts), flush=True)
    finally:  # also if the reader of our output went away
        if args.report is not None:
            from nardi.benchmark_report import report_measures
            from nardi.reporting import command_words

            words = command_words(args, ["bots"])
            measured = of_decisions, of_cube, of_positions
            report_measures(args.report, words, names, document, *measured)
    return DONE


def _duel(args: argparse.Namespace) -> int:
    from eval.duel import Progress as DuelProgress
    from eval.duel import match_win, play_duel
    from eval.stopping import StopRule
    from nardi.cli import DONE, FAILED, INTERRUPTED
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.duel_view import document, notes, table, with_error
    from nardi.progress import Progress

    a, b = args.bots
    settings = _settings(args)
    luck = settings.pop("luck")(a, b)
    games = settings["n_games"]
    is_match = settings["cube"] and settings["rules"].match_to is not None
    width = args.until_width
    stop = StopRule(
        # A share of matches is half as far from a half as the score is from 0.
        width=2 * width if is_match and width is not None else width,
        decided=args.until_decided,
    )
    if stop and args.games is None:
        games = settings["n_games"] = _GAMES_AT_MOST
    seed = _seed(args, args.out)
    unit = "matches" if is_match else "games"
    with compiling_is_told(), Progress("nardi benchmark", games, unit) as progress:

        def show(so_far: DuelProgress) -> None:
            known = not math.isnan(so_far.ppg.stderr)
            note = f"{with_error(so_far.ppg)} ppg"
            if is_match:
                rate = match_win(so_far.ppg)
                note = f"{rate.mean:.1%} ± {rate.stderr:.1%} won"
            progress.update(so_far.n_games, note if known else "")

        duel = play_duel(
            a, b, seed=seed, luck=luck, stop=stop, file=args.out, on_progress=show, **settings
        )
    figures = document(duel)
    print(json_line(figures) if args.json else table(duel))
    for note in notes(duel, games):
        print(f"nardi benchmark: {note}", file=sys.stderr)
    if args.report is not None:
        from nardi.benchmark_report import report_duel

        report_duel(args.report, _words(args, games, seed), duel, figures)
    if duel.fault is not None:
        return FAILED
    return INTERRUPTED if duel.interrupted else DONE


def _league(args: argparse.Namespace) -> int:
    from engine.errors import ConfigError
    from eval.duel import Progress as DuelProgress
    from eval.league import play_league
    from nardi.cli import DONE, FAILED, INTERRUPTED
    from nardi.compiling import compiling_is_told
    from nardi.documents import json_line
    from nardi.duel_view import with_error
    from nardi.league_view import document, notes, table
    from nardi.progress import Progress

    if args.until_width is not None or args.until_decided:
        raise ConfigError("--until-width and --until-decided are for two bots")
    bots = args.bots
    settings = _settings(args)
    if settings["cube"] and settings["rules"].match_to is not None:
        raise ConfigError("matches are for two bots; three or more play games for money")
    seed = _seed(args, None if args.out is None else args.out / "1-2.jsonl")
    n_games = settings["n_games"] * (len(bots) * (len(bots) - 1) // 2)
    with compiling_is_told(), Progress("nardi benchmark", n_games, "games") as progress:

        def show(n_before: int, so_far: DuelProgress) -> None:
            known = not math.isnan(so_far.ppg.stderr)
            note = f"{with_error(so_far.ppg)} ppg" if known else ""
            progress.update(n_before + so_far.n_games, note)

        league = play_league(bots, seed=seed, folder=args.out, on_progress=show, **settings)
    figures = document(league)
    print(json_line(figures) if args.json else table(league))
    for note in notes(league):
        print(f"nardi benchmark: {note}", file=sys.stderr)
    if args.report is not None and league.ratings is not None:
        from nardi.benchmark_report import report_league

        report_league(args.report, _words(args, settings["n_games"], seed), league, figures)
    if league.fault is not None:
        return FAILED
    return INTERRUPTED if league.ended == "interrupted" else DONE


def _words(args: argparse.Namespace, games: int, seed: int) -> list[str]:
    """Words of the command line that gives the same figures, for a report."""
    from nardi.reporting import command_words

    words = command_words(args, ["bots"], games=games, seed=seed, out=None)
    return [*words, "--no-luck"] if args.luck is False else words


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `play_duel` and `play_league`; "luck" is a function of two bots."""
    from engine.errors import ConfigError
    from engine.rules import parse_rules
    from eval.luck import why_no_luck
    from nardi.net_facts import warn_of_rules
    from nardi.reporting import net_of_bot

    if args.luck_net is not None and args.luck is False:
        raise ConfigError("--luck-net does not go with --no-luck")
    rules, cube = _rules(args)
    for bot in args.bots:
        if (net := net_of_bot(bot, rules.game)) is not None:
            warn_of_rules(bot, parse_rules(net["rules"]), rules)
    games = _MATCHES if cube and rules.match_to is not None else _GAMES
    wanted = True if args.luck_net is not None else args.luck
    if wanted is None and (reason := why_no_luck(rules, cube=cube)):
        print(f"nardi benchmark: no luck is taken out: {reason}", file=sys.stderr)
        wanted = False

    def luck(a: str, b: str) -> bool:
        if wanted is not None:
            return bool(wanted)
        return not {_without_depth(a), _without_depth(b)} & _TOO_WEAK

    return {
        "n_games": games if args.games is None else args.games,
        "rules": rules,
        "cube": cube,
        "workers": num_cpus() if args.workers is None else args.workers,
        "luck": luck,
        "luck_net": args.luck_net,
    }


def _rules(args: argparse.Namespace) -> tuple["Rules", bool]:
    """The rules, and whether the cube is played with."""
    from engine.errors import ConfigError
    from engine.rules import INTERNATIONAL, LONG_NARDI, parse_rules

    base = LONG_NARDI if args.game == "long" else INTERNATIONAL
    rules = parse_rules(args.rules, base) if args.rules else base
    if rules.game != (args.game or rules.game):
        raise ConfigError(f"--rules {args.rules} are of {rules.game} nardi, --game of {args.game}")
    if rules.game == "long" and (args.cube or args.money or args.jacoby or args.beaver):
        raise ConfigError(
            "long nardi is played without a doubling cube: --cube, --money, --jacoby and --beaver"
            " do not go with it; --match N plays matches without one"
        )
    if args.match is not None:
        rules = rules.replace(match_to=args.match)
    elif args.money:
        rules = rules.replace(match_to=None)
    for name in ("jacoby", "beaver"):
        if getattr(args, name):
            rules = rules.replace(**{name: True})
            if rules.match_to is not None:
                raise ConfigError(f"--{name} is for money games, not for matches")
    named = args.cube or args.money or args.jacoby or args.beaver
    return rules, named or args.match is not None


def _without_depth(bot: str) -> str:
    return bot.strip().partition("@")[0]


def _seed(args: argparse.Namespace, file: Path | None) -> int:
    """The seed of the command line, of the file that is gone on with, or one that is drawn."""
    from eval.duel_file import read_seed

    if args.seed is not None:
        seed: int = args.seed
        return seed
    known = None if file is None else read_seed(file)
    seed = secrets.randbits(32) if known is None else known
    print(f"nardi benchmark: seed {seed}", file=sys.stderr)
    return seed
