"""States of SELinux, on programs that hold what they are told; on Debian's real policy they are in tests/e2e."""

import bz2
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.machine.plan import FileStat

PROGRAMS = ("getenforce", "setenforce", "setsebool", "semodule", "semanage", "restorecon")
PLACES = ("/etc/selinux/", "/var/lib/selinux/")
TREE = {"web/mine.cil": b"(allow a b (file (read)))", "web/other.txt": b"x"}


class Rooted(LocalMachine):
    """A machine whose files of SELinux lie below a folder."""

    top = ""

    def _of(self, path: str) -> str:
        return f"{self.top}{path}" if path.startswith(PLACES) else path

    def stat(self, path: str) -> FileStat | None:
        return super().stat(self._of(path))

    def read(self, path: str) -> bytes:
        return super().read(self._of(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        super().write(self._of(path), data, mode=mode)


class Selinux:
    """The programs, and what they hold."""

    def __init__(self, top: Path, converge: Callable[..., StateResult]) -> None:
        self._kept, self.config, self._converge = top / "state.json", top / "root/etc/selinux/config", converge
        self.store = top / "root/var/lib/selinux/default/active/modules/400"
        self.config.parent.mkdir(parents=True)
        self.config.write_text("# SELINUX= can be\nSELINUX=permissive\nSELINUXTYPE=default\n")
        self.machine = Rooted(sources_port=MemoryFiles({"base": TREE}))
        self.machine.top = str(top / "root")
        self.set(
            mode="Enforcing",
            booleans={"web_net": ["off", "off"], "web_mail": ["on", "off"]},
            modules=[[100, "base", "pp", True], [100, "web", "pp", False]],
            store=str(self.store),
            contexts=[["/etc/.*", "all files", "system_u:object_r:etc_t:s0"]],
            local_contexts=[],
            ports=[["tcp", "80", "http_t"], ["tcp", "22", "ssh_t"]],
            local_ports=[],
            labels={},
        )

    def set(self, **values: Any) -> None:
        self._kept.write_text(json.dumps({**self.all, **values}))

    @property
    def all(self) -> dict[str, Any]:
        return dict(json.loads(self._kept.read_text())) if self._kept.exists() else {}

    def __call__(self, fun: str, name: Any, **arguments: Any) -> StateResult:
        return self._converge(f"selinux.{fun}", name, machine=self.machine, **arguments)


@pytest.fixture
def selinux(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, converge: Any, monkeypatch: Any
) -> Iterator[Selinux]:  # fmt: skip
    folder = tmp_path_factory.mktemp("bin")
    program = Path(__file__).with_name("fake_selinux.py")
    for name in PROGRAMS:
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {program} {tmp_path}/state.json {name} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Selinux(tmp_path, converge)


def test_the_mode_of_now_and_of_the_next_boot(selinux: Selinux) -> None:
    first = selinux("mode", "permissive")
    assert (first.changes, first.comment) == (
        {"old": "Enforcing", "new": "Permissive"},
        "SELinux has been set to Permissive mode",
    )
    assert selinux.all["mode"] == "Permissive"
    assert selinux("mode", "enforcing").changes == {"old": "Permissive", "new": "Enforcing"}
    assert selinux.config.read_text() == "# SELINUX= can be\nSELINUX=enforcing\nSELINUXTYPE=default\n"
    selinux.config.write_text("SELINUXTYPE=default\nSELINUX=permissive")
    assert selinux("mode", "Enforcing").changes == {"old": "Permissive", "new": "Enforcing"}
    assert selinux("mode", "Enforcing").comment == "SELinux is already in Enforcing mode"
    assert selinux("mode", "disabled").changes == {"old": "Enforcing", "new": "Disabled"}
    assert selinux.all["mode"] == "Permissive"
    assert selinux("mode", "disabled").comment == "SELinux is already in Disabled mode, from the next boot on"
    selinux.set(mode="Disabled")
    assert selinux("mode", "enforcing").changes == {"old": "Disabled", "new": "Enforcing"}
    assert selinux("mode", "never").comment == "never is not an accepted mode"
    selinux.config.unlink()
    assert "Could not read SELinux config file" in selinux("mode", "permissive").comment


def test_booleans(selinux: Selinux) -> None:
    assert selinux("boolean", "web_net", value=True).changes == {"web_net": {"old": "off", "new": "on"}}
    assert selinux("boolean", "web_net", value="yes").comment == (
        "The following booleans were in the correct state: web_net"
    )
    several = selinux("boolean", "x", value=True, persist=True, booleans=["web_net", {"web_mail": "off"}])
    assert several.changes == {
        "web_net": {"old": ["on", "off"], "new": ["on", "on"]},
        "web_mail": {"old": ["on", "off"], "new": ["off", "off"]},
    }
    assert several.comment == "The following booleans have been changed: web_mail, web_net"
    assert selinux.all["booleans"] == {"web_net": ["on", "on"], "web_mail": ["off", "off"]}
    assert selinux("boolean", "none", value=True).comment == "Boolean none is not available"
    assert selinux("boolean", "web_net").comment == "None is not a valid value for the boolean web_net"
    assert selinux("boolean", "x", booleans={"web_net": 0}).changes


def test_modules(selinux: Selinux) -> None:
    toggled = selinux("module", "web", module_state="Enabled")
    assert toggled.changes == {"web": {"old": "disabled", "new": "enabled"}}
    assert toggled.comment == "Module web has been set to Enabled"
    assert selinux("module", "web", module_state=True).comment == "Module web is in the desired state"
    assert selinux("module", "none").comment == "Module none is not available"
    assert "is not a valid state for the web module" in selinux("module", "web", module_state="half").comment
    assert "does not match the desired version" in selinux("module", "web", version="1.0").comment
    assert "at the same time" in selinux("module", "web", install=True, remove=True).comment
    new = selinux("module", "mine", install=True, source="salt://web/mine.cil", module_state="disabled")
    assert new.changes == {"installed": "mine", "mine": {"old": "enabled", "new": "disabled"}}
    assert selinux.all["modules"][-1] == [400, "mine", "cil", False]
    assert not Path("/run/saltern-selinux-mine").exists()
    assert selinux("module_install", "salt://web/mine.cil").changes == {}
    (selinux.store / "mine/cil").write_bytes(bz2.compress(b"older"))
    assert selinux("module_install", "salt://web/mine.cil").changes == {"installed": "mine"}
    assert selinux("module", "mine", remove=True).changes == {"removed": "mine"}
    assert selinux("module_remove", "mine").comment == "Module mine is not available"
    assert "is of the policy itself" in selinux("module_remove", "web").comment
    assert "no such file" in selinux("module_install", "/nowhere/a.pp").comment
    assert "cannot be a module" in selinux("module_install", "salt://web/other.txt").comment


def test_rules_about_labels(selinux: Selinux) -> None:
    spec = "/srv/a-b(/.*)?"
    first = selinux("fcontext_policy_present", spec, sel_type="web_t")
    assert first.changes == {"old": {}, "new": {spec: {"filetype": "all files", "sel_type": "web_t"}}}
    assert selinux("fcontext_policy_present", spec, sel_type="web_t").comment == (
        f'SELinux policy for "{spec}" already present with specified filetype "all files" and sel_type "web_t".'
    )
    other = selinux("fcontext_policy_present", spec, sel_type="mail_t", sel_level="s0:c1")
    assert other.changes["old"] == {spec: {"sel_type": "web_t", "sel_level": "s0"}}
    assert other.changes["new"] == {spec: {"sel_type": "mail_t", "sel_level": "s0:c1"}}
    assert selinux("fcontext_policy_present", spec, sel_type="dir_t", filetype="d").changes["old"] == {}
    assert selinux("fcontext_policy_present", "/etc/.*", sel_type="mine_t").changes["old"]
    assert "already absent" in selinux("fcontext_policy_absent", spec, sel_type="web_t").comment
    gone = selinux("fcontext_policy_absent", spec)
    assert gone.changes["old"][spec]["sel_type"] == "mail_t"
    assert gone.changes["new"] == {}
    selinux.set(local_contexts=[])
    assert "is of the policy itself" in selinux("fcontext_policy_absent", "/etc/.*").comment
    strange = selinux("fcontext_policy_present", spec, sel_type="a_t", filetype="x")
    assert "Invalid file type code 'x'" in strange.comment
    assert "Type bad is invalid" in selinux("fcontext_policy_present", spec, sel_type="bad").comment
    assert "has a space" in selinux("fcontext_policy_present", "/srv/a b", sel_type="web_t").comment
    assert "cannot be a value" in selinux("fcontext_policy_present", spec, sel_type="--noreload").comment


def test_labels(selinux: Selinux, tmp_path: Path) -> None:
    folder = tmp_path / "srv"
    folder.mkdir()
    (folder / "f").write_text("x")
    selinux.set(labels={str(folder / "f"): "user_u:object_r:web_t:s0"})
    applied = selinux("fcontext_policy_applied", folder, recursive=True)
    assert applied.changes == {
        str(folder): {"old": {"sel_type": "default_t"}, "new": {"sel_type": "web_t"}},
        str(folder / "f"): {"old": {"sel_user": "user_u"}, "new": {"sel_user": "system_u"}},
    }
    assert "already applied" in selinux("fcontext_policy_applied", folder, recursive=True).comment
    assert selinux("fcontext_policy_applied", f"{folder}/none").comment == f"{folder}/none does not exist"


def test_ports(selinux: Selinux) -> None:
    first = selinux("port_policy_present", "tcp/8080", sel_type="http_t")
    assert first.changes == {"old": None, "new": {"sel_type": "http_t", "protocol": "tcp", "port": "8080"}}
    again = selinux("port_policy_present", "x", protocol="tcp", port=8080, sel_type="http_t")
    assert "already present" in again.comment
    other = selinux("port_policy_present", "tcp/22", sel_type="http_t", sel_range="s0")
    assert other.changes["old"] == {"sel_type": "ssh_t", "protocol": "tcp", "port": "22"}
    assert selinux("port_policy_present", "udp/20-21", sel_type="ftp_t").changes
    gone = selinux("port_policy_absent", "tcp/8080")
    assert gone.changes == {"old": {"sel_type": "http_t", "protocol": "tcp", "port": "8080"}, "new": None}
    assert "already absent" in selinux("port_policy_absent", "tcp/8080").comment
    assert "already absent" in selinux("port_policy_absent", "tcp/80", sel_type="ssh_t").comment
    assert "is of the policy itself" in selinux("port_policy_absent", "tcp/80").comment
    assert "Invalid name" in selinux("port_policy_present", "8080", sel_type="http_t").comment


def test_functions(selinux: Selinux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "machine", selinux.machine)
    context = Context(minion_id="x")

    def call(fun: str, *args: Any, **kwargs: Any) -> Any:
        return Modules(context).call(f"selinux.{fun}", args, kwargs)

    assert call("selinux_fs_path") in (None, "/sys/fs/selinux", "/selinux")
    assert (call("getenforce"), call("getconfig")) == ("Enforcing", "Permissive")
    assert call("setenforce", "permissive") == "Permissive"
    with pytest.raises(CallFailed, match="Invalid mode"):
        call("setenforce", "half")
    assert call("setsebool", "web_net", True, persist=True) is True
    assert call("getsebool", "web_net") == {"State": "on", "Default": "on", "Description": "Allow web_net to do"}
    assert call("setsebools", {"web_net": "off", "web_mail": 0}) is True
    assert {name: one["State"] for name, one in call("list_sebool").items()} == {"web_net": "off", "web_mail": "off"}
    assert call("getsebool", "none") == {}
    assert call("setsemod", "web", "Enabled") is True
    assert call("install_semod", "salt://web/mine.cil") is True
    assert call("list_semod")["mine"] == call("getsemod", "web") == {"Enabled": True, "Version": None}
    assert call("remove_semod", "mine") is True
    with pytest.raises(CallFailed, match="Unable to remove"):
        call("remove_semod", "mine")
    assert call("filetype_id_to_string", "d") == "directory"
    assert call("fcontext_add_policy", "/srv/x", sel_type="web_t", filetype="d")["retcode"] == 0
    assert call("fcontext_get_policy", "/srv/x") == {
        "filespec": "/srv/x", "filetype": "directory", "sel_user": "system_u", "sel_role": "object_r",
        "sel_type": "web_t", "sel_level": "s0",
    }  # fmt: skip
    assert call("fcontext_delete_policy", "/srv/x", filetype="d")["retcode"] == 0
    assert call("fcontext_get_policy", "/srv/x") is None
    (tmp_path / "f").write_text("x")
    assert call("fcontext_policy_is_applied", f"{tmp_path}/f").startswith("Would relabel")
    assert call("fcontext_apply_policy", f"{tmp_path}/f")["changes"][f"{tmp_path}/f"]["new"] == {"sel_type": "web_t"}
    assert call("fcontext_policy_is_applied", f"{tmp_path}/f") == ""
    assert call("port_add_policy", "tcp/8099", "http_t")["retcode"] == 0
    assert call("port_modify_policy", "tcp/8099", "mail_t")["retcode"] == 0
    assert call("port_get_policy", "x", protocol="tcp", port=8099)["sel_type"] == "mail_t"
    assert call("port_delete_policy", "tcp/8099")["retcode"] == 0
    assert call("port_get_policy", "tcp/8099") is None
    with pytest.raises(CallFailed, match="SELinux Type is required"):
        call("port_add_policy", "tcp/8099")


def test_labels_of_real_files(tmp_path: Path) -> None:
    modules = Modules(Context(minion_id="x"))
    path = f"{tmp_path}/f"
    Path(path).write_text("x")
    assert modules.call("file.set_selinux_context", (path,)) is False
    try:
        os.setxattr(path, "security.selinux", b"system_u:object_r:tmp_t:s0\0")
    except OSError:
        pytest.skip("files cannot have labels here")
    assert modules.call("file.get_selinux_context", (path,)) == "system_u:object_r:tmp_t:s0"
    changed = modules.call("file.set_selinux_context", (path,), {"type": "etc_t"})
    assert changed == "system_u:object_r:etc_t:s0"
    assert "No selinux context information" in modules.call("file.get_selinux_context", (f"{path}x",))
