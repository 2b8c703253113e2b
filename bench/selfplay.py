"""Speed of self-play and of training by net shape, per second of one core, and where it goes.

    python bench/selfplay.py [--games 3000] [--seed 1] [--game long]

Each shape is trained for some thousand games first, so that what is timed are games as a net plays
them and not the endless ones of random weights. CPU seconds of one thread; the rows of one run can
be compared with each other, those of two runs on a busy machine hardly. "all in" is a thread that
plays and learns by turns, as a two-core run does on both cores.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from agent.evaluator import Evaluator
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.dice import game_generator, roll_dice
from engine.features import expert_inputs
from engine.moves import legal_afterstates_batch
from engine.rules import INTERNATIONAL, LONG_NARDI, Rules
from engine.variant import variant_of
from train.config import CheckConfig, LearnConfig, SelfPlayConfig, StageConfig, TrainConfig
from train.learner import Learner
from train.loop import Trainer
from train.selfplay import Round, RoundPlan, play_chunk

SHAPES = {
    "128": NetConfig(pairs=False, experts="none", hidden=0),
    "128 + experts": NetConfig(pairs=False, hidden=0),
    "128-32 + experts": NetConfig(pairs=False),
    "128-32, pairs": NetConfig(experts="none"),
    "128-32, pairs + experts": NetConfig(),
    "the same, 9 tails": NetConfig(tails="back9"),
    "the same, 25 tails": NetConfig(tails="back25"),
    "256-32, pairs + experts": NetConfig(width=256),
}
REPEATS = 3


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU seconds of this thread, the least of some runs."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best


def trained_net(shape: NetConfig, games: int, seed: int, rules: Rules) -> ValueNet:
    """A net of this shape after some games."""
    config = TrainConfig(
        seed=seed,
        rules=str(rules),
        net=ValueNetConfig(contact=shape),
        selfplay=SelfPlayConfig(games_per_round=250),
        learn=LearnConfig(batch=256, average=0.99),
        stage=(StageConfig(games=games, lambda_=(0.9, 0.8), rate=(3e-3, 2e-3)),),
        checks=CheckConfig(opponents=("random",)),
    )
    net = new_value_net(config.net, np.random.default_rng(seed), rules.game)
    trainer = Trainer(config, net, workers=2)
    trainer.run(lambda progress: True)
    return trainer.net()


def play(net: ValueNet, games: int, seed: int, rules: Rules) -> Round:
    """Games of a net against itself, in this thread."""
    plan = RoundPlan(
        seed=seed,
        first_game=0,
        games=games,
        games_per_call=games,
        lambda_=0.7,
        explore=0.0,
        random_openings=0.1,
        random_plies=8,
        expected=0.0,
        rules=rules,
    )
    return play_chunk(net, plan, 0, games)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--games", type=int, default=3000, help="games of training before timing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--game", choices=("short", "long"), default="short")
    args = parser.parse_args()
    rules = LONG_NARDI if args.game == "long" else INTERNATIONAL
    torch.set_num_threads(1)

    print(f"{'':26}{'self-play':>10}{'all in':>9}{'learning':>13}{'ns for each afterstate':>26}")
    print(
        f"{'shape':26}{'games/s':>10}{'games/s':>9}{'positions/s':>13}"
        f"{'all':>8}{'moves':>7}{'experts':>9}{'plies':>7}"
    )
    for name, shape in SHAPES.items():
        if rules.game == "long" and shape.num_experts:
            continue  # they are of short nardi
        net = trained_net(shape, args.games, args.seed, rules)
        games = 200
        played = play(net, games, args.seed, rules)
        n = len(played.boards)
        rolls = roll_dice(game_generator(args.seed, 0), n)
        afterstates, _ = legal_afterstates_batch(played.boards, rolls, rules)
        assert n > 20 * games, "games of a trained net have more plies than this"
        chosen = Evaluator(net).choose(played.boards, rolls)
        assert chosen.shape == played.boards.shape

        play_time = cpu_seconds(lambda net=net, k=games: play(net, k, args.seed, rules))
        moves = cpu_seconds(lambda b=played.boards, r=rolls: legal_afterstates_batch(b, r, rules))
        seen = variant_of(rules).flip(afterstates[:50_000])
        experts = 0.0
        if shape.num_experts:
            experts = cpu_seconds(lambda s=seen, x=shape.experts: expert_inputs(x, s)) / len(seen)
        learner = Learner(net, LearnConfig(batch=512))
        order = np.random.default_rng(args.seed).permutation(n)
        learn = cpu_seconds(
            lambda p=played, o=order, w=learner: w.learn(p.boards, p.targets, o, 1e-6)
        )
        print(
            f"{name:26}{games / play_time:10,.0f}{games / (play_time + learn):9,.0f}"
            f"{n / learn:13,.0f}{1e9 * play_time / len(afterstates):8.0f}"
            f"{1e9 * moves / len(afterstates):7.0f}{1e9 * experts:9.0f}{n / games:7.1f}"
        )


if __name__ == "__main__":
    main()
