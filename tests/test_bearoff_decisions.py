"""The decision set with exact equities: what ships, how it is made, what it measures."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from agent.bot import Bot, load_bot
from engine.bearoff.lookup import covers, cubeless
from engine.board import Board, borne_off, flip
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from eval.bearoff_decisions import LEAST_SPREAD, bearoff_decisions
from eval.decision_files import write_decisions
from eval.decisions import measure_decisions
from eval.references import DecisionSet, read_decisions, shipped_sets
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run

SHIPPED_COUNT, SHIPPED_SEED = 600, 1


@pytest.fixture(scope="module")
def shipped() -> DecisionSet:
    return read_decisions(Path("bearoff"))


class Exact(Bot):
    """Knows the tables."""

    has_probabilities = True

    def choose(self, *_: object) -> Board:
        raise AssertionError

    def probabilities(self, boards: Board) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        probs = cubeless(boards)
        probs[borne_off(flip(boards)) == 15] = 0
        return probs


def test_what_ships(shipped: DecisionSet) -> None:
    assert shipped.name == "bearoff"
    assert len(shipped.boards) == SHIPPED_COUNT
    assert shipped_sets()["bearoff"].stat().st_size < 100_000
    assert covers(shipped.boards, exactly=True).all()
    assert (shipped.stderrs == 0).all()
    keys = {
        (tuple(board), tuple(sorted(roll)))
        for board, roll in zip(shipped.boards.tolist(), shipped.rolls.tolist(), strict=True)
    }
    assert len(keys) == SHIPPED_COUNT
    for i, (board, roll) in enumerate(zip(shipped.boards, shipped.rolls, strict=True)):
        rows = slice(*shipped.offsets[i : i + 2])
        # Every legal play is a candidate, in the same order.
        np.testing.assert_array_equal(shipped.afterstates[rows], legal_afterstates(board, roll))
        equities = shipped.equities[rows]
        assert equities.max() - equities.min() >= LEAST_SPREAD - 1e-6


def test_shipped_equities_are_those_of_the_tables(shipped: DecisionSet) -> None:
    finished = borne_off(shipped.afterstates) == 15
    win = 1 - cubeless(flip(shipped.afterstates))[:, 0]
    win[finished] = 1
    np.testing.assert_allclose(shipped.equities, 2 * win - 1, rtol=0, atol=3e-7)
    assert shipped.probs is not None
    np.testing.assert_allclose(shipped.probs[:, 0], win, rtol=0, atol=3e-7)
    assert (shipped.probs[:, 1:] == 0).all()


def test_the_shipped_set_can_be_made_again(shipped: DecisionSet) -> None:
    some = bearoff_decisions(80, SHIPPED_SEED)
    for i, decision in enumerate(some):
        rows = slice(*shipped.offsets[i : i + 2])
        assert decision.before.tolist() == shipped.boards[i].tolist()
        assert list(decision.dice) == shipped.rolls[i].tolist()
        np.testing.assert_array_equal(decision.afterstates, shipped.afterstates[rows])
        np.testing.assert_allclose(decision.equities, shipped.equities[rows], atol=3e-7)


def test_a_smaller_set_comes_first() -> None:
    told: list[int] = []
    ten = bearoff_decisions(10, 7, told.append)
    assert told[-1] == 10
    three = bearoff_decisions(3, 7)
    assert [d.document() for d in ten[:3]] == [d.document() for d in three]
    assert [d.document() for d in bearoff_decisions(3, 8)] != [d.document() for d in three]


@pytest.mark.parametrize(("count", "seed", "word"), [(0, 1, "count '0'"), (1, -1, "seed '-1'")])
def test_refusals(count: int, seed: int, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        bearoff_decisions(count, seed)


def test_who_knows_the_tables_loses_nothing(shipped: DecisionSet) -> None:
    losses = measure_decisions(Exact("exact"), shipped)
    assert losses.losses.max() < 1e-6
    assert losses.values is not None
    assert losses.values.fits["equity"].rmse.mean < 1e-6


def test_better_players_lose_less(shipped: DecisionSet) -> None:
    pubeval, random = (
        measure_decisions(load_bot(name), shipped).overall.pr.mean for name in ("pubeval", "random")
    )
    assert 0 < pubeval < 10 < random


def test_the_same_decisions_give_the_same_file(tmp_path: Path) -> None:
    decisions = bearoff_decisions(5, 3)
    plain, packed, again = (tmp_path / name for name in ("a.jsonl", "a.jsonl.gz", "b.jsonl.gz"))
    sizes = [write_decisions(path, decisions) for path in (plain, packed, again)]
    assert sizes == [path.stat().st_size for path in (plain, packed, again)]
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert again.read_bytes() == packed.read_bytes()
    found = read_decisions(packed)
    np.testing.assert_array_equal(found.boards, np.stack([d.before for d in decisions]))


# --- commands ---


def test_command(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "d.jsonl.gz"
    words = ["decisions", "bearoff", "--count", "12", "--seed", "5", "--out", str(path)]
    assert run(*words, "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    found = read_decisions(path)
    assert document["seconds"] >= 0
    del document["seconds"]
    assert document == {
        "file": str(path),
        "kind": "bearoff",
        "count": 12,
        "candidates": len(found.afterstates),
        "seed": 5,
        "bytes": path.stat().st_size,
    }
    before = path.read_bytes()
    assert run(*words) == DONE
    out = capsys.readouterr().out
    assert out.startswith("12 decisions with ")
    assert path.read_bytes() == before
    assert out.splitlines()[-1].startswith("now try: nardi benchmark net --decisions ")


def test_a_drawn_seed_is_told(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "d.jsonl"
    assert run("decisions", "bearoff", "--count", "1", "--out", str(path), "--json") == DONE
    captured = capsys.readouterr()
    seed = json.loads(captured.out)["seed"]
    assert f"nardi decisions: seed {seed}\n" in captured.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bearoff", "--count", "0", "--seed", "1", "--out", "x"], "count '0'"),
        (["bearoff", "--count", "1", "--seed", "1", "--out", "no/such/folder/x"], "no/such/folder"),
        (["bearoff"], "--out"),
        ([], "KIND"),
        (["rubbish"], "rubbish"),
    ],
)
def test_command_refusals(words: list[str], message: str, capsys: Capture) -> None:
    assert run("decisions", *words) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_benchmark_knows_the_set_by_name(capsys: Capture) -> None:
    assert run("benchmark", "pubeval", "--decisions", "bearoff", "--json") == DONE
    document = json.loads(capsys.readouterr().out)["decisions"]
    assert document["file"] == "bearoff"
    assert document["count"] == SHIPPED_COUNT


@pytest.mark.parametrize("words", [["decisions"], ["decisions", "bearoff"]])
def test_help_ends_with_a_line_to_paste(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    assert run(*words, "--help") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("try: nardi decisions bearoff ")
    assert run(*lines[-1].removeprefix("try: nardi ").split()) == DONE
    assert (tmp_path / "decisions.jsonl.gz").exists()
