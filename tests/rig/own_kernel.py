"""A Linux that runs as a process (User Mode Linux), for what the machine's own kernel lacks.

Its root is the machine's, which it can only read; what it writes is in memory and gone when it ends.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAM = "linux.uml"
TREE = Path(__file__).resolve().parents[2]
MODULES = "/usr/lib/uml/modules"
_NO_ROOM = "ptrace set fp regs failed"
INIT = """#!/bin/sh
export PATH=/run/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={rig}
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /run
mkdir -p /run/bin /run/tmp /run/kernel/lib
ln -s {kernel} /run/kernel/lib/modules
for module in {modules}; do modprobe -d /run/kernel $module; done
for folder in {folders}; do mount -t tmpfs tmp $folder; done
cd {tree}
{python} -m pytest -p no:cacheprovider --durations=9 --color=no --basetemp=/run/tests {tests}
echo "tests ended: $?"
echo o > /proc/sysrq-trigger
sleep 60
"""


def run_in_own_kernel(
    tests: Path, folder: Path, *, modules: Sequence[str], disks: int, written: Sequence[str]
) -> str:  # fmt: skip
    """Run a file of tests there, and give what it printed.

    `folder` is for its files; `modules` are of its kernel; it has this many `disks` (/dev/ubda, …) of 64 MiB; the
    folders `written` are empty there, and can be written. Skips where there is no such kernel, or
    it cannot run.
    """
    if os.geteuid() != 0 or shutil.which(PROGRAM) is None or shutil.which("modprobe") is None:
        pytest.skip("needs root and the packages user-mode-linux and kmod")
    images = []
    for number in range(disks):
        images.append(f"ubd{number}={folder}/disk{number}")
        with (folder / f"disk{number}").open("wb") as image:
            image.truncate(64 << 20)
    init = folder / "init"
    init.write_text(
        INIT.format(
            rig=shlex.quote(str(TREE / "tests/rig")), tree=shlex.quote(str(TREE)), python=sys.executable,
            kernel=MODULES, modules=" ".join(modules), folders=" ".join(written), tests=shlex.quote(str(tests)),
        )
    )  # fmt: skip
    init.chmod(0o755)
    words = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "mem=512M", *images]
    done = subprocess.run(
        [PROGRAM, *words, f"umid=saltern{os.getpid()}", "con=null", "con0=fd:0,fd:1", "quiet"],
        env={**os.environ, "HOME": str(folder)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=300, errors="replace",
    )  # fmt: skip
    if _NO_ROOM in done.stdout:
        pytest.skip(f"{PROGRAM} has no room for the registers of this processor (as those of AMX): {_NO_ROOM}")
    assert "tests ended: 0" in done.stdout, done.stdout[-6000:] + done.stderr[-1000:]
    return done.stdout
