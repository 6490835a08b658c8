"""What a state that would change something leaves for the states after it, under test=True.

Called by the engine. Its acts are performed on the planned machine; where they are more than files, what is known of
the state says what it would bring.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, cast

from highstate.types import Chunk, Value
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Machine, Plan
from minion.machine.planned import Brought, NotPredicted, PlannedActs, PlannedMachine

_BRING_NOTHING = frozenset(
    ("environ", "event", "group", "http", "mount", "schedule", "service", "sysctl", "test", "user")
)
"""State modules of which no act that is a command brings a path: of users, groups and mounts more is known."""

_FOLDERS = {"archive": "name", "git": "target", "virtualenv": "name", "mount": "name"}
"""State module -> the argument that names the folder in which it brings what nobody knows yet."""

_REPOSITORIES = ("pkgrepo",)
_OF_PACKAGES = ("pkg",)


def title(chunk: Chunk) -> str:
    """The state as people name it."""
    return f"{chunk.id} ({chunk.state}.{chunk.fun})"


def foretell(planned: PlannedMachine, chunk: Chunk, plan: Plan, arguments: Mapping[str, Value]) -> None:
    """Have the states after this one see what it would have done."""
    if not _performed(planned, chunk, plan):
        planned.brought.append(_brought(chunk, arguments))
    if chunk.fun == "present" and plan.changes[0].key == "name":
        if chunk.state == "user":
            _add_user(planned, chunk.name, arguments)
        elif chunk.state == "group":
            gid = arguments.get("gid")
            planned.accounts.add_group(chunk.name, gid=gid if isinstance(gid, int) else None)
    if chunk.fun == "absent" and chunk.state in ("user", "group"):
        planned.accounts.remove(chunk.state, chunk.name)
    if chunk.state in _FOLDERS:
        _add_folder(planned, _path(chunk, arguments))


def brings_anything(chunk: Chunk) -> Brought:
    """A state of which nothing is known but that it would act."""
    return Brought(by=title(chunk), anything=True)


def may_have_packages(planned: PlannedMachine, chunk: Chunk) -> str:
    """The state before this one that would add a repository, where this one is about packages; else nothing."""
    if chunk.state not in _OF_PACKAGES:
        return ""
    return next((each.by for each in planned.brought if each.by.partition(" (")[2].startswith(_REPOSITORIES)), "")


def _performed(planned: PlannedMachine, chunk: Chunk, plan: Plan) -> bool:
    """Whether all acts could be performed in memory."""
    if chunk.state == "environ":
        return True  # its act is of this process
    acts = cast(Machine, PlannedActs(planned))
    try:
        for change in plan.changes:
            change.act(acts)
    except (NotPredicted, ContentUnknown, StateFailed, OSError):
        return False
    except Exception:  # an act that looks at what no command has made
        return False
    return True


def _brought(chunk: Chunk, arguments: Mapping[str, Value]) -> Brought:
    if chunk.state in _FOLDERS:
        return Brought(by=title(chunk), paths=(_path(chunk, arguments),))
    return Brought(by=title(chunk), anything=chunk.state not in _BRING_NOTHING)


def _path(chunk: Chunk, arguments: Mapping[str, Value]) -> str:
    value = arguments.get(_FOLDERS[chunk.state]) or chunk.name
    return posixpath.normpath(str(value))


def _add_folder(planned: PlannedMachine, path: str) -> None:
    if path.startswith("/") and planned.files.stat(path) is None:
        _made(planned, path)


def _made(planned: PlannedMachine, path: str, mode: str | None = None) -> bool:
    try:
        planned.files.mkdir(path, parents=True)
        if mode:
            planned.files.chmod(path, mode)
    except (OSError, StateFailed):
        return False
    return True


def _add_user(planned: PlannedMachine, name: str, arguments: Mapping[str, Any]) -> None:
    uid, gid, home = arguments.get("uid"), arguments.get("gid"), arguments.get("home") or f"/home/{name}"
    shell = str(arguments.get("shell") or "/bin/sh")
    group = name if gid is None else str(gid)
    planned.accounts.add_user(name, uid=uid if isinstance(uid, int) else None, group=group, home=home, shell=shell)
    if arguments.get("createhome", True) and planned.files.stat(home) is None and _made(planned, home, "0700"):
        planned.files.chown(home, (name, planned.accounts.uid(name)), (group, planned.accounts.gid(group)))
