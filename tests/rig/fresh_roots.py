"""Fresh roots: overlays of this machine's root, in namespaces of mounts and the host's name that end with the work.

The processes are forked from one that has imported what they need, for starting Python takes longer than most work.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_NEW_MOUNTS, _NEW_HOST_NAME = 0x00020000, 0x04000000
"""CLONE_NEWNS and CLONE_NEWUTS of linux/sched.h."""
_IMPORTED = ["pytest", "minion.engine.engine", "tools.docs.states_table"]
_MOUNTS = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for each in proc dev sys; do mount --rbind "/$each" "$1/root/$each"; done
mount -t tmpfs tmpfs "$1/root/tmp"
rm -f "$1/root/var/lib/man-db/auto-update"  # the index of manual pages, made anew after each package
"""


def in_fresh_root(folder: Path, work: Callable[..., str], *arguments: str) -> str:
    """What `work` says is wrong, called as root of a fresh root; its traceback when it fails.

    Args:
        folder: an empty one, where the root is mounted.
        work: of a module that another process can import.
        arguments: of `work`.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_enter, args=(theirs, str(folder), work, arguments))
    process.start()
    theirs.close()
    with ours:
        try:
            said: Any = ours.recv()
        except EOFError:
            said = "the process ended before it said anything"
    process.join()
    return str(said)


def _enter(answer: Connection, folder: str, work: Callable[..., str], arguments: tuple[str, ...]) -> None:
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(_NEW_MOUNTS | _NEW_HOST_NAME) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        subprocess.run(["sh", "-c", _MOUNTS, "sh", folder], check=True)
        here = Path.cwd()
        os.chroot(f"{folder}/root")
        os.chdir(here)
        answer.send(work(*arguments))
    except BaseException:
        answer.send(traceback.format_exc())
