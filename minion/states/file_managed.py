"""file.managed: a file's content, owner and mode.

Behaviour: doc/ref/states/all/salt.states.file, managed. Where Salt's test run says less than its real one
(`newfile`, no mode), both say the same here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as replaced

from minion.states.file_diff import HIDDEN, diff
from minion.states.file_paths import behind, checked, make_parents, missing_parents
from minion.states.file_perms import Perms, differing, octal, perms, put
from minion.states.file_sources import Check as Verified
from minion.states.file_sources import of_contents, of_source, template
from minion.states.plan import Change, FileStat, Machine, Plan, Reader, StateFailed, Value

_PENDING = (
    "The file {name} is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A command that is given a file with the new content, and says by its exit code whether it is good."""

    command: str
    folder: str
    """Where that file is made; empty: /tmp."""
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file as it is to be."""

    path: str
    data: bytes | None
    """None: whatever it holds (an empty file when there is none)."""
    perms: Perms
    makedirs: bool = False
    dir_mode: str | None = None
    show_changes: bool = True
    backup: str = ""
    """Where the replaced content is kept; empty: nowhere."""
    check: Check | None = None
    """What has to find the new content good before it takes its place."""


def managed(
    machine: Reader,
    name: str,
    *,
    source: Value = None,
    source_hash: Value = None,
    contents: Value = None,
    contents_pillar: Value = None,
    contents_grains: Value = None,
    contents_newline: bool = True,
    allow_empty: bool = True,
    template: Value = None,
    context: Value = None,
    defaults: Value = None,
    user: Value = None,
    group: Value = None,
    mode: Value = None,
    makedirs: bool = False,
    dir_mode: Value = None,
    replace: bool = True,
    create: bool = True,
    show_changes: bool = True,
    backup: Value = "",
    follow_symlinks: bool = True,
    skip_verify: bool = False,
    source_hash_name: Value = None,
    contents_delimiter: str = ":",
    encoding: Value = None,
    encoding_errors: str = "strict",
    check_cmd: Value = None,
    tmp_dir: str = "",
    tmp_ext: str = "",
    keep_source: Value = True,
    ignore_ordering: Value = False,
    ignore_whitespace: Value = False,
    ignore_comment_characters: Value = None,
    saltenv: str = "base",
    backup_dir: str = "",
) -> Plan:
    """The plan of file.managed. `backup_dir` is the engine's; `keep_source` is Salt's, where nothing is kept anyway."""
    path = checked(name, "managed")
    if ignore_ordering or ignore_whitespace or ignore_comment_characters:
        raise StateFailed(
            "ignore_ordering, ignore_whitespace and ignore_comment_characters are not supported: a managed file holds "
            "what its source holds"
        )
    found = machine.stat(path)
    if follow_symlinks:
        path, found = behind(machine, path)
    if found is not None and found.kind == "directory":
        raise StateFailed(f"Specified target {name} is a directory")
    if found is not None and found.kind == "other":
        raise StateFailed(f"Specified target {name} is neither a file nor a symlink: it is left alone")
    if found is None and not create:
        return Plan(comment=f"File {name} is not present and is not set for creation")
    warnings: tuple[str, ...] = ()
    if mode == "keep":
        mode, warnings = _mode_of(machine, source)
    owner = perms(user, group, mode)
    rendered = _template(template, context, defaults, {"name": name, "user": user, "group": group, "mode": mode})
    gathered = machine.accumulated.get(name)
    if gathered:
        rendered = replaced(rendered, variables={**rendered.variables, "accumulator": gathered})
    data = of_contents(
        machine,
        contents,
        contents_pillar,
        contents_grains,
        newline=contents_newline,
        delimiter=contents_delimiter,
        codec=(str(encoding or "utf-8"), encoding_errors),
    )
    if data is not None and rendered.engine:
        text = data.decode("utf-8", "surrogateescape")
        data = machine.render_text(text, rendered.engine, saltenv, rendered.variables)
        data = data.rstrip(b"\n") + b"\n" if contents_newline and data else data
    if data is not None and not data and not allow_empty:
        raise StateFailed("'contents' value would result in empty contents. Set allow_empty to True to allow it.")
    keep = found is not None and not replace
    if data is None and source and not keep:
        verified = Verified(source_hash_name=str(source_hash_name or ""), skip=bool(skip_verify), target=path)
        data = of_source(machine, source, saltenv, rendered, source_hash, verified)
    wanted = Wanted(
        path=path,
        data=None if keep else data,
        perms=owner,
        makedirs=bool(makedirs),
        dir_mode=octal(dir_mode),
        show_changes=bool(show_changes),
        backup=backup_dir if backup in (True, "minion", "both") else "",
        check=Check(command=str(check_cmd), folder=tmp_dir, suffix=tmp_ext) if check_cmd else None,
    )
    changes = file_changes(machine, wanted, found)
    if wanted.data is None and not source and not keep:
        good = f"File {name} exists with proper permissions. No changes made."
        done = "Empty file" if found is None else f"File {name} updated"
    else:
        good = f"File {name} exists with proper permissions. No changes made." if keep else ""
        good, done = good or f"File {name} is in the correct state", f"File {name} updated"
    return Plan(changes=changes, comment=good, pending=_PENDING.format(name=name), done=done, warnings=warnings)


def _mode_of(machine: Reader, source: Value) -> tuple[str | None, tuple[str, ...]]:
    """`mode: keep`: that of a local source."""
    path = str(source).removeprefix("file://")
    if path.startswith("/"):
        found = behind(machine, checked(path, "managed"))[1]
        return (None if found is None else found.mode), ()
    return None, ("mode: keep follows local sources only; the mode stays as it is",)


_template = template  # `managed` has a parameter of this name


def file_changes(machine: Reader, wanted: Wanted, found: FileStat | None) -> tuple[Change, ...]:
    """What it takes to make a file (or the symlink that `found` is) as it is wanted."""
    content = _content_change(machine, wanted, found)
    fresh = found is None or (found.kind == "symlink" and content is not None)
    needed = differing(None if fresh else found, wanted.perms)
    owner = tuple(
        Change(
            key=key,
            old=None if found is None else getattr(found, key),
            new=value,
            shown=value,
            act=_put(wanted.path, {key: value}),
        )
        for key, value in needed.items()
    )
    return owner if content is None else (content, *owner)


def _content_change(machine: Reader, wanted: Wanted, found: FileStat | None) -> Change | None:
    if found is None:
        if wanted.data is None:
            return Change(key="new", shown=f"file {wanted.path} created", act=_write(wanted, b""))
        return Change(key="diff", shown="New file", act=_write(wanted, wanted.data))
    if wanted.data is None:
        return None
    if found.kind == "symlink":
        return Change(key="diff", shown="Replace symbolic link with regular file", act=_write(wanted, wanted.data))
    old = machine.read(wanted.path)
    if old == wanted.data:
        return None
    shown = diff(old, wanted.data) if wanted.show_changes else HIDDEN
    return Change(key="diff", shown=shown, act=_write(wanted, wanted.data, old))


def _write(wanted: Wanted, data: bytes, old: bytes | None = None) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        if wanted.check is not None:
            approve(machine, wanted.check, data)
        if missing_parents(machine, wanted.path):
            if not wanted.makedirs:
                raise StateFailed("Parent directory not present")
            make_parents(machine, wanted.path, wanted.perms.for_parents(wanted.dir_mode))
        if old is not None and wanted.backup:
            _keep(machine, wanted, old)
        machine.write(wanted.path, data, mode=wanted.perms.mode)

    return act


def _keep(machine: Machine, wanted: Wanted, old: bytes) -> None:
    """Keep what is replaced."""
    copy = keep_copy(wanted.backup, wanted.path)
    make_parents(machine, copy, Perms(mode="0700"))
    machine.write(copy, old, mode="0600")


def keep_copy(backup_dir: str, path: str) -> str:
    """Where a copy of what is at `path` is kept: under a name with the time, as Salt's file_backup does."""
    from datetime import datetime

    return f"{backup_dir}{path}_{datetime.now().strftime('%a_%b_%d_%H:%M:%S_%f_%Y')}"


def approve(machine: Machine, check: Check, data: bytes) -> None:
    """Have a new content looked at before it takes its place; StateFailed with what the command says."""
    import secrets
    import shlex

    place = f"{check.folder or '/tmp'}/.saltern-{secrets.token_hex(8)}{check.suffix}"  # noqa: S108  (a name of our own)
    machine.write(place, data, mode="0600")
    try:
        done = machine.run(f"{check.command} {shlex.quote(place)}")
    finally:
        machine.remove(place)
    if done.returncode != 0:
        said = "\n".join(text.strip() for text in (done.stdout, done.stderr) if text.strip())
        raise StateFailed(f"check_cmd execution failed\n{said}".rstrip())


def _put(path: str, changes: dict[str, str]) -> Callable[[Machine], None]:
    return lambda machine: put(machine, path, changes)
