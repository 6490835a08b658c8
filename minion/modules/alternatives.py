"""The execution module `alternatives`: which of several programs a common name stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.states.alternatives import group_of, program


def display(context: Context, name: str) -> str:
    """All that is known of a name."""
    done = context.machine.query([program(), "--display", name])
    return (done.stdout if done.returncode == 0 else done.stderr).strip("\n")


def show_link(context: Context, name: str) -> Any:
    """The path that stands for the name; false when there are no alternatives for it."""
    done = context.machine.query([program(), "--query", name])
    lines = (line.partition(": ") for line in done.stdout.splitlines())
    return next((value for key, _, value in lines if key == "Link"), False) if done.returncode == 0 else False


def show_current(context: Context, name: str) -> Any:
    """The alternative that a name stands for; false when there is none."""
    return group_of(context.machine, name).value or False


def check_exists(context: Context, name: str, path: str) -> bool:
    """Whether a path is one of the alternatives for a name."""
    return path in group_of(context.machine, name).priorities


def check_installed(context: Context, name: str, path: str) -> bool:
    """Whether a name stands for this path now."""
    return group_of(context.machine, name).value == path


def install(context: Context, name: str, link: str, path: str, priority: int) -> str:
    """Make a path one of the alternatives for a name."""
    return act(context, "alternatives.install", name, link=link, path=path, priority=priority).done


def remove(context: Context, name: str, path: str) -> str:
    """Have a path be none of the alternatives for a name."""
    return act(context, "alternatives.remove", name, path=path).done


def set_(context: Context, name: str, path: str) -> str:
    """Have a name stand for this path, whatever the priorities say."""
    return act(context, "alternatives.set", name, path=path).done


def auto(context: Context, name: str) -> str:
    """Have a name stand for the alternative of the highest priority."""
    return act(context, "alternatives.auto", name).done


FUNCTIONS: Mapping[str, Any] = {
    "auto": auto,
    "check_exists": check_exists,
    "check_installed": check_installed,
    "display": display,
    "install": install,
    "remove": remove,
    "set": set_,
    "show_current": show_current,
    "show_link": show_link,
}
