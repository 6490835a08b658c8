"""Stands in for Salt's Python: answers what real Salt answered when it was recorded. Run by test_compare.py.

replay.py RECORDING     RECORDING: {"version": …, "answers": {minion: answer}}
"""

import json
import sys
from pathlib import Path

recorded = json.loads(Path(sys.argv[1]).read_text())
sys.stdin.readline()
sys.stdout.write(json.dumps({"version": recorded["version"]}) + "\n")
sys.stdout.flush()
for line in sys.stdin:
    sys.stdout.write(json.dumps(recorded["answers"][json.loads(line)["id"]]) + "\n")
    sys.stdout.flush()
