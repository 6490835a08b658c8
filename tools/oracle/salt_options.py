"""Record the names and defaults of Salt's options: `python -m tools.oracle.salt_options VENV`, where Salt is.

tests/minion/config/test_salt_options.py reads every one of them with both readers of configurations.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "salt_options.json"
_ASK = """
import json, logging
logging.disable(logging.CRITICAL)
import salt.config, salt.version
names = {"master": salt.config.DEFAULT_MASTER_OPTS, "minion": salt.config.DEFAULT_MINION_OPTS}
kept = (bool, int, float, str, list, dict, type(None))
found = {
    kind: {
        name: value for name, value in sorted(options.items())
        if isinstance(value, kept) and "/" not in str(value)
    }
    for kind, options in names.items()
}
print(json.dumps({
    "salt": salt.version.__version__,
    "names": {kind: sorted(options) for kind, options in names.items()} | {"valid": sorted(salt.config.VALID_OPTS)},
    "defaults": found,
}))
"""
"""Defaults that are paths are of the machine on which they are recorded, and left out."""


def main() -> None:
    """Write what Salt says."""
    said = subprocess.run([f"{sys.argv[1]}/bin/python", "-c", _ASK], capture_output=True, text=True, check=True).stdout
    GOLDEN.write_text(json.dumps(json.loads(said.splitlines()[-1]), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
