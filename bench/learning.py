"""Speed of a generation: games whose luck is taken out, and learning from them, by net and threads.

    python bench/learning.py [--nets FILE ...] [--games 60] [--threads 2]

Positions a second of the wall clock. Games are played by the net in 16 and in 32 bits, with the
sorter that comes with nardi leaving 8 plays of a roll or 5; minibatches of 2,048 positions of these
games are learned from by one thread and by several. New weights have the shape that `strong` ends
step 5 with. Rows of one run can be compared with each other, those of two on a busy machine hardly.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from agent.checkpoint import default_net_path, load_net, load_sorter
from agent.net import NetConfig, Playing, ValueNet, ValueNetConfig, new_value_net
from train.config import LearnConfig
from train.learner import Learner
from train.selfplay import RoundPlan, play_chunk

NEW = ValueNetConfig(
    contact=NetConfig(width=256, hidden=128, tails="back25"),
    race=NetConfig(pairs=False, experts="none", hidden=0),
)
BATCH = 2048
REPEATS = 3


def wall_seconds(run: Callable[[], object]) -> float:
    """Seconds, the least of some runs after one that compiles."""
    run()
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def plan(games: int, keep: int) -> RoundPlan:
    """Games as the last generations of `strong` have them."""
    return RoundPlan(
        seed=5,
        first_game=0,
        games=games,
        games_per_call=games,
        lambda_=0.65,
        explore=0.05,
        loss_scale=0.05,
        random_openings=0.2,
        random_plies=12,
        expected=0.0,
        luck_adjusted=True,
        drawn_starts=0.3,
        drawn_lambda=0.95,
        races=0.5,
        race_lambda=1.0,
        sorter_keep=keep,
    )


class InFull(ValueNet):
    """A net that plays from 32 bits, whatever its weights are."""

    @property
    def playing(self) -> Playing:  # type: ignore[override]
        return Playing(self.contact, self.race)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--nets", nargs="*", type=Path, default=[default_net_path()])
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    sorter = load_sorter()
    nets = {path.name: load_net(path) for path in args.nets}
    new = "new weights, 256-128"  # they only learn: random weights would play for ever
    strong = load_net(default_net_path())
    positions = play_chunk(strong, plan(4 * args.games, 1), 0, 4 * args.games, sorter)
    order = np.random.default_rng(1).permutation(len(positions.boards))[: 4 * BATCH]
    for name, net in {new: new_value_net(NEW, np.random.default_rng(1)), **nets}.items():
        print(f"{name}: {net.num_weights():,} weights", flush=True)
        if name != new:
            full = InFull(net.config, net.contact, net.race)
            for bits, player in ((32, full), (16, net.in_half())):
                for keep in (8, 5):
                    played = play_chunk(player, plan(args.games, keep), 0, args.games, sorter)
                    seconds = wall_seconds(
                        lambda p=player, k=keep: play_chunk(
                            p, plan(args.games, k), 0, args.games, sorter
                        )
                    )
                    rate = len(played.boards) / seconds
                    print(f"  one thread plays, {bits} bits, {keep} plays: {rate:8,.0f} a second")
        learner = Learner(net, LearnConfig(batch=BATCH, race_batch=128))
        for threads in (1, args.threads):
            with ThreadPoolExecutor(threads) as executor:
                seconds = wall_seconds(
                    lambda w=learner, n=threads, e=executor: w.learn(
                        positions.boards,
                        positions.targets,
                        order,
                        1e-6,
                        executor=e if n > 1 else None,
                    )
                )
            rate = len(order) / seconds
            print(f"  learning, threads {threads}: {rate:24,.0f} a second", flush=True)


if __name__ == "__main__":
    main()
