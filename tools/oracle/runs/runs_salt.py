"""Real Salt as a process that runs states and answers JSON lines. Runs in a virtualenv that has Salt.

Started by `SaltRuns` of `tools/oracle/runs/runs.py`, never by hand. Each line is a `Case` with the folder that it may
use; it is answered by the running dictionary, or the errors in its place. Knows nothing of Saltern.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer until there are no more cases."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Salt prints is no answer
    base = _options(Path(sys.stdin.readline().strip()))
    for line in sys.stdin:
        try:
            job = json.loads(line)
            answer = _shown(copy.deepcopy(base), job) if "show" in job else _run(copy.deepcopy(base), job)
        except Exception:
            answer = {"errors": [traceback.format_exc()]}
        answers.write(json.dumps(answer, default=str) + "\n")


def _options(folder: Path) -> dict[str, Any]:
    import salt.config
    import salt.loader

    logging.disable(logging.CRITICAL)
    config = folder / "minion"
    lines = (f"root_dir: {folder}", "file_client: local", "local: true", "log_level: quiet", "user: root")
    config.write_text("\n".join([*lines, "log_level_logfile: quiet", "grains_cache: false", ""]))
    opts = dict(salt.config.minion_config(str(config), minion_id="oracle"))
    Path(opts["cachedir"]).mkdir(parents=True, exist_ok=True)
    opts["grains"] = salt.loader.grains(opts)
    return opts


def _run(opts: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    import salt.loader
    import salt.state

    root = Path(case["root"])
    roots = {"file_roots": {"base": [str(root / "tree")]}, "pillar_roots": {"base": [str(root / "pillar")]}}
    opts |= {**roots, "conf_file": str(root / "minion"), "test": case["test"], "pillar": {}, **case["opts"]}
    if (root / "grains").exists():
        opts["grains"] = salt.loader.grains(opts)
    heard = _listening() if case["events"] else []
    opts["local"] = not case["events"]
    # An initial pillar would be all there is, whatever a state has read anew.
    with salt.state.HighState(opts, initial_pillar=None if (root / "pillar" / "data.sls").exists() else {}) as state:
        state.push_active()
        try:
            high, errors = state.render_highstate({"base": case["sls"]})
            found = errors or state.state.call_high(high)
        finally:
            state.pop_active()
    return {"errors": found} if isinstance(found, list) else {"states": found, "events": heard}


def _listening() -> list[Any]:
    """The events that states ask for, as they come; nobody else hears them."""
    import salt.utils.event

    heard: list[Any] = []

    class Bus:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            pass

        def __enter__(self) -> Bus:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def fire_event(self, data: dict[str, Any], tag: str) -> None:
            if "/state_result/" in tag:
                heard.append([tag, copy.deepcopy(data["ret"])])

    salt.utils.event.get_master_event = Bus
    return heard


def _shown(opts: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """The highstate outputter's text for a running dictionary."""
    import salt.loader

    opts |= {"state_verbose": True, "state_output": "full", "color": job["color"], **job["opts"]}
    return {"text": salt.loader.outputters(opts)["highstate"]({"local": job["show"]})}


if __name__ == "__main__":
    main()
