"""Where computed tables are kept, and files of arrays that notice any damage.

A file is a first line that names the format, a line of JSON that tells names, types and shapes of
the arrays, the arrays themselves from a multiple of 64 bytes on, and a CRC-32 of all that.
"""

import json
import math
import mmap
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.atomic_file import write_atomically

__all__ = ["CACHE_VARIABLE", "DamagedFileError", "cache_folder", "read_arrays", "write_arrays"]

CACHE_VARIABLE: Final = "NARDI_CACHE_DIR"
"""Environment variable that names the folder."""

_FORMAT: Final = b"nardi arrays 1\n"
_ALIGNMENT: Final = 64
_CRC_BYTES: Final = 4

Arrays = Mapping[str, NDArray[Any]]


class DamagedFileError(Exception):
    """A file that is there but does not hold what it should; the message says why."""


def cache_folder() -> Path | None:
    """Folder of computed tables: $NARDI_CACHE_DIR, else nardi in the user's cache folder.

    That is $XDG_CACHE_HOME, else ~/.cache. None if there is no home folder either.
    """
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(caches):  # others are to be ignored, says the XDG specification
        return Path(caches) / "nardi"
    try:
        return Path.home() / ".cache" / "nardi"
    except RuntimeError:
        return None


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays, atomically, in the folder that is made if need be. Raises OSError."""
    description = [
        {"name": name, "dtype": array.dtype.str, "shape": array.shape}
        for name, array in arrays.items()
    ]
    head = _FORMAT + json.dumps(description).encode()
    head += b" " * (-(len(head) + 1) % _ALIGNMENT) + b"\n"
    content = bytearray(head)
    for array in arrays.values():
        content += np.ascontiguousarray(array).tobytes()
        content += bytes(-len(content) % _ALIGNMENT)
    content += zlib.crc32(content).to_bytes(_CRC_BYTES, "little")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, bytes(content))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Arrays of a file; they can be written to.

    The file is mapped, which is quicker than reading it and lets processes share the memory.
    Raises DamagedFileError, FileNotFoundError, OSError.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise DamagedFileError("it is empty")
        # A private copy of what is written to, because numba would compile all kernels once more
        # for read-only arrays.
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    if content[: len(_FORMAT)] != _FORMAT:
        raise DamagedFileError("it does not begin as such a file does")
    whole = memoryview(content)
    if zlib.crc32(whole[:-_CRC_BYTES]) != int.from_bytes(whole[-_CRC_BYTES:], "little"):
        raise DamagedFileError("its checksum is wrong")
    try:
        place = content.find(b"\n", len(_FORMAT)) + 1
        arrays = {}
        for entry in json.loads(bytes(whole[len(_FORMAT) : place])):
            size = math.prod(entry["shape"])
            array = np.frombuffer(content, np.dtype(entry["dtype"]), size, place)
            arrays[str(entry["name"])] = array.reshape(entry["shape"])
            place += array.nbytes
            place += -place % _ALIGNMENT
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFileError(f"its description is wrong ({error})") from None
    return arrays
