"""Grains in the cache of a Salt master: both layouts, Salt's extensions, and files that are none."""

import os
from datetime import datetime

import msgspec
import pytest

from controller.migration import cached_minions as module
from controller.migration.cached_minions import cached_minions, evenly


def written(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else msgspec.msgpack.encode(data))


def test_both_layouts(tmp_path):
    written(tmp_path / "minions/web1/data.p", {"grains": {"os": "Debian", "id": "other"}, "pillar": {"secret": 1}})
    written(tmp_path / "minions/new/mine.p", {"a": 1})
    written(tmp_path / "grains/web1.p", {"os": "Ubuntu"})
    written(tmp_path / "grains/db1.p", {"os": "Debian", "ips": ["10.0.0.1"], "mem": {"MiB": 7}})
    written(tmp_path / "grains/db1.lock", b"")
    cached = cached_minions(tmp_path)
    assert {minion: cached.grains(minion) for minion in cached.files} == {
        "db1": {"os": "Debian", "ips": ["10.0.0.1"], "mem": {"MiB": 7}, "id": "db1"},
        "web1": {"os": "Ubuntu", "id": "web1"},  # Salt 3008 wrote it after the earlier one
    }
    assert list(cached_minions(tmp_path, "web*").files) == ["web1"]
    assert cached.not_read == []


def test_extensions_of_salts(tmp_path):
    time = msgspec.msgpack.Ext(78, datetime(2026, 1, 2, 3, 4, 5, 6).strftime("%Y%m%dT%H:%M:%S.%f").encode())
    constant = msgspec.msgpack.Ext(79, msgspec.msgpack.encode(("NAME", "value")))
    written(tmp_path / "grains/a.p", {"built": time, "kind": constant, "x": msgspec.msgpack.Ext(5, b"raw")})
    grains = cached_minions(tmp_path).grains("a")
    assert grains == {"built": "2026-01-02T03:04:05.000006", "kind": "value", "x": b"raw", "id": "a"}


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x81\xa1a", b"\x91" * 100_000, {"grains": {}}, {"grains": []}, b"\xc7\x01\x4e\x00"]
)
def test_what_is_no_cache(tmp_path, data):
    written(tmp_path / "minions/a/data.p", data)
    cached = cached_minions(tmp_path)
    assert cached.grains("a") is None
    assert "minions/a/data.p" in cached.not_read[0]


def test_links_specials_sizes_and_ids(tmp_path, monkeypatch):
    (tmp_path / "minions/pipe").mkdir(parents=True)
    os.mkfifo(tmp_path / "minions/pipe/data.p")
    written(tmp_path / "secret", {"grains": {"token": 1}})
    (tmp_path / "minions/link").mkdir()
    (tmp_path / "minions/link/data.p").symlink_to(tmp_path / "secret")
    written(tmp_path / "minions/large/data.p", {"grains": {"a": "x" * 2000}})
    written(tmp_path / "minions/a b;c/data.p", {"grains": {"a": 1}})
    monkeypatch.setattr(module, "CACHE_FILE_BYTES", 1000)
    cached = cached_minions(tmp_path)
    assert [cached.grains(minion) for minion in ("large", "link", "pipe")] == [None, None, None]
    text = "\n".join(cached.not_read)
    assert "'a b;c' is no id" in text
    assert "large/data.p has more than 1000 bytes" in text
    assert "link/data.p cannot be read" in text
    assert "pipe/data.p is no file" in text


def test_grains_that_unfold_too_far(tmp_path):
    deep = []
    for _ in range(150):
        deep = [deep]
    written(tmp_path / "grains/a.p", {"a": deep})
    cached = cached_minions(tmp_path)
    assert cached.grains("a") is None
    assert "nested" in cached.not_read[0]


def test_ten_thousand_minions_are_found_and_bounded(tmp_path, monkeypatch):
    for number in range(10_000):
        written(tmp_path / f"minions/m{number}/data.p", b"")
    assert len(cached_minions(tmp_path).files) == 10_000
    monkeypatch.setattr(module, "CACHED_MINIONS", 500)
    cached = cached_minions(tmp_path)
    assert len(cached.files) == 500
    assert "more than 500 minions" in cached.not_read[0]


def test_some_of_many_come_from_the_whole_range():
    ids = [str(number) for number in range(100)]
    assert evenly(ids, 4) == ["0", "25", "50", "75"]
    assert evenly(ids, 0) == evenly(ids, 100) == ids
