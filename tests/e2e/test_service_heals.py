"""`drift: watch: true`: a managed service of this very machine that dies runs again at once."""

import ctypes
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from init_scripts import without_systemctl
from rig import Rig

NAME = "saltern-heals"
SCRIPT = Path(f"/etc/init.d/{NAME}")
PID = Path(f"/run/{NAME}.pid")
TEXT = f"""#!/bin/sh
### BEGIN INIT INFO
# Provides: {NAME}
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
running() {{ kill -0 "$(cat {PID} 2>/dev/null)" 2>/dev/null; }}
case "$1" in
  start) running || {{ setsid sh -c 'echo {NAME} > /proc/$$/comm; echo $$ > {PID}; while :; do sleep 600; done' \\
    </dev/null >/dev/null 2>&1 & while ! running; do sleep 0.05; done; }} ;;
  stop) running && kill "$(cat {PID})"; rm -f {PID} ;;
  status) running || exit 3 ;;
esac
"""
TREE = {
    "top.sls": "base:\n  '*': [heals]\n",
    "heals.sls": f"{NAME}:\n  service.running: []\n",
    "saltern.yaml": "drift: {interval: 0, watch: true, mode: remediate}\n",
}
PR_SET_CHILD_SUBREAPER = 36
TIMES = 4
"""Remediations of what others touch before they back off (`TOUCHED_AT_ONCE`)."""
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("service") is None, reason="adds an init script: needs root and `service`"
    ),
]


@pytest.fixture
def rig(tmp_path):
    """A controller and this machine as its minion, whose highstate is one service."""
    for path, text in TREE.items():
        file = tmp_path / "tree" / "states" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "tree" / "pillar").mkdir()
    (tmp_path / "tree" / "pillar" / "top.sls").write_text("{}\n")
    SCRIPT.write_text(TEXT)
    SCRIPT.chmod(0o755)
    # The first process of a container may take seconds to reap an orphan, which the script takes for running meanwhile.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with without_systemctl(), Rig(tmp_path / "rig", {"e2e": {}}, tmp_path / "tree") as rig:
        rig.up()
        yield rig
    os.system(f"{SCRIPT} stop")
    SCRIPT.unlink()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0)


def pid():
    try:
        found = int(PID.read_text())
        os.kill(found, 0)
    except (OSError, ValueError):
        return 0
    return found


def watches(rig, process):
    """Whether a process of the agent's has a pidfd of it, as the kernel says."""
    wanted = f"Pid:\t{process}\n"
    for info in Path("/proc").glob("[0-9]*/fdinfo/*"):
        try:
            if wanted in info.read_text() and int(info.parts[2]) != os.getpid():
                return True
        except OSError:
            continue
    return False


def test_a_service_that_dies_runs_again(rig):
    rig.wait_applied(rig.push("a service"))
    rig.wait("the service", pid)
    for _ in range(TIMES):
        before = pid()
        rig.wait("the watch", lambda before=before: watches(rig, before))
        began = time.monotonic()
        os.kill(before, signal.SIGKILL)
        os.waitpid(before, 0)
        rig.wait("that it runs again", lambda before=before: pid() not in (0, before))
        print(f"healed after {time.monotonic() - began:.2f} s")  # noqa: T201
    rig.wait("health", lambda: rig.status()["e2e"]["health"] == "Healthy")
    kinds = [run["kind"] for run in rig.history("e2e")]
    assert kinds.count("remediate") == TIMES
