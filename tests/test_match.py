"""Matches: score, Crawford game, drivers; and whole matches played by another program."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.actions import (
    Accept,
    Action,
    Offer,
    OpeningThrow,
    Play,
    Player,
    PlayTo,
    Refuse,
    Resign,
    Take,
    Throw,
    other_player,
)
from engine.dice import game_generator, roll_dice
from engine.errors import ConfigError, IllegalActionError
from engine.game import GameState
from engine.match import MatchState, play_game, play_match
from engine.notation.gnuid import format_position_id
from engine.rules import INTERNATIONAL, LONG_NARDI, PRESETS, Rules, parse_rules
from engine.scoring import KINDS
from tests.golden_cases import GOLDEN

TO_FIVE = Rules(match_to=5)


def lose(match: MatchState, loser: Player, factor: int = 1) -> MatchState:
    """The match after `loser` has resigned the running game at once."""
    dice = (6, 5) if loser == 0 else (5, 6)
    for action in (OpeningThrow(dice), Resign(factor), Accept()):
        match = match.apply(action)
    return match


def to_first_roll(match: MatchState) -> MatchState:
    """The match after player 0's opening play, player 1 to roll."""
    return match.apply(OpeningThrow((3, 1))).apply(Play(((8, 5), (6, 5))))


# --- score and Crawford ---


def test_score_and_end() -> None:
    match = MatchState.start(TO_FIVE)
    assert (match.score, match.away, match.winner, match.over) == ((0, 0), (5, 5), None, False)
    match = lose(match, loser=0, factor=2)
    assert (match.score, match.away, match.games_finished) == ((0, 2), (5, 3), 1)
    with pytest.raises(IllegalActionError, match="the game is over"):
        match.apply(OpeningThrow((3, 1)))
    match = lose(match.next_game(), loser=1)
    assert match.score == (1, 2)
    match = lose(match.next_game(), loser=0, factor=3)
    assert (match.score, match.away, match.winner, match.over) == ((1, 5), (4, 0), 1, True)
    with pytest.raises(IllegalActionError, match="player 1 has won"):
        match.apply(OpeningThrow((3, 1)))
    with pytest.raises(IllegalActionError, match="player 1 has won"):
        match.next_game()


def test_points_beyond_the_length_count() -> None:
    match = to_first_roll(MatchState.start(TO_FIVE, score=(0, 3)))
    match = match.apply(Offer()).apply(Take())
    match = match.apply(Resign(1)).apply(Accept())
    assert (match.score, match.over) == ((2, 3), False)
    match = to_first_roll(match.next_game())
    match = match.apply(Throw((2, 1))).apply(Resign(3)).apply(Accept())
    assert (match.score, match.winner, match.away) == ((5, 3), 0, (0, 2))


def test_crawford_game_comes_once() -> None:
    match = lose(MatchState.start(TO_FIVE, score=(3, 0)), loser=1)
    assert not match.game.crawford
    match = match.next_game()
    assert (match.score, match.game.crawford, match.post_crawford) == ((4, 0), True, False)
    with pytest.raises(IllegalActionError, match="Crawford game"):
        to_first_roll(match).apply(Offer())
    match = lose(match, loser=0).next_game()
    assert (match.score, match.game.crawford, match.post_crawford) == ((4, 1), False, True)
    assert to_first_roll(match).game.can_offer
    match = lose(match, loser=0, factor=3).next_game()
    assert (match.score, match.game.crawford, match.post_crawford) == ((4, 4), False, True)


@pytest.mark.parametrize(
    ("rules", "score", "played", "crawford"),
    [
        (TO_FIVE, (4, 2), False, True),
        (TO_FIVE, (2, 4), False, True),
        (TO_FIVE, (4, 2), True, False),
        (TO_FIVE, (4, 4), False, False),
        (TO_FIVE, (3, 3), False, False),
        (TO_FIVE.replace(crawford=False), (4, 2), False, False),
        (Rules(match_to=1), (0, 0), False, False),
        (INTERNATIONAL, (4, 2), False, False),
    ],
)
def test_which_game_is_the_crawford_game(
    rules: Rules, score: tuple[int, int], played: bool, crawford: bool
) -> None:
    match = MatchState.start(rules, score=score, crawford_played=played)
    assert match.game.crawford == crawford
    assert to_first_roll(match).game.can_offer == (not crawford)


def test_money_session_goes_on() -> None:
    match = MatchState.start()
    for n in range(1, 40):
        match = lose(match, loser=0, factor=3)
        assert (match.score, match.over, match.away) == ((0, 3 * n), False, None)
        match = match.next_game()
    assert not match.post_crawford


def test_no_next_game_while_one_is_running() -> None:
    with pytest.raises(IllegalActionError, match="has to end before"):
        MatchState.start(TO_FIVE).next_game()


@pytest.mark.parametrize("score", [(5, 0), (0, 7), (-1, 0)])
def test_impossible_scores(score: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="accepted: whole numbers from 0 to 4"):
        MatchState.start(TO_FIVE, score=score)


def test_a_drawn_crawford_game_has_been_played() -> None:
    rules = TO_FIVE.replace(end_rule="last_chance_draw")
    match = MatchState.start(rules, score=(4, 0))
    last = np.zeros(26, dtype=np.int8)
    last[1], last[24] = 1, -1
    game = GameState.at(last, 0, rules, dice=(2, 1), starter=0, crawford=True)
    for action in (Play(((1, 0),)), Throw((2, 1)), Play(((1, 0),))):
        game = game.apply(action)
    match = match.with_game(game)
    assert (match.score, match.crawford_played, match.games_finished) == ((4, 0), True, 1)
    assert match.next_game().post_crawford


# --- drivers ---


def first_play(state: GameState) -> Action | None:
    """A player who always makes the first play, takes every double and never offers."""
    if state.phase == "play":
        return PlayTo(state.legal_afterstates()[0])
    return Take() if state.phase == "double" else None


def random_player(seed: int, offers: float = 0.1) -> Any:
    rng = np.random.default_rng(seed)

    def decide(state: GameState) -> Action | None:
        if state.phase == "play":
            rows = state.legal_afterstates()
            return PlayTo(rows[rng.integers(len(rows))])
        if state.phase == "roll":
            return Offer() if state.can_offer and rng.random() < offers else None
        return Take() if rng.random() < 0.7 else Refuse()

    return decide


def test_a_game_is_replayed_by_its_number() -> None:
    logs: list[list[Action]] = []
    ends = []
    for game in (7, 7, 8):
        log: list[Action] = []
        ends.append(
            play_game(
                GameState.start(),
                game_generator(1, game),
                (random_player(1), random_player(2)),
                lambda before, action, after, log=log: log.append(action),  # type: ignore[misc]
            )
        )
        logs.append(log)
    assert ends[0] == ends[1]
    assert ends[0] != ends[2]
    assert [repr(action) for action in logs[0]] == [repr(action) for action in logs[1]]
    thrown = [a.dice for a in logs[0] if isinstance(a, OpeningThrow | Throw)]
    expected = [tuple(roll.tolist()) for roll in roll_dice(game_generator(1, 7), len(thrown))]
    assert thrown == expected


def test_watch_sees_every_action() -> None:
    steps: list[tuple[GameState, Action, GameState]] = []
    end = play_game(
        GameState.start(),
        game_generator(3, 0),
        (first_play, first_play),
        lambda *step: steps.append(step),
    )
    assert steps[0][0] == GameState.start()
    assert steps[-1][2] == end
    for (_, _, after), (before, _, _) in itertools.pairwise(steps):
        assert after is before
    assert all(before.apply(action) == after for before, action, after in steps)


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_match(seed: int) -> None:
    crawford_games = set()
    offers_in_crawford = []
    seen = []

    def watch(before: GameState, action: Action, after: GameState) -> None:
        if before.phase == "opening":
            seen.append(before.crawford)
        if before.crawford and isinstance(action, Offer):
            offers_in_crawford.append(action)
        if after.result is not None and after.crawford:
            crawford_games.add(len(seen))

    rules = Rules(match_to=4, cube_cap=4)
    start = MatchState.start(rules)
    players = (random_player(seed), random_player(seed + 10))
    end = play_match(start, seed, players, watch)
    assert end.over
    assert max(end.score) >= 4 > min(end.score)
    assert len(crawford_games) <= 1
    assert not offers_in_crawford
    again = play_match(start, seed, (random_player(seed), random_player(seed + 10)))
    assert again == end


def test_money_play_has_no_end_to_play_to() -> None:
    with pytest.raises(ConfigError, match="no end"):
        play_match(MatchState.start(), 0, (first_play, first_play))


def test_an_illegal_player_is_stopped() -> None:
    with pytest.raises(IllegalActionError, match="Take is not possible now"):
        play_game(
            GameState.start(), game_generator(0, 0), (lambda state: Take(), lambda state: Take())
        )
    with pytest.raises(IllegalActionError, match="play"):
        play_game(GameState.start(), game_generator(0, 0), (lambda state: None, lambda state: None))


# --- the rules text for users ---


DOCS = Path(__file__).parent.parent / "docs" / "rules.md"


def test_example_of_the_rules_text(capsys: pytest.CaptureFixture[str]) -> None:
    code = DOCS.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(code, str(DOCS), "exec"), {})
    promised = [line.split("  # ")[1] for line in code.splitlines() if line.startswith("print")]
    assert len(promised) == 6
    assert capsys.readouterr().out.splitlines() == promised


OF_LONG_NARDI = ("head_exception", "block_rule", "block_check", "opening_dice_played")


def test_rules_text_names_every_switch_value_and_preset() -> None:
    text = DOCS.read_text(encoding="utf-8")
    table = {
        cells[1].strip().strip("`"): cells[2]
        for line in text.split("## Switches")[1].split("### Presets")[0].splitlines()
        if len(cells := line.split("|")) > 3
    }
    defaults = INTERNATIONAL.as_dict()
    assert set(defaults) <= set(table)
    for name, value in defaults.items():
        first = table[name].split("`")[1]
        base = LONG_NARDI if name in OF_LONG_NARDI else INTERNATIONAL
        assert parse_rules(f"{name}={first}", base).as_dict()[name] == value, name
        for other in table[name].split("`")[1::2]:
            assert name in parse_rules(f"{name}={other}", base).as_dict()
    for preset in PRESETS:
        row = next(line for line in text.splitlines() if line.startswith(f"| `{preset}` |"))
        switches = row.split("|")[2].split("`")[1::2]
        assert parse_rules(",".join(switches) or "international") == PRESETS[preset]
    for scheme, kinds in KINDS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{scheme}` |"))
        for factor, kind in enumerate(kinds, 1):
            assert row.split("|")[1 + factor].strip().startswith(kind.name.replace("_", " "))


# --- matches played by GNU Backgammon ---


MATCHES = {
    "match5_crawford": TO_FIVE,
    "match5_backgammon": TO_FIVE,
    "match3_drops_resign": Rules(match_to=3),
    "money_jacoby": Rules(jacoby=True),
}


def played(game: GameState, steps: list[list[int]]) -> GameState:
    """The state after a play whose steps may stand in any order."""
    for order in itertools.permutations([(start, to) for start, to in steps]):
        try:
            return game.apply(Play(order))
        except IllegalActionError:
            continue
    raise AssertionError(f"{steps} with {game.dice} from {game.board.tolist()} is refused")


@pytest.mark.parametrize("name", MATCHES)
def test_recorded_match(name: str) -> None:
    """Every play is legal, every position the recorded one, every result and score the same."""
    record = json.loads((GOLDEN / "matches" / f"{name}.json").read_text())
    rules = MATCHES[name]
    assert record["match_length"] == (rules.match_to or 0)
    match = MatchState.start(rules)
    for number, game in enumerate(record["games"]):
        if number > 0:
            match = match.next_game()
        assert list(match.score) == game["score_before"]
        for action in game["actions"]:
            match = match.with_game(recorded(match.game, action))
        result = match.game.result
        assert result is not None
        assert (result.winner, result.points) == (game["winner"], game["points"])
        assert (result.ending == "resigned") == game["resigned"]
    assert match.over == (rules.match_to is not None)
    assert sum(match.score) == sum(game["points"] for game in record["games"])


def recorded(game: GameState, action: list[Any]) -> GameState:
    kind, who = action[0], action[1]
    if kind == "move":
        dice = (int(action[2][0]), int(action[2][1]))
        swapped = (dice[1], dice[0])
        if game.phase == "opening":
            # The record does not say which die was whose; the higher one is the starter's.
            opened = [game.apply(OpeningThrow(pair)) for pair in (dice, swapped)]
            game = next(state for state in opened if state.on_roll == who)
        else:
            game = game.apply(Throw(dice))
        assert game.decider == who
        assert format_position_id(game.board) == action[4]
        return played(game, action[3])
    if kind == "resign":
        assert game.on_roll == who
        return game.apply(Resign(action[2])).apply(Accept())
    answers: dict[str, Action] = {"double": Offer(), "take": Take(), "drop": Refuse()}
    game = game.apply(answers[kind])
    if kind == "double":
        assert game.decider == other_player(who)
        assert format_position_id(game.board) == action[2]
    return game
