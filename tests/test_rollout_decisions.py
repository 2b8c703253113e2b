"""Decision sets by rollouts: reproducible, gone on with after a stop, readable."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from agent.bot import load_bot
from agent.rollout import RolloutSettings
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from eval import references
from eval.decisions import measure_decisions
from eval.references import read_decisions
from eval.rollout_decisions import RolloutDecisions, SetSettings, part_file
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run
from tests.nets import SMALL, random_net, small_net_file

NET = random_net(SMALL, np.random.default_rng(2026))
SETTINGS = SetSettings(count=3, seed=7, plays=3, window=1.0)
ROLLOUT = RolloutSettings(trials=36, truncate=2, seed=7)


def maker(count: int = 3, threads: int = 1) -> RolloutDecisions:
    settings = dataclasses.replace(SETTINGS, count=count)
    return RolloutDecisions(NET, settings, dataclasses.replace(ROLLOUT, threads=threads))


def test_what_it_holds() -> None:
    told: list[int] = []
    decisions = maker().make(on_progress=told.append)
    assert told[-1] == len(decisions) == 3
    for decision in decisions:
        assert 2 <= len(decision.equities) <= SETTINGS.plays
        legal = {row.tobytes() for row in legal_afterstates(decision.before, decision.dice)}
        assert {row.tobytes() for row in decision.afterstates} <= legal
        assert (decision.stderrs > 0).all()
        assert len(set(decision.equities.tolist())) > 1
        win, gammon, bg, lose_gammon, lose_bg = decision.probs.T
        assert ((win >= gammon) & (gammon >= bg) & (bg >= 0)).all()
        assert ((1 - win >= lose_gammon - 1e-9) & (lose_gammon >= lose_bg)).all()
    assert len({d.before.tobytes() for d in decisions}) == 3


def test_the_same_for_a_seed_and_any_number_of_threads() -> None:
    first = [d.document() for d in maker().make()]
    assert [d.document() for d in maker(2, threads=2).make()] == first[:2]


def test_going_on_after_a_stop(tmp_path: Path) -> None:
    keep = part_file(tmp_path / "set.jsonl")
    whole = [d.document() for d in maker().make(keep)]
    content = keep.read_bytes()
    lines = content.splitlines(keepends=True)
    assert len(lines) == 4
    keep.write_bytes(b"".join(lines[:2]))
    told: list[int] = []
    assert [d.document() for d in maker().make(keep, told.append)] == whole
    assert told[0] >= 1
    assert keep.read_bytes() == content
    # More of the same, and fewer.
    assert [d.document() for d in maker(2).make(keep)] == whole[:2]


@pytest.mark.parametrize("content", ["nonsense\n", '{"file": "another"}\n', ""])
def test_a_file_of_something_else_is_left_alone(content: str, tmp_path: Path) -> None:
    keep = tmp_path / "set.jsonl.part"
    keep.write_text(content)
    with pytest.raises(ConfigError, match="left as it is"):
        maker().make(keep)
    assert keep.read_text() == content


@pytest.mark.parametrize(
    ("change", "words"),
    [({"count": 0}, "count '0'"), ({"plays": 1}, "plays '1'"), ({"window": 0.0}, "window '0.0'")],
    ids=["count", "plays", "window"],
)
def test_settings_that_do_not_fit(change: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        dataclasses.replace(SETTINGS, **change)  # type: ignore[arg-type]


def test_a_set_made_into_the_package_is_found_by_name(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_DATA", tmp_path)
    net, out = str(small_net_file(tmp_path)), tmp_path / "rollout.jsonl.gz"
    words = ("benchmark", "pip-greedy", "--decisions", "rollout", "--json")
    assert run(*words) == FAILED
    assert "'rollout' cannot be read" in capsys.readouterr().err
    make = ("decisions", "rollout", "--count", "2", "--trials", "36", "--truncate", "2")
    assert run(*make, "--seed", "3", "--window", "1", "--net", net, "--out", str(out)) == DONE
    assert list(references.shipped_sets()) == ["rollout"]
    capsys.readouterr()
    assert run(*words) == DONE
    document = json.loads(capsys.readouterr().out)["decisions"]
    assert (document["file"], document["count"]) == ("rollout", 2)


def test_the_set_that_ships() -> None:
    path = references.shipped_sets()["rollout"]
    assert path.stat().st_size < 100_000
    found = read_decisions(Path("rollout"))
    assert (found.name, len(found.boards)) == ("rollout", 40)
    assert np.isfinite(found.stderrs).all()
    assert 0 < found.stderrs.mean() < 0.01
    for i, (board, roll) in enumerate(zip(found.boards, found.rolls, strict=True)):
        rows = slice(*found.offsets[i : i + 2])
        legal = {row.tobytes() for row in legal_afterstates(board, roll.tolist())}
        assert all(row.tobytes() in legal for row in found.afterstates[rows])
        assert np.ptp(found.equities[rows]) < 0.5  # candidates are close to each other
    # They tell a net that has learned from rules of thumb.
    losses = [
        measure_decisions(load_bot(text), found).overall.loss.mean for text in ("net", "pip-greedy")
    ]
    assert losses[0] < 0.5 * losses[1]


def test_command(tmp_path: Path, capsys: Capture) -> None:
    net, out = str(small_net_file(tmp_path)), tmp_path / "set.jsonl.gz"
    words = ("decisions", "rollout", "--count", "2", "--trials", "36", "--truncate", "2")
    more = ("--seed", "3", "--window", "1", "--net", net, "--out", str(out))
    assert run(*words, *more, "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["count"], document["seed"]) == ("rollout", 2, 3)
    assert not part_file(out).exists()
    found = read_decisions(out)
    assert len(found.boards) == 2
    content = out.read_bytes()
    assert run(*words, *more) == DONE
    assert out.read_bytes() == content
    capsys.readouterr()
    part_file(out).write_text("something else\n")
    assert run(*words, *more) == FAILED
    assert "is no unfinished set" in capsys.readouterr().err
    assert out.read_bytes() == content
