"""The torch twin of `agent.net`: the same net as something that can be fitted.

The sparse first layer is an autograd function whose gather and scatter are compiled on the CPU; on
other devices it is torch's embedding bag. Everything behind it is plain torch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agent.kernels.value import NetArrays
from agent.net import NetConfig, array_shapes
from train.kernels.rows import MAX_PAIR_ROWS, MAX_POINT_ROWS, encode, gather, scatter

__all__ = ["Batch", "TwinNet", "encode_batch"]


@dataclass(frozen=True)
class Batch:
    """What a net takes of B boards; arrays of `train.kernels.rows.encode`."""

    points: NDArray[np.int64]
    n_points: NDArray[np.int64]
    pairs: NDArray[np.int64]
    n_pairs: NDArray[np.int64]
    experts: Tensor
    tails: Tensor
    possible: Tensor
    """`(B, 5)`, 1 for outcomes that the rules leave open, 0 for others."""


def encode_batch(
    boards: NDArray[np.int8],
    order: NDArray[np.int64],
    config: NetConfig,
    *,
    contact: bool,
    scheme: int = 0,
) -> Batch:
    """Encode boards[order] for a net; boards `(N, 26)` int8 seen by the side on roll.

    contact: whether it is the net for contact; scheme: what the outputs tell, see
    `agent.kernels.boards`.
    """
    n = len(order)
    points = np.empty((n, MAX_POINT_ROWS), dtype=np.int64)
    pairs = np.empty((n, MAX_PAIR_ROWS if config.pairs else 1), dtype=np.int64)
    n_points = np.empty(n, dtype=np.int64)
    n_pairs = np.empty(n, dtype=np.int64)
    experts = np.empty((n, config.num_experts), dtype=np.float32)
    tails = np.empty(n, dtype=np.int64)
    possible = np.empty((n, 5), dtype=np.float32)
    encode(
        boards,
        order,
        contact,
        config.pairs,
        config.num_tails,
        scheme,
        points,
        pairs,
        n_points,
        n_pairs,
        experts,
        tails,
        possible,
    )
    return Batch(
        points,
        n_points,
        pairs,
        n_pairs,
        torch.from_numpy(experts),
        torch.from_numpy(tails),
        torch.from_numpy(possible),
    )


class _FirstLayer(torch.autograd.Function):
    """Sum of the rows each board lights, and its gradient; CPU only."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, pairs: Tensor, bias: Tensor, batch: Batch) -> Tensor:
        x = np.empty((len(batch.n_points), len(bias)), dtype=np.float32)
        x[:] = bias.detach().numpy()
        gather(points.detach().numpy(), batch.points, batch.n_points, x)
        if len(pairs):
            gather(pairs.detach().numpy(), batch.pairs, batch.n_pairs, x)
        ctx.batch = batch
        ctx.n_rows = len(points), len(pairs)
        return torch.from_numpy(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (grad_x,) = grads
        batch: Batch = ctx.batch
        grad_out = grad_x.contiguous().numpy()
        width = grad_out.shape[1]
        n_points, n_pairs = ctx.n_rows
        grad_points = torch.zeros(n_points, width)
        scatter(grad_out, batch.points, batch.n_points, grad_points.numpy())
        grad_pairs = torch.zeros(n_pairs, width)
        if n_pairs:
            scatter(grad_out, batch.pairs, batch.n_pairs, grad_pairs.numpy())
        return grad_points, grad_pairs, grad_x.sum(0), None


class TwinNet(nn.Module):
    """One net of a value net, with the arrays of `NetArrays` as parameters of the same names."""

    def __init__(self, config: NetConfig, arrays: NetArrays) -> None:
        super().__init__()
        self.config = config
        for name in array_shapes(config):
            array = np.array(getattr(arrays, name), dtype=np.float32)
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array)))

    def arrays(self) -> NetArrays:
        """A copy of the weights for `agent.net`."""
        return NetArrays(
            **{
                name: getattr(self, name).detach().cpu().numpy().copy()
                for name in array_shapes(self.config)
            }
        )

    def _first_layer(self, batch: Batch) -> Tensor:
        points: Tensor = self.get_parameter("points")
        pairs: Tensor = self.get_parameter("pairs")
        bias: Tensor = self.get_parameter("bias")
        if points.device.type == "cpu":
            x: Tensor = _FirstLayer.apply(points, pairs, bias, batch)  # type: ignore[no-untyped-call]
            return x
        x = bias + _bag(points, batch.points, batch.n_points)
        return x + _bag(pairs, batch.pairs, batch.n_pairs) if len(pairs) else x

    def forward(self, batch: Batch) -> Tensor:
        """Logits `(B, 5)` of the five outcomes, before masks."""
        device = self.get_parameter("bias").device
        x = torch.relu(self._first_layer(batch))
        groups, width = self.config.groups, self.config.width
        if self.config.num_experts:
            x = torch.cat([x, batch.experts.to(device)], 1)
        # Taken apart at once: the gradient of a tail taken by number is as large as that of all.
        w2, b2, w3, b3 = (self.get_parameter(name).unbind() for name in ("w2", "b2", "w3", "b3"))

        def tail_of(part: Tensor, tail: int) -> Tensor:
            if groups == 1:
                z = torch.addmm(b2[tail], part, w2[tail])
            else:
                units = part[:, :width].chunk(groups, 1)
                experts = part[:, width:]
                first = tail * groups
                z = torch.cat(
                    [
                        torch.addmm(b2[first + g], torch.cat([units[g], experts], 1), w2[first + g])
                        for g in range(groups)
                    ],
                    1,
                )
            return torch.addmm(b3[tail], torch.relu(z), w3[tail]) if self.config.hidden else z

        if self.config.num_tails == 1:
            return tail_of(x, 0)
        # All boards of a tail together, then back into their order.
        tails = batch.tails.to(device)
        order = torch.argsort(tails, stable=True)
        counts = torch.bincount(tails, minlength=self.config.num_tails).tolist()
        outs = [tail_of(part, tail) for tail, part in enumerate(torch.split(x[order], counts))]
        return torch.cat(outs)[torch.argsort(order, stable=True)]


def _bag(weights: Tensor, rows: NDArray[np.int64], n_rows: NDArray[np.int64]) -> Tensor:
    lit = np.arange(rows.shape[1])[None, :] < n_rows[:, None]
    offsets = np.concatenate([[0], np.cumsum(n_rows)[:-1]])
    return nn.functional.embedding_bag(
        torch.from_numpy(rows[lit]).to(weights.device),
        weights,
        torch.from_numpy(offsets).to(weights.device),
        mode="sum",
    )
