"""Record which arguments Salt's states take: tests/golden/state-arguments.json is written anew.

    python ops/oracle_arguments.py VENV

VENV is a virtualenv with Salt 3008. The functions are read from the modules themselves and not asked of a minion, since
one that lacks cron or debconf would not tell of these. tests/minion/test_states_arguments.py compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from minion.states.registry import MODULES

RECORDED = Path(__file__).resolve().parent.parent / "tests/golden/state-arguments.json"
FILES = {"debconf": "debconfmod", "ini": "ini_manage", "pip": "pip_state", "virtualenv": "virtualenv_mod"}
"""State modules whose files have another name."""

_INSIDE = """
import importlib, inspect, json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Salt prints is no answer
found = {}
for state, file in json.loads(sys.argv[1]).items():
    try:
        module = importlib.import_module("salt.states." + file)
    except ModuleNotFoundError:
        continue  # it has become an extension
    alias = getattr(module, "__func_alias__", {})
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("_") or function.__module__ != module.__name__ or inspect.isgeneratorfunction(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        found[state + "." + alias.get(name, name)] = {
            "arguments": [one.name for one in parameters if one.kind != one.VAR_KEYWORD],
            "more": any(one.kind == one.VAR_KEYWORD for one in parameters),
        }
answers.write(json.dumps(found))
"""


def main(venv: str) -> None:
    """Record."""
    files = json.dumps({state: FILES.get(state, state) for state in MODULES})
    command = [f"{venv}/bin/python", "-W", "ignore", "-c", _INSIDE, files]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    functions = json.loads(said)
    lines = (f"{json.dumps(name)}: {json.dumps(functions[name])}" for name in sorted(functions))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(len(functions))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
