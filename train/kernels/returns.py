"""Compiled forward-view λ-returns of finished games."""

from engine.compiled import kernel
from train.kernels.selfplay import EXPLORED

__all__ = ["lambda_returns"]


@kernel
def lambda_returns(values, flags, ends, lambda_, targets):
    """Write the λ-return of every recorded ply, for the side on roll.

    values: `(N, 5)`, the value of the best afterstate of each ply, for the side on roll *after* it
    (exact where the game ended); flags: `(N,)`; ends: `(G,)` rows after each game; targets:
    `(N, 5)`, written. With swap the change of sides,

        G_t = swap((1 - λ) V_t+1 + λ G_t+1),   G_t = swap(V_t+1) at the last ply or if t explored.
    """
    first = 0
    for game in range(len(ends)):
        for row in range(ends[game] - 1, first - 1, -1):
            if row == ends[game] - 1 or flags[row] == EXPLORED:
                win = values[row, 0]
                win_gammon = values[row, 1]
                win_bg = values[row, 2]
                lose_gammon = values[row, 3]
                lose_bg = values[row, 4]
            else:
                keep = 1 - lambda_
                win = keep * values[row, 0] + lambda_ * targets[row + 1, 0]
                win_gammon = keep * values[row, 1] + lambda_ * targets[row + 1, 1]
                win_bg = keep * values[row, 2] + lambda_ * targets[row + 1, 2]
                lose_gammon = keep * values[row, 3] + lambda_ * targets[row + 1, 3]
                lose_bg = keep * values[row, 4] + lambda_ * targets[row + 1, 4]
            targets[row, 0] = 1 - win
            targets[row, 1] = lose_gammon
            targets[row, 2] = lose_bg
            targets[row, 3] = win_gammon
            targets[row, 4] = win_bg
        first = ends[game]
