"""Speed of legal plays: nardi's batch generator, and gnubg_nn and bgsage where installed.

    python bench/moves.py [--game long] [--positions 30000] [--seed 1]

One thread. The positions come from random play with random rolls, every one of them different, and
are the same for all three programs; every count is compared before anything is timed. The two
others are called once a position, which is what their bindings offer, with boards converted to
their layout beforehand. Of long nardi no other program is timed; there the counts of a part are
compared with the plain generator of the tests, and that part is its speed.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

from engine.board import NUM_CHECKERS, Board, IntArray, borne_off
from engine.dice import game_generator, roll_dice
from engine.moves import legal_afterstates_batch
from engine.rules import CAUCASIAN, INTERNATIONAL, LONG_NARDI, Rules
from engine.variant import variant_of

REPEATS = 5


def random_positions(n_positions: int, seed: int, rules: Rules) -> tuple[Board, Board]:
    """`(n, 26)` boards and `(n, 2)` rolls from games of random play, played side by side."""
    n_games = 500 if rules.game == "short" else 150  # so that games end in long nardi, too
    generator = game_generator(seed, 0)
    start, flip = variant_of(rules).start, variant_of(rules).flip
    boards = np.tile(start, (n_games, 1))
    all_boards, all_rolls = [], []
    for _ in range(-(-n_positions // n_games)):
        rolls = roll_dice(generator, n_games)
        all_boards.append(boards)
        all_rolls.append(rolls)
        afterstates, offsets = legal_afterstates_batch(boards, rolls, rules)
        picks = offsets[:-1] + (generator.random(n_games) * np.diff(offsets)).astype(np.int64)
        boards = flip(afterstates[picks])
        over = borne_off(flip(boards)) == NUM_CHECKERS
        boards[over] = start
    return np.concatenate(all_boards)[:n_positions], np.concatenate(all_rolls)[:n_positions]


def gnubg_board(board: Sequence[int]) -> list[list[int]]:
    """Layout of gnubg_nn: opponent first, then mover; points 1 to 24 and bar of each side's own."""
    own = [max(n, 0) for n in board[1:26]]
    opponent = [max(-board[25 - point], 0) for point in range(1, 25)] + [board[0]]
    return [opponent, own]


def best_time(run: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs: the machine's noise only ever adds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def report(name: str, n_positions: int, n_plays: int, seconds: float, peer: float | None) -> float:
    """Print one row; returns positions per second."""
    rate = n_positions / seconds
    ratio = "" if peer is None else f"   nardi is {peer / rate:6.1f} times as fast"
    print(f"{name:28}{rate:14,.0f} positions/s{n_plays / seconds:16,.0f} plays/s{ratio}")
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--positions", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--game", choices=("short", "long"), default="short")
    args = parser.parse_args()

    rules = LONG_NARDI if args.game == "long" else INTERNATIONAL
    boards, rolls = random_positions(args.positions, args.seed, rules)
    _, offsets = legal_afterstates_batch(boards, rolls, rules)
    counts = np.diff(offsets)
    print(f"{len(boards):,} positions of random play, {counts.mean():.1f} distinct plays each\n")
    if args.game == "long":
        of_long(boards, rolls, counts)
    else:
        of_short(boards, rolls, counts)


def of_long(boards: Board, rolls: Board, counts: IntArray) -> None:
    """Long nardi beside the plain generator of the tests."""
    from engine.turn_context import context_of_board
    from tests import reference_long

    few = slice(None, None, max(len(boards) // 1000, 1))
    some = list(zip(boards[few], rolls[few].tolist(), strict=True))
    start = time.perf_counter()
    theirs = [
        len(reference_long.afterstates(b.tolist(), r, LONG_NARDI, context_of_board(b)))
        for b, r in some
    ]
    plain_seconds = time.perf_counter() - start
    assert theirs == counts[few].tolist(), "the plain generator counts other plays"
    seconds = best_time(lambda: legal_afterstates_batch(boards, rolls, LONG_NARDI))
    ours = report("nardi", len(boards), int(counts.sum()), seconds, None)
    report("plain Python", len(some), sum(theirs), plain_seconds, ours)
    print("\nWhere nardi's time goes, and what the six-block ban costs:")
    doublet = rolls[:, 0] == rolls[:, 1]
    home = (boards[:, 7:] > 0).sum(axis=1) == 0
    rows = {"doubles": doublet, "other rolls": ~doublet, "bearing off": home}
    for name, chosen in rows.items():
        part, its_rolls = boards[chosen], rolls[chosen]
        seconds = best_time(lambda b=part, r=its_rolls: legal_afterstates_batch(b, r, LONG_NARDI))
        report(f"  {name}", len(part), int(counts[chosen].sum()), seconds, None)
    free = LONG_NARDI.replace(block_rule="none")
    plays = len(legal_afterstates_batch(boards, rolls, free)[0])
    seconds = best_time(lambda: legal_afterstates_batch(boards, rolls, free))
    report("  block_rule = none", len(boards), plays, seconds, None)


def of_short(boards: Board, rolls: Board, counts: IntArray) -> None:
    """Short nardi beside other programs."""
    peers: dict[str, tuple[Callable[[], object], int]] = {}
    as_lists = [(b, int(r[0]), int(r[1])) for b, r in zip(boards.tolist(), rolls, strict=True)]
    try:
        import gnubg_nn

        calls = [(gnubg_board(b), d, e) for b, d, e in as_lists]
        # An empty answer is a forced pass there, one unchanged board here.
        theirs = np.array([max(len(gnubg_nn.moves(*call)), 1) for call in calls])
        assert (theirs == counts).all(), "gnubg_nn counts other plays"
        peers["gnubg_nn.moves"] = (lambda: [gnubg_nn.moves(*call) for call in calls], len(calls))
    except ImportError:
        print("gnubg_nn is not installed (pip install gnubg-nn): left out")
    try:
        import bgsage

        few = as_lists[:5000]
        theirs = np.array([max(len(bgsage.possible_moves(*call)), 1) for call in few])
        different = theirs != counts[: len(few)]
        # It takes a finish with one die where both can be played; rare, and never more than that.
        assert different.sum() <= len(few) // 1000, "bgsage counts other plays"
        peers["bgsage.possible_moves"] = (
            lambda: [bgsage.possible_moves(*call) for call in few],
            len(few),
        )
    except ImportError:
        print("bgsage is not installed (pip install bgsage): left out")

    seconds = best_time(lambda: legal_afterstates_batch(boards, rolls, INTERNATIONAL))
    ours = report("nardi", len(boards), int(counts.sum()), seconds, None)
    for name, (run, n) in peers.items():
        report(name, n, int(counts[:n].sum()), best_time(run), ours)

    print("\nWhere nardi's time goes, and what house rules cost:")
    doublet = rolls[:, 0] == rolls[:, 1]
    on_bar = boards[:, 25] > 0
    home = (boards[:, 7:] > 0).sum(axis=1) == 0
    rows = {
        "doubles": doublet,
        "other rolls": ~doublet,
        "other rolls, on the bar": ~doublet & on_bar,
        "other rolls, bearing off": ~doublet & home,
    }
    for name, chosen in rows.items():
        some, some_rolls = boards[chosen], rolls[chosen]
        n_plays = int(counts[chosen].sum())
        seconds = best_time(lambda b=some, r=some_rolls: legal_afterstates_batch(b, r))
        report(f"  {name}", len(some), n_plays, seconds, None)
    plays = len(legal_afterstates_batch(boards, rolls, CAUCASIAN)[0])
    seconds = best_time(lambda: legal_afterstates_batch(boards, rolls, CAUCASIAN))
    report("  hit_and_hide = ban", len(boards), plays, seconds, None)


if __name__ == "__main__":
    main()
