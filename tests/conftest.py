"""What all tests share: seeded random numbers with a visible seed, hypothesis."""

import os
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


def pytest_report_header() -> str:
    return f"random tests: NARDI_TEST_SEED={SEED}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each test, keyed by the test's name."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.name.encode())])
