"""Runs in a virtualenv that has Salt, started by `bench_language`: how long Salt takes to compile a minion.

    python salt_side.py FOLDER TIMES

FOLDER has `states` and `pillar`. Prints the milliseconds of processor time of each compile as a JSON list; the first
one, in which Salt imports what it needs, is not among them.
"""

from __future__ import annotations

import copy
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any


def main(folder: Path, times: int) -> None:
    """Compile for `times` minions, one after the other."""
    import salt.config

    logging.disable(logging.CRITICAL)
    settings = {
        "root_dir": str(folder / "root"),
        "file_roots": {"base": [str(folder / "states")]},
        "pillar_roots": {"base": [str(folder / "pillar")]},
        "file_client": "local",
        "local": True,
        "log_level_logfile": "quiet",
        "user": "root",
    }
    config = folder / "minion"
    config.write_text(json.dumps(settings))  # JSON is YAML
    base = copy.deepcopy(dict(salt.config.minion_config(str(config), minion_id="web-0000")))
    samples = []
    for number in range(times + 1):
        began = time.process_time()
        chunks = _compile(base, f"web-{number:04d}")
        samples.append(1000 * (time.process_time() - began))
        assert chunks, "Salt made no chunks"  # noqa: S101
    sys.stdout.write(json.dumps(samples[1:]) + "\n")


def _compile(base: dict[str, Any], minion: str) -> int:
    import salt.pillar
    import salt.state

    opts = {**copy.deepcopy(base), "id": minion, "grains": {"id": minion, "os": "Debian", "os_family": "Debian"}}
    Path(opts["cachedir"]).mkdir(parents=True, exist_ok=True)
    pillar = salt.pillar.get_pillar(opts, opts["grains"], opts["id"], opts.get("saltenv")).compile_pillar()
    opts["pillar"] = pillar
    with salt.state.HighState(opts, initial_pillar=pillar) as state:
        low = state.compile_low_chunks()
    assert all(isinstance(chunk, dict) for chunk in low), low  # noqa: S101
    return len(low)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
