"""How often nardi plays the opening as GNU Backgammon does: 15 opening rolls, 21 replies to each.

    python bench/openings.py [--bot net@2]

The file holds GNU Backgammon's cubeless choice at 2 plies (tests/golden/README.md). Near-equal
plays differ by chance; told are the agreement and how far equities are apart where plays agree.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from agent.bot import load_bot
from agent.evaluator import cubeless_equity
from engine.board import START, flip

FILE = Path(__file__).parent.parent / "tests" / "golden" / "openings.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--bot", default="net@2", help="default: net@2")
    bot = load_bot(parser.parse_args().bot)
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()[1:]]
    boards = np.array([row.get("b", START) for row in rows], dtype=np.int8)
    rolls = np.array([row.get("reply", row["first"]) for row in rows], dtype=np.int8)
    theirs = np.array([row["a"] for row in rows], dtype=np.int8)
    ours = bot.choose(boards, rolls)
    same = (ours == theirs).all(axis=1)
    is_reply = np.array(["reply" in row for row in rows])
    for name, rows_of in (("opening rolls", ~is_reply), ("replies", is_reply)):
        n, n_same = int(rows_of.sum()), int(same[rows_of].sum())
        print(f"{bot.name}: {n_same} of {n} {name} as GNU Backgammon at 2 plies ({n_same / n:.1%})")
    equities = -cubeless_equity(bot.probabilities(flip(theirs[same])))
    distance = equities - np.array([row["eq"] for row in rows])[same]
    rms = float((distance**2).mean() ** 0.5)
    print(f"equities of those: {distance.mean():+.4f} on average, RMS {rms:.4f}")


if __name__ == "__main__":
    main()
