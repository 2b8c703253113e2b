"""The disk cache of compiled functions: used when nothing changed, dropped when any kernel did."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine import compiled

ROOT = Path(compiled.__file__).parent.parent

CALLEE = """
from engine.compiled import kernel

@kernel
def callee(x):
    return x + {added}
"""
CALLER = """
from engine.compiled import kernel
from probe.kernels.callee import callee

@kernel
def caller(x):
    return callee(x) * 10
"""
MAIN = """
from probe.kernels.caller import caller
print(caller(1), sum(caller.stats.cache_hits.values()))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package with kernels beside a copy of the engine."""
    shutil.copytree(
        ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__")
    )
    kernels = tmp_path / "probe" / "kernels"
    kernels.mkdir(parents=True)
    (tmp_path / "probe" / "__init__.py").touch()
    (kernels / "__init__.py").touch()
    (kernels / "callee.py").write_text(CALLEE.format(added=1))
    (kernels / "caller.py").write_text(CALLER)
    return tmp_path


def run(tree: Path) -> tuple[int, int]:
    """What the caller gives, and how often it came from the cache."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = str(tree)
    output = subprocess.run(
        [sys.executable, "-c", MAIN],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    value, hits = output.split()
    return int(value), int(hits)


def test_a_change_in_a_called_kernel_reaches_its_cached_callers(tree: Path) -> None:
    assert run(tree) == (20, 0)
    assert run(tree) == (20, 1)
    (tree / "probe" / "kernels" / "callee.py").write_text(CALLEE.format(added=2))
    assert run(tree) == (30, 0)
    assert run(tree) == (30, 1)


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("probe/kernels/caller.py", True),
        ("probe/kernels/callee.py", True),
        ("engine/compiled.py", True),
        ("engine/board.py", False),
        ("probe/__init__.py", False),
    ],
)
def test_the_stamp_covers_what_a_file_imports(tree: Path, changed: str, counts: bool) -> None:
    def stamp() -> str:
        command = (
            "from pathlib import Path; from engine.compiled import sources_stamp;"
            f" print(sources_stamp(Path({str(tree / 'probe/kernels/caller.py')!r})))"
        )
        environment = os.environ | {"PYTHONPATH": str(tree)}
        return subprocess.run(
            [sys.executable, "-c", command],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    before = stamp()
    with (tree / changed).open("a") as stream:
        stream.write("# changed\n")
    assert (stamp() != before) == counts
