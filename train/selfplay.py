"""Rounds of self-play: games played by compiled code in worker threads, and their targets."""

import math
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.cube_states import NO_CUBE
from agent.kernels.boards import RACE
from agent.kernels.replies import Nets, new_play_scratch
from agent.kernels.tree import new_room
from agent.kernels.value import new_work
from agent.net import ValueNet
from agent.ranking import scoring_weights
from engine.bearoff.lookup import fits_rules
from engine.bearoff.tables import load_tables
from engine.dice_stream import game_states
from engine.play_codes import MAX_PLAYS
from engine.rules import INTERNATIONAL, Rules
from engine.variant import play_switches, starter_throws_again, variant_of
from train.kernels.exact import adjusted_returns, play_exact_games
from train.kernels.returns import lambda_returns
from train.kernels.rows import board_kinds
from train.kernels.selfplay import MAX_PLIES, expected_values, play_games
from train.starts import drawn_board

__all__ = ["ExactGames", "Round", "RoundPlan", "play_chunk", "play_exact", "play_round"]

_PLIES_EXPECTED: Final = 80  # rows a game to make room for at first
_SORTER_WINDOW: Final = np.float32(0.2)  # points behind the sorter's best; wider ones only cost
_NO_CACHE_BYTES: Final = 1 << 12  # games hardly meet a position twice
_SALT_EXPECTED: Final = 1 << 40  # spawn keys of draws that are not dice lie far beyond the games
_SALT_STARTS: Final = (1 << 40) - 1


@dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """What is to be played: which games, with what chance, learned from how."""

    seed: int
    first_game: int
    games: int
    games_per_call: int
    lambda_: float
    explore: float
    random_openings: float
    random_plies: int
    expected: float
    luck_adjusted: bool = False
    loss_scale: float = math.inf
    drawn_starts: float = 0.0
    races: float = 1.0
    race_lambda: float | None = None
    """λ in races where luck is adjusted; None = `lambda_`."""
    drawn_lambda: float | None = None
    """The same in contact, of games that begin with a drawn board."""
    drawn_weight: float = 1.0
    """What a contact position of such a game counts in the loss."""
    rules: Rules = INTERNATIONAL
    """What plays are legal and what wins count; luck-free and sampled games alike."""
    sorter_keep: int = 0
    """Plays of a roll that the net values where luck is adjusted; 0 = all, without a sorter."""


@dataclass(frozen=True)
class Round:
    """Positions of the games of a round, in the order of the games."""

    boards: NDArray[np.int8]
    """`(N, 26)`, seen by the side on roll."""
    targets: NDArray[np.float32]
    """`(N, 5)`, for the side on roll."""
    weights: NDArray[np.float32]
    """`(N,)`, what each position counts in the loss."""
    games: int


def play_round(
    net: ValueNet, plan: RoundPlan, executor: Executor, sorter: ValueNet | None = None
) -> Iterator[Round]:
    """Start the games of a round in the executor's threads; give them chunk by chunk, in order.

    The same for any number of threads: games are keyed by number, chunks are of fixed size. sorter:
    needed for a plan with `sorter_keep`.
    """
    last = plan.first_game + plan.games
    futures: list[Future[Round]] = [
        executor.submit(
            play_chunk, net, plan, first, min(plan.games_per_call, last - first), sorter
        )
        for first in range(plan.first_game, last, plan.games_per_call)
    ]
    return (future.result() for future in futures)


def play_chunk(
    net: ValueNet,
    plan: RoundPlan,
    first_game: int,
    n_games: int,
    sorter: ValueNet | None = None,
) -> Round:
    """Play some games of a plan in this thread, from number first_game on, and work out targets."""
    if plan.luck_adjusted:
        return _play_exact_chunk(net, plan, first_game, n_games, sorter)
    states = game_states(plan.seed, first_game, n_games)
    starts, are_openings, _ = _starts(plan, first_game, n_games)
    weights, switches = scoring_weights(plan.rules), play_switches(plan.rules)
    work = new_work(net.contact, net.race, MAX_PLAYS, scheme=net.scheme)
    scratch = new_play_scratch()
    n_rows = n_games * _PLIES_EXPECTED + MAX_PLIES
    boards = np.empty((n_rows, 26), dtype=np.int8)
    values = np.empty((n_rows, 5), dtype=np.float32)
    flags = np.empty(n_rows, dtype=np.uint8)
    ends = np.zeros(n_games, dtype=np.int64)
    done = 0
    while True:
        done = play_games(
            net.contact,
            net.race,
            states,
            done,
            starts,
            are_openings,
            weights,
            switches,
            plan.explore,
            plan.loss_scale,
            plan.random_openings,
            plan.random_plies,
            work,
            scratch,
            boards,
            values,
            flags,
            ends,
        )
        if done == n_games:
            break
        more = len(boards)
        boards = np.concatenate([boards, np.empty((more, 26), dtype=np.int8)])
        values = np.concatenate([values, np.empty((more, 5), dtype=np.float32)])
        flags = np.concatenate([flags, np.empty(more, dtype=np.uint8)])
    n = int(ends[-1])
    boards = boards[:n].copy()
    targets = np.empty((n, 5), dtype=np.float32)
    lambda_returns(values, flags, ends, np.float32(plan.lambda_), targets)
    if plan.expected > 0:
        sequence = np.random.SeedSequence(plan.seed, spawn_key=(_SALT_EXPECTED + first_game,))
        draws = np.random.Generator(np.random.PCG64(sequence)).random(n)
        chosen = np.flatnonzero(draws < plan.expected)
        expected_values(
            net.contact, net.race, boards, chosen, weights, switches, work, scratch, targets
        )
    return Round(boards, targets, np.ones(n, dtype=np.float32), n_games)


@dataclass(frozen=True)
class ExactGames:
    """What was recorded of games in which every position was backed up over all rolls."""

    boards: NDArray[np.int8]
    """`(N, 26)`, seen by the side on roll, game after game."""
    values: NDArray[np.float32]
    """`(N, 5)`, of the afterstate played to, for the side on roll there."""
    backups: NDArray[np.float32]
    """`(N, 5)`, for the side on roll."""
    ends: NDArray[np.int64]
    """`(G,)` rows after each game."""

    def returns(self, lambdas: NDArray[np.float32]) -> NDArray[np.float32]:
        """Luck-adjusted λ-returns `(N, 5)` for the side on roll, by the λ of each row, `(N,)`."""
        targets = np.empty_like(self.backups)
        adjusted_returns(self.values, self.backups, self.ends, lambdas, targets)
        return targets


def play_exact(
    net: ValueNet,
    plan: RoundPlan,
    first_game: int,
    starts: NDArray[np.int8],
    are_openings: NDArray[np.bool_],
    sorter: ValueNet | None = None,
) -> ExactGames:
    """Play games from boards of their own in this thread, with backups; λ is left to the caller.

    starts: `(G, 26)`, seen by the side on roll; are_openings: `(G,)`, whether the first roll is no
    doublet; first_game: number of the first one, which keys its dice.
    """
    n_games = len(starts)
    large, small = net.playing, (sorter or net).playing
    room = new_room(
        large.contact,
        large.race,
        small.contact,
        small.race,
        load_tables() if fits_rules(plan.rules) else None,
        _NO_CACHE_BYTES,
        5,
        scheme=net.scheme,
    )
    nets = Nets(
        contact=large.contact,
        race=large.race,
        small_contact=small.contact,
        small_race=small.race,
        keep=plan.sorter_keep,
        window=_SORTER_WINDOW,
        weights=scoring_weights(plan.rules),
        two_sided=0,
        switches=play_switches(plan.rules),
        generation=1,
        table=NO_CUBE,
        exact_cube=False,
    )
    rows = _Rows(n_games * _PLIES_EXPECTED + MAX_PLIES)
    states = game_states(plan.seed, first_game, n_games)
    ends = np.zeros(n_games, dtype=np.int64)
    flipped = np.empty((1, 26), dtype=np.int64)
    done = 0
    while done < n_games:
        done = play_exact_games(
            nets,
            room,
            states,
            done,
            starts,
            are_openings,
            plan.explore,
            plan.loss_scale,
            plan.random_openings,
            plan.random_plies,
            plan.races,
            flipped,
            rows.boards,
            rows.values,
            rows.backups,
            ends,
        )
        if done < n_games:
            rows.grow()
    n = int(ends[-1])
    return ExactGames(rows.boards[:n].copy(), rows.values[:n], rows.backups[:n], ends)


def _play_exact_chunk(
    net: ValueNet, plan: RoundPlan, first_game: int, n_games: int, sorter: ValueNet | None
) -> Round:
    """The same with every position backed up over all rolls, and luck taken out of the returns."""
    starts, are_openings, are_drawn = _starts(plan, first_game, n_games)
    played = play_exact(net, plan, first_game, starts, are_openings, sorter)
    boards = played.boards
    lambdas = np.full(len(boards), plan.lambda_, dtype=np.float32)
    of_drawn = np.repeat(are_drawn, np.diff(played.ends, prepend=0))
    kinds = np.empty(len(boards), dtype=np.int64)
    board_kinds(boards, int(net.is_long), kinds)
    if plan.drawn_lambda is not None:
        lambdas[of_drawn] = plan.drawn_lambda
    if plan.race_lambda is not None:
        lambdas[kinds == RACE] = plan.race_lambda
    weights = np.ones(len(boards), dtype=np.float32)
    weights[of_drawn & (kinds != RACE)] = plan.drawn_weight
    return Round(boards, played.returns(lambdas), weights, n_games)


def _starts(
    plan: RoundPlan, first_game: int, n_games: int
) -> tuple[NDArray[np.int8], NDArray[np.bool_], NDArray[np.bool_]]:
    """Boards that games begin with, keyed by the games' numbers, those whose first roll is no
    doublet, since it also told who begins, and those that are drawn."""
    starts = np.repeat(variant_of(plan.rules).start[None], n_games, axis=0)
    are_openings = np.full(n_games, not starter_throws_again(plan.rules))
    are_drawn = np.zeros(n_games, dtype=np.bool_)
    if plan.drawn_starts > 0:
        for i in range(n_games):
            sequence = np.random.SeedSequence(plan.seed, spawn_key=(_SALT_STARTS, first_game + i))
            generator = np.random.Generator(np.random.PCG64(sequence))
            if generator.random() < plan.drawn_starts:
                starts[i] = drawn_board(generator)
                are_openings[i] = False
                are_drawn[i] = True
    return starts, are_openings, are_drawn


class _Rows:
    """What is recorded of each position of some games."""

    def __init__(self, n: int) -> None:
        self.boards = np.empty((n, 26), dtype=np.int8)
        self.values = np.empty((n, 5), dtype=np.float32)
        self.backups = np.empty((n, 5), dtype=np.float32)

    def grow(self) -> None:
        """Make room for twice as many."""
        for name, array in list(vars(self).items()):
            setattr(self, name, np.concatenate([array, np.empty_like(array)]))
