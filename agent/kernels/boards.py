"""What the nets' kernels ask of a board: phase, output tail, and the outcomes its rules leave open.

Boards stand in `(B, 28)` int64 arrays, seen by the side on roll: the 26 slots of `engine.board`,
then the owner's and the opponent's borne-off checkers. is_long: 1 for boards of long nardi, else 0.

scheme: what the five outputs of a net tell, 0 for those of short nardi (win, gammon, backgammon), 1
of long nardi (win, gammon), and 2 and 3 for both where wins have four kinds. There the third and
the fifth are a share: a backgammon counts 1 in them and a home gammon 1/2, so that with twice the
weight they give the points that both are worth. `scheme & 1` is `is_long`.
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
_SHORT_THREE, _LONG_TWO, _SHORT_FOUR = (np.int64(scheme) for scheme in range(3))


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
def _far_back_of_long(boards, i, own):
    """Whether a side of long nardi has a checker in its starting quarter."""
    found = False
    for point in range(19, 25):
        if own:
            found = found or boards[i, point] > 0
        else:
            found = found or boards[i, OPP_SLOTS[1, point]] < 0
    return found


@inlined_kernel
def _all_home(boards, i, own, is_long):
    """Whether all checkers that a side has left are on its points 1 to 6."""
    found = boards[i, 25] > 0 if own else boards[i, 0] > 0
    for point in range(7, 25):
        if own:
            found = found or boards[i, point] > 0
        else:
            found = found or boards[i, OPP_SLOTS[is_long, point]] < 0
    return not found


@inlined_kernel
def board_kind(boards, i, is_long):
    """Phase of board i: 0 finished, 1 contact, 2 race."""
    if boards[i, OPP_OFF] == 15 or boards[i, OWN_OFF] == 15:
        return FINISHED
    return CONTACT if _in_contact(boards, i, is_long) else RACE


@inlined_kernel
def _share_of_gammon(boards, i, own, scheme):
    """What the loss of a side that has borne off nothing counts in the third output."""
    if scheme == _SHORT_THREE:
        return np.float32(_far_back(boards, i, own))
    if scheme == _LONG_TWO:
        return np.float32(0)
    if scheme == _SHORT_FOUR:
        caught = boards[i, 25] > 0 if own else boards[i, 0] > 0
    else:
        caught = _far_back_of_long(boards, i, own)
    if caught:
        return np.float32(1)
    return np.float32(0.5) if _all_home(boards, i, own, scheme & 1) else np.float32(0)


@bare_kernel
def finished_probs(boards, i, scheme, probs, row):
    """Write the exact outcome of a finished board to probs[row], for the side on roll."""
    won = boards[i, OWN_OFF] == 15
    gammon = boards[i, OPP_OFF if won else OWN_OFF] == 0
    share = np.float32(0)
    if gammon:
        share = _share_of_gammon(boards, i, not won, scheme)
    probs[row, 0] = won
    probs[row, 1] = won and gammon
    probs[row, 2] = share if won else np.float32(0)
    probs[row, 3] = not won and gammon
    probs[row, 4] = np.float32(0) if won else share


@inlined_kernel
def _most_share(boards, i, own, contact, scheme):
    """Bound of the third output while a side may lose a gammon and the game goes on."""
    if scheme == _SHORT_THREE:
        return np.float32(contact or _far_back(boards, i, own))
    if scheme == _LONG_TWO:
        return np.float32(0)
    caught = contact if scheme == _SHORT_FOUR else _far_back_of_long(boards, i, own)
    return np.float32(1) if caught else np.float32(0.5)


@inlined_kernel
def possible_outcomes(boards, i, contact, scheme, possible, row):
    """Write 1 for each of the five outcomes that a running game still allows, 0 for the others."""
    gammon = boards[i, OPP_OFF] == 0
    opp_gammon = boards[i, OWN_OFF] == 0
    possible[row, 0] = 1
    possible[row, 1] = gammon
    possible[row, 2] = gammon and _most_share(boards, i, False, contact, scheme) > 0
    possible[row, 3] = opp_gammon
    possible[row, 4] = opp_gammon and _most_share(boards, i, True, contact, scheme) > 0


@inlined_kernel
def mask_probs(boards, i, contact, scheme, probs, row):
    """Set what the rules exclude to exactly 0 and keep the probabilities cumulative."""
    if boards[i, OPP_OFF] > 0:
        probs[row, 1] = 0
    if boards[i, OWN_OFF] > 0:
        probs[row, 3] = 0
    win = probs[row, 0]
    probs[row, 1] = min(probs[row, 1], win)
    probs[row, 3] = min(probs[row, 3], 1 - win)
    most = _most_share(boards, i, False, contact, scheme)
    probs[row, 2] = min(probs[row, 2], most * probs[row, 1])
    most = _most_share(boards, i, True, contact, scheme)
    probs[row, 4] = min(probs[row, 4], most * probs[row, 3])
