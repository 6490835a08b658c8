"""file.directory and file.recurse: folders, and whole trees below them.

Behaviour: doc/ref/states/all/salt.states.file, directory and recurse. Each path that changes has an entry of its own
in `changes`, the same under test=True and after the acts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Annotated, Unpack

from highstate.files import through_link
from highstate.salt_urls import split_salt_url
from minion.arguments.sources import Source, Sources, as_sources
from minion.arguments.types import (
    BackupDir,
    Context,
    Ignored,
    Mode,
    ModeOrKeep,
    Owner,
    Reads,
    Requirers,
    TemplateVariables,
    Texts,
    Unfit,
    Unsupported,
)
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Plan, Reader, Value
from minion.states.file.links import aside, symlink
from minion.states.file.paths import behind, below, checked, is_part, make_parents, missing_parents
from minion.states.file.perms import Perms, differing, put
from minion.states.file.sources import Template, kept_mode, of_source, template
from minion.states.file.target import WantedFile, file_changes
from minion.states.unused_arguments import NoSourceCache, WindowsOwner

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
        _cleanable(machine, path)
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
        else list(_folder(path, found, owner, makedirs=makedirs, kept=kept, told=True))
    )
    if kept is not None:
        changes += _moved(path, kept, is_there=machine.stat(kept) is not None)
    if found is not None and found.kind == "directory":
        folders = Perms(user=user, group=group, mode=mode if dir_mode is None else dir_mode)
        changes += _recursed(machine, path, folders, files, recurse, max_depth, follow=follow_symlinks)
        if clean:
            changes += _cleaned(machine, path, _kept(machine, required), exclude_pat)
    paths = [change for change in changes if not isinstance(change.reported, str)]
    listed = "".join(f"{change.key}: {_said(change.reported)}\n" for change in paths)
    cleaned = any("removed" in change.reported for change in paths)
    return Plan(
        changes=tuple(changes),
        comment=f"The directory {name} is in the correct state",
        pending=f"{name} would be backed up and replaced with a new directory"
        if kept is not None
        else f"The following files will be changed:\n{listed}",
        done=f"Files cleaned from directory {name}" if cleaned else f"Directory {name} updated",
    )


class _RecurseUnused(WindowsOwner, total=False):
    """Arguments of Salt's file.recurse that are ignored or refused."""

    mode: Annotated[
        Value, Unsupported("'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.")
    ]
    keep_source: NoSourceCache
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
    merge: bool = False,
    keep_symlinks: bool = False,
    force_symlinks: bool = False,
    required: Requirers = (),
    saltenv: str = "base",
    backup_dir: BackupDir = "",
    template_variables: TemplateVariables = None,
    **_: Unpack[_RecurseUnused],
) -> Plan:
    """The plan of file.recurse."""
    path, found = _top(machine, name, clean=clean)
    folder = Perms(user=user, group=group, mode=dir_mode)
    owner = replaced(folder, mode=None if file_mode == "keep" else file_mode)
    own = {"name": name, "user": user, "group": group, "mode": file_mode, **(template_variables or {})}
    rendered = _template(template, context, defaults, own)
    tree = _SourceTree(saltenv=saltenv, maxdepth=maxdepth, keep_symlinks=keep_symlinks)
    wanted = {
        posixpath.join(path, relative): one
        for relative, one in _below_sources(machine, source, tree, merge=merge).items()
        if is_part(relative, include_pat, exclude_pat)
    }
    copies = backup_dir if backup in (True, "minion", "both") else ""
    like = WantedFile(path=path, data=None, perms=owner, makedirs=True, show_changes=show_changes, backup=copies,
        copied=True)  # fmt: skip
    changes = list(_folder(path, found, folder, makedirs=makedirs))
    changes += _folders(machine, path, wanted, folder, clean=clean)
    for target, url in _urls(wanted):
        one = replaced(like, path=target)
        if file_mode == "keep":
            one = replaced(one, perms=replaced(owner, mode=kept_mode(machine, as_sources(url), saltenv)))
        changes += _one_file(machine, one, url, saltenv, rendered, replace=replace, clean=clean)
    if clean and found is not None:
        changes += _cleaned(machine, path, {*wanted, *_kept(machine, required)}, exclude_pat)
    # Last, so that nothing is removed or written through one of them.
    changes += _links(machine, wanted, folder, force=force_symlinks or clean)
    listed = "\n".join(f"#### {change.key} ####\n{_said(change.reported)}\n" for change in changes)
    good = f"The directory {name} is in the correct state"
    return Plan(changes=tuple(changes), comment=good, pending=listed, done=f"Recursively updated {name}")


_template = template  # `recurse` has a parameter of this name


def _top(machine: Reader, name: str, *, clean: bool) -> tuple[str, FileStat | None]:
    """Where the tree is to be, and what is there."""
    path = checked(name, "recurse")
    if clean:
        _cleanable(machine, path)
    path, found = behind(machine, path)
    if found is not None and found.kind != "directory":
        raise StateFailed(f"The path {name} exists and is not a directory")
    return path, found


def _urls(wanted: Mapping[str, str | _Link]) -> Iterator[tuple[str, str]]:
    """The files of what is wanted, without the links."""
    return ((path, one) for path, one in wanted.items() if isinstance(one, str))


@dataclass(frozen=True, slots=True)
class _Link:
    """A symlink of the tree, to be made as such."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceTree:
    """What is taken of the folders of sources."""

    saltenv: str
    maxdepth: int | None
    keep_symlinks: bool


def _below_sources(
    machine: Reader, sources: Sequence[Source], tree: _SourceTree, *, merge: bool
) -> dict[str, str | _Link]:
    """Relative path → URL or link of all below the first source that has any; with `merge`, below all of them.

    Of several sources the earliest has a path: what it has as a file or link is no folder of a later one, nor the
    reverse.
    """
    found: dict[str, str | _Link] = {}
    folders: set[str] = set()
    for url, _ in sources:
        if found and not merge:
            break
        below = _below_source(machine, url, tree)
        taken = set(found)
        found |= {path: one for path, one in below.items()
                  if path not in taken | folders and not taken.intersection(_above(path))}  # fmt: skip
        folders.update(above for path in found for above in _above(path))
    if not found:
        raise StateFailed("Recurse failed: none of the specified sources were found")
    return found


def _above(path: str) -> list[str]:
    """The folders that a relative path lies in."""
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def _below_source(machine: Reader, url: str, tree: _SourceTree) -> dict[str, str | _Link]:
    if not url.startswith("salt://"):
        raise StateFailed(f"Invalid source '{url}' (must be a salt:// URI)")
    folder, env = split_salt_url(url, tree.saltenv)
    paths = machine.sources(folder, env)
    if list(paths) == [folder]:
        raise StateFailed(f"The source {url} is a file: file.recurse takes a directory")
    links = machine.source_links(folder, env) if tree.keep_symlinks else {}
    query = f"?saltenv={env}" if env != tree.saltenv else ""
    skip = len(folder) + 1 if folder else 0
    found: dict[str, str | _Link] = {
        path[skip:]: f"salt://{path}{query}" for path in paths if not links or not through_link(path, links)
    }
    found |= {path[skip:]: _Link(target) for path, target in links.items()}
    return {path: one for path, one in found.items() if tree.maxdepth is None or path.count("/") <= tree.maxdepth}


def _links(machine: Reader, wanted: Mapping[str, str | _Link], owner: Perms, *, force: bool) -> Iterator[Change]:
    """The symlinks of the tree; with `force`, in place of whatever stands there."""
    for path, link in wanted.items():
        if isinstance(link, str):
            continue
        inner = symlink(machine, path, target=link.target, force=force, makedirs=True, user=owner.user,
            group=owner.group, dir_mode=owner.mode).changes  # fmt: skip
        if inner:
            shown = {change.key: change.reported for change in inner if change.key}
            yield Change(key=path, reported=shown, act=_all(inner))


def _one_file(
    machine: Reader, like: WantedFile, url: str, saltenv: str, rendered: Template, *, replace: bool, clean: bool
) -> Iterator[Change]:
    found = machine.stat(like.path)
    if found is not None and found.kind == "directory":
        if not clean:
            raise StateFailed(f"{like.path} is a directory, and {url} is a file")
        new = replaced(like, data=of_source(machine, as_sources(url), saltenv, rendered, None))
        inner = file_changes(machine, new, None)
        replaced_folder = {"diff": "Replaced directory with a new file"}
        yield Change(key=like.path, reported=replaced_folder, act=_after(_remove(like.path), _all(inner)))
        return
    keep = found is not None and not replace
    data = None if keep else of_source(machine, as_sources(url), saltenv, rendered, None)
    inner = file_changes(machine, replaced(like, data=data), found)
    if inner:
        shown = {change.key: change.reported for change in inner if change.key}
        yield Change(key=like.path, reported=shown, act=_all(inner))


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
        yield from _folder(folder, found, owner, makedirs=True)


def _folder(
    path: str, found: FileStat | None, owner: Perms, *, makedirs: bool, kept: str | None = None, told: bool = False
) -> Iterator[Change]:
    if found is not None and found.kind == "directory":
        needed = differing(found, owner)
        if needed:
            yield Change(key=path, reported=needed, act=_put(path, needed))
            if told:  # Salt shows the directory itself twice: by its path, and without
                yield from (Change(key=key, reported=value, act=_nothing) for key, value in needed.items())
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
            yield Change(key=path, reported=needed, act=_put(path, needed))


def _cleanable(machine: Reader, path: str) -> None:
    """Cleaning deletes what it finds, so it must be where the author said.

    Salt follows a symlink here: a user who may write the folder above could then have root empty any directory.
    """
    found = machine.stat(path)
    if found is not None and found.kind == "symlink":
        raise StateFailed(f"Refusing to clean {path}: it is a symlink to {found.target}; name the directory itself")
    if path == "/":
        raise StateFailed('Refusing to clean "/"')


def _cleaned(machine: Reader, top: str, kept: Iterable[str], exclude_pat: Sequence[str]) -> Iterator[Change]:
    """Removal of everything below that is neither kept, nor above something kept, nor excluded."""
    everything = list(below(machine, top))
    stay = {path for path, _ in everything if not is_part(path[len(top) :].lstrip("/"), (), exclude_pat)}
    stay |= set(kept)
    for path in list(stay):
        while len(path) > len(top) and (path := posixpath.dirname(path)) != top:
            stay.add(path)
    gone: set[str] = set()
    for path, _ in everything:
        if path in stay and posixpath.dirname(path) not in gone:
            continue
        is_within = posixpath.dirname(path) in gone
        gone.add(path)
        yield Change(
            key=path, reported={"removed": "Removed due to clean"}, act=_nothing if is_within else _remove(path)
        )


def _kept(machine: Reader, required: Sequence[tuple[str, str]]) -> set[str]:
    """What other file states manage: their path, and everything below it when it is a directory (Salt's rule)."""
    kept = {posixpath.normpath(name) for state, name in required if state == "file" and name.startswith("/")}
    for path in list(kept):
        found = machine.stat(path)
        if found is not None and found.kind == "directory":
            kept |= {inner for inner, _ in below(machine, path)}
    return kept


def _said(shown: Value) -> str:
    return ", ".join(f"{key} - {value}" for key, value in shown.items())


def _all(changes: Iterable[Change]) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        for change in changes:
            change.act(machine)

    return act


def _after(*acts: Callable[[Machine], None]) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        for one in acts:
            one(machine)

    return act


def _put(path: str, changes: dict[str, str]) -> Callable[[Machine], None]:
    return lambda machine: put(machine, path, changes)


def _remove(path: str) -> Callable[[Machine], None]:
    return lambda machine: machine.remove(path)


def _nothing(machine: Machine) -> None:
    """Goes with the folder that it is in."""
