"""The state machine of one game: who may do what when, cube, resignation, last throw, refusals."""

from collections.abc import Sequence

import numpy as np
import pytest

from engine.actions import (
    Accept,
    Action,
    Beaver,
    Decline,
    Offer,
    OpeningThrow,
    Play,
    PlayTo,
    Refuse,
    Resign,
    Take,
    Throw,
)
from engine.board import BAR, NUM_SLOTS, START, Board, flip, validate
from engine.errors import ConfigError, IllegalActionError, PositionError
from engine.game import GameState
from engine.moves import legal_plays
from engine.notation.gnuid import parse_position_id
from engine.rules import INTERNATIONAL, Rules
from tests.strategies import ORDERED_ROLLS

MONEY = Rules(beaver=True, jacoby=True, auto_doubles=None)
EVERYTHING: list[Action] = [
    OpeningThrow((3, 1)),
    Throw((3, 1)),
    Play(((8, 5), (6, 5))),
    PlayTo(START),
    Offer(),
    Take(),
    Refuse(),
    Beaver(),
    Resign(1),
    Accept(),
    Decline(),
]


def run(state: GameState, *actions: Action) -> GameState:
    for action in actions:
        state = state.apply(action)
    return state


def board_of(slots: dict[int, int]) -> Board:
    board = np.zeros(NUM_SLOTS, dtype=np.int8)
    board[list(slots)] = list(slots.values())
    return validate(board)


# --- phases ---


@pytest.mark.parametrize(
    ("actions", "phase", "decider", "legal"),
    [
        ([], "opening", None, [OpeningThrow]),
        ([OpeningThrow((2, 2))], "opening", None, [OpeningThrow]),
        ([OpeningThrow((1, 3))], "play", 1, [Play, PlayTo, Resign]),
        ([OpeningThrow((3, 1)), Play(((8, 5), (6, 5)))], "roll", 1, [Throw, Offer, Resign]),
        (
            [OpeningThrow((3, 1)), Play(((8, 5), (6, 5))), Offer()],
            "double",
            0,
            [Take, Refuse, Beaver],
        ),
        (
            [OpeningThrow((3, 1)), Play(((8, 5), (6, 5))), Offer(), Beaver()],
            "beaver",
            1,
            [Accept, Decline],
        ),
        ([OpeningThrow((3, 1)), Resign(2)], "resignation", 1, [Accept, Decline]),
        ([OpeningThrow((3, 1)), Resign(2), Accept()], "over", None, []),
    ],
)
def test_phases_and_everything_illegal_in_them(
    actions: Sequence[Action], phase: str, decider: int | None, legal: list[type[Action]]
) -> None:
    state = run(GameState.start(MONEY), *actions)
    assert (state.phase, state.decider) == (phase, decider)
    assert list(state.action_types()) == legal
    for action in EVERYTHING:
        if type(action) not in legal:
            with pytest.raises(IllegalActionError, match=type(action).__name__):
                state.apply(action)
    assert state == run(GameState.start(MONEY), *actions)


def test_something_else_is_no_action() -> None:
    with pytest.raises(IllegalActionError, match="'roll' is not an action"):
        GameState.start().apply("roll")  # type: ignore[arg-type]


def test_states_compare_and_cannot_be_written() -> None:
    state = GameState.start().apply(OpeningThrow((3, 1)))
    assert state == GameState.start().apply(OpeningThrow((3, 1)))
    assert len({state, GameState.start().apply(OpeningThrow((3, 1)))}) == 1
    assert state != GameState.start().apply(OpeningThrow((1, 3)))
    with pytest.raises(ValueError, match="read-only"):
        state.board[3] = 1
    with pytest.raises(AttributeError):
        state.dice = (6, 6)  # type: ignore[misc]


# --- turns ---


def test_a_turn_by_steps_and_by_its_result_is_the_same() -> None:
    state = GameState.start().apply(OpeningThrow((2, 4)))
    assert (state.on_roll, state.starter, state.dice) == (1, 1, (4, 2))
    rows, plays = legal_plays(state.board, (4, 2))
    assert np.array_equal(state.legal_afterstates(), rows)
    for row, steps in zip(rows, plays, strict=True):
        after = state.apply(Play(steps))
        assert after == state.apply(PlayTo(row))
        assert np.array_equal(after.board, flip(row))
        assert (after.on_roll, after.dice, after.turns_played) == (0, None, 1)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Play(((8, 5),)), "1 of 2"),
        (Play(()), "0 of 2"),
        (Play(((8, 4), (6, 5))), "step 1, 8/4"),
        (Play(((13, 12), (12, 9))), "point 12 is closed|step 1, 13/12|step 2"),
        (Play(((8, 5), (6, 5), (6, 5))), "no die"),
        (Play(((8,), (6, 5))), "pairs"),  # type: ignore[arg-type]
        (PlayTo(START), "not the result of a legal play"),
        (PlayTo(np.zeros(3, dtype=np.int8)), "not the result of a legal play"),
    ],
)
def test_illegal_plays_are_refused_with_the_reason(action: Action, reason: str) -> None:
    state = GameState.start().apply(OpeningThrow((3, 1)))
    before = state.board.copy()
    with pytest.raises(IllegalActionError, match=reason):
        state.apply(action)
    assert np.array_equal(state.board, before)


@pytest.mark.parametrize("dice", [(0, 1), (7, 1), (3,), (1, 2, 3), (1.5, 2), None])
def test_dice_that_cannot_be(dice: object) -> None:
    state = GameState.at(START, 0)
    for action in (Throw(dice), OpeningThrow(dice)):  # type: ignore[arg-type]
        target = state if isinstance(action, Throw) else GameState.start()
        with pytest.raises(IllegalActionError, match="not two die faces"):
            target.apply(action)


def test_house_rules_reach_the_plays() -> None:
    board = board_of({6: 2, 4: 1, 13: 2, 5: -1, 20: -5})
    hit_and_hide = Play(((6, 5), (5, 4), (13, 12), (12, 11)))
    allowed = GameState.at(board, 0, dice=(1, 1)).apply(hit_and_hide)
    assert allowed.board[BAR] == 1
    banned = GameState.at(board, 0, Rules(hit_and_hide="ban"), dice=(1, 1))
    with pytest.raises(IllegalActionError, match="safe"):
        banned.apply(hit_and_hide)
    with pytest.raises(IllegalActionError, match="not the result of a legal play"):
        banned.apply(PlayTo(flip(allowed.board)))


def test_two_on_the_bar_one_open_point() -> None:
    """XGID=------E-C---cE----bbbbbb-B:0:0:1:61:0:0:0:0:10."""
    board = parse_position_id("tm0DBwDgc/ABYA")
    for dice in ((6, 1), (1, 6)):
        state = GameState.at(board, 0, dice=dice)
        assert len(state.legal_afterstates()) == 1
        assert state.apply(Play(((BAR, 24),))).on_roll == 1
        with pytest.raises(IllegalActionError):
            state.apply(Play(((BAR, 24), (13, 7))))
    assert len(GameState.at(board, 0, dice=(1, 1)).legal_afterstates()) == 5
    dance = GameState.at(board, 0, dice=(2, 3))
    assert np.array_equal(dance.apply(Play(())).board, flip(board))
    assert dance.apply(PlayTo(board)) == dance.apply(Play(()))
    with pytest.raises(IllegalActionError, match="closed"):
        dance.apply(Play(((BAR, 23),)))


def test_many_passes_in_a_row_leave_the_game_as_it_is() -> None:
    """Both sides on the bar before five closed points, and the one die that enters never comes."""
    five_closed = dict.fromkeys(range(1, 6), 2) | {25 - p: -2 for p in range(1, 6)}
    board = board_of(five_closed | {BAR: 5, 0: 5})
    state = GameState.at(board, 0, cube_value=2, cube_owner=1)
    for turn in range(500):
        assert (state.on_roll, state.phase, state.turns_played) == (turn % 2, "roll", turn)
        thrown = state.apply(Throw((1 + turn % 5, 1 + turn % 3)))
        with pytest.raises(IllegalActionError):
            thrown.apply(Play(((BAR, 25 - 1),)))
        state = thrown.apply(Play(()))
    assert np.array_equal(state.board, board)
    assert (state.cube_value, state.cube_owner, state.result) == (2, 1, None)
    entered = run(state, Throw((6, 1)), Play(((BAR, 19),)))
    assert entered.board[0] == 4


# --- cube ---


def test_only_the_owner_offers_and_the_stake_grows() -> None:
    state = run(GameState.start(), OpeningThrow((3, 1)), Play(((8, 5), (6, 5))))
    state = run(state, Offer(), Take())
    assert (state.cube_value, state.cube_owner, state.phase, state.on_roll) == (2, 0, "roll", 1)
    with pytest.raises(IllegalActionError, match="the opponent owns the cube"):
        state.apply(Offer())
    state = run(state, Throw((6, 5)), PlayTo(state.apply(Throw((6, 5))).legal_afterstates()[0]))
    state = run(state, Offer(), Refuse())
    assert state.result is not None
    assert (state.result.winner, state.result.points, state.result.stake) == (0, 2, 2)
    assert (state.result.ending, state.result.kind) == ("refused", None)


@pytest.mark.parametrize(
    ("rules", "state", "reason"),
    [
        (Rules(cube=False), {}, "without a cube"),
        (Rules(match_to=5), {"crawford": True}, "Crawford"),
        (INTERNATIONAL, {"cube_value": 64, "cube_owner": 0}, "cannot go beyond 64"),
        (Rules(cube_cap=48), {"cube_value": 32, "cube_owner": 0}, "cannot go beyond 48"),
        (Rules(cube_cap=1), {}, "cannot go beyond 1"),
        (
            Rules(progression="arithmetic", cube_cap=3),
            {"cube_value": 3, "cube_owner": 0},
            "cannot go beyond 3",
        ),
    ],
)
def test_no_offer(rules: Rules, state: dict[str, object], reason: str) -> None:
    game = GameState.at(START, 0, rules, **state)  # type: ignore[arg-type]
    assert not game.can_offer
    with pytest.raises(IllegalActionError, match=reason):
        game.apply(Offer())
    assert Offer not in game.action_types()


@pytest.mark.parametrize(
    ("rules", "cube", "reason"),
    [
        (INTERNATIONAL, 1, "not agreed"),
        (Rules(beaver=True, match_to=7), 1, "money play"),
        (Rules(beaver=True), 32, "cannot go beyond 64"),
    ],
)
def test_no_beaver(rules: Rules, cube: int, reason: str) -> None:
    game = GameState.at(START, 0, rules, cube_value=cube, cube_owner=0 if cube > 1 else None)
    offered = game.apply(Offer())
    assert not offered.can_beaver
    with pytest.raises(IllegalActionError, match=reason):
        offered.apply(Beaver())
    assert offered.apply(Take()).cube_value == 2 * cube


@pytest.mark.parametrize(
    ("rules", "before", "offered", "beavered"),
    [
        (Rules(beaver=True), 1, 2, 4),
        (Rules(beaver=True), 16, 32, 64),
        (Rules(beaver=True, progression="arithmetic"), 1, 2, 3),
        (Rules(beaver=True, progression="arithmetic"), 5, 6, 7),
    ],
)
def test_beaver(rules: Rules, before: int, offered: int, beavered: int) -> None:
    game = GameState.at(START, 0, rules, cube_value=before, cube_owner=0 if before > 1 else None)
    doubled = game.apply(Offer())
    assert (doubled.cube_value, doubled.stake_offered) == (before, offered)
    beaver = doubled.apply(Beaver())
    assert (beaver.cube_value, beaver.stake_offered, beaver.decider) == (before, beavered, 0)
    accepted = beaver.apply(Accept())
    assert (accepted.cube_value, accepted.cube_owner, accepted.phase) == (beavered, 1, "roll")
    assert (accepted.on_roll, accepted.stake_offered) == (0, None)
    declined = beaver.apply(Decline())
    assert declined.result is not None
    assert (declined.result.winner, declined.result.points) == (1, offered)
    assert declined.result.ending == "beaver_declined"


@pytest.mark.parametrize(
    ("rules", "cubes"),
    [
        (Rules(), [1, 1, 1]),
        (Rules(auto_doubles=2), [2, 4, 4]),
        (Rules(auto_doubles=None), [2, 4, 8]),
        (Rules(auto_doubles=None, cube_cap=4), [2, 4, 4]),
        (Rules(auto_doubles=None, progression="arithmetic"), [2, 3, 4]),
        (Rules(auto_doubles=None, match_to=5), [1, 1, 1]),
        (Rules(auto_doubles=None, cube=False), [1, 1, 1]),
    ],
)
def test_automatic_doubles(rules: Rules, cubes: list[int]) -> None:
    state = GameState.start(rules)
    for cube in cubes:
        state = state.apply(OpeningThrow((5, 5)))
        assert (state.phase, state.cube_value, state.cube_owner) == ("opening", cube, None)
        assert not state.cube_offered
    state = run(state, OpeningThrow((3, 1)), Play(((8, 5), (6, 5))))
    assert state.can_offer == (rules.cube and cubes[-1] != rules.cube_cap)


def test_a_cube_without_limit_is_exact() -> None:
    state = GameState.at(START, 0, Rules(cube_cap=None), cube_value=2**100, cube_owner=0)
    state = run(state, Offer(), Take())
    assert state.cube_value == 2**101
    lost = run(state, Throw((3, 1)), Resign(3), Accept())
    assert lost.result is not None
    assert lost.result.points == 3 * 2**101


def test_a_double_makes_gammons_count_under_jacobys_rule() -> None:
    rules = Rules(jacoby=True, auto_doubles=1)
    last = board_of({1: 1, 19: -15})
    for cube_value, offered, points in ((1, None, 1), (2, None, 2), (2, True, 4)):
        game = GameState.at(
            last, 1, rules, dice=(6, 5), cube_value=cube_value, cube_offered=offered
        )
        result = game.apply(Play(((1, 0),))).result
        assert result is not None
        assert (result.winner, result.points, result.kind) == (1, points, "mars")
        assert ("Jacoby" in result.why) == (offered is None)
    match = GameState.at(last, 1, rules.replace(match_to=5), dice=(6, 5))
    result = match.apply(Play(((1, 0),))).result
    assert result is not None
    assert result.points == 2


# --- resignation ---


@pytest.mark.parametrize("phase", ["roll", "play"])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_resignation(phase: str, factor: int) -> None:
    dice = (3, 1) if phase == "play" else None
    game = GameState.at(START, 1, dice=dice, cube_value=4, cube_owner=1)
    offered = game.apply(Resign(factor))
    assert (offered.phase, offered.decider) == ("resignation", 0)
    assert offered.apply(Decline()) == game
    result = offered.apply(Accept()).result
    assert result is not None
    assert (result.winner, result.points, result.ending) == (0, 4 * factor, "resigned")
    assert result.kind == ("oin", "mars", "koks")[factor - 1]


@pytest.mark.parametrize(
    ("scoring", "levels"),
    [("oin_mars_12", 2), ("oin_mars_koks_123", 3), ("mars_homemars_koks_1234", 4)],
)
def test_resignation_by_the_kinds_of_the_scheme(scoring: str, levels: int) -> None:
    game = GameState.at(START, 0, INTERNATIONAL.replace(scoring=scoring))
    for factor in (-1, 0, levels + 1, True, "2", None):
        with pytest.raises(IllegalActionError, match="nobody can resign by"):
            game.apply(Resign(factor))  # type: ignore[arg-type]
    result = run(game, Resign(levels), Accept()).result
    assert result is not None
    assert (result.points, result.kind) == (levels, "koks" if levels > 2 else "mars")


def test_a_resigned_gammon_counts_as_one_that_is_played() -> None:
    result = run(GameState.at(START, 0, Rules(jacoby=True)), Resign(2), Accept()).result
    assert result is not None
    assert (result.points, result.factor, result.kind) == (1, 1, "mars")
    assert "Jacoby" in result.why


# --- last throw ---


LAST_CHANCE = Rules(end_rule="last_chance_draw")


def before_the_last_play(opp: dict[int, int], rules: Rules = LAST_CHANCE) -> GameState:
    """Player 1 has moved first and is about to finish; opp: player 0's points, his numbering."""
    slots = {1: 1} | {25 - point if point < BAR else 0: -n for point, n in opp.items()}
    slots[0] = -slots.get(0, 0)
    return GameState.at(board_of(slots), 1, rules, dice=(2, 1), starter=1)


def test_last_throw_draws() -> None:
    state = before_the_last_play({1: 1, 2: 1}).apply(Play(((1, 0),)))
    assert (state.phase, state.on_roll, state.last_throw) == ("roll", 0, True)
    assert Offer not in state.action_types()
    with pytest.raises(IllegalActionError, match="last throw"):
        state.apply(Offer())
    state = run(state, Throw((2, 1)), Play(((2, 0), (1, 0))))
    assert state.result is not None
    assert (state.result.winner, state.result.points, state.phase) == (None, 0, "over")
    assert state.result.ending == "draw"


@pytest.mark.parametrize(
    ("opp", "dice", "steps", "kind", "points"),
    [
        ({1: 3}, (2, 1), ((1, 0), (1, 0)), "oin", 1),
        ({6: 15}, (6, 1), ((6, 0), (6, 5)), "oin", 1),  # saves the mars with his last throw
        ({6: 15}, (2, 1), ((6, 4), (6, 5)), "mars", 2),
        ({6: 14, 20: 1}, (2, 1), ((20, 18), (6, 5)), "mars", 2),  # and here the koks
        ({6: 14, BAR: 1}, (2, 1), ((BAR, 23), (6, 5)), "koks", 3),
    ],
)
def test_last_throw_is_not_enough(
    opp: dict[int, int],
    dice: tuple[int, int],
    steps: tuple[tuple[int, int], ...],
    kind: str,
    points: int,
) -> None:
    state = before_the_last_play(opp).apply(Play(((1, 0),)))
    thrown = state.apply(Throw(dice))
    assert all(row[0] == 0 for row in thrown.legal_afterstates())
    ended = thrown.apply(Play(steps))
    assert ended.result is not None
    assert (ended.result.winner, ended.result.kind, ended.result.points) == (1, kind, points)
    assert ended in [thrown.apply(PlayTo(row)) for row in thrown.legal_afterstates()]


def test_no_last_throw_for_the_one_who_moved_first() -> None:
    opp_first = before_the_last_play({1: 1})
    second = GameState.at(opp_first.board, 1, LAST_CHANCE, dice=(2, 1), starter=0)
    ended = second.apply(Play(((1, 0),)))
    assert ended.result is not None
    assert (ended.result.winner, ended.result.points) == (1, 1)


def test_the_last_thrower_may_resign() -> None:
    state = before_the_last_play({6: 15}).apply(Play(((1, 0),)))
    result = run(state, Resign(2), Accept()).result
    assert result is not None
    assert (result.winner, result.points) == (1, 2)


# --- games that start anywhere ---


@pytest.mark.parametrize(
    ("error", "reason", "arguments"),
    [
        (PositionError, "16 checkers", {"board": np.where(np.arange(NUM_SLOTS) == 3, 16, 0)}),
        (PositionError, "the game is over", {"board": board_of({6: 3})}),
        (PositionError, "the game is over", {"board": board_of({6: -3})}),
        (PositionError, "not two die faces", {"dice": (7, 1)}),
        (ConfigError, "players are 0 and 1", {"on_roll": 2}),
        (ConfigError, "players are 0 and 1", {"on_roll": None}),
        (ConfigError, "players are 0 and 1", {"cube_owner": -1}),
        (ConfigError, "cube value '128'", {"cube_value": 128}),
        (ConfigError, "cube value '0'", {"cube_value": 0}),
        (ConfigError, "powers of 2", {"cube_value": 3}),
        (ConfigError, "without a cube", {"rules": Rules(cube=False), "cube_owner": 1}),
        (ConfigError, "who moved first", {"rules": LAST_CHANCE}),
        (ConfigError, "belongs to a match", {"crawford": True}),
    ],
)
def test_impossible_starts(
    error: type[Exception], reason: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(error, match=reason):
        GameState.at(**({"board": START, "on_roll": 0} | arguments))  # type: ignore[arg-type]


def test_a_start_copies_the_board() -> None:
    board = START.copy()
    state = GameState.at(board, 0)
    board[24] = 0
    assert np.array_equal(state.board, START)


@pytest.mark.parametrize("dice", ORDERED_ROLLS)
def test_opening_throw(dice: tuple[int, int]) -> None:
    state = GameState.start().apply(OpeningThrow(dice))
    if dice[0] == dice[1]:
        assert state == GameState.start()
        return
    assert state.on_roll == state.starter == (0 if dice[0] > dice[1] else 1)
    assert state.dice == (max(dice), min(dice))
    assert np.array_equal(state.board, START)
