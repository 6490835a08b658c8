"""`test.ping` of one minion of real Salt: a master and minions of its virtualenv on the loopback."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tools.oracle.orchestrations import MINIONS, SaltMaster

SIDE = Path(__file__).with_name("salt_ping_side.py")
TIMES = 20
TIMES_OF_COMMAND = 5


def measure_salt() -> Mapping[str, float]:
    """Median seconds by `api` and by `command`; empty without `SALT_VENV`."""
    if "SALT_VENV" not in os.environ:
        return {}
    venv = Path(os.environ["SALT_VENV"])
    with tempfile.TemporaryDirectory(prefix="saltern-bench-", dir="/tmp") as name:
        folder = Path(name)
        for part in ("tree", "pillar"):
            (folder / part).mkdir()
        made = SaltMaster(venv / "bin", folder)
        try:
            made.start()
            config = folder / "etc"
            said = subprocess.run(
                [venv / "bin/python", SIDE, config / "master", MINIONS[0], str(TIMES)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            command = [venv / "bin/salt", "-c", config, MINIONS[0], "test.ping"]
            return {
                "api": statistics.median(json.loads(said.splitlines()[-1])),
                "command": statistics.median(_seconds(command) for _ in range(TIMES_OF_COMMAND)),
            }
        finally:
            made.stop([*MINIONS, "master"])


def _seconds(command: list[str | Path]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began
