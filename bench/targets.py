"""How good the targets of a luck-adjusted stage are: against positions with reference equities.

python bench/targets.py --positions FILE [--net NET] [--sorter NET] [--keep N] [--lambda L ...]

From each of --count positions of the file (as of `nardi benchmark --positions`) the net plays
--games games against itself. Their luck-adjusted returns for the first position are what it would
learn from there. Told are, for every lambda, the error of their mean against the reference (the
noise of the mean taken out), its bias for the side that has more checkers back, and the spread of
a single return: what a net would still learn wrongly, and how noisily. It measures and teaches
nothing.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.checkpoint import default_net_path, load_net, load_sorter
from agent.evaluator import Evaluator, cubeless_equity
from eval.references import read_positions
from train.selfplay import RoundPlan, play_exact

Floats = NDArray[np.floating]


def _more_back(boards: NDArray[np.int8]) -> NDArray[np.int64]:
    """1 where the owner has more checkers on the bar and in the other's home, -1 the other."""
    own = np.maximum(boards[:, 19:26], 0).sum(axis=1, dtype=int)
    other = np.maximum(-boards[:, 1:7], 0).sum(axis=1, dtype=int) + boards[:, 0]
    return np.sign(own - other)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--positions", type=Path, required=True)
    parser.add_argument("--net", type=Path, help="default: the net that comes with nardi")
    parser.add_argument("--sorter", type=Path, help="default: the small net that comes with nardi")
    parser.add_argument("--keep", type=int, default=5, help="plays it leaves; 0 = no sorter")
    parser.add_argument("--lambda", dest="lambdas", type=float, nargs="+", default=[0, 0.85, 1])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--games", type=int, default=8, help="from each position")
    parser.add_argument("--explore", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    net = load_net(args.net or default_net_path())
    sorter = load_net(args.sorter) if args.sorter else load_sorter("short")
    positions = read_positions(args.positions)
    generator = np.random.default_rng(args.seed)
    count = min(args.count, len(positions.boards))
    chosen = generator.choice(len(positions.boards), count, replace=False)
    boards = positions.boards[chosen]
    truth = np.where(positions.swapped, -positions.equities, positions.equities)[chosen]
    side = _more_back(boards)
    plan = RoundPlan(
        seed=args.seed,
        first_game=0,
        games=args.games,
        games_per_call=args.games,
        lambda_=1.0,
        explore=args.explore,
        loss_scale=0.05,
        random_openings=0.0,
        random_plies=1,
        expected=0.0,
        luck_adjusted=True,
        sorter_keep=args.keep,
    )

    def targets(number: int) -> Floats:
        """Equities `(L, G)` for the first position of each game."""
        starts = np.repeat(boards[number][np.newaxis], args.games, axis=0)
        no_openings = np.zeros(args.games, dtype=np.bool_)
        first_game = number * args.games
        played = play_exact(net, plan, first_game, starts, no_openings, sorter)
        first = np.concatenate([[0], played.ends[:-1]])
        rows = [np.full(len(played.boards), value, np.float32) for value in args.lambdas]
        return np.array([cubeless_equity(played.returns(row)[first]) for row in rows])

    targets(0)  # compiles
    begin = time.process_time()
    with ThreadPoolExecutor() as executor:
        found = np.array(list(executor.map(targets, range(count))))
    spent = time.process_time() - begin

    def line(name: str, mean: Floats, spread: Floats) -> str:
        error = mean - truth
        noise = np.mean(spread**2) / args.games
        left = max(np.mean(error**2) - noise, 0.0) ** 0.5
        bias = side * error
        return (
            f"{name:12} RMSE {left:.4f}  bias {bias.mean():+.4f} ± {bias.std() / count**0.5:.4f}"
            f"  spread {np.mean(spread**2) ** 0.5:.3f}"
        )

    value = cubeless_equity(Evaluator(net).probabilities(boards))
    print(line("net itself", value, np.zeros(count)))
    for i, lambda_ in enumerate(args.lambdas):
        returns = found[:, i]
        print(line(f"lambda {lambda_:g}", returns.mean(axis=1), returns.std(axis=1, ddof=1)))
    print(f"{count} positions, {args.games} games each, {spent:.1f} s of CPU time")


if __name__ == "__main__":
    main()
