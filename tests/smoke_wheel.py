"""Build the wheel, install it outside the checkout and use it there: `make wheel` runs this.

Not a test module of pytest: it takes a while and needs the package `build`. The dependencies are
lent from the environment that runs this, so that nothing is downloaded.
"""

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = {"agent", "checkpoints", "engine", "eval", "nardi", "train"}
NEEDED = {
    "agent/py.typed",
    "checkpoints/README.md",
    "checkpoints/nardi.safetensors",
    "engine/py.typed",
    "engine/rules.py",
    "eval/data/bearoff.jsonl.gz",
    "eval/data/rollout.jsonl.gz",
    "nardi/commands/plays.py",
}
# From a cold start of Python to the answer, compiled code at hand, in times of what a Python needs
# that only imports numpy and numba: 2.6 to 3.2 were measured, the latter on a busy machine.
WARM_LIMIT = 5.0
BARE = "import numpy, numba"
WITHOUT_TORCH = """
import sys
from nardi.cli import main
main(["best-move", "start", "--dice", "31"])
sys.exit("torch was imported" if "torch" in sys.modules else 0)
"""
LOOK_AROUND = """
import importlib.resources, json, engine.board, nardi
readme = importlib.resources.files("checkpoints") / "README.md"
print(json.dumps({
    "engine": engine.board.__file__, "nardi": nardi.__file__, "nets": readme.read_text("utf-8"),
}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nardi-wheel-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        check_contents(wheel)
        use_installed(wheel, folder)
    print("the installed wheel works")


def build_wheel(folder: Path) -> Path:
    """A wheel built from a copy, for a build/ left in the checkout would put old files into it."""
    copy, target = folder / "source", folder / "dist"
    for ours in OURS:
        shutil.copytree(ROOT / ours, copy / ours, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    # Without isolation: setuptools of this environment, as pinned, and no download.
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target)]
    done = subprocess.run([*command, str(copy)], capture_output=True, text=True)
    expect(done.returncode == 0, f"building failed:\n{done.stdout}\n{done.stderr}")
    return next(target.glob("*.whl"))


def check_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    top = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    expect(top == OURS, f"top-level folders in the wheel: {sorted(top)}, expected {sorted(OURS)}")
    expect(names >= NEEDED, f"missing in the wheel: {sorted(NEEDED - names)}")
    expect(any(name.endswith("/licenses/LICENSE") for name in names), "the wheel has no licence")
    modules = {name for name in names if name.endswith(".py")}
    sources = {str(path.relative_to(ROOT)) for ours in OURS for path in (ROOT / ours).rglob("*.py")}
    expect(modules == sources, f"modules in only one of the two: {sorted(sources ^ modules)}")


def use_installed(wheel: Path, folder: Path) -> None:
    environment = folder / "venv"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], cwd=folder)
    # After the installation, so that pip sees no other nardi. A .pth inside the lent folder is not
    # read, so an editable nardi there stays out of sight.
    site = next((environment / "lib").glob("python*/site-packages"))
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")

    nardi = str(environment / "bin" / "nardi")
    seen = json.loads(run([str(python), "-c", LOOK_AROUND], cwd=folder))
    for package in ("engine", "nardi"):
        expect(seen[package].startswith(str(site)), f"{package} comes from {seen[package]}")
    expect("Released nets" in seen["nets"], "checkpoints/README.md is not the right file")
    expect(run([nardi, "--version"], cwd=folder).startswith("nardi "), "no version")
    expect("X on roll" in run([nardi, "show", "start"], cwd=folder), "show does not work")

    check_cold_and_warm(nardi, str(python), folder, site)


def check_cold_and_warm(nardi: str, python: str, folder: Path, site: Path) -> None:
    """A read-only installation compiles once, says so, keeps it for the user and is quick then."""
    home = folder / "home"
    home.mkdir()
    freeze(site)
    best_move = [nardi, "best-move", "start", "--dice", "31", "--json"]
    seconds, bare = [], []
    for number in range(5):
        begin = child_seconds()
        call([python, "-c", BARE], cwd=folder, home=home)
        between = child_seconds()
        done = call(best_move, cwd=folder, home=home, drop=True)
        bare.append(between - begin)
        seconds.append(child_seconds() - between)
        play = json.loads(done.stdout)["plays"][0]["play"]
        expect(play == "8/5 6/5", f"the best play of 3-1 in the opening is {play}, not 8/5 6/5")
        told = "this happens once" in done.stderr
        expect(told == (number == 0), f"call {number + 1}, compiling told: {told}")
    expect(bool(list(home.rglob("*.nbi"))), "no compiled code is kept in the user's folder")
    expect(not list(site.glob("engine/**/*.nbi")), "the installation was not read-only")
    call([python, "-c", WITHOUT_TORCH], cwd=folder, home=home, drop=True)
    # The least of several, each beside its peer: other work on the machine slows single ones.
    warm, peer = min(seconds[1:]), min(bare)
    found = f"{warm:.2f} s of CPU time, {warm / peer:.1f} times the {peer:.2f} s of '{BARE}'"
    print(f"first answer after {seconds[0]:.1f} s of CPU time, later ones after {found}")
    expect(warm < WARM_LIMIT * peer, f"a warm start takes {found}; at most {WARM_LIMIT} times")


def child_seconds() -> float:
    """CPU time of all ended child processes; other work on the machine does not count in it."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def freeze(site: Path) -> None:
    """Take away all write permissions below the installed packages."""
    for path in [site, *site.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o555)


def run(command: list[str], *, cwd: Path) -> str:
    """Output of a command run outside the checkout."""
    return call(command, cwd=cwd).stdout


def call(
    command: list[str], *, cwd: Path, home: Path | None = None, drop: bool = False
) -> "subprocess.CompletedProcess[str]":
    """Run a command with nothing of the checkout on its paths; ends the test if it fails."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    if home is not None:
        environment["HOME"] = str(home)
    before: Callable[[], None] | None = obey_permissions if drop else None
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, preexec_fn=before
    )
    expect(done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return done


def obey_permissions() -> None:
    """Let the coming program obey file permissions even if it is run by root (Linux)."""
    if sys.platform == "linux" and os.geteuid() == 0:
        drop_capability, may_write_everything = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
        ctypes.CDLL(None).prctl(drop_capability, may_write_everything, 0, 0, 0)


def expect(condition: bool, otherwise: str) -> None:
    if not condition:
        sys.exit(f"smoke_wheel: {otherwise}")


if __name__ == "__main__":
    main()
