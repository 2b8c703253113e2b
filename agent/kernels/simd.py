"""Sums of weight rows and matrix times vector with the running sums held in vector registers.

numba leaves a loop like `for row: for h: out[h] += rows[row, h]` with a load and a store of `out`
for every row, which is what a sparse first layer mostly waits for. The intrinsics here are written
in LLVM's portable vector types instead: a block of the output stays in registers while all rows
pass by, three to four times as fast; LLVM cuts the vectors to what the processor has. Widths that
are no multiple of the block go on in smaller blocks, down to single numbers.

The order of the additions is fixed, so results do not depend on the machine's vector width.
"""

from math import e as euler
from math import factorial, log2
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from engine.compiled import inlined_kernel

__all__ = ["active_matrix_vector", "add_rows", "list_active", "matrix_vector", "sigmoids"]

_F32 = ir.FloatType()
_I64 = ir.IntType(64)
_BLOCKS = ((16, 4), (16, 2), (16, 1), (4, 1), (1, 1))  # lanes of a vector, vectors at a time
_LANES = 16  # numbers that `sigmoids` works on at a time
# 2 ** x for x from -0.5 to 0.5, to 1e-8: the power series is as good as any other at this degree.
_EXP2 = [0.6931471805599453**k / factorial(k) for k in range(8)]
_SPLITS = 4  # sums that a matrix product keeps apart, since an addition takes some four cycles


def _array(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, list[Any]]:
    """Data pointer and dimensions of a C-contiguous array argument."""
    array = make_array(kind)(context, builder, value)
    return array.data, list(cgutils.unpack_tuple(builder, array.shape))


def _index(builder: Any, value: Any, kind: Any) -> Any:
    return builder.sext(value, _I64) if kind.bitwidth < 64 else value


class _Blocks:
    """Walks over an output of `width` numbers in blocks that shrink towards its end."""

    def __init__(self, builder: Any, width: Any) -> None:
        self.builder = builder
        self.width = width

    def each(self, body: Any) -> None:
        """Emit body(offset, vector type, vectors at a time) for every block size in turn."""
        builder = self.builder
        done: Any = _I64(0)
        for lanes, many in _BLOCKS:
            size = lanes * many
            count = builder.sdiv(builder.sub(self.width, done), _I64(size))
            start = done
            with cgutils.for_range(builder, count) as loop:
                offset = builder.add(start, builder.mul(loop.index, _I64(size)))
                body(offset, _F32 if lanes == 1 else ir.VectorType(_F32, lanes), many)
            done = builder.add(start, builder.mul(count, _I64(size)))


def _lanes(vector: Any) -> int:
    return 1 if vector is _F32 else int(vector.count)


def _load(builder: Any, base: Any, offset: Any, vector: Any, place: int) -> Any:
    where = builder.gep(base, [builder.add(offset, _I64(place * _lanes(vector)))])
    return builder.load(builder.bitcast(where, vector.as_pointer()), align=4)


def _load_weights(builder: Any, kind: Any, base: Any, offset: Any, vector: Any, place: int) -> Any:
    """The same of an array of weights, which may hold the bits of 16-bit floats."""
    if kind.dtype != types.uint16:
        return _load(builder, base, offset, vector, place)
    half = ir.HalfType() if vector is _F32 else ir.VectorType(ir.HalfType(), _lanes(vector))
    where = builder.gep(base, [builder.add(offset, _I64(place * _lanes(vector)))])
    value = builder.load(builder.bitcast(where, half.as_pointer()), align=2)
    return builder.fpext(value, vector)


def _store(builder: Any, value: Any, base: Any, offset: Any, vector: Any, place: int) -> None:
    where = builder.gep(base, [builder.add(offset, _I64(place * _lanes(vector)))])
    builder.store(value, builder.bitcast(where, vector.as_pointer()), align=4)


def _fma(builder: Any, x: Any, y: Any, z: Any, vector: Any) -> Any:
    """x * y + z, rounded once."""
    name = f"llvm.fma.{'f32' if vector is _F32 else f'v{_lanes(vector)}f32'}"
    kind = ir.FunctionType(vector, [vector] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [x, y, z])


def _spread(builder: Any, x: Any, vector: Any) -> Any:
    """A vector that holds x in every lane."""
    if vector is _F32:
        return x
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), x, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), _lanes(vector)), [0] * _lanes(vector))
    return builder.shuffle_vector(one, one, mask)


@intrinsic
def add_rows(
    typing_context: Any,
    out: Any,
    i: Any,
    table: Any,
    rows: Any,
    n_plus: Any,
    n_minus: Any,
) -> Any:
    """out[i] += table[rows[0]] + ..., n_plus of them, less the n_minus rows that follow.

    out: `(M, H)` or wider and table: `(R, H)` float32, rows: `(K,)` int64, all C-contiguous;
    nothing is checked.
    """
    signature = types.void(out, i, table, rows, n_plus, n_minus)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        out_data, (_, out_width) = _array(context, builder, sig.args[0], args[0])
        table_data, (_, width) = _array(context, builder, sig.args[2], args[2])
        rows_data, _ = _array(context, builder, sig.args[3], args[3])
        plus = _index(builder, args[4], sig.args[4])
        minus = _index(builder, args[5], sig.args[5])
        start = builder.mul(_index(builder, args[1], sig.args[1]), out_width)

        def body(offset: Any, vector: Any, many: int) -> None:
            here = builder.add(start, offset)
            sums = [cgutils.alloca_once(builder, vector) for _ in range(many)]
            for k in range(many):
                builder.store(_load(builder, out_data, here, vector, k), sums[k])
            for first, count, combine in (
                (_I64(0), plus, builder.fadd),
                (plus, minus, builder.fsub),
            ):
                with cgutils.for_range(builder, count) as loop:
                    row = builder.load(builder.gep(rows_data, [builder.add(first, loop.index)]))
                    there = builder.add(builder.mul(row, width), offset)
                    for k in range(many):
                        value = _load_weights(builder, sig.args[2], table_data, there, vector, k)
                        builder.store(combine(builder.load(sums[k]), value), sums[k])
            for k in range(many):
                _store(builder, builder.load(sums[k]), out_data, here, vector, k)

        _Blocks(builder, width).each(body)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def matrix_vector(
    typing_context: Any,
    out: Any,
    i: Any,
    weights: Any,
    part: Any,
    inputs: Any,
    j: Any,
    n: Any,
) -> Any:
    """out[i] += inputs[j, :n] @ weights[part, :n], the outputs side by side in registers.

    out: `(M, K)` or wider, weights: `(T, N, K)`, inputs: `(B, N)` or wider, all float32 and
    C-contiguous; nothing is checked. Every fourth input goes to the same sum; the four are added
    at the end.
    """
    signature = types.void(out, i, weights, part, inputs, j, n)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        out_data, (_, out_width) = _array(context, builder, sig.args[0], args[0])
        weights_data, (_, n_rows, width) = _array(context, builder, sig.args[2], args[2])
        inputs_data, (_, n_inputs) = _array(context, builder, sig.args[4], args[4])
        count = _index(builder, args[6], sig.args[6])
        start = builder.mul(_index(builder, args[1], sig.args[1]), out_width)
        first = builder.mul(_index(builder, args[3], sig.args[3]), builder.mul(n_rows, width))
        from_input = builder.mul(_index(builder, args[5], sig.args[5]), n_inputs)

        def body(offset: Any, vector: Any, many: int) -> None:
            here = builder.add(start, offset)
            zero = ir.Constant(vector, 0.0 if vector is _F32 else [0.0] * _lanes(vector))
            sums = [
                [cgutils.alloca_once(builder, vector) for _ in range(many)] for _ in range(_SPLITS)
            ]
            for k in range(many):
                builder.store(_load(builder, out_data, here, vector, k), sums[0][k])
                for split in range(1, _SPLITS):
                    builder.store(zero, sums[split][k])

            def take(index: Any, split: int) -> None:
                x = builder.load(builder.gep(inputs_data, [builder.add(from_input, index)]))
                x = _spread(builder, x, vector)
                there = builder.add(builder.add(first, builder.mul(index, width)), offset)
                for k in range(many):
                    value = _load_weights(builder, sig.args[2], weights_data, there, vector, k)
                    place = sums[split][k]
                    builder.store(_fma(builder, x, value, builder.load(place), vector), place)

            with cgutils.for_range(builder, builder.sdiv(count, _I64(_SPLITS))) as loop:
                at = builder.mul(loop.index, _I64(_SPLITS))
                for split in range(_SPLITS):
                    take(builder.add(at, _I64(split)), split)
            rest = builder.srem(count, _I64(_SPLITS))
            with cgutils.for_range(builder, rest) as loop:
                take(builder.add(builder.sub(count, rest), loop.index), 0)
            for k in range(many):
                total = builder.load(sums[0][k])
                for split in range(1, _SPLITS):
                    total = builder.fadd(total, builder.load(sums[split][k]))
                _store(builder, total, out_data, here, vector, k)

        _Blocks(builder, width).each(body)
        return context.get_dummy_value()

    return signature, generate


@inlined_kernel
def list_active(inputs, j, n, active):
    """Numbers of the inputs[j, :n] that are not 0, for `active_matrix_vector`.

    active: `(4, K)` int64, K at least n / 4 + 5. Each row begins with how many numbers follow.
    """
    whole = n - n % _SPLITS
    for split in range(_SPLITS):
        count = 0
        for k in range(split, whole, _SPLITS):
            active[split, 1 + count] = k
            count += inputs[j, k] != 0
        active[split, 0] = count
    count = active[0, 0]
    for k in range(whole, n):
        active[0, 1 + count] = k
        count += inputs[j, k] != 0
    active[0, 0] = count


@intrinsic
def active_matrix_vector(
    typing_context: Any,
    out: Any,
    i: Any,
    weights: Any,
    part: Any,
    inputs: Any,
    j: Any,
    active: Any,
) -> Any:
    """The same as `matrix_vector` to the last bit, without the inputs that are 0.

    active: `(4, K)` int64 of `list_active`. Behind ReLU more than half of all inputs are 0.
    """
    signature = types.void(out, i, weights, part, inputs, j, active)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        out_data, (_, out_width) = _array(context, builder, sig.args[0], args[0])
        weights_data, (_, n_rows, width) = _array(context, builder, sig.args[2], args[2])
        inputs_data, (_, n_inputs) = _array(context, builder, sig.args[4], args[4])
        active_data, (_, active_width) = _array(context, builder, sig.args[6], args[6])
        start = builder.mul(_index(builder, args[1], sig.args[1]), out_width)
        first = builder.mul(_index(builder, args[3], sig.args[3]), builder.mul(n_rows, width))
        from_input = builder.mul(_index(builder, args[5], sig.args[5]), n_inputs)

        def body(offset: Any, vector: Any, many: int) -> None:
            here = builder.add(start, offset)
            zero = ir.Constant(vector, 0.0 if vector is _F32 else [0.0] * _lanes(vector))
            totals = [cgutils.alloca_once(builder, vector) for _ in range(many)]
            sums = [cgutils.alloca_once(builder, vector) for _ in range(many)]
            for split in range(_SPLITS):
                for k in range(many):
                    begin = _load(builder, out_data, here, vector, k) if split == 0 else zero
                    builder.store(begin, sums[k])
                head = builder.mul(_I64(split), active_width)
                count = builder.load(builder.gep(active_data, [head]))
                with cgutils.for_range(builder, count) as loop:
                    place = builder.add(builder.add(head, loop.index), _I64(1))
                    index = builder.load(builder.gep(active_data, [place]))
                    x = builder.load(builder.gep(inputs_data, [builder.add(from_input, index)]))
                    x = _spread(builder, x, vector)
                    there = builder.add(builder.add(first, builder.mul(index, width)), offset)
                    for k in range(many):
                        value = _load_weights(builder, sig.args[2], weights_data, there, vector, k)
                        builder.store(
                            _fma(builder, x, value, builder.load(sums[k]), vector), sums[k]
                        )
                for k in range(many):
                    total = builder.load(sums[k])
                    if split > 0:
                        total = builder.fadd(builder.load(totals[k]), total)
                    builder.store(total, totals[k])
            for k in range(many):
                _store(builder, builder.load(totals[k]), out_data, here, vector, k)

        _Blocks(builder, width).each(body)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def sigmoids(typing_context: Any, values: Any, n: Any) -> Any:
    """values[k] = 1 / (1 + exp(-values[k])) for the first n numbers, and for some that follow.

    values: `(M,)` float32, C-contiguous, M a multiple of 16; nothing is checked. To 2e-7; one call
    of the library's exp takes as long as sixteen numbers do here.
    """
    signature = types.void(values, n)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data, _ = _array(context, builder, sig.args[0], args[0])
        floats = ir.VectorType(_F32, _LANES)
        ints = ir.VectorType(ir.IntType(32), _LANES)
        name = f"llvm.fma.v{_LANES}f32"
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(floats, [floats] * 3), name
        )

        def all_of(x: float) -> Any:
            return ir.Constant(floats, [x] * _LANES)

        def bounded(x: Any) -> Any:
            low, high = all_of(-120.0), all_of(120.0)
            x = builder.select(builder.fcmp_ordered("<", x, low), low, x)
            return builder.select(builder.fcmp_ordered(">", x, high), high, x)

        count = builder.udiv(
            builder.add(_index(builder, args[1], sig.args[1]), _I64(_LANES - 1)), _I64(_LANES)
        )
        with cgutils.for_range(builder, count) as loop:
            offset = builder.mul(loop.index, _I64(_LANES))
            x = _load(builder, data, offset, floats, 0)
            x = bounded(builder.fmul(x, all_of(-log2(euler))))
            # The nearest whole number, by cutting a positive one.
            whole = builder.fptosi(builder.fadd(x, all_of(256.5)), ints)
            rest = builder.fsub(x, builder.fsub(builder.sitofp(whole, floats), all_of(256.0)))
            power: Any = all_of(_EXP2[-1])
            for c in reversed(_EXP2[:-1]):
                power = builder.call(fma, [power, rest, all_of(c)])
            # Its place in a float's exponent, which is biased by 127.
            bits = builder.shl(
                builder.sub(whole, ir.Constant(ints, [256 - 127] * _LANES)),
                ir.Constant(ints, [23] * _LANES),
            )
            power = builder.fmul(power, builder.bitcast(bits, floats))
            one = all_of(1.0)
            _store(builder, builder.fdiv(one, builder.fadd(one, power)), data, offset, floats, 0)
        return context.get_dummy_value()

    return signature, generate
