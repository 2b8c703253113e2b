"""The decorators of compiled functions: cached on disk, and never stale.

numba keeps compiled code until the function's own file changes. But what it keeps contains the
functions that were called, too, so a change in another file would go on running in its old form, on
memory laid out in the new one. Here the stamp of every cached function is a checksum of all files
that hold kernels, so any change, such as an upgrade, compiles them anew.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

__all__ = ["inlined_kernel", "kernel", "sources_stamp"]


def sources_stamp() -> int:
    """Checksum of all source files that may hold kernels: this package and every `*/kernels`."""
    here = Path(__file__).parent
    stamp = 0
    for path in sorted([*here.glob("*.py"), *here.parent.glob("*/kernels/*.py")]):
        stamp = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), stamp))
    return stamp


_STAMP = sources_stamp()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function, without the interpreter's lock, and cache the result on disk."""
    compiled = njit(cache=True, nogil=True)(function)
    # numba has no public way to add to the stamp; tests/test_compiled.py holds that this works.
    compiled._cache._cache_file._source_stamp = ("nardi", _STAMP)  # type: ignore[attr-defined]
    return compiled


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """A small function that is written into its callers; it is never compiled on its own."""
    return njit(nogil=True, inline="always")(function)
