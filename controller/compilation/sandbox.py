"""The sandbox of a compile worker: Landlock for files, signals and TCP, a seccomp filter for the rest (docs/adr/0013).

Called by `compile_worker` once, before it has threads and after it has the modules it always needs. What is not
granted is refused by the kernel for as long as the process and its children live, whatever code runs in it: Jinja's
sandbox comes before this one. What a compile needs is decided by `sandbox_policy` and `compile_ports`.

The kernel's interface is six system calls, which no library on PyPI that is kept up covers; numbers and bits are those
of `linux/landlock.h` and `linux/capability.h` (https://docs.kernel.org/userspace-api/landlock.html).
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from socket import AF_INET, AF_INET6, AF_NETLINK

import msgspec

from controller.compilation.system_call_filter import AARCH64, X86_64, refused_calls

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_FILES_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Version of the kernel's interface -> all rights on files that it knows."""
_RIGHTS_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
"""Execute, write, read, truncate, ioctl: the others are of folders only."""
_TCP, _SCOPES = 0b11, 0b11
_TCP_ABI, _SCOPES_ABI = 4, 6

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_BENEATH = 1
_ASK_VERSION = 1
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2

_MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
_CAPABILITY_VERSION = 0x20080522
_CAP_DAC_READ_SEARCH = 2

_SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
    "/etc/ca-certificates", "/etc/crypto-policies", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf",
    "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/dev/null", "/dev/urandom",
)  # fmt: skip
"""What programs of any kind read, and nothing that is this machine's secret."""


class Unconfined(Exception):
    """The process cannot be sandboxed, or not wholly; the text says why. What was restricted before stays so."""


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the process may still do. Python's own modules and the system's libraries can always be read."""

    readable: tuple[str, ...] = ()
    """Files and folders, with all below them; those that are not there are left out."""
    writable: tuple[str, ...] = ()
    """Read and written, with all below them."""
    programs: bool = False
    """Run the system's programs. They may then speak to any socket of this machine that its user may."""
    network: bool = False
    """Connect by TCP, and look names up."""


def confine(sandbox_policy: SandboxPolicy) -> None:
    """Restrict this process. The restrictions hold for its children, and cannot be lifted.

    Raises:
        Unconfined: the kernel has no Landlock (before 5.13, or not switched on), or this is no Linux.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    abi = landlock_version(libc)
    _checked(libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _restrict(libc, abi, sandbox_policy)
    _drop_capabilities(libc)
    if not sandbox_policy.programs:  # a program may need the sockets of others: gpg asks its agent
        _filter_calls(libc, [AF_INET, AF_INET6, AF_NETLINK] if sandbox_policy.network else [])


def landlock_version(libc: ctypes.CDLL) -> int:
    """Version of Landlock's interface that this kernel has; Unconfined when it has none."""
    if sys.platform != "linux":
        raise Unconfined("Landlock is Linux's")
    abi = int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION))
    if abi < 1:
        raise Unconfined(f"the kernel has no Landlock ({os.strerror(ctypes.get_errno())})")
    return abi


def _restrict(libc: ctypes.CDLL, abi: int, sandbox_policy: SandboxPolicy) -> None:
    rights = _FILES_BY_ABI[max(known for known in _FILES_BY_ABI if known <= abi)]
    tcp = _TCP if abi >= _TCP_ABI and not sandbox_policy.network else 0
    scopes = _SCOPES if abi >= _SCOPES_ABI else 0
    attributes = struct.pack("=QQQ", rights, tcp, scopes)
    # An older kernel takes the longer struct as long as the fields that it does not know are 0.
    size = 8 if abi < _TCP_ABI else 16 if abi < _SCOPES_ABI else 24
    ruleset = _checked(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    try:
        read = _READ_FILE | _READ_DIR
        run = _EXECUTE if sandbox_policy.programs else 0
        _grant(libc, ruleset, (*_SYSTEM, *_of_python()), read | run)
        _grant(libc, ruleset, sandbox_policy.readable, read | run)
        _grant(libc, ruleset, sandbox_policy.writable, rights & ~_EXECUTE)
        _grant(libc, ruleset, ("/dev/null",), read | _WRITE_FILE)
        _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _grant(libc: ctypes.CDLL, ruleset: int, paths: Iterable[str], rights: int) -> None:
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            folder = stat.S_ISDIR(os.fstat(place).st_mode)
            allowed = rights if folder else rights & _RIGHTS_OF_A_FILE
            rule = struct.pack("=Qi", allowed, place)
            _checked(libc.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0))
        finally:
            os.close(place)


def _of_python() -> list[str]:
    """Where modules come from. The working directory is not among them: the process is started with `-P`."""
    roots = {sys.prefix, sys.base_prefix, *(each for each in sys.path if each)}
    return sorted({str(Path(root).resolve()) for root in roots if Path(root).is_absolute()} - {"/"})


def _filter_calls(libc: ctypes.CDLL, families: Sequence[int]) -> None:
    if platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        raise Unconfined(f"the system calls of {platform.machine()} are not known here")
    program = refused_calls(_MACHINES[platform.machine()], families, os.getpid())
    buffer = ctypes.create_string_buffer(b"".join(program))
    described = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    _checked(libc.prctl(_SET_SECCOMP, _FILTER, described, 0, 0))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Of a process of root: what root may do beside files. Landlock decides about those, whoever owns them."""
    kept = 1 << _CAP_DAC_READ_SEARCH if _has_capability(libc, _CAP_DAC_READ_SEARCH) else 0
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _checked(libc.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)))


def _has_capability(libc: ctypes.CDLL, number: int) -> bool:
    found = ctypes.create_string_buffer(24)
    _checked(libc.capget(struct.pack("=Ii", _CAPABILITY_VERSION, 0), found))
    permitted: int = struct.unpack("=6I", found.raw)[1]
    return bool(permitted >> number & 1)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise Unconfined(f"the kernel refused: {os.strerror(number)}")
    return answer
