"""The evaluation cache: values of positions at a depth, in arrays of fixed size.

An entry is found by the whole position and a tag that tells all else that its value depends on, so
a hit gives exactly what would be worked out again. Every bucket has two places: the first keeps the
deeper of the values it is offered (of equals the newer), the second takes what the first gives up.
One thread, one cache.
"""

from collections import namedtuple

import numpy as np

from engine.compiled import bare_kernel, inlined_kernel

__all__ = ["Cache", "find_value", "new_cache", "place_of_entry", "store_value"]

Cache = namedtuple("Cache", "keys tags values counts")
"""keys (2 * B, 2) int64: both halves of the position; tags (2 * B,) int64, 0 = empty; values
(2 * B, K) float32; counts (3,) int64: look-ups, hits, and plays valued by the net. B, the number of
buckets, is a power of 2.
"""

_MIX_A = -7046029254386353131  # odd numbers with well mixed bits
_MIX_B = -4417276706812531889
DEPTH_BITS = 4
"""The lowest bits of a tag are the depth; what stands above tells values of different kinds apart,
and those of later searches from earlier ones."""


def new_cache(n_bytes: int, width: int) -> Cache:
    """An empty cache of at most n_bytes, but two entries at least; width: numbers of a value."""
    entry = 2 * 8 + 8 + 4 * width
    buckets = 1
    while 2 * (2 * buckets) * entry <= n_bytes:
        buckets *= 2
    return Cache(
        np.zeros((2 * buckets, 2), dtype=np.int64),
        np.zeros(2 * buckets, dtype=np.int64),
        np.zeros((2 * buckets, width), dtype=np.float32),
        np.zeros(3, dtype=np.int64),
    )


@inlined_kernel
def _half_key(boards, i, first, bar):
    """Twelve points of board i, 5 bits each, and one side's checkers on the bar."""
    key = np.int64(boards[i, bar])
    for slot in range(first, first + 12):
        key = (key << 5) | (np.int64(boards[i, slot]) + 15)
    return key


@bare_kernel
def place_of_entry(keys, boards, i, key):
    """Write the key of board i of `(B, 26)` to key[:2]; returns the first place of its bucket."""
    a = _half_key(boards, i, 1, 0)
    b = _half_key(boards, i, 13, 25)
    key[0] = a
    key[1] = b
    mixed = (a ^ (b * np.int64(_MIX_A))) * np.int64(_MIX_B)
    mixed ^= mixed >> 29
    mixed *= np.int64(_MIX_A)
    mixed ^= mixed >> 32
    return 2 * (mixed & (len(keys) // 2 - 1))


@bare_kernel
def find_value(keys, tags, counts, place, key, tag):
    """Place of the value of this key and tag, whose bucket begins at `place`; -1 = not known."""
    counts[0] += 1
    for where in range(place, place + 2):
        if tags[where] == tag and keys[where, 0] == key[0] and keys[where, 1] == key[1]:
            counts[1] += 1
            return where
    return -1


@bare_kernel
def store_value(keys, tags, values, place, key, tag, rows, row, width):
    """Keep rows[row, :width] as the value of this key and tag."""
    depth = tag & ((1 << DEPTH_BITS) - 1)
    old = tags[place]
    same_search = old >> DEPTH_BITS == tag >> DEPTH_BITS
    where = place
    if same_search and (old & ((1 << DEPTH_BITS) - 1)) > depth:
        where = place + 1
    elif old != 0:
        keys[place + 1, 0] = keys[place, 0]
        keys[place + 1, 1] = keys[place, 1]
        tags[place + 1] = old
        for k in range(values.shape[1]):
            values[place + 1, k] = values[place, k]
    keys[where, 0] = key[0]
    keys[where, 1] = key[1]
    tags[where] = tag
    for k in range(width):
        values[where, k] = rows[row, k]
