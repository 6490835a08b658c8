"""Files that minions send: where they stand, and what is refused."""

import os
import shutil
from collections import namedtuple

import pytest

from controller.messages.pushed_files import PushedFiles, PushRefused
from wire.limits import MinionLimits
from wire.messages import FilePushed, PushFile, Refused

LIMITS = MinionLimits(pushed_bytes=100, pushed_files=6, pushed_free_bytes=1)


class Files:
    def __init__(self, folder, **more):
        self.sent, self.refused = [], []
        self.folder = folder
        self.files = PushedFiles(
            **{
                "folder": folder,
                "send": lambda key, message: self.sent.append(message),
                "limits": LIMITS,
                "most_file": 50,
                "on_refusal": lambda limit, count=1: self.refused.append(limit),
                **more,
            }
        )

    def keep(self, *path, data=b"x", offset=0, minion="web1"):
        return self.files.keep(minion, PushFile(request=1, path=path, offset=offset, data=data))

    def read(self, path, minion="web1"):
        return (self.folder / minion / "files" / path).read_bytes()


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "minions")


def test_pieces_become_a_file_below_the_folder_of_its_minion(files):
    assert files.keep("var", "log", "a.log", data=b"one") == 3
    assert files.keep("var", "log", "a.log", data=b"two", offset=3) == 6
    files.keep("var/log/b.log")  # as a minion of Windows may say it
    files.keep("var", "log", "a.log", minion="web2")
    assert (files.read("var/log/a.log"), files.read("var/log/b.log")) == (b"onetwo", b"x")
    assert files.read("var/log/a.log", "web2") == b"x"
    files.keep("var", "log", "a.log", data=b"anew")
    assert files.read("var/log/a.log") == b"anew"
    assert oct((files.folder / "web1/files/var/log/a.log").stat().st_mode)[-3:] == "600"


@pytest.mark.parametrize(
    "path",
    [(), ("",), ("/",), ("..", "x"), ("a/../../x",), ("a", ".."), (".",), ("a\0b",), ("x" * 256,), ("a/" * 65 + "b",)],
)
def test_paths_that_lead_elsewhere_are_refused(files, path):
    with pytest.raises(PushRefused):
        files.keep(*path)
    assert not files.folder.exists() or not list(files.folder.rglob("*x*"))


def test_absolute_names_stand_below_the_folder(files):
    files.keep("/etc/passwd")
    assert files.read("etc/passwd") == b"x"


def test_links_are_not_followed(files, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    root = files.folder / "web1/files"
    root.mkdir(parents=True)
    (root / "folder").symlink_to(tmp_path / "elsewhere")
    (root / "file").symlink_to(tmp_path / "elsewhere/made")
    os.mkfifo(root / "pipe")
    for path in (("folder", "x"), ("file",), ("pipe",)):
        with pytest.raises(PushRefused):
            files.keep(*path)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_piece_stands_behind_what_was_taken(files):
    files.keep("a", data=b"one")
    for offset in (1, 4, 40):
        with pytest.raises(PushRefused, match="3 bytes of it were taken"):
            files.keep("a", offset=offset)


def test_budgets(files):
    with pytest.raises(PushRefused, match="file_recv_max_size"):
        files.keep("a", data=b"x" * 51)
    files.keep("a", data=b"x" * 50)
    files.keep("b", data=b"x" * 50)
    with pytest.raises(PushRefused) as error:
        files.keep("c")
    assert error.value.limit == "pushed-bytes"
    files.keep("a", data=b"y")  # takes the place of what was there
    files.keep("d/e/f", data=b"x" * 49)
    with pytest.raises(PushRefused) as error:
        files.keep("g/h")
    assert error.value.limit == "pushed-files"
    again = Files(files.folder)  # what was kept counts after a restart
    with pytest.raises(PushRefused):
        again.keep("d/e/f", data=b"x", offset=49)


def test_a_full_disk(files, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 9, 1))
    with pytest.raises(PushRefused, match="the disk has no room"):
        files.keep("a")
    monkeypatch.undo()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(PushRefused, match="No space left"):
        files.keep("a")
    monkeypatch.undo()
    assert files.keep("a") == 1


async def test_answers(tmp_path):
    files, off = Files(tmp_path / "minions"), Files(tmp_path / "off", most_file=0)
    piece = PushFile(request=3, path=("a",), data=b"x")
    off.files.take("key", "web1", piece)
    assert off.sent == [Refused(message="no file is kept: `file_recv` of the controller is off", request=3)]
    for _ in range(5):
        files.files.take("key", "web1", piece)
    assert files.sent == [Refused(message="no file is kept: too much of this minion waits", request=3)]
    for task in list(files.files._tasks):
        await task
    assert files.sent[1:] == [FilePushed(request=3, size=1)] * 4
    files.files.take("key", "web1", PushFile(request=4, path=("..",)))
    await next(iter(files.files._tasks))
    assert files.sent[-1].request == 4
    assert isinstance(files.sent[-1], Refused)
