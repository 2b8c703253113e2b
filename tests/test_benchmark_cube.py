"""`nardi benchmark` with the cube: options, table, JSON, workers, files, and what is refused."""

import json
from pathlib import Path

import pytest

from engine.rules import INTERNATIONAL
from eval.duel import match_win, play_duel
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run

MONEY = ("benchmark", "pubeval", "pip-greedy", "--cube", "--games", "40", "--seed", "3")
MATCHES = ("benchmark", "pubeval", "pip-greedy", "--match", "3", "--games", "20", "--seed", "3")


def test_money_games(capsys: Capture) -> None:
    assert run(*MONEY, "--jacoby", "--beaver", "--json") == DONE
    found = json.loads(capsys.readouterr().out)
    rules = INTERNATIONAL.replace(jacoby=True, beaver=True)
    duel = play_duel("pubeval", "pip-greedy", 40, 3, rules, cube=True, luck=True)
    assert duel.cube is not None
    assert duel.adjusted is not None
    assert found["ppg"] == duel.ppg.mean
    assert found["adjusted_ppg"] is None  # pip-greedy is too weak for luck to help
    assert found["games"] == 40
    assert found["matches"] is found["match_win"] is None
    assert found["rules"] == rules.as_dict()
    assert sum(int(points) * n for points, n in found["points"].items()) / 40 == found["ppg"]
    cube = found["cube"]
    assert cube["average_stake"] == duel.cube[0].stakes / 40
    for own, opp in (("a", "b"), ("b", "a")):
        answers = [cube[own][name] for name in ("takes", "passes", "beavers")]
        assert sum(answers) == cube[opp]["doubles"] == cube[own]["offered"] > 0
        assert cube[own]["doubles_per_game"] == cube[own]["doubles"] / 40
    assert found["a"]["win"] + found["b"]["win"] == pytest.approx(1)


def test_matches(capsys: Capture) -> None:
    assert run(*MATCHES, "--luck", "--json") == DONE
    found = json.loads(capsys.readouterr().out)
    rules = INTERNATIONAL.replace(match_to=3)
    duel = play_duel("pubeval", "pip-greedy", 20, 3, rules, cube=True, luck=True)
    assert duel.cube is not None
    assert duel.adjusted is not None
    assert duel.is_match
    assert found["match_win"] == match_win(duel.ppg).mean
    assert 0.5 < found["match_win"] <= 1
    assert found["adjusted_match_win"] == match_win(duel.adjusted).mean
    assert found["stderr_adjusted_match_win"] == match_win(duel.adjusted).stderr
    assert found["ppg"] is found["points"] is None
    assert found["matches"] == 20
    assert found["games"] == duel.cube[0].games > 20


def test_tables(capsys: Capture) -> None:
    assert run(*MONEY) == DONE
    text = capsys.readouterr().out
    assert "pubeval against pip-greedy: 40 games, seed 3, rules international" in text
    assert "takes    passes   beavers" in text
    assert "average stake" in text
    assert "points per game" in text
    assert run(*MATCHES) == DONE
    text = capsys.readouterr().out
    assert "20 matches to 3 points (" in text
    assert "of the matches (95%: " in text
    assert "points per game" not in text


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (("--cube",), "international"),
        (("--money",), "international"),
        (("--jacoby",), "jacoby=true"),
        (("--beaver", "--rules", "arena"), "arena,beaver=true"),
        (("--match", "5"), "match_to=5"),
        (("--match", "5", "--cube", "--rules", "crawford=false"), "match_to=5,crawford=false"),
        (("--cube", "--rules", "match_to=2"), "match_to=2"),
        (("--money", "--rules", "match_to=2"), "international"),
    ],
)
def test_options_are_rules(words: tuple[str, ...], rules: str, capsys: Capture) -> None:
    assert run("benchmark", "random", "random", *words, "--games", "2", "--seed", "1") == DONE
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith(f", seed 1, rules {rules}")


def test_without_cube_the_rules_of_it_do_not_count(capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "random", "--games", "4", "--seed", "1", "--json")
    assert run(*words, "--rules", "match_to=3") == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["cube"] is found["matches"] is None
    assert found["games"] == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--match", "0"), "match_to"),
        (("--match", "3", "--jacoby"), "--jacoby is for money games"),
        (("--match", "3", "--beaver"), "--beaver is for money games"),
        (("--match", "3", "--money"), "not allowed with"),
        (("--match", "3", "--games", "3"), "even number"),
        (("net", "--match", "3"), "matches are for two bots"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], says: str, capsys: Capture) -> None:
    assert run("benchmark", "random", "pubeval", *words, "--seed", "1") == FAILED
    assert says in capsys.readouterr().err


def test_the_cube_has_no_place_in_decision_sets(capsys: Capture) -> None:
    assert run("benchmark", "pubeval", "--decisions", "bearoff", "--cube") == FAILED
    assert "--cube is about games" in capsys.readouterr().err


def test_a_match_stops_at_a_width(capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "random", "--match", "1", "--seed", "1", "--json")
    assert run(*words, "--games", "600", "--until-width", "0.05") == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["ended"] == "width"
    assert found["stop"]["until_width_match_win"] == 0.05
    assert 1.96 * found["stderr_match_win"] <= 0.0501
    assert 0.5 < found["stop"]["lasting_low_match_win"] < found["match_win"]


@pytest.mark.parametrize("kind", [("--match", "3"), ("--beaver",)])
def test_files_are_gone_on_with(kind: tuple[str, ...], tmp_path: Path, capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "random", *kind, "--seed", "4", "--luck", "--json")
    whole = _figures(*words, "--games", "40", capsys=capsys)
    file = ("--out", str(tmp_path / "duel.jsonl"))
    _figures(*words, "--games", "16", *file, capsys=capsys)
    gone_on = _figures(*words, "--games", "40", *file, capsys=capsys)
    assert gone_on.pop("from_file") == 16
    assert whole.pop("from_file") == 0
    assert gone_on == whole
    # Neither of cubeless games, nor of other rules.
    assert run("benchmark", "pubeval", "random", "--seed", "4", "--games", "4", *file) == FAILED
    assert "another duel" in capsys.readouterr().err


def test_the_same_for_several_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.duel_workers._WORTH_WORKERS_S", 0.0)
    rules = INTERNATIONAL.replace(match_to=2)
    one, two = (
        play_duel(
            *("pubeval", "random", 24, 3, rules),
            cube=True,
            luck=True,
            workers=workers,
            chunk_streams=4,
        )
        for workers in (1, 2)
    )
    assert one.cube == two.cube
    assert one.ppg == two.ppg
    assert one.adjusted == two.adjusted


def test_three_bots_for_money(capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "random", "pip-greedy", "--cube", "--games", "4")
    assert run(*words, "--seed", "1", "--json") == DONE
    found = json.loads(capsys.readouterr().out)
    assert all(duel["cube"] is not None for duel in found["duels"])


def _figures(*words: str, capsys: Capture) -> dict[str, object]:
    assert run(*words) == DONE
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    del found["seconds"]
    for side in ("a", "b"):
        figures = found[side]
        assert isinstance(figures, dict)
        for name in ("cpu_seconds", "cpu_ms_per_decision", "evaluations_per_cpu_second"):
            del figures[name]
    return found
