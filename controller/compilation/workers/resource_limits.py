"""What the kernel lets a compile worker take: memory, descriptors, threads; and that it ends with the controller.

Called by `compile_worker` before it enters the sandbox, which refuses memory that no limit counts. The limits are hard:
what renders in the process cannot raise them.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

_SET_PDEATHSIG = 1
_ADDRESSES = 64 * 1024**3
"""Bytes of addresses beyond those of the memory: mirrors are mapped, and tables of pages cost memory, too."""
_DESCRIPTORS = 2048
_STACK = 64 * 1024**2
_SIGNALS = 64
_THREADS = 512
"""Beyond the threads that the user has when the worker starts. The kernel does not hold root to this."""


def limit_resources(memory_bytes: int) -> None:
    """Limit this process, for good. `memory_bytes`: of data that it writes, apart from its stack."""
    limits = {
        resource.RLIMIT_DATA: memory_bytes,
        resource.RLIMIT_AS: memory_bytes + _ADDRESSES,
        resource.RLIMIT_STACK: _STACK,
        resource.RLIMIT_NOFILE: _DESCRIPTORS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if sys.platform == "linux":
        limits |= {resource.RLIMIT_MSGQUEUE: 0, resource.RLIMIT_SIGPENDING: _SIGNALS}
        if os.getuid() != 0:
            limits[resource.RLIMIT_NPROC] = _threads_of(os.getuid()) + _THREADS
    for limit, value in limits.items():
        soft, hard = resource.getrlimit(limit)
        most = value if hard == resource.RLIM_INFINITY else min(hard, value)
        resource.setrlimit(limit, (most if soft == resource.RLIM_INFINITY else min(soft, most), most))


def few_descriptors_left() -> bool:
    """Whether most descriptors that this process may have are open."""
    try:
        lowest = os.dup(0)
    except OSError:
        return True
    os.close(lowest)
    return lowest > 0.75 * resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def end_with_parent(parent: int) -> None:
    """Have the kernel end this process when the controller is not there any more, whatever it computes.

    Args:
        parent: process id of the controller; when it has ended meanwhile this process ends now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(0)


def _threads_of(user: int) -> int:
    """How many threads a user has."""
    count = 0
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                if process.stat().st_uid == user:
                    count += len(os.listdir(process / "task"))  # noqa: PTH208 - names alone
    return count
