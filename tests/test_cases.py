"""Positions on which other backgammon programs failed, by the number of the case.

Each test says in one line what went wrong elsewhere; the right answer is asserted here. C14 (other
numbers of checkers) is no rule of ours; C15 (contact) is in test_board.py, C11 (pips) also in
test_moves_properties.py.
"""

import itertools

import numpy as np
import pytest

from engine.board import (
    START,
    borne_off,
    flip,
    has_contact,
    opp_borne_off,
    opp_pip_count,
    phase,
    pip_count,
)
from engine.errors import IllegalPlayError, NotationError, PositionError
from engine.moves import legal_afterstates, legal_afterstates_batch, legal_plays, play_steps
from engine.notation import (
    Position,
    format_position,
    format_position_id,
    parse_play,
    parse_position,
    parse_position_id,
)
from engine.scoring import can_lose_backgammon, can_lose_gammon, outcome_mask, result
from tests import reference_rules
from tests.move_checks import board_array, rows
from tests.outside import gnubg_lists
from tests.strategies import ORDERED_ROLLS, mixed_boards, self_play_boards

BoardTuple = tuple[int, ...]


def position_with_dice(text: str) -> tuple[Position, tuple[int, int]]:
    position = parse_position(text)
    assert position.dice is not None
    return position, position.dice


def assert_plays(xgid: str, plays: list[str], position_id: str | None = None) -> None:
    """These and no other plays are legal, for both orders of the dice; the ID is the same board."""
    position, (first, second) = position_with_dice(xgid)
    board = position.board
    if position_id is not None:
        np.testing.assert_array_equal(parse_position(position_id).board, board)
        assert format_position_id(board) == position_id
    for roll in ((first, second), (second, first)):
        expected = sorted(
            tuple(parse_play(play, board, roll).afterstate.tolist()) for play in plays
        )
        assert len(set(expected)) == len(plays)
        assert rows(legal_afterstates(board, roll)) == expected


def assert_count(xgid: str, count: int, position_id: str | None = None) -> None:
    """So many distinct results, the same ones as in the reference."""
    position, roll = position_with_dice(xgid)
    if position_id is not None:
        np.testing.assert_array_equal(parse_position(position_id).board, position.board)
    found = rows(legal_afterstates(position.board, roll))
    assert len(found) == count
    assert found == sorted(reference_rules.afterstates(position.board.tolist(), roll))


# --- rules and move generation ---


def test_c01_a_play_of_both_dice_is_not_cut_to_one() -> None:
    """Only the larger die was played where both can be."""
    xgid = "XGID=----b-M-A-------b-cdd---A-:0:0:1:62:0:0:0:0:10"
    assert_plays(xgid, ["24/22 8/2"], "8N4ZAAbg/xMAIA")
    position, roll = position_with_dice(xgid)
    with pytest.raises(IllegalPlayError):
        parse_play("8/2", position.board, roll)


def test_c02_of_two_dice_that_cannot_both_be_played_the_larger_is() -> None:
    """Either number was allowed."""
    xgid = "XGID=------------------b-cccd-A:0:0:1:61:0:0:0:0:10"
    assert_plays(xgid, ["bar/19"], "3t0ZAAAAAAABAA")
    position, roll = position_with_dice(xgid)
    with pytest.raises(IllegalPlayError):
        parse_play("bar/24", position.board, roll)


def test_c03_both_dice_must_be_played_if_they_can() -> None:
    """Results of one die were offered next to those of two."""
    xgid = "XGID=-----------------b--cccd-A:0:0:1:61:0:0:0:0:10"
    assert_plays(xgid, ["bar/19/18"], "3t0xAAAAAAABAA")
    position, roll = position_with_dice(xgid)
    for part in ("bar/19", "bar/24"):
        with pytest.raises(IllegalPlayError):
            parse_play(part, position.board, roll)


def test_c04_of_a_double_as_many_steps_as_possible() -> None:
    """A double of which only a part fits was not played at all."""
    xgid = "XGID=-GG---------d--b---ed---A-:0:0:1:33:0:0:0:0:10"
    assert_plays(xgid, ["24/21/18"], "8D6MBwB/fwAAIA")


def test_c05_a_larger_die_takes_only_the_rearmost_checker_off() -> None:
    """Any checker could be borne off by a number larger than its point."""
    xgid = "XGID=-A-AA---------------o-----:0:0:1:65:0:0:0:0:10"
    assert_plays(xgid, ["4/off 3/off"], "8P8HAAApAAAAAA")
    companion = "XGID=--AA-A--------------o-----:0:0:1:64:0:0:0:0:10"
    assert_plays(companion, ["5/off 3/off", "5/1 3/off"])


def test_c06_a_die_is_played_after_one_that_cannot_be() -> None:
    """Automatic bear-off stopped at the first die for which nothing could be borne off."""
    xgid = "XGID=--A--A------------------o-:0:0:1:42:0:0:0:0:10"
    assert_plays(xgid, ["5/1 2/off", "5/3/off"], "/38AAAAiAAAAAA")


def test_c07_a_double_is_one_turn() -> None:
    """A double was played as two turns, so that this game was not over after the first."""
    xgid = "XGID=-C-----------------ccc--f-:0:0:1:11:0:0:0:0:10"
    assert_plays(xgid, ["1/off(3)"], "P+4OAAAHAAAAAA")
    position, roll = position_with_dice(xgid)
    [after], [steps] = legal_plays(position.board, roll)
    assert steps == ((1, 0),) * 3
    assert phase(after) == "over"
    assert borne_off(after) == 15


def test_c08_entering_and_going_on_with_a_double() -> None:
    """Four steps were asked for and entering among them refused."""
    xgid = "XGID=-bA--bF-C-a-bB---cad--B--A:0:0:1:55:0:0:0:0:10"
    assert_count(xgid, 8, "4HUwwTDCz8EARg")
    position, roll = position_with_dice(xgid)
    _, plays = legal_plays(position.board, roll)
    assert {steps[0] for steps in plays} == {(25, 20)}
    assert {len(steps) for steps in plays} == {4}


def test_c09_every_play_is_found_next_to_a_checker_on_the_bar() -> None:
    """ "You can only make one move" although there are four plays."""
    xgid = "XGID=-bCB-BCa----c-----cf--A-BA:0:0:1:53:0:0:0:0:10"
    assert_plays(xgid, ["bar/22/17", "bar/20 24/21", "bar/20 6/3", "bar/20 5/2"], "4HfgIDBudgCALA")


def test_c10_passes_in_a_row_change_nothing() -> None:
    """Repeated passes ended or corrupted the game."""
    xgid = "XGID=------E-C---cE----bbbbbb-B:0:0:1:61:0:0:0:0:10"
    assert_plays(xgid, ["bar/24"], "tm0DBwDgc/ABYA")
    board = parse_position(xgid).board
    for roll in ((2, 3), (3, 2)):
        assert rows(legal_afterstates(board, roll)) == [tuple(board.tolist())]
    assert len(legal_afterstates(board, (1, 1))) == 5
    now = board
    for number in range(500):
        first, second = 2 + number % 5, 2 + number // 5 % 5
        now = play_steps(now, (first, second), ())
    np.testing.assert_array_equal(now, board)
    batch, offsets = legal_afterstates_batch(np.tile(board, (500, 1)), [(2, 3)] * 500)
    assert offsets.tolist() == list(range(501))
    assert (batch == board).all()


def test_c11_the_two_sides_walk_towards_each_other(rng: np.random.Generator) -> None:
    """Both sides moved to higher indices only."""
    turns = list(itertools.islice(self_play_boards(rng), 300))
    for board, roll in turns:
        b = board_array(board)
        after = legal_afterstates(b, roll)
        quiet = after[after[:, 0] == b[0]]
        assert (opp_pip_count(quiet) == opp_pip_count(b)).all()
        assert (pip_count(after) <= pip_count(b)).all()
        # seen by the other side, nobody of it has moved forward by itself
        assert (pip_count(flip(after)) >= pip_count(flip(b))).all()
    moved = [b for b, roll in turns if pip_count(legal_afterstates(b, roll)[0]) < pip_count(b)]
    assert len(moved) > 200


@pytest.mark.parametrize(
    ("loser", "factor"),
    [
        ({17: 14}, 1),
        ({17: 15}, 2),
        ({17: 14, 1: 1}, 3),
        ({17: 14, 6: 1}, 3),
        ({17: 14, 0: 1}, 3),
        ({17: 14, 7: 1}, 2),
        ({17: 13, 1: 1}, 1),
        ({17: 13, 0: 1}, 1),
    ],
)
def test_c12_gammons_and_backgammons_count(loser: dict[int, int], factor: int) -> None:
    """All wins counted one point. The winner's own points; 0 is the loser's bar."""
    board = [0] * 26
    for point, count in loser.items():
        board[point] = count if point == 0 else -count
    won = result(board)
    assert (won.winner, won.factor) == ("mover", factor)
    assert won.kind.why
    lost = result(flip(board))
    assert (lost.winner, lost.factor, lost.kind) == ("opponent", factor, won.kind)


def test_c13_no_gammon_is_lost_with_a_checker_off() -> None:
    """Evaluations and rollouts showed gammons that could not happen."""
    board = parse_position("YEYF4TnO7w4AAA").board
    after = [parse_play(play, board, (5, 4)).afterstate for play in ("6/2 5/off", "5/off 4/off")]
    assert rows(legal_afterstates(board, (5, 4))) == sorted(tuple(b.tolist()) for b in after)
    for one in after:
        assert borne_off(one) >= 1
        assert not can_lose_gammon(one)
        assert not can_lose_backgammon(one)
        # win, win_gammon, win_bg, lose_gammon, lose_bg
        assert outcome_mask(one)[3:].tolist() == [False, False]
    assert can_lose_gammon(START)


def test_c15_contact_of_both_colours() -> None:
    """Contact was reported almost always."""
    passed = board_array([0, 3, 0, 0, 0, 0, 2, -2, *[0] * 17, 0])
    touching = board_array([0, 3, 0, 0, 0, 0, -2, 2, *[0] * 17, 0])
    for board in (passed, flip(passed)):
        assert not has_contact(board)
    for board in (touching, flip(touching)):
        assert has_contact(board)


def test_c16_all_36_rolls_of_random_walks_for_both_colours(rng: np.random.Generator) -> None:
    """Legal lists were stale after a step, too long for eight bits, and of the wrong colour."""
    for board, _ in itertools.islice(self_play_boards(rng), 0, 400, 67):
        for side in (board, tuple(flip(board).tolist())):
            if reference_rules.is_over(side):
                continue
            batch, offsets = legal_afterstates_batch([side] * 36, ORDERED_ROLLS)
            for number, roll in enumerate(ORDERED_ROLLS):
                expected = sorted(reference_rules.afterstates(side, roll))
                assert rows(batch[offsets[number] : offsets[number + 1]]) == expected


# --- identifiers and notation ---


def test_c17_position_ids_keep_the_order_of_bits(rng: np.random.Generator) -> None:
    """Reading mixed two orders of bits, which the symmetric start position hides."""
    assert format_position_id(START) == "4HPwATDgc/ABMA"
    np.testing.assert_array_equal(parse_position_id("4HPwATDgc/ABMA"), START)
    assert pip_count(START) == opp_pip_count(START) == 167
    for board, _ in itertools.islice(mixed_boards(rng), 2000):
        text = format_position_id(board_array(board))
        read = parse_position_id(text)
        assert tuple(read.tolist()) == board, text
        assert opp_pip_count(read) == sum(
            count * (25 - point)
            for point, count in enumerate([board[0], *(max(-n, 0) for n in board[1:25])])
        )


def test_c17_position_ids_equal_those_of_gnubg(rng: np.random.Generator) -> None:
    """The opponent's points read from the wrong end passed all tests but one."""
    gnubg_nn = pytest.importorskip("gnubg_nn", reason="gnubg_nn is not installed")
    for board, _ in itertools.islice(mixed_boards(rng), 1000):
        assert format_position_id(board_array(board)) == gnubg_nn.position_id(gnubg_lists(board))


@pytest.mark.slow
def test_c17_ids_of_20_000_random_positions(rng: np.random.Generator) -> None:
    """The same for many positions, with bars and checkers off, in every notation."""
    for board, roll in itertools.islice(mixed_boards(rng), 20_000):
        position = Position(board=board_array(board), dice=roll)
        for notation in ("gnuid", "xgid", "ogid"):
            read = parse_position(format_position(position, notation))
            assert tuple(read.board.tolist()) == board


def test_c18_pips_and_borne_off_belong_to_the_right_side() -> None:
    """Trays and pip counts were exchanged on screen."""
    position = parse_position("XGID=-----BC-CB--dC--acbe---AA-:0:0:1:22:0:0:0:0:10")
    assert pip_count(position.board) == 156
    assert opp_pip_count(position.board) == 129
    assert borne_off(position.board) == 0
    assert opp_borne_off(position.board) == 0
    fewer = parse_position("XGID=-----BC-CA--dC--acb----AA-:0:0:1:22:0:0:0:0:10")
    assert borne_off(fewer.board) == 1
    assert opp_borne_off(fewer.board) == 5
    other = parse_position("XGID=-----BC-CB--dC--acbe---AA-:0:0:-1:22:0:0:0:0:10")
    assert pip_count(other.board) == 129
    assert opp_pip_count(other.board) == 156


C20_ENTERING = "XGID=------E-C---cE----bbbbbb-B:0:0:1:61:0:0:0:0:10"
C20_TWO_STEPS = "XGID=----b-M-A-------b-cdd---A-:0:0:1:62:0:0:0:0:10"


@pytest.mark.parametrize(
    ("xgid", "texts"),
    [
        (C20_ENTERING, ["bar/24", "Bar/24", "BAR/24", "25/24", "bar/24*", " bar/24 "]),
        (C20_TWO_STEPS, ["24/22 8/2", "8/2 24/22", "24/22, 8/2", "24/22 8/2*"]),
        (
            "XGID=-b----E-C---eE---c-e----B-:0:0:1:22:0:0:0:0:10",
            ["13/11(2) 6/4(2)", "6/4(2) 13/11(2)", "13/11 13/11 6/4 6/4", "13/11 6/4(2) 13/11"],
        ),
    ],
)
def test_c20_all_usual_ways_to_write_a_play_are_read(xgid: str, texts: list[str]) -> None:
    """Only one exact form was accepted and 97 % of games ended in a forfeit."""
    position, roll = position_with_dice(xgid)
    results = {tuple(parse_play(text, position.board, roll).afterstate.tolist()) for text in texts}
    assert len(results) == 1


def test_c20_a_pass_is_read_in_every_form() -> None:
    """The word for a pass was refused."""
    board = parse_position(C20_ENTERING).board
    for text in ("Pass", "pass", "cannot move"):
        play = parse_play(text, board, (2, 3))
        assert play.steps == ()
        np.testing.assert_array_equal(play.afterstate, board)
        with pytest.raises(IllegalPlayError):
            parse_play(text, board, (6, 1))


@pytest.mark.parametrize("text", ["bar/23", "bar/24 6/1", "13/7 6/5", "bar/19", "8/2", "24/23"])
def test_c20_a_text_that_names_no_legal_play_is_an_error(text: str) -> None:
    """A text that could not be matched became another play without a word."""
    board = parse_position(C20_ENTERING).board
    with pytest.raises((IllegalPlayError, NotationError)):
        parse_play(text, board, (6, 1))


def test_c21_a_step_that_cannot_be_played_makes_nothing_ambiguous() -> None:
    """A move to 10 was called ambiguous although the checkers on 13 cannot get there."""
    xgid = "XGID=-b----E-C--BbB-c-c-e----C-:0:0:1:11:0:0:0:0:10"
    assert_count(xgid, 92)
    position, roll = position_with_dice(xgid)
    _, plays = legal_plays(position.board, roll)
    assert not any(start == 13 for steps in plays for start, _ in steps)
    assert any((11, 10) in steps for steps in plays)
    with pytest.raises(IllegalPlayError):
        play_steps(position.board, roll, ((13, 12), (11, 10), (6, 5), (6, 5)))


# --- cube and match play ---


def test_c22_crawford_and_post_crawford_are_told_apart() -> None:
    """The score after the Crawford game was looked up as if it were that game."""
    crawford = parse_position("XGID=-b----E-C---eE---c-e----B-:0:0:1:00:4:2:1:5:10")
    after = parse_position("XGID=-b----E-C---eE---c-e----B-:0:0:1:00:4:2:0:5:10")
    assert (crawford.crawford, crawford.post_crawford) == (True, False)
    assert (after.crawford, after.post_crawford) == (False, True)
    for position in (crawford, after):
        assert (position.mover_away, position.opp_away) == (1, 3)
        for notation in ("xgid", "gnuid"):
            read = parse_position(format_position(position, notation))
            assert (read.crawford, read.post_crawford) == (
                position.crawford,
                position.post_crawford,
            )
    assert format_position(crawford, "gnuid") != format_position(after, "gnuid")
    nobody_is_close = "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:1:2:1:5:10"
    with pytest.raises((NotationError, PositionError)):
        parse_position(nobody_is_close)
