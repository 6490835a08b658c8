"""A real firewalld, in a network namespace and on a message bus of the test's own."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from predictions import assert_foretold, foretold_and_done

from highstate.files import MemoryFiles
from minion.engine.registry import find
from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.machine.plan import Plan
from minion.providers.firewall import firewalld as provider
from minion.states.firewall import firewalld

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>custom</type><listen>unix:path={bus}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow own="*"/><allow user="*"/><allow receive_sender="*"/>
</policy></busconfig>
"""


@pytest.fixture(scope="module")
def firewall(tmp_path_factory: pytest.TempPathFactory, wrap: Callable[..., Path], namespace: int) -> Iterator[Path]:
    """The folder of a firewalld's configuration; firewall-cmd asks this one."""
    top = tmp_path_factory.mktemp("firewalld")
    address = f"unix:path={top}/bus"
    wrap("firewall-cmd", DBUS_SYSTEM_BUS_ADDRESS=address)
    server = shutil.which("firewalld")
    if server is None or shutil.which("dbus-daemon") is None:
        pytest.skip("firewalld is not installed")
    (top / "bus.conf").write_text(BUS.format(bus=f"{top}/bus"))
    settings = Path("/etc/firewalld/firewalld.conf").read_text().replace("IPv6_rpfilter=yes", "IPv6_rpfilter=no")
    (top / "etc").mkdir()
    (top / "etc/firewalld.conf").write_text(settings)
    bus = subprocess.Popen(["dbus-daemon", f"--config-file={top}/bus.conf", "--nofork", "--nopidfile"],
                           stderr=subprocess.DEVNULL)  # fmt: skip
    words = ["nsenter", "-t", str(namespace), "-n", "env", f"DBUS_SYSTEM_BUS_ADDRESS={address}", server, "--nofork",
             "--nopid", f"--system-config={top}/etc", f"--log-file={top}/log"]  # fmt: skip
    until = time.monotonic() + 60
    while not (top / "bus").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    daemon = subprocess.Popen(words)
    while subprocess.run(["firewall-cmd", "--state"], capture_output=True, check=False).returncode != 0:
        if daemon.poll() is not None:
            pytest.skip(f"firewalld does not run here: {(top / 'log').read_text()[-300:]}")
        assert time.monotonic() < until
        time.sleep(0.2)
    yield top / "etc"
    for one in daemon, bus:
        one.terminate()
        one.wait(30)


def command(*words: str) -> str:
    return subprocess.run(["firewall-cmd", *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def machine() -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({}))


@pytest.mark.usefixtures("firewall")
def test_a_zone_is_made_and_has_what_it_shall(machine: LocalMachine) -> None:
    before = command("--permanent", "--get-zones").split()
    wanted: dict[str, Any] = {
        "masquerade": True,
        "default": True,
        "ports": ["22/tcp", "25/tcp"],
        "port_fwd": ["22:2222:tcp", "80:443:tcp:10.0.0.1"],
        "services": ["http"],
        "sources": ["10.0.0.0/8"],
        "interfaces": ["nothing0"],
        "block_icmp": ["echo-reply", "no-such-type"],
        "rich_rules": ["rule port port=22 protocol='tcp' family=ipv4 source address=10.1.0.0/16 accept"],
    }
    [(foretold, made)] = foretold_and_done(machine, ("firewalld.present", "mine", wanted))
    assert (foretold.result, foretold.changes) == (None, made.changes)
    assert made.comment == "'mine' was configured."
    assert made.changes == {
        "mine": {"old": before, "new": "mine"},
        "default": {"old": "public", "new": "mine"},
        "masquerade": {"old": False, "new": "Masquerading successfully set."},
        "icmp_types": {"old": [], "new": ["echo-reply"]},
        "ports": {"old": [], "new": ["22/tcp", "25/tcp"]},
        "port_fwd": {
            "old": [],
            "new": [
                {"Source port": "22", "Destination port": "2222", "Protocol": "tcp", "Destination address": ""},
                {"Source port": "80", "Destination port": "443", "Protocol": "tcp", "Destination address": "10.0.0.1"},
            ],
        },
        "services": {"old": [], "new": ["http"]},
        "interfaces": {"old": [], "new": ["nothing0"]},
        "sources": {"old": [], "new": ["10.0.0.0/8"]},
        "rich_rules": {
            "old": [],
            "new": ['rule port port="22" protocol="tcp" family="ipv4" source address="10.1.0.0/16" accept'],
        },
    }  # fmt: skip
    # In force, too, and not only written down.
    assert command("--zone=mine", "--list-ports").split() == ["22/tcp", "25/tcp"]
    pruned = planned(
        machine, "mine", masquerade=False, ports="25/tcp", prune_ports=True, prune_rich_rules=True, services=["ssh"],
        prune_port_fwd=True,
    )  # fmt: skip
    shown = {each.key: (each.old, each.new) for each in pruned.changes}
    assert shown["masquerade"] == (True, "Masquerading successfully disabled.")
    assert shown["ports"] == (["22/tcp", "25/tcp"], ["25/tcp"])
    assert shown["services"] == (["http"], ["http", "ssh"])
    assert (shown["rich_rules"][1], shown["port_fwd"][1]) == ([], [])
    assert "sources" not in shown
    for change in pruned.changes:
        change.act(machine)
    assert provider.zone(machine, "mine")["rich rules"] == []
    command("--set-default-zone=public")


def planned(machine: LocalMachine, name: str, **arguments: Any) -> Plan:
    return find("firewalld", "present", "s").plan(machine, name, arguments)


@pytest.mark.usefixtures("firewall")
def test_a_service_is_these_ports_and_no_others_and_a_zone_of_the_run_has_it(machine: LocalMachine) -> None:
    assert_foretold(
        machine,
        ("firewalld.service", "saltern", {"ports": ["4505/tcp", "4506/tcp"], "protocols": ["sctp"]}),
        ("firewalld.present", "public", {"services": ["saltern"]}),
    )
    assert "saltern" in command("--list-services").split()
    fewer = firewalld.service(machine, "saltern", ports=("4505/tcp",))
    assert [(each.key, each.old, each.new) for each in fewer.changes] == [
        ("ports", ["4505/tcp", "4506/tcp"], ["4505/tcp"]),
        ("protocols", ["sctp"], []),
        ("", None, None),
    ]
    bare = firewalld.service(machine, "bare")
    assert [(each.key, each.new) for each in bare.changes] == [("bare", "bare"), ("", None)]
    assert firewalld.service(machine, "ssh", ports=("22/tcp",)).comment == "'ssh' is already in the desired state."


@pytest.mark.usefixtures("firewall")
def test_what_firewalld_refuses_fails_with_its_words(machine: LocalMachine) -> None:
    [change, _] = planned(machine, "public", ports=["99999/tcp", "99/tcp"]).changes
    with pytest.raises(StateFailed, match="Error: firewall-cmd failed: Error: INVALID_PORT: 99999"):
        change.act(machine)
    with pytest.raises(StateFailed, match="Error: firewall-cmd failed: Error: INVALID_SERVICE: none"):
        planned(machine, "public", services=["none"])
    with pytest.raises(StateFailed, match="'22' is no forwarded port"):
        planned(machine, "public", port_fwd=["22"])


def test_without_firewalld_there_is_a_failure_or_a_promise(
    machine: LocalMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(StateFailed, match="firewalld is probably not installed"):
        firewalld.service(machine, "x")
    promised = firewalld.present(machine, "x", contents=firewalld.ZoneContents(), to_come={("pkg", "firewalld")})
    assert promised.pending == "'x' will be configured once firewalld is there"


def test_a_rich_rule_is_the_same_in_another_order() -> None:
    meaning = provider.meaning
    one = 'rule family="ipv4" source NOT address="10.0.0.0/8" port port="22" protocol="tcp" accept'
    assert meaning(one) == meaning("rule port protocol=tcp port=22 source NOT address=10.0.0.0/8 accept family=ipv4")
    assert meaning(one) != meaning(one.replace("NOT ", ""))
    swapped = "rule source address=a destination address=b accept", "rule source address=b destination address=a accept"
    assert meaning(swapped[0]) != meaning(swapped[1])
    assert meaning("rule 'open") == (("rule 'open",),)


@pytest.mark.usefixtures("firewall")
def test_the_module_asks_and_tells() -> None:
    def call(fun: str, *args: Any, **given: Any) -> Any:
        return Modules(Context(minion_id="m")).call(f"firewalld.{fun}", args, given)

    assert call("default_zone") == "public"
    assert call("new_zone", "m", restart=False) == "success"
    assert call("add_port", "m", "80/tcp", force_masquerade=True) == "success"
    assert call("add_port_fwd", "m", "80", "443") == "success"
    assert call("list_port_fwd", "m")[0]["Destination port"] == "443"
    whole = call("list_all", "m")["m"]
    assert (whole["ports"], whole["masquerade"], whole["services"]) == (["80/tcp"], ["yes"], [""])
    assert call("block_icmp", "m", "echo-reply") == "success"
    assert call("block_icmp", "m", "none") is False
    assert call("add_rich_rule", "m", 'rule service name="ssh" accept') == "success"
    assert call("get_rich_rules", "m") == ['rule service name="ssh" accept']
    with pytest.raises(CallFailed, match="The service does not exist"):
        call("add_service_port", "none", "1/tcp")
    with pytest.raises(CallFailed, match="firewall-cmd failed: Error: INVALID_ZONE"):
        call("list_ports", "none")
