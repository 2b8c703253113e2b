"""Fitting a value net to targets: minibatch Adam for both nets, and the averaged weights.

Threads share a minibatch: first each works out the gradient of some of its positions, then each
steps some of the weights. Who takes what is the threads' affair, what there is to take is fixed, so
the weights are the same for any number of them.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agent.kernels.value import NetArrays
from agent.net import ValueNet, array_shapes
from engine.errors import ConfigError, NardiError
from train.config import LearnConfig
from train.kernels.rows import board_kinds
from train.model import TwinNet, encode_batch
from train.progress import Positions

__all__ = ["DivergedError", "LearnReport", "Learner", "pick_device"]

_PARTS = ("contact", "race")
_KIND = {"contact": 1, "race": 2}  # numbers of `board_kinds`
_PIECE: Final = 1024  # positions of a minibatch whose gradient is worked out at once, on the CPU
_BLOCK: Final = 1 << 21  # weights that are stepped at once
_LINE: Final = 64  # blocks end at multiples of it, where no vector register's worth is cut
_MOMENTS: Final = ("exp_avg", "exp_avg_sq")


class DivergedError(NardiError):
    """A loss or weight stopped being finite; the run cannot go on from there."""


def pick_device(asked: str) -> str:
    """The device to fit weights on, "cpu" or "cuda"; asked may be "auto". Raises ConfigError."""
    has_cuda = torch.cuda.is_available()
    if asked == "cuda" and not has_cuda:
        raise ConfigError("device 'cuda': torch finds no GPU here; accepted: cpu")
    return "cuda" if has_cuda and asked != "cpu" else "cpu"


@dataclass(frozen=True, kw_only=True)
class LearnReport:
    """What one round of learning did."""

    positions: int
    """Positions learned from, of both phases."""
    loss: float
    """Mean over positions of the cross entropy, summed over the five outputs, contact net."""
    race_loss: float
    """The same of the race net."""


@dataclass(frozen=True)
class _Slice:
    """Some weights of one array, as views into flat arrays."""

    array: int
    """Number of the array among the net's parameters."""
    place: slice
    weights: Tensor
    average: Tensor


class _Fit:
    """The weights of one of the two nets under training, with Adam's moments and their average."""

    def __init__(self, twin: TwinNet, shares: dict[str, float]) -> None:
        """shares: of the step size that an array of weights takes, where it is not 1."""
        self.twin = twin
        self.steps = 0
        self.names = [name for name, _ in twin.named_parameters()]
        self.weights = [p.detach() for p in twin.parameters()]
        self.averages = [p.clone() for p in self.weights]
        self.moments = [{m: torch.zeros_like(p) for m in _MOMENTS} for p in self.weights]
        self.blocks: list[tuple[list[_Slice], torch.optim.Adam]] = []
        for slices in self._blocks():
            groups = [
                {"params": [part.weights], "share": shares.get(self.names[part.array], 1.0)}
                for part in slices
            ]
            self.blocks.append((slices, torch.optim.Adam(groups, lr=1e-3, fused=True)))
        self.set_adam()

    def _blocks(self) -> Iterable[list[_Slice]]:
        block: list[_Slice] = []
        room = _BLOCK
        for number, (weights, average) in enumerate(zip(self.weights, self.averages, strict=True)):
            done, size = 0, weights.numel()
            while done < size:
                end = min(done + room, size)
                if end < size:
                    end -= end % _LINE
                place = slice(done, end)
                if end > done:
                    block.append(
                        _Slice(number, place, weights.view(-1)[place], average.view(-1)[place])
                    )
                room -= end - done
                done = end
                if room < _LINE:
                    yield block
                    block, room = [], _BLOCK
        if block:
            yield block

    def set_adam(self) -> None:
        """Let Adam go on from `moments` and `steps`."""
        for slices, optimizer in self.blocks:
            for part in slices:
                moments = self.moments[part.array]
                optimizer.state[part.weights] = {
                    "step": torch.tensor(float(self.steps), device=part.weights.device),
                    **{m: moments[m].view(-1)[part.place] for m in _MOMENTS},
                }

    def set_rate(self, rate: float) -> None:
        """Let the next steps be of this size."""
        for _, optimizer in self.blocks:
            for group in optimizer.param_groups:
                group["lr"] = rate * group["share"]

    def step_block(
        self, number: int, gradients: Sequence[Sequence[Tensor | None]], decay: float
    ) -> None:
        """Step one block by the sum of some gradients, and let the average follow."""
        slices, optimizer = self.blocks[number]
        for part in slices:
            first, *others = [of_piece[part.array] for of_piece in gradients]
            part.weights.grad = None
            if first is None:  # an array that this shape of net does not use
                continue
            total = first.reshape(-1)[part.place]
            for other in others:
                if other is not None:
                    total += other.reshape(-1)[part.place]
            part.weights.grad = total
        optimizer.step()
        torch._foreach_lerp_(
            [part.average for part in slices], [part.weights for part in slices], 1 - decay
        )


class Learner:
    """Weights under training, Adam's moments and the running average, on the CPU or a GPU."""

    def __init__(self, net: ValueNet, config: LearnConfig, device: str = "cpu") -> None:
        self.config = config
        self.net_config = net.config
        self.game = net.game
        self.four_kinds = net.four_kinds
        self.scheme = net.scheme
        self.device = torch.device(device)
        self.twins: dict[str, TwinNet] = {}
        self._fits: dict[str, _Fit] = {}
        for part in _PARTS:
            twin = TwinNet(getattr(net.config, part), getattr(net, part)).to(self.device)
            share = config.race_rate if part == "race" else 1.0
            shares = dict.fromkeys(array_shapes(twin.config), share)
            shares["pairs"] *= config.pair_rate
            self.twins[part] = twin
            self._fits[part] = _Fit(twin, shares)

    @property
    def steps(self) -> dict[str, int]:
        """Minibatches that each net has learned from."""
        return {part: fit.steps for part, fit in self._fits.items()}

    @property
    def averages(self) -> dict[str, list[Tensor]]:
        """Averages of the weights of each net, in the order of its arrays."""
        return {part: fit.averages for part, fit in self._fits.items()}

    def learn(
        self,
        boards: NDArray[np.int8],
        targets: NDArray[np.float32],
        order: NDArray[np.int64],
        rate: float,
        parts: Sequence[str] = _PARTS,
        executor: Executor | None = None,
        weights: NDArray[np.float32] | None = None,
    ) -> LearnReport:
        """One pass over positions: boards `(N, 26)`, targets `(N, 5)`, in the order given.

        rate: Adam's step size; parts: the nets that learn; executor: threads that share the work of
        large minibatches, None = this one does it all; weights: `(N,)`, what each position counts
        in the loss, None = 1 each. Raises DivergedError at the first loss that is not finite.
        """
        if weights is None:
            weights = np.ones(len(boards), dtype=np.float32)
        positions = Positions(boards, targets, weights)
        kinds = np.empty(len(boards), dtype=np.int64)
        board_kinds(boards, int(self.game == "long"), kinds)
        losses = dict.fromkeys(_PARTS, 0.0)
        counts = dict.fromkeys(_PARTS, 0)
        for part in parts:
            chosen = order[kinds[order] == _KIND[part]]
            self._fits[part].set_rate(rate)
            size = self.config.batch
            if part == "race" and self.config.race_batch is not None:
                size = self.config.race_batch
            for first in range(0, len(chosen), size):
                rows = chosen[first : first + size]
                losses[part] += self._step(part, positions.taken(rows), executor) * len(rows)
            counts[part] = len(chosen)
        return LearnReport(
            positions=sum(counts.values()),
            loss=losses["contact"] / max(counts["contact"], 1),
            race_loss=losses["race"] / max(counts["race"], 1),
        )

    def _step(self, part: str, positions: Positions, executor: Executor | None) -> float:
        fit = self._fits[part]
        n = len(positions.boards)
        size = _PIECE if self.device.type == "cpu" else n
        pieces = [slice(first, first + size) for first in range(0, n, size)]
        found = _each(executor, [partial(self._gradient, part, positions, p) for p in pieces])
        fit.steps += 1
        # The average warms up: early weights are not worth remembering.
        decay = min(self.config.average, fit.steps / (fit.steps + 10))
        gradients = [gradient for _, gradient in found]
        _each(
            executor,
            [partial(fit.step_block, k, gradients, decay) for k in range(len(fit.blocks))],
        )
        value = sum((loss for loss, _ in found), 0.0)
        if not np.isfinite(value):
            raise DivergedError(f"the loss of the {part} net became {value} at step {fit.steps}")
        return value

    def _gradient(
        self, part: str, positions: Positions, piece: slice
    ) -> tuple[float, tuple[Tensor | None, ...]]:
        """What some positions of a minibatch add to its loss, and to its gradient."""
        twin = self.twins[part]
        boards = positions.boards[piece]
        batch = encode_batch(
            boards,
            np.arange(len(boards)),
            twin.config,
            contact=part == "contact",
            scheme=self.scheme,
        )
        logits = twin(batch)
        wanted = torch.from_numpy(positions.targets[piece]).to(self.device)
        # Written out, since targets may lie outside 0..1: the gradient, p - target, is right there.
        losses = torch.nn.functional.softplus(logits) - logits * wanted
        counts = batch.possible * torch.from_numpy(positions.weights[piece])[:, None]
        loss = (losses * counts.to(self.device)).sum() / len(positions.boards)
        gradient = torch.autograd.grad(loss, list(twin.parameters()), allow_unused=True)
        return float(loss.detach()), gradient

    def restart(self) -> None:
        """Go on from the averaged weights, with Adam's moments and the averages begun anew."""
        for fit in self._fits.values():
            fit.steps = 0
            for weights, average, moments in zip(
                fit.weights, fit.averages, fit.moments, strict=True
            ):
                weights.copy_(average)
                for moment in moments.values():
                    moment.zero_()
            fit.set_adam()

    def check_finite(self) -> None:
        """Raise DivergedError if a weight or averaged weight is not finite."""
        for part, fit in self._fits.items():
            for name, weights, average in zip(fit.names, fit.weights, fit.averages, strict=True):
                if not bool(torch.isfinite(weights).all() and torch.isfinite(average).all()):
                    raise DivergedError(f"weights '{part}/{name}' are not finite any more")

    def averaged(self, facts: dict[str, Any] | None = None) -> ValueNet:
        """A copy of the averaged weights, as a net that plays."""
        parts = {}
        for part, fit in self._fits.items():
            arrays = [average.cpu().numpy().copy() for average in fit.averages]
            parts[part] = NetArrays(**dict(zip(fit.names, arrays, strict=True)))
        return ValueNet(
            self.net_config,
            parts["contact"],
            parts["race"],
            facts or {},
            self.game,
            self.four_kinds,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that learning goes on from, as named arrays."""
        state: dict[str, NDArray[Any]] = {}
        for part, fit in self._fits.items():
            state[f"{part}/steps"] = np.array([fit.steps], dtype=np.int64)
            for name, weights, average, moments in zip(
                fit.names, fit.weights, fit.averages, fit.moments, strict=True
            ):
                state[f"{part}/weight/{name}"] = weights.cpu().numpy().copy()
                state[f"{part}/average/{name}"] = average.cpu().numpy().copy()
                if fit.steps:  # before the first step there are no moments
                    for moment, values in moments.items():
                        state[f"{part}/{moment}/{name}"] = values.cpu().numpy().copy()
        return state

    def load_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave. Raises KeyError or ValueError if it is another net's."""
        for part, fit in self._fits.items():
            fit.steps = int(state[f"{part}/steps"][0])
            for name, weights, average, moments in zip(
                fit.names, fit.weights, fit.averages, fit.moments, strict=True
            ):
                kept = state[f"{part}/weight/{name}"]
                if kept.shape != tuple(weights.shape):
                    raise ValueError(
                        f"state '{part}/weight/{name}' has shape {kept.shape}, the net"
                        f" {tuple(weights.shape)}"
                    )
                weights.copy_(torch.from_numpy(kept))
                average.copy_(torch.from_numpy(state[f"{part}/average/{name}"]))
                for moment, values in moments.items():
                    values.zero_()
                    if f"{part}/{moment}/{name}" in state:
                        values.copy_(torch.from_numpy(state[f"{part}/{moment}/{name}"]))
            fit.set_adam()


def _each(executor: Executor | None, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the tasks give, in their order; one alone is not worth another thread."""
    if executor is None or len(tasks) == 1:
        return [task() for task in tasks]
    return [future.result() for future in [executor.submit(task) for task in tasks]]
