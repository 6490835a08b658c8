"""The execution module ip, on files below a root of the test's own."""

import pytest
from below_root import BelowRoot

from minion.execution import CallFailed, Context, Modules


class Here(Context):
    """A context whose machine is below a root."""

    machine = None


@pytest.fixture
def call(tmp_path):
    """call("get_interface", "eth0"): on a Debian with ifupdown."""
    machine = BelowRoot.of(tmp_path, os_family="Debian", os="Debian", osmajorrelease=12)
    for folder in ("network/interfaces.d", "network/if-up.d", "network/if-down.d", "modprobe.d"):
        (tmp_path / "etc" / folder).mkdir(parents=True)
    context = Here(minion_id="m")
    context.machine = machine
    return lambda fun, *args, **given: Modules(context).call(f"ip.{fun}", args, given)


def test_an_interface_is_built_and_read(call, tmp_path):
    told = call("build_interface", "eth0", "eth", True, proto="dhcp", test=True)
    assert told == ["auto eth0\n", "iface eth0 inet dhcp\n", "\n"]
    assert call("get_interface", "eth0") == []
    assert call("build_interface", "eth0", "eth", True, proto="dhcp") == told
    assert call("get_interface", "eth0") == told
    with pytest.raises(CallFailed, match="no name of an interface"):
        call("build_interface", "../x", "eth", True, proto="dhcp")


def test_bonds_routes_and_global_settings(call, tmp_path):
    built = call("build_bond", "bond0", mode="balance-alb")
    assert built == call("get_bond", "bond0")
    assert built[1].startswith("options bond0 mode=6 miimon=100")
    built = call("build_routes", "eth0", routes=[{"ipaddr": "198.51.100.0", "netmask": 24}])
    assert built == call("get_routes", "eth0")
    assert "ip route del 198.51.100.0/24  dev eth0\n" in built
    assert call("build_network_settings", hostname="web", enabled=True, test=True) == ["NETWORKING=yes", "HOSTNAME=web"]
    assert call("get_network_settings") == []
    call("build_network_settings", hostname="web")
    assert (tmp_path / "etc/hostname").read_text() == "web\n"
    assert call("apply_network_settings", require_reboot=True) is True
    with pytest.raises(CallFailed, match="no global setting x"):
        call("build_network_settings", x=1)


def test_slaves_come_up_with_their_master(call):
    assert call("up", "eth1", "slave") is None
    assert call("down", "eth1", "slave") is None
