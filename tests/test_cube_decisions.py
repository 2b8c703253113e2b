"""Decision sets of the cube: read, measured, made, shipped; every kind of fault of a file."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.bot import load_bot
from engine.bearoff.lookup import cubeful
from engine.board import START
from eval.bearoff_decisions import LEAST_SPREAD, MOST_CUBE_SPREAD, bearoff_cube_decisions
from eval.cube_decisions import cube_differences, measure_cube, worst_cube
from eval.decision_files import write_decisions
from eval.references import ReferenceFileError, read_any_decisions, read_decisions
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run

EQUITIES = {"no_double": 0.3, "double_take": 0.5, "double_pass": 1.0}


def line(**changes: Any) -> dict[str, Any]:
    return {"before": START.tolist(), "cube": {}, "equities": EQUITIES} | changes


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return path


PLAY = {
    "before": START.tolist(),
    "dice": [3, 1],
    "candidates": [
        {"afterstate": after, "equity": equity}
        for after, equity in (
            ([0, -2, 0, 0, 0, 2, 4, 0, 2, *START.tolist()[9:]], 0.2),
            ([0, -2, 0, 0, 0, 0, 5, 0, 3, 1, 0, 0, -5, 4, *START.tolist()[14:]], 0.1),
        )
    ],
}


class Fixed:
    """Decides as it was told, whatever the position."""

    name = "fixed"

    def __init__(self, doubles: list[bool], answers: list[int]) -> None:
        self._doubles, self._answers = doubles, answers

    def doubles(self, boards: object, situations: object) -> Any:
        return np.array(self._doubles)

    def answers(self, boards: object, situations: object) -> Any:
        return np.array(self._answers, dtype=np.int8)


def test_losses_by_hand(tmp_path: Path) -> None:
    too_good = {"no_double": 1.2, "double_take": 1.9, "double_pass": 1.0}
    beaver = {"no_double": 0.1, "double_take": -0.2, "double_pass": 1.0, "double_beaver": -0.4}
    path = written(
        tmp_path / "set.jsonl",
        line(),
        line(equities=too_good),
        line(equities=beaver, cube={"rules": {"beaver": True, "jacoby": True}}),
        line(cube={"away": [3, 5], "value": 2, "owner": "mover", "rules": {"match_to": 7}}),
    )
    plays, cube = read_any_decisions(path)
    assert plays is None
    assert cube is not None
    assert cube.lines.tolist() == [1, 2, 3, 4]
    assert cube.situations[3].mover_away == 3
    assert cube.situations[3].rules.match_to == 7
    right = measure_cube(Fixed([True, False, False, True], [1, 0, 2, 1]), cube)  # type: ignore[arg-type]
    assert right.losses["double"].tolist() == right.losses["answer"].tolist() == [0] * 4
    assert worst_cube(right, cube, 5) == []
    wrong = measure_cube(Fixed([False, True, True, False], [0, 1, 1, 0]), cube)  # type: ignore[arg-type]
    assert wrong.losses["double"] == pytest.approx([0.2, 0.2, 0.5, 0.2])
    assert wrong.losses["answer"] == pytest.approx([0.5, 0.9, 0.2, 0.5])
    assert wrong.overall["double"].loss.mean == pytest.approx(0.275)
    assert wrong.overall["answer"].best.mean == 0
    worst = worst_cube(wrong, cube, 3)
    assert [(m.line, m.kind, m.action, m.best) for m in worst] == [
        (2, "answer", "take", "pass"),
        (3, "double", "double", "no double"),
        (1, "answer", "pass", "take"),
    ]
    assert cube_differences(wrong, right)["double"].mean == pytest.approx(0.275)


def test_mixed_files(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path / "set.jsonl", line(), PLAY, line(cube={"owner": "mover", "value": 2}))
    plays, cube = read_any_decisions(path)
    assert plays is not None
    assert cube is not None
    assert (plays.lines.tolist(), cube.lines.tolist()) == ([2], [1, 3])
    assert read_decisions(path).lines.tolist() == [2]
    assert run("benchmark", "pubeval", "pip-greedy", "--decisions", str(path), "--json") == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["decisions"]["count"] == 1
    assert found["cube_decisions"]["count"] == 2
    assert found["cube_decisions"]["a"]["double"]["loss_ppg"] == pytest.approx(0.2)
    assert found["cube_decisions"]["a"]["answer"]["loss_ppg"] == 0
    assert found["cube_decisions"]["a"]["worst"][0] | {"gnuid": ""} == {
        "loss_ppg": pytest.approx(0.2),
        "line": 1,
        "gnuid": "",
        "kind": "double",
        "action": "no double",
        "best_action": "double",
    }
    assert found["cube_decisions"]["difference"]["double"]["loss_ppg"] == 0
    only_cube = written(tmp_path / "cube.jsonl", line())
    with pytest.raises(ReferenceFileError, match="no decisions of plays"):
        read_decisions(only_cube)
    assert run("benchmark", "pubeval", "--decisions", str(only_cube)) == DONE
    assert "1 decisions of the cube" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cube": 1}, "'cube' is 1; accepted: an object"),
        ({"cube": {"owner": "opponent"}}, 'accepted: null, "mover"'),
        ({"cube": {"value": 64}}, "may not double here"),
        ({"cube": {"value": 1.5}}, "whole number as 'value'"),
        ({"cube": {"value": 0}}, "cube value '0'"),
        ({"cube": {"away": 3}}, "(away) is 3"),
        ({"cube": {"away": [3, 0]}}, "need a point or more"),
        ({"cube": {"away": [1, 3], "crawford": True}}, "may not double here"),
        ({"cube": {"away": [2, 3], "crawford": True}}, "Crawford"),
        ({"cube": {"rules": {"cubes": 2}}}, "unknown rule 'cubes'"),
        ({"cube": {"rules": 3}}, "'rules' is 3"),
        ({"cube": {"rules": {"beaver": True}}}, "'double_beaver' is missing"),
        ({"equities": {"no_double": 0.1, "double_take": 0.2}}, "'double_pass' is missing"),
        ({"equities": EQUITIES | {"no_double": "0.3"}}, "accepted: a number"),
        ({"equities": [1, 2, 3]}, "accepted: an object with no_double"),
        ({"before": [0] * 26}, "'before'"),
        ({"candidates": []}, "both 'cube' and 'candidates'"),
    ],
)
def test_faults_are_told_with_their_line(
    changes: dict[str, Any], says: str, tmp_path: Path, capsys: Capture
) -> None:
    path = written(tmp_path / "set.jsonl", line(), line(**changes))
    assert run("benchmark", "pubeval", "--decisions", str(path)) == FAILED
    error = capsys.readouterr().err
    assert "set.jsonl', line 2: " in error
    assert says in error


# --- exact sets ---


def test_made_decisions_are_exact_and_matter(tmp_path: Path) -> None:
    made = bearoff_cube_decisions(12, 5)
    assert [d.document() for d in bearoff_cube_decisions(5, 5)] == [d.document() for d in made[:5]]
    assert {d.owner for d in made} == {None, "mover"}
    for decision in made:
        exact = cubeful(decision.before, decision.owner)
        no_double, take, passed = decision.equities
        assert (no_double, take, passed) == (exact.no_double, exact.double_take, 1.0)
        gain = min(take, passed) - no_double
        assert abs(gain) >= LEAST_SPREAD
        assert (abs(take - passed) if gain > 0 else -2 * gain) <= MOST_CUBE_SPREAD
    path = tmp_path / "set.jsonl.gz"
    write_decisions(path, made)
    _, cube = read_any_decisions(path)
    assert cube is not None
    assert len(cube.boards) == 12


def test_the_shipped_set_is_what_its_command_makes(tmp_path: Path) -> None:
    _, cube = read_any_decisions(Path("bearoff-cube"))
    assert cube is not None
    assert len(cube.boards) == 400
    first = bearoff_cube_decisions(6, 1)
    for number, decision in enumerate(first):
        assert (cube.boards[number] == decision.before).all()
        assert cube.equities[number, :3] == pytest.approx(decision.equities, abs=1e-6)
    doubles = cube.equities[:, 1:3].min(axis=1) > cube.equities[:, 0]
    takes = cube.equities[:, 1] < 1
    assert 0.2 < doubles.mean() < 0.95
    assert 0.3 < takes.mean() < 0.95


def test_who_knows_the_tables_makes_no_mistake() -> None:
    _, cube = read_any_decisions(Path("bearoff-cube"))
    assert cube is not None
    losses = measure_cube(load_bot("net"), cube)
    assert losses.overall["double"].loss.mean < 1e-6
    assert losses.overall["answer"].loss.mean < 1e-6
    counting = measure_cube(load_bot("pubeval"), cube)
    assert counting.overall["double"].loss.mean > 0.03


def test_command_makes_a_set(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "set.jsonl.gz"
    words = ("decisions", "bearoff-cube", "--count", "4", "--seed", "5", "--out", str(path))
    assert run(*words, "--json") == DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["count"], found["candidates"]) == ("bearoff-cube", 4, 0)
    assert found["bytes"] == path.stat().st_size
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    made = [decision.document() for decision in bearoff_cube_decisions(4, 5)]
    assert [json.loads(each) for each in lines] == made
