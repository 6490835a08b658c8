"""git.present: a repository made here.

Behaviour: doc/ref/states/all/salt.states.git, present.
"""

from __future__ import annotations

import posixpath
from typing import Unpack

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.states.file.paths import behind, checked
from minion.states.unused_arguments import GitOptions


def present(
    machine: Reader,
    name: str,
    *,
    force: bool = False,
    bare: bool = True,
    template: str | None = None,
    separate_git_dir: str | None = None,
    shared: str | None = None,
    user: str | None = None,
    **_: Unpack[GitOptions],
) -> Plan:
    """A repository is at `name`, a bare one unless `bare` is false; what else is there goes with `force` only."""
    path, found = behind(machine, checked(name, "present"))
    kind = "bare repository" if bare else "repository"
    forced = False
    if found is not None:
        if _is_repository(machine, path, bare=bare):
            return Plan(comment="")
        forced = found.kind != "directory" or bool(machine.listdir(path))
        if forced and not force:
            raise StateFailed(
                f"Target '{name}' exists, is non-empty, and is not a git repository. Set the 'force' option to True to "
                "remove this directory's contents and proceed with initializing a repository"
            )

    def act(machine: Machine) -> None:
        if forced:
            machine.remove(path)
        words = ["--bare"] if bare else []
        words += [f"--template={template}"] if template else []
        words += [f"--separate-git-dir={separate_git_dir}"] if separate_git_dir else []
        words += [f"--shared={shared}"] if shared else []
        done = machine.run(["git", "init", "-q", *words, path], runas=user)
        if done.returncode != 0:
            raise StateFailed(f"git init failed: {done.stderr.strip()}")

    note = [Change(key="forced init", reported=True, act=lambda machine: None)] if forced else []
    pending = f"New {kind} would be created"
    if forced:
        pending = (
            f"Target directory {name} exists. Since force=True, the contents of {name} would be deleted, and a {kind} "
            "would be initialized in its place."
        )
    return Plan(
        changes=(*note, Change(key="new", reported=name, act=act)),
        pending=pending,
        done=f"Initialized {kind} in {name}",
    )


def _is_repository(machine: Reader, path: str, *, bare: bool) -> bool:
    if bare:
        names = ("HEAD", "objects", "refs")
        return all(machine.stat(posixpath.join(path, one)) is not None for one in names)
    return machine.stat(posixpath.join(path, ".git")) is not None
