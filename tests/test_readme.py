"""The examples of README.md and of some files of docs run and print what is written there."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))
LATER = "..."  # a line that stands for any number of lines


def blocks(language: str, text: str = README) -> list[str]:
    """Contents of the fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Command and expected output of every `$ ` line in the console blocks."""
    found = []
    for block in blocks("console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture(scope="module")
def path_with_nardi(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which `nardi` is the code of this checkout, installed or not."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "nardi"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m nardi "$@"\n')
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize(("command", "expected"), examples(), ids=lambda text: text[:40])
def test_console(command: str, expected: str, path_with_nardi: str) -> None:
    environment = os.environ | {"PATH": path_with_nardi, "COLUMNS": "80"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    pattern = re.escape(expected.rstrip("\n") + "\n")
    pattern = pattern.replace(re.escape(f"{LATER}\n"), r"(?:.*\n)*")
    assert re.fullmatch(pattern, done.stdout), f"$ {command}\n{done.stdout}{done.stderr}"


def test_there_are_examples() -> None:
    commands = [command for command, _ in examples()]
    assert len(commands) >= 3
    assert all("nardi" in command for command in commands)


def test_demo_begins_with_the_first_example() -> None:
    """The page shows the first command's output and names the others, which take a minute."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    demo = re.findall(r"^\t@echo '\$\$ (nardi .*)'$", makefile, re.MULTILINE)
    run = re.findall(r"^\t@\$\(BIN\)/python -m (nardi .*)$", makefile, re.MULTILINE)
    assert len(demo) == 4
    assert demo == run
    assert examples()[0][0] == demo[0]
    assert all(command in README for command in demo)


@pytest.mark.parametrize("name", ["README.md", "docs/library.md", "docs/cube.md"])
def test_python(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    code = "\n".join(blocks("python", text))
    test = doctest.DocTestParser().get_doctest(code, {}, name, None, None)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("path", [Path("README.md"), *DOCS], ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (ROOT / path.parent / target).exists()] == []


def test_output_fits_a_terminal() -> None:
    lines = [line for _, output in examples() for line in output.splitlines()]
    assert [line for line in lines if len(line) > 80] == []
