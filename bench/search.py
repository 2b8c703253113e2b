"""Speed of choosing plays at 0, 1 and 2 plies: nardi, and gnubg_nn and bgsage where installed.

    python bench/search.py [--positions 300] [--seed 1] [--loss]

The positions are of games that nardi's net plays against itself, every one of them different and
with a roll of more than one play; they are the same for all programs. Each program and depth runs
in a process of its own, so that nothing is in its cache, on one thread; what counts is CPU time.
Plies as GNU Backgammon counts: 0 = the raw net. All look more deeply at few of the plays: nardi by
its `normal` filter, gnubg_nn and bgsage by their own.

--loss also tells what nardi's filter and its sorting of plays inside the tree cost: the mean equity
by which the play chosen is worse than the best of all legal plays by a search of the same depth
without either. That takes some minutes.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.checkpoint import load_net, load_sorter
from agent.evaluator import Evaluator, cubeless_equity, load_evaluator
from agent.net import ValueNet
from agent.search import Searcher
from bench.moves import gnubg_board
from engine.board import NUM_CHECKERS, START, Board, borne_off, flip
from engine.dice import game_generator, roll_dice
from engine.moves import legal_afterstates_batch

Rolls = NDArray[np.int8]
Job = tuple[Board, Rolls, int, Path | None, Path | None]
DEPTHS = (0, 1, 2)
# Plays close enough to be looked at more deeply, and arrays like those that follow.
WARM_UP = (START.copy(), (2, 1))


def positions_of_play(evaluator: Evaluator, n: int, seed: int) -> tuple[Board, Rolls]:
    """`(n, 26)` different boards of games, evenly from all of their turns, and `(n, 2)` rolls."""
    n_games = 64
    generator = game_generator(seed, 0)
    boards = np.tile(START, (n_games, 1))
    all_boards, all_rolls = [], []
    for _ in range(200):
        rolls = roll_dice(generator, n_games)
        all_boards.append(boards)
        all_rolls.append(rolls)
        boards = flip(evaluator.choose(boards, rolls))
        boards[(borne_off(boards) == NUM_CHECKERS) | (borne_off(flip(boards)) == NUM_CHECKERS)] = (
            START
        )
    many, rolls = np.concatenate(all_boards), np.concatenate(all_rolls)
    counts = np.diff(legal_afterstates_batch(many, rolls)[1])
    different = np.unique(many, axis=0, return_index=True)[1]
    usable = generator.permutation(different[counts[different] > 1])[:n]
    assert len(usable) == n, "too few different positions"
    return np.ascontiguousarray(many[usable]), np.ascontiguousarray(rolls[usable])


def our_searcher(net: Path | None, sorter: Path | None) -> Searcher:
    """The searcher that is measured."""
    small: ValueNet | None = load_sorter() if sorter is None else load_net(sorter)
    return Searcher(load_evaluator(net), small)


def timed(run: Callable[[], object], warm_up: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    warm_up()
    start = time.process_time()
    run()
    return time.process_time() - start


def time_nardi(job: Job) -> float:
    boards, rolls, depth, net, sorter = job
    searcher = our_searcher(net, sorter)
    first, roll = WARM_UP
    return timed(
        lambda: searcher.choose(boards, rolls, depth),
        lambda: searcher.choose(first[None], np.array([roll], dtype=np.int8), depth),
    )


def time_gnubg(job: Job) -> float:
    import gnubg_nn

    boards, rolls, depth = job[:3]
    calls = [
        (gnubg_board(b), int(r[0]), int(r[1])) for b, r in zip(boards.tolist(), rolls, strict=True)
    ]
    first, roll = WARM_UP
    return timed(
        lambda: [gnubg_nn.best_move(board, a, b, depth) for board, a, b in calls],
        lambda: gnubg_nn.best_move(gnubg_board(first.tolist()), *roll, depth),
    )


def time_sage(job: Job) -> float:
    import bgsage

    boards, rolls, depth = job[:3]
    analyzer = bgsage.BgBotAnalyzer(eval_level=f"{depth + 1}ply", cubeful=False, parallel_threads=1)
    calls = [(b, int(r[0]), int(r[1])) for b, r in zip(boards.tolist(), rolls, strict=True)]
    first, roll = WARM_UP
    return timed(
        lambda: [analyzer.checker_play(*call) for call in calls],
        lambda: analyzer.checker_play(first.tolist(), *roll),
    )


def alone(work: Callable[[Job], float], job: Job) -> float:
    """Do some work in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(work, job).result()


def loss_of(job: Job) -> NDArray[np.float64]:
    """What the play chosen loses against the best of all by an unfiltered search, `(n,)`."""
    boards, rolls, depth, net, sorter = job
    chosen = our_searcher(net, sorter).choose(boards, rolls, depth)
    everything = Searcher(load_evaluator(net))
    rows, offsets = legal_afterstates_batch(boards, rolls)
    worth = -cubeless_equity(everything.probabilities(flip(rows), depth)).astype(np.float64)
    losses = np.empty(len(boards))
    for i, after in enumerate(chosen):
        own = slice(offsets[i], offsets[i + 1])
        number = int(np.flatnonzero((rows[own] == after).all(axis=1))[0])
        losses[i] = worth[own].max() - worth[own][number]
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--positions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loss", action="store_true", help="what filter and sorter cost, too")
    parser.add_argument("--net", type=Path, help="default: the one nardi brings")
    parser.add_argument("--sorter", type=Path, help="default: the one nardi brings, if any")
    args = parser.parse_args()

    boards, rolls = positions_of_play(load_evaluator(args.net), args.positions, args.seed)
    plays = len(legal_afterstates_batch(boards, rolls)[0])
    print(f"{len(boards)} positions, {plays / len(boards):.1f} plays each; choices per CPU second")
    print(f"{'plies':>5}{'nardi':>12}{'gnubg_nn':>12}{'bgsage':>12}   nardi to the quicker one")
    for depth in DEPTHS:
        job = (boards, rolls, depth, args.net, args.sorter)
        ours = len(boards) / alone(time_nardi, job)
        rates = []
        for module, work in (("gnubg_nn", time_gnubg), ("bgsage", time_sage)):
            try:
                __import__(module)
                rates.append(len(boards) / alone(work, job))
            except ImportError:
                rates.append(0.0)
        told = "".join(f"{rate:12,.1f}" if rate else f"{'-':>12}" for rate in rates)
        ratio = f"{ours / max(rates):10.1f} times" if any(rates) else ""
        print(f"{depth:5}{ours:12,.1f}{told}{ratio}", flush=True)
    if args.loss:
        for depth in DEPTHS[1:]:
            job = (boards, rolls, depth, args.net, args.sorter)
            losses = loss_of(job)
            stderr = losses.std(ddof=1) / len(losses) ** 0.5
            print(
                f"{depth}-ply: the play chosen loses {losses.mean():.5f} ± {stderr:.5f} points"
                f" against the best by an unfiltered search, {(losses > 0).mean():.1%} are others"
            )


if __name__ == "__main__":
    main()
