"""What all tests share: seeded random numbers with a visible seed, hypothesis."""

import os
import tempfile
import zlib

import numpy as np
import pytest
from hypothesis import settings

SEED = int(os.environ.get("NARDI_TEST_SEED", "20261129"))

# Compiled kernels make the first example of a property much slower than the rest, so there is no
# deadline. Examples are the same in every run unless NARDI_TEST_SEED asks for others.
settings.register_profile(
    "nardi", deadline=None, print_blob=True, derandomize="NARDI_TEST_SEED" not in os.environ
)
settings.load_profile("nardi")


_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Tables are computed once for all tests and workers, not taken from the user's cache."""
    if not hasattr(config, "workerinput"):
        config.stash[_CACHE] = tempfile.TemporaryDirectory(prefix="nardi-tests-")
        os.environ["NARDI_CACHE_DIR"] = config.stash[_CACHE].name


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        config.stash[_CACHE].cleanup()


def pytest_report_header() -> str:
    return f"random tests: NARDI_TEST_SEED={SEED}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each test, keyed by the test's name."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.name.encode())])
