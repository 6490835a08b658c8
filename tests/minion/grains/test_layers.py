"""`grains_blacklist`, `grains_deep_merge` and `grains_cache`, as Salt has them."""

import os
from pathlib import Path

import msgspec
import pytest

from minion.config.groups import GrainsOptions
from minion.config.settings import load_settings
from minion.grains import collect
from minion.grains.layers import laid_over, without_blacklisted
from minion.grains.minion_grains import collect_grains, known_grains
from minion.spool.grains import KEPT


def test_what_the_blacklist_names_is_left_out():
    found = {"ip4_interfaces": {}, "ip6_interfaces": {}, "os": "Debian", "cpu_flags": []}
    assert without_blacklisted(found, GrainsOptions(blacklist=("ip?_*", "cpu_(flags|model)", "[("))) == {"os": "Debian"}
    assert without_blacklisted(found, GrainsOptions()) == found


def test_static_grains_are_not_blacklisted():
    options = GrainsOptions(blacklist=("*",))
    assert collect({"role": "web"}, minion_id="web1", options=options) == {"role": "web"}


def test_mappings_are_merged_when_that_is_asked_for():
    below, above = {"a": {"x": 1, "y": [1]}, "b": 1}, {"a": {"y": [2], "z": 3}}
    assert laid_over(below, above, GrainsOptions()) == {"a": {"y": [2], "z": 3}, "b": 1}
    assert laid_over(below, above, GrainsOptions(deep_merge=True)) == {"a": {"x": 1, "y": [2], "z": 3}, "b": 1}
    assert below == {"a": {"x": 1, "y": [1]}, "b": 1}


def test_a_call_takes_grains_of_the_last_collection_while_they_are_young(tmp_path: Path):
    settings = _settings(tmp_path, "grains_cache: true\ngrains: {role: web}\n")
    first = known_grains(settings)
    assert first == {**collect_grains(settings), "pid": first["pid"]}
    kept = tmp_path / "cache" / KEPT
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(msgspec.msgpack.encode({**first, "os": "Kept"}))
    assert known_grains(settings)["os"] == "Kept"
    assert known_grains(_settings(tmp_path, "grains_cache: true\ngrains: {role: db}\n"))["role"] == "db"
    assert known_grains(_settings(tmp_path, ""))["os"] == first["os"]
    os.utime(kept, (0, 0))
    assert known_grains(settings)["os"] == first["os"]
    assert known_grains(settings)["os"] == first["os"]


@pytest.mark.parametrize("content", [b"", b"\xc1", msgspec.msgpack.encode({"id": "another", "os": "Kept"})])
def test_kept_grains_that_are_none_are_collected(tmp_path: Path, content: bytes):
    settings = _settings(tmp_path, "grains_cache: true\n")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / KEPT).write_bytes(content)
    assert known_grains(settings)["os"] != "Kept"


def _settings(folder: Path, more: str):
    (folder / "minion").write_text(f"id: web1\ncachedir: {folder}/cache\nenable_fqdns_grains: false\n{more}")
    return load_settings(folder)
