"""Results of finished boards, what counts, stakes, and what a position still allows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import BAR, NUM_SLOTS, START, Board, flip, validate
from engine.errors import PositionError
from engine.moves import legal_afterstates
from engine.notation.gnuid import parse_position_id
from engine.rules import ARENA, INTERNATIONAL, Rules
from engine.scoring import (
    KINDS,
    can_lose_backgammon,
    can_lose_gammon,
    counted_factor,
    next_stake,
    outcome_mask,
    result,
    result_factors,
    stake_after,
    why_factor_is_one,
)
from tests.strategies import boards, random_roll

FOUR_LEVELS = Rules(scoring="mars_homemars_koks_1234")
TWO_LEVELS = Rules(scoring="oin_mars_12")
SCHEMES = [INTERNATIONAL, TWO_LEVELS, FOUR_LEVELS]


def lost(**points: int) -> Board:
    """A board the opponent has won; p6=14, bar=1: the loser's (mover's) checkers."""
    board = np.zeros(NUM_SLOTS, dtype=np.int8)
    for place, count in points.items():
        board[BAR if place == "bar" else int(place[1:])] = count
    return validate(board)


# --- finished boards ---


@pytest.mark.parametrize(
    ("loser", "factor", "english", "why"),
    [
        (lost(p1=1), 1, "single", "has borne off a checker"),
        (lost(p6=13, bar=1), 1, "single", "has borne off a checker"),
        (lost(p6=14, p18=1), 2, "gammon", "no checker, and none is on the bar"),
        (lost(p6=14, p19=1), 3, "backgammon", "on the bar or in the winner's home"),
        (lost(p6=14, bar=1), 3, "backgammon", "on the bar or in the winner's home"),
        (lost(p6=14, p24=1), 3, "backgammon", "on the bar or in the winner's home"),
    ],
)
def test_international_result_says_why(loser: Board, factor: int, english: str, why: str) -> None:
    win = result(loser)
    assert (win.winner, win.factor, win.kind.english) == ("opponent", factor, english)
    assert why in win.kind.why
    assert result(flip(loser)).winner == "mover"
    assert result(flip(loser)).factor == factor


@pytest.mark.parametrize(
    ("loser", "names"),
    [
        (lost(p6=15), ("mars", "mars", "home_mars")),
        (lost(p6=14, p7=1), ("mars", "mars", "mars")),
        (lost(p6=14, p24=1), ("koks", "mars", "mars")),
        (lost(bar=15), ("koks", "mars", "koks")),
        (lost(p6=1), ("oin", "oin", "oin")),
    ],
)
def test_kind_in_each_scheme(loser: Board, names: tuple[str, ...]) -> None:
    wins = [result(loser, rules) for rules in SCHEMES]
    assert tuple(win.kind.name for win in wins) == names
    for win, rules in zip(wins, SCHEMES, strict=True):
        assert KINDS[rules.scoring][win.factor - 1] == win.kind


@pytest.mark.parametrize("board", [START, np.zeros(NUM_SLOTS, dtype=np.int8)])
def test_unfinished_board_is_an_error(board: Board) -> None:
    with pytest.raises(PositionError, match="the game is not over: the mover has borne off"):
        result(board)


def test_impossible_board_is_an_error() -> None:
    with pytest.raises(PositionError, match="16 checkers"):
        result(np.where(np.arange(NUM_SLOTS) == 3, 16, 0))


@given(board=boards(), own_wins=st.booleans(), scheme=st.sampled_from(SCHEMES))
def test_factors_of_many_are_the_results_of_each(
    board: tuple[int, ...], own_wins: bool, scheme: Rules
) -> None:
    running = np.array(board, dtype=np.int8)
    loser = np.where(running > 0, running, 0)  # the owner's checkers only: he has lost
    loser[0] = 0
    finished = flip(loser) if own_wins else loser
    win = result(finished, scheme)
    sign = 1 if own_wins else -1
    assert win.winner == ("mover" if own_wins else "opponent")
    stack = np.stack([[finished, running], [flip(finished), flip(running)]])
    factors = result_factors(stack, scheme)
    assert factors.tolist() == [[sign * win.factor, 0], [-sign * win.factor, 0]]


# --- what can still happen ---


@pytest.mark.parametrize(
    ("board", "rules", "gammon", "backgammon"),
    [
        (START, INTERNATIONAL, True, True),
        (START, TWO_LEVELS, True, False),
        (START, FOUR_LEVELS, True, True),
        # A race: all of the opponent's checkers are past the mover's.
        ({20: 1, 6: 14, 24: -2}, INTERNATIONAL, True, True),
        ({20: 1, 6: 14, 24: -2}, FOUR_LEVELS, True, False),
        ({18: 1, 6: 14, 24: -2}, INTERNATIONAL, True, False),
        # One checker off: never more than a single game.
        ({20: 1, 6: 13, 24: -2}, INTERNATIONAL, False, False),
        ({20: 1, 6: 13, 1: -2}, INTERNATIONAL, False, False),
        # Nothing behind, but the opponent's bar checker can still hit.
        ({6: 14, 1: 1, 24: -2, 0: 1}, INTERNATIONAL, True, True),
        ({BAR: 1, 6: 14, 24: -2}, FOUR_LEVELS, True, True),
    ],
)
def test_what_the_owner_can_lose(
    board: Board | dict[int, int], rules: Rules, gammon: bool, backgammon: bool
) -> None:
    if isinstance(board, dict):
        slots, counts = list(board), list(board.values())
        board = np.zeros(NUM_SLOTS, dtype=np.int8)
        board[slots] = counts
    validate(board)
    assert bool(can_lose_gammon(board)) == gammon
    assert bool(can_lose_backgammon(board, rules)) == backgammon
    mask = outcome_mask(board, rules)
    assert mask[3:].tolist() == [gammon, backgammon]
    assert outcome_mask(flip(board), rules)[1:3].tolist() == [gammon, backgammon]


def test_no_gammon_loss_with_a_checker_off_in_contact() -> None:
    """The known case: position YEYF4TnO7w4AAA, 5-4; two plays, and no loss above single."""
    board = parse_position_id("YEYF4TnO7w4AAA")
    rows = legal_afterstates(board, (5, 4))
    assert len(rows) == 2
    assert not outcome_mask(rows)[:, 3:].any()
    assert outcome_mask(rows)[:, 0].all()


def test_masks_never_open_again_and_contain_the_result(rng: np.random.Generator) -> None:
    """Over whole games: what a mask has ruled out stays ruled out, and does not happen."""
    kinds_seen = set()
    for _ in range(30):
        board = START
        masks = {rules: np.ones(5, dtype=np.bool_) for rules in SCHEMES}
        while True:
            rows = legal_afterstates(board, random_roll(rng))
            after = rows[rng.integers(len(rows))]
            over = result_factors(after) != 0
            for rules in SCHEMES:
                mask = outcome_mask(after, rules)
                assert not (mask & ~masks[rules]).any(), (after.tolist(), str(rules))
                # Seen by the next mover: the sides change places in the mask.
                masks[rules] = np.array([not over, *mask[3:], *mask[1:3]])
            if over:
                factor = int(result_factors(after))
                kinds_seen.add(factor)
                assert outcome_mask(after).tolist() == [
                    True,
                    factor >= 2,
                    factor >= 3,
                    False,
                    False,
                ]
                lost_mask = outcome_mask(flip(after)).tolist()
                assert lost_mask == [False, False, False, factor >= 2, factor >= 3]
                break
            board = flip(after)
    assert {1, 2} <= kinds_seen


def test_masks_of_many() -> None:
    stack = np.stack([np.stack([START, lost(p6=15)]), np.stack([flip(START), lost(p6=14, p20=1)])])
    mask = outcome_mask(stack)
    assert mask.shape == (2, 2, 5)
    assert mask[:, 0].all()
    assert mask[:, 1].tolist() == [[False] * 3 + [True, False], [False] * 3 + [True, True]]


@given(board=boards(), scheme=st.sampled_from(SCHEMES))
def test_mask_is_cumulative(board: tuple[int, ...], scheme: Rules) -> None:
    win, win_gammon, win_bg, lose_gammon, lose_bg = outcome_mask(board, scheme)
    assert win
    assert win_gammon >= win_bg
    assert lose_gammon >= lose_bg


# --- stakes and what counts ---


def test_stakes_of_both_progressions() -> None:
    arithmetic = Rules(progression="arithmetic")
    assert [stake_after(n) for n in (0, 1, 5)] == [1, 2, 32]
    assert [stake_after(n, arithmetic) for n in (0, 1, 5)] == [1, 2, 6]
    assert [next_stake(stake) for stake in (1, 32, 64)] == [2, 64, None]
    assert [next_stake(stake, arithmetic) for stake in (1, 63, 64)] == [2, 64, None]


def test_stakes_do_not_overflow() -> None:
    unlimited = Rules(cube_cap=None)
    stake = 1
    for _ in range(200):
        raised = next_stake(stake, unlimited)
        assert raised is not None
        stake = raised
    assert stake == stake_after(200, unlimited) == 2**200


@pytest.mark.parametrize(
    ("rules", "offered", "factor", "why"),
    [
        (INTERNATIONAL, False, 3, None),
        (Rules(jacoby=True), False, 1, "Jacoby"),
        (Rules(jacoby=True), True, 3, None),
        (Rules(jacoby=True, match_to=5), False, 3, None),
        (Rules(mars_with_cube=False), True, 1, "mars_with_cube=false"),
        (Rules(mars_with_cube=False, cube=False), False, 3, None),
        (ARENA, False, 1, "mars_with_cube=false"),
    ],
)
def test_counted_factor(rules: Rules, offered: bool, factor: int, why: str | None) -> None:
    assert counted_factor(3, rules, cube_offered=offered) == factor
    assert counted_factor(1, rules, cube_offered=offered) == 1
    reason = why_factor_is_one(rules, cube_offered=offered)
    assert reason is None if why is None else why in str(reason)
