"""What a new file has: its directory's group, and in `changes` what Salt shows of owner and mode."""

import os
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from minion.machine.machine import LocalMachine
from minion.machine.umask import MaskedMachine

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
GAMES = 60


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"contents": "x"}, {"diff": "New file"}),
        ({"contents": "x", "mode": "0644"}, {"diff": "New file", "mode": "0644"}),
        ({"contents": "x", "mode": "0600"}, {"diff": "New file"}),
        ({"source": "{source}", "skip_verify": True}, {"diff": "New file", "mode": "0644"}),
        ({"source": "{source}", "skip_verify": True, "mode": "0600"}, {"diff": "New file"}),
        ({"user": "root", "group": "root"}, {"new": "file {path} created"}),
        ({"user": "games", "group": "games", "mode": "0640"},
         {"new": "file {path} created", "user": "games", "group": "games", "mode": "0640"}),
    ],
)  # fmt: skip
@as_root
def test_changes_of_a_new_file(converge, tmp_path, arguments, shown):
    source, path = tmp_path / "source", tmp_path / "f"
    source.write_text("x\n")
    given = {key: str(source) if value == "{source}" else value for key, value in arguments.items()}
    expected = {key: value.format(path=path) for key, value in shown.items()}
    assert converge("file.managed", path, **given).changes == expected
    path.unlink()


@as_root
def test_changes_of_directories_copies_and_links(converge, tmp_path):
    old, new, copy, link = (tmp_path / name for name in ("old", "new", "copy", "link"))
    old.mkdir(mode=0o700)
    shown = {str(old): {"mode": "0755", "user": "games"}, "mode": "0755", "user": "games"}
    assert converge("file.directory", old, mode="0755", user="games").changes == shown
    assert converge("file.directory", new, mode="0700").changes == {str(new): {"directory": "new"}}
    source = tmp_path / "source"
    source.touch(0o644)
    assert converge("file.copy", copy, source=str(source), user="games", mode="0600").changes == {
        str(copy): str(source),
        "user": "games",
        "group": "games",
        "mode": "0600",
    }
    assert converge("file.symlink", link, target=str(source), user="games").changes == {"new": str(link)}
    assert (link.lstat().st_uid, link.lstat().st_gid, copy.stat().st_gid) == (5, GAMES, GAMES)


@as_root
@pytest.mark.parametrize("fun", ["directory", "managed", "symlink"])
def test_what_is_made_in_a_setgid_directory_has_its_group(converge, tmp_path, fun):
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chown(shared, -1, GAMES)
    shared.chmod(0o2775)
    arguments = {"directory": {}, "managed": {"contents": "x"}, "symlink": {"target": "/"}}[fun]
    converge(f"file.{fun}", shared / "one/two/three", makedirs=True, **arguments)
    for folder in (shared / "one", shared / "one/two"):
        assert (oct(folder.stat().st_mode & 0o7777), folder.stat().st_gid) == ("0o2755", GAMES)
    assert (shared / "one/two/three").lstat().st_gid == GAMES
    converge("file.directory", shared / "given", mode="0750")
    assert (oct((shared / "given").stat().st_mode & 0o7777), (shared / "given").stat().st_gid) == ("0o750", GAMES)


@as_root
def test_a_umask_leaves_the_setgid_bit(tmp_path):
    tmp_path.chmod(0o2755)
    masked = MaskedMachine(LocalMachine(sources_port=MemoryFiles({})), 0o077)
    masked.mkdir(str(tmp_path / "a/b"), parents=True)
    for folder in ("a", "a/b"):
        assert oct(Path(tmp_path, folder).stat().st_mode & 0o7777) == "0o2700"
