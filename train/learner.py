"""Fitting a value net to targets: minibatch Adam for both nets, and the averaged weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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

__all__ = ["DivergedError", "LearnReport", "Learner", "pick_device"]

_PARTS = ("contact", "race")
_KIND = {"contact": 1, "race": 2}  # numbers of `board_kinds`


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


class Learner:
    """Weights under training, Adam's moments and the running average. One thread, CPU or GPU."""

    def __init__(self, net: ValueNet, config: LearnConfig, device: str = "cpu") -> None:
        self.config = config
        self.net_config = net.config
        self.game = net.game
        self.four_kinds = net.four_kinds
        self.scheme = net.scheme
        self.device = torch.device(device)
        self.steps = dict.fromkeys(_PARTS, 0)
        self.twins: dict[str, TwinNet] = {}
        self.averages: dict[str, list[Tensor]] = {}
        self.optimizers: dict[str, torch.optim.Adam] = {}
        for part in _PARTS:
            twin = TwinNet(getattr(net.config, part), getattr(net, part)).to(self.device)
            self.twins[part] = twin
            self.averages[part] = [p.detach().clone() for p in twin.parameters()]
            share = config.race_rate if part == "race" else 1.0
            groups = [
                {
                    "params": [p for name, p in twin.named_parameters() if name != "pairs"],
                    "share": share,
                },
                {"params": [twin.get_parameter("pairs")], "share": share * config.pair_rate},
            ]
            self.optimizers[part] = torch.optim.Adam(groups, lr=1e-3, fused=True)

    def learn(
        self,
        boards: NDArray[np.int8],
        targets: NDArray[np.float32],
        order: NDArray[np.int64],
        rate: float,
        parts: Sequence[str] = _PARTS,
    ) -> LearnReport:
        """One pass over positions: boards `(N, 26)`, targets `(N, 5)`, in the order given.

        rate: Adam's step size; parts: the nets that learn. Raises DivergedError at the first loss
        that is not finite.
        """
        kinds = np.empty(len(boards), dtype=np.int64)
        board_kinds(boards, int(self.game == "long"), kinds)
        losses = dict.fromkeys(_PARTS, 0.0)
        counts = dict.fromkeys(_PARTS, 0)
        for part in parts:
            chosen = order[kinds[order] == _KIND[part]]
            for group in self.optimizers[part].param_groups:
                group["lr"] = rate * group["share"]
            size = self.config.batch
            if part == "race" and self.config.race_batch is not None:
                size = self.config.race_batch
            for first in range(0, len(chosen), size):
                rows = chosen[first : first + size]
                losses[part] += self._step(part, boards, targets, rows) * len(rows)
            counts[part] = len(chosen)
        return LearnReport(
            positions=sum(counts.values()),
            loss=losses["contact"] / max(counts["contact"], 1),
            race_loss=losses["race"] / max(counts["race"], 1),
        )

    def _step(
        self,
        part: str,
        boards: NDArray[np.int8],
        targets: NDArray[np.float32],
        rows: NDArray[np.int64],
    ) -> float:
        twin, optimizer = self.twins[part], self.optimizers[part]
        batch = encode_batch(
            boards, rows, twin.config, contact=part == "contact", scheme=self.scheme
        )
        logits = twin(batch)
        wanted = torch.from_numpy(targets[rows]).to(self.device)
        # Written out, since targets may lie outside 0..1: the gradient, p - target, is right there.
        losses = torch.nn.functional.softplus(logits) - logits * wanted
        loss = (losses * batch.possible.to(self.device)).sum() / len(rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        self.steps[part] += 1
        # The average warms up: early weights are not worth remembering.
        decay = min(self.config.average, self.steps[part] / (self.steps[part] + 10))
        torch._foreach_lerp_(
            self.averages[part], [p.detach() for p in twin.parameters()], 1 - decay
        )
        value = float(loss.detach())
        if not np.isfinite(value):
            raise DivergedError(
                f"the loss of the {part} net became {value} at step {self.steps[part]}"
            )
        return value

    def restart(self) -> None:
        """Go on from the averaged weights, with Adam's moments and the averages begun anew."""
        with torch.no_grad():
            for part in _PARTS:
                self.steps[part] = 0
                self.optimizers[part].state.clear()
                for p, average in zip(
                    self.twins[part].parameters(), self.averages[part], strict=True
                ):
                    p.copy_(average)

    def check_finite(self) -> None:
        """Raise DivergedError if a weight or averaged weight is not finite."""
        for part in _PARTS:
            named = self.twins[part].named_parameters()
            for (name, p), average in zip(named, self.averages[part], strict=True):
                if not bool(torch.isfinite(p).all() and torch.isfinite(average).all()):
                    raise DivergedError(f"weights '{part}/{name}' are not finite any more")

    def averaged(self, facts: dict[str, Any] | None = None) -> ValueNet:
        """A copy of the averaged weights, as a net that plays."""
        parts = {}
        for part in _PARTS:
            names = list(array_shapes(self.twins[part].config))
            arrays = [p.cpu().numpy().copy() for p in self.averages[part]]
            parts[part] = NetArrays(**dict(zip(names, arrays, strict=True)))
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
        for part in _PARTS:
            twin, optimizer = self.twins[part], self.optimizers[part]
            state[f"{part}/steps"] = np.array([self.steps[part]], dtype=np.int64)
            for (name, p), average in zip(
                twin.named_parameters(), self.averages[part], strict=True
            ):
                state[f"{part}/weight/{name}"] = p.detach().cpu().numpy().copy()
                state[f"{part}/average/{name}"] = average.cpu().numpy().copy()
                moments = optimizer.state.get(p, {})
                for moment in ("exp_avg", "exp_avg_sq", "step"):
                    if moment in moments:
                        state[f"{part}/{moment}/{name}"] = np.atleast_1d(
                            moments[moment].cpu().numpy().copy()
                        )
        return state

    def load_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave. Raises KeyError or ValueError if it is another net's."""
        for part in _PARTS:
            twin, optimizer = self.twins[part], self.optimizers[part]
            self.steps[part] = int(state[f"{part}/steps"][0])
            optimizer.state.clear()  # a state from before the first step has no moments
            with torch.no_grad():
                for (name, p), average in zip(
                    twin.named_parameters(), self.averages[part], strict=True
                ):
                    weight = state[f"{part}/weight/{name}"]
                    if weight.shape != tuple(p.shape):
                        raise ValueError(
                            f"state '{part}/weight/{name}' has shape {weight.shape}, the net"
                            f" {tuple(p.shape)}"
                        )
                    p.copy_(torch.from_numpy(weight))
                    average.copy_(torch.from_numpy(state[f"{part}/average/{name}"]))
                    if f"{part}/step/{name}" in state:
                        step = state[f"{part}/step/{name}"][0]
                        optimizer.state[p] = {"step": torch.tensor(step, device=p.device)}
                        for moment in ("exp_avg", "exp_avg_sq"):
                            optimizer.state[p][moment] = torch.tensor(
                                state[f"{part}/{moment}/{name}"], device=p.device
                            )
