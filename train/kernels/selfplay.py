"""Compiled self-play: whole games by a value net, one position at a time, and exact backups.

A ply is recorded as the board before its roll, seen by the side on roll, and the net's value of the
best afterstate, seen by the side on roll *there*. A random opening is not recorded.
"""

import numpy as np

from agent.kernels.replies import find_plays
from agent.kernels.value import MOVER_SIDE, boards_probs, children_probs
from engine.compiled import inlined_kernel, kernel
from engine.dice_stream import next_below, next_die, next_uniform
from engine.play_codes import apply_code
from engine.sides import OPP_SLOTS, flip_in_place

__all__ = [
    "EXPLORED",
    "GREEDY",
    "MAX_PLIES",
    "expected_values",
    "explored_play",
    "has_won",
    "play_games",
    "value_of_pass",
]

GREEDY = 0
EXPLORED = 1
MAX_PLIES = 600
"""Longer games are cut and valued by the net; random nets would go on for thousands of plies."""


@inlined_kernel
def has_won(w):
    left = 0
    for slot in range(1, 26):
        left += max(w[slot], 0)
    return left == 0


@kernel
def value_of_pass(contact, race, w, flipped, work):
    """Evaluate the position after a pass to work.probs[0], as `children_probs` does a play."""
    for slot in range(1, 25):
        flipped[0, slot] = -w[OPP_SLOTS[work.is_long, slot]]
    flipped[0, 0] = w[25]
    flipped[0, 25] = w[0]
    boards_probs(contact, race, flipped, work, work.probs)


@kernel
def explored_play(equity, n, best, loss_scale, draw):
    """Number of a play besides the best one of n, for a draw in 0..1.

    equity: of each play, for the mover; loss_scale: a play that loses so much against the best one
    has 1/e of the chance of one that loses nothing; inf = all alike.
    """
    total = 0.0
    for i in range(n):
        if i != best:
            total += np.exp((equity[i] - equity[best]) / loss_scale)
    draw *= total
    chosen = best
    for i in range(n):
        if i != best:
            chosen = i
            draw -= np.exp((equity[i] - equity[best]) / loss_scale)
            if draw < 0:
                break
    return chosen


@kernel
def play_games(
    contact,
    race,
    states,
    first_game,
    starts,
    are_openings,
    weights,
    switches,
    explore,
    loss_scale,
    random_openings,
    random_plies,
    work,
    scratch,
    boards,
    values,
    flags,
    ends,
):
    """Play games from number `first_game` of this call on, as many as surely fit the buffers.

    states: `(G, 4)` dice streams; starts: `(G, 26)` int8, boards that the games begin with, seen by
    the side on roll; are_openings: `(G,)` bool, whether the first roll is no doublet; weights: of
    `agent.kernels.value`, by which plays are chosen; switches: `engine.variant.PlaySwitches` of the
    game that the nets are of; explore: chance at any ply of a play other than the best, drawn as
    `explored_play` does; random_openings: share of games that open with 1 to random_plies random
    plies.
    boards: `(N, 26)` int8, values: `(N, 5)` float32, flags: `(N,)` uint8 are filled from
    ends[first_game - 1] on; ends[g] is the first row after game g. Returns the next game to play.
    """
    w = np.empty(26, dtype=np.int64)
    flipped = np.empty((1, 26), dtype=np.int64)
    codes = scratch[1]
    row = ends[first_game - 1] if first_game > 0 else 0
    game = first_game
    while game < len(states) and row + MAX_PLIES <= len(boards):
        for slot in range(26):
            w[slot] = starts[game, slot]
        opening = 0
        if next_uniform(states, game) < random_openings:
            opening = 1 + next_below(states, game, random_plies)
        first_ply = are_openings[game]
        for ply in range(MAX_PLIES):
            high = next_die(states, game)
            low = next_die(states, game)
            while first_ply and high == low:
                low = next_die(states, game)
                high = next_die(states, game)
            first_ply = False
            if high < low:
                high, low = low, high
            n = find_plays(w, high, low, switches, scratch)
            if codes[0] == 0:
                n = 0
            if ply < opening:
                if n > 0:
                    code = codes[next_below(states, game, n)]
                    apply_code(w, code, high, low)
                    if has_won(w):
                        break
                flip_in_place(w, work.is_long)
                continue
            for slot in range(26):
                boards[row, slot] = w[slot]
            best = 0
            if n > 0:
                best = children_probs(
                    contact, race, w, codes, n, high, low, weights, MOVER_SIDE, work
                )
            else:
                value_of_pass(contact, race, w, flipped, work)
            for k in range(5):
                values[row, k] = work.probs[best, k]
            flags[row] = GREEDY
            if explore > 0 and next_uniform(states, game) < explore and n > 1:
                draw = next_uniform(states, game)
                best = explored_play(work.equity, n, best, loss_scale, draw)
                flags[row] = EXPLORED
            row += 1
            if n > 0:
                apply_code(w, codes[best], high, low)
            if has_won(w):
                break
            flip_in_place(w, work.is_long)
        ends[game] = row
        game += 1
    return game


@kernel
def expected_values(contact, race, boards, chosen, weights, switches, work, scratch, targets):
    """Targets of chosen rows: the mean over all 36 rolls of the best afterstate's value.

    boards: `(N, 26)` int8; chosen: row numbers; targets: `(N, 5)` float32, rows chosen are written,
    each for the side on roll.
    """
    w = np.empty(26, dtype=np.int64)
    flipped = np.empty((1, 26), dtype=np.int64)
    codes = scratch[1]
    for i in range(len(chosen)):
        row = chosen[i]
        for slot in range(26):
            w[slot] = boards[row, slot]
        win = 0.0
        win_gammon = 0.0
        win_bg = 0.0
        lose_gammon = 0.0
        lose_bg = 0.0
        for high in range(1, 7):
            for low in range(1, high + 1):
                weight = 1.0 if high == low else 2.0
                n = find_plays(w, high, low, switches, scratch)
                best = 0
                if codes[0] != 0:
                    best = children_probs(
                        contact, race, w, codes, n, high, low, weights, MOVER_SIDE, work
                    )
                else:
                    value_of_pass(contact, race, w, flipped, work)
                probs = work.probs
                win += weight * (1 - probs[best, 0])
                win_gammon += weight * probs[best, 3]
                win_bg += weight * probs[best, 4]
                lose_gammon += weight * probs[best, 1]
                lose_bg += weight * probs[best, 2]
        targets[row, 0] = win / 36
        targets[row, 1] = win_gammon / 36
        targets[row, 2] = win_bg / 36
        targets[row, 3] = lose_gammon / 36
        targets[row, 4] = lose_bg / 36
