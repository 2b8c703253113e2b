"""What the nets' kernels ask of a board: phase, output tail, and the outcomes its rules leave open.

Boards stand in `(B, 28)` int64 arrays, seen by the side on roll: the 26 slots of `engine.board`,
then the owner's and the opponent's borne-off checkers. is_long: 1 for boards of long nardi, else 0.
"""

import numpy as np

from engine.compiled import bare_kernel, inlined_kernel
from engine.sides import OPP_SLOTS

__all__ = [
    "CONTACT",
    "FINISHED",
    "KNOWN",
    "OPP_OFF",
    "OWN_OFF",
    "RACE",
    "board_kind",
    "finished_probs",
    "mask_probs",
    "num_tail",
    "possible_outcomes",
    "see_board",
]

OWN_OFF = 26
OPP_OFF = 27
# Not bare numbers: each of those has a type of its own, for which callees would be compiled anew.
FINISHED, CONTACT, RACE, KNOWN = (np.int64(kind) for kind in range(4))


@inlined_kernel
def see_board(boards, i, seen, row):
    """Copy board i, 26 slots, to row `row` of `seen` and add both sides' borne-off checkers."""
    own = 0
    opponent = 0
    for slot in range(1, 25):
        n = np.int64(boards[i, slot])
        seen[row, slot] = n
        own += max(n, 0)
        opponent += max(-n, 0)
    seen[row, 0] = boards[i, 0]
    seen[row, 25] = boards[i, 25]
    seen[row, OWN_OFF] = 15 - own - boards[i, 25]
    seen[row, OPP_OFF] = 15 - opponent - boards[i, 0]


@inlined_kernel
def num_tail(boards, i, n_tails, is_long):
    """Number of the output tail, by the checkers each side has back (its 19 to 24 point, bar).

    Of 9: 0-1, 2, 3 or more; of 25: 0, 1, 2, 3, 4 or more; of 1: 0.
    """
    if n_tails == 1:
        return 0
    own = boards[i, 25]
    opponent = boards[i, 0]
    for point in range(19, 25):
        own += max(boards[i, point], 0)
        opponent += max(-boards[i, OPP_SLOTS[is_long, point]], 0)
    if n_tails == 25:
        return 5 * min(own, 4) + min(opponent, 4)
    return 3 * min(max(own - 1, 0), 2) + min(max(opponent - 1, 0), 2)


@inlined_kernel
def _in_contact(boards, i, is_long):
    if is_long:
        # A checker on its owner's points 13 to 24 can still meet one of the other side.
        in_contact = False
        for point in range(1, 13):
            in_contact = in_contact or boards[i, point] < 0 or boards[i, point + 12] > 0
    else:
        rear = 25
        while rear > 0 and boards[i, rear] <= 0:
            rear -= 1
        front = 0
        if boards[i, 0] == 0:
            front = 1
            while front < 25 and boards[i, front] >= 0:
                front += 1
        in_contact = rear > front
    return in_contact


@inlined_kernel
def _far_back(boards, i, own):
    """Whether a side has a checker on the bar or in the other's home board."""
    if own:
        found = boards[i, 25] > 0
        for point in range(19, 25):
            found = found or boards[i, point] > 0
    else:
        found = boards[i, 0] > 0
        for point in range(1, 7):
            found = found or boards[i, point] < 0
    return found


@inlined_kernel
def board_kind(boards, i, is_long):
    """Phase of board i: 0 finished, 1 contact, 2 race."""
    if boards[i, OPP_OFF] == 15 or boards[i, OWN_OFF] == 15:
        return FINISHED
    return CONTACT if _in_contact(boards, i, is_long) else RACE


@bare_kernel
def finished_probs(boards, i, is_long, probs, row):
    """Write the exact outcome of a finished board to probs[row], for the side on roll.

    The nets of long nardi know two kinds of win.
    """
    won = boards[i, OWN_OFF] == 15
    gammon = boards[i, OPP_OFF if won else OWN_OFF] == 0
    backgammon = gammon and not is_long and _far_back(boards, i, not won)
    probs[row, 0] = won
    probs[row, 1] = won and gammon
    probs[row, 2] = won and backgammon
    probs[row, 3] = not won and gammon
    probs[row, 4] = not won and backgammon


@inlined_kernel
def possible_outcomes(boards, i, contact, is_long, possible, row):
    """Write 1 for each of the five outcomes that a running game still allows, 0 for the others."""
    gammon = boards[i, OPP_OFF] == 0
    opp_gammon = boards[i, OWN_OFF] == 0
    possible[row, 0] = 1
    possible[row, 1] = gammon
    possible[row, 2] = gammon and not is_long and (contact or _far_back(boards, i, False))
    possible[row, 3] = opp_gammon
    possible[row, 4] = opp_gammon and not is_long and (contact or _far_back(boards, i, True))


@inlined_kernel
def mask_probs(boards, i, contact, is_long, probs, row):
    """Set what the rules exclude to exactly 0 and keep the probabilities cumulative."""
    if boards[i, OPP_OFF] > 0:
        probs[row, 1] = 0
        probs[row, 2] = 0
    elif is_long or (not contact and not _far_back(boards, i, False)):
        probs[row, 2] = 0
    if boards[i, OWN_OFF] > 0:
        probs[row, 3] = 0
        probs[row, 4] = 0
    elif is_long or (not contact and not _far_back(boards, i, True)):
        probs[row, 4] = 0
    win = probs[row, 0]
    probs[row, 1] = min(probs[row, 1], win)
    probs[row, 2] = min(probs[row, 2], probs[row, 1])
    probs[row, 3] = min(probs[row, 3], 1 - win)
    probs[row, 4] = min(probs[row, 4], probs[row, 3])
