"""Our packages import each other only along the arrows of the architecture."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = {"agent", "bench", "checkpoints", "engine", "eval", "nardi", "tests", "train"}
# package -> our other packages it may import
ARROWS = {
    "engine": set(),
    "agent": {"engine"},
    "train": {"engine", "agent"},
    "eval": {"engine", "agent"},
    "nardi": {"engine", "agent", "train", "eval"},
    "checkpoints": set(),
}
# package -> other libraries it may import; peers and plots are optional, so not all are installed
LIBRARIES = {
    "engine": {"numpy", "numba", "llvmlite"},  # llvmlite is a part of numba
    "agent": {"numpy", "numba", "llvmlite", "safetensors"},
    "train": {"numpy", "numba", "safetensors", "tensorboard", "torch", "tqdm"},
    "eval": {"numpy", "numba", "tqdm", "matplotlib", "bgsage", "gnubg", "gnubg_nn"},
    "nardi": {"numba", "numpy", "tqdm"},
    "checkpoints": set(),
}


def imported_names(tree: ast.AST) -> set[str]:
    """Top-level names of all absolute imports, wherever in the file they stand."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(ARROWS))
def test_arrows(package: str) -> None:
    files = modules(package)
    assert files, f"no module found in {package}/"
    allowed = ARROWS[package] | LIBRARIES[package] | {package}
    wrong = {}
    for path in files:
        names = imported_names(ast.parse(path.read_text(encoding="utf-8"), str(path)))
        if bad := sorted(names - allowed - set(sys.stdlib_module_names)):
            wrong[str(path.relative_to(ROOT))] = bad
    assert not wrong, f"imports against the picture: {wrong}"


def test_every_folder_with_code_has_a_rule() -> None:
    """A new top-level package must be placed in the picture before it can grow."""
    folders = {path.parent.name for path in ROOT.glob("*/*.py") if path.parent.name[0] != "."}
    assert folders <= EVERYTHING


def test_typed() -> None:
    typed = {path.parent.name for path in ROOT.glob("*/py.typed")}
    assert typed == {"agent", "engine", "eval", "nardi", "train"}


def test_finder_sees_all_forms() -> None:
    source = "import a.b\nfrom c.d import e\nfrom . import f\ndef g():\n    import h as i, j\n"
    assert imported_names(ast.parse(source)) == {"a", "c", "h", "j"}
