"""Random and damaged texts: every reader answers with a result or with our error, and soon."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from engine.board import START, Board
from engine.errors import AmbiguousPlayError, IllegalPlayError, NotationError, PositionError
from engine.notation import (
    NOTATIONS,
    Position,
    format_play,
    format_position,
    format_position_id,
    parse_match_id,
    parse_play,
    parse_position,
    parse_position_id,
)
from engine.notation.gnuid import parse_gnuid
from engine.notation.ogid import parse_ogid
from engine.notation.xgid import parse_xgid
from tests.golden_cases import read_golden
from tests.notation_strategies import told_by

ALPHABETS = {
    "base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=:",
    "xgid": "-ABCDEOabcdeo0123456789:=XGIDBR\n ",
    "ogid": "0123456789abcdefghijklmnopq:NWBDOTPRCGML?",
    "numbers": "0123456789-, []()\n",
    "plays": "0123456789/*()-, baroffBAROFF:;'",
    "any": "".join(map(chr, range(256))) + "ßıſK٣０→…\u2028\ufeff\U0001f3b2",
}
SLOWEST = 5.0  # seconds for one text; far above anything but a hang
READ_ERRORS = (NotationError, PositionError)
PLAY_ERRORS = (NotationError, IllegalPlayError, AmbiguousPlayError)


def _seeds(*kinds: str) -> list[str]:
    """Inputs of the golden files, good and bad."""
    texts = [
        next(case["input"][key] for key in ("xgid", "id", "text", "ogid") if key in case["input"])
        if case["kind"] != "move"
        else case["input"]["text"]
        for name in ("formats.jsonl", "ogid.jsonl")
        for case in read_golden(name)
        if case["kind"] in kinds
    ]
    return [text for text in texts if text]


def _mutated(rng: np.random.Generator, seed: str, others: list[str], alphabet: str) -> str:
    """The seed after one to four small damages: a few of each kind people and programs do."""
    text = seed
    for _ in range(int(rng.integers(1, 5))):
        at, to = sorted(int(n) for n in rng.integers(0, len(text) + 1, size=2))
        letter = alphabet[int(rng.integers(len(alphabet)))]
        other = others[int(rng.integers(len(others)))]
        text = [
            text[:at] + letter + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + text[at + 1 :],
            text[:at] + text[to:],
            text[:to] + text[at:],
            text[:at] + text[at:to][::-1] + text[to:],
            text[:at] + other[at:],
            text.swapcase(),
            text[:at] + " \n\t"[int(rng.integers(3))] + text[at:],
            text[:at] + text[at : at + 1] * int(rng.integers(2, 40)) + text[at:],
        ][int(rng.integers(10))]
    return text


def _texts(kinds: tuple[str, ...], alphabet: str, count: int, seed: int) -> list[str]:
    """Half of them damaged golden inputs, half random letters, some of each from any alphabet."""
    rng = np.random.default_rng(seed)
    seeds = _seeds(*kinds)
    texts = []
    for number in range(count):
        letters = ALPHABETS["any" if number % 8 == 7 else alphabet]
        if number % 2 == 0 or rng.random() < 0.3:
            texts.append(_mutated(rng, seeds[int(rng.integers(len(seeds)))], seeds, letters))
        else:
            picks = rng.integers(len(letters), size=int(rng.integers(0, 60)))
            texts.append("".join(letters[int(pick)] for pick in picks))
    return texts


def _read_all(texts: list[str], read: Callable[[str], object], errors: tuple[type, ...]) -> int:
    """Reads every text; how many were accepted. Any other exception than ours goes up."""
    accepted = 0
    for text in texts:
        began = time.perf_counter()
        try:
            read(text)
        except errors:
            pass
        else:
            accepted += 1
        assert time.perf_counter() - began < SLOWEST, repr(text)
    return accepted


def _round_trip(position: Position) -> None:
    """What was read can be written, in at least one notation, and read as the same again."""
    written = 0
    for notation in NOTATIONS:
        try:
            text = format_position(position, notation)
        except NotationError:
            continue
        written += 1
        assert parse_position(text) == told_by(notation, position)
    assert written > 0


def _read_position(text: str) -> None:
    _round_trip(parse_position(text))


def _read_xgid(text: str) -> None:
    position = parse_xgid(text)
    assert parse_xgid(format_position(position, "xgid")) == position


def _read_gnuid(text: str) -> None:
    _round_trip(parse_gnuid(text))


def _read_ogid(text: str) -> None:
    position = parse_ogid(text)
    assert parse_ogid(format_position(position, "ogid")) == told_by("ogid", position)


def _read_position_id(text: str) -> None:
    assert format_position_id(parse_position_id(text)) == text.strip()


def _read_gnubg_match_id(text: str) -> None:
    fields = parse_match_id(text)
    assert {"dice", "cube_value", "mover_player"} <= fields.keys()


POSITION_KINDS = ("positionid", "matchid", "xgid", "ogid")
READERS = [
    pytest.param(_read_position, POSITION_KINDS, "xgid", id="any notation"),
    pytest.param(_read_position, ("xgid", "ogid"), "numbers", id="any notation, numbers"),
    pytest.param(_read_xgid, ("xgid",), "xgid", id="xgid"),
    pytest.param(_read_ogid, ("ogid",), "ogid", id="ogid"),
    pytest.param(_read_gnuid, ("positionid", "matchid"), "base64", id="gnubg id"),
    pytest.param(_read_position_id, ("positionid",), "base64", id="position id"),
    pytest.param(_read_gnubg_match_id, ("matchid",), "base64", id="match id"),
]

# Boards with hits, bars, bear-offs and a dance, so that many texts get as far as the rules.
PLAY_BOARDS: list[tuple[Board, tuple[int, int]]] = [
    (START, (3, 1)),
    (START, (4, 4)),
    (parse_position("XGID=---a-aD-C---cE-b-b-ea---B-:0:0:1:31:0:0:0:0:10").board, (3, 1)),
    (parse_position("XGID=-b----D-C---eD---c-e----BB:0:0:1:43:0:0:0:0:10").board, (4, 4)),
    (parse_position("XGID=-BBBCCB------------bcccd--:0:0:1:65:0:0:0:0:10").board, (6, 5)),
    (parse_position("XGID=-------------------bbbbbbB:0:0:1:64:0:0:0:0:10").board, (6, 4)),
]


def _read_plays(count: int, seed: int) -> int:
    texts = _texts(("move",), "plays", count, seed)
    accepted = 0
    for number, (board, roll) in enumerate(PLAY_BOARDS):

        def read(text: str, board: Board = board, roll: tuple[int, int] = roll) -> None:
            play = parse_play(text, board, roll)
            again = parse_play(format_play(play, board), board, roll)
            assert (again.afterstate == play.afterstate).all()

        accepted += _read_all(texts[number :: len(PLAY_BOARDS)], read, PLAY_ERRORS)
    return accepted


@pytest.mark.parametrize(("read", "kinds", "alphabet"), READERS)
def test_damaged_identifiers_give_our_errors(
    read: Callable[[str], None], kinds: tuple[str, ...], alphabet: str
) -> None:
    texts = _texts(kinds, alphabet, 5_000, seed=1)
    accepted = _read_all(texts, read, READ_ERRORS)
    assert 0 < accepted < len(texts) / 2


@pytest.mark.slow
@pytest.mark.parametrize(("read", "kinds", "alphabet"), READERS)
def test_200_000_damaged_identifiers_give_our_errors(
    read: Callable[[str], None], kinds: tuple[str, ...], alphabet: str
) -> None:
    texts = _texts(kinds, alphabet, 200_000, seed=2)
    assert 0 < _read_all(texts, read, READ_ERRORS) < len(texts) / 2


def test_damaged_plays_give_our_errors() -> None:
    assert 0 < _read_plays(5_000, seed=3) < 2_500


@pytest.mark.slow
def test_200_000_damaged_plays_give_our_errors() -> None:
    assert 0 < _read_plays(200_000, seed=4) < 100_000
