"""A net as a player: every path to a value gives the same one, and the rules hold exactly."""

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.checkpoint import load_net, save_net
from agent.evaluator import Evaluator, cubeless_equity, load_evaluator, swap_sides
from agent.net import NetConfig, Playing, ValueNet, ValueNetConfig
from engine.board import BAR, START, Board, borne_off, flip, has_contact, phase
from engine.errors import PositionError
from engine.features import (
    NUM_SLOTS_SEEN,
    PAIR_BASE,
    PAIR_CLIP,
    PAIR_REACH,
    PAIR_STATES,
    POINT_BASE,
    POINT_CLIP,
    expert_inputs,
    seen_slots,
)
from engine.moves import legal_afterstates, play_steps
from engine.play_codes import code_num_steps, code_source, code_step_die
from engine.scoring import outcome_mask, result
from tests.nets import CONFIGS, SMALL, all_arrays, random_net
from tests.strategies import mixed_boards

CLOSE = 1e-5
Roll = tuple[int, int]


@functools.cache
def positions() -> tuple[Board, NDArray[np.int8]]:
    """Boards `(B, 26)` and rolls `(B, 2)` of all phases, the last checkers among them."""
    some = list(itertools.islice(mixed_boards(np.random.default_rng(31)), 500))
    boards = np.array([board for board, _ in some], dtype=np.int8)
    rolls = np.array([roll for _, roll in some], dtype=np.int8)
    phases = [phase(board) for board in boards]
    assert phases.count("contact") > 200
    assert phases.count("race") > 20
    return boards, rolls


@functools.cache
def afterstates() -> Board:
    """`(N, 26)` results of plays, finished games among them, seen by the side on roll next."""
    rows = [legal_afterstates(b, r)[:3] for b, r in zip(*positions(), strict=True)]
    boards = flip(np.concatenate(rows))
    phases = [phase(board) for board in boards]
    assert phases.count("over") > 5
    assert phases.count("race") > 40
    return boards


@functools.cache
def evaluator(name: str) -> Evaluator:
    return Evaluator(random_net(CONFIGS[name], np.random.default_rng(len(name))))


every_shape = pytest.mark.parametrize("name", CONFIGS)


# --- one plain way to the value of a board ---


def plain_probs(net: ValueNet, board: Board) -> NDArray[np.float64]:
    """The five probabilities of a board, worked out as the documentation has it, in float64."""
    if phase(board) == "over":
        return outcome_mask(board).astype(np.float64)
    part = "contact" if has_contact(board) else "race"
    config: NetConfig = getattr(net.config, part)
    arrays = {k: v.astype(np.float64) for k, v in getattr(net, part)._asdict().items()}
    seen = seen_slots(board[np.newaxis])[0].astype(int)
    x = arrays["bias"].copy()
    for slot in range(NUM_SLOTS_SEEN):
        count = int(seen[slot])
        if slot < len(board):
            count = max(-POINT_CLIP, min(POINT_CLIP, count))
        if count:
            x += arrays["points"][POINT_BASE[slot] + count]
    if config.pairs:
        clipped = np.clip(board.astype(int), -PAIR_CLIP, PAIR_CLIP)
        for slot, distance in itertools.product(range(len(board)), range(1, PAIR_REACH + 1)):
            other = slot + distance
            if other < len(board) and clipped[slot] and clipped[other]:
                state = (clipped[slot] + PAIR_CLIP) * PAIR_STATES + clipped[other] + PAIR_CLIP
                x += arrays["pairs"][PAIR_BASE[slot, distance] + state]
    tail = 0
    if config.tails == "back9":
        own_back = board[BAR] + np.maximum(board[19:25], 0).sum()
        opp_back = board[0] - np.minimum(board[1:7], 0).sum()
        groups = [min(max(int(back) - 1, 0), 2) for back in (own_back, opp_back)]
        tail = 3 * groups[0] + groups[1]
    elif config.tails == "back25":
        own_back = board[BAR] + np.maximum(board[19:25], 0).sum()
        opp_back = board[0] - np.minimum(board[1:7], 0).sum()
        tail = 5 * min(int(own_back), 4) + min(int(opp_back), 4)
    experts = expert_inputs(config.experts, board[np.newaxis])[0]
    behind = []
    for group, units in enumerate(np.split(np.maximum(x, 0), config.groups)):
        layer = tail * config.groups + group
        inputs = np.concatenate([units, experts])
        behind.append(inputs @ arrays["w2"][layer] + arrays["b2"][layer])
    out = np.concatenate(behind)
    if config.hidden:
        out = np.maximum(out, 0) @ arrays["w3"][tail] + arrays["b3"][tail]
    win, *rest = np.where(outcome_mask(board), 1 / (1 + np.exp(-out)), 0)
    win_gammon, lose_gammon = min(rest[0], win), min(rest[2], 1 - win)
    return np.array(
        [win, win_gammon, min(rest[1], win_gammon), lose_gammon, min(rest[3], lose_gammon)]
    )


@every_shape
def test_a_board_is_worth_what_the_documentation_says(name: str) -> None:
    boards = afterstates()[::3]
    expected = np.array([plain_probs(evaluator(name).net, board) for board in boards])
    found = evaluator(name).probabilities(boards)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < CLOSE
    assert found[:, 0].std() > 0.01  # the random net is not blind


def test_all_weights_count() -> None:
    """Every array of a net has a say in some value, so the tests above see all of them."""
    net = random_net(CONFIGS["nine tails"], np.random.default_rng(7))
    before = Evaluator(net).probabilities(afterstates())
    for name, array in all_arrays(net).items():
        if array.size:
            array += np.float32(0.5)
            assert np.abs(Evaluator(net).probabilities(afterstates()) - before).max() > 1e-4, name
            array -= np.float32(0.5)


# --- all plays of a roll from their parent ---


@every_shape
def test_plays_updated_from_their_parent_are_worth_what_their_boards_are(name: str) -> None:
    one = evaluator(name)
    for board, roll in zip(*positions(), strict=True):
        rows, probs, equity, _ = one.rank(board, roll.tolist())
        direct = swap_sides(one.probabilities(flip(rows)))
        assert np.abs(probs - direct).max() < CLOSE
        assert np.abs(equity - cubeless_equity(probs)).max() < CLOSE


def test_rank_gives_all_plays_best_first() -> None:
    one = evaluator("small")
    for board, roll in zip(*positions(), strict=True):
        faces: Roll = (int(roll[0]), int(roll[1]))
        rows, probs, equity, codes = one.rank(board, faces)
        assert probs.shape == (len(rows), 5)
        assert (np.diff(equity) <= 0).all()
        legal = legal_afterstates(board, faces)
        assert sorted(rows.tolist()) == sorted(legal.tolist())
        if len(codes) == 0:
            assert rows.tolist() == [board.tolist()]
            continue
        assert len(codes) == len(rows)
        best, high, low = int(codes[0]), max(faces), min(faces)
        steps = []
        for i in range(code_num_steps.py_func(best)):
            source = code_source.py_func(best, i)
            steps.append((source, max(source - code_step_die.py_func(best, i, high, low), 0)))
        assert play_steps(board, faces, steps).tolist() == rows[0].tolist()


@every_shape
def test_choose_takes_the_best_of_all(name: str) -> None:
    one = evaluator(name)
    boards, rolls = positions()
    chosen = one.choose(boards, rolls)
    assert chosen.dtype == np.int8
    for board, roll, after in zip(boards, rolls, chosen, strict=True):
        assert after.tolist() == one.rank(board, roll.tolist())[0][0].tolist()
        rows = legal_afterstates(board, roll.tolist())
        equities = -cubeless_equity(one.probabilities(flip(rows)))
        found = np.flatnonzero((rows == after).all(axis=1))
        assert equities[found[0]] >= equities.max() - CLOSE


def test_of_equal_plays_the_one_with_most_checkers_off_is_taken_and_then_the_first() -> None:
    net = random_net(SMALL, np.random.default_rng(1))
    for array in all_arrays(net).values():
        array[:] = 0
    blind = Evaluator(net)
    boards, rolls = positions()
    ties = 0
    for board, roll, after in zip(boards, rolls, blind.choose(boards, rolls), strict=True):
        rows = legal_afterstates(board, roll.tolist())
        equities = -cubeless_equity(blind.probabilities(flip(rows)))
        order = sorted(range(len(rows)), key=lambda i: (-equities[i], -borne_off(rows[i]), i))
        ties += int((equities == equities[order[0]]).sum() > 1)
        assert after.tolist() == rows[order[0]].tolist()
        ranked = blind.rank(board, roll.tolist())[0]
        assert ranked.tolist() == rows[order].tolist()
    assert ties > 100


def test_more_plays_than_one_chunk_holds() -> None:
    """Positions with hundreds of plays; the best one may be anywhere."""
    board = np.zeros(26, dtype=np.int8)
    board[[24, 23, 21, 20, 18, 17, 15, 14, 12, 11, 9, 8, 6]] = 1
    board[[1, 2]] = -2
    one = evaluator("default, half as wide")
    places = set()
    for sign in (1, -1):
        net = random_net(CONFIGS["default, half as wide"], np.random.default_rng(2))
        net.contact.w3[:] *= sign
        one = Evaluator(net)
        rows, probs, *_ = one.rank(board, (1, 1))
        assert len(rows) > 200
        assert np.abs(probs - swap_sides(one.probabilities(flip(rows)))).max() < CLOSE
        best = one.choose(board[np.newaxis], [[1, 1]])[0]
        assert best.tolist() == rows[0].tolist()
        places.add(legal_afterstates(board, (1, 1)).tolist().index(best.tolist()))
    assert max(places) >= 64


def test_a_forced_pass() -> None:
    closed = np.array([0] * 6 + [5] + [0] * 12 + [-2] * 6 + [1], dtype=np.int8)
    one = evaluator("small")
    rows, probs, equity, codes = one.rank(closed, (6, 6))
    assert rows.tolist() == [closed.tolist()]
    assert len(codes) == 0
    assert np.allclose(probs, swap_sides(one.probabilities(flip(rows))), atol=CLOSE)
    assert equity[0] == pytest.approx(cubeless_equity(probs)[0], abs=CLOSE)
    assert one.choose(closed[np.newaxis], [[6, 6]]).tolist() == [closed.tolist()]


# --- what the rules say holds exactly ---


@every_shape
def test_what_cannot_happen_has_probability_zero(name: str) -> None:
    boards = afterstates()
    probs = evaluator(name).probabilities(boards)
    possible = outcome_mask(boards)
    assert (probs[~possible] == 0).all()
    running = np.array([phase(board) != "over" for board in boards])
    assert (probs[running][possible[running]] > 0).all()
    assert (~possible[running]).any(axis=0)[1:].all()  # each outcome is excluded somewhere
    win, win_gammon, win_bg, lose_gammon, lose_bg = probs.T
    assert (win <= 1).all()
    assert (win_gammon <= win).all()
    assert (win_bg <= win_gammon).all()
    assert (lose_gammon <= 1 - win).all()
    assert (lose_bg <= lose_gammon).all()


@pytest.mark.parametrize(
    ("opp", "expected"),
    [
        ({5: -3}, [1, 0, 0, 0, 0]),
        ({18: -15}, [1, 1, 0, 0, 0]),
        ({7: -14, 24: -1}, [1, 1, 0, 0, 0]),
        ({6: -1, 20: -14}, [1, 1, 1, 0, 0]),
        ({0: 1, 20: -14}, [1, 1, 1, 0, 0]),
    ],
)
def test_finished_games_are_exact_for_both_sides(opp: dict[int, int], expected: list[int]) -> None:
    won = np.zeros(26, dtype=np.int8)
    won[list(opp)] = list(opp.values())
    one = evaluator("small")
    assert one.probabilities(won[np.newaxis]).tolist() == [expected]
    lost = one.probabilities(flip(won)[np.newaxis])
    assert lost.tolist() == [[0, 0, 0, *expected[1:3]]] if expected[1] else [[0] * 5]
    factor = result(won).factor
    assert cubeless_equity(one.probabilities(won[np.newaxis])).tolist() == [factor]
    assert cubeless_equity(lost).tolist() == [-factor]


def test_the_last_checker_wins() -> None:
    """A play that ends the game is worth exactly its result."""
    one = evaluator("small")
    seen = set()
    for board, roll in zip(*positions(), strict=True):
        rows, probs, equity, _ = one.rank(board, roll.tolist())
        over = np.array([phase(row) == "over" for row in rows])
        for row, p, e in zip(rows[over], probs[over], equity[over], strict=True):
            assert p[0] == 1
            assert e == result(row).factor
            seen.add(int(e))
    assert seen >= {1, 3}


# --- nothing but the board counts ---


def test_batches_do_not_matter() -> None:
    one = evaluator("nine tails")
    boards = afterstates()
    probs = one.probabilities(boards)
    order = np.random.default_rng(5).permutation(len(boards))
    assert (one.probabilities(boards[order]) == probs[order]).all()
    assert (np.concatenate([one.probabilities(b[np.newaxis]) for b in boards]) == probs).all()
    many, rolls = positions()
    chosen = one.choose(many, rolls)
    order = np.random.default_rng(6).permutation(len(many))
    assert (one.choose(many[order], rolls[order]) == chosen[order]).all()
    assert one.probabilities(np.empty((0, 26), dtype=np.int8)).shape == (0, 5)
    assert one.choose(np.empty((0, 26), dtype=np.int8), np.empty((0, 2), int)).shape == (0, 26)


def test_nothing_is_left_behind_by_what_was_asked_before() -> None:
    used = evaluator("nine tails")
    boards, rolls = positions()
    for i in range(0, 60):
        used.choose(boards[i : i + 5], rolls[i : i + 5])
        used.probabilities(boards[i : i + 70])
        fresh = Evaluator(used.net)
        for ours, theirs in zip(
            used.rank(boards[i], rolls[i].tolist()),
            fresh.rank(boards[i], rolls[i].tolist()),
            strict=True,
        ):
            assert np.array_equal(ours, theirs)


def parents(after: Board, roll: Roll) -> list[Board]:
    """Boards from which two steps without a hit, one for each die, lead to `after`."""
    boards = [after]
    for die in roll:
        back = []
        for board in boards:
            for point in range(1, 25 - die):
                if board[point] > 0 and board[point + die] >= 0:
                    before = board.copy()
                    before[point] -= 1
                    before[point + die] += 1
                    back.append(before)
        boards = back
    return boards


def test_a_board_is_worth_the_same_however_it_was_reached() -> None:
    one = evaluator("nine tails")
    compared = 0
    for board, roll in zip(*(some[:40] for some in positions()), strict=True):
        if board[BAR] or roll[0] == roll[1] or phase(board) != "contact":
            continue
        high, low = sorted((int(roll[0]), int(roll[1])), reverse=True)
        rows, probs, _, _ = one.rank(board, (high, low))
        other_way = one.rank(board, (low, high))
        assert rows.tolist() == other_way[0].tolist()
        assert probs.tolist() == other_way[1].tolist()
        after, value = rows[-1], probs[-1]
        for other_roll in ((2, 1), (6, 5)):
            for before in parents(after, other_roll)[:5]:
                ways, values, _, _ = one.rank(before, other_roll)
                same = np.flatnonzero((ways == after).all(axis=1))
                if len(same):  # a longer play may be a duty
                    assert np.abs(values[same[0]] - value).max() < CLOSE
                    compared += 1
    assert compared > 50


# --- edges ---


@pytest.mark.parametrize(
    ("boards", "message"),
    [
        (START, r"must be \(B, 26\).*\(26,\)"),
        (START[np.newaxis, :25], r"\(1, 25\)"),
        (START[np.newaxis].astype(np.float64), "float64"),
        ([[0] * 24 + [16, 0]], "row 0: mover has 16 checkers"),
        ([START.tolist(), [-1, *START[1:].tolist()]], "row 1: slot 0"),
        ([[0] * 24 + [258, 0]], "row 0: mover has 258 checkers"),
        ([[0] * 25 + [-1]], "row 0: slot 25"),
    ],
)
def test_boards_that_cannot_be(boards: object, message: str) -> None:
    with pytest.raises(PositionError, match=message):
        evaluator("small").probabilities(boards)  # type: ignore[arg-type]


def test_boards_of_any_whole_numbers() -> None:
    one = evaluator("small")
    expected = one.probabilities(START[np.newaxis]).tolist()
    assert one.probabilities([START.tolist()]).tolist() == expected
    assert one.probabilities(START[np.newaxis].astype(np.int64)).tolist() == expected
    wide = np.repeat(START[np.newaxis], 2, axis=1)[:, ::2]  # not contiguous
    assert one.probabilities(wide).tolist() == expected


def test_finished_games_have_no_plays() -> None:
    over = np.array([0, 0, 3] + [0] * 23, dtype=np.int8)
    with pytest.raises(PositionError, match="over"):
        evaluator("small").rank(over, (3, 1))
    with pytest.raises(PositionError, match=r"row 0: .*over"):
        evaluator("small").choose(over[np.newaxis], [[3, 1]])


def test_equity_and_sides() -> None:
    probs = np.array([[0.6, 0.2, 0.1, 0.15, 0.05], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1]])
    assert cubeless_equity(probs).tolist() == pytest.approx([0.3, 3, -3], abs=1e-6)
    swapped = swap_sides(probs)
    assert swapped[0].tolist() == pytest.approx([0.4, 0.15, 0.05, 0.2, 0.1], abs=1e-6)
    assert cubeless_equity(swapped).tolist() == pytest.approx([-0.3, -3, 3], abs=1e-6)
    assert np.abs(swap_sides(swapped) - probs).max() < 1e-6
    with pytest.raises(ValueError, match="5 columns"):
        cubeless_equity(probs[:, :4])


def test_loaded_nets_tell_their_name(tmp_path: Path) -> None:
    path = tmp_path / "n.safetensors"
    net = random_net(ValueNetConfig(contact=SMALL.race, race=SMALL.race), np.random.default_rng(3))
    save_net(path, net)
    loaded = load_evaluator(path)
    assert loaded.name == f"net:{path}"
    boards = afterstates()[:50]
    assert (loaded.probabilities(boards) == Evaluator(net).probabilities(boards)).all()


# --- weights in fewer bits ---


class _InFull(ValueNet):
    """A net that plays with its arrays of 32 bits, whatever they hold."""

    @property
    def playing(self) -> Playing:  # type: ignore[override]
        return Playing(self.contact, self.race)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", ["25 tails", "groups", "nine tails without hidden layer"])
def test_half_the_memory_changes_no_bit(name: str, bits: int, tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_net(path, evaluator(name).net, bits=bits)
    net = load_net(path)
    assert [part.pairs.dtype for part in net.playing] == [np.uint16] * 2
    in_full = _InFull(net.config, net.contact, net.race)
    assert [part.pairs.dtype for part in in_full.playing] == [np.float32] * 2
    one, other = Evaluator(net), Evaluator(in_full)
    assert (one.probabilities(afterstates()) == other.probabilities(afterstates())).all()
    boards, rolls = positions()
    assert (one.choose(boards, rolls) == other.choose(boards, rolls)).all()
    for board, roll in zip(boards[:40], rolls[:40], strict=True):
        mine, theirs = one.rank(board, roll.tolist()), other.rank(board, roll.tolist())
        assert all((a == b).all() for a, b in zip(mine, theirs, strict=True))


def test_weights_that_16_bits_cannot_hold_stay_as_they_are(tmp_path: Path) -> None:
    net = random_net(SMALL, np.random.default_rng(1))
    assert net.playing == Playing(net.contact, net.race)
    path = tmp_path / "small.safetensors"
    net.race.points[5] = 3e5  # in 8 bits a row has a scale of its own
    save_net(path, net, bits=8)
    again = load_net(path)
    assert again.playing == Playing(again.contact, again.race)
    assert again.race.points[5] == pytest.approx(3e5, rel=0.01)


def test_a_net_in_half_plays_nearly_as_it_did() -> None:
    net = random_net(SMALL, np.random.default_rng(1))
    half = net.in_half()
    assert [part.pairs.dtype for part in half.playing] == [np.uint16] * 2
    for part in ("contact", "race"):
        for name, array in getattr(net, part)._asdict().items():
            rounded = getattr(getattr(half, part), name)
            assert rounded.dtype == np.float32
            assert rounded == pytest.approx(array, rel=2**-11, abs=2**-25), name
    change = Evaluator(half).probabilities(afterstates())
    change -= Evaluator(net).probabilities(afterstates())
    assert 0 < np.abs(change).max() < 1e-3
    assert half.in_half().checksum() == half.checksum()
    net.race.points[5] = 3e5
    assert net.in_half() is net


def test_rows_of_any_size_are_products_that_16_bits_hold(tmp_path: Path) -> None:
    net = random_net(SMALL, np.random.default_rng(1))
    sizes = 10.0 ** np.random.default_rng(2).uniform(-9, 4, len(net.contact.points))
    net.contact.points[:] *= sizes[:, np.newaxis]
    path = tmp_path / "small.safetensors"
    save_net(path, net, bits=8)
    again = load_net(path).contact.points
    assert (again.astype(np.float16).astype(np.float32) == again).all()
    most = np.abs(net.contact.points).max(axis=1, keepdims=True)
    # A step of a row has four binary digits, and is a multiple of the smallest 16-bit float.
    step = np.maximum(most / 127 * 9 / 8, most / 127 + 2.0**-24)
    assert (np.abs(again - net.contact.points) <= 0.501 * step).all()
    # What was rounded once stays as it is.
    save_net(tmp_path / "again.safetensors", load_net(path), bits=8)
    assert load_net(tmp_path / "again.safetensors").checksum() == load_net(path).checksum()
