"""CPU time that telling the luck takes a game, beside the time of the two raw nets that play it.

python bench/luck.py [--games N] [--seed S]
"""

import argparse
import time

import numpy as np

from agent.bot import load_bot
from eval.lockstep import Turns, play_games
from eval.luck import GameLuck, load_luck_meter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=128, help="in each of three rounds, even")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    bots, meter = (load_bot("net"), load_bot("net")), load_luck_meter(None)
    n_streams = args.games // 2

    def milliseconds(first: int, n: int) -> tuple[float, float]:
        """Of luck, and of all else, a game."""
        luck, spent = GameLuck(meter, n, 2), 0.0

        def watch(turns: Turns) -> None:
            nonlocal spent
            begin = time.thread_time()
            luck.watch(turns)
            spent += time.thread_time() - begin

        begin = time.thread_time()
        played = play_games(bots, args.seed, first, n, watch=watch)
        whole = time.thread_time() - begin
        assert played.points.shape == (n, 2)
        assert played.n_unfinished == 0
        return 500 * spent / n, 500 * (whole - spent) / n

    milliseconds(3 * n_streams, 1)  # compiles
    rounds = np.array([milliseconds(i * n_streams, n_streams) for i in range(3)])
    told, play = np.median(rounds, axis=0)
    ratio = f"{told / play:.1f} times"
    print(f"luck {told:.1f} ms of CPU time a game, playing it {play:.1f} ms: {ratio}")


if __name__ == "__main__":
    main()
