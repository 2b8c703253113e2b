"""The decorators of compiled functions: cached on disk, and never stale.

numba keeps compiled code until the function's own file changes. But what it keeps contains the
functions that were called, too, so a change in another file would go on running in its old form, on
memory laid out in the new one. Here the stamp of every cached function is a checksum of its file
and of all files of ours that it imports, directly or not, so any change in them, such as an
upgrade, compiles it anew, and a change elsewhere does not.
"""

import os
import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

__all__ = ["bare_kernel", "inlined_kernel", "kernel", "sources_stamp"]

_ROOT = Path(__file__).resolve().parent.parent
# Imports stand at the start of a line; those indented are of types, or of what no kernel needs.
_IMPORT = re.compile(rb"^(?:from|import) +([\w.]+)", re.MULTILINE)


@cache
def _imports(path: Path) -> tuple[int, frozenset[Path]]:
    """Checksum of a source file, and the files beside our packages that it imports."""
    text = path.read_bytes()
    found = set()
    for name in _IMPORT.findall(text):
        place = _ROOT.joinpath(*name.decode().split("."))
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                found.add(file)
    return zlib.crc32(text), frozenset(found)


@cache
def sources_stamp(path: Path) -> int:
    """Checksum of a source file and of all files of ours that it imports, directly or not."""
    files, to_see = {path}, [path]
    while to_see:
        new = _imports(to_see.pop())[1] - files
        files |= new
        to_see += new
    stamp = 0
    for file in sorted(files):
        line = f"{os.path.relpath(file, _ROOT)} {_imports(file)[0]}\n"
        stamp = zlib.crc32(line.encode(), stamp)
    return stamp


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function, without the interpreter's lock, and cache the result on disk."""
    # Said here, since a kernel first needed by a bare one would otherwise be compiled as it is.
    return _cached(function, _nrt=True)


def bare_kernel(function: Callable[..., Any]) -> Any:
    """A kernel that creates no arrays, and so need not count who still uses those it is given.

    Counting costs an atomic addition for every array of every call and of many an assignment: of
    the time in which a small net valued a play it was more than half. Views of arrays are no new
    arrays. Compiling np.empty and the like in such a function fails.
    """
    return _cached(function, _nrt=False)


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    compiled = njit(cache=True, nogil=True, **options)(function)
    stamp = sources_stamp(Path(function.__code__.co_filename).resolve())
    # numba has no public way to add to the stamp; tests/test_compiled.py holds that this works.
    compiled._cache._cache_file._source_stamp = ("nardi", stamp)
    return compiled


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """A small function that is written into its callers; it is never compiled on its own."""
    return njit(nogil=True, inline="always")(function)
