"""Record which arguments Salt's states and execution functions take: tests/golden/state-arguments.json and
module-arguments.json are written anew.

    python -m tools.oracle.arguments VENV OLD_VENV

The virtualenvs are those of `tools/oracle/venvs.py`: one with Salt 3008 and its extensions, one with the release before
it, for the modules that nobody has taken over. The functions are read from the modules themselves and not asked of a
minion, since one that lacks cron or debconf would not tell of these. tests/minion/states/test_arguments.py and
tests/minion/modules/test_arguments.py compare.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minion.engine.registry import MODULES
from minion.execution import loader

_GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"
RECORDED = _GOLDEN / "state-arguments.json"
RECORDED_MODULES = _GOLDEN / "module-arguments.json"
FILES = {
    "acl": "linux_acl",
    "debconf": "debconfmod",
    "elasticsearch": "elasticsearch_mod",
    "ini": "ini_manage",
    "pip": "pip_state",
    "raid": "mdadm_raid",
    "redis": "redismod",
    "snap": "snap_mod",
    "virtualenv": "virtualenv_mod",
    "x509": "x509_v2",
}
"""State modules whose files have another name."""
MODULE_FILES = {
    "acl": "linux_acl", "augeas": "augeas_cfg", "cmd": "cmdmod", "debconf": "debconfmod", "docker": "dockermod",
    "influxdb": "influxdbmod", "slack": "slack_notify",
    "group": "groupadd", "haproxy": "haproxyconn", "ini": "ini_manage", "ip": "debian_ip",
    "kernelpkg": "kernelpkg_linux_apt", "kubernetes": "kubernetesmod", "locale": "localemod", "log": "logmod",
    "lvm": "linux_lvm", "pkg": "aptpkg", "raid": "mdadm_raid", "random": "mod_random", "redis": "redismod",
    "service": "systemd_service", "shadow": "linux_shadow", "snap": "snap_mod", "sys": "sysmod",
    "sysctl": "linux_sysctl", "user": "useradd",
    "virtualenv": "virtualenv_mod", "x509": "x509_v2",
}  # fmt: skip
"""Execution modules whose files have another name, as a Debian with systemd takes them."""
_MANY_FILES = ("elasticsearch",)
"""Those that have one for each version of the server, each with other arguments."""

_INSIDE = """
import importlib, importlib.util, inspect, json, os, pkgutil, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Salt prints is no answer
found = {}
extensions = importlib.util.find_spec("saltext")
folders = extensions.submodule_search_locations if extensions else []
places = ["salt"] + ["saltext." + one.name for one in pkgutil.iter_modules(folders)]
for state, file in json.loads(sys.argv[1]).items():
    names = [place + "." + sys.argv[2] for place in places]
    names = [name + "." + file for name in names if importlib.util.find_spec(name)]
    name = next((name for name in reversed(names) if importlib.util.find_spec(name)), None)
    if name is None:
        continue
    module = importlib.import_module(name)
    alias = getattr(module, "__func_alias__", {})
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("_") or function.__module__ != module.__name__ or inspect.isgeneratorfunction(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        found[state + "." + alias.get(name, name)] = {
            "arguments": [
                one.name for one in parameters
                if one.kind != one.VAR_KEYWORD and (one.kind != one.VAR_POSITIONAL or sys.argv[2] == "modules")
            ],
            "more": any(one.kind == one.VAR_KEYWORD for one in parameters),
        }
answers.write(json.dumps(found))
"""


def main(*venvs: str) -> None:
    """Record."""
    _record(venvs, "states", {state: FILES.get(state, state) for state in MODULES}, RECORDED)
    modules = {module: MODULE_FILES.get(module, module) for module in loader.MODULES if module not in _MANY_FILES}
    _record(venvs, "modules", modules, RECORDED_MODULES)


def _record(venvs: Sequence[str], kind: str, files: Mapping[str, str], place: Path) -> None:
    functions: dict[str, Any] = {}
    for venv in venvs:  # what the newer one has counts
        known = {full.partition(".")[0] for full in functions}
        missing = {name: file for name, file in files.items() if name not in known}
        command = [f"{venv}/bin/python", "-W", "ignore", "-c", _INSIDE, json.dumps(missing), kind]
        functions |= json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    lines = (f"{json.dumps(name)}: {json.dumps(functions[name])}" for name in sorted(functions))
    place.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(len(functions))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
