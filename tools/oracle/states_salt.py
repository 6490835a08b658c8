"""Real Salt as a process that runs single states. Runs in a virtualenv that has Salt; knows nothing of Saltern.

Started by `tools/oracle/states.py`, never by hand. The first line that it reads is the folder that it may write to.
Each further line is a case: {"top", "state", "arguments", "pillar", "grains", "tree", "environment",
"opts"}. It is answered by one line with what came of the state under test=True (`test`), for real (`run`) and once more
(`again`).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer until there are no more cases."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Salt prints is no answer
    import salt.loader

    logging.disable(logging.CRITICAL)
    folder = Path(json.loads(sys.stdin.readline()))
    opts = _options(folder)
    opts["grains"] = salt.loader.grains(opts)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(opts, json.loads(line)), default=str) + "\n")


def _options(folder: Path) -> dict[str, Any]:
    import salt.config

    config = folder / "minion"
    given = {
        "root_dir": str(folder / "root"),
        "file_client": "local",
        "local": True,
        "file_roots": {"base": [str(folder / "tree")]},
        "pillar_roots": {"base": [str(folder / "pillar")]},
        "log_level_logfile": "quiet",
    }
    for name in ("tree", "pillar", "root"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(given))
    return dict(salt.config.minion_config(str(config), minion_id="web1"))


def _answer(opts: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    tree = Path(opts["file_roots"]["base"][0])
    shutil.rmtree(tree)
    tree.mkdir()
    for path, text in case.get("tree", {}).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    for place in (opts["cachedir"], opts["conf_file"] and str(Path(opts["conf_file"]).parent / "minion.d")):
        shutil.rmtree(place, ignore_errors=True)
    Path(opts["conf_file"]).with_name("grains").unlink(missing_ok=True)
    Path(opts["cachedir"]).mkdir(parents=True)
    kept = dict(os.environ)
    os.environ.update(case.get("environment", {}))
    found = {name: _run(opts, case, test=name == "test") for name in ("test", "run", "again")}
    os.environ.clear()
    os.environ.update(kept)
    return {name: _said(one) for name, one in found.items()}


def _said(result: dict[str, Any]) -> dict[str, Any]:
    more = {"skip_req": True} if result.get("skip_req") else {}
    return {key: result.get(key) for key in ("result", "comment", "changes")} | more


def _run(opts: dict[str, Any], case: dict[str, Any], *, test: bool) -> dict[str, Any]:
    import salt.state

    module, _, function = case["state"].partition(".")
    given = {**opts, **case.get("opts", {}), "test": test, "grains": {**opts["grains"], **case.get("grains", {})}}
    given["pillar"] = case.get("pillar", {})
    arguments = {"name": "x", **case["arguments"]}
    low = {"state": module, "fun": function, "__id__": "x", "__sls__": "s", "__env__": "base", "order": 1, **arguments}
    state = salt.state.State(given, initial_pillar=given["pillar"])
    wrong = state.verify_data(low)
    if wrong:
        return {"result": False, "comment": "\n".join(wrong), "changes": {}}
    return dict(state.call(low))


if __name__ == "__main__":
    main()
