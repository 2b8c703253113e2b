"""Round robins: pairs, ratings with errors that know of the common dice, going on, faults."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.baselines import PubevalBot
from engine.errors import ConfigError, NardiError
from eval import duel, league
from eval.duel import Progress, play_duel
from eval.league import League, play_league
from nardi.cli import DONE, FAILED, INTERRUPTED, main
from tests.nets import small_net_file

BOTS = ("pubeval", "random", "pip-greedy")
PAIRS = ((0, 1), (0, 2), (1, 2))

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def whole() -> League:
    return play_league(BOTS, 40, 3)


def test_duels_are_those_of_the_pairs(whole: League) -> None:
    assert tuple(whole.duels) == PAIRS
    for i, k in PAIRS:
        assert whole.duels[i, k] == play_duel(BOTS[i], BOTS[k], 40, 3)
    score, swapped = whole.score(0, 2), whole.score(2, 0)
    assert score is not None
    assert swapped is not None
    assert (score.mean, score.stderr) == (-swapped.mean, swapped.stderr)
    assert score == whole.duels[0, 2].ppg
    assert whole.score(1, 1) is None


def test_ratings_are_the_least_squares_fit(whole: League) -> None:
    """Solved once more as a system of equations, and the errors from the dice streams."""
    assert whole.ratings is not None
    design, scores = np.zeros((3, 3)), np.zeros(3)
    streams = np.zeros((3, 20))
    for row, (i, k) in enumerate(PAIRS):
        design[row, [i, k]] = 1, -1
        scores[row] = whole.duels[i, k].ppg.mean
        played: list[Any] = []
        play_duel(BOTS[i], BOTS[k], 40, 3, on_chunk=played.append)
        streams[row] = np.concatenate([each.points for each in played]).mean(axis=1)
    fitted = np.linalg.pinv(design) @ scores
    errors = (np.linalg.pinv(design) @ streams).std(axis=1, ddof=1) / math.sqrt(20)
    assert [rating.mean for rating in whole.ratings] == pytest.approx(fitted.tolist())
    assert [rating.stderr for rating in whole.ratings] == pytest.approx(errors.tolist())
    assert sum(rating.mean for rating in whole.ratings) == pytest.approx(0)
    assert {rating.n for rating in whole.ratings} == {20}


def test_equals_have_equal_ratings() -> None:
    both = play_league(["pubeval", "pip-greedy", "pubeval"], 20, 3)
    assert both.ratings is not None
    assert both.ratings[0] == both.ratings[2]
    assert both.duels[0, 2].ppg.mean == 0


def test_luck_of_some_pairs(tmp_path: Path) -> None:
    net = small_net_file(tmp_path)
    bots = ("pubeval", f"net:{net}", "random")
    mixed = play_league(bots, 8, 3, luck=lambda a, b: "random" not in (a, b), luck_net=net)
    told = {pair: each.adjusted is not None for pair, each in mixed.duels.items()}
    assert told == {(0, 1): True, (0, 2): False, (1, 2): False}
    assert mixed.score(0, 1) == mixed.duels[0, 1].adjusted
    scores = [mixed.duels[0, 1].best.mean, mixed.duels[0, 2].best.mean]
    assert mixed.ratings is not None
    assert mixed.ratings[0].mean == pytest.approx(sum(scores) / 3)


def test_going_on(whole: League, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)

    def stop(n_before: int, progress: Progress) -> None:
        if n_before == 40 and progress.ppg.n:
            raise KeyboardInterrupt

    folder = tmp_path / "league"
    first = play_league(BOTS, 40, 3, folder=folder, on_progress=stop)
    assert first.ended == "interrupted"
    assert tuple(first.duels) == PAIRS[:2]
    assert first.duels[0, 2].interrupted
    assert first.ratings is None
    assert first.score(1, 2) is None
    second = play_league(BOTS, 40, 3, folder=folder)
    assert second == whole
    assert second.duels[0, 1].n_from_file == 40
    assert 0 < second.duels[0, 2].n_from_file < 40
    assert sorted(path.name for path in folder.iterdir()) == ["1-2.jsonl", "1-3.jsonl", "2-3.jsonl"]


def test_unequal_numbers_of_games_count_as_far_as_all_go(
    whole: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)

    def stop(n_before: int, progress: Progress) -> None:
        if n_before == 80 and progress.ppg.n:
            raise KeyboardInterrupt

    partly = play_league(BOTS, 40, 3, on_progress=stop)
    assert partly.ended == "interrupted"
    assert partly.duels[1, 2].n_games == 16
    assert partly.ratings == play_league(BOTS, 16, 3).ratings


def test_bots_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was played before is there; a bot that fails from the start is an error at once."""
    play = league.play_duel

    def fail(a: str, b: str, *rest: Any, **more: Any) -> Any:
        if (a, b) == ("random", "pip-greedy"):
            raise NardiError("bot 'random' has died")
        return play(a, b, *rest, **more)

    monkeypatch.setattr(league, "play_duel", fail)
    figures = play_league(BOTS, 8, 3)
    assert (figures.ended, figures.fault) == ("fault", "bot 'random' has died")
    assert tuple(figures.duels) == PAIRS[:2]
    with pytest.raises(NardiError, match="has died"):
        play_league(["random", "pip-greedy", "pubeval"], 8, 3)


@pytest.mark.parametrize(
    ("bots", "message"),
    [(["pubeval"], "1 bots; a round robin"), (["random", "random", "nobody"], "unknown bot")],
)
def test_bad_arguments(bots: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        play_league(bots, 8, 3)


# --- the command ---

COMMAND = ("benchmark", *BOTS, "--games", "40", "--seed", "3")


def test_table(whole: League, capsys: Capture) -> None:
    assert main(COMMAND) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 bots, 3 duels of 40 games, seed 3, rules international"
    assert [line.split()[1] for line in lines[3:6]] == ["pubeval", "pip-greedy", "random"]
    assert whole.ratings is not None
    best, score = whole.ratings[0], whole.duels[0, 2].ppg
    assert f"{best.mean:+.3f} ± {best.stderr:.3f}" in lines[3]
    assert f"{score.mean:+.3f} ± {score.stderr:.3f}" in lines[3]
    assert f"{-score.mean:+.3f} ± {score.stderr:.3f}" in lines[4]
    assert "luck" not in lines[7]


def test_json(whole: League, capsys: Capture) -> None:
    assert main([*COMMAND, "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert [each["bot"] for each in document["bots"]] == list(BOTS)
    assert whole.ratings is not None
    for each, rating in zip(document["bots"], whole.ratings, strict=True):
        assert (each["rating_ppg"], each["stderr_rating_ppg"]) == (rating.mean, rating.stderr)
    assert [each["bots"] for each in document["duels"]] == [list(pair) for pair in PAIRS]
    assert document["duels"][0]["ppg"] == whole.duels[0, 1].ppg.mean
    assert (document["games_per_pair"], document["seed"]) == (40, 3)
    assert (document["ended"], document["interrupted"], document["fault"]) == ("games", False, None)


def test_interrupted(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    play = league.play_duel

    def interrupt(a: str, b: str, *rest: Any, **more: Any) -> Any:
        if b == "pip-greedy":
            raise KeyboardInterrupt
        return play(a, b, *rest, **more)

    monkeypatch.setattr(league, "play_duel", interrupt)
    assert main([*COMMAND, "--json"]) == INTERRUPTED
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert len(document["duels"]) == 1
    assert document["bots"][0]["rating_ppg"] is None
    assert err.splitlines()[-1] == "nardi benchmark: 2 duels were not played"
    assert main(COMMAND) == INTERRUPTED
    assert "rating" in capsys.readouterr().out


def test_a_fault_of_a_bot(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = PubevalBot.choose
    left = 2000

    def fail(self: PubevalBot, boards: Any, *rest: Any) -> Any:
        nonlocal left
        left -= len(boards)
        if left < 0:
            raise NardiError("bot 'pubeval' has died")
        return choose(self, boards, *rest)

    monkeypatch.setattr(PubevalBot, "choose", fail)
    assert main([*COMMAND, "--json", "--workers", "1"]) == FAILED
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["fault"] == "bot 'pubeval' has died"
    assert 1 <= len(document["duels"]) < 3
    assert "bot 'pubeval' has died" in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--until-decided"], "--until-width and --until-decided are for two bots"),
        (["--decisions", "x"], "--games is about games"),
    ],
)
def test_what_does_not_go_together(more: list[str], message: str, capsys: Capture) -> None:
    assert main([*COMMAND, *more]) == FAILED
    assert message in capsys.readouterr().err
    assert main(["benchmark", *BOTS, "--positions", "x"]) == FAILED
    assert "3 bots; --decisions and --positions take one or two" in capsys.readouterr().err


def test_report(whole: League, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    folder = tmp_path / "page"
    assert main([*COMMAND, "--report", str(folder)]) == DONE
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "pubeval is first of 3" in page
    facts = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert facts["command"] == "nardi " + " ".join(COMMAND)
    assert len(facts["duels"]) == 3
