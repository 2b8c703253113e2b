"""Sets of points as bits of an int64, and the four machine instructions numba has no name for.

Bit n stands for point n of the mover, bit 25 for his bar.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["count_bits", "highest_bit", "lowest_bit", "mirror_points"]


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """Number of the lowest bit set in an int64 that is not 0."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def highest_bit(typing_context: Any, mask: Any) -> Any:
    """Number of the highest bit set in an int64 that is not 0."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.int64), generate


@intrinsic
def count_bits(typing_context: Any, mask: Any) -> Any:
    """Number of bits set in an int64."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


@intrinsic
def mirror_points(typing_context: Any, mask: Any) -> Any:
    """The set in which point n stands for point 25 - n; bits 0 to 25 of an int64."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.lshr(builder.bitreverse(args[0]), ir.Constant(ir.IntType(64), 63 - 25))

    return types.int64(types.int64), generate
