"""The notation of long nardi, its text board, and plays as text."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import IllegalPlayError, NardiError, NotationError, PositionError
from engine.long_board import LONG_START
from engine.moves import legal_plays
from engine.notation import (
    NOTATIONS,
    Position,
    format_play,
    format_position,
    parse_play,
    parse_position,
    position_rules,
)
from engine.rules import INTERNATIONAL, LONG_NARDI
from engine.turn_context import TurnContext
from nardi.documents import position_document
from nardi.render import position_text
from tests.conftest import SEED
from tests.long_positions import constructed_turns, game_turns

START_ID = "LONG=-----------o-----------O:00:?:0:0:0"

contexts = st.none() | st.builds(
    TurnContext,
    first_turn=st.booleans(),
    player=st.sampled_from(["first", "second"]),
    opponent_first_roll=st.none() | st.tuples(st.integers(1, 6), st.integers(1, 6)),
).filter(lambda context: str_of(context) is not None)


def str_of(context: TurnContext) -> str | None:
    """None for contexts that say more than a turn can need."""
    if not context.first_turn:
        return "-" if context == TurnContext() else None
    if context.player == "first":
        return "1" if context.opponent_first_roll is None else None
    return "2"


@st.composite
def positions(draw: st.DrawFn) -> Position:
    rng = np.random.default_rng([SEED, draw(st.integers(0, 1000))])
    kind = draw(st.integers(0, 6))
    [*_, (board, _, _)] = constructed_turns(rng, kind + 1)
    length = draw(st.integers(0, 9))
    score = st.integers(0, max(length - 1, 0)) if length else st.integers(0, 50)
    return Position(
        game="long",
        board=np.array(board, dtype=np.int8),
        dice=draw(st.none() | st.tuples(st.integers(1, 6), st.integers(1, 6))),
        context=draw(contexts),
        match_length=length,
        mover_score=draw(score),
        opp_score=draw(score),
    )


@given(positions())
def test_round_trip(position: Position) -> None:
    text = format_position(position, "longid")
    assert parse_position(text) == position
    assert parse_position(f" {text.replace('LONG=', 'long = ')} ", "long") == position


def test_the_start_and_what_may_be_left_out() -> None:
    start = parse_position("start", "long")
    np.testing.assert_array_equal(start.board, LONG_START)
    assert format_position(start, "longid") == START_ID
    for n_fields in range(1, 7):
        assert parse_position(":".join(START_ID.split(":")[:n_fields])) == start
    assert parse_position("start") == parse_position("start", "short") == Position()
    numbers = " ".join(str(n) for n in LONG_START)
    assert parse_position(numbers, "long") == start
    assert start.phase == "contact"


@pytest.mark.parametrize(
    ("turn", "context"),
    [
        ("?", None),
        ("-", TurnContext()),
        ("1", TurnContext(first_turn=True)),
        ("2", TurnContext(first_turn=True, player="second")),
        ("262", TurnContext(first_turn=True, player="second", opponent_first_roll=(6, 2))),
    ],
)
def test_the_context_is_kept(turn: str, context: TurnContext | None) -> None:
    text = f"LONG=-----------n---a-------O:62:{turn}:1:2:5"
    position = parse_position(text)
    assert position.context == context
    assert format_position(position, "longid") == text
    assert (position.mover_score, position.opp_score, position.match_length) == (1, 2, 5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("LONG=", "has 0 characters; it needs 24"),
        ("LONG=-----------o----------O", "has 23 characters"),
        ("LONG=-----------o-----------P", "has 'P'"),
        ("LONG=-----------o-----------O:07", "dice are '07'"),
        ("LONG=-----------o-----------O:3", "dice are '3'"),
        ("LONG=-----------o-----------O:31:3", "turn is '3'"),
        ("LONG=-----------o-----------O:31:267", "turn is '267'"),
        ("LONG=-----------o-----------O:31:?:x", "mover's score is 'x'"),
        ("LONG=-----------o-----------O:31:?:0:0:0:0", "has 7 fields"),
    ],
)
def test_what_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(NotationError, match=why):
        parse_position(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("LONG=A----------o-----------O", "mover has 16 checkers"),
        ("LONG=-----------o-----------O:00:?:5:0:5", "ends a match to 5"),
    ],
)
def test_what_cannot_occur(text: str, why: str) -> None:
    with pytest.raises(PositionError, match=why):
        parse_position(text)


@given(st.text(alphabet=st.sampled_from("LONG=-:oOaA0123?2 "), max_size=45))
def test_any_text_gives_our_error_and_no_other(text: str) -> None:
    try:
        position = parse_position("LONG=" + text)
    except NardiError:
        return
    assert parse_position(format_position(position, "longid")) == position


def test_games_are_not_mixed_up() -> None:
    long_start = parse_position(START_ID)
    for notation in NOTATIONS:
        with pytest.raises(NotationError, match="cannot hold a position of long nardi"):
            format_position(long_start, notation)
    with pytest.raises(NotationError, match="cannot hold a position of short nardi"):
        format_position(Position(), "longid")
    with pytest.raises(NotationError, match="is a position of short nardi, not long"):
        parse_position("4HPwATDgc/ABMA", "long")
    with pytest.raises(NotationError, match="is a position of long nardi, not short"):
        parse_position(START_ID, "short")
    for fault in ({"cube_value": 2}, {"jacoby": True}, {"crawford": True, "match_length": 3}):
        with pytest.raises(PositionError, match="without a doubling cube"):
            long_start.replace(**fault)
    with pytest.raises(PositionError, match="nobody is on the bar"):
        long_start.replace(board=[1, *[0] * 23, 14, 1])
    with pytest.raises(PositionError, match="short nardi knows no context"):
        Position(context=TurnContext())


def test_rules_of_a_position() -> None:
    rules, conflicts = position_rules(parse_position(START_ID), INTERNATIONAL, {})
    assert (rules, conflicts) == (LONG_NARDI, [])
    text = "LONG=-----------o-----------O:00:?:1:0:7"
    rules, _ = position_rules(parse_position(text), INTERNATIONAL, {"block_rule": "none"})
    assert rules == LONG_NARDI.replace(match_to=7, block_rule="none")
    with pytest.raises(NardiError, match="cannot be played by rules of game=long"):
        position_rules(Position(), INTERNATIONAL, {"game": "long"})


def test_document_and_text_board() -> None:
    position = parse_position("LONG=-----------n---a-------O:62:255")
    document = json.loads(json.dumps(position_document(position)))
    assert document["longid"] == "LONG=-----------n---a-------O:62:255:0:0:0"
    assert (document["game"], document["mover_pips"], document["opp_pips"]) == ("long", 360, 340)
    assert document["phase"] == "contact"
    lines = position_text(position).splitlines()
    assert lines[0] == " +13-14-15-16-17-18------19-20-21-22-23-24-+"
    assert " X |  O  340 pips, 0 off" in lines[1]
    assert "cube" not in "\n".join(lines)
    assert "BAR" not in "\n".join(lines)
    assert lines[-2] == "X to play 6-2, first turn of the second player, after 5-5"
    assert all(len(line) <= 80 for line in lines)


def test_plays_as_text(rng: np.random.Generator) -> None:
    turns = [*itertools.islice(game_turns(rng), 40), *constructed_turns(rng, 40)]
    for board, roll, context in turns:
        afterstates, plays = legal_plays(board, roll, LONG_NARDI, context)
        for number in {0, len(plays) // 2, len(plays) - 1}:
            text = format_play(plays[number], board)
            assert "*" not in text
            play = parse_play(text, board, roll, LONG_NARDI, context)
            np.testing.assert_array_equal(play.afterstate, afterstates[number])


def test_errors_of_plays_name_the_position() -> None:
    with pytest.raises(IllegalPlayError, match=r"from LONG=-{11}o-{11}O \(.*no other checker may"):
        parse_play("24/18 24/19", LONG_START, (6, 5), LONG_NARDI)
