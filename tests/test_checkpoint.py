"""Net files: what is written comes back, the same net is the same file, and nothing is guessed."""

import errno
import json
import os
import struct
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent import checkpoint
from agent.checkpoint import (
    FORMAT,
    RELEASED,
    default_net_path,
    load_net,
    load_sorter,
    net_path,
    read_facts,
    save_net,
)
from agent.net import DEFAULT_CONFIG, ValueNet, ValueNetConfig, new_value_net
from engine.errors import CheckpointError
from tests.nets import CONFIGS, SMALL, all_arrays, random_net, small_net_file

FACTS = {
    "games": 400_000,
    "seed": 7,
    "parent": None,
    "commit": "0123abc",
    "dirty": False,
    "command": "nardi train --preset short",
    "versions": {"nardi": "0.1.0"},
    "strength": {"pubeval": {"ppg": 0.61, "stderr_ppg": 0.01, "games": 10_000}},
    "note": "ünïcode, 'quotes' and \"more\"",
}


def read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and data of a safetensors file."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def write(path: Path, header: dict[str, Any], data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def change_facts(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Rewrite a net file with changed facts, the arrays untouched."""
    header, data = read(path)
    facts = json.loads(header["__metadata__"]["nardi"])
    header["__metadata__"]["nardi"] = json.dumps(change(facts))
    write(path, header, data)


def with_array(net: ValueNet, name: str, array: Any) -> ValueNet:
    """The net with one array of the contact net replaced."""
    return ValueNet(net.config, net.contact._replace(**{name: array}), net.race, net.facts)


def refused(path: Path) -> str:
    """The message with which a file is refused; it always names the file."""
    with pytest.raises(CheckpointError) as caught:
        load_net(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# --- round trips ---


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_written_comes_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    net = random_net(CONFIGS[name], np.random.default_rng(1), FACTS)
    save_net(path, net)
    loaded = load_net(path)
    assert loaded.config == net.config
    ours, theirs = all_arrays(net), all_arrays(loaded)
    assert list(ours) == list(theirs)
    for key, array in ours.items():
        assert theirs[key].dtype == np.float32
        assert theirs[key].tobytes() == array.tobytes(), key
    assert loaded.facts.items() >= FACTS.items()
    assert loaded.num_weights() == sum(a.size for a in ours.values())


def test_facts_that_every_file_has(tmp_path: Path) -> None:
    path = small_net_file(tmp_path, FACTS)
    facts = read_facts(path)
    assert facts == load_net(path).facts
    assert facts["format"] == FORMAT
    assert facts["variant"] == "short"
    assert facts["features"] == ["raw-v1", "pairs-v1", "contact-v1"]
    assert ValueNetConfig.from_dict(facts["net"]) == SMALL
    header, _ = read(path)
    assert list(header["__metadata__"]) == ["nardi"]  # several keys would come in changing order


def test_facts_name_only_the_features_that_are_used(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, random_net(CONFIGS["plain"], np.random.default_rng(1)))
    assert read_facts(path)["features"] == ["raw-v1"]


def test_the_same_net_is_the_same_file(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{i}.safetensors" for i in range(3))
    for path, order in ((first, 1), (second, -1)):
        facts = dict(list(FACTS.items())[::order])
        save_net(path, random_net(SMALL, np.random.default_rng(2026), facts))
    save_net(third, load_net(second))
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()
    save_net(second, random_net(SMALL, np.random.default_rng(2027), FACTS))
    assert first.read_bytes() != second.read_bytes()


def test_size_follows_from_the_shape_alone(tmp_path: Path) -> None:
    """Training does not make a file larger: its size says nothing about what was learned."""
    untrained, other = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    save_net(untrained, new_value_net(SMALL, np.random.default_rng(1)))
    save_net(other, random_net(SMALL, np.random.default_rng(2)))
    assert untrained.stat().st_size == other.stat().st_size


def test_arrays_in_any_memory_order(tmp_path: Path) -> None:
    net = random_net(SMALL, np.random.default_rng(4))
    path = tmp_path / "net.safetensors"
    save_net(path, with_array(net, "points", np.asfortranarray(net.contact.points)))
    assert (load_net(path).contact.points == net.contact.points).all()


def test_numbers_that_are_not_finite_are_not_known(tmp_path: Path) -> None:
    """The error of a single pair of games is NaN, which JSON for programs does not know."""
    facts = {"strength": {"pubeval": {"ppg": 1.0, "stderr_ppg": float("nan"), "games": 2}}}
    found = read_facts(small_net_file(tmp_path, facts))
    assert found["strength"]["pubeval"] == {"ppg": 1.0, "stderr_ppg": None, "games": 2}


# --- files that are refused ---


def test_missing(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none.safetensors")
    assert "is a folder" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"nardi", b"PK\x03\x04" + bytes(200), b"\xff" * 100])
def test_other_files(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(content)
    assert "not a readable net" in refused(path)
    with pytest.raises(CheckpointError):
        read_facts(path)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.3, 0.99])
def test_truncated(share: float, tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert "not a readable net" in refused(path)
    path.write_bytes(content[:-1])
    assert "not a readable net" in refused(path)
    path.write_bytes(content + b"x")
    assert "not a readable net" in refused(path)


def test_a_damaged_header(tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    content = bytearray(path.read_bytes())
    for place in range(0, 400, 7):
        damaged = content.copy()
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        refused(path)


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"nardi": "{"}, {"nardi": ""}])
def test_safetensors_of_others(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    header, data = read(path)
    del header["__metadata__"]
    if metadata is not None:
        header["__metadata__"] = metadata
    write(path, header, data)
    assert "not a net of nardi" in refused(path)


def test_facts_nested_too_deep(tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    header, data = read(path)
    header["__metadata__"]["nardi"] = "[" * 100_000
    write(path, header, data)
    assert "not a net of nardi" in refused(path)


@pytest.mark.parametrize("number", [FORMAT + 2, 0, str(FORMAT), None])
def test_other_format_numbers(number: object, tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    change_facts(path, lambda facts: facts | {"format": number})
    message = refused(path)
    assert f"format '{number}'" in message
    assert f"reads {FORMAT} and {FORMAT + 1}" in message
    with pytest.raises(CheckpointError):
        read_facts(path)


@pytest.mark.parametrize("facts", [[], 1, "text", None, {}])
def test_facts_of_another_kind(facts: object, tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    change_facts(path, lambda _: facts)
    assert "format 'None'" in refused(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "long"}, "game 'long'"),
        ({"variant": None}, "game 'None'"),
        ({"features": ["raw-v1", "contact-v9"]}, "needs features 'contact-v9'.*knows.*contact-v1"),
        ({"features": [1]}, "needs features '1'"),
        ({"features": "raw-v1"}, "does not tell its features"),
        ({"net": None}, "does not tell the shapes"),
        ({"net": {}}, "does not tell the shapes"),
        ({"net": {"contact": {}, "race": []}}, "does not tell the shapes"),
        ({"net": {"contact": {}, "race": {}, "end": {}}}, "another version: .*'end'"),
        ({"net": {"contact": {"depth": 3}, "race": {}}}, "another version: .*'contact.depth'"),
        ({"net": {"contact": {"width": "8"}, "race": {}}}, "another version: .*width is '8'"),
        ({"net": {"contact": {"width": 10**9}, "race": {}}}, "another version: .*width"),
        ({"net": {"contact": {"experts": ["x"]}, "race": {}}}, "another version: .*experts"),
        ({"net": {"contact": {"tails": {}}, "race": {}}}, "another version: .*tails"),
        ({"net": DEFAULT_CONFIG.as_dict()}, r"contact: array 'points' is \(370, 8\)"),
    ],
    ids=str,
)
def test_facts_that_do_not_fit(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    change_facts(path, lambda facts: facts | change)
    with pytest.raises(CheckpointError, match=message):
        load_net(path)


@pytest.mark.parametrize("name", ["points", "pairs", "bias", "w2", "b2", "w3", "b3"])
def test_arrays_that_do_not_fit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    net = random_net(SMALL, np.random.default_rng(1))
    array = getattr(net.contact, name)
    save_net(path, with_array(net, name, array[..., :-1]))
    assert f"array '{name}' is {array[..., :-1].shape}" in refused(path)
    save_net(path, with_array(net, name, array.astype(np.float64)))
    assert "float64" in refused(path)
    for bad in (np.nan, np.inf):
        broken = array.copy()
        broken.flat[array.size // 2] = bad
        save_net(path, with_array(net, name, broken))
        assert f"array '{name}' holds numbers that are not finite" in refused(path)


def test_a_missing_array(tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    header, data = read(path)
    header["race/gone"] = header.pop("race/b2")
    write(path, header, data)
    assert "race: array 'b2' is missing" in refused(path)


def test_numbers_that_numpy_does_not_know(tmp_path: Path) -> None:
    path = small_net_file(tmp_path)
    header, data = read(path)
    entry = header["race/b2"]
    entry["dtype"] = "BF16"
    entry["shape"][-1] *= 2
    write(path, header, data)
    assert "race" in refused(path)


# --- writing ---


def test_no_folder_to_write_to(tmp_path: Path) -> None:
    net = random_net(SMALL, np.random.default_rng(1))
    (tmp_path / "file").write_text("not a folder")
    for path in (tmp_path / "none" / "n.safetensors", tmp_path / "file" / "n.safetensors"):
        with pytest.raises(CheckpointError, match="cannot be written") as caught:
            save_net(path, net)
        assert str(path) in str(caught.value)
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(CheckpointError, match="cannot be written"):
        save_net(tmp_path / "folder.safetensors", net)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.safetensors"]


def test_an_unwritable_folder(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(CheckpointError, match="cannot be written"):
        save_net(folder / "n.safetensors", random_net(SMALL, np.random.default_rng(1)))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_net_file(tmp_path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(CheckpointError, match="cannot be written: No space left"):
        save_net(path, random_net(SMALL, np.random.default_rng(1)))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- the net that ships ---


def test_the_net_that_ships_is_looked_for_beside_the_code() -> None:
    shipped = Path(str(files("checkpoints"))) / "nardi.safetensors"
    if not shipped.exists():
        pytest.skip("no net has been released yet")
    assert default_net_path() == shipped
    assert load_net(shipped).facts["games"] > 0


def test_an_installation_without_a_net(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(checkpoint._DEFAULT_NAMES, "short", "none.safetensors")
    with pytest.raises(CheckpointError, match=r"'none\.safetensors'.*nardi train"):
        default_net_path()


def test_released_nets_go_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in RELEASED:
        path = net_path(Path(name))
        assert path.name == f"{name}.safetensors"
        if name == "long" and not path.is_file():
            continue  # an installation may lack it; the commands tell how to train one
        game = "long" if name == "long" else "short"
        assert load_net(Path(name), game).checksum() == load_net(path, game).checksum()
    assert load_net(Path("nardi")).checksum() == load_net(default_net_path()).checksum()
    sorter = load_sorter()
    assert sorter is not None
    assert load_net(Path("fast")).checksum() == sorter.checksum()
    with pytest.raises(CheckpointError, match="'slow' does not exist; accepted: a file, or nardi"):
        load_net(Path("slow"))
    # A file of that name goes before, a folder (as a checkout has) does not.
    (tmp_path / "nardi").mkdir()
    assert load_net(Path("nardi")).checksum() == load_net(default_net_path()).checksum()
    save_net(tmp_path / "fast", load_net(Path("nardi")))
    assert load_net(Path("fast")).checksum() == load_net(Path("nardi")).checksum()
