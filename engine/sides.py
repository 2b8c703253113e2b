"""The other side's view of a board, for compiled code: a mirror, in long nardi half a turn.

Both games go through the same kernels; `is_long`, 0 or 1, tells which one is played.
"""

from typing import Final

import numpy as np

from engine.compiled import inlined_kernel

__all__ = ["OPP_SLOTS", "flip_in_place"]

OPP_SLOTS: Final = np.array(
    [
        [25 - slot for slot in range(26)],
        [25, *(slot + 12 if slot <= 12 else slot - 12 for slot in range(1, 25)), 0],
    ],
    dtype=np.int64,
)
"""`(2, 26)`: the slot that each slot is to the other side, by `is_long`. The bars change places;
in long nardi nobody is on one."""
OPP_SLOTS.setflags(write=False)


@inlined_kernel
def flip_in_place(w, is_long):
    """Turn a board, any indexable of 26 slots, to the other side's view."""
    for slot in range(1, 13):
        opp_slot = OPP_SLOTS[is_long, slot]  # always one of 13 to 24
        other = w[opp_slot]
        w[opp_slot] = -w[slot]
        w[slot] = -other
    bar = w[0]
    w[0] = w[25]
    w[25] = bar
