"""What a controller starts on a machine over ssh, in folders that are not as they should be; a process of its own."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from importlib.resources import files

import pytest
from small_disk import fill, small_disk

from controller.ssh.visit import MARK

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="it needs root")


def framed(data):
    return len(data).to_bytes(4, "big") + data


def visited(folder, *, wipe=False, worker=b""):
    """What it says, as a controller reads it."""
    header = {"id": "one", "folder": str(folder), "wipe": wipe, "worker": hashlib.sha256(worker).hexdigest()}
    done = subprocess.run(
        [sys.executable, "-I", "-c", files("minion.visit").joinpath("bootstrap.py").read_text()],
        input=framed(json.dumps(header).encode()) + framed(worker),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith(MARK)
    rest, said = done.stdout[len(MARK) :], []
    while rest:
        length = int.from_bytes(rest[:4], "big")
        said.append(json.loads(rest[4 : 4 + length]))
        rest = rest[4 + length :]
    return said[1:]


def packed(size):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        info = tarfile.TarInfo("module.py")
        info.size = size
        tar.addfile(info, io.BytesIO(b"#" * size))
    return data.getvalue()


@needs_root
def test_nothing_is_removed_in_a_folder_of_somebody_else(tmp_path):
    victim = tmp_path / "victim"
    (victim / "one").mkdir(parents=True)
    theirs = tmp_path / "thin"
    theirs.mkdir()
    (theirs / "minions").symlink_to(victim)
    os.chown(theirs, 65534, 65534)
    (said,) = visited(theirs, wipe=True)
    assert "is no folder of this user alone" in said["error"]
    assert (victim / "one").is_dir()
    link = tmp_path / "link"
    link.symlink_to(victim)
    (said,) = visited(link, wipe=True)
    assert "is no folder of this user alone" in said["error"]
    assert (victim / "one").is_dir()


def test_there_may_be_nothing_to_remove(tmp_path):
    assert visited(tmp_path / "none", wipe=True) == [{"wiped": True, "public": ""}]
    assert not (tmp_path / "none").exists()


@needs_root
def test_a_full_disk_is_said_and_nothing_is_left_on_it(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        thin = disk / "thin"
        fill(disk)
        os.truncate(disk / "ballast", 63 * 1024 * 1024)
        said = visited(thin, worker=packed(4 * 1024 * 1024))[-1]
        assert "No space left on device" in said["error"]
        assert "thin_dir" in said["error"]
        assert [each.name for each in (thin / "workers").iterdir()] == [".lock"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    (said,) = visited(tmp_path / "file" / "thin")
    assert "Not a directory" in said["error"]
    assert str(tmp_path / "file" / "thin") in said["error"]
