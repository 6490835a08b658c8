"""The events of real Salt: a master and minions of its virtualenv on the loopback. Used by `event_paths`."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from tools.oracle.orchestrations import MINIONS, SaltMaster

Measured: TypeAlias = Mapping[str, float]
"""Medians: `job` and `heal` in seconds, `read` in microseconds an event; without what Salt has not here."""

SIDE = Path(__file__).with_name("salt_event_side.py")
FIRINGS = 20
EDITS = 6
READ_EVENTS = 2000
_MODULE = """
import time


def fire(tag):
    __salt__['event.send'](tag, {'fired': time.time()})


def started(fired):
    return time.time() - float(fired)
"""
_REACTION = "measure:\n  local.bench.started:\n  - tgt: web2\n  - args:\n    - fired: {{ data['data']['fired'] }}\n"
_HEAL = "heal:\n  local.state.apply:\n  - tgt: web1\n  - args:\n    - mods: managed\n"


def measure(venv: Path) -> Measured:
    """What Salt takes; `heal` needs pyinotify in the virtualenv."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-", dir="/tmp") as name:
        folder = Path(name)
        managed = folder / "managed"
        _write(folder, managed)
        reactor = [
            {"bench/sls": [str(folder / "measure.sls")]},
            {"salt/beacon/*/inotify/*": [str(folder / "heal.sls")]},
        ]
        beacons = {"inotify": [{"files": {str(managed): {"mask": ["modify"]}}}, {"disable_during_state_run": True}]}
        made = SaltMaster(venv / "bin", folder, {"reactor": reactor}, {"web1": {"beacons": beacons}})
        try:
            made.start()
            python = venv / "bin" / "python"
            found = {
                "job": _side(python, folder, "job", FIRINGS),
                "read": _side(python, folder, "read", READ_EVENTS),
            }
            if subprocess.run([python, "-c", "import pyinotify"], capture_output=True, check=False).returncode == 0:
                found["heal"] = _heal(managed)
            return found
        finally:
            made.stop([*MINIONS, "master"])


def _write(folder: Path, managed: Path) -> None:
    managed.write_text("as it shall be\n")
    for path, text in {
        "measure.sls": _REACTION,
        "heal.sls": _HEAL,
        "pillar/top.sls": "base: {}\n",
        "tree/_modules/bench.py": _MODULE,
        "tree/managed.sls": f"{managed}:\n  file.managed:\n  - contents: as it shall be\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _side(python: Path, folder: Path, what: str, times: int) -> float:
    """The median of what the program in Salt's virtualenv measures."""
    done = subprocess.run(
        [python, SIDE, folder / "etc" / "master", what, str(times)], check=True, capture_output=True, text=True
    )
    return statistics.median(json.loads(done.stdout.splitlines()[-1]))


def _heal(managed: Path) -> float:
    samples = []
    for _ in range(EDITS):
        began = time.perf_counter()
        managed.write_text("edited\n")
        while managed.read_text() != "as it shall be\n":
            if time.perf_counter() - began > 60:
                raise RuntimeError("Salt did not heal the file")
            time.sleep(0.001)
        samples.append(time.perf_counter() - began)
        time.sleep(3.0)
    return statistics.median(samples[1:])
