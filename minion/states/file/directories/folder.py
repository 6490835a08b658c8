"""Changes of one folder, and the acts that changes of trees are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Value
from minion.states.file.paths import make_parents, missing_parents
from minion.states.file.perms import Perms, differing, put


def folder_changes(
    path: str, found: FileStat | None, owner: Perms, *, makedirs: bool, kept: str | None = None, told: bool = False
) -> Iterator[Change]:
    """Make the folder, or give it this owner and mode; with `kept` what stands there is moved to that path."""
    if found is not None and found.kind == "directory":
        needed = differing(found, owner)
        if needed:
            yield Change(key=path, reported=needed, act=put_later(path, needed))
            if told:  # Salt shows the directory itself twice: by its path, and without
                yield from (Change(key=key, reported=value, act=nothing) for key, value in needed.items())
        return

    def act(machine: Machine) -> None:
        if found is not None and kept is not None:
            machine.remove(kept)
            machine.rename(path, kept)
        elif found is not None:
            machine.remove(path)
        if missing_parents(machine, path):
            if not makedirs:
                raise StateFailed(f"No directory to create {path} in")
            make_parents(machine, path, owner)
        machine.mkdir(path, mode=owner.mode)
        put(machine, path, {key: value for key, value in differing(None, owner).items() if key != "mode"})

    yield Change(key=path, reported={"directory": "new"}, act=act)


def said(shown: Value) -> str:
    """What changes of a path, in one line."""
    return ", ".join(f"{key} - {value}" for key, value in shown.items())


def all_of(changes: Iterable[Change]) -> Callable[[Machine], None]:
    """One act that does these changes in their order."""

    def act(machine: Machine) -> None:
        for change in changes:
            change.act(machine)

    return act


def after(*acts: Callable[[Machine], None]) -> Callable[[Machine], None]:
    """One act that does these in their order."""

    def act(machine: Machine) -> None:
        for one in acts:
            one(machine)

    return act


def put_later(path: str, changes: dict[str, str]) -> Callable[[Machine], None]:
    """An act that sets owner and mode."""
    return lambda machine: put(machine, path, changes)


def remove_later(path: str) -> Callable[[Machine], None]:
    """An act that takes the path away."""
    return lambda machine: machine.remove(path)


def nothing(machine: Machine) -> None:
    """Goes with the folder that it is in."""
