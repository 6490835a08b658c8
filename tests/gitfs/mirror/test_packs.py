from __future__ import annotations

import pygit2

from gitfs.mirror.packs import SUM, read_index, write_pack


def test_what_an_index_says(remote, tmp_path):
    remote.commit({f"d{number}/f": str(number) * 500 for number in range(300)})
    source = pygit2.Repository(str(remote.bare))
    write_pack(source, list(source), tmp_path)
    (path,) = tmp_path.glob("*.idx")
    index, pack = read_index(path), path.with_suffix(".pack").read_bytes()
    assert index is not None
    assert sorted(index.ids()) == sorted(oid.raw for oid in source)
    assert index.pack_sum == pack[-SUM:]
    assert index.bytes_of(set(index.ids()), len(pack)) == len(pack) - SUM - 12  # all but the head and the sum
    git = remote.run("verify-pack", "-v", str(path)).splitlines()
    stored = {bytes.fromhex(line.split()[0]): int(line.split()[3]) for line in git if len(line.split()) in (5, 7)}
    assert stored
    for oid, size in list(stored.items())[:20]:
        assert index.bytes_of({oid}, len(pack)) == size
    assert index.bytes_of(set(), len(pack)) == 0


def test_an_index_that_is_damaged_or_of_another_form_is_none(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    source = pygit2.Repository(str(remote.bare))
    write_pack(source, list(source), tmp_path)
    (path,) = tmp_path.glob("*.idx")
    content = path.read_bytes()
    for wrong in (b"", content[:-1], content[:200] + b"\xff" + content[201:], content[4:], content[:7] + b"\x01"):
        (tmp_path / "wrong").write_bytes(wrong)
        assert read_index(tmp_path / "wrong") is None
