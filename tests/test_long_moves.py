"""Plays of long nardi: golden positions and cases, the oracle, contexts, orders, counts."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from engine.errors import ConfigError, IllegalPlayError, PositionError
from engine.long_board import LONG_START, forms_block
from engine.moves import legal_afterstates, legal_afterstates_batch, legal_plays, play_steps
from engine.rules import LONG_NARDI, Rules
from engine.turn_context import TurnContext, context_of_board
from engine.variant import LONG
from tests import long_counts, reference_long
from tests.conftest import SEED
from tests.golden_cases import GOLDEN, MoveCase, apply_steps, long_move_cases, read_golden
from tests.long_positions import LONG_RULES, Turn, constructed_turns, first_turns, game_turns
from tests.move_checks import board_array, rows

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]


# --- golden data ---


def golden_board(mover: Sequence[int], opponent: Sequence[int]) -> BoardTuple:
    """A board of the golden positions, in which each side has its own numbering."""
    board = [0, *mover, 0]
    for point, count in enumerate(opponent, start=1):
        if count:
            board[reference_long.opposite(point)] -= count
    return tuple(board)


def test_every_golden_position() -> None:
    """Two other programs agree on them; one by one and in one batch."""
    lines = read_golden("moves_long.jsonl.gz")[1:]
    assert len(lines) == 1199
    boards = [golden_board(line["m"], line["o"]) for line in lines]
    contexts = [TurnContext()] * len(lines)
    afterstates, offsets = legal_afterstates_batch(
        boards, [line["d"] for line in lines], LONG_NARDI, contexts
    )
    for number, (board, line) in enumerate(zip(boards, lines, strict=True)):
        expected = sorted(golden_board(after, line["o"]) for after in line["a"])
        found, plays = legal_plays(board, line["d"], LONG_NARDI, TurnContext())
        assert rows(found) == expected, (board, line["d"])
        assert {len(steps) for steps in plays} == {line["n"]}
        some = afterstates[offsets[number] : offsets[number + 1]]
        np.testing.assert_array_equal(some, found)


@pytest.mark.parametrize("case", long_move_cases(), ids=lambda case: case.name)
def test_every_golden_case(case: MoveCase) -> None:
    board = board_array(case.board)
    question = (board, case.roll)
    afterstates, plays = legal_plays(*question, case.rules, case.context)
    found = rows(afterstates)
    assert len(found) == case.legal_count
    assert {len(steps) for steps in plays} == {case.dice_used}
    if case.legal is not None:
        assert {apply_steps(case.board, play) for play in case.legal} == set(found)
    for play in case.legal_includes:
        after = play_steps(*question, play, case.rules, case.context)
        assert tuple(after.tolist()) == apply_steps(case.board, play)
    for play in case.illegal + case.illegal_sequences:
        with pytest.raises(IllegalPlayError):
            play_steps(*question, play, case.rules, case.context)
    for play in case.illegal_sequences:  # another order reaches the same position
        assert apply_steps(case.board, play) in found


@pytest.mark.parametrize("case", long_move_cases(), ids=lambda case: case.name)
def test_the_oracle_agrees_with_every_golden_case(case: MoveCase) -> None:
    question = (case.board, case.roll)
    found = reference_long.afterstates(*question, case.rules, case.context)
    assert len(found) == case.legal_count
    assert reference_long.dice_used(*question, case.rules, case.context) == case.dice_used
    if case.legal is not None:
        assert {apply_steps(case.board, play) for play in case.legal} == found
    for play in case.legal_includes:
        assert reference_long.is_complete_turn(*question, play, case.rules, case.context)
    for play in case.illegal + case.illegal_sequences:
        assert not reference_long.is_complete_turn(*question, play, case.rules, case.context)


def test_the_oracle_agrees_with_golden_positions() -> None:
    for line in read_golden("moves_long.jsonl.gz")[1::4]:
        board = golden_board(line["m"], line["o"])
        expected = {golden_board(after, line["o"]) for after in line["a"]}
        assert reference_long.afterstates(board, line["d"]) == expected


# --- the oracle on random positions ---


def differences(turns: Sequence[Turn], rules: Rules) -> list[str]:
    """Where the compiled plays and the oracle disagree, order included."""
    boards = np.array([board for board, _, _ in turns], dtype=np.int8)
    rolls = np.array([roll for _, roll, _ in turns], dtype=np.int8)
    contexts = [context for _, _, context in turns]
    afterstates, offsets = legal_afterstates_batch(boards, rolls, rules, contexts)
    listed = rows(afterstates)
    told = []
    for (board, roll, context), (start, end) in zip(
        turns, itertools.pairwise(offsets.tolist()), strict=True
    ):
        expected = sorted(reference_long.afterstates(board, roll, rules, context))
        if listed[start:end] != expected:
            extra = set(listed[start:end]) - set(expected)
            missing = set(expected) - set(listed[start:end])
            told.append(
                f"board {list(board)} roll {roll} rules {rules} {context}: only the engine has"
                f" {sorted(extra)[:5]}, only the oracle {sorted(missing)[:5]}"
            )
    return told


@pytest.mark.parametrize("rules", LONG_RULES, ids=str)
def test_against_the_oracle(rules: Rules, rng: np.random.Generator) -> None:
    turns = list(itertools.islice(game_turns(rng, rules), 60)) + constructed_turns(rng, 140)
    found = differences(turns, rules)
    assert not found, "\n".join(found[:5])
    plain = rules.replace(block_rule="none")
    if rules.block_rule != "none":
        kept = [len(legal_afterstates(board, roll, rules)) for board, roll, _ in turns] != [
            len(legal_afterstates(board, roll, plain)) for board, roll, _ in turns
        ]
        assert kept, "the ban matters nowhere"


@pytest.mark.slow
@pytest.mark.parametrize("share", range(20))
def test_100_000_positions_against_the_oracle(share: int) -> None:
    """Twenty shares of 5,000: 2,000 of games, 3,000 around six-blocks, heads and bear-offs."""
    rng = np.random.default_rng([SEED, 77, share])
    rules = LONG_RULES[share % len(LONG_RULES)] if share % 2 else LONG_NARDI
    turns = list(itertools.islice(game_turns(rng, rules), 2000)) + constructed_turns(rng, 3000)
    found = differences(turns, rules)
    assert not found, "\n".join(found[:5])


@pytest.mark.parametrize("rules", LONG_RULES, ids=str)
def test_plays_stand_in_a_legal_order(rules: Rules, rng: np.random.Generator) -> None:
    """The steps that are listed for each result are a complete turn in that order."""
    for board, roll, context in constructed_turns(rng, 42):
        afterstates, plays = legal_plays(board, roll, rules, context)
        for number in {0, len(plays) - 1, int(rng.integers(len(plays)))}:
            steps = plays[number]
            assert reference_long.is_complete_turn(board, roll, steps, rules, context)
            after = play_steps(board, roll, steps, rules, context)
            np.testing.assert_array_equal(after, afterstates[number])


@pytest.mark.parametrize("rules", LONG_RULES, ids=str)
def test_steps_in_any_order_are_judged_like_the_oracle(
    rules: Rules, rng: np.random.Generator
) -> None:
    n_accepted = n_refused = 0
    for board, roll, context in constructed_turns(rng, 14):
        _, plays = legal_plays(board, roll, rules, context)
        tried: set[tuple[tuple[int, int], ...]] = {()}
        for number in rng.choice(len(plays), size=min(3, len(plays)), replace=False):
            steps = plays[int(number)]
            tried |= {steps[:-1], steps[1:], *itertools.permutations(steps)}
            for place, (source, target) in enumerate(steps):
                for other in range(1, 25, 5):
                    step = (other, max(other - (source - target), 0))
                    tried.add((*steps[:place], step, *steps[place + 1 :]))
        for steps in sorted(tried):
            expected = reference_long.is_complete_turn(board, roll, steps, rules, context)
            try:
                play_steps(board_array(board), roll, steps, rules, context)
                accepted = True
            except IllegalPlayError:
                accepted = False
            assert accepted == expected, (board, roll, steps)
            n_accepted += accepted
            n_refused += not accepted
    assert n_accepted > 10
    assert n_refused > 100


def test_blocks_are_seen_like_the_oracle_sees_them(rng: np.random.Generator) -> None:
    n_blocks = 0
    for board, _, _ in constructed_turns(rng, 700):
        for rules in LONG_RULES[:5]:
            expected = reference_long.forbidden_block(board, rules)
            assert forms_block(board, rules) == expected
            n_blocks += expected
    assert n_blocks > 100


# --- contexts ---


@pytest.mark.parametrize("exception", ["classic", "seed_list", "principle", "none"])
def test_first_turns_of_the_second_player(exception: str) -> None:
    """Every first roll and answer, with the context told and, where it can be, read off the board.

    On seed_list the board does not tell 6-2, 5-3 and 2-2 apart.
    """
    rules = LONG_NARDI.replace(head_exception=exception)
    n_two_heads = 0
    for board, first, roll in first_turns():
        context = TurnContext(first_turn=True, player="second", opponent_first_roll=first)
        expected = sorted(reference_long.afterstates(board, roll, rules, context))
        found = legal_afterstates(board, roll, rules, context)
        assert rows(found) == expected
        n_two_heads += bool((found[:, 24] == 13).all())
        if exception != "seed_list" or first != (6, 2):
            assert rows(legal_afterstates(board, roll, rules)) == expected, (board, roll)
    # Three doubles after each of the 22 boards; the list adds three pairs, the principle nine.
    assert n_two_heads == {"classic": 66, "seed_list": 69, "principle": 75, "none": 0}[exception]


def test_context_is_read_off_the_board() -> None:
    assert context_of_board(LONG_START) == TurnContext(first_turn=True, player="first")
    after = legal_afterstates(LONG_START, (2, 1), LONG_NARDI)[0]
    second = LONG.flip(after)
    assert context_of_board(second) == TurnContext(
        first_turn=True, player="second", opponent_first_roll=(2, 1)
    )
    third = LONG.flip(legal_afterstates(second, (5, 3), LONG_NARDI)[0])
    assert context_of_board(third) == TurnContext()


def test_a_told_context_holds_against_the_board() -> None:
    assert len(legal_plays(LONG_START, (6, 6), LONG_NARDI)[1][0]) == 2
    assert len(legal_plays(LONG_START, (6, 6), LONG_NARDI, TurnContext())[1][0]) == 1
    with pytest.raises(ConfigError, match="2 turn contexts for 1 positions"):
        legal_afterstates_batch([LONG_START], [(6, 6)], LONG_NARDI, [None, None])
    with pytest.raises(ConfigError, match="player is 'third'"):
        TurnContext(player="third")  # type: ignore[arg-type]
    with pytest.raises(PositionError, match="roll '7 1'"):
        TurnContext(opponent_first_roll=(7, 1))


# --- boards, errors ---


def test_a_bar_is_refused() -> None:
    board = LONG_START.copy()
    board[24], board[25] = 14, 1
    with pytest.raises(PositionError, match="nobody is on the bar"):
        legal_afterstates(board, (3, 1), LONG_NARDI)
    with pytest.raises(PositionError, match=r"row 1.*nobody is on the bar"):
        legal_afterstates_batch([LONG_START, board], [(3, 1), (3, 1)], LONG_NARDI)


@pytest.mark.parametrize(
    ("roll", "steps", "why"),
    [
        ((6, 5), ((24, 18), (24, 19)), "step 2, 24/19: no other checker may leave the head"),
        ((6, 5), ((24, 18),), "1 of 2 playable dice"),
        ((6, 6), ((24, 18), (18, 12)), "step 2, 18/12: point 12 is closed"),
        ((6, 6), ((24, 18),), "1 of 2 playable dice"),
    ],
)
def test_errors_say_why(roll: Roll, steps: tuple[tuple[int, int], ...], why: str) -> None:
    with pytest.raises(IllegalPlayError, match=why):
        play_steps(LONG_START, roll, steps, LONG_NARDI)


def test_a_block_is_named() -> None:
    case = next(case for case in long_move_cases() if case.name == "L21")
    with pytest.raises(IllegalPlayError, match="step 1, 7/6: six points in a row, which no"):
        play_steps(case.board, case.roll, ((7, 6), (24, 22)), case.rules)
    at_end = case.rules.replace(block_check="turn")
    with pytest.raises(IllegalPlayError, match="would end with a forbidden block"):
        play_steps(case.board, case.roll, ((7, 6), (24, 22)), at_end)


def test_in_a_last_throw_the_opponent_may_have_finished() -> None:
    board = np.zeros(26, dtype=np.int8)
    board[3], board[24] = 2, 1
    with pytest.raises(PositionError, match="the opponent has borne off all"):
        legal_afterstates(board, (3, 1), LONG_NARDI)
    rules = LONG_NARDI.replace(end_rule="last_chance_draw")
    expected = sorted(reference_long.afterstates(board.tolist(), (3, 1), rules))
    assert rows(legal_afterstates(board, (3, 1), rules)) == expected
    assert rows(legal_afterstates_batch([board], [(3, 1)], rules)[0]) == expected


# --- counts ---


def stored_counts(depth: int) -> dict[str, Any]:
    data = json.loads((GOLDEN / "perft_long.json").read_text(encoding="utf-8"))
    assert [tuple(roll) for roll in data["rolls"]] == long_counts.ROLLS_21
    return {name: root["depths"][:depth] for name, root in data["roots"].items()}


def test_counts_of_the_start() -> None:
    """Written out here too, for people who compare programs by hand."""
    [first, second, third] = stored_counts(3)["start"]
    assert (first["plays"], first["positions"]) == (22, 13)
    assert (second["plays"], second["positions"]) == (286, 166)
    assert (third["plays"], third["positions"]) == (12_377, 4_201)


def test_the_engine_has_the_counts_to_depth_2() -> None:
    assert long_counts.all_counts(long_counts.engine_plays, 2) == stored_counts(2)


@pytest.mark.slow
def test_the_engine_has_the_counts_to_depth_3() -> None:
    assert long_counts.all_counts(long_counts.engine_plays, 3) == stored_counts(3)


@pytest.mark.slow
def test_the_oracle_has_the_counts_to_depth_2() -> None:
    assert long_counts.all_counts(long_counts.reference_plays, 2) == stored_counts(2)
