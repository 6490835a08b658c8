"""The state module `rsync`: a folder has what another has, here or on another machine.

Behaviour: doc/ref/states/all/salt.states.rsync. What would be copied is asked of rsync itself, by a trial run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.rsync import Copied, RsyncOptions, command, copied, marked


def synchronized(
    machine: Reader, name: str, source: str, *, prepare: bool = False, dryrun: bool = False, options: RsyncOptions
) -> Plan:
    """What is in `source` is in `name`; with `delete` nothing else."""
    words = marked(command(source, name, options))
    missing = not _is_remote(name) and machine.stat(name) is None
    if missing and not (options.force or prepare):
        raise StateFailed(f"Destination directory {name} was not found.")
    above = posixpath.dirname(name.rstrip("/")) or "/"
    if missing and not prepare and machine.stat(above) is None:
        raise StateFailed(f"Destination directory {name} was not found, nor the one above it: give prepare")
    found = copied(machine.query([*words[:-2], "--dry-run", *words[-2:]]))
    if not (found.copied or found.deleted):
        return Plan(comment=f"{name} has all of {source}")
    told = _told(found)
    if dryrun:
        return Plan(comment=told, result=None)

    def act(machine: Machine) -> Mapping[str, str]:
        if _is_remote(name):
            machine.begin_elsewhere()
        elif missing and prepare:
            machine.mkdir(above, parents=True)  # rsync makes the last one itself, and tells so as it foretold
        return copied(machine.run(words)).shown()

    shown = found.shown()
    return Plan(
        changes=(
            Change(key="copied", reported=shown["copied"], act=act),
            Change(key="deleted", reported=shown["deleted"], act=lambda machine: None),
        ),
        pending=told,
        done=f"{name} has all of {source}",
    )


def _is_remote(path: str) -> bool:
    """Whether rsync takes a path for one of another machine: a colon stands before its first slash."""
    return ":" in path.partition("/")[0]


def _told(found: Copied) -> str:
    return f"{len(found.copied)} to be copied, {len(found.deleted)} to be deleted"


STATES: Mapping[str, StateFunction] = {"synchronized": synchronized}
