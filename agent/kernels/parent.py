"""The board before a play, and the play on it, as the opponent sees both: he is valued after it.

Rows are `(B, 28)` int64 as in `agent.kernels.boards`.
"""

from agent.kernels.boards import OPP_OFF, OWN_OFF
from engine.compiled import inlined_kernel
from engine.play_codes import code_num_steps, code_source, code_step_die
from engine.sides import OPP_SLOTS

__all__ = ["play_seen_by_opponent", "set_parent"]


@inlined_kernel
def play_seen_by_opponent(boards, i, code, high, low, is_long):
    """Play a mover's code on a board seen by his opponent; returns the slots it touched.

    In long nardi no target holds a checker of the opponent, so nobody is hit.
    """
    touched = 0
    for step in range(code_num_steps(code)):
        source = code_source(code, step)
        target = source - code_step_die(code, step, high, low)
        if source == 25:
            boards[i, 0] -= 1
            touched |= 1
        else:
            slot = OPP_SLOTS[is_long, source]
            boards[i, slot] += 1
            touched |= 1 << slot
        if target <= 0:
            boards[i, OPP_OFF] += 1
            touched |= 1 << OPP_OFF
            continue
        slot = OPP_SLOTS[is_long, target]
        touched |= 1 << slot
        if boards[i, slot] == 1:
            boards[i, slot] = -1
            boards[i, 25] += 1
            touched |= 1 << 25
        else:
            boards[i, slot] -= 1
    return touched


@inlined_kernel
def set_parent(w, is_long, seen, state):
    """Set the board whose plays `evaluate_children` values next: `(26,)` int64, seen by the mover.

    is_long, seen, state: of the scratch that will be used.
    """
    own = 0
    opponent = 0
    for slot in range(1, 25):
        m = -w[OPP_SLOTS[is_long, slot]]
        seen[0, slot] = m
        own += max(m, 0)
        opponent += max(-m, 0)
    seen[0, 0] = w[25]
    seen[0, 25] = w[0]
    seen[0, OWN_OFF] = 15 - own - w[0]
    seen[0, OPP_OFF] = 15 - opponent - w[25]
    state[0] += 1  # the stamp of the difference rows that belong to this parent
    state[1] = 0  # whether its pre-activations are known
