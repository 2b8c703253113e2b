"""Weights in fewer bits, for small files: as they are written, and as they are read again.

In 16 bits a weight is a float of three digits. In 8 bits a row of weights, its last axis, is whole
numbers from -127 to 127 with one scale for the row, so that each is off by at most 1/220 of the
row's largest; scales have four binary digits, so that 16-bit floats hold every product. Rows of
zeros, a quarter of those of pairs, since no board lights them, have scale 0 and are left out.
Biases, one axis of units, are too few to save on and stay as they are.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import CheckpointError

__all__ = ["BITS", "SCALE_SUFFIX", "rounded", "widened"]

BITS: Final = (8, 16, 32)
"""Bits of a number in a file."""
SCALE_SUFFIX: Final = ".scale"
"""Added to the name of an array of 8 bits: the scales of its rows."""

_LARGEST: Final = 127
_SMALLEST_EXPONENT: Final = -24
_BIASES: Final = ("bias", "b2", "b3")

Arrays = dict[str, NDArray[Any]]


def rounded(name: str, array: NDArray[np.float32], bits: int) -> Arrays:
    """An array of weights as the arrays of a file, by their names.

    name: of the array, its part before a slash; bits: one of `BITS`. Raises CheckpointError if a
    weight is too large for 16 bits.
    """
    if bits == 16:
        with np.errstate(over="ignore"):  # told below
            short = array.astype(np.float16)
        if not np.isfinite(short).all():
            raise CheckpointError("the net has weights above 65504, too large for 16 bits")
        return {name: short}
    if bits == 32 or name.rpartition("/")[2] in _BIASES:
        return {name: np.ascontiguousarray(array)}
    scales = _scales(array)
    kept = scales > 0
    codes = np.rint(array[kept] / scales[kept][:, np.newaxis])
    return {
        name: np.clip(codes, -_LARGEST, _LARGEST).astype(np.int8),
        name + SCALE_SUFFIX: scales,
    }


def _scales(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """The least scale of each row, or the one that it was rounded with before, to stay as it is."""
    larger = _short(np.max(np.abs(array), axis=-1, initial=0) / _LARGEST)
    chosen = larger.copy()
    open_rows = larger > 0
    # Such a row's largest number is over 110, so that its scale is among the next few.
    for _ in range(3):
        steps = np.where(larger > 0, larger, 1)[..., np.newaxis]
        exact = open_rows & np.all(np.rint(array / steps) * steps == array, axis=-1)
        chosen[exact] = larger[exact]
        open_rows &= ~exact
        larger = _short(np.nextafter(larger, np.float32(np.inf)))
    return chosen


def _short(scales: NDArray[np.floating]) -> NDArray[np.float32]:
    """The next numbers up of four binary digits, multiples of 16-bit floats' smallest."""
    _, exponents = np.frexp(scales.astype(np.float64))
    units = np.ldexp(1.0, np.maximum(exponents - 4, _SMALLEST_EXPONENT))
    return np.asarray(np.ceil(scales / units) * units, dtype=np.float32)


def widened(array: NDArray[Any], scales: NDArray[Any] | None) -> NDArray[Any]:
    """What a file holds of an array of weights, as float32; other kinds of numbers as they are.

    scales: those of its rows, if the file has any. Raises ValueError, saying what is wrong, if they
    do not fit.
    """
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype != np.int8:
        return array
    if scales is None:
        raise ValueError("is of 8 bits, but has no scales")
    kept = scales != 0
    if array.ndim != 2 or scales.dtype != np.float32 or np.count_nonzero(kept) != len(array):
        raise ValueError(
            f"is {array.shape} of 8 bits, but has {np.count_nonzero(kept)} scales, {scales.dtype};"
            " accepted: one for each row, float32"
        )
    weights = np.zeros((*scales.shape, array.shape[1]), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # told by who checks the weights
        weights[kept] = array.astype(np.float32) * scales[kept][:, np.newaxis]
    return weights
