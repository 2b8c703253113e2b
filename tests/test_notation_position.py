"""Positions as objects, traps of the identifiers, and the rules that a position brings."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.board import START
from engine.errors import ConfigError, NotationError, PositionError
from engine.notation import (
    Position,
    format_position,
    parse_match_id,
    parse_position,
    parse_position_id,
    position_rules,
)
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, parse_switches

XGID = "XGID=-a--B-C-C---dD---b-eb--AB-"
GNUID = "4HPwATDgc/ABMA:cAkAAAAAAAAE"


# --- the object ---


def test_position_keeps_a_read_only_copy_of_its_board() -> None:
    board = START.copy()
    position = Position(board=board)
    board[6] = 0
    assert position.board[6] == 5
    assert position.board.dtype == np.int8
    with pytest.raises(ValueError, match="read-only"):
        position.board[6] = 0


def test_positions_are_equal_by_value() -> None:
    assert Position() == Position(board=START.tolist())
    assert hash(Position()) == hash(parse_position("start"))
    assert Position() != Position(dice=(3, 1))
    assert Position() != Position().replace(mover_player=0)
    assert Position() != "start"


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ({"cube_value": 0}, ["cube_value is '0'; accepted: a whole number from 1 up"]),
        ({"cube_owner": "me"}, ["cube_owner is 'me'; accepted: mover, opponent, none"]),
        ({"dice": (7, 1), "crawford": 1}, ["roll '7 1' is not two die faces", "crawford is '1'"]),
        ({"board": [0] * 25 + [16]}, ["mover has 16 checkers"]),
        ({"board": [0] * 25}, ["a board has 26 numbers"]),
        ({"crawford": True}, ["money play has no Crawford game"]),
        ({"match_length": 5, "opp_score": 5}, ["the score 0-5 ends a match to 5"]),
        ({"match_length": 5, "jacoby": True, "beaver": True}, ["Jacoby's rule", "beavers are for"]),
        ({"match_length": 5, "offer": "beaver"}, ["a beaver is for money play only"]),
        ({"offer": "double"}, ["the mover cannot owe the decision with offer 'double'"]),
        ({"decider": "opponent"}, ["the opponent cannot owe the decision with offer 'none'"]),
        ({"offer": "double", "decider": "opponent", "dice": (3, 1)}, ["comes before the roll"]),
        (
            {"offer": "double", "decider": "opponent", "cube_owner": "opponent"},
            ["the mover doubles, but the opponent owns the cube"],
        ),
        ({"game_state": 5}, ["game_state is '5'; accepted: 0 to 4"]),
        ({"resignation": 4, "mover_player": 2}, ["resignation is '4'", "mover_player is '2'"]),
        ({"max_cube": 0, "mover_score": -1}, ["max_cube is '0'", "mover_score is '-1'"]),
    ],
)
def test_every_fault_is_named_at_once(fields: dict[str, Any], faults: list[str]) -> None:
    with pytest.raises(PositionError) as caught:
        Position(**fields)
    for fault in faults:
        assert fault in str(caught.value)


def test_a_stake_that_is_no_power_of_two_is_a_position_but_no_identifier() -> None:
    position = Position(cube_value=3, cube_owner="mover")
    for notation in ("xgid", "gnuid", "ogid"):
        with pytest.raises(NotationError, match="cannot hold a cube of 3; it holds powers of two"):
            format_position(position, notation)


@pytest.mark.parametrize(
    ("fields", "notation", "why"),
    [
        ({"cube_value": 128}, "ogid", "a cube of 128; it holds powers of two from 1 to 64"),
        ({"cube_value": 1 << 16}, "gnuid", "a cube of 65536; .* from 1 to 32768"),
        ({"cube_value": 1 << 31}, "xgid", "a cube of 2147483648"),
        ({"max_cube": 100}, "xgid", "the last field of an XGID cannot hold a cube of 100"),
        ({"mover_score": 40_000}, "gnuid", "a score of 40000; at most 32767"),
        ({"match_length": 40_000}, "gnuid", "a match length of 40000; at most 32767"),
        ({"resignation": 1, "decider": "opponent"}, "xgid", "an offered resignation"),
        ({"resignation": 1, "decider": "opponent"}, "ogid", "an offered resignation"),
        ({"game_state": 2}, "xgid", "game state 2"),
        ({"game_state": 0}, "ogid", "game state 0"),
        ({"offer": "beaver"}, "ogid", "cannot hold a beaver"),
        ({"offer": "beaver"}, "gnuid", "a beaver only with the cube on the opponent's side"),
        ({"match_length": 7, "crawford": True}, "xgid", "only if a side is one point away"),
        ({}, "fen", "unknown notation 'fen'; accepted: xgid, gnuid, ogid"),
    ],
)
def test_what_a_notation_cannot_hold_is_an_error(
    fields: dict[str, Any], notation: Any, why: str
) -> None:
    with pytest.raises(NotationError, match=why):
        format_position(Position(**fields), notation)


# --- forms and traps ---


@pytest.mark.parametrize(
    "text",
    [
        "start",
        " START\n",
        "4HPwATDgc/ABMA",
        "  4HPwATDgc/ABMA ",
        "Position ID: 4HPwATDgc/ABMA",
        str(START.tolist()),
        str(START),
        ",".join(map(str, START.tolist())),
        " ".join(map(str, START.tolist())),
        f"({', '.join(map(str, START.tolist()))})",
    ],
)
def test_forms_of_the_start_position_alone(text: str) -> None:
    assert parse_position(text) == Position()


@pytest.mark.parametrize(
    "text",
    [
        GNUID,
        GNUID.replace(":", " "),
        f"gnubgid {GNUID}",
        f'"{GNUID}"',
        "Position ID: 4HPwATDgc/ABMA Match ID: cAkAAAAAAAAE",
        " GNU Backgammon  Position ID: 4HPwATDgc/ABMA\n                 Match ID   : cAkAAAAAAAAE\n"
        " +13-14-15-16-17-18------19-20-21-22-23-24-+     O: gnubg (Cube: 8)",
    ],
)
def test_forms_of_a_gnubg_id(text: str) -> None:
    assert parse_position(text) == Position(jacoby=False)


@pytest.mark.parametrize(
    "text",
    [
        f"{XGID}:0:0:1:31:2:1:0:7:10",
        f"{XGID[5:]}:0:0:1:31:2:1:0:7:10",
        f"xgid={XGID[5:]}:0:0:1:31:2:1:0:7:10",
        f"Position: {XGID}:0:0:1:31:2:1:0:7:10\nX:Beta   O:Alpha\nXGID=rubbish",
        f"{XGID[5:]}:0:0:1:31:2:1:0:7:10\n +13-14-15",
        f"'{XGID}:0:0:1:31:2:1:0:7:10'",
        f"see ({XGID}:0:0:1:31:2:1:0:7:10).",
    ],
)
def test_forms_of_an_xgid(text: str) -> None:
    position = parse_position(text)
    assert (position.dice, position.mover_score, position.match_length) == ((3, 1), 2, 7)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "'' is no position; accepted: a GNU Backgammon ID"),
        ("hello", "'hello' is no position; accepted: .* or start"),
        ("4HPwATDgc/ABM", "Position ID '4HPwATDgc/ABM' has 13 characters; it needs exactly 14"),
        ("4HPwATDgc/ABMA==", "has 16 characters; it needs exactly 14 of A-Z a-z 0-9"),
        ("4HPwATDgc_ABMA", "has '_' at character 10; accepted: A-Z"),
        ("4HPwATDgc/ABMB", "has a last character other than A, Q, g or w"),
        ("//////////////", "has a last character other than"),
        ("/////////////w", "does not hold the checkers of two sides"),
        ("4HPwATDB5+ADIA", "both sides hold the mover's point"),
        ("4HPwATDgc/ABMA:cAkAAAAAAAA", "Match ID 'cAkAAAAAAAA' has 11 characters; .* exactly 12"),
        ("4HPwATDgc/ABMA cAkAAAAAAAA", "Match ID 'cAkAAAAAAAA' has 11 characters"),
        ("Position ID: 4HPwATDgc/ABMA Match ID: cAk", "Match ID 'cAk' has 3 characters"),
        ("4HPwATDgc/ABMA:", "Match ID '' has 0 characters"),
        ("cAkAAAAAAAAA", "has 12 characters like a Match ID, which tells no board"),
        ("4HPwATDgc/ABMA:cIn/AAAAAAAE", "has dice 7 and 7; accepted: both 0, or both 1 to 6"),
        ("4HPwATDgc/ABMA:cAniAAAAAAAE", "has dice 4 and 0"),
        ("4HPwATDgc/ABMA:cA/gAAAAAAAE", "has game state 7"),
        ("4HPwATDgc/ABMA:cAkAAAAAAAAM", "has one of its last five bits set"),
        ("1, 2, 3", "board '1, 2, 3' has 3 numbers; it needs exactly 26 whole numbers"),
        ("[0, 1, 2", "has its brackets wrong"),
        ("0 " * 25 + "1000000", "has '1000000'"),
        (f"{XGID}:0:0:1:31:2:1:0:7", "has 9 fields; it needs exactly 10"),
        (f"{XGID}-:0:0:1:31:2:1:0:7:10", "has 27 characters; it needs exactly 26"),
        (f"{XGID}:-1:0:1:31:2:1:0:7:10", r"field 2 \(log2 of the cube\) is '-1'; accepted: "),
        (f"{XGID}:31:0:1:31:0:0:0:0:10", "is '31'; accepted: a whole number 0 to 30"),
        (f"{XGID}:0:2:1:31:2:1:0:7:10", r"field 3 \(cube position\) is '2'; accepted: 1, 0, -1"),
        (f"{XGID}:0:0:0:31:2:1:0:7:10", r"field 4 \(turn\) is '0'; accepted: 1, -1"),
        (f"{XGID}:0:0:1:07:2:1:0:7:10", r"field 5 \(dice\) is '07'; accepted: 00"),
        (f"{XGID}:0:0:1:31:-2:1:0:7:10", r"field 6 \(score\) is '-2'"),
        (f"{XGID}:0:0:1:31:2:١:0:7:10", r"field 7 \(score\) is '١'"),
        (
            f"{XGID}:0:0:1:31:2:1:2:7:10",
            r"field 8 \(rule\) is '2'; accepted: a whole number 0 to 1",
        ),
        (f"{XGID}:0:0:1:31:2:1:1:7:10", "nobody is one point away at 2-1 of 7"),
        (f"{XGID}:0:0:1:31:7:1:0:7:10", "the score 7-1 ends a match to 7"),
        (f"{XGID}:0:0:1:31:2:1:0:7:99", r"field 10 \(log2 of the largest cube\) is '99'"),
        (f"{XGID[:-1]}a:0:0:1:31:2:1:0:7:10", "the bar of the bottom player, .* only: A-O"),
        (f"XGID=A{XGID[6:]}:0:0:1:31:2:1:0:7:10", "the bar of the top player, .* only: a-o"),
        (f"XGID=ß{XGID[6:]}:0:0:1:31:2:1:0:7:10", "has 'ß' at character 1"),
        ("11ccc:66:N0N:36:X", r"field 5 \(colour\) is 'X'; accepted: W, B"),
        ("11ccc:66:N0N:36:W:Q", r"field 6 \(state\) is 'Q'; accepted: IW, IB, R"),
        ("11ccc:66:N0O:36:W:R", "offers the cube in field 3, but its state is 'R', not D"),
        ("11ccc:66:N0N:36:W:R:0:0:7X", r"field 9 \(length\) is '7X'"),
        ("11ccc:66:N0N:36:W:R:0:0:7L", "says post-Crawford, but nobody is one point away"),
        ("11ccc:66:N0N:36:W:R:0:0:7:0:3", r"field 11 \(checkers\) is '3'; accepted: 15"),
        ("11ccc:1:N0N:36:W", "checkers of both sides on '1'"),
        ("1111111111111111:6:N0N:36:W", "16 checkers of White"),
    ],
)
def test_refusals_say_what_is_wrong_and_what_is_accepted(text: str, why: str) -> None:
    with pytest.raises((NotationError, PositionError), match=why):
        parse_position(text)


def test_match_ids_of_the_older_kind_are_read_in_match_play() -> None:
    """The manual's example lacks the Jacoby bit; newer versions write it in every match."""
    old, new = (parse_position(f"4HPwATDgc/ABMA:QYkqASAAIAA{end}") for end in "AE")
    assert old == new
    assert old.jacoby is None
    assert format_position(old, "gnuid").endswith(":QYkqASAAIAAE")


def test_gnubg_ids_of_beaver_raccoon_and_resigned_double() -> None:
    """As GNU Backgammon 1.08 writes them: after a beaver the turn is the doubler's again."""
    beaver = parse_position("4HPwATDgc/ABMA:QRkAAAAAAAAA")
    assert (beaver.offer, beaver.decider) == ("beaver", "mover")
    assert (beaver.cube_value, beaver.cube_owner) == (2, "opponent")
    raccoon = parse_position("4HPwATDgc/ABMA:QhEAAAAAAAAA")
    assert (raccoon.offer, raccoon.decider) == ("raccoon", "opponent")
    assert (raccoon.cube_value, raccoon.cube_owner) == (4, "opponent")
    resigned = parse_position("4HPwATDgc/ABMA:cDkAAAAAAAAA")
    assert (resigned.offer, resigned.resignation, resigned.decider) == ("double", 1, "mover")
    for position, match_id in (
        (beaver, "QRkAAAAAAAAA"),
        (raccoon, "QhEAAAAAAAAA"),
        (resigned, "cDkAAAAAAAAA"),
    ):
        assert format_position(position, "gnuid") == f"4HPwATDgc/ABMA:{match_id}"


def test_xgid_offers_name_the_doubler() -> None:
    for letter, offer, decider in (
        ("D", "double", "opponent"),
        ("B", "beaver", "mover"),
        ("R", "raccoon", "opponent"),
    ):
        for turn, player in (("1", 1), ("-1", 0)):
            text = f"{XGID}:1:{turn}:{turn}:{letter}:0:0:2:0:10"
            position = parse_position(text)
            assert (position.offer, position.decider) == (offer, decider)
            assert (position.mover_player, position.cube_owner) == (player, "mover")
            assert format_position(position, "xgid") == text


def test_ogid_dead_and_unset_cubes() -> None:
    dead = parse_position("11ccc:66:D1N:36:W:R")
    assert (dead.cube_owner, dead.max_cube) == (None, 2)
    assert format_position(dead, "ogid").split(":")[2] == "D1N"
    unset = parse_position("11ccc:66:?0N:36:W:R")
    assert (unset.cube_owner, unset.max_cube) == (None, None)


def test_ogid_ends_of_games_and_what_is_read_over() -> None:
    for state, number in (("G", 2), ("M", 2), ("RG", 3), ("RM", 3), ("P", 4)):
        assert parse_position(f"11ccc:66:N0N::W:{state}:1:2:7").game_state == number
    assert parse_position("11ccc:66:N0N::W:R:1:2:0G5:77:15") == parse_position(
        "11ccc:66:N0N::W::1:2:0"
    )


def test_position_id_and_match_id_can_be_read_alone() -> None:
    assert (parse_position_id("4HPwATDgc/ABMA") == START).all()
    fields = parse_match_id("QYkqASAAIAAE")
    assert fields["dice"] == (5, 2)
    assert fields["mover_player"] == 1
    assert (fields["mover_score"], fields["opp_score"]) == (4, 2)


# --- rules ---


def test_a_position_brings_its_own_rules() -> None:
    money = parse_position(f"{XGID}:0:0:1:00:0:0:3:0:8")
    rules, conflicts = position_rules(money, CAUCASIAN, {})
    assert rules == CAUCASIAN.replace(jacoby=True, beaver=True, cube_cap=256, match_to=None)
    assert conflicts == []
    match = parse_position(f"{XGID}:0:0:1:00:6:1:1:7:10")
    rules, conflicts = position_rules(match, INTERNATIONAL.replace(crawford=False), {})
    assert (rules.match_to, rules.crawford, rules.cube_cap) == (7, True, 1024)
    assert conflicts == []


def test_a_flag_wins_over_the_position_and_the_conflict_is_told() -> None:
    position = parse_position(f"{XGID}:1:1:1:00:0:0:1:0:10")
    switches = parse_switches("jacoby=false,beaver=false,cube_cap=null,match_to=5,cube=false")
    rules, conflicts = position_rules(position, INTERNATIONAL, switches)
    assert (rules.jacoby, rules.beaver, rules.cube_cap) == (False, False, None)
    assert (rules.match_to, rules.cube) == (5, False)
    assert conflicts == [
        "match_to: the position says null, but 5 was asked for and is used",
        "jacoby: the position says true, but false was asked for and is used",
        "cube_cap: the position says 1024, but null was asked for and is used",
        "cube: the position says true, but false was asked for and is used",
    ]


def test_a_flag_that_agrees_is_no_conflict() -> None:
    position = parse_position(f"{XGID}:0:0:1:00:0:0:1:0:10")
    rules, conflicts = position_rules(position, ARENA, parse_switches("jacoby=true,beaver=false"))
    assert conflicts == []
    assert rules == ARENA.replace(jacoby=True, beaver=False, cube_cap=1024)


@pytest.mark.parametrize("text", ["start", "4HPwATDgc/ABMA", str(START.tolist())])
def test_a_board_alone_tells_no_rules(text: str) -> None:
    base = INTERNATIONAL.replace(match_to=5, jacoby=True)
    assert position_rules(parse_position(text), base, {}) == (base, [])
    assert position_rules(parse_position(text), base, {"match_to": 7})[1] == []


def test_a_cube_above_the_largest_cube_is_told() -> None:
    position = parse_position(f"{XGID}:3:1:1:00:0:0:1:0:10")
    rules, conflicts = position_rules(position, INTERNATIONAL, {"cube_cap": 4})
    assert rules.cube_cap == 4
    assert conflicts == [
        "cube_cap: the position says 1024, but 4 was asked for and is used",
        "cube_cap: the cube shows 8, more than the largest cube 4",
    ]


def test_an_unknown_switch_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="unknown rule 'jakoby'"):
        position_rules(Position(), INTERNATIONAL, {"jakoby": True})


# --- the page for users ---


def test_every_position_of_the_documentation_can_be_read() -> None:
    page = (Path(__file__).parent.parent / "docs" / "formats.md").read_text(encoding="utf-8")
    examples = page.split("\n\n## ")[0]
    shown = re.findall(
        r"`(XGID=[^`… ]+:[^`]+|[^`\s]{14}|[^`]*:N0N:[^`]*|start|0,-2[^`]*)`", examples
    )
    shown += re.findall(r"`([^`\s]{14}:[^`\s]{12})`", examples)
    assert len(shown) == 6
    for text in shown:
        assert (parse_position(text).board == START).all(), text
