"""`nardi train`: what it refuses before work starts, and its help."""

import subprocess
import sys
from pathlib import Path

import pytest

from nardi.cli import DONE, FAILED
from nardi.commands import train as train_command
from tests.tiny_runs import run, tiny_words

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tiny(tmp_path: Path) -> list[str]:
    return tiny_words(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--games", "0"], "games '0'; accepted: whole numbers from 1 up"),
        (["--minutes", "0"], "minutes '0'; accepted: a positive number"),
        (["--minutes", "nan"], "minutes 'nan'"),
        (["--minutes", "inf"], "minutes 'inf'"),
        (["--games", "5", "--minutes", "5"], "not allowed with argument"),
        (["--workers", "0"], "workers '0'; accepted: whole numbers from 1 up"),
        (["--seed", "-1"], "seed is '-1'; a whole number from 0 up fits"),
        (["--preset", "quick"], "invalid choice: 'quick'"),
        (["--config", "none.toml"], "config file 'none.toml' cannot be read"),
        (["--set", "learn.bach=5"], "unknown setting 'learn.bach'"),
        (["--set", "checks.opponents=['expert']"], "unknown bot 'expert'; known: random"),
        (["--from", "none.safetensors"], "net 'none.safetensors' does not exist"),
        (["--games", "1", "--preset", "strong"], "games is '1'; a whole number from 8 up fits"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refused_before_a_folder_is_made(
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("train", "--out", "new", *words) == FAILED
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_folders_are_refused_before_work(
    tiny: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_command, "_drive", None)
    (tmp_path / "file").touch()
    for path, message in [
        (tmp_path, "is not empty; name a new or an empty one"),
        (tmp_path / "file" / "run", "cannot be used: Not a directory"),
    ]:
        assert run(*tiny, "--out", path) == FAILED
        assert message in capsys.readouterr().err


def test_no_gpu(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert run(*tiny, "--device", "cuda", "--out", tmp_path / "run") == FAILED
    assert "torch finds no GPU here; accepted: cpu" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("library", ["torch", "tensorboard"])
def test_missing_libraries_are_named(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    find = train_command.importlib.util.find_spec
    monkeypatch.setattr(
        train_command.importlib.util,
        "find_spec",
        lambda name, *more: None if name == library else find(name, *more),
    )
    assert run("train", "--out", tmp_path / "run") == FAILED
    message = f"training needs {library}, which is not installed: pip install 'nardi[train]'"
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_help(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("train", "--help") == DONE
    assert capsys.readouterr().out.splitlines()[-1] == "try: nardi train --preset smoke"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom nardi.cli import main\n"
        "try:\n    main(['train', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'numba', 'torch', 'tensorboard'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
