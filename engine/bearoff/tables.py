"""The tables of this process: read from the cache, or computed and kept, when first needed."""

import threading
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.bearoff.arrays import (
    NUM_FEWER,
    ONE_SIDED_POINTS,
    TWO_SIDED_CHECKERS,
    BearoffArrays,
)
from engine.bearoff.build import OnProgress, build_arrays
from engine.bearoff.cache import (
    CACHE_VARIABLE,
    Arrays,
    DamagedFileError,
    cache_folder,
    read_arrays,
    write_arrays,
)
from engine.bearoff.ranks import num_positions
from engine.board import NUM_CHECKERS

__all__ = ["BearoffCacheWarning", "build_and_keep", "load_tables", "tables_path"]

_FILE: Final = "bearoff-1.tables"
"""Its number moves when the tables or their arrays change; old files stay and do no harm."""

_LOCK: Final = threading.Lock()
_loaded: list[Any] = []


class BearoffCacheWarning(UserWarning):
    """Something about the cached tables the user should know; the tables in use are right."""


def tables_path() -> Path | None:
    """The file that tables are kept in, be it there or not; None if there is no place for one."""
    folder = cache_folder()
    return None if folder is None else folder / _FILE


def load_tables(on_progress: OnProgress | None = None) -> Any:
    """The tables, `BearoffArrays`; the same arrays for every caller in this process.

    They are read from the cache, or computed, which takes seconds, and kept there. A damaged file
    gives one BearoffCacheWarning and is replaced; so does a folder that cannot be written.
    """
    with _LOCK:
        if not _loaded:
            arrays = _from_cache()
            _loaded.append(_build(on_progress) if arrays is None else arrays)
        return _loaded[0]


def build_and_keep(on_progress: OnProgress | None = None) -> Any:
    """Compute the tables now, whatever the cache holds, and keep them."""
    with _LOCK:
        _loaded[:] = [_build(on_progress)]
        return _loaded[0]


def _from_cache() -> Any | None:
    path = tables_path()
    if path is None:
        return None
    try:
        return _fitting(read_arrays(path))
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        _warn(f"'{path}' is damaged ({error}); its tables are computed anew")
    except OSError as error:
        _warn(f"'{path}' cannot be read ({error.strerror}); its tables are computed anew")
    return None


def _fitting(arrays: Arrays) -> Any:
    """The arrays of a file as tables. Raises DamagedFileError if their forms are not right."""
    n_pairs = num_positions(6, TWO_SIDED_CHECKERS)
    n_all = num_positions(ONE_SIDED_POINTS, NUM_CHECKERS)
    n_rows = 2 * n_all - NUM_FEWER
    expected = {
        "win": (np.float32, (n_pairs, n_pairs)),
        "cubeful": (np.float32, (n_pairs, n_pairs, 3)),
        "starts": (np.int32, (n_rows + 1,)),
        "shortest": (np.int8, (n_rows,)),
    }
    if set(arrays) != set(BearoffArrays._fields):
        raise DamagedFileError("it holds other arrays")
    expected["mass"] = (np.float32, (int(arrays["starts"][-1]),))
    for name, (dtype, shape) in expected.items():
        if arrays[name].dtype != dtype or arrays[name].shape != shape:
            raise DamagedFileError(f"its array '{name}' has another form")
    return BearoffArrays(**arrays)


def _build(on_progress: OnProgress | None) -> Any:
    tables = build_arrays(on_progress)
    path = tables_path()
    if path is None:
        _warn(f"there is no home folder to keep tables in; {CACHE_VARIABLE} may name one")
        return tables
    try:
        write_arrays(path, tables._asdict())
    except OSError as error:
        _warn(
            f"tables cannot be kept in '{path.parent}' ({error.strerror}) and are computed each"
            f" time; {CACHE_VARIABLE} may name another folder"
        )
    return tables


def _warn(message: str) -> None:
    warnings.warn(message, BearoffCacheWarning, stacklevel=4)
