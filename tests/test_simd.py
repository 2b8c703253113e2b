"""Products of vectors and matrices in registers: the right sums, and the same bits either way."""

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.kernels.simd import active_matrix_vector, list_active, matrix_vector
from engine.compiled import kernel


@kernel
def dense(out, weights, part, inputs, n):  # type: ignore[no-untyped-def]
    matrix_vector(out, 0, weights, part, inputs, 1, n)


@kernel
def active_only(out, weights, part, inputs, n, active):  # type: ignore[no-untyped-def]
    list_active(inputs, 1, n, active)
    active_matrix_vector(out, 0, weights, part, inputs, 1, active)


SIZES = [(1, 1), (3, 5), (4, 16), (5, 64), (7, 33), (280, 128), (281, 69), (283, 100)]


@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_products_are_those_of_numpy_and_zeros_change_no_bit(
    n: int, width: int, share: float, rng: np.random.Generator
) -> None:
    weights = rng.normal(size=(3, n, width)).astype(np.float32)
    inputs = rng.normal(size=(2, n + 3)).astype(np.float32)
    inputs[rng.random(inputs.shape) >= share] = 0
    start = rng.normal(size=(1, width)).astype(np.float32)
    found: list[NDArray[np.float32]] = []
    for active in (None, np.full((4, n // 4 + 8), -1, dtype=np.int64)):
        out = start.copy()
        if active is None:
            dense(out, weights, 2, inputs, n)
        else:
            active_only(out, weights, 2, inputs, n, active)
            assert active[:, 0].sum() == np.count_nonzero(inputs[1, :n])
        found.append(out)
    want = start[0] + inputs[1, :n].astype(np.float64) @ weights[2]
    np.testing.assert_allclose(found[0][0], want, atol=1e-4)
    np.testing.assert_array_equal(found[0], found[1])
