"""Access control lists of real files."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.providers.security.acl import AclKind, AclPermissions, FileAcl, parse

Converge = Callable[..., StateResult]

pytestmark = [
    pytest.mark.skipif(shutil.which("setfacl") is None, reason="the package acl is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="accounts of the system own files here"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, another with a space in its name, and a program."""
    made = tmp_path / "a folder"
    (made / "deep").mkdir(parents=True)
    (made / "f").write_text("x")
    (made / "deep/program").write_text("x")
    (made / "deep/program").chmod(0o755)
    if subprocess.run(["setfacl", "-m", "u:daemon:r", made / "f"], check=False).returncode:
        pytest.skip("the file system has no access control lists")
    subprocess.run(["setfacl", "-b", made / "f"], check=True)
    return made


def listed(path: Path) -> list[str]:
    done = subprocess.run(["getfacl", "-cpE", path], capture_output=True, text=True, check=True)
    return done.stdout.split()


def told(*words: str | Path) -> None:
    subprocess.run(["setfacl", *words], check=True)


def test_one_entry_is_set_changed_and_taken_away(converge: Converge, folder: Path) -> None:
    joe = {"acl_type": "user", "acl_name": "daemon"}
    first = converge("acl.present", folder, **joe, perms="rwx")
    assert first.changes == {"new": {**joe, "perms": "rwx"}}
    assert first.comment == "Applied new permissions for daemon"
    assert "user:daemon:rwx" in listed(folder)
    again = converge("acl.present", folder, **joe, perms="rwx")
    assert (again.changes, again.comment) == ({}, "Permissions are in the desired state")
    less = converge("acl.present", folder, **joe, perms="rx")
    assert less.changes == {"old": {**joe, "perms": "rwx"}, "new": {**joe, "perms": "rx"}}
    assert less.comment == "Updated permissions for daemon"
    assert converge("acl.present", folder, **joe, perms=5).changes == {}
    assert converge("acl.absent", folder, **joe).changes == {"old": {**joe, "perms": "r-x"}}
    assert "user:daemon:r-x" not in listed(folder)
    assert converge("acl.absent", folder, **joe).changes == {}


def test_a_number_and_another_name_are_those_of_the_same_user(converge: Converge, folder: Path) -> None:
    converge("acl.present", folder, acl_type="u", acl_name="daemon", perms="r")
    assert converge("acl.present", folder, acl_type="user", acl_name=1, perms="r").changes == {}
    assert converge("acl.present", folder, acl_type="u", acl_name="4321", perms="w").changes
    assert converge("acl.present", folder, acl_type="u", acl_name=4321, perms="w").changes == {}
    assert converge("acl.absent", folder, acl_type="u", acl_name=4321).changes


def test_what_the_mask_takes_is_given_again(converge: Converge, folder: Path) -> None:
    joe = {"acl_type": "user", "acl_name": "daemon", "perms": "rwx"}
    converge("acl.present", folder / "f", **joe)
    (folder / "f").chmod(0o640)
    assert "mask::r--" in listed(folder / "f")
    assert converge("acl.present", folder / "f", **joe).changes["old"]["perms"] == "r--"
    assert converge("acl.present", folder / "f", **joe).changes == {}


def test_the_owner_the_mask_and_others(converge: Converge, folder: Path) -> None:
    assert converge("acl.present", folder / "f", acl_type="user", perms="rwx").changes
    assert converge("acl.present", folder / "f", acl_type="other", perms="").changes
    assert (folder / "f").stat().st_mode & 0o777 == 0o740
    assert converge("acl.present", folder / "f", acl_type="mask", perms="r").changes
    assert converge("acl.absent", folder / "f", acl_type="m").changes
    refused = converge("acl.absent", folder / "f", acl_type="user")
    assert refused.result is False
    assert "cannot be removed" in refused.comment
    told("-m", "g:daemon:r", folder / "f")
    refused = converge("acl.absent", folder / "f", acl_type="mask")
    assert refused.result is False
    assert "has entries with names" in refused.comment


def test_all_that_is_below(converge: Converge, folder: Path) -> None:
    joe = {"acl_type": "user", "acl_name": "daemon", "perms": "rX", "recurse": True}
    assert converge("acl.present", folder, **joe).changes
    assert [("user:daemon:r-x" in listed(folder / one)) for one in ("deep", "deep/program", "f")] == [True, True, False]
    told("-x", "u:daemon", folder / "deep/program")
    assert converge("acl.present", folder, **joe).changes
    assert converge("acl.absent", folder, acl_type="user", acl_name="daemon", recurse=True).changes
    assert not [one for one in ("deep", "deep/program", "f") if "user:daemon:r-x" in listed(folder / one)]


def test_defaults_are_those_of_folders(converge: Converge, folder: Path) -> None:
    them = {"acl_type": "default:group", "acl_name": "daemon", "perms": "rw"}
    assert converge("acl.present", folder, **them, recurse=True).changes
    assert "default:group:daemon:rw-" in listed(folder / "deep")
    (folder / "deep/new").write_text("x")
    assert "group:daemon:rw-" in listed(folder / "deep/new")
    refused = converge("acl.present", folder / "f", **them)
    assert refused.comment == f"{folder}/f: Only directories can have default ACLs"
    assert converge("acl.list_absent", folder, acl_type="d:g", acl_names=["daemon", "bin"], recurse=True).changes == {
        "old": {"acl_name": "daemon", "acl_type": "d:g"}
    }
    assert "default:group:daemon:rw-" not in listed(folder / "deep")


def test_several_at_once(converge: Converge, folder: Path) -> None:
    them = {"acl_type": "user", "acl_names": ["daemon", "bin"], "perms": "rx"}
    told("-m", "u:games:r", folder)
    first = converge("acl.list_present", folder, **them)
    assert first.changes == {"new": {"acl_name": "daemon, bin", "acl_type": "user", "perms": "rx"}}
    assert "user:games:r--" in listed(folder)
    told("-m", "u:bin:w", folder)
    other = converge("acl.list_present", folder, **them, force=True)
    assert other.changes["old"] == {"acl_name": "daemon, bin", "acl_type": "user", "perms": "2"}
    assert other.changes["new"]["perms"] == 5
    assert other.comment == "Updated permissions for ['daemon', 'bin']"
    assert "user:games:r--" not in listed(folder)
    assert converge("acl.list_absent", folder, acl_type="user", acl_names=["daemon", "bin"]).changes
    assert converge("acl.list_absent", folder, acl_type="user").changes == {}


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("nothing", {"acl_type": "user", "acl_name": "daemon"}, "nothing does not exist"),
        ("f", {"acl_type": "people", "acl_name": "daemon"}, "ACL Type does not exist"),
        ("f", {"acl_type": "user", "acl_name": "saltern-nobody"}, "there is no such user"),
        ("f", {"acl_type": "user", "acl_name": "a:rwx,u:b"}, "cannot be the name of a user"),
        ("f", {"acl_type": "other", "acl_name": "daemon"}, "cannot be the name of a other"),
        ("f", {"acl_type": "user", "acl_name": "daemon", "perms": "all"}, "are no permissions"),
    ],
)
def test_what_cannot_be(
    converge: Converge, folder: Path, name: str, arguments: dict[str, Any], said: str
) -> None:  # fmt: skip
    before = listed(folder / "f")
    result = converge("acl.present", folder / name, **{"perms": "r", **arguments})
    assert result.result is False
    assert said in result.comment
    assert listed(folder / "f") == before


def test_a_file_and_a_user_that_earlier_states_would_make_are_waited_for(folder: Path) -> None:
    made = Chunk(state="file", fun="managed", id="a", name=f"{folder}/new", sls="s", arguments={"contents": "x"})
    them = {"acl_type": "user", "acl_name": "daemon", "perms": "r"}
    acl = Chunk(state="acl", fun="present", id="b", name=f"{folder}/new", sls="s", arguments=them)
    joe = Chunk(state="user", fun="present", id="c", name="saltern-joe", sls="s", arguments={})
    of_joe = Chunk(
        state="acl", fun="present", id="d", name=f"{folder}/f", sls="s", arguments={**them, "acl_name": "saltern-joe"}
    )
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=True)
    found = run({"a": made, "b": acl, "c": joe, "d": of_joe}, engine, test=True, clock=lambda: 0.0)
    assert [found[one].result for one in "abcd"] == [None] * 4
    assert found["d"].changes == {"new": {"acl_name": "saltern-joe", "acl_type": "user", "perms": "r"}}


def test_functions_show_and_set_lists(folder: Path) -> None:
    modules = Modules(Context(minion_id="x"))
    path = f"{folder}/f"
    assert modules.call("acl.version")[0].isdigit()
    assert modules.call("acl.modfacl", ("user", "daemon", "rw", path)) is True
    (folder / "f").chmod(0o640)
    shown = modules.call("acl.getfacl", (path,))
    assert shown[path]["user"] == [
        {"root": {"octal": 6, "permissions": {"read": True, "write": True, "execute": False}}},
        {"daemon": {"octal": 4, "permissions": {"read": True, "write": False, "execute": False}}},
    ]
    assert shown[path]["comment"] == {"file": path, "owner": "root", "group": "root"}
    assert shown[path]["mask"] == [{"": {"octal": 4, "permissions": {"read": True, "write": False, "execute": False}}}]
    (folder / "deep").chmod(0o2775)
    assert modules.call("acl.modfacl", ("d:g", "daemon", 7, str(folder)), {"recursive": True}) is True
    below = modules.call("acl.getfacl", (str(folder),), {"recursive": True})
    assert below[f"{folder}/deep"]["defaults"]["group"][1]["daemon"]["octal"] == 7
    assert below[f"{folder}/deep"]["sgid"] is True
    assert modules.call("acl.delfacl", ("user", "daemon", path)) is True
    assert "user:daemon:rw-" not in listed(folder / "f")
    assert modules.call("acl.wipefacls", (str(folder),), {"recursive": True}) is True
    assert not [one for one in listed(folder / "deep") if one.startswith("default")]
    with pytest.raises(CallFailed, match="No such file"):
        modules.call("acl.modfacl", ("user", "daemon", "r", f"{folder}/none"))
    with pytest.raises(CallFailed, match="at least one file"):
        modules.call("acl.wipefacls")


def test_lists_are_read_as_getfacl_writes_them() -> None:
    text = (
        "# file: /a\\040b\\012\n# owner: joe\n# group: dev\n# flags: s-t\nuser::rwx\nuser:dom\\134joe:rw-\n"
        "group::r--\nmask::r--\nother::---\ndefault:user::rwx\n\n# file: /c\n# owner: 1\n# group: 2\nuser::r--\n\n"
    )
    first, second = parse(text)
    assert (first.path, first.owner, first.group, first.flags) == ("/a b\n", "joe", "dev", "s-t")
    entry = first.find(AclKind("user"), "dom\\joe")
    assert entry is not None
    assert first.effective(entry) == 4
    assert second == FileAcl("/c", "1", "2", "", second.entries)
    assert not second.runs
    assert [AclPermissions.of(one).words for one in ("rX", "7", "", "x-r")] == ["r--X", "rwx", "---", "r-x"]
