"""All 21 rolls of a position: the best play of each by the net, without looking further.

The board before the plays is the same for all rolls, and so are its first layer and most difference
rows of its plays: they are worked out once. Where there are many plays a small net sorts them and
the full net values only the first of these; it alone decides.
"""

from collections import namedtuple

import numpy as np
from numpy.typing import NDArray

from agent.kernels.parent import set_parent
from agent.kernels.value import evaluate_children
from engine.compiled import bare_kernel, inlined_kernel, kernel
from engine.dice import ROLLS
from engine.house_moves import find_house_plays, may_bite
from engine.long_moves import find_long_codes
from engine.play_codes import MAX_PLAYS
from engine.short_moves import find_codes

__all__ = ["Nets", "Room", "best_replies", "find_plays", "new_play_scratch"]

Nets = namedtuple(
    "Nets",
    "contact race small_contact small_race keep window weights two_sided switches generation"
    " table exact_cube",
)
"""What values and chooses: the net and the small one that sorts, `NetArrays` each; keep int: how
many of the sorted plays the net values, 0 = all, without sorting; window float32: and only those
this close to the first by the small net; weights (2, 6) float32, see `agent.kernels.value`;
two_sided int: 1 if they tell the sides apart, else 0; switches: `engine.variant.PlaySwitches` of
the rules; generation int: a number of its own for all that values depend on, which keeps their
entries of the cache apart; table: `CubeTable`, of no states where the cube is not asked for;
exact_cube bool: whether the exact money equities of the tables of endings hold for it."""

_AS_THE_BOARD_TELLS = np.int64(-1)  # of `engine.turn_context`

Room = namedtuple("Room", "tree cache work small_work")
"""What one thread writes to: buffers and cache (`agent.kernels.tree`), scratch of both nets."""


def new_play_scratch() -> NDArray[np.int64]:
    """Scratch of `find_plays`, one for each thread: `(11, MAX_PLAYS)` int64."""
    return np.empty((11, MAX_PLAYS), dtype=np.int64)


@kernel
def _house_codes(w, high, low, ban_hide, bear_off_ban, codes):
    _, found, n = find_house_plays(w, high, low, ban_hide, bear_off_ban)
    for i in range(n):
        codes[i] = found[i]
    return n


@bare_kernel
def find_plays(w, high, low, switches, scratch):
    """Codes of the distinct legal plays of either game, in lexicographic order, to scratch[1].

    switches: `engine.variant.PlaySwitches`; the exceptions of a player's first turn in long nardi
    are read off the board. Returns their number. A pass is the one play 0, of no steps.
    """
    ban_hide = switches.ban_hide
    bear_off_ban = switches.bear_off_ban
    if switches.is_long:
        n = find_long_codes(
            w,
            high,
            low,
            switches.head_exception,
            switches.block_rule,
            switches.at_turn,
            _AS_THE_BOARD_TELLS,
            scratch,
        )
    elif (ban_hide or bear_off_ban) and may_bite(w, high, low, ban_hide, bear_off_ban):
        n = _house_codes(w, high, low, ban_hide, bear_off_ban, scratch[1])
    else:
        n = find_codes(w, high, low, scratch)
    if n == 0:
        scratch[1, 0] = 0
        n = 1
    return n


@bare_kernel
def _keep_best(codes, equity, n, keep, window):
    """Move the codes of highest equity to the front, their order kept; returns how many."""
    best = equity[0]
    for i in range(1, n):
        best = max(best, equity[i])
    least = best
    for _ in range(keep - 1):
        below = np.float32(-1e30)
        for i in range(n):
            if equity[i] < least and equity[i] > below:
                below = equity[i]
        if below < best - window:
            break
        least = below
    kept = 0
    for i in range(n):
        if equity[i] >= least:
            codes[kept] = codes[i]
            kept += 1
    return kept


@inlined_kernel
def best_replies(nets, room, boards, level, side, first, last, codes, probs):
    """Best play of rolls first to last - 1 of `engine.dice.ROLLS`, by the net.

    boards[level]: `(26,)` int64 board seen by the mover; side: his, 0 or 1. Written are
    codes[level, roll] and probs[level, roll]: the probabilities of his opponent, on roll after it.
    """
    w = boards[level]
    scratch = room.tree.scratch
    work = room.work
    small_work = room.small_work
    set_parent(w, work.is_long, work.seen, work.state)
    if nets.keep > 0:
        set_parent(w, small_work.is_long, small_work.seen, small_work.state)
    found = scratch[1]
    pass_roll = -1
    for roll in range(first, last):
        high = np.int64(ROLLS[roll, 0])
        low = np.int64(ROLLS[roll, 1])
        n = find_plays(w, high, low, nets.switches, scratch)
        if found[0] == 0 and pass_roll >= 0:
            codes[level, roll] = 0
            for k in range(5):
                probs[level, roll, k] = probs[level, pass_roll, k]
            continue
        if found[0] == 0:
            pass_roll = roll
        if nets.keep > 0 and n > nets.keep:
            evaluate_children(
                nets.small_contact,
                nets.small_race,
                found,
                n,
                high,
                low,
                nets.weights,
                1 - side,
                small_work,
            )
            n = _keep_best(found, small_work.equity, n, nets.keep, nets.window)
        room.cache.counts[2] += n
        best = evaluate_children(
            nets.contact, nets.race, found, n, high, low, nets.weights, 1 - side, work
        )
        codes[level, roll] = found[best]
        for k in range(5):
            probs[level, roll, k] = work.probs[best, k]
