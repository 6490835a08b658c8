"""States of SELinux on Debian's own policy, as its tools keep it: no kernel has to enforce it.

Each change builds the policy anew, which takes some seconds, of modules a minute.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("semanage") is None or not Path("/var/lib/selinux/default").exists(),
        reason="needs root, policycoreutils-python-utils and selinux-policy-default",
    ),
]
MODULE = b"(allow httpd_t etc_t (file (write)))\n"
SPEC = "/srv/salterncase(/.*)?"
Selinux = Callable[..., StateResult]


@pytest.fixture
def selinux() -> Selinux:
    """Foretold, done, and done again."""
    machine = LocalMachine(sources_port=MemoryFiles({"base": {"salterncase.cil": MODULE}}))

    def call(fun: str, name: str, **arguments: object) -> StateResult:
        one = Chunk(state="selinux", fun=fun, id="x", name=name, sls="s", arguments=arguments)
        test, done, again, last = (
            run({"k": one}, StateEngine(machine, test=each), test=each, clock=lambda: 0.0)["k"]
            for each in (True, False, False, True)
        )
        assert done.result is True, done.comment
        assert test.changes == done.changes
        assert (test.result is None) == bool(done.changes)
        assert (again.result, again.changes) == (last.result, last.changes) == (True, {})
        return done

    return call


@pytest.fixture
def cleaned() -> Iterator[None]:
    yield
    for words in (["fcontext", "-d", SPEC], ["port", "-d", "-p", "tcp", "8199"]):
        subprocess.run(["semanage", *words], check=False, capture_output=True)
    subprocess.run(["semodule", "-r", "salterncase"], check=False, capture_output=True)


@pytest.mark.usefixtures("cleaned")
def test_rules_of_files_and_ports(selinux: Selinux) -> None:
    assert selinux("fcontext_policy_present", SPEC, sel_type="httpd_sys_content_t").changes["old"] == {}
    changed = selinux("fcontext_policy_present", SPEC, sel_type="etc_t", sel_user="staff_u").changes
    assert changed["old"][SPEC] == {"sel_type": "httpd_sys_content_t", "sel_user": "system_u"}
    said = subprocess.run(["matchpathcon", "-n", "/srv/salterncase/f"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "staff_u:object_r:etc_t:s0"
    assert selinux("fcontext_policy_absent", SPEC).changes["old"][SPEC]["sel_user"] == "staff_u"
    assert selinux("port_policy_present", "tcp/8199", sel_type="http_port_t").changes["old"] is None
    assert selinux("port_policy_present", "tcp/8199", sel_type="ssh_port_t").changes["old"]["sel_type"] == "http_port_t"
    assert selinux("port_policy_absent", "tcp/8199").changes["new"] is None


@pytest.mark.usefixtures("cleaned")
def test_modules_and_booleans(selinux: Selinux) -> None:
    assert selinux("module_install", "salt://salterncase.cil").changes == {"installed": "salterncase"}
    toggled = selinux("module", "salterncase", module_state="disabled").changes
    assert toggled == {"salterncase": {"old": "enabled", "new": "disabled"}}
    assert selinux("module", "salterncase", remove=True).changes == {"removed": "salterncase"}
    name = "httpd_can_network_connect_db"
    for value in ("on", "off"):
        assert set(selinux("boolean", name, value=value, persist=True).changes) <= {name}
