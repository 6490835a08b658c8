"""Record which arguments Salt's states and execution functions take: tests/golden/state-arguments.json and
module-arguments.json are written anew.

    python -m tools.oracle.arguments VENV

VENV is a virtualenv with Salt 3008. The functions are read from the modules themselves and not asked of a minion, since
one that lacks cron or debconf would not tell of these. tests/minion/states/test_arguments.py and
test_modules_arguments.py compare.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from minion.engine.registry import MODULES
from minion.execution import loader

_GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"
RECORDED = _GOLDEN / "state-arguments.json"
RECORDED_MODULES = _GOLDEN / "module-arguments.json"
FILES = {
    "acl": "linux_acl",
    "debconf": "debconfmod",
    "ini": "ini_manage",
    "pip": "pip_state",
    "virtualenv": "virtualenv_mod",
}
"""State modules whose files have another name."""
MODULE_FILES = {
    "acl": "linux_acl",
    "lvm": "linux_lvm",
    "cmd": "cmdmod", "debconf": "debconfmod", "group": "groupadd", "ini": "ini_manage", "locale": "localemod",
    "ip": "debian_ip",
    "log": "logmod", "pkg": "aptpkg", "random": "mod_random", "service": "systemd_service", "shadow": "linux_shadow",
    "sys": "sysmod", "sysctl": "linux_sysctl", "user": "useradd", "virtualenv": "virtualenv_mod",
}  # fmt: skip
"""Execution modules whose files have another name, as a Debian with systemd takes them."""

_INSIDE = """
import importlib, inspect, json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Salt prints is no answer
found = {}
for state, file in json.loads(sys.argv[1]).items():
    try:
        module = importlib.import_module("salt." + sys.argv[2] + "." + file)
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
    _record(venv, "states", {state: FILES.get(state, state) for state in MODULES}, RECORDED)
    modules = {module: MODULE_FILES.get(module, module) for module in loader.MODULES}
    _record(venv, "modules", modules, RECORDED_MODULES)


def _record(venv: str, kind: str, files: Mapping[str, str], place: Path) -> None:
    command = [f"{venv}/bin/python", "-W", "ignore", "-c", _INSIDE, json.dumps(files), kind]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    functions = json.loads(said)
    lines = (f"{json.dumps(name)}: {json.dumps(functions[name])}" for name in sorted(functions))
    place.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(len(functions))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
