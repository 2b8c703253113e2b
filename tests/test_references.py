"""Files of decisions and positions: what is read from them, and every fault of theirs named."""

import copy
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.board import START, flip
from engine.moves import legal_afterstates
from eval.references import (
    ReferenceFileError,
    decision_id,
    read_decisions,
    read_positions,
)
from tests.decision_files import made_up_decisions, made_up_positions, write_lines

Change = Callable[[dict[str, Any]], object]

PLAYS = legal_afterstates(START, (3, 1))
DECISION: dict[str, Any] = {
    "before": START.tolist(),
    "dice": [3, 1],
    "candidates": [
        {
            "afterstate": PLAYS[n].tolist(),
            "equity": 0.1,
            "se": 0.005,
            "probs": [0.55, 0.15, 0.0, 0.15, 0],
        }
        for n in (5, 2, 9)
    ],
}
POSITION: dict[str, Any] = {
    "afterstate": PLAYS[3].tolist(),
    "equity": 0.1,
    "probs": [0.55, 0.15, 0.0, 0.15, 0],
}


def fault(read: Callable[[Path], object], path: Path, content: bytes) -> str:
    """What reading a file with this content is answered."""
    path.write_bytes(content)
    with pytest.raises(ReferenceFileError) as caught:
        read(path)
    return str(caught.value)


# --- what is read ---


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz"])
def test_decisions(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    lines = made_up_decisions(rng, 40)
    path = write_lines(tmp_path / name, lines)
    found = read_decisions(path)
    assert found.name == str(path)
    assert found.lines.tolist() == list(range(1, 41))
    assert (found.boards == [line["before"] for line in lines]).all()
    assert (found.rolls == [line["dice"] for line in lines]).all()
    assert found.boards.dtype == found.afterstates.dtype == found.rolls.dtype == np.int8
    assert found.probs is not None
    for i, line in enumerate(lines):
        rows = slice(found.offsets[i], found.offsets[i + 1])
        candidates = sorted(line["candidates"], key=lambda each: each["afterstate"])
        assert found.afterstates[rows].tolist() == [c["afterstate"] for c in candidates]
        assert found.equities[rows].tolist() == [c["equity"] for c in candidates]
        assert found.stderrs[rows].tolist() == [c["se"] for c in candidates]
        assert found.probs[rows].tolist() == [c["probs"] for c in candidates]
    assert found.offsets[-1] == len(found.afterstates)


def test_what_may_be_left_out(tmp_path: Path) -> None:
    """Errors and probabilities of candidates; blank lines and what else there is do no harm."""
    bare = copy.deepcopy(DECISION)
    bare["source"] = "somewhere"
    for candidate in bare["candidates"]:
        del candidate["se"]
        candidate["probs"] = None
    path = tmp_path / "d.jsonl"
    text = "\ufeff" + json.dumps(DECISION) + "\r\n\r\n  \n" + json.dumps(bare)
    path.write_text(text, encoding="utf-8", newline="")
    found = read_decisions(path)
    assert found.lines.tolist() == [1, 4]
    assert found.probs is None
    assert [math.isnan(x) for x in found.stderrs] == [False] * 3 + [True] * 3


def test_id_of_a_decision(tmp_path: Path) -> None:
    found = read_decisions(write_lines(tmp_path / "d.jsonl", [DECISION]))
    assert decision_id(found, 0) == "4HPwATDgc/ABMA:cIkFAAAAAAAE"


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_positions(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    lines = made_up_positions(rng, 30)
    found = read_positions(write_lines(tmp_path / name, lines))
    assert found.swapped.tolist() == ["afterstate" in line for line in lines]
    for board, line in zip(found.boards, lines, strict=True):
        expected = line["board"] if "board" in line else flip(line["afterstate"]).tolist()
        assert board.tolist() == expected
    assert found.equities.tolist() == [line["equity"] for line in lines]
    assert found.probs.tolist() == [line["probs"] for line in lines]


# --- files that are none ---


@pytest.mark.parametrize("read", [read_decisions, read_positions])
def test_no_file(read: Callable[[Path], object], tmp_path: Path) -> None:
    for path, reason in [(tmp_path / "none", "No such file"), (tmp_path, "Is a directory")]:
        with pytest.raises(ReferenceFileError, match=f"'{path}' cannot be read: {reason}"):
            read(path)


@pytest.mark.parametrize("read", [read_decisions, read_positions])
@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
def test_nothing_in_it(read: Callable[[Path], object], content: bytes, tmp_path: Path) -> None:
    assert "' holds no " in fault(read, tmp_path / "x", content)


@pytest.mark.parametrize("lost", [1, 8, 9, 40])
def test_gzip_cut_off(lost: int, tmp_path: Path) -> None:
    content = gzip.compress((json.dumps(DECISION) + "\n").encode() * 3)
    message = fault(read_decisions, tmp_path / "d.gz", content[:-lost])
    assert message.startswith(f"'{tmp_path / 'd.gz'}' is cut off: its gzip data end after line ")


def test_gzip_damaged(tmp_path: Path, rng: np.random.Generator) -> None:
    plain = "".join(json.dumps(line) + "\n" for line in made_up_decisions(rng, 30)).encode()
    content = bytearray(gzip.compress(plain))
    content[-6] ^= 1  # the checksum
    message = fault(read_decisions, tmp_path / "d.gz", bytes(content))
    assert "is damaged: its gzip data cannot be read after line 30" in message
    content = bytearray(gzip.compress(plain))
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    message = fault(read_decisions, tmp_path / "d.gz", bytes(content))
    assert message.startswith(f"'{tmp_path / 'd.gz'}'")


@pytest.mark.parametrize("read", [read_decisions, read_positions])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"before": [1', "is not JSON: "),
        (b"hello", "is not JSON: "),
        (b'{"a": NaN}', "is not JSON: 'NaN' is not a number of JSON"),
        (b'{"a": -Infinity}', "is not JSON: '-Infinity' is not a number of JSON"),
        (b"[" * 100_000, "is not JSON: "),
        (b"9" * 10_000, "is not JSON: "),
        (b"[1, 2]", "is not a JSON object but [1, 2]"),
        (b'"x"', 'is not a JSON object but "x"'),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        (b"\x00\x01\x02", "is not JSON: "),
    ],
)
def test_no_object(
    read: Callable[[Path], object], line: bytes, message: str, tmp_path: Path
) -> None:
    first = DECISION if read is read_decisions else POSITION
    found = fault(read, tmp_path / "x", json.dumps(first).encode() + b"\n" + line + b"\n")
    assert found.startswith(f"'{tmp_path / 'x'}', line 2: {message}")


# --- wrong objects ---


def candidate(change: Callable[[dict[str, Any]], object]) -> Change:
    """A change of the second candidate."""
    return lambda decision: change(decision["candidates"][1])


def spoil(values: dict[str, Any], name: str, place: int, value: object) -> None:
    values[name] = list(values[name])
    values[name][place] = value


def set_as_seen_by_opponent(values: dict[str, Any]) -> None:
    values["afterstate"] = flip(values["afterstate"]).tolist()


def forget_to_flip(decision: dict[str, Any]) -> None:
    spoil(decision, "before", 13, 4)
    spoil(decision, "before", 14, 1)
    decision["before"] = flip(decision["before"]).tolist()
    moved = np.array(flip(decision["before"]))
    for each, after in zip(decision["candidates"], legal_afterstates(moved, (3, 1)), strict=False):
        each["afterstate"] = after.tolist()


FAULTS: list[tuple[Change, str]] = [
    (lambda d: d.pop("before"), "'before' is missing; there is 'dice', 'candidates'"),
    (lambda d: d.pop("dice"), "'dice' is missing"),
    (lambda d: d.pop("candidates"), "'candidates' is missing"),
    (lambda d: d.update(candidates=5), "'candidates' is no list; accepted: two plays or more"),
    (lambda d: d.update(candidates=[]), "'candidates' has 0 elements; accepted: two"),
    (lambda d: d["candidates"].__delitem__(slice(1, 3)), "'candidates' has 1 elements"),
    (lambda d: d["candidates"].__setitem__(1, 7), "candidate 2: is not a JSON object but 7"),
    (
        lambda d: d["candidates"].__setitem__(2, d["candidates"][0]),
        "candidates 1 and 3 are the same board",
    ),
    (lambda d: d.update(before="start"), "'before' is \"start\"; accepted: a list of 26"),
    (lambda d: d.update(before=[0] * 25), "'before' is 25 elements; accepted: a list of 26"),
    (lambda d: spoil(d, "before", 6, 5.5), "'before' has 5.5 in slot 6; accepted: whole"),
    (lambda d: spoil(d, "before", 6, True), "'before' has true in slot 6"),
    (lambda d: spoil(d, "before", 6, 2**70), "'before' has 1180591620717411303424 in slot 6"),
    (lambda d: spoil(d, "before", 6, 6), "'before' cannot occur: mover has 16 checkers"),
    (
        lambda d: d.update(before=[0] * 20 + [-2] + [0] * 5),
        "'before': the game is over: the mover has borne off all 15",
    ),
    (lambda d: d.update(dice=[3]), "'dice' is [3]: "),
    (lambda d: d.update(dice=[7, 1]), "'dice' is [7, 1]: "),
    (lambda d: d.update(dice=[3.0, 1]), "'dice' is [3.0, 1]: a roll is a list of two whole"),
    (lambda d: d.update(dice="31"), "'dice' is \"31\": a roll is a list"),
    (lambda d: d.update(dice=[3, 2]), "candidate 1: no legal play of 3-2 gives this 'afterstate'"),
    (candidate(lambda c: c.pop("afterstate")), "candidate 2: 'afterstate' is missing; there is"),
    (candidate(lambda c: c.update(afterstate=None)), "candidate 2: 'afterstate' is null"),
    (
        candidate(lambda c: spoil(c, "afterstate", 6, 12)),
        "candidate 2: 'afterstate' cannot occur: mover has ",
    ),
    (
        candidate(lambda c: c.update(afterstate=START.tolist())),
        "candidate 2: no legal play of 3-1 gives this 'afterstate' (16 others are legal)",
    ),
    (
        candidate(set_as_seen_by_opponent),
        "candidate 2: no legal play of 3-1 gives this 'afterstate' (16 others are legal); it would"
        " be legal if it were seen by the side that played",
    ),
    (candidate(lambda c: c.pop("equity")), "candidate 2: 'equity' is missing"),
    (candidate(lambda c: c.update(equity="0")), "candidate 2: 'equity' is \"0\"; accepted: a num"),
    (candidate(lambda c: c.update(equity=None)), "candidate 2: 'equity' is null"),
    (candidate(lambda c: c.update(equity=True)), "candidate 2: 'equity' is true"),
    (candidate(lambda c: c.update(equity=-100)), "candidate 2: 'equity' is -100; accepted: -3 to"),
    (candidate(lambda c: c.update(equity=10**400)), "candidate 2: 'equity' is not finite"),
    (candidate(lambda c: c.update(se="x")), "candidate 2: 'se' is \"x\"; accepted: a number"),
    (candidate(lambda c: c.update(se=-0.01)), "candidate 2: 'se' is -0.01; accepted: numbers from"),
    (candidate(lambda c: c.update(probs=0.5)), "candidate 2: 'probs' is 0.5; accepted: a list of"),
    (candidate(lambda c: c.update(probs=[0.5])), "candidate 2: 'probs' is 1 elements"),
    (
        candidate(lambda c: spoil(c, "probs", 3, 55)),
        "candidate 2: 'probs' (lose_gammon) is 55; accepted: 0 to 1",
    ),
    (candidate(lambda c: spoil(c, "probs", 0, None)), "candidate 2: 'probs' (win) is null"),
    (
        candidate(lambda c: spoil(c, "probs", 0, 0.45)),
        "candidate 2: 'equity' is 0.1, but that of 'probs' is -0.1000; accepted: cubeless equity",
    ),
]


@pytest.mark.parametrize(("change", "message"), FAULTS, ids=lambda x: None)
def test_wrong_decisions(change: Change, message: str, tmp_path: Path) -> None:
    wrong = copy.deepcopy(DECISION)
    change(wrong)
    path = write_lines(tmp_path / "d.jsonl", [DECISION, wrong])
    with pytest.raises(ReferenceFileError) as caught:
        read_decisions(path)
    assert str(caught.value).startswith(f"'{path}', line 2: {message}")


def test_infinity_in_exponents(tmp_path: Path) -> None:
    text = json.dumps(DECISION) + "\n" + json.dumps(DECISION).replace("0.1,", "1e999,", 1)
    message = fault(read_decisions, tmp_path / "d", text.encode())
    assert message.endswith("line 2: candidate 1: 'equity' is not finite")


def test_boards_of_the_other_side_are_recognized(tmp_path: Path) -> None:
    wrong = copy.deepcopy(DECISION)
    forget_to_flip(wrong)
    message = fault(read_decisions, tmp_path / "d", json.dumps(wrong).encode())
    assert (
        "it would be legal if 'before' were seen by the side on roll, not by the other" in message
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("afterstate"), "has neither 'afterstate' nor 'board'"),
        (lambda p: p.update(board=START.tolist()), "has both 'afterstate' and 'board'"),
        (lambda p: p.pop("equity"), "'equity' is missing"),
        (lambda p: p.pop("probs"), "'probs' is missing"),
        (lambda p: p.update(probs=None), "'probs' is null; accepted: a list of 5 numbers, win,"),
        (lambda p: p.update(afterstate=[0] * 27), "'afterstate' is 27 elements"),
        (lambda p: p.update(equity=[]), "'equity' is []; accepted: a number"),
    ],
    ids=lambda x: None,
)
def test_wrong_positions(change: Change, message: str, tmp_path: Path) -> None:
    wrong = copy.deepcopy(POSITION)
    change(wrong)
    path = write_lines(tmp_path / "p.jsonl", [POSITION, wrong])
    with pytest.raises(ReferenceFileError) as caught:
        read_positions(path)
    assert str(caught.value).startswith(f"'{path}', line 2: {message}")


def test_files_of_the_other_kind(tmp_path: Path) -> None:
    decisions = write_lines(tmp_path / "d", [DECISION])
    positions = write_lines(tmp_path / "p", [POSITION])
    with pytest.raises(ReferenceFileError, match=r"this is a decision: --decisions"):
        read_positions(decisions)
    with pytest.raises(ReferenceFileError, match=r"'before' is missing; there is 'afterstate'"):
        read_decisions(positions)
