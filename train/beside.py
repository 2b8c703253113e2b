"""Nets that learn beside the settled one, and the one net that is made of all."""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from agent.joining import join_nets
from agent.net import ValueNet
from train.learner import Learner, LearnReport
from train.progress import Positions

__all__ = ["learn_together", "one_net"]


def learn_together(
    settled: Learner,
    beside: Sequence[Learner],
    positions: Positions,
    order: NDArray[np.int64],
    rate: float,
    *,
    workers: int,
) -> LearnReport:
    """As `Learner.learn`, of all, in up to `workers` threads; gives the settled one's report.

    Each has a thread of its own; a net that learns alone has all of them. Those beside the settled
    one learn contact alone: races are that net's. Raises DivergedError.
    """
    boards, targets, weights = positions
    with ThreadPoolExecutor(max_workers=workers) as executor:
        if not beside:
            threads = executor if workers > 1 else None
            return settled.learn(boards, targets, order, rate, executor=threads, weights=weights)
        report = executor.submit(settled.learn, boards, targets, order, rate, weights=weights)
        others = [
            executor.submit(
                learner.learn, boards, targets, order, rate, ("contact",), weights=weights
            )
            for learner in beside
        ]
        for other in others:
            other.result()
    for learner in beside:
        learner.check_finite()
    return report.result()


def one_net(settled: Learner, beside: Sequence[Learner]) -> ValueNet:
    """The averaged weights of all as groups of one net, with the settled one's race net."""
    net = settled.averaged()
    for learner in beside:
        net = join_nets(net, dataclasses.replace(learner.averaged(), race=net.race))
    return net
