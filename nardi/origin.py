"""Where a net comes from: the code and libraries that trained it, and the net it began with."""

import hashlib
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import nardi

__all__ = ["commit_facts", "parent_facts", "version_facts"]

_LIBRARIES: Final = ("numpy", "numba", "torch")
_GIT_SECONDS: Final = 10


def commit_facts(root: Path | None = None) -> dict[str, Any]:
    """`commit` and `dirty` of the git checkout whose top folder is root (default: nardi's own).

    Both are None if it is none, as in an installed wheel, or if git cannot tell.
    """
    top = Path(nardi.__file__).resolve().parent.parent if root is None else root.resolve()
    unknown = {"commit": None, "dirty": None}
    found = _git(top, "rev-parse", "--show-toplevel")
    if found is None or Path(found).resolve() != top:
        return unknown
    commit = _git(top, "rev-parse", "HEAD")
    changes = _git(top, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return unknown
    return {"commit": commit, "dirty": changes != ""}


def _git(top: Path, *words: str) -> str | None:
    command = ["git", "-C", str(top), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def version_facts() -> dict[str, str]:
    """Versions of nardi, Python and the libraries that the weights may depend on."""
    versions = {name: version(name) for name in _LIBRARIES}
    return {"nardi": nardi.__version__, "python": platform.python_version(), **versions}


def parent_facts(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Which net it began with: its file's name and hash, and what that told of itself."""
    from agent.checkpoint import net_path

    digest = hashlib.sha256(net_path(path).read_bytes()).hexdigest()
    kept = {name: facts.get(name) for name in ("games", "seed", "commit")}
    return {"file": str(path), "sha256": digest, **kept}
