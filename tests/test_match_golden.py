"""The golden rule cases that the state machine and the scoring have to meet, driven through both.

Kinds result, cube, opening and stat; of kind moves the plays that have to be accepted or refused in
exactly the order given.
"""

from typing import Any

import numpy as np
import pytest

from engine.actions import (
    Accept,
    Beaver,
    Decline,
    Offer,
    OpeningThrow,
    Play,
    Player,
    Refuse,
    Take,
    Throw,
    other_player,
)
from engine.board import BAR, NUM_SLOTS, START, Board, borne_off, flip, pip_count, validate
from engine.errors import IllegalActionError
from engine.game import GameState
from engine.match import MatchState
from engine.moves import legal_afterstates, legal_plays
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import result, stake_after
from engine.variant import check_board, variant_of
from tests.golden_cases import read_board, read_context, read_golden, read_play
from tests.strategies import ORDERED_ROLLS

Case = dict[str, Any]
CASES: list[Case] = read_golden("rules_cases.jsonl")


def cases(kind: str, needs: str | None = None) -> list[Any]:
    """The cases of a kind (whose context or case has the key) as parameters."""
    return [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["kind"] == kind and (needs is None or needs in case["context"] or needs in case)
    ]


def board_of(case: Case) -> Board:
    board = check_board(read_board(case["board"], case["game"]), rules_of(case))
    assert borne_off(board) == case["board"]["mover"]["off"]
    assert borne_off(flipped(board, case)) == case["board"]["opponent"]["off"]
    return board


def flipped(board: Board, case: Case) -> Board:
    return variant_of(rules_of(case)).flip(board)


def rules_of(case: Case) -> Rules:
    return INTERNATIONAL.replace(game=case["game"], **case["rules"])


def player_of(name: str | None, mover: Player = 0) -> Player | None:
    """Mover and offerer are player `mover`, the others his opponent."""
    if name is None:
        return None
    return mover if name in ("mover", "offerer") else other_player(mover)


def finish(loser: dict[str, int], **state: Any) -> GameState:
    """A game ended by player 0's last checker; loser: his points, in his own numbering."""
    board = read_board({"mover": {"1": 1}, "opponent": loser})
    return GameState.at(board, 0, dice=(2, 1), **state).apply(Play(((1, 0),)))


LOSERS = {
    "oin": {"3": 14},
    "mars": {"6": 15},
    "koks": {"bar": 1, "6": 14},
}


def test_file_is_whole() -> None:
    assert len(CASES) == 162
    assert len({case["id"] for case in CASES}) == 162


# --- results ---


@pytest.mark.parametrize(
    "case", [case for case in cases("result") if "finisher" not in case.values[0]["context"]]
)
def test_result(case: Case) -> None:
    board, rules, expect = board_of(case), rules_of(case), case["expect"]
    win = result(board, rules)
    assert (win.winner, win.kind.name, win.factor) == (
        expect["winner"],
        expect["name"],
        expect["points"],
    )
    assert win.kind.why
    seen_by_loser = result(flipped(board, case), rules)
    assert (seen_by_loser.winner, seen_by_loser.kind) == ("opponent", win.kind)


@pytest.mark.parametrize("case", cases("result", "finisher"))
def test_end_rule(case: Case) -> None:
    """The finisher bears off his last checker; under the other rule the second may throw again."""
    board, rules, expect = board_of(case).copy(), rules_of(case), case["expect"]
    board[1] += 1  # the position before the finisher's last play
    starter: Player = 0 if case["context"]["finisher"] == "first" else 1
    game = GameState.at(board, 0, rules, dice=(2, 1), starter=starter)
    game = game.apply(Play(((1, 0),)))
    if "second_last_roll" in case["context"]:
        assert game.phase == "roll"
        assert game.decider == 1
        game = game.apply(Throw(tuple(case["context"]["second_last_roll"])))
        _, plays = legal_plays(
            np.where(np.arange(NUM_SLOTS) == 0, 1, game.board), game.dice or (), rules
        )
        game = game.apply(Play(plays[0]))
    assert game.result is not None
    if expect["draw"]:
        assert (game.result.winner, game.result.points) == (None, expect["points"])
        return
    assert game.result.winner == (starter if expect["winner"] == "first" else 1 - starter)
    assert game.result.points == expect.get("points", game.result.points)
    assert game.result.kind == expect.get("name", game.result.kind)


# --- cube ---


@pytest.mark.parametrize("case", cases("cube", "phase"))
@pytest.mark.parametrize("mover", [0, 1])
def test_offer(case: Case, mover: Player) -> None:
    context = case["context"]
    game = GameState.at(
        variant_of(rules_of(case)).start,
        mover,
        rules_of(case),
        dice=None if context["phase"] == "before_roll" else (3, 1),
        cube_value=context["cube"] or 1,
        cube_owner=player_of(context.get("owner"), mover),
    )
    assert game.can_offer == case["expect"]["offer_allowed"]
    assert (Offer in game.action_types()) == case["expect"]["offer_allowed"]
    if case["expect"]["offer_allowed"]:
        assert game.apply(Offer()).decider == other_player(mover)
        return
    with pytest.raises(IllegalActionError):
        game.apply(Offer())
    if case["game"] == "long":
        with pytest.raises(IllegalActionError, match="played without a doubling cube"):
            game.apply(Offer())
    if context["cube"] == 64:
        unlimited = GameState.at(START, mover, Rules(cube_cap=None), cube_value=64)
        assert unlimited.apply(Offer()).stake_offered == 128


@pytest.mark.parametrize("case", cases("cube", "action"))
@pytest.mark.parametrize("mover", [0, 1])
def test_answer(case: Case, mover: Player) -> None:
    context, expect = case["context"], case["expect"]
    game = GameState.at(
        START,
        mover,
        rules_of(case),
        cube_value=context["cube"],
        cube_owner=player_of(context["owner"], mover),
    ).apply(Offer())
    if context["action"] == "accept":
        game = game.apply(Take())
        assert (game.cube_value, game.cube_owner) == (expect["cube"], other_player(mover))
        assert expect["owner"] == "taker"
        return
    game = game.apply(Refuse())
    assert game.result is not None
    assert expect["winner"] == "offerer"
    assert (game.result.winner, game.result.points) == (mover, expect["points"])


@pytest.mark.parametrize("case", [c for c in cases("cube") if "stakes" in c.values[0]["expect"]])
def test_stakes(case: Case) -> None:
    rules, stakes = rules_of(case), case["expect"]["stakes"]
    assert [stake_after(n, rules) for n in range(7)] == stakes
    shown = []
    game = GameState.at(START, 0, rules)
    for n in range(7):
        shown.append(game.cube_value)
        if n < 6:
            taken = game.apply(Offer()).apply(Take())
            owner = taken.cube_owner
            assert owner is not None
            game = GameState.at(START, owner, rules, cube_value=taken.cube_value, cube_owner=owner)
    assert shown == stakes


@pytest.mark.parametrize("case", cases("cube", "result"))
def test_points(case: Case) -> None:
    context = case["context"]
    game = finish(
        LOSERS[context["result"]],
        rules=rules_of(case),
        cube_value=context["cube"],
        cube_owner=0 if context["cube"] > 1 else None,
        cube_offered=context.get("cube_offered"),
    )
    assert game.result is not None
    assert (game.result.winner, game.result.points) == (0, case["expect"]["points"])


@pytest.mark.parametrize("case", cases("cube", "opening"))
def test_automatic_double(case: Case) -> None:
    context, expect = case["context"], case["expect"]
    game = GameState.start(rules_of(case))
    for _ in range(context["autos_so_far"]):
        game = game.apply(OpeningThrow((1, 1)))
    assert (game.cube_value, game.auto_doubles) == (context["cube"], context["autos_so_far"])
    game = game.apply(OpeningThrow(tuple(context["opening"])))
    assert (game.cube_value, game.cube_owner) == (expect["cube"], expect["owner"])
    assert game.phase == "opening"
    assert expect["next"] == "roll again"


@pytest.mark.parametrize("case", cases("cube", "actions"))
def test_beaver(case: Case) -> None:
    context, expect = case["context"], case["expect"]
    classes: dict[str, type[Offer | Beaver | Accept | Decline]] = {
        "offer": Offer,
        "beaver": Beaver,
        "accept": Accept,
        "decline": Decline,
    }
    game = GameState.at(START, 0, rules_of(case), cube_value=context["cube"])
    for action in context["actions"]:
        game = game.apply(classes[action]())
    if game.result is None:
        assert (game.cube_value, game.cube_owner, game.on_roll) == (expect["cube"], 1, 0)
        assert (expect["owner"], game.phase) == ("beaverer", "roll")
    else:
        assert expect["winner"] == "beaverer"
        assert (game.result.winner, game.result.points) == (1, expect["points"])


@pytest.mark.parametrize("case", cases("cube", "score"))
def test_match_end(case: Case) -> None:
    context, expect = case["context"], case["expect"]
    names = ["A", "B"]
    match = MatchState.start(
        rules_of(case), score=(context["score"]["A"], context["score"]["B"]), crawford_played=True
    )
    winner = names.index(context["game"]["winner"])
    assert winner == 0
    ended = finish(LOSERS["mars"], rules=match.rules)
    assert ended.result is not None
    assert ended.result.points == context["game"]["points"]
    match = match.with_game(ended)
    assert match.over == expect["match_over"]
    assert match.winner == names.index(expect["winner"])


# --- opening throw and figures ---


@pytest.mark.parametrize("case", cases("opening"))
def test_opening(case: Case) -> None:
    expect, game = case["expect"], GameState.start(rules_of(case))
    if "tie_rolls_of_36" in expect:
        opened = {d: game.apply(OpeningThrow(d)) for d in ORDERED_ROLLS}
        ties = [dice for dice, state in opened.items() if state.phase == "opening"]
        assert len(ties) == expect["tie_rolls_of_36"]
        assert all(opened[dice] == game for dice in ties)  # both throw again
        for dice, state in opened.items():
            if dice not in ties:
                assert expect["first_mover_higher_die"]
                assert state.decider == (0 if dice[0] > dice[1] else 1)
                # "both opening dice, no re-roll"
                assert (state.phase, sorted(state.dice or ())) == ("play", sorted(dice))
    elif "first_mover" in expect:
        context = case["context"]
        state = game.apply(OpeningThrow((context["mover_die"], context["opponent_die"])))
        assert (state.decider, state.dice) == (0, tuple(expect["dice_played"]))
        assert expect["first_mover"] == "mover"
        swapped = game.apply(OpeningThrow((context["opponent_die"], context["mover_die"])))
        assert (swapped.decider, swapped.dice) == (1, tuple(expect["dice_played"]))
    elif case["game"] == "long":
        assert expect["roll_for_first"]
        assert expect["starter_rolls_again"]
        state = game.apply(OpeningThrow((2, 5)))
        assert (state.phase, state.decider, state.dice) == ("roll", 1, None)
        assert state.apply(Throw((6, 6))).dice == (6, 6)
        played = GameState.start(rules_of(case).replace(opening_dice_played=True))
        assert played.apply(OpeningThrow((2, 5))).dice == (5, 2)
    else:
        assert not expect["legal_roll"]
        with pytest.raises(IllegalActionError, match="8 3"):
            game.apply(OpeningThrow(tuple(case["dice"])))


def entering_board(closed: int) -> Board:
    """One mover's checker on the bar, the rest far from home; `closed` entry points are held."""
    board = np.zeros(NUM_SLOTS, dtype=np.int8)
    board[BAR], board[12] = 1, 14
    for point in range(19, 19 + closed):
        board[point] = -2
    board[1] = -2
    return validate(board)


@pytest.mark.parametrize("case", cases("stat"))
def test_stat(case: Case) -> None:
    expect = case["expect"]
    if "pips_each" in expect:
        board = board_of(case)
        assert np.array_equal(board, START)
        assert pip_count(board) == pip_count(flip(board)) == expect["pips_each"]
    elif "entering_rolls_of_36" in expect:
        counts = [
            sum(
                bool(legal_afterstates(entering_board(closed), roll)[0, BAR] == 0)
                for roll in ORDERED_ROLLS
            )
            for closed in range(7)
        ]
        assert counts == expect["entering_rolls_of_36"]
    else:
        for die, point in expect["entry_point_of_die"].items():
            _, plays = legal_plays(entering_board(0), (int(die), int(die)))
            assert {steps[0] for steps in plays} == {(BAR, point)}


# --- plays in the order given ---


def to_play(case: Case) -> GameState:
    return GameState.at(
        board_of(case),
        0,
        rules_of(case),
        dice=case["dice"],
        starter=0,
        context=read_context(case["context"]),
    )


@pytest.mark.parametrize("case", cases("moves", "illegal_sequences"))
def test_illegal_sequences(case: Case) -> None:
    """The order is refused although another order of steps may reach the same position."""
    game = to_play(case)
    for play in case["illegal_sequences"]:
        with pytest.raises(IllegalActionError):
            game.apply(Play(read_play(play)))
    assert game == to_play(case)


@pytest.mark.parametrize("case", cases("moves", "illegal"))
def test_illegal_plays(case: Case) -> None:
    game = to_play(case)
    for play in case["illegal"]:
        with pytest.raises(IllegalActionError):
            game.apply(Play(read_play(play)))


@pytest.mark.parametrize("case", cases("moves", "legal_includes"))
def test_legal_sequences(case: Case) -> None:
    game = to_play(case)
    for play in case["legal_includes"]:
        after = game.apply(Play(read_play(play)))
        assert after.on_roll == 1 or after.result is not None
