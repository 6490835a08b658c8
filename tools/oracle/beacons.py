"""Record what Salt's own beacons find: tests/golden/beacons.json, rewritten in place.

    python -m tools.oracle.beacons SALT_VENV

Each case has the beacon, its options, and what the machine says at each look: load averages, states of services, values
of functions, lines that are appended to a log. tests/minion/beacons/test_as_salt.py gives ours the same and compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "beacons.json"

_IN_SALT = """
import importlib, json, os, sys, tempfile

for case in (cases := json.load(sys.stdin)):
    name = {"log": "log_beacon"}.get(case["beacon"], case["beacon"])
    module = importlib.import_module(f"salt.beacons.{name}")
    module.__context__ = {}
    module.__dict__.get("LAST_STATUS", {}).clear()
    case["found"] = []
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        open(log, "w").write("before\\n")
        config = json.loads(json.dumps(case["config"]).replace("{log}", log))
        if name == "log_beacon":
            module.beacon(config)
        for said in case["looks"]:
            os.getloadavg = lambda: said.get("load", [0, 0, 0])
            given = said.get("functions", {})
            module.__salt__ = {fun: lambda *a, value=value, **k: value for fun, value in given.items()}
            if "lines" in said:
                open(log, "a").write(said["lines"])
            found = module.beacon(json.loads(json.dumps(config)))
            case["found"].append([{k: v for k, v in one.items() if name != "status" or k != "tag"} for one in found])
json.dump(cases, sys.stdout, indent=1, sort_keys=True)
"""


def main() -> None:
    """Record all cases."""
    python = Path(sys.argv[1]) / "bin" / "python"
    done = subprocess.run([python, "-c", _IN_SALT], input=GOLDEN.read_bytes(), capture_output=True, check=True)
    GOLDEN.write_bytes(done.stdout + b"\n")
    sys.stdout.write(f"{len(json.loads(done.stdout))} cases recorded\n")


if __name__ == "__main__":
    main()
