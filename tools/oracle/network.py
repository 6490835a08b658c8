"""Record what Salt writes for interfaces and routes: tests/golden/network-files.json is written anew.

    python -m tools.oracle.network VENV

VENV is a virtualenv with Salt 3008. Its modules debian_ip and rh_ip write below a folder of their own; nothing is
installed, brought up or asked of the machine. tests/minion/providers/network/test_salt_files.py compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden/network-files.json"


class NetworkCase(NamedTuple):
    """A call of build_interface, or of build_routes where there is no kind."""

    name: str
    kind: str
    enabled: bool
    settings: Mapping[str, Any]


_STATIC = {"proto": "static", "ipaddr": "192.0.2.7", "netmask": "255.255.255.0", "gateway": "192.0.2.1"}
_SIX = {"enable_ipv6": True, "ipv6proto": "static", "ipv6addr": "2001:db8::7", "ipv6netmask": 64,
        "ipv6gateway": "2001:db8::1"}  # fmt: skip
_ROUTES = [
    {"name": "office", "ipaddr": "198.51.100.0", "netmask": "255.255.255.0", "gateway": "192.0.2.254"},
    {"name": "six", "ipaddr": "2001:db8:5::", "netmask": "48", "gateway": "2001:db8::2"},
    {"ipaddr": "203.0.113.0", "netmask": "24"},
    {"ipaddr": "10.0.0.0", "netmask": "8", "gateway": "192.0.2.9", "metric": 50},
]
DEBIAN: tuple[NetworkCase, ...] = (
    NetworkCase("eth0", "eth", True, {"proto": "dhcp"}),
    NetworkCase("eth0", "eth", False, {"proto": "dhcp", "hotplug": True, "mtu": 1400}),
    NetworkCase("eth0", "eth", True, {**_STATIC, "dns": ["192.0.2.53", "192.0.2.54"]}),
    NetworkCase("eth0", "eth", True, {**_STATIC, **_SIX, "mtu": 1480, "ttl": 18, "ipv6ttl": 15}),
    NetworkCase("eth0", "eth", True, {**_STATIC, **_SIX, "enable_ipv6": False}),
    NetworkCase("eth0", "eth", True, {"proto": "static", "ipaddrs": ["192.0.2.7/24", "192.0.2.8/24"]}),
    NetworkCase("eth0", "eth", True, {**_STATIC, "hwaddr": "02:00:00:00:00:01", "metric": 5, "scope": "link"}),
    NetworkCase("eth0", "eth", True, {**_STATIC, "autoneg": "off", "duplex": "full", "gro": "off", "tx": "on"}),
    NetworkCase("eth0", "eth", True, {"proto": "manual", "up_cmds": ["ip link set $IFACE up", "true"],
                                      "pre_down_cmds": ["false"]}),
    NetworkCase("lo", "eth", True, {"proto": "loopback", "onboot": "yes", "userctl": "no", "ipv6_autoconf": "no"}),
    NetworkCase("eth1", "slave", True, {"master": "bond0"}),
    NetworkCase("eth0.5", "vlan", True, {**_STATIC}),
    NetworkCase("bond0", "bond", True, {**_STATIC, "mode": "active-backup", "slaves": "eth1 eth2", "primary": "eth1",
                                        "miimon": "100"}),
    NetworkCase("bond0", "bond", True, {**_STATIC, "mode": "802.3ad", "slaves": ["eth1", "eth2"],
                                        "hashing-algorithm": "layer3+4", "use_carrier": True}),
    NetworkCase("bond0", "bond", True, {"proto": "dhcp", "mode": "0", "slaves": "eth1",
                                        "arp_ip_target": ["192.0.2.1", "192.0.2.2"]}),
    NetworkCase("br0", "bridge", True, {"proto": "dhcp", "ports": ["eth1", "eth2"], "stp": "off"}),
    NetworkCase("wlan0", "eth", True, {"proto": "dhcp", "wpa-ssid": "net", "wpa-psk": "sesame"}),
    NetworkCase("eth0", "", True, {"routes": _ROUTES}),
)  # fmt: skip
REDHAT: tuple[NetworkCase, ...] = (
    NetworkCase("ens9", "eth", True, {"proto": "dhcp"}),
    NetworkCase("ens9", "eth", False, {"proto": "none", "ipaddr": "192.0.2.7", "netmask": "255.255.255.0",
                                       "gateway": "192.0.2.1", "dns": ["192.0.2.53"], "mtu": "1400"}),
    NetworkCase("ens9", "eth", True, {"ipaddr": "192.0.2.7", "prefix": 24, **_SIX, "ipv6_autoconf": "no",
                                      "ipv6addrs": ["2001:db8::8/64", "2001:db8::9/64"]}),
    NetworkCase("ens9", "eth", True, {"ipaddrs": ["192.0.2.7/24", "192.0.2.8/24"], "defroute": "no", "zone": "dmz"}),
    NetworkCase("ens9", "eth", True, {"proto": "dhcp", "peerdns": False, "userctl": "yes", "nm_controlled": True,
                                      "autoneg": "on", "speed": 1000, "duplex": "full", "gro": "off",
                                      "hwaddr": "02:00:00:00:00:01"}),
    NetworkCase("eth1", "slave", True, {"master": "bond0"}),
    NetworkCase("eth1", "teamport", True, {"team_master": "team0", "team_port_config": {"prio": 100}}),
    NetworkCase("team0", "team", True, {"ipaddr": "192.0.2.7", "team_config": {"runner": {"name": "activebackup"}}}),
    NetworkCase("bond0", "bond", True, {"mode": "active-backup", "miimon": 100, "primary": "eth1"}),
    NetworkCase("bond0", "bond", True, {"mode": 4, "miimon": 100, "updelay": 200, "lacp_rate": "fast",
                                        "hashing-algorithm": "layer2+3", "use_carrier": "on"}),
    NetworkCase("bond0", "bond", True, {"mode": "balance-rr", "arp_interval": 60, "arp_ip_target": ["192.0.2.1"]}),
    NetworkCase("vlan5", "vlan", True, {"vlan_id": 5, "phys_dev": "eth0", "reorder_hdr": "yes"}),
    NetworkCase("br0", "bridge", True, {"proto": "dhcp", "stp": "no", "delay": 0}),
    NetworkCase("tun0", "ipip", True, {"my_inner_ipaddr": "192.0.2.7", "my_outer_ipaddr": "198.51.100.7"}),
    NetworkCase("ens9", "", True, {"routes": _ROUTES}),
)  # fmt: skip

_INSIDE = """
import importlib, json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Salt prints is no answer
name, cases, top = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
module = importlib.import_module("salt.modules." + name)
module.__grains__ = {"os": "Debian", "os_family": "Debian", "osrelease": "12.5", "osrelease_info": [12, 5],
                     "osfullname": "Debian"} if name == "debian_ip" else {
                     "os": "CentOS", "os_family": "RedHat", "osrelease": "8.5", "osmajorrelease": 8, "num_cpus": 4}
class Nothing(dict):
    def __missing__(self, key):
        return lambda *args, **kwargs: {} if key == "network.interfaces" else True
module.__salt__ = Nothing()
found = []
for place, (iface, kind, enabled, settings) in enumerate(cases):
    root = os.path.join(top, str(place))
    os.makedirs(root)
    for constant in dir(module):
        value = getattr(module, constant)
        if constant.startswith(("_DEB_", "_RH_")) and isinstance(value, str) and value.startswith("/"):
            moved = root + getattr(module, "first_" + constant, value)
            setattr(module, "first_" + constant, getattr(module, "first_" + constant, value))
            setattr(module, constant, moved)
            os.makedirs(moved if moved.endswith(("/", "scripts")) else os.path.dirname(moved), exist_ok=True)
    if kind:
        lines = module.build_interface(iface, kind, enabled, **settings, test=False)
    else:
        lines = module.build_routes(iface, **settings, test=False)
    files = {}
    for folder, _, names in os.walk(root):
        for each in names:
            path = os.path.join(folder, each)
            files[path[len(root):].replace("//", "/")] = open(path).read()
    found.append({"lines": lines, "files": files})
answers.write(json.dumps(found))
"""


def main(venv: str) -> None:
    """Record."""
    import tempfile

    recorded = {}
    for module, cases in (("debian_ip", DEBIAN), ("rh_ip", REDHAT)):
        with tempfile.TemporaryDirectory() as top:
            argv = [f"{venv}/bin/python", "-c", _INSIDE, json.dumps(module), json.dumps(cases), top]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
        recorded[module] = json.loads(done.stdout)
    GOLDEN.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
