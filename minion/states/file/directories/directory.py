"""file.directory: a folder, and owner and mode of what is below it.

Behaviour: doc/ref/states/all/salt.states.file, directory. Each path that changes has an entry of its own
in `changes`, the same under test=True and after the acts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Unpack

from minion.arguments.types import (
    Mode,
    Owner,
    Reads,
    Requirers,
    Texts,
    Unfit,
)
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.states.file.directories.cleaning import check_cleanable, cleaned_away, kept_by_others
from minion.states.file.directories.folder import folder_changes, put_later, said
from minion.states.file.links import aside
from minion.states.file.paths import behind, below, checked
from minion.states.file.perms import Perms, differing
from minion.states.unused_arguments import WindowsOwner

_OWNERSHIP = frozenset(("user", "group", "mode"))
_RECURSED = _OWNERSHIP | {"ignore_files", "ignore_dirs", "silent"}


def as_recursed(value: Value) -> frozenset[str]:
    """`recurse` of file.directory: a list of words, or true for user, group and mode. Worded as Salt does."""
    if value is True:
        return _OWNERSHIP
    words = frozenset(map(str, value)) if isinstance(value, list) else frozenset()
    if (value and not words) or not words <= _RECURSED:
        raise Unfit("", 'Types for "recurse" limited to "user", "group", "mode", "ignore_files" and "ignore_dirs"')
    return words


Recursed = Annotated[frozenset[str], Reads(as_recursed, null=True)]


def directory(
    machine: Reader,
    name: str,
    *,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: Mode | None = None,
    dir_mode: Mode | None = None,
    file_mode: Mode | None = None,
    makedirs: bool = False,
    recurse: Recursed | None = None,
    max_depth: int | None = None,
    clean: bool = False,
    exclude_pat: Texts = (),
    required: Requirers = (),
    force: bool = False,
    backupname: str | None = None,
    follow_symlinks: bool = False,
    allow_symlink: bool = True,
    children_only: bool = False,
    **_: Unpack[WindowsOwner],
) -> Plan:
    """The plan of file.directory. With `clean`, what `required` file states manage is kept; the engine names them."""
    path = checked(name, "directory")
    if clean:
        check_cleanable(machine, path)
    owner = Perms(user=user, group=group, mode=dir_mode if mode is None else mode)
    files = Perms(user=user, group=group, mode=owner.mode if file_mode is None else file_mode)
    if allow_symlink or follow_symlinks:
        path, found = behind(machine, path)
    else:
        found = machine.stat(path)
    if found is not None and found.kind != "directory" and not (force or backupname):
        raise StateFailed(f"Specified location {name} exists and is a {found.kind}")
    in_the_way = found is not None and found.kind != "directory"
    kept = aside(machine, path, backupname, force=force) if in_the_way else None
    changes = (
        []
        if children_only and found is not None
        else list(folder_changes(path, found, owner, makedirs=makedirs, kept=kept, told=True))
    )
    if kept is not None:
        changes += _moved(path, kept, is_there=machine.stat(kept) is not None)
    if found is not None and found.kind == "directory":
        folders = Perms(user=user, group=group, mode=mode if dir_mode is None else dir_mode)
        changes += _recursed(machine, path, folders, files, recurse, max_depth, follow=follow_symlinks)
        if clean:
            changes += cleaned_away(machine, path, kept_by_others(machine, required), exclude_pat)
    paths = [change for change in changes if not isinstance(change.reported, str)]
    listed = "".join(f"{change.key}: {said(change.reported)}\n" for change in paths)
    cleaned = any("removed" in change.reported for change in paths)
    return Plan(
        changes=tuple(changes),
        comment=f"The directory {name} is in the correct state",
        pending=f"{name} would be backed up and replaced with a new directory"
        if kept is not None
        else f"The following files will be changed:\n{listed}",
        done=f"Files cleaned from directory {name}" if cleaned else f"Directory {name} updated",
    )


def _moved(path: str, kept: str, *, is_there: bool) -> Iterator[Change]:
    """What is said of the file that makes way; the directory's own change moves it."""
    said = {"backup": f"{path} {{}} renamed to {kept}"}
    if is_there:
        said["forced"] = f"Existing file at backup path {kept} {{}} removed"
    for key, text in said.items():
        yield Change(
            key=key, reported=text.format("would be"), act=_saying({key: text.format("was")}), predicted_only=True
        )


def _saying(done: Mapping[str, Value]) -> Callable[[Machine], Mapping[str, Value]]:
    return lambda machine: done


def _recursed(
    machine: Reader, top: str, folders: Perms, files: Perms, wanted: Collection[str] | None, max_depth: int | None,
    *, follow: bool,
) -> Iterator[Change]:  # fmt: skip
    """Owner and mode of everything below, as far as `wanted` names them; `follow`: of what a symlink leads to."""
    if not wanted:
        return
    for attribute in ("user", "group"):
        if attribute in wanted and getattr(folders, attribute) is None:
            raise StateFailed(
                f"{attribute} not specified, but configured as a target for recursive ownership management"
            )
    for path, found in below(machine, top, None if max_depth is None else max_depth - 1):
        if follow and found.kind == "symlink":
            path, there = behind(machine, path)
            if there is None:
                continue
            found = there
        if found.kind == "other" or f"ignore_{'dirs' if found.kind == 'directory' else 'files'}" in wanted:
            continue
        perms_of = folders if found.kind == "directory" else files
        needed = {key: value for key, value in differing(found, perms_of).items() if key in wanted}
        if needed:
            yield Change(key=path, reported=needed, act=put_later(path, needed))
