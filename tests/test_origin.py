"""Facts of where a net comes from: the checkout, versions, the net it began with."""

import subprocess
from pathlib import Path

import pytest

from nardi.origin import commit_facts, parent_facts, version_facts


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_commit_and_dirty(tmp_path: Path) -> None:
    unknown = {"commit": None, "dirty": None}
    assert commit_facts(tmp_path) == unknown
    git(tmp_path, "init", "--quiet")
    assert commit_facts(tmp_path) == unknown  # no commit yet
    (tmp_path / "code.py").write_text("1")
    (tmp_path / "site").mkdir()
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "--quiet", "-m", "x")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert commit_facts(tmp_path) == {"commit": commit, "dirty": False}
    (tmp_path / "notes").write_text("untracked files do not count")
    assert commit_facts(tmp_path)["dirty"] is False
    (tmp_path / "code.py").write_text("2")
    assert commit_facts(tmp_path) == {"commit": commit, "dirty": True}
    # An installation inside somebody else's checkout is not that checkout.
    assert commit_facts(tmp_path / "site") == unknown


def test_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_facts() == {"commit": None, "dirty": None}


def test_versions_and_parent(tmp_path: Path) -> None:
    assert set(version_facts()) == {"nardi", "python", "numpy", "numba", "torch"}
    path = tmp_path / "net"
    path.write_bytes(b"abc")
    assert parent_facts(path, {"games": 5, "other": 1}) == {
        "file": str(path),
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "games": 5,
        "seed": None,
        "commit": None,
    }
