"""The command line, run within the tests or as a process of its own."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nardi.cli import FAILED, main

__all__ = ["Capture", "documents", "feed", "python", "run"]

Capture = pytest.CaptureFixture[str]
_ROOT = Path(__file__).resolve().parent.parent


def run(*words: str) -> int:
    """Exit code of a command line, also where argparse ends it."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let the next command read this from stdin."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def documents(text: str) -> list[dict[str, Any]]:
    """The JSON documents of some lines."""
    return [json.loads(line) for line in text.splitlines()]


def python(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    """A Python process that finds this checkout."""
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, **more
    )
