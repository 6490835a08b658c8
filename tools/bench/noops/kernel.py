"""States of the kernel's firewalls, in a network namespace of the benchmark's own, and of LVM on loop devices."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tools.bench.noops.pairs import NoOp

_NEW_NETWORK = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def _own_network() -> Iterator[None]:
    with open("/proc/self/ns/net") as before:  # noqa: PTH123
        if _LIBC.unshare(_NEW_NETWORK) != 0:
            pytest.skip("namespaces of the network are not permitted here")
        try:
            yield
        finally:
            _LIBC.setns(before.fileno(), _NEW_NETWORK)


def _needed(*programs: str) -> None:
    for name in programs:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


@contextlib.contextmanager
def nftables() -> Iterator[Iterator[NoOp]]:
    """Tables, chains and rules of nft."""
    _needed("nft")
    rule = {"table": "filter", "chain": "input", "proto": "tcp", "jump": "accept"}
    hook = {"table_type": "filter", "hook": "input", "priority": 0, "table": "filter"}
    with _own_network():
        yield iter([
            NoOp(fun="nftables.table_present", name="filter"),
            NoOp(fun="nftables.chain_present", name="input", arguments=hook),
            NoOp(fun="nftables.append", name="ssh", arguments={**rule, "dport": 22}),
            NoOp(fun="nftables.insert", name="web", arguments={**rule, "dport": 80}),
            NoOp(fun="nftables.delete", name="none", arguments={**rule, "dport": 99}),
            NoOp(fun="nftables.table_absent", name="none"),
            NoOp(fun="nftables.chain_absent", name="none", arguments={"table": "filter"}),
        ])  # fmt: skip


@contextlib.contextmanager
def iptables() -> Iterator[Iterator[NoOp]]:
    """Rules of iptables."""
    _needed("iptables")
    rule = {"chain": "INPUT", "protocol": "tcp", "jump": "ACCEPT"}
    with _own_network():
        if subprocess.run(["iptables", "-S"], capture_output=True, check=False).returncode:
            pytest.skip("this kernel has no iptables")
        yield iter([
            NoOp(fun="iptables.append", name="ssh", arguments={**rule, "dport": 22}),
            NoOp(fun="iptables.insert", name="web", arguments={**rule, "dport": 80, "position": 1}),
            NoOp(fun="iptables.delete", name="none", arguments={**rule, "dport": 99}),
            NoOp(fun="iptables.chain_present", name="mine"),
            NoOp(fun="iptables.chain_absent", name="none"),
            NoOp(fun="iptables.set_policy", name="p", arguments={"chain": "INPUT", "policy": "ACCEPT"}),
        ])  # fmt: skip


@contextlib.contextmanager
def ipset() -> Iterator[Iterator[NoOp]]:
    """Sets of ipset."""
    _needed("ipset")
    with _own_network():
        if subprocess.run(["ipset", "create", "x", "hash:ip"], capture_output=True, check=False).returncode:
            pytest.skip("this kernel has no sets")
        yield iter([
            NoOp(fun="ipset.set_present", name="hosts", arguments={"set_type": "hash:ip"}),
            NoOp(fun="ipset.set_absent", name="none"),
            NoOp(fun="ipset.present", arguments={"set_name": "hosts", "entry": ["10.0.0.1", "10.0.0.2"]}),
            NoOp(fun="ipset.absent", arguments={"set_name": "hosts", "entry": "10.9.9.9"}),
        ])  # fmt: skip


_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>custom</type><listen>unix:path={bus}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow own="*"/><allow user="*"/><allow receive_sender="*"/>
</policy></busconfig>
"""


@contextlib.contextmanager
def firewalld() -> Iterator[Iterator[NoOp]]:
    """A firewalld on a message bus of its own."""
    _needed("firewalld", "firewall-cmd", "dbus-daemon")
    with _own_network(), tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        top = Path(folder)
        (top / "bus.conf").write_text(_BUS.format(bus=f"{top}/bus"))
        settings = Path("/etc/firewalld/firewalld.conf").read_text().replace("IPv6_rpfilter=yes", "IPv6_rpfilter=no")
        (top / "etc").mkdir()
        (top / "etc/firewalld.conf").write_text(settings)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        bus = subprocess.Popen(["dbus-daemon", f"--config-file={top}/bus.conf", "--nofork", "--nopidfile"], **quiet)  # type: ignore[call-overload]
        with mock.patch.dict(os.environ, {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={top}/bus"}):
            end = time.monotonic() + 60
            while not (top / "bus").exists() and time.monotonic() < end:
                time.sleep(0.02)
            words = ["firewalld", "--nofork", "--nopid", f"--system-config={top}/etc", f"--log-file={top}/log"]
            daemon = subprocess.Popen(words, **quiet)  # type: ignore[call-overload]
            try:
                while subprocess.run(["firewall-cmd", "--state"], capture_output=True, check=False).returncode:
                    if daemon.poll() is not None or time.monotonic() > end:
                        pytest.skip("firewalld does not run here")
                    time.sleep(0.2)
                yield iter([
                    NoOp(fun="firewalld.service", name="own", arguments={"ports": ["4505/tcp"]}),
                    NoOp(fun="firewalld.present", name="public", arguments={"ports": ["22/tcp"], "services": ["http"]}),
                ])  # fmt: skip
            finally:
                for one in (daemon, bus):
                    one.terminate()
                    one.wait(30)


_LVM = """global { activation = 0 }
activation { udev_sync = 0 udev_rules = 0 }
backup { backup = 0 archive = 0 }
devices { filter = [ "a|^/dev/loop|", "r|.*|" ] }
"""


@contextlib.contextmanager
def lvm() -> Iterator[Iterator[NoOp]]:
    """Volumes of LVM; without device-mapper in the kernel none becomes a device."""
    _needed("lvm", "losetup")
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        Path(folder, "lvm.conf").write_text(_LVM)
        image = Path(folder, "image")
        with image.open("wb") as file:
            file.truncate(300 << 20)
        done = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"there are no loop devices here: {done.stderr.strip()}")
        device, group = done.stdout.strip(), "salternbench"
        changed: dict[str, Any] = {"LVM_SYSTEM_DIR": folder, "LVM_SUPPRESS_FD_WARNINGS": "1"}
        with mock.patch.dict(os.environ, changed):
            try:
                yield iter([
                    NoOp(fun="lvm.pv_present", name=device),
                    NoOp(fun="lvm.vg_present", name=group, arguments={"devices": [device]}),
                    NoOp(fun="lvm.lv_present", name="data", arguments={"vgname": group, "size": "10M"}),
                    NoOp(fun="lvm.lv_absent", name="none", arguments={"vgname": group}),
                    NoOp(fun="lvm.vg_absent", name="none"),
                ])  # fmt: skip
            finally:
                subprocess.run(["vgremove", "--yes", "--force", group], capture_output=True, check=False)
                subprocess.run(["losetup", "-d", device], check=False)


FAMILIES: dict[str, Callable[[], contextlib.AbstractContextManager[Iterator[NoOp]]]] = {
    "nftables": nftables,
    "iptables": iptables,
    "ipset": ipset,
    "firewalld": firewalld,
    "lvm": lvm,
}
