"""Compiled self-play with the exact mean of every throw: backups over all 21 rolls along a game.

Of each roll's plays a small net, the sorter, names the few that the net itself looks at. Of the
roll that is thrown the net looks at all of them and plays the best, and what the sorter had missed
there is added to the backup. Over the dice that makes up for all that it misses: on average backups
are those of the net's own play.
"""

import numpy as np

from agent.kernels.boards import RACE, board_kind, see_board
from agent.kernels.replies import best_replies, find_plays
from agent.kernels.tree import mean_of_rolls
from agent.kernels.value import MOVER_SIDE, evaluate_children
from engine.compiled import inlined_kernel, kernel
from engine.dice_stream import next_below, next_die, next_uniform
from engine.play_codes import apply_code
from engine.sides import flip_in_place
from train.kernels.selfplay import (
    MAX_PLIES,
    explored_play,
    has_won,
    value_of_pass,
)

__all__ = ["adjusted_returns", "play_exact_games"]


@inlined_kernel
def _add_what_was_missed(probs, best, values, backups, row):
    """Let values[row], of the sorter's choice for the thrown roll, be probs[best], of the net's.

    backups[row] rises by as much, seen by the mover.
    """
    for k in range(5):
        missed = probs[best, k] - values[row, k]
        values[row, k] = probs[best, k]
        if k == 0:
            backups[row, 0] -= missed
        elif k < 3:
            backups[row, k + 2] += missed
        else:
            backups[row, k - 2] += missed


@kernel
def play_exact_games(
    nets,
    room,
    states,
    first_game,
    starts,
    are_openings,
    explore,
    loss_scale,
    random_openings,
    random_plies,
    races,
    flipped,
    boards,
    values,
    backups,
    ends,
):
    """Play games as `train.kernels.selfplay.play_games` does, and back up every position.

    nets, room: of `agent.kernels.replies`; flipped: scratch, `(1, 26)` int64; starts,
    are_openings: as there; races: share of games that go on when contact ends, the others stop
    there. values[row] is the net's value of the afterstate that is played to, for the side on roll
    there; backups[row] is the mean over the 36 throws of the best afterstate's value, for the side
    on roll at `row` itself. With a sorter (nets.keep > 0) that is the best of those it leaves, plus
    the best of all less the best of those for the roll that is thrown.
    """
    w = room.tree.boards[0]
    codes = room.tree.codes
    probs = room.tree.probs
    scratch = room.tree.scratch
    work = room.work
    seen = np.empty((1, 28), dtype=np.int64)
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
            if ply < opening:
                n = find_plays(w, high, low, nets.switches, scratch)
                if scratch[1, 0] != 0:
                    code = scratch[1, next_below(states, game, n)]
                    apply_code(w, code, high, low)
                    if has_won(w):
                        break
                flip_in_place(w, work.is_long)
                continue
            for slot in range(26):
                boards[row, slot] = w[slot]
            best_replies(nets, room, room.tree.boards, 0, 0, 0, 21, codes, probs)
            mean_of_rolls(probs, 0, backups, row)
            thrown = high * (high - 1) // 2 + low - 1
            code = codes[0, thrown]
            for k in range(5):
                values[row, k] = probs[0, thrown, k]
            explored = explore > 0 and next_uniform(states, game) < explore
            n = 0
            if explored or nets.keep > 0:
                n = find_plays(w, high, low, nets.switches, scratch)
            best = 0
            if n > 1 and (explored or n > nets.keep):
                # The board, the parent of these plays, is set already.
                best = evaluate_children(
                    nets.contact,
                    nets.race,
                    scratch[1],
                    n,
                    high,
                    low,
                    nets.weights,
                    MOVER_SIDE,
                    work,
                )
                code = scratch[1, best]
                _add_what_was_missed(work.probs, best, values, backups, row)
            explored = explored and n > 1
            if explored:
                draw = next_uniform(states, game)
                code = scratch[1, explored_play(work.equity, n, best, loss_scale, draw)]
            was_race = False
            if races < 1:
                see_board(room.tree.boards, 0, seen, 0)
                was_race = board_kind(seen, 0, work.is_long) == RACE
            apply_code(w, code, high, low)
            if explored:
                value_of_pass(nets.contact, nets.race, w, flipped, work)
                for k in range(5):
                    values[row, k] = work.probs[0, k]
            row += 1
            if has_won(w):
                break
            flip_in_place(w, work.is_long)
            if races < 1 and not was_race:
                see_board(room.tree.boards, 0, seen, 0)
                is_race = board_kind(seen, 0, work.is_long) == RACE
                if is_race and next_uniform(states, game) >= races:
                    break
        ends[game] = row
        game += 1
    return game


@kernel
def adjusted_returns(values, backups, ends, lambdas, targets):
    """Write the luck-adjusted λ-return of every recorded ply, for the side on roll.

    values, ends: as in `train.kernels.returns`; backups: of `play_exact_games`; lambdas: `(n,)`
    float32, λ of each ply. With V the net, TV the backup, and swap the change of sides,

        G_t = V_t + e_t,  e_t = TV_t - V_t + λ swap(e_t+1),  e_t = TV_t - V_t at the last ply.

    λ = 0 gives TV, λ = 1 the game's result less the luck of every roll. An exploring play does not
    cut the trace: what it costs is in V_t+1, which is of the play that was made, and what V gets
    wrong after a play that is nearly as good it gets wrong after the best one too. Results may lie
    a little outside 0..1.
    """
    first = 0
    for game in range(len(ends)):
        win = np.float32(0)
        win_gammon = np.float32(0)
        win_bg = np.float32(0)
        lose_gammon = np.float32(0)
        lose_bg = np.float32(0)
        for row in range(ends[game] - 1, first - 1, -1):
            keep = lambdas[row]
            # The error of the next ply is the opponent's.
            win, win_gammon, win_bg, lose_gammon, lose_bg = (
                -keep * win,
                keep * lose_gammon,
                keep * lose_bg,
                keep * win_gammon,
                keep * win_bg,
            )
            targets[row, 0] = backups[row, 0] + win
            targets[row, 1] = backups[row, 1] + win_gammon
            targets[row, 2] = backups[row, 2] + win_bg
            targets[row, 3] = backups[row, 3] + lose_gammon
            targets[row, 4] = backups[row, 4] + lose_bg
            if row == first:
                break
            # V of this position is the value of the afterstate that led to it.
            win += backups[row, 0] - values[row - 1, 0]
            win_gammon += backups[row, 1] - values[row - 1, 1]
            win_bg += backups[row, 2] - values[row - 1, 2]
            lose_gammon += backups[row, 3] - values[row - 1, 3]
            lose_bg += backups[row, 4] - values[row - 1, 4]
        first = ends[game]
