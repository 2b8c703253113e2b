"""What all tests share: golden files, seeded random numbers with a visible seed, hypothesis."""

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

GOLDEN = Path(__file__).parent / "golden"

SEED = int(os.environ.get("NARDI_TEST_SEED", "20261129"))

# Compiled kernels make the first example of a property much slower than the rest, so there is no
# deadline. Examples are the same in every run unless NARDI_TEST_SEED asks for others.
settings.register_profile(
    "nardi", deadline=None, print_blob=True, derandomize="NARDI_TEST_SEED" not in os.environ
)
settings.load_profile("nardi")


def pytest_report_header() -> str:
    return f"random tests: NARDI_TEST_SEED={SEED}"


def read_golden(name: str) -> list[dict[str, Any]]:
    """The lines of a golden JSON-lines file, also a gzipped one."""
    path = GOLDEN / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.decode("utf-8").splitlines() if line.strip()]


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each test, keyed by the test's name."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.name.encode())])
