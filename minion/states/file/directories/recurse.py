"""file.recurse: a tree of the source below a folder.

Behaviour: doc/ref/states/all/salt.states.file, recurse. Each path that changes has an entry of its own
in `changes`, the same under test=True and after the acts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace as replaced
from typing import Annotated, Unpack

from minion.arguments.sources import Sources, as_sources
from minion.arguments.types import (
    BackupDir,
    Context,
    Ignored,
    Mode,
    ModeOrKeep,
    Owner,
    Requirers,
    TemplateVariables,
    Texts,
    Unsupported,
)
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Plan, Reader, Value
from minion.states.file.directories.cleaning import check_cleanable, cleaned_away, kept_by_others
from minion.states.file.directories.folder import after, all_of, folder_changes, remove_later, said
from minion.states.file.directories.source_tree import SourceTree, TreeLink, below_sources
from minion.states.file.kept_sources import kept_copy, without_sources
from minion.states.file.links import symlink
from minion.states.file.paths import behind, checked, is_part
from minion.states.file.perms import Perms
from minion.states.file.sources import Template, kept_mode, of_source, template
from minion.states.file.target import WantedFile, file_changes
from minion.states.unused_arguments import WindowsOwner


class _More(WindowsOwner, total=False):
    """How sources are joined and kept, symlinks, and arguments of Salt's file.recurse that are ignored or refused."""

    mode: Annotated[
        Value, Unsupported("'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.")
    ]
    keep_source: bool
    merge: bool
    keep_symlinks: bool
    force_symlinks: bool
    include_empty: Annotated[Value, Ignored("git has no empty directories")]
    sym_mode: Annotated[Value, Ignored("symlinks have no mode on Linux")]


def recurse(
    machine: Reader,
    name: str,
    *,
    source: Sources,
    clean: bool = False,
    user: Owner | None = None,
    group: Owner | None = None,
    dir_mode: Mode | None = None,
    file_mode: ModeOrKeep | None = None,
    include_pat: Texts = (),
    exclude_pat: Texts = (),
    maxdepth: int | None = None,
    template: str | None = None,
    context: Context | None = None,
    defaults: Context | None = None,
    replace: bool = True,
    makedirs: bool = True,
    show_changes: bool = True,
    backup: bool | str = "",
    required: Requirers = (),
    saltenv: str = "base",
    backup_dir: BackupDir = "",
    template_variables: TemplateVariables = None,
    **more: Unpack[_More],
) -> Plan:
    """The plan of file.recurse."""
    path, found = _top(machine, name, clean=clean)
    folder = Perms(user=user, group=group, mode=dir_mode)
    owner = replaced(folder, mode=None if file_mode == "keep" else file_mode)
    own = {"name": name, "user": user, "group": group, "mode": file_mode, **(template_variables or {})}
    rendered = _template(template, context, defaults, own)
    tree = SourceTree(saltenv=saltenv, maxdepth=maxdepth, keep_symlinks=more.get("keep_symlinks", False))
    wanted = {
        posixpath.join(path, relative): one
        for relative, one in below_sources(machine, source, tree, merge=more.get("merge", False)).items()
        if is_part(relative, include_pat, exclude_pat)
    }
    copies = backup_dir if backup in (True, "minion", "both") else ""
    like = WantedFile(path=path, data=None, perms=owner, makedirs=True, show_changes=show_changes, backup=copies,
        copied=True)  # fmt: skip
    changes = list(folder_changes(path, found, folder, makedirs=makedirs))
    changes += _folders(machine, path, wanted, folder, clean=clean)
    keep_source = more.get("keep_source") if backup_dir else None
    for target, url in _urls(wanted):
        one = replaced(like, path=target)
        if file_mode == "keep":
            one = replaced(one, perms=replaced(owner, mode=kept_mode(machine, as_sources(url), saltenv)))
        copy = (kept_copy(as_sources(url), saltenv, backup_dir),) if keep_source else ()
        changes += _one_file(machine, one, url, saltenv, rendered, copy, replace=replace, clean=clean)
    if clean and found is not None:
        changes += cleaned_away(machine, path, {*wanted, *kept_by_others(machine, required)}, exclude_pat)
    # Last, so that nothing is removed or written through one of them.
    changes += _links(machine, wanted, folder, force=clean or more.get("force_symlinks", False))
    listed = "\n".join(f"#### {change.key} ####\n{said(change.reported)}\n" for change in changes)
    good = f"The directory {name} is in the correct state"
    plan = Plan(changes=tuple(changes), comment=good, pending=listed, done=f"Recursively updated {name}")
    if keep_source is False:
        return without_sources(machine, plan, (url for _, url in _urls(wanted)), saltenv, backup_dir)
    return plan


_template = template  # `recurse` has a parameter of this name


def _top(machine: Reader, name: str, *, clean: bool) -> tuple[str, FileStat | None]:
    """Where the tree is to be, and what is there."""
    path = checked(name, "recurse")
    if clean:
        check_cleanable(machine, path)
    path, found = behind(machine, path)
    if found is not None and found.kind != "directory":
        raise StateFailed(f"The path {name} exists and is not a directory")
    return path, found


def _urls(wanted: Mapping[str, str | TreeLink]) -> Iterator[tuple[str, str]]:
    """The files of what is wanted, without the links."""
    return ((path, one) for path, one in wanted.items() if isinstance(one, str))


def _links(machine: Reader, wanted: Mapping[str, str | TreeLink], owner: Perms, *, force: bool) -> Iterator[Change]:
    """The symlinks of the tree; with `force`, in place of whatever stands there."""
    for path, link in wanted.items():
        if isinstance(link, str):
            continue
        inner = symlink(machine, path, target=link.target, force=force, makedirs=True, user=owner.user,
            group=owner.group, dir_mode=owner.mode).changes  # fmt: skip
        if inner:
            shown = {change.key: change.reported for change in inner if change.key}
            yield Change(key=path, reported=shown, act=all_of(inner))


def _one_file(
    machine: Reader, like: WantedFile, url: str, saltenv: str, rendered: Template, copy: Iterable[Change], *,
    replace: bool, clean: bool,
) -> Iterator[Change]:  # fmt: skip
    """What makes one file; `copy` comes after it."""
    found = machine.stat(like.path)
    if found is not None and found.kind == "directory":
        if not clean:
            raise StateFailed(f"{like.path} is a directory, and {url} is a file")
        new = replaced(like, data=of_source(machine, as_sources(url), saltenv, rendered, None))
        inner = file_changes(machine, new, None)
        replaced_folder = {"diff": "Replaced directory with a new file"}
        yield Change(
            key=like.path, reported=replaced_folder, act=after(remove_later(like.path), all_of((*inner, *copy)))
        )
        return
    keep = found is not None and not replace
    data = None if keep else of_source(machine, as_sources(url), saltenv, rendered, None)
    inner = file_changes(machine, replaced(like, data=data), found)
    if inner:
        shown = {change.key: change.reported for change in inner if change.key}
        yield Change(key=like.path, reported=shown, act=all_of((*inner, *copy)))


def _folders(machine: Reader, top: str, files: Iterable[str], owner: Perms, *, clean: bool) -> Iterator[Change]:
    """The folders between `top` and the files; with `clean`, in place of whatever stands there."""
    folders: set[str] = set()
    for file in files:
        above = posixpath.dirname(file)
        while above != top and above not in folders:
            folders.add(above)
            above = posixpath.dirname(above)
    for folder in sorted(folders):
        found = machine.stat(folder)
        if found is not None and found.kind != "directory" and not clean:
            raise StateFailed(f"{folder} exists and is a {found.kind}, and a directory is wanted there")
        yield from folder_changes(folder, found, owner, makedirs=True)
