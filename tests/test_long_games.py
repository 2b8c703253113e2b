"""Games and matches of long nardi: the state machine, results, bots, duels and commands."""

import json
from typing import Any

import numpy as np
import pytest

from agent.bot import load_bot
from agent.long_heuristic import LongHeuristicBot, scores
from engine.actions import Offer, OpeningThrow, PlayTo, Throw
from engine.dice import game_generator
from engine.errors import ConfigError, IllegalActionError
from engine.game import GameState
from engine.long_board import LONG_START
from engine.match import MatchState, play_match
from engine.moves import legal_afterstates, legal_afterstates_batch
from engine.rules import LONG_NARDI, Rules
from engine.scoring import can_lose_backgammon, outcome_mask, result, result_factors
from engine.turn_context import TurnContext
from eval.duel import play_duel
from eval.lockstep import play_games
from eval.players import load_player
from nardi.cli import main
from tests.long_positions import constructed_turns

FOUR_LEVELS = LONG_NARDI.replace(scoring="mars_homemars_koks_1234")
LAST_THROW = LONG_NARDI.replace(end_rule="last_chance_draw")
Capture = pytest.CaptureFixture[str]


# --- the state machine ---


def test_contexts_of_the_first_turns() -> None:
    game = GameState.start(LONG_NARDI).apply(OpeningThrow((2, 6)))
    assert (game.phase, game.on_roll) == ("roll", 1)
    assert game.context == TurnContext(first_turn=True)
    with pytest.raises(IllegalActionError, match="long nardi, which is played without a doubling"):
        game.apply(Offer())
    game = game.apply(Throw((6, 2)))
    game = game.apply(PlayTo(game.legal_afterstates()[0]))
    second = TurnContext(first_turn=True, player="second", opponent_first_roll=(6, 2))
    assert game.context == second
    game = game.apply(Throw((5, 5)))
    rules = LONG_NARDI.replace(head_exception="seed_list")
    told = GameState.at(game.board, 0, rules, dice=(5, 5), context=second)
    guessed = GameState.at(game.board, 0, rules, dice=(5, 5))
    assert len(game.legal_afterstates()) == len(guessed.legal_afterstates()) == 1
    assert len(told.legal_afterstates()) == 2  # the board alone does not tell 6-2 from 5-3
    game = game.apply(PlayTo(game.legal_afterstates()[0]))
    assert game.context == TurnContext()


@pytest.mark.parametrize(
    "rules",
    [LONG_NARDI, LAST_THROW, LONG_NARDI.replace(opening_dice_played=True), FOUR_LEVELS],
    ids=str,
)
@pytest.mark.parametrize("names", [("random", "pip-greedy"), ("heuristic", "pip-greedy")])
def test_games_side_by_side_are_those_of_the_state_machine(
    rules: Rules, names: tuple[str, str]
) -> None:
    """The same dice and draws give the same points; board for board, turn for turn."""
    bots = [load_bot(name, rules) for name in names]
    played = play_games(bots, 7, 3, 2, rules)
    for column in range(2):
        for stream in range(2):
            points = plain_game(bots, 7, 3 + stream, rules, swapped=column == 1)
            assert played.points[stream, column] == points


def plain_game(bots: list[Any], seed: int, stream: int, rules: Rules, *, swapped: bool) -> int:
    """Points of the first bot; dice thrown as `eval.lockstep` throws them."""
    from engine.dice import roll_dice

    generator = game_generator(seed, stream)
    draws = generator.spawn(1)[0]
    state = GameState.start(rules)
    while state.on_roll is None:
        first, second = roll_dice(generator)[0].tolist()
        state = state.apply(OpeningThrow((first, second)))
    drawn: list[float] = []
    turn = 0
    while state.result is None:
        if state.dice is None:
            first, second = roll_dice(generator)[0].tolist()
            state = state.apply(Throw((first, second)))
        if turn % 64 == 0:
            drawn = draws.random(64).tolist()
        assert state.on_roll is not None
        assert state.dice is not None
        bot = bots[state.on_roll ^ int(swapped)]
        after = bot.choose(
            state.board[np.newaxis], np.array([state.dice], np.int8), np.array([drawn[turn % 64]])
        )[0]
        state = state.apply(PlayTo(after))
        turn += 1
    if state.result.winner is None:
        return 0
    won = (state.result.winner ^ int(swapped)) == 0
    return state.result.points if won else -state.result.points


def test_matches_have_no_cube_and_no_crawford_game() -> None:
    match = MatchState.start(LONG_NARDI.replace(match_to=3), score=(2, 0))
    assert not match.game.crawford
    bots = [load_bot(name, LONG_NARDI.replace(match_to=3)) for name in ("heuristic", "pip-greedy")]

    def decide(state: GameState) -> Any:
        assert not state.can_offer
        if state.dice is None:
            return None
        bot = bots[state.on_roll or 0]
        return PlayTo(bot.choose(state.board[np.newaxis], np.array([state.dice], np.int8))[0])

    ended = play_match(match, 5, (decide, decide))
    assert ended.over
    assert max(ended.score) >= 3


# --- results ---


def lost(**points: int) -> Any:
    board = np.zeros(26, dtype=np.int8)
    for place, count in points.items():
        board[int(place[1:])] = count
    return board


@pytest.mark.parametrize(
    ("board", "factors", "why"),
    [
        (lost(p3=14), (1, 1), "has borne off a checker"),
        (lost(p6=15), (2, 3), "all of them are home"),
        (lost(p6=14, p18=1), (2, 2), "not brought all of them home"),
        (lost(p6=14, p19=1), (2, 4), "one in his starting quarter"),
    ],
)
def test_results(board: Any, factors: tuple[int, int], why: str) -> None:
    assert result_factors(board, LONG_NARDI) == -factors[0]
    win = result(board, FOUR_LEVELS)
    assert (win.winner, win.factor) == ("opponent", factors[1])
    assert why in win.kind.why
    assert bool(can_lose_backgammon(board, FOUR_LEVELS)) == (factors[1] == 4)
    assert not can_lose_backgammon(board, LONG_NARDI)


def test_outcomes_that_are_left() -> None:
    assert outcome_mask(LONG_START, LONG_NARDI).tolist() == [True, True, False, True, False]
    assert outcome_mask(LONG_START, FOUR_LEVELS).tolist() == [True] * 5


# --- bots ---


def test_the_heuristic_likes_what_it_says() -> None:
    """Fewer on the head, five points in a row before the opponent, no gap when bearing off."""

    def board(own: dict[int, int], opp: dict[int, int]) -> Any:
        b = np.zeros(26, dtype=np.int8)
        for point, n in own.items():
            b[point] = n
        for point, n in opp.items():
            b[point] = -n
        return b

    opp = {12: 15}
    moved = board({24: 8, 20: 2, 18: 2, 17: 2, 13: 1}, opp)
    kept = board({24: 10, 20: 1, 18: 1, 17: 2, 13: 1}, opp)
    wall = board({24: 6, 11: 2, 10: 2, 9: 2, 8: 2, 7: 1}, opp)
    holes = board({24: 6, 11: 2, 10: 2, 8: 2, 6: 2, 3: 1}, opp)
    filled = board({4: 1, 3: 1, 2: 1, 1: 1}, {20: 3})
    gaps = board({3: 2, 2: 2}, {20: 3})
    values = scores(np.array([moved, kept, wall, holes, filled, gaps]))
    assert values[0] > values[1]
    assert values[2] > values[3]
    assert values[4] > values[5]


def test_bots_play_legally_and_alone_as_in_batches(rng: np.random.Generator) -> None:
    turns = constructed_turns(rng, 140)
    boards = np.array([board for board, _, _ in turns], dtype=np.int8)
    rolls = np.array([roll for _, roll, _ in turns], dtype=np.int8)
    afterstates, offsets = legal_afterstates_batch(boards, rolls, LONG_NARDI)
    for name in ("random", "pip-greedy", "heuristic"):
        bot = load_bot(name, LONG_NARDI)
        draws = rng.random(len(turns))
        chosen = bot.choose(boards, rolls, draws)
        shares = bot.candidate_shares(boards, afterstates, offsets)
        for i in range(0, len(turns), 7):
            alone = bot.choose(boards[i : i + 1], rolls[i : i + 1], draws[i : i + 1])[0]
            np.testing.assert_array_equal(alone, chosen[i])
            legal = legal_afterstates(boards[i], rolls[i], LONG_NARDI)
            [row] = np.flatnonzero((legal == chosen[i]).all(axis=1))
            share = shares[offsets[i] + row]
            assert share == (1 / len(legal) if name == "random" else 1)


@pytest.mark.parametrize("name", ["pubeval", "gnubg@0", "sage@0", "exec:true"])
def test_players_of_short_nardi_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="plays short nardi only"):
        load_player(name, LONG_NARDI)


def test_other_refusals() -> None:
    with pytest.raises(ConfigError, match="plays long nardi only"):
        load_bot("heuristic")
    with pytest.raises(ConfigError, match="heuristic cannot look ahead"):
        load_bot("heuristic@2", LONG_NARDI)


def test_the_heuristic_beats_the_greedy_bot_and_that_random() -> None:
    """Both seats are played on the same dice, so that each bot begins as often."""
    duel = play_duel("heuristic", "pip-greedy", 120, 1, LONG_NARDI)
    assert duel.ppg.mean > 0.4
    assert duel.n_unfinished == 0
    assert set(duel.points) <= {-2, -1, 1, 2}
    itself = play_duel(LongHeuristicBot(), LongHeuristicBot(), 20, 1, LONG_NARDI)
    assert itself.ppg.mean == 0
    assert play_duel("pip-greedy", "random", 60, 1, LONG_NARDI).ppg.mean > 0.5


# --- commands ---


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_plays_and_show(capsys: Capture) -> None:
    code, out, _ = run(capsys, "plays", "start", "--game", "long", "--dice", "33")
    assert code == 0
    assert out.splitlines() == ["2 legal plays of 3-3, rules long", "  24/18(2)", "  24/21 24/15"]
    code, out, _ = run(
        capsys,
        *("plays", "LONG=-----------n---a-------O:62:255"),
        *("--rules", "head_exception=seed_list", "--json"),
    )
    assert code == 0
    assert [play["play"] for play in json.loads(out)["plays"]] == ["24/22 24/18"]
    code, out, _ = run(capsys, "show", "start", "--game", "long")
    assert code == 0
    assert "LONG=-----------o-----------O:00:?:0:0:0" in out
    code, out, _ = run(capsys, "convert", "start", "--game", "long", "--to", "longid")
    assert out == "LONG=-----------o-----------O:00:?:0:0:0\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("cube", "LONG=-----------o-----------O"), "played without a doubling cube"),
        (("bearoff", "LONG=-----------o-----------O"), "of short nardi only"),
        (("plays", "4HPwATDgc/ABMA", "--game", "long", "--dice", "31"), "not long"),
        (("plays", "start", "--dice", "31", "--rules", "long"), "cannot be played by rules of"),
        (("benchmark", "random", "random", "--game", "long", "--cube"), "without a doubling cube"),
        (("benchmark", "random", "random", "--game", "short", "--rules", "long"), "of long nardi"),
    ],
)
def test_refusals_of_commands(words: tuple[str, ...], why: str, capsys: Capture) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert why in err


def test_benchmark_of_games_and_matches(capsys: Capture) -> None:
    words = ("benchmark", "heuristic", "pip-greedy", "--game", "long", "--workers", "1")
    code, out, err = run(capsys, *words, "--games", "40", "--seed", "1", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["games"] == 40
    assert document["rules"]["game"] == "long"
    assert document["ppg"] > 0
    assert document["luck_net"] is None
    assert "no luck is taken out" not in err  # by default, with these bots
    code, out, err = run(capsys, *words, "--match", "3", "--games", "10", "--seed", "1")
    assert code == 0
    assert "no luck is taken out" in err
    assert "10 matches to 3 points" in out
