"""Random legal sequences of actions keep a match sound; illegal actions never change anything."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from engine.board import START, board_faults, borne_off, flip
from engine.errors import IllegalActionError
from engine.game import GameState
from engine.match import MatchState
from engine.moves import legal_plays
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import KINDS, result_factors
from tests.strategies import random_roll

SWITCHES: dict[str, list[object]] = {
    "hit_and_hide": ["allow", "ban"],
    "hit_then_bear_off": ["allow", "ban_hitter", "ban_home_hit"],
    "end_rule": ["no_draw", "last_chance_draw"],
    "scoring": list(KINDS),
    "cube": [True, True, False],
    "progression": ["geometric", "arithmetic"],
    "cube_cap": [64, 8, 6, None],
    "mars_with_cube": [True, False],
    "jacoby": [True, False],
    "beaver": [True, False],
    "auto_doubles": [0, 1, None],
    "match_to": [None, 1, 3, 7],
    "crawford": [True, False],
}


@st.composite
def all_rules(draw: st.DrawFn) -> Rules:
    """Any mixture of all switches."""
    chosen = {name: draw(st.sampled_from(values)) for name, values in SWITCHES.items()}
    return INTERNATIONAL.replace(**chosen)


def random_action(rng: np.random.Generator, game: GameState) -> Action:
    """A legal action; every kind comes up, throws and plays most of all."""
    kinds = [kind for kind in game.action_types() if kind is not Resign or rng.random() < 0.02]
    kinds = [kind for kind in kinds if kind is not Refuse or rng.random() < 0.4]
    if Throw in kinds and rng.random() < 0.9:
        kinds = [Throw]
    kind = kinds[rng.integers(len(kinds))]
    if kind is OpeningThrow:
        return OpeningThrow(random_roll(rng))
    if kind is Throw:
        return Throw(random_roll(rng))
    if kind is Resign:
        return Resign(int(rng.integers(1, len(KINDS[game.rules.scoring]) + 1)))
    if kind is PlayTo or (kind is Play and game.last_throw):
        rows = game.legal_afterstates()
        return PlayTo(rows[rng.integers(len(rows))])
    if kind is Play:
        assert game.dice is not None
        _, plays = legal_plays(game.board, game.dice, game.rules)
        return Play(plays[rng.integers(len(plays))])
    simple: dict[type[Action], Action] = {
        kind: kind() for kind in (Offer, Take, Refuse, Beaver, Accept, Decline)
    }
    return simple[kind]


def some_actions(rng: np.random.Generator) -> Iterator[Action]:
    """One of every kind of action, mostly not legal where they are tried."""
    yield OpeningThrow(random_roll(rng))
    yield Throw(random_roll(rng))
    yield Throw((0, 7))
    yield Play(tuple((int(a), int(b)) for a, b in rng.integers(0, 26, size=(2, 2))))
    yield Play(())
    yield PlayTo(START)
    yield from (Offer(), Take(), Refuse(), Beaver(), Accept(), Decline(), Resign(1), Resign(9))


def is_refused(game: GameState, action: Action) -> bool:
    try:
        game.apply(action)
    except IllegalActionError:
        return True
    return False


class Ledger:
    """The cube kept by hand: how often it was turned, and by whom."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.turns = 0
        self.owner: int | None = None
        self.offered = False

    @property
    def stake(self) -> int:
        geometric = self.rules.progression == "geometric"
        return int(2**self.turns) if geometric else 1 + self.turns

    def note(self, before: GameState, action: Action, after: GameState) -> None:
        self.offered |= isinstance(action, Offer)
        if isinstance(action, OpeningThrow) and action.dice[0] == action.dice[1]:
            self.turns += after.auto_doubles - before.auto_doubles
        elif isinstance(action, Take):
            self.turns += 1
            self.owner = before.decider
        elif isinstance(action, Accept) and before.offer == "beaver":
            self.turns += 2
            self.owner = 1 - (before.decider or 0)


def check_sound(before: GameState, action: Action, after: GameState, ledger: Ledger) -> None:
    assert not board_faults(after.board)
    assert (after.cube_value, after.cube_owner) == (ledger.stake, ledger.owner)
    assert after.cube_offered == ledger.offered
    rules = after.rules
    if not rules.cube:
        assert (after.cube_value, ledger.offered) == (1, False)
    assert rules.cube_cap is None or after.cube_value <= rules.cube_cap
    if rules.match_to is not None:
        assert after.auto_doubles == 0
        assert not isinstance(action, Beaver)
    assert rules.auto_doubles is None or after.auto_doubles <= rules.auto_doubles
    off = [borne_off(state.board) for state in (before, after)]
    off_of_other = [borne_off(flip(state.board)) for state in (before, after)]
    if before.on_roll != after.on_roll:
        off_of_other, off = [off_of_other[0], off[1]], [off[0], off_of_other[1]]
    assert off[0] <= off[1]
    assert off_of_other[0] <= off_of_other[1]
    if not isinstance(action, Play | PlayTo):
        assert np.array_equal(before.board, after.board)
        assert after.turns_played == before.turns_played
    else:
        assert after.turns_played == before.turns_played + 1
    assert (after.result is not None) == (after.phase == "over")
    assert (after.decider is None) == (after.phase in ("opening", "over"))
    if after.result is not None:
        check_result(before, after)


def check_result(before: GameState, after: GameState) -> None:
    result, rules = after.result, after.rules
    assert result is not None
    assert result.why
    assert result.points == result.stake * result.factor
    assert not after.action_types()
    if result.ending == "draw":
        assert rules.end_rule == "last_chance_draw"
        assert (result.winner, result.points) == (None, 0)
        return
    assert result.winner in (0, 1)
    if result.ending == "borne_off":
        signed = int(result_factors(after.board, rules))
        assert (signed > 0) == (result.winner == after.on_roll)
        single = (rules.cube and not rules.mars_with_cube) or (
            rules.jacoby and rules.match_to is None and not after.cube_offered
        )
        assert result.points == after.cube_value * (1 if single else abs(signed))
    elif result.ending == "refused":
        assert (result.winner, result.points) == (before.on_roll, before.cube_value)
    elif result.ending == "beaver_declined":
        assert result.winner != before.decider
        assert before.cube_value < result.points < (before.stake_offered or 0)
    else:
        assert result.winner == before.decider
        assert result.stake == before.cube_value


@settings(max_examples=40)
@given(rules=all_rules(), seed=st.integers(0, 1 << 32))
def test_random_matches_stay_sound(rules: Rules, seed: int) -> None:
    rng = np.random.default_rng(seed)
    match = MatchState.start(rules)
    ledger = Ledger(rules)
    crawford_games = 0
    for _ in range(300):
        if match.game.result is not None:
            if match.over:
                break
            match = match.next_game()
            crawford_games += match.game.crawford
            ledger = Ledger(rules)
        before = match.game
        action = random_action(rng, before)
        if before.crawford:
            assert not isinstance(action, Offer)
        following = match.apply(action)
        ledger.note(before, action, following.game)
        check_sound(before, action, following.game, ledger)
        gained = [new - old for new, old in zip(following.score, match.score, strict=True)]
        assert min(gained) == 0
        result = following.game.result
        assert sum(gained) == (0 if result is None else result.points)
        assert following.over == (
            rules.match_to is not None and max(following.score) >= rules.match_to
        )
        match = following
    assert crawford_games <= (1 if rules.crawford and rules.match_to else 0)


@settings(max_examples=25)
@given(rules=all_rules(), seed=st.integers(0, 1 << 32))
def test_illegal_actions_change_nothing(rules: Rules, seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = GameState.start(rules)
    for _ in range(60):
        copy = GameState(**{name: getattr(game, name) for name in game.__dataclass_fields__})
        board = game.board.tobytes()
        for action in some_actions(rng):
            legal_kind = type(action) in game.action_types()
            if not is_refused(game, action):
                assert legal_kind
            elif legal_kind:  # then its contents are wrong
                assert isinstance(action, Play | PlayTo | Throw | Resign)
            assert game == copy
            assert game.board.tobytes() == board
        if game.result is not None:
            break
        game = game.apply(random_action(rng, game))


def test_every_ending_comes_up() -> None:
    """The random actions above reach every way a game can end and every action."""
    rules = Rules(beaver=True, auto_doubles=None, end_rule="last_chance_draw", cube_cap=None)
    rng = np.random.default_rng(5)
    endings: set[str] = set()
    actions: set[type[Action]] = set()
    for _ in range(100):
        game = GameState.start(rules)
        while game.result is None:
            action = random_action(rng, game)
            actions.add(type(action))
            game = game.apply(action)
        endings.add(game.result.ending)
    assert {"borne_off", "refused", "beaver_declined", "resigned"} <= endings
    assert len(actions) == 11


@pytest.mark.slow
def test_long_random_games_end() -> None:
    """Games without cube and resignation are played out and end with a finished board."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        game = GameState.start(Rules(cube=False, end_rule="last_chance_draw"))
        while game.result is None:
            kinds = [kind for kind in game.action_types() if kind is not Resign]
            if PlayTo in kinds:
                rows = game.legal_afterstates()
                game = game.apply(PlayTo(rows[rng.integers(len(rows))]))
            else:
                thrown = OpeningThrow if game.phase == "opening" else Throw
                game = game.apply(thrown(random_roll(rng)))
        assert game.result.ending in ("borne_off", "draw")
        assert int(borne_off(game.board)) == 15 or int(borne_off(flip(game.board))) == 15
