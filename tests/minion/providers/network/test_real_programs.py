"""What is written is read by the real netplan, nmcli and ifupdown. Nothing of this machine is changed."""

import shutil
import subprocess

import pytest
from below_root import BelowRoot

from minion.providers.network.files import InterfaceWish, write_all
from minion.providers.network.ifupdown import Ifupdown
from minion.providers.network.keyfiles import Keyfiles
from minion.providers.network.netplan import Netplan
from tools.oracle.network import DEBIAN

STATIC = {"proto": "static", "ipaddr": "192.0.2.7", "netmask": "255.255.255.0", "gateway": "192.0.2.1",
          "dns": ["192.0.2.53", "2001:db8::53"], "search": "example.org", "mtu": 1400}  # fmt: skip
SIX = {"ipv6proto": "static", "ipv6addr": "2001:db8::7", "ipv6netmask": 64, "ipv6gateway": "2001:db8::1"}
WISHES = [
    InterfaceWish(name="eth0", settings={"proto": "dhcp"}),
    InterfaceWish(name="eth1", settings={**STATIC, **SIX}),
    InterfaceWish(name="eth2", enabled=False, settings={"proto": "dhcp", "ipv6proto": "auto"}),
    InterfaceWish(name="eth3", kind="slave", settings={"master": "bond0"}),
    InterfaceWish(name="bond0", kind="bond", settings={"mode": "802.3ad", "slaves": ["eth3"], "miimon": 100,
                                                       "lacp_rate": "fast", "ipaddr": "198.51.100.7", "prefix": 24}),
    InterfaceWish(name="eth1.5", kind="vlan", settings={"proto": "dhcp"}),
    InterfaceWish(name="br0", kind="bridge", settings={"proto": "dhcp", "ports": "none", "stp": "on", "fd": 4}),
]  # fmt: skip
ROUTES = [
    {"ipaddr": "203.0.113.0", "netmask": "255.255.255.0", "gateway": "192.0.2.254", "metric": 5},
    {"ipaddr": "2001:db8:5::", "netmask": 48, "gateway": "2001:db8::2"},
]


def test_netplan_makes_of_it_what_was_meant(tmp_path):
    program = shutil.which("netplan")
    if program is None:
        pytest.skip("needs Debian's netplan.io")
    machine, files = BelowRoot.of(tmp_path), Netplan()
    (tmp_path / "etc/netplan").mkdir(parents=True)
    for wish in WISHES:
        write_all(machine, files.wanted_interface(machine, wish).files)
    write_all(machine, files.wanted_routes(machine, "eth1", ROUTES).files)
    done = subprocess.run([program, "generate", "--root-dir", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = {
        file.stem.removeprefix("10-netplan-"): file.read_text()
        for file in tmp_path.glob("run/systemd/network/*.network")
    }
    assert made["eth0"].count("DHCP=ipv4") == 1
    for line in ("Address=192.0.2.7/24", "Address=2001:db8::7/64", "DNS=192.0.2.53", "Domains=example.org",
                 "Destination=203.0.113.0/24", "Destination=2001:db8:5::/48", "Metric=5"):  # fmt: skip
        assert line in made["eth1"]
    assert "Bond=bond0" in made["eth3"]
    assert "ActivationPolicy=always-down" in made["eth2"]


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.name)
def test_networkmanager_reads_it(tmp_path, wish):
    program = shutil.which("nmcli")
    if program is None:
        pytest.skip("needs Debian's network-manager")
    machine, files = BelowRoot.of(tmp_path), Keyfiles()
    (tmp_path / "etc/NetworkManager/system-connections").mkdir(parents=True)
    write_all(machine, files.wanted_interface(machine, wish).files)
    if wish.name == "eth1":
        write_all(machine, files.wanted_routes(machine, "eth1", ROUTES).files)
    text = machine.text(f"/etc/NetworkManager/system-connections/{wish.name}.nmconnection")
    argv = [program, "--offline", "connection", "modify", "connection.autoconnect-retries", "3"]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for line in text.splitlines():  # what it did not know, it would have left out
        default = line in ("autoconnect=true", "stp=true") or line.startswith(("flags=", "slave-type", "master"))
        assert line in done.stdout or default or line.startswith(("gateway=", "address1=", "route")), done.stdout


@pytest.mark.parametrize("case", [case for case in DEBIAN if case.kind], ids=lambda case: f"{case.name}-{case.kind}")
def test_ifupdown_reads_it(tmp_path, case):
    program = shutil.which("ifquery")
    if program is None:
        pytest.skip("needs Debian's ifupdown")
    machine = BelowRoot.of(tmp_path)
    file = machine.put("/etc/network/interfaces", "")
    wish = InterfaceWish(name=case.name, kind=case.kind, enabled=case.enabled, settings=case.settings)
    write_all(machine, Ifupdown().wanted_interface(machine, wish).files)
    done = subprocess.run(
        [program, "--interfaces", file, "--state-dir", tmp_path, case.name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for line in file.read_text().splitlines():
        option, _, value = line.strip().partition(" ")
        if option not in ("auto", "iface", "allow-hotplug", "netmask", "address", "up", "down", "pre-down"):
            assert f"{option}: {value}" in done.stdout
