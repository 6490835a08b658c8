"""Record when real Salt runs the jobs of schedules: tests/golden/schedules.json, rewritten in place.

    python -m tools.oracle.schedules SALT_VENV

Salt's scheduler is asked each second of a time that is made up, without running a job. A case has the schedule, `salt`
(the runs that were recorded, as time of the day and job) and where ours differ `here` and `deviates`, which says why.
tests/reactors/test_schedule_golden.py compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "schedules.json"

_SCRIPT = """
import datetime, json, logging, sys, tempfile

logging.disable(logging.CRITICAL)
import salt.config
import salt.utils.schedule

told = json.load(sys.stdin)
root = sys.argv[1]
found = {}
for name, case in told["cases"].items():
    opts = {**salt.config.DEFAULT_MINION_OPTS, "schedule": case["schedule"], "pillar": {}, "grains": {}, "id": "web1"}
    opts.update(cachedir=root, root_dir=root, sock_dir=root, conf_file=root + "/minion")
    opts.update(loop_interval=1, __role="minion")
    schedule = salt.utils.schedule.Schedule(
        opts, {"test.ping": bool}, returners={}, new_instance=True, utils={"unused": bool}
    )
    ran = []
    schedule._run_job = lambda fun, job, jid=None: ran.append(f"{now:%H:%M:%S} {job['name']}")
    schedule._check_max_running = lambda fun, job, opts, now: job
    now = datetime.datetime.fromisoformat(told["begin"])
    end = now + datetime.timedelta(seconds=told["seconds"])
    while now < end:
        schedule.eval(now=now)
        now += datetime.timedelta(seconds=1)
    found[name] = ran
json.dump(found, sys.stdout)
"""


def main() -> None:
    """Rewrite what Salt does in all cases."""
    golden: dict[str, Any] = json.loads(GOLDEN.read_text())
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [f"{sys.argv[1]}/bin/python", "-c", _SCRIPT, folder],
            input=json.dumps(golden),
            capture_output=True,
            text=True,
            check=True,
        )
    for name, runs in json.loads(done.stdout).items():
        golden["cases"][name]["salt"] = runs
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
