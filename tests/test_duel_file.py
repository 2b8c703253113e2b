"""Files of duels: going on after any stop gives the same figures; foreign ones are refused."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.baselines import PubevalBot
from agent.bot import FloatArray
from engine.board import Board
from engine.errors import ConfigError, NardiError
from engine.rules import CAUCASIAN
from eval import duel
from eval.duel import Duel, Progress, play_duel
from eval.duel_file import read_seed
from eval.stopping import StopRule
from tests.nets import small_net_file

ROOT = Path(__file__).resolve().parent.parent
BOTS = ("pubeval", "pip-greedy")


def play(file: Path | None, n_games: int = 120, **more: object) -> Duel:
    settings: dict[str, object] = {"chunk_streams": 10, "file": file} | more
    return play_duel(*BOTS, n_games, 5, **settings)  # type: ignore[arg-type]


def stop_after(n_games: int) -> object:
    def on_progress(progress: Progress) -> None:
        if 2 * progress.ppg.n >= n_games:
            raise KeyboardInterrupt

    return on_progress


@pytest.mark.parametrize("with_luck", [False, True])
def test_going_on_gives_the_same_figures(
    with_luck: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)
    more: dict[str, object] = {}
    if with_luck:
        more = {"luck": True, "luck_net": small_net_file(tmp_path)}
    n_games = 44 if with_luck else 120
    file = tmp_path / "duel.jsonl"
    first = play(file, n_games, on_progress=stop_after(20), **more)
    assert first.ended == "interrupted"
    assert 20 <= first.n_games < n_games
    second = play(file, n_games, **more)
    assert second.n_from_file == first.n_games
    whole = play(None, n_games, **more)
    assert second == whole
    assert second.a.work.decisions == whole.a.work.decisions
    third = play(file, n_games, **more)
    assert third == whole
    assert third.n_from_file == n_games


def test_more_and_fewer_games(tmp_path: Path) -> None:
    """A file serves longer and shorter duels; chunks that end elsewhere change no figure."""
    file = tmp_path / "duel.jsonl"
    assert play(file, 90) == play(None, 90)
    longer = play(file, 120)
    assert longer.n_from_file == 90
    assert (longer.ppg, longer.points) == (play(None, 120).ppg, play(None, 120).points)
    content = file.read_bytes()
    shorter = play(file, 70)
    assert shorter.ppg == play(None, 70).ppg
    assert file.read_bytes() == content


def test_stop_rules_look_at_the_same_places(tmp_path: Path) -> None:
    rule = StopRule(decided=True)
    whole = play(None, 4000, stop=rule)
    assert whole.ended == "decided"
    file = tmp_path / "duel.jsonl"
    play(file, 90)
    again = play(file, 4000, stop=rule)
    assert (again.n_games, again.ppg) == (whole.n_games, whole.ppg)
    assert play(file, 4000, stop=rule).ended == "decided"


@pytest.mark.parametrize("cut", [1, 30, 500])
def test_a_torn_last_line_is_dropped(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "duel.jsonl"
    whole = play(file)
    content = file.read_bytes()
    file.write_bytes(content[:-cut])
    assert play(file) == whole
    assert file.read_bytes().count(b"\n") == content.count(b"\n")
    head = content[: content.index(b"\n")]
    for part in (b"", head[:40], head):
        file.write_bytes(part)
        assert play(file, 20).n_games == 20


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    for content in (b"my notes", b"my notes\n", b'{"a": 1}\n', b"\x00\xff\n\n", b"[1]\n{}"):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match=r"notes.txt' is no file of a duel"):
            play(file)
        assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": CAUCASIAN}, r"another duel: rules .*'allow'.*, here .*'ban'"),
        ({"paired": False}, "another duel: paired True, here False"),
        ({"most_turns": 40}, "another duel: most_turns None, here 40"),
        ({"luck": True}, "another duel: luck None, here '[0-9a-f]{64} 8'"),
    ],
)
def test_files_of_other_duels(change: dict[str, object], message: str, tmp_path: Path) -> None:
    file = tmp_path / "duel.jsonl"
    play(file, 20)
    content = file.read_bytes()
    with pytest.raises(ConfigError, match=message):
        play(file, 20, **change)
    with pytest.raises(ConfigError, match=r"another duel: seed 5, here 6"):
        play_duel(*BOTS, 20, 6, file=file)
    with pytest.raises(ConfigError, match=r"another duel: a 'pubeval', here 'random'"):
        play_duel("random", "pip-greedy", 20, 5, file=file)
    assert file.read_bytes() == content


def test_a_net_that_has_changed(tmp_path: Path) -> None:
    net, file = small_net_file(tmp_path), tmp_path / "duel.jsonl"
    play_duel(f"net:{net}", "pubeval", 4, 1, file=file)
    from agent.checkpoint import load_net, save_net

    changed = load_net(net)
    changed.race.bias[0] += 0.25
    save_net(net, changed)
    with pytest.raises(ConfigError, match="another duel: a_fingerprint"):
        play_duel(f"net:{net}", "pubeval", 8, 1, file=file)


def test_damaged_files(tmp_path: Path) -> None:
    file = tmp_path / "duel.jsonl"
    play(file, 40)
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    record = json.loads(lines[2])
    assert record["first_stream"] == 8
    flipped = lines[2].replace(b"[[1", b"[[2", 1) if b"[[1" in lines[2] else None
    damages = [
        ([*lines[:2], b"{}\n", *lines[3:]], "line 3: damaged: the checksum"),
        ([*lines[:2], b"oops\n", *lines[3:]], "line 3: damaged: no JSON"),
        (lines[:2] + lines[3:], "line 3: games from dice stream 18 on; those from 8 on"),
        ([*lines[:1], lines[0], *lines[1:]], "line 2: games from dice stream None"),
        ([lines[0].replace(b'"format": 1', b'"format": 2'), *lines[1:]], "line 1: damaged"),
    ]
    if flipped is not None:
        damages.append(([*lines[:2], flipped, *lines[3:]], "line 3: damaged: the checksum"))
    for damaged, message in damages:
        file.write_bytes(b"".join(damaged))
        with pytest.raises(ConfigError, match=re.escape(message)):
            play(file, 40)
        assert file.read_bytes() == b"".join(damaged)


@pytest.mark.skipif(os.name != "posix", reason="files are locked on POSIX systems only")
def test_one_duel_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "duel.jsonl"

    def play_again(_: Progress) -> None:
        with pytest.raises(ConfigError, match="in use: another duel writes to it"):
            play(file)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duel, "PROGRESS_EVERY_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            play(file, on_progress=play_again)


def test_seed_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "duel.jsonl"
    assert read_seed(file) is None
    play(file, 20)
    assert read_seed(file) == 5
    file.write_text("something else\n")
    with pytest.raises(ConfigError, match="no file of a duel"):
        read_seed(file)


class FallibleBot(PubevalBot):
    """Fails after so many decisions, as another program may."""

    left = 3000

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        self.left -= len(boards)
        if self.left < 0:
            raise NardiError("bot 'fallible' played nonsense: 8/5 8/5 with 3-1")
        return super().choose(boards, rolls, draws)


def test_a_bot_that_fails(tmp_path: Path) -> None:
    """The games before count and are kept; the duel goes on with a better bot."""
    file = tmp_path / "duel.jsonl"
    figures = play_duel(FallibleBot("pubeval"), "pip-greedy", 120, 5, chunk_streams=10, file=file)
    assert figures.ended == "fault"
    assert figures.fault == "bot 'fallible' played nonsense: 8/5 8/5 with 3-1"
    assert 16 <= figures.n_games < 120
    assert figures.ppg == play(None, figures.n_games).ppg
    rest = play(file)
    assert rest.n_from_file == figures.n_games
    assert rest == play(None)
    early = FallibleBot("early")
    early.left = 10
    with pytest.raises(NardiError, match="played nonsense"):
        play_duel(early, "pip-greedy", 120, 5)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_killed_in_the_middle(tmp_path: Path) -> None:
    """Nothing is tidied up by kill -9, and only what was in play is lost."""
    file = tmp_path / "duel.jsonl"
    words = ["benchmark", *BOTS, "--games", "4000", "--seed", "5", "--out", str(file)]
    command = [sys.executable, "-m", "nardi", *words, "--workers", "1"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as child:
        while not file.exists() or file.read_bytes().count(b"\n") < 3:
            assert child.poll() is None
            time.sleep(0.02)
        child.kill()
    n_before = (file.read_bytes().count(b"\n") - 2) * 256 + 16
    figures = play_duel(*BOTS, n_before + 256, 5, file=file)
    assert figures.n_from_file == n_before
    assert figures == play_duel(*BOTS, n_before + 256, 5)
