"""Play text: every form people write, and every legal play written and read back."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.board import START, Board
from engine.errors import AmbiguousPlayError, IllegalPlayError, NotationError, PositionError
from engine.moves import legal_afterstates, legal_plays, play_steps
from engine.notation import Play, format_play, format_position_id, parse_play, parse_position
from engine.rules import INTERNATIONAL, Rules
from tests.golden_cases import MoveCase, read_golden, short_move_cases
from tests.notation_strategies import as_array
from tests.strategies import HOUSE_RULES, boards, mixed_boards, rolls


def _board(xgid_board: str) -> Board:
    return parse_position(f"XGID={xgid_board}:0:0:1:00:0:0:0:0:10").board


def _check_round_trip(board: Board, roll: tuple[int, int], rules: Rules, at_most: int) -> int:
    """Every legal play (or some, evenly spread) is written and read back; returns how many."""
    afterstates, plays = legal_plays(board, roll, rules)
    stride = max(1, len(plays) // at_most)
    texts = set()
    for after, steps in list(zip(afterstates, plays, strict=True))[::stride]:
        text = format_play(steps, board)
        read = parse_play(text, board, roll, rules)
        where = f"{text!r} {roll} {format_position_id(board)} {rules}"
        assert (read.afterstate == after).all(), where
        assert (play_steps(board, roll, read.steps, rules) == after).all(), where
        assert format_play(read, board) == text, where
        texts.add(text)
    assert len(texts) == len(plays[::stride]), "two plays have one text"
    return len(texts)


def test_every_golden_play_is_written_and_read_back() -> None:
    checked = 0
    for line in read_golden("moves.jsonl.gz")[::4]:
        checked += _check_round_trip(as_array(line["b"]), tuple(line["d"]), INTERNATIONAL, 12)
    assert checked > 2500


@settings(max_examples=100, deadline=None)
@given(board=boards(), roll=rolls(), rules=st.sampled_from(HOUSE_RULES))
def test_legal_plays_come_back_under_house_rules(
    board: tuple[int, ...], roll: tuple[int, int], rules: Rules
) -> None:
    assert _check_round_trip(as_array(board), roll, rules, 10) >= 1


@pytest.mark.slow
def test_all_plays_of_many_positions_come_back() -> None:
    rng = np.random.default_rng(5)
    positions = itertools.islice(mixed_boards(rng), 1_200)
    checked = sum(
        _check_round_trip(as_array(board), roll, HOUSE_RULES[number % 6], 100)
        for number, (board, roll) in enumerate(positions)
    )
    assert checked > 20_000


@pytest.mark.parametrize("case", short_move_cases(), ids=lambda case: case.name)
def test_golden_rule_cases_in_words(case: MoveCase) -> None:
    """Plays of the rules file, written in the order it gives, without stars and in reverse."""
    name, rules, board, roll = case.name, case.rules, as_array(case.board), case.roll
    for steps in (case.legal or case.legal_includes)[:20]:
        if not steps:
            continue
        words = [f"{source}/{target}" for source, target in steps]
        texts = {" ".join(words), ", ".join(reversed(words)), format_play(steps, board)}
        results = {parse_play(text, board, roll, rules).afterstate.tobytes() for text in texts}
        assert len(results) == 1, name
    for steps in case.illegal:
        words = [f"{source}/{target}" for source, target in steps]
        with pytest.raises(IllegalPlayError):
            parse_play(" ".join(words) or "pass", board, roll, rules)


C20_BOARD = _board("-b----D-C---eE---c-da---BA")
FORMS = [
    ("8/5 6/5", "31", ["6/5 8/5", "8/5, 6/5", "8/5,6/5", " 8/5   6/5* ", "8-5 6-5", "8 5 6 5"]),
    ("8/5 6/5", "31", ["8/5;6/5", "8/5\t6/5\n", "08/05 06/05", "31: 8/5 6/5", "13: 6/5 8/5"]),
    ("13/9", "31", ["13/10/9", "13/10 10/9", "10/9, 13/10", "13/9*", "13-9", "13 9"]),
    ("24/18(2) 13/7(2)", "66", ["13/7(2) 24/18(2)", "24/18 13/7 24/18 13/7", "13/7 (2) 24/18(2)"]),
    ("24/16(2)", "44", ["24/20/16(2)", "24/20(2) 20/16(2)", "20/16 24/20 24/16", "24-20-16(2)*"]),
    ("13/5 6/2(2)", "44", ["13/9/5 6/2(2)", "6/2 13/5 6/2", "9/5 13/9 6/2(2)"]),
]


@pytest.mark.parametrize(("canonical", "dice", "texts"), FORMS)
def test_forms_people_write(canonical: str, dice: str, texts: list[str]) -> None:
    roll = (int(dice[0]), int(dice[1]))
    expected = parse_play(canonical, START, roll)
    assert format_play(expected, START) == canonical
    for text in [canonical, *texts]:
        for variant in (text, text.upper(), text.title()):
            assert (parse_play(variant, START, roll).afterstate == expected.afterstate).all()
            assert (parse_play(variant, START, roll[::-1]).afterstate == expected.afterstate).all()


@pytest.mark.parametrize(
    ("dice", "texts"),
    [
        ("14", ["bar/24 8/4", "Bar/24 8/4", "BAR/24, 8/4", "25/24 8/4", "b/24 8/4", "8/4 bar/24"]),
        ("51", ["bar/20* 24/23", "bar/20 24/23", "25/20*,24/23", "24/23 B/20*", "bar 20 24 23"]),
    ],
)
def test_bar_entry_forms_name_one_play(dice: str, texts: list[str]) -> None:
    """C20 of the public bug reports: case, number or word, star and order do not matter."""
    roll = (int(dice[0]), int(dice[1]))
    results = {parse_play(text, C20_BOARD, roll).afterstate.tobytes() for text in texts}
    assert len(results) == 1


def test_c20_play_in_any_order_and_with_counts() -> None:
    board = _board("----b-M-A-------b-cdd---A-")
    forward = parse_play("24/22 8/2", board, (6, 2))
    assert (parse_play("8/2 24/22", board, (2, 6)).afterstate == forward.afterstate).all()
    doubled = parse_play("13/11(2) 6/4(2)", START, (2, 2))
    assert doubled.afterstate[[13, 11, 6, 4]].tolist() == [3, 2, 3, 2]


def test_c21_only_a_checker_that_can_get_there_moves() -> None:
    board = _board("-b----E-C--BbB-c-c-e----C-")
    assert len(legal_afterstates(board, (1, 1))) == 92
    assert parse_play("11/10(2) 6/5(2)", board, (1, 1)).afterstate[10] == 2
    for text in ("13/10 6/5", "13/12 11/10 6/5(2)", "13/11 6/5(2)"):
        with pytest.raises(IllegalPlayError):
            parse_play(text, board, (1, 1))


DANCE = _board("-------------------bbbbbbB")


@pytest.mark.parametrize(
    "text",
    ["", "  ", "pass", "Pass", "PASS", "cannot move", "Cannot Move", "CAN'T MOVE", "(no play)"],
)
def test_pass_forms(text: str) -> None:
    _check_pass(text)


@pytest.mark.parametrize("text", ["no legal moves", "--", "dance", "64:", "46: Cannot Move"])
def test_pass_forms_of_other_programs(text: str) -> None:
    _check_pass(text)


def _check_pass(text: str) -> None:
    play = parse_play(text, DANCE, (6, 4))
    assert play.steps == ()
    assert (play.afterstate == DANCE).all()
    assert format_play(play, DANCE) == "pass"


@pytest.mark.parametrize("text", ["pass", "Cannot Move", "--"])
def test_a_pass_with_a_legal_play_is_illegal(text: str) -> None:
    with pytest.raises(IllegalPlayError, match=r"there are legal plays\); legal: '"):
        parse_play(text, START, (3, 1))


def test_an_empty_text_names_no_play() -> None:
    for text in ("", " \n", "31:"):
        with pytest.raises(NotationError, match=r"names no play.*16 plays are legal"):
            parse_play(text, START, (3, 1))


def test_a_play_where_only_a_pass_is_legal() -> None:
    with pytest.raises(IllegalPlayError, match="legal: 'pass'"):
        parse_play("bar/21", DANCE, (6, 4))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("xyzzy", "cannot be read from 'xyzzy' on"),
        ("8/5 6/", "from '6/' on"),
        ("/5 6/5", "from '/5 6/5' on"),
        ("8//5", "from '8//5' on"),
        ("8/5)6/5", r"from '8/5\)6/5' on"),
        ("8/5-6/5", "from '8/5-6/5' on"),
        ("26/25 8/5", "point '26'; points are 1 to 24"),
        ("off/6", "moves on from off"),
        ("3/0/2", "moves on from off"),
        ("8/bar", "moves to the bar"),
        ("8/25", "moves to the bar"),
        ("8/5(1) 6/5", r"count '\(1\)'; counts are \(2\) to \(4\)"),
        ("8/7(5)", r"count '\(5\)'"),
        ("8 5 6", "names 3 points"),
        ("8→5 6→5", "cannot be read"),
        ("٨/5", "cannot be read"),
        ("3-1: 8/5 6/5", "from '3-1: 8/5 6/5' on"),
        ("double", "is a cube action"),
        ("No double", "is a cube action"),
        ("????", "stands for a play that was not made"),
        ("8/5 " * 100, "has 400 characters"),
    ],
)
def test_unreadable_texts_say_why_and_what_is_accepted(text: str, why: str) -> None:
    with pytest.raises(NotationError, match=rf"{why}.*; accepted: moves such as 8/5, 24/18/13\*"):
        parse_play(text, START, (3, 1))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8/5", "the turn is not complete"),
        ("8/5 8/5", "no die for it is left"),
        ("8/2", "no dice fit"),
        ("5/8 5/6", "no dice fit"),
        ("13/12/9", "point 12 is closed"),
        ("bar/24 8/5", "nobody is on the bar"),
        ("6/off", "no dice fit"),
        ("8/5 6/5 13/12", "no dice fit"),
        ("52: 13/8 13/11", "is for dice 5-2, the roll is 3-1"),
    ],
)
def test_illegal_texts_say_why(text: str, why: str) -> None:
    with pytest.raises(IllegalPlayError, match=why):
        parse_play(text, START, (3, 1))


def test_illegal_message_names_position_roll_and_some_legal_plays() -> None:
    with pytest.raises(IllegalPlayError) as caught:
        parse_play("8/5 6/5", START, (4, 1))
    message = str(caught.value)
    assert message.startswith("'8/5 6/5' cannot be played with 4-1 from 4HPwATDgc/ABMA (")
    plays = [format_play(steps, START) for steps in legal_plays(START, (4, 1))[1]]
    assert (
        f"; legal: '{plays[0]}', '{plays[1]}', '{plays[2]}', … ({len(plays) - 3} more)" in message
    )


def test_one_checker_with_a_count_of_two_is_not_copied() -> None:
    board = _board("-A----------------------b-")
    assert parse_play("1/off", board, (5, 2)).steps == ((1, 0),)
    with pytest.raises(IllegalPlayError):
        parse_play("1/off(2)", board, (5, 2))


TWO_WAYS = _board("---a-aD-C---cE-b-b-ea---B-")  # blots on 3 and 5


def test_two_hitting_ways_are_ambiguous() -> None:
    for text in ("6/2", "6/2*"):
        with pytest.raises(AmbiguousPlayError, match=r"'6/2\*?' can be '6/\d\*/2' or '6/\d\*/2'"):
            parse_play(text, TWO_WAYS, (3, 1))
    by_five = parse_play("6/5*/2", TWO_WAYS, (3, 1))
    by_three = parse_play("6/3/2", TWO_WAYS, (3, 1))
    assert (by_five.afterstate[5], by_five.afterstate[3]) == (0, -1)
    assert (by_three.afterstate[5], by_three.afterstate[3]) == (-1, 0)
    assert format_play(by_three, TWO_WAYS) == "6/3*/2"


ONE_WAY_HITS = _board("-b----E-C-a--E-c-d-d----B-")  # blot on 10, 12 is free


def test_an_open_way_hits_nothing_it_does_not_name() -> None:
    """13/9 goes by 12, as other programs write it; by 10 it hits and is written 13/10*/9."""
    quiet = parse_play("13/9", ONE_WAY_HITS, (3, 1))
    hitting = parse_play("13/10*/9", ONE_WAY_HITS, (3, 1))
    assert (quiet.afterstate[0], hitting.afterstate[0]) == (0, 1)
    assert format_play(quiet, ONE_WAY_HITS) == "13/9"
    assert format_play(hitting, ONE_WAY_HITS) == "13/10*/9"
    assert (parse_play("13/10/9", ONE_WAY_HITS, (3, 1)).afterstate == hitting.afterstate).all()
    assert parse_play("13/12/9", ONE_WAY_HITS, (3, 1)).afterstate[0] == 0


def test_a_star_for_a_hit_on_the_way_makes_an_open_way_ambiguous() -> None:
    with pytest.raises(AmbiguousPlayError, match=r"'13/9' or '13/10\*/9'|'13/10\*/9' or '13/9'"):
        parse_play("13/9*", ONE_WAY_HITS, (3, 1))


def test_the_only_way_may_hit_without_being_named() -> None:
    board = _board("-b----E-C-a-cE---d-d----B-")  # blot on 10, 12 is closed
    play = parse_play("13/9", board, (3, 1))
    assert play.steps == ((13, 10), (10, 9))
    assert play.afterstate[0] == 1
    assert format_play(play, board) == "13/10*/9"


def test_the_way_matters_under_hit_and_hide() -> None:
    """The hit on 10 may not go on to the safe 8 point; by 11 nothing is hit."""
    board = _board("-b----E-C-a--E-c-d-d----B-")
    banned = INTERNATIONAL.replace(hit_and_hide="ban")
    assert parse_play("13/10*/8", board, (3, 2)).afterstate[0] == 1
    with pytest.raises(IllegalPlayError, match="safe on one of its own side's points"):
        parse_play("13/10*/8", board, (3, 2), banned)
    assert parse_play("13/8", board, (3, 2), banned).afterstate[0] == 0


def test_an_unordered_text_finds_the_order_that_a_house_rule_needs() -> None:
    """6/off first, then 3/2* in home: the other order bears off after a hit in home."""
    board = _board("--aA--A-----------------d-")
    banned = INTERNATIONAL.replace(hit_then_bear_off="ban_home_hit")
    for text in ("6/off 3/2*", "3/2* 6/off", "3/2 6/o"):
        play = parse_play(text, board, (6, 1), banned)
        assert play.steps == ((6, 0), (3, 2))
    assert format_play(((3, 2), (6, 0)), board) == "6/off 3/2*"


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((), "pass"),
        (((24, 20), (24, 20), (20, 16), (20, 16)), "24/16(2)"),
        (((8, 7), (7, 6), (8, 7), (6, 5)), "8/7 8/5"),
        (((6, 5), (5, 4), (4, 3), (3, 2)), "6/2"),
        (((13, 11), (6, 4), (13, 11), (6, 4)), "13/11(2) 6/4(2)"),
    ],
)
def test_canonical_texts(steps: tuple[tuple[int, int], ...], text: str) -> None:
    assert format_play(steps, START) == text


def test_canonical_text_stars_each_point_hit_once() -> None:
    board = _board("-b---aE-a--B-B-a-d-d--a---")
    assert format_play(((13, 5), (11, 8), (11, 8)), board) == "13/5* 11/8*(2)"
    assert format_play(((11, 8), (8, 5), (11, 8), (8, 5)), board) == "11/8*/5*(2)"
    assert format_play(Play(afterstate=board, steps=((13, 8), (8, 5))), board) == "13/8*/5*"


def test_bad_rolls_boards_and_finished_games_are_position_errors() -> None:
    over = parse_position("AAAAAOADBgEAAA").board
    for board, roll in ((START, (7, 1)), (START, (3,)), (START[:20], (3, 1)), (over, (3, 1))):
        with pytest.raises(PositionError):
            parse_play("8/5 6/5", board, roll)


def test_fast_enough_for_long_lists() -> None:
    texts = [format_play(steps, START) for steps in legal_plays(START, (6, 4))[1]]
    parse_play(texts[0], START, (6, 4))
    began = time.perf_counter()
    for number in range(500):
        parse_play(texts[number % len(texts)], START, (6, 4))
    assert time.perf_counter() - began < 2.5  # 0.1 s on an idle core
