"""The cache of computed tables: kept once, never trusted blindly, never in the way."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.bearoff import cache, tables
from engine.bearoff.cache import DamagedFileError, cache_folder, read_arrays, write_arrays
from engine.bearoff.tables import BearoffCacheWarning, build_and_keep, load_tables, tables_path

ROOT = Path(__file__).resolve().parent.parent


class Builder:
    """Stands for the computation: gives the right tables and counts how often."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays
        self.calls = 0

    def __call__(self, _: object = None) -> Any:
        self.calls += 1
        return self.arrays


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    """A cache folder of its own, and nothing loaded yet."""
    built = Builder(load_tables())
    monkeypatch.setenv("NARDI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tables, "build_arrays", built)
    monkeypatch.setattr(tables, "_loaded", [])
    return built


def forget() -> None:
    tables._loaded.clear()


def assert_right(found: Any, expected: Any) -> None:
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


# --- where ---


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("NARDI_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.setenv("NARDI_CACHE_DIR", "~/here")
    assert cache_folder() == tmp_path / "here"
    monkeypatch.setenv("NARDI_CACHE_DIR", "")
    assert cache_folder() == tmp_path / "xdg" / "nardi"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/to/be/ignored")
    assert cache_folder() == tmp_path / ".cache" / "nardi"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("NARDI_CACHE_DIR")
    assert cache_folder() == tmp_path / ".cache" / "nardi"


# --- files of arrays ---


def test_arrays_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    arrays = {
        "a": np.arange(7, dtype=np.int8),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "b": np.linspace(0, 1, 12).reshape(3, 4),
        "c": np.array([True, False]),
    }
    write_arrays(path, arrays)
    found = read_arrays(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].flags.writeable
        assert found[name].flags.aligned
    again = tmp_path / "again"
    write_arrays(again, arrays)
    assert again.read_bytes() == path.read_bytes()
    assert os.listdir(path.parent) == ["file"]


def test_any_damage_is_noticed(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "file"
    write_arrays(path, {"a": np.arange(40), "b": np.zeros((2, 3), dtype=np.float32)})
    good = path.read_bytes()
    damaged = [good[:length] for length in (0, 1, 14, 15, 20, 64, 200, len(good) - 1)]
    damaged += [good + b"\0", b"x" * 500, good * 2]
    for place in {0, 14, 15, 40, len(good) - 1, *rng.integers(len(good), size=60).tolist()}:
        other = bytearray(good)
        other[place] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(other))
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(DamagedFileError):
            read_arrays(path)
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "none")


@pytest.mark.parametrize(
    "head",
    [
        b"not json",
        b"[]x",
        b"[1]",
        b'[{"name": "a"}]',
        b'[{"name": "a", "dtype": "no", "shape": [1]}]',
        b'[{"name": "a", "dtype": "|O", "shape": [1]}]',
        b'[{"name": "a", "dtype": "<i8", "shape": [1000]}]',
        b'[{"name": "a", "dtype": "<i8", "shape": [-1]}]',
        b'[{"name": "a", "dtype": "<i8", "shape": "x"}]',
        b"{}",
        b"5",
    ],
)
def test_a_wrong_description_is_damage(head: bytes, tmp_path: Path) -> None:
    """Even if the checksum fits: a file made by somebody."""
    content = cache._FORMAT + head + b"\n" + bytes(64)
    content += cache.zlib.crc32(content).to_bytes(4, "little")
    path = tmp_path / "file"
    path.write_bytes(content)
    try:
        found = read_arrays(path)
    except DamagedFileError:
        return
    assert found == {}
    assert head == b"{}"


# --- tables ---


def test_computed_once_and_kept(builder: Builder) -> None:
    path = tables_path()
    assert path is not None
    assert not path.exists()
    first = load_tables()
    assert load_tables() is first
    assert builder.calls == 1
    assert path.stat().st_size == pytest.approx(40.4e6, rel=0.01)
    forget()
    second = load_tables()
    assert second is not first
    assert_right(second, builder.arrays)
    assert builder.calls == 1
    assert os.listdir(path.parent) == [path.name]
    build_and_keep()
    assert builder.calls == 2


def damage_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1_000_000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def foreign(path: Path) -> None:
    write_arrays(path, {"win": np.zeros(3)})


def other_forms(path: Path) -> None:
    arrays = read_arrays(path)
    write_arrays(path, {name: array.astype(np.float64) for name, array in arrays.items()})


@pytest.mark.parametrize("damage", [damage_middle, cut, empty, foreign, other_forms])
def test_a_damaged_file_is_replaced_with_one_warning(builder: Builder, damage: Any) -> None:
    load_tables()
    path = tables_path()
    assert path is not None
    damage(path)
    forget()
    with pytest.warns(BearoffCacheWarning, match="is damaged .* computed anew") as caught:
        found = load_tables()
    assert len(caught) == 1
    assert str(path) in str(caught[0].message)
    assert_right(found, builder.arrays)
    assert builder.calls == 2
    forget()
    assert_right(load_tables(), builder.arrays)
    assert builder.calls == 2


def test_a_folder_that_cannot_be_written(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("NARDI_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(BearoffCacheWarning, match="cannot be") as caught:
        found = load_tables()
    assert "NARDI_CACHE_DIR may name another folder" in str(caught[-1].message)
    assert_right(found, builder.arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_tables() is found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(builder: Builder, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o555)
    with pytest.warns(BearoffCacheWarning, match="cannot be kept"):
        assert_right(load_tables(), builder.arrays)


def test_without_a_home(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "cache_folder", lambda: None)
    with pytest.warns(BearoffCacheWarning, match="no home folder"):
        assert_right(load_tables(), builder.arrays)
    assert load_tables() is tables._loaded[0]
    assert builder.calls == 1


def test_threads_share_one_computation(builder: Builder) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(load_tables())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(arrays is found[0] for arrays in found)
    assert builder.calls == 1


@pytest.mark.slow
def test_two_processes_at_once(tmp_path: Path) -> None:
    """Both compute, both write, and whatever is there at any time is whole."""
    program = (
        "import zlib\nfrom engine.bearoff.tables import load_tables\n"
        "print([zlib.crc32(array.tobytes()) for array in load_tables()])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NARDI_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", program],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert said[0][0] == said[1][0] != ""
    assert os.listdir(tmp_path) == ["bearoff-1.tables"]
    assert_right(tables._fitting(read_arrays(tmp_path / "bearoff-1.tables")), load_tables())
