"""The walls around a process that compiles, tried from inside, in processes of their own."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from controller.compilation.sandbox import SandboxPolicy, Unconfined, confine
from controller.compilation.system_call_filter import AARCH64, EXAMINED, REFUSED, X86_64

_TRY = """
import json, os, socket, subprocess, sys, urllib.request
import msgspec
from controller.compilation.sandbox import SandboxPolicy, confine
confine(msgspec.json.decode(sys.argv[1], type=SandboxPolicy))
try:
    {deed}
except Exception as error:
    print(type(error).__name__)
else:
    print("done")
"""


def _inside(sandbox_policy: SandboxPolicy, deed: str) -> str:
    import msgspec

    command = [sys.executable, "-P", "-c", _TRY.format(deed=deed), msgspec.json.encode(sandbox_policy).decode()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "SECRET": "x"})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _landlock() -> None:
    try:
        code = "from controller.compilation.sandbox import *; confine(SandboxPolicy())"
        subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no Landlock here: {error.stderr.splitlines()[-1]}")


def test_what_is_not_granted_can_not_be_read(tmp_path: Path) -> None:
    key = tmp_path / "controller.key"
    key.write_text("secret")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "top.sls").write_text("base: {}")
    (tree / "out").symlink_to(key)
    sandbox_policy = SandboxPolicy(readable=(str(tree), str(tmp_path / "not-there")))
    assert _inside(sandbox_policy, f"open({str(tree / 'top.sls')!r}).read()") == "done"
    assert _inside(sandbox_policy, f"open({str(key)!r}).read()") == "PermissionError"
    assert _inside(sandbox_policy, f"open({str(tree / 'out')!r}).read()") == "PermissionError"
    assert _inside(sandbox_policy, f"os.listdir({str(tmp_path)!r})") == "PermissionError"
    assert _inside(sandbox_policy, "open('/etc/shadow').read()") == "PermissionError"
    assert _inside(sandbox_policy, "open('/etc/passwd').read()") == "PermissionError"
    assert _inside(sandbox_policy, f"open('/proc/{os.getpid()}/environ').read()") == "PermissionError"


def test_nothing_is_written_but_where_it_is_granted(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    sandbox_policy = SandboxPolicy(readable=(str(other),), writable=(str(own),))
    assert _inside(sandbox_policy, f"open({str(own / 'a')!r}, 'w').write('x'); os.unlink({str(own / 'a')!r})") == "done"
    assert _inside(sandbox_policy, f"open({str(other / 'a')!r}, 'w')") == "PermissionError"
    assert _inside(sandbox_policy, f"os.rename({str(own)!r}, {str(other / 'own')!r})") in ("PermissionError", "OSError")
    assert list(other.iterdir()) == []


def test_modules_of_python_can_be_loaded_and_programs_not_run() -> None:
    assert _inside(SandboxPolicy(), "import httpx, gnupg, hvac, sqlite3, mako.template") == "done"
    assert _inside(SandboxPolicy(), "subprocess.run(['/bin/true'])") == "PermissionError"
    assert _inside(SandboxPolicy(), "os.execv('/bin/true', ['true'])") == "PermissionError"
    assert _inside(SandboxPolicy(programs=True), "subprocess.run(['/bin/true'], check=True)") == "done"
    assert (
        _inside(SandboxPolicy(programs=True), "subprocess.run(['/bin/cat', '/etc/shadow'], check=True)")
        == "CalledProcessError"
    )


def test_the_controllers_socket_is_out_of_reach(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "controller.sock"))
        server.listen()
        deed = f"socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'controller.sock')!r})"
        for sandbox_policy in (
            SandboxPolicy(),
            SandboxPolicy(network=True),
            SandboxPolicy(readable=(str(tmp_path),), writable=(str(tmp_path),)),
        ):
            assert _inside(sandbox_policy, deed) == "PermissionError"


def test_the_network_is_reached_only_when_it_is_granted() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        deed = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        assert _inside(SandboxPolicy(), deed) == "PermissionError"
        assert _inside(SandboxPolicy(programs=True), deed) == "PermissionError"
        assert _inside(SandboxPolicy(network=True), deed) == "done"
    assert _inside(SandboxPolicy(), "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)") == "PermissionError"
    assert _inside(SandboxPolicy(network=True), "socket.getaddrinfo('localhost', 80)") == "done"


def test_other_processes_are_left_alone() -> None:
    # Signals stay among the confined since version 6 of the interface; the parent is the one who must live.
    assert _inside(SandboxPolicy(), "os.kill(os.getppid(), 0)") in ("PermissionError", "done")
    assert _inside(SandboxPolicy(), "os.kill(os.getpid(), 0)") == "done"


def test_it_is_said_where_there_is_no_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "freebsd14")
    with pytest.raises(Unconfined, match="Linux"):
        confine(SandboxPolicy())


_CALLS = """
import ctypes, fcntl, mmap, resource, signal, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def run_ld():
    file = os.memfd_create("program", 0)
    os.write(file, open("/lib64/ld-linux-x86-64.so.2", "rb").read())
    os.execve(file, ["ld.so", "/usr/bin/id"], {})
def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
def owner():
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, VICTIM)
def lock(kind):
    with open(READABLE) as file:
        kind(file, fcntl.LOCK_SH)
def lease():
    with open(READABLE) as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
def flags():
    with open(READABLE) as file:
        fcntl.ioctl(file, 0x40086602, struct.pack("l", 0))
def datagram(address):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", address)
"""
_WAYS_OUT = {
    "modes": "os.chmod(KEY, 0o666)",
    "owners": "os.chown(KEY, 1000, 1000)",
    "times": "os.utime(KEY, (1, 1))",
    "attributes": "os.setxattr(KEY, 'user.x', b'y')",
    "sizes": "os.truncate(KEY, 0)",
    "attributes of a file that is read": "flags()",
    "locks of the mirrors": "lock(fcntl.lockf)",
    "other locks": "lock(fcntl.flock)",
    "leases": "lease()",
    "watches of files": "call(254, call(294, 0), KEY.encode(), 0xfff)",
    "handles of files": "call(303, -100, KEY.encode(), bytes(200), bytes(8), 0)",
    "limits of others": "resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (64, 4096))",
    "priorities of others": "os.setpriority(os.PRIO_PROCESS, VICTIM, 19)",
    "schedules of others": "os.sched_setscheduler(VICTIM, os.SCHED_IDLE, os.sched_param(0))",
    "processors of others": "os.sched_setaffinity(VICTIM, {0})",
    "disk priorities of others": "call(251, 1, VICTIM, 3 << 13)",
    "signals": "os.kill(VICTIM, signal.SIGCONT)",
    "signals to the group": "os.kill(0, 0)",
    "signals by a descriptor": "signal.pidfd_send_signal(os.pidfd_open(VICTIM), 0)",
    "signals by a file": "owner()",
    "debugging": "call(101, 16, VICTIM, 0, 0)",
    "memory of others": "call(310, VICTIM, bytes(16), 1, bytes(16), 1, 0)",
    "descriptors of others": "call(438, os.pidfd_open(VICTIM), 0, 0)",
    "processes": "fork()",
    "a program in memory": "run_ld()",
    "files in memory": "os.memfd_create('x')",
    "shared memory": "call(29, 0, 1 << 20, 0o1600)",
    "message queues": "call(68, 0, 0o1600)",
    "semaphores": "call(64, 0, 10, 0o1600)",
    "shared pages": "mmap.mmap(-1, 1 << 20)",
    "shared pages of zeros": "mmap.mmap(os.open('/dev/zero', os.O_RDONLY), 1 << 20, prot=mmap.PROT_READ)",
    "pages that grow downwards": "mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x100)",
    "io_uring": "call(425, 8, bytes(200))",
    "userfaultfd": "call(323, 1)",
    "bpf": "call(321, 0, bytes(100), 100)",
    "counters of the kernel": "call(298, bytes(128), 0, -1, -1, 0)",
    "keys of the kernel": "call(250, 0, -3, 0)",
    "namespaces": "call(272, 0x10000000)",
    "mounts": "call(165, b'none', b'/tmp', b'tmpfs', 0, None)",
    "modules of the kernel": "call(175, b'x', 1, b'')",
    "the name of the machine": "socket.sethostname('other')",
    "the log of the kernel": "call(103, 10, None, 0)",
    "datagrams to a path": "datagram(DATAGRAMS)",
    "datagrams to a name": "datagram(chr(0) + 'anybody')",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "private keys of the machine": "os.listdir('/etc/ssl/private')",
    "to end with somebody else": "call(157, 1, 0)",
}
"""What -> how Python of a tree tries it, on x86-64."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64")
@pytest.mark.parametrize("network", [False, True])
def test_no_other_call_leads_out(tmp_path: Path, network: bool) -> None:
    key, readable, datagrams = tmp_path / "controller.key", tmp_path / "lock", tmp_path / "log"
    for each in (key, readable):
        each.write_text("secret")
        each.chmod(0o600)
    tries = "".join(
        f"    try:\n        {deed}\n    except OSError as error:\n        found[{what!r}] = error.errno\n"
        f"    else:\n        found[{what!r}] = 0\n"
        for what, deed in _WAYS_OUT.items()
        if not (network and what == "netlink")
    )
    with subprocess.Popen(["sleep", "60"]) as victim, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(datagrams))
        names = f"VICTIM, KEY, READABLE, DATAGRAMS = {victim.pid}, {str(key)!r}, {str(readable)!r}, {str(datagrams)!r}"
        said = _inside(
            SandboxPolicy(readable=(str(readable),), network=network),
            f"found = {{}}\n    exec({_CALLS!r}, globals())\n    {names}\n{tries}    print(json.dumps(found))",
        )
        victim.kill()
    found = json.loads(said.splitlines()[0])
    assert len(found) >= len(_WAYS_OUT) - network
    assert {what for what, error in found.items() if error not in (errno.EACCES, errno.EPERM)} == set()
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.stat().st_mtime > 1


def test_threads_and_pairs_of_sockets_are_let_through() -> None:
    assert _inside(SandboxPolicy(), "import asyncio; asyncio.run(asyncio.to_thread(len, 'x'))") == "done"
    assert _inside(SandboxPolicy(), "os.kill(os.getpid(), 0); os.isatty(1)") == "done"


def test_root_has_no_privilege_left() -> None:
    deed = "print([line for line in open(status).read().splitlines() if line.startswith('CapEff')])"
    said = _inside(SandboxPolicy(readable=("/proc",)), f"status = '/proc/self/status'; {deed}")
    effective = int(said.splitlines()[0].split("\\t")[1].strip("']"), 16)
    assert effective & ~(1 << 2) == 0  # CAP_DAC_READ_SEARCH: trees of other users


_HEADERS = {X86_64: "x86_64-linux-gnu/asm/unistd_64.h", AARCH64: "asm-generic/unistd.h"}


@pytest.mark.parametrize("machine", _HEADERS)
def test_numbers_of_calls_are_those_of_the_kernel(machine: int) -> None:
    header = Path("/usr/include") / _HEADERS[machine]
    if not header.exists():
        pytest.skip("no headers of the kernel here")
    text = header.read_text()
    known = {name: int(number) for name, number in re.findall(r"__NR(?:3264)?_(\w+)\s+(\d+)\n", text)}
    for name, numbers in (REFUSED | EXAMINED).items():
        assert numbers[machine] == known.get(name), name
