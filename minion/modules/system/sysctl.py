"""The execution module `sysctl`: kernel parameters, now and at boot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed
from minion.states import sysctl


def show(context: Context, config_file: str | None = None) -> dict[str, str]:
    """All parameters, or those that a file sets."""
    if config_file:
        text = context.machine.read(config_file).decode("utf-8", "replace")
        lines = (line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "#;")
    else:
        lines = (line for line in _sysctl(context, "-a").stdout.splitlines())
    return {key.strip(): value.strip() for key, sign, value in (line.partition("=") for line in lines) if sign}


def get(context: Context, name: str) -> str:
    """The value of a parameter now, or what sysctl(8) says against it."""
    done = _sysctl(context, "-n", "--", name)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()


def assign(context: Context, name: str, value: str) -> dict[str, Any]:
    """Set a parameter until the next boot."""
    _there(context, name)
    done = _sysctl(context, "-w", f"{name}={value}")
    if done.returncode != 0 or "Invalid argument" in done.stderr or "setting key" in done.stderr:
        raise CallFailed(f"sysctl -w failed: {done.stderr.strip()}")
    return {name: get(context, name)}


def persist(context: Context, name: str, value: str, config: str | None = None) -> str:
    """Set a parameter now and at every boot."""
    _there(context, name)
    file = config or sysctl.default_config(context.machine)
    old = show(context, file).get(name) if context.machine.stat(file) else None
    changed = bool(act(context, "sysctl.present", name, value=value, config=config).changes)
    return "Updated" if changed or old is None else "Already set"


def default_config(context: Context) -> str:
    """The file that `persist` writes to."""
    return sysctl.default_config(context.machine)


def _there(context: Context, name: str) -> None:
    if context.machine.stat("/proc/sys/" + name.replace(".", "/")) is None:
        raise CallFailed(f"sysctl {name} does not exist")


def _sysctl(context: Context, *words: str) -> Completed:
    done = context.machine.run(["sysctl", *words])
    if done.returncode == 127:
        raise CallFailed("There is no sysctl program: install the package procps")
    return done


FUNCTIONS: Mapping[str, Any] = {
    "assign": assign,
    "default_config": default_config,
    "get": get,
    "persist": persist,
    "show": show,
}
