"""network: interfaces, routes and global settings below a root of the test's own. ip, ifup, ifdown and their like are
small programs that keep in a file which interfaces are up."""

import json
import os
from pathlib import Path

import pytest
from below_root import BelowRoot

UP_AND_DOWN = """#!/usr/bin/env python3
import json, sys, pathlib
top, name, words = pathlib.Path({top!r}), pathlib.Path(sys.argv[0]).name, sys.argv[1:]
if words[0] not in ("-json", "show", "is-enabled", "is-active"):
    with (top / "log").open("a") as log:
        log.write(" ".join([name, *words]) + "\\n")
links = json.loads((top / "links").read_text())
def switch(iface, up):
    if iface == "bad0":
        sys.exit("no such device")
    links[iface] = up
    (top / "links").write_text(json.dumps(links))
if name == "ip" and words[:2] == ["-json", "address"]:
    print(json.dumps([
        {{"ifname": one, "flags": ["UP"] if up else [], "address": "02:00:00:00:00:01", "addr_info": []}}
        for one, up in links.items()
    ]))
elif name == "ip":
    switch(words[3], False)
elif name in ("ifup", "ifdown"):
    switch(words[0], name == "ifup")
elif name == "netplan":
    for one in links:
        switch(one, True)
elif name == "nmcli" and words[:2] == ["connection", "up"]:
    switch(words[3], True)
elif name == "nmcli" and words[0] == "device":
    switch(words[2], False)
elif name == "ifenslave":
    (top / "slaves").write_text(" ".join(words[1:]))
"""
INTERFACES = """# of the installer
source /etc/network/interfaces.d/*

auto lo eth0
iface lo inet loopback

# the first
iface eth0 inet static
    address 192.0.2.5/24
    # with a note
    gateway 192.0.2.1

iface eth1 inet dhcp
    strange-option 1
"""


class Net(BelowRoot):
    """A machine whose interfaces are those of a file."""

    def log(self):
        """What the programs were told; questions are none of it."""
        log = self.top.parent / "log"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def restarted(self):
        """The services that were started again."""
        told = (line.split() for line in self.log() if line.startswith("systemctl"))
        return [words[-1].removesuffix(".service") for words in told if "restart" in words]

    def links(self, **links):
        """Name → whether it is up."""
        (self.top.parent / "links").write_text(json.dumps(links))


@pytest.fixture
def net(tmp_path, monkeypatch):
    """net(os_family=…): a machine with programs of its own."""
    (tmp_path / "bin").mkdir()
    for name in ("ip", "ifup", "ifdown", "netplan", "nmcli", "ifenslave", "systemctl"):
        program = tmp_path / "bin" / name
        program.write_text(UP_AND_DOWN.format(top=str(tmp_path)))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def make(**grains):
        (tmp_path / "root").mkdir(exist_ok=True)
        machine = Net.of(tmp_path / "root", **grains)
        machine.put("/run/systemd/system/.keep", "")
        machine.links(lo=True, eth0=True, eth1=False)
        return machine

    return make


@pytest.fixture
def debian(net):
    """Debian, with ifupdown."""
    machine = net(os_family="Debian", os="Debian", osmajorrelease=12)
    machine.put("/etc/network/interfaces", INTERFACES)
    for program in ("ifup", "brctl", "pppd"):
        machine.put(f"/sbin/{program}", "")
    for folder in ("interfaces.d", "if-up.d", "if-down.d"):
        machine.put(f"/etc/network/{folder}/.keep", "")
    (machine.top / "etc/network/interfaces.d/.keep").unlink()
    machine.put("/etc/network/if-pre-up.d/ifenslave", "")
    machine.put("/etc/modprobe.d/.keep", "")
    machine.put("/etc/ppp/peers/.keep", "")
    return machine


STATIC = {"proto": "static", "ipaddr": "192.0.2.7", "netmask": "255.255.255.0", "gateway": "192.0.2.1"}


def test_an_interface_is_changed_and_all_else_stays(converge, debian):
    done = converge("network.managed", "eth0", machine=debian, **STATIC)
    assert done.comment == "Interface eth0 updated."
    assert done.changes["status"] == "Interface eth0 restart to validate"
    assert "-    address 192.0.2.5/24\n+    address 192.0.2.7\n" in done.changes["interface"]
    assert debian.log() == ["ifdown eth0", "ifup eth0"]
    assert debian.text("/etc/network/interfaces") == (
        "# of the installer\nsource /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n\n# the first\n"
        "auto eth0\niface eth0 inet static\n    address 192.0.2.7\n    netmask 255.255.255.0\n"
        "    gateway 192.0.2.1\n\niface eth1 inet dhcp\n    strange-option 1\n"
    )


def test_a_new_interface_is_added_and_brought_up(converge, debian):
    done = converge("network.managed", "eth2", machine=debian, proto="dhcp")
    assert done.changes == {"interface": "Added network interface.", "status": "Interface eth2 is up"}
    assert debian.text("/etc/network/interfaces") == f"{INTERFACES}auto eth2\niface eth2 inet dhcp\n"
    assert debian.log() == ["ifup eth2"]


def test_what_nobody_names_is_taken_out_and_shown(converge, debian):
    done = converge("network.managed", "eth1", machine=debian, proto="dhcp", enabled=False)
    assert "-    strange-option 1" in done.changes["interface"]
    assert "status" not in done.changes
    done = converge("network.managed", "eth0", machine=debian, enabled=False, **STATIC)
    assert done.changes["status"] == "Interface eth0 down"
    assert "auto eth0" not in debian.text("/etc/network/interfaces")


def test_noifupdown_leaves_the_interface_alone(converge, debian):
    done = converge("network.managed", "eth2", machine=debian, proto="dhcp", noifupdown=True)
    assert done.changes == {"interface": "Added network interface."}
    assert debian.log() == []


def test_an_interface_stays_in_its_file(converge, debian):
    file = debian.put("/etc/network/interfaces.d/wan", "iface eth3 inet dhcp\n")
    converge("network.managed", "eth3", machine=debian, proto="dhcp", mtu=1400)
    assert file.read_text() == "auto eth3\niface eth3 inet dhcp\n    mtu 1400\n"
    assert debian.text("/etc/network/interfaces") == INTERFACES
    converge("network.managed", "eth4", machine=debian, proto="dhcp", filename="lan")
    assert debian.text("/etc/network/interfaces.d/lan") == "auto eth4\niface eth4 inet dhcp\n"
    debian.put("/etc/network/interfaces.d/other", "iface eth4 inet manual\n")
    assert "name the file" in converge("network.managed", "eth4", machine=debian, proto="manual").comment


def test_bonds_have_a_file_of_modprobe_and_slaves(converge, debian):
    done = converge("network.managed", "bond0", machine=debian, type="bond", mode="active-backup", slaves="eth1 eth2",
                    proto="dhcp", miimon=100, noifupdown=True)  # fmt: skip
    assert done.changes == {"interface": "Added network interface.", "bond": "Added bond bond0."}
    assert debian.text("/etc/modprobe.d/bond0.conf").startswith("alias bond0 bonding\noptions bond0 mode=1 miimon=100 ")
    slave = converge("network.managed", "eth1", machine=debian, type="slave", master="bond0")
    assert "iface eth1 inet manual\n    bond-master bond0\n" in debian.text("/etc/network/interfaces")
    assert slave.result is True
    assert "slaves is a required" in converge("network.managed", "bond1", machine=debian, type="bond", mode=1).comment


def test_pppoe_has_a_file_that_nobody_else_reads(converge, debian):
    arguments = {"type": "pppoe", "proto": "ppp", "provider": "line", "user": "me", "password": "sesame"}
    done = converge("network.managed", "ppp0", machine=debian, noifupdown=True, **arguments)
    assert done.result is True, done.comment
    file = debian.top / "etc/ppp/peers/line"
    assert (file.stat().st_mode & 0o777, "password sesame" in file.read_text()) == (0o600, True)
    assert "sesame" not in str(done.changes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"type": "tape"}, "Option: tape"),
        ({"proto": "carrier pigeon"}, "Option: proto, Expected: [bootp|dhcp"),
        ({"proto": "static", "ipaddr": "192.0.2"}, "Option: ipaddr, Expected: [IPv4 address]"),
        ({"proto": "dhcp", "speed": 7}, "Option: 7, Expected: [10|100"),
        ({"proto": "dhcp", "gro": "perhaps"}, "Option: gro"),
        ({"proto": "dhcp", "ipadr": "192.0.2.1"}, "there is no setting ipadr of an interface: did you mean ipaddr?"),
        ({"proto": "manual", "up_cmds": ["a\niface x inet dhcp"]}, "text of one line"),
        ({"type": "bridge", "proto": "dhcp"}, "ports is a required setting for bridge interfaces on Debian"),
        ({"type": "bond", "slaves": "eth1", "mode": "9"}, "Option: mode"),
        ({"type": "slave"}, "master is a required setting"),
    ],
)
def test_what_no_interface_takes_is_an_error(converge, debian, arguments, said):
    done = converge("network.managed", "eth2", machine=debian, **arguments)
    assert done.result is False
    assert said in done.comment


def test_a_program_that_is_missing_is_named(converge, debian):
    (debian.top / "sbin/brctl").unlink()
    done = converge("network.managed", "br0", machine=debian, type="bridge", ports="eth1", proto="dhcp")
    assert "install bridge-utils by pkg.installed" in done.comment
    assert converge("network.managed", "bad0", machine=debian, proto="dhcp").comment.endswith("no such device")
    assert converge("network.managed", "../x", machine=debian, proto="dhcp").result is False


def test_an_old_name_of_an_argument_is_warned_of(converge, debian):
    done = converge("network.managed", "eth2", machine=debian, proto="dhcp", addr="02:00:00:00:00:07")
    assert "    hwaddress 02:00:00:00:00:07\n" in debian.text("/etc/network/interfaces")
    assert "'addr' is not a valid argument name" in done.warnings[0]


def test_a_source_is_added_once(converge, debian):
    done = converge("network.managed", "source", machine=debian, type="source", source="/etc/network/more/*")
    assert done.changes["interface"].endswith("+source /etc/network/more/*\n ")
    assert debian.text("/etc/network/interfaces") == f"{INTERFACES}source /etc/network/more/*\n"


ROUTES = [{"name": "office", "ipaddr": "198.51.100.0", "netmask": 24, "gateway": "192.0.2.254"}]


def test_routes_are_scripts_on_debian(converge, debian):
    done = converge("network.routes", "eth0.5", machine=debian, routes=ROUTES)
    assert done.changes == {"network_routes": "Added interface eth0.5 routes."}
    script = debian.top / "etc/network/if-up.d/route-eth0_5"
    assert script.stat().st_mode & 0o777 == 0o755
    assert "ip route add 198.51.100.0/24 via 192.0.2.254 dev eth0.5" in script.read_text()
    assert debian.restarted == ["networking"]
    done = converge("network.routes", "eth0.5", machine=debian, require_reboot=True,
                    routes=[{**ROUTES[0], "metric": 5}])  # fmt: skip
    assert done.comment == "Interface eth0.5 routes updated."
    assert debian.restarted == ["networking"]
    assert converge("network.routes", "eth0", machine=debian, routes=["198.51.100.0"]).result is False


def test_global_settings_of_debian(converge, debian):
    debian.put("/etc/resolv.conf", "domain example.net\nnameserver 192.0.2.53\n")
    debian.put("/etc/default/networking", "# mine\nCONFIGURE_INTERFACES=no\n")
    done = converge("network.system", "x", machine=debian, hostname="web.example.org", enabled=True,
                    search="a.org b.org", require_reboot=True)  # fmt: skip
    assert done.changes["network_settings"].splitlines()[3:] == [
        "-NETWORKING=no", "-DOMAIN=example.net", "+NETWORKING=yes", "+HOSTNAME=web.example.org", "+DOMAIN=example.org",
        "+SEARCH=a.org b.org",
    ]  # fmt: skip
    assert debian.text("/etc/hostname") == "web.example.org\n"
    assert debian.text("/etc/default/networking") == "# mine\nCONFIGURE_INTERFACES=yes\n"
    assert debian.text("/etc/resolv.conf") == "search a.org b.org\ndomain example.org\nnameserver 192.0.2.53\n"
    assert debian.restarted == []
    converge("network.system", "x", machine=debian, enabled=False)
    assert debian.restarted == ["networking"]
    Path(debian.top / "etc/resolv.conf").unlink()
    Path(debian.top / "etc/resolv.conf").symlink_to("stub")
    assert "is a link" in converge("network.system", "x", machine=debian, search="c.org").comment
    assert "no global setting gatway" in converge("network.system", "x", machine=debian, gatway="192.0.2.1").comment


# --- Red Hat ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def redhat(net):
    """Red Hat 8, with network-scripts."""
    machine = net(os_family="RedHat", os="CentOS", osmajorrelease=8, num_cpus=2)
    machine.put("/etc/sysconfig/network-scripts/ifcfg-lo", "DEVICE=lo\n")
    return machine


def test_red_hat_has_a_file_for_each(converge, redhat):
    done = converge("network.managed", "eth0", machine=redhat, proto="dhcp", mtu=1400)
    assert done.changes == {
        "interface": "Added network interface.", "status": "Interface eth0 restart to validate",
    }  # fmt: skip
    text = redhat.text("/etc/sysconfig/network-scripts/ifcfg-eth0")
    assert 'HWADDR="02:00:00:00:00:01"\n' in text
    done = converge("network.managed", "eth0", machine=redhat, proto="none", ipaddr="192.0.2.7", prefix=24)
    assert '-BOOTPROTO="dhcp"\n+BOOTPROTO="none"' in done.changes["interface"]
    assert redhat.log()[-2:] == ["ifdown eth0", "ifup eth0"]
    ranged = converge("network.managed", "eth0-range0", machine=redhat, ipaddr_start="192.0.2.8",
                      ipaddr_end="192.0.2.9", clonenum_start=10)  # fmt: skip
    assert ranged.comment == "network restarted for change of ranged interfaces"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"proto": "static"}, "Option: static, Expected: [none|bootp|dhcp]"),
        ({"hwaddr": "auto", "macaddr": "02:00:00:00:00:01"}, "Cannot pass both"),
        ({"prefix": 24, "netmask": "255.255.255.0"}, "Cannot use prefix and netmask together"),
        ({"ipaddrs": ["192.0.2.7"]}, "ipv4 CIDR is invalid"),
        ({"type": "bond"}, "mode is required for bond interfaces"),
        ({"type": "bond", "mode": 1, "miimon": 100, "updelay": 150}, "0 or a multiple of miimon (100)"),
        ({"type": "bond", "mode": 0}, "at least one of these is required"),
        ({"type": "ipsec"}, "manage the file with file.managed"),
        ({"type": "bridge", "bypassfirewall": False}, "sysctl.present"),
        ({"channels": {"rx": 9}}, "Option: 9"),
        ({"zone": 'a"b'}, 'text without "'),
    ],
)
def test_what_red_hat_does_not_take_is_an_error(converge, redhat, arguments, said):
    done = converge("network.managed", "eth2", machine=redhat, **arguments)
    assert done.result is False
    assert said.replace("Option: static", "Option: proto") in done.comment


def test_routes_and_global_settings_of_red_hat(converge, redhat):
    six = {"ipaddr": "2001:db8:5::", "netmask": "48", "gateway": "2001:db8::2"}
    converge("network.routes", "eth0", machine=redhat, routes=[*ROUTES, six])
    assert redhat.text("/etc/sysconfig/network-scripts/route6-eth0") == "\n2001:db8:5::/48 via 2001:db8::2\n"
    assert redhat.restarted == ["NetworkManager"]
    file = redhat.put("/etc/sysconfig/network", "NETWORKING=yes\nGATEWAY=192.0.2.1\nMINE=1\n")
    converge("network.system", "x", machine=redhat, hostname="web", retain_settings=True, nozeroconf="yes")
    assert file.read_text() == "NETWORKING=yes\nHOSTNAME=web\nGATEWAY=192.0.2.1\nNOZEROCONF=yes\nMINE=1\n"
    converge("network.system", "x", machine=redhat, enabled=True, hostname="web", gateway="192.0.2.9")
    assert file.read_text() == "NETWORKING=yes\nHOSTNAME=web\nGATEWAY=192.0.2.9\n"
    file.unlink()
    assert "Setting: networking" in converge("network.system", "x", machine=redhat, hostname="web").comment


# --- netplan and NetworkManager ---------------------------------------------------------------------------------------


@pytest.fixture
def ubuntu(net):
    """Ubuntu, with netplan and without ifupdown."""
    machine = net(os_family="Debian", os="Ubuntu", osmajorrelease=24)
    machine.put("/usr/sbin/netplan", "")
    machine.put("/etc/netplan/50-cloud-init.yaml", "network:\n  ethernets:\n    eth9:\n      dhcp4: true\n")
    return machine


def test_netplan_has_a_file_for_each(converge, ubuntu):
    done = converge("network.managed", "eth1", machine=ubuntu, dns="192.0.2.53 192.0.2.54", mtu=1400, **STATIC)
    assert done.changes == {"interface": "Added network interface.", "status": "Interface eth1 is up"}
    file = ubuntu.top / "etc/netplan/90-saltern-eth1.yaml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == (
        "network:\n  version: 2\n  ethernets:\n    eth1:\n      dhcp4: false\n      accept-ra: false\n"
        "      addresses:\n      - 192.0.2.7/24\n      routes:\n      - to: 0.0.0.0/0\n        via: 192.0.2.1\n"
        "      nameservers:\n        addresses:\n        - 192.0.2.53\n        - 192.0.2.54\n      mtu: 1400\n"
    )
    assert ubuntu.log() == ["netplan apply"]
    converge("network.managed", "eth1", machine=ubuntu, enabled=False, proto="dhcp")
    assert ubuntu.log()[-1] == "ip link set dev eth1 down"
    assert "would merge both" in converge("network.managed", "eth9", machine=ubuntu, proto="dhcp").comment
    converge("network.routes", "eth1", machine=ubuntu, routes=ROUTES)
    assert "- to: 198.51.100.0/24\n        via: 192.0.2.254\n" in ubuntu.text(
        "/etc/netplan/95-saltern-routes-eth1.yaml"
    )
    converge("network.routes", "eth1", machine=ubuntu, routes=[])
    assert not (ubuntu.top / "etc/netplan/95-saltern-routes-eth1.yaml").exists()


def test_network_manager_has_keyfiles(converge, net):
    machine = net(os_family="RedHat", os="Rocky", osmajorrelease=10)
    machine.put("/etc/NetworkManager/system-connections/.keep", "")
    done = converge("network.managed", "eth1", machine=machine, dns=["192.0.2.53"], ipv6proto="auto",
                    ipaddr="192.0.2.7", prefix=24, gateway="192.0.2.1")  # fmt: skip
    assert done.changes["status"] == "Interface eth1 is up"
    assert machine.log() == [
        "nmcli connection load /etc/NetworkManager/system-connections/eth1.nmconnection",
        "nmcli connection up id eth1",
    ]
    file = machine.top / "etc/NetworkManager/system-connections/eth1.nmconnection"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "[ipv4]\nmethod=manual\naddress1=192.0.2.7/24\ngateway=192.0.2.1\ndns=192.0.2.53;\n" in file.read_text()
    converge("network.routes", "eth1", machine=machine, routes=ROUTES)
    assert "route1=198.51.100.0/24,192.0.2.254\n" in file.read_text()
    converge("network.managed", "eth1", machine=machine, proto="dhcp", enabled=False)
    assert "route1=198.51.100.0/24,192.0.2.254\n" in file.read_text()
    assert machine.log()[-1] == "nmcli device disconnect eth1"
    assert "is not there" in converge("network.routes", "eth5", machine=machine, routes=ROUTES).comment


def test_a_machine_without_any_of_them_is_refused(converge, net):
    assert (
        "none of ifupdown" in converge("network.managed", "eth0", machine=net(os_family="Arch"), proto="dhcp").comment
    )
