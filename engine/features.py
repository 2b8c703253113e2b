"""What a net sees of a board: named, versioned encoders. Pure functions of the board.

`raw-v1`: one row of the net's first layer per (slot, count). Slots are the 26 of the board and two
more for the checkers each side has borne off. Counts on the board are clipped to -6..6; an empty
slot has no row, so a board lights at most 28 rows, and a play changes a few of them.

`pairs-v1`: besides, one row per pair of slots up to six apart, both not empty, by their two counts
clipped to -3..3: pure interactions, of which a board lights some thirty.

`contact-v1`: 24 expert inputs, the same 12 for the side on roll and then for its opponent. "Side"
is the one the input belongs to, rolls are counted of 36, and a made point holds two or more:

=====  ==========  ===========================================================================
input  range       meaning
=====  ==========  ===========================================================================
0      0 .. 1      rolls that the side's rearmost checker can play whole, past the other's points
1      0 .. 1      1 less the rolls an enemy checker can play whole from the worst spot for it: its
                   bar or the side's points 1 to 9
2      0 .. 1      longest run of made points, up to six / 6
3      0 .. 1      (made points in the home board / 6) squared
4      0 .. 1      rolls that hit a blot of the other side if the side were to roll now
5      0 .. 3.75   blots with an enemy checker behind them / 4
6      0 .. 1      rearmost point / 25 (bar = 25)
7      0 .. 2.5    pips until all checkers are level with the other's rearmost / 152
8      0 .. 2.5    checkers on the bar and on points 19 to 24 / 6
9      0 .. 3      pips that checkers on points 7 to 18 are away from home / 60
10     0 .. 2.25   pip count / 167
11     0 .. 7.5    checkers on the bar / 2
=====  ==========  ===========================================================================

"Can play whole" (inputs 0 and 1): both numbers one after the other, of a double the first two, with
the end and one of the stops not closed; what lies beyond the last point is open, and a side without
checkers can play all rolls. Input 4 knows combinations of both dice, doubles, and that checkers on
the bar enter first. It does not ask whether the rules demand a play of more dice instead: in games
of random play that forbids some 2 of 10,000 such hits.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.board import NUM_CHECKERS, NUM_SLOTS, Board, borne_off, opp_borne_off
from engine.compiled import kernel
from engine.errors import ConfigError
from engine.expert_inputs import NUM_CONTACT_INPUTS, contact_inputs

__all__ = [
    "EXPERT_INPUTS",
    "NUM_PAIR_ROWS",
    "NUM_POINT_ROWS",
    "NUM_SLOTS_SEEN",
    "PAIR_BASE",
    "PAIR_CLIP",
    "PAIR_REACH",
    "PAIR_STATES",
    "POINT_BASE",
    "POINT_CLIP",
    "expert_inputs",
    "num_expert_inputs",
    "seen_slots",
]

POINT_CLIP: Final = 6
PAIR_CLIP: Final = 3
PAIR_REACH: Final = 6
PAIR_STATES: Final = 2 * PAIR_CLIP + 1
NUM_SLOTS_SEEN: Final = NUM_SLOTS + 2
"""The board's 26 slots, then the owner's and the opponent's borne-off checkers."""

POINT_BASE: Final = np.array(
    [slot * (2 * POINT_CLIP + 1) + POINT_CLIP for slot in range(NUM_SLOTS)]
    + [NUM_SLOTS * (2 * POINT_CLIP + 1) + i * (NUM_CHECKERS + 1) for i in range(2)],
    dtype=np.int64,
)
"""`(28,)`: the row of (slot, count) is POINT_BASE[slot] + the clipped count."""

NUM_POINT_ROWS: Final = int(POINT_BASE[-1]) + NUM_CHECKERS + 1

PAIR_BASE: Final = np.full((NUM_SLOTS, PAIR_REACH + 1), -1, dtype=np.int64)
"""`(26, 7)`: base row of the pair (slot, slot + distance); -1 where there is none."""
NUM_PAIR_ROWS: Final = PAIR_STATES**2 * sum(
    NUM_SLOTS - distance for distance in range(1, PAIR_REACH + 1)
)


def _number_pairs() -> None:
    row = 0
    for slot in range(NUM_SLOTS):
        for distance in range(1, PAIR_REACH + 1):
            if slot + distance < NUM_SLOTS:
                PAIR_BASE[slot, distance] = row
                row += PAIR_STATES**2
    assert row == NUM_PAIR_ROWS


_number_pairs()
for _table in (POINT_BASE, PAIR_BASE):
    _table.setflags(write=False)

EXPERT_INPUTS: Final[dict[str, int]] = {"none": 0, "contact-v1": NUM_CONTACT_INPUTS}
"""Known sets of expert inputs and how many numbers each has."""


def num_expert_inputs(name: str) -> int:
    """How many numbers a set of expert inputs has. Raises ConfigError for an unknown name."""
    if name not in EXPERT_INPUTS:
        known = "', '".join(EXPERT_INPUTS)
        raise ConfigError(f"unknown expert inputs '{name}'; this version knows '{known}'")
    return EXPERT_INPUTS[name]


def seen_slots(boards: ArrayLike) -> NDArray[np.int8]:
    """`(B, 28)` int8: the boards `(B, 26)` with both sides' borne-off checkers behind them."""
    b = np.asarray(boards, dtype=np.int8)
    off = np.stack([borne_off(b), opp_borne_off(b)], axis=-1)
    return np.concatenate([b, off.astype(np.int8)], axis=-1)


@kernel
def _contact_batch(boards: Board, out: NDArray[np.float32]) -> None:
    for i in range(len(boards)):
        contact_inputs(boards, i, out, i, 0)


def expert_inputs(name: str, boards: ArrayLike) -> NDArray[np.float32]:
    """`(B, F)` float32 expert inputs of `(B, 26)` boards, each seen by the side on roll."""
    b = np.ascontiguousarray(boards, dtype=np.int8)
    out = np.zeros((len(b), num_expert_inputs(name)), dtype=np.float32)
    if name == "contact-v1":
        _contact_batch(b, out)
    return out
