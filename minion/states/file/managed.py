"""file.managed: a file's content, owner and mode.

Behaviour: doc/ref/states/all/salt.states.file, managed. Where Salt's test run says less than its real one
(`newfile`, no mode), both say the same here.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import Annotated, Unpack

from minion.arguments.sources import Contents, Sources
from minion.arguments.types import (
    BackupDir,
    Context,
    LinesOfText,
    Mode,
    ModeOrKeep,
    Owner,
    TemplateVariables,
    TextOrFalse,
    Texts,
    Unsupported,
)
from minion.machine.failure import StateFailed
from minion.machine.plan import FileStat, Plan, Reader, Value
from minion.states.file.diff import IgnoredDifferences
from minion.states.file.digests import SignatureOptions, signed_of
from minion.states.file.kept_sources import with_source
from minion.states.file.paths import behind, checked
from minion.states.file.perms import Perms
from minion.states.file.sources import LocalFile, SourceCheck, Template, kept_mode, of_contents, of_source
from minion.states.file.sources import template as rendering
from minion.states.file.target import WantedFile, check_of, covers, file_changes
from minion.states.unused_arguments import WindowsOwner

_PENDING = (
    "The file {name} is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states."
)
_NOT_KEPT = "mode: keep follows sources of the tree and local ones; the mode stays as it is"
_BACKED_UP = (True, "minion", "both")
"""Values of `backup` with which the minion keeps what it replaces."""


class _More(SignatureOptions, WindowsOwner, total=False):
    """How a source is verified and kept, and arguments of Salt's file.managed that are ignored or refused."""

    source_hash_name: str | None
    use_etag: bool
    verify_ssl: bool
    keep_source: bool
    new_file_diff: bool
    ignore_ordering: bool
    ignore_whitespace: bool
    ignore_comment_characters: LinesOfText
    selinux: Annotated[Value, Unsupported("let a cmd.run that watches the file call restorecon")]


def managed(
    machine: Reader,
    name: str,
    *,
    source: Sources = (),
    source_hash: str | None = None,
    contents: Contents | None = None,
    contents_pillar: str | Texts | None = None,
    contents_grains: str | Texts | None = None,
    contents_newline: bool = True,
    allow_empty: bool = True,
    template: str | None = None,
    context: Context | None = None,
    defaults: Context | None = None,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: ModeOrKeep | None = None,
    makedirs: bool = False,
    dir_mode: Mode | None = None,
    replace: bool = True,
    create: bool = True,
    show_changes: bool = True,
    backup: bool | str = "",
    follow_symlinks: bool = True,
    skip_verify: bool = False,
    contents_delimiter: str = ":",
    encoding: str | None = None,
    encoding_errors: str = "strict",
    check_cmd: TextOrFalse = "",
    tmp_dir: str = "",
    tmp_ext: str = "",
    attrs: str | None = None,
    saltenv: str = "base",
    backup_dir: BackupDir = "",
    template_variables: TemplateVariables = None,
    **more: Unpack[_More],
) -> Plan:
    """The plan of file.managed. `backup_dir` and `template_variables` are the engine's."""
    path, found = _place(machine, name, follow_symlinks=follow_symlinks)
    if found is None and not create:
        return Plan(comment=f"File {name} is not present and is not set for creation")
    kept = kept_mode(machine, source, saltenv) if mode == "keep" else mode
    chunk = {"name": name, "user": user, "group": group, "mode": kept, **(template_variables or {})}
    rendered = _with_accumulated(machine, name, rendering(template, context, defaults, chunk))
    text = of_contents(machine, contents, contents_pillar, contents_grains, contents_newline, contents_delimiter,
        (encoding or "utf-8", encoding_errors))  # fmt: skip
    data: bytes | LocalFile | None = _finished(machine, text, rendered, saltenv, contents_newline, allow_empty)
    keep = found is not None and not replace
    used = source if text is None and not keep else ()
    if used:
        data = of_source(machine, used, saltenv, rendered, source_hash, SourceCheck(
            source_hash_name=more.get("source_hash_name") or "", skip=skip_verify, signed=signed_of(more), target=path,
            use_etag=more.get("use_etag", False), verify_ssl=more.get("verify_ssl", True)), large=True)  # fmt: skip
    wanted = WantedFile(path=path, data=None if keep else data, makedirs=makedirs, dir_mode=dir_mode, attrs=attrs,
        perms=Perms(user=user, group=group, mode=kept), show_changes=show_changes,
        backup=backup_dir if backup in _BACKED_UP else "", check=check_of(check_cmd, tmp_dir, tmp_ext),
        new_file_diff=more.get("new_file_diff", False), copied=text is None and data is not None)  # fmt: skip
    plan = _plan(machine, name, wanted, found, kept=keep or not source, mode=mode)
    plan = _told(machine, more, wanted, found, plan)
    return with_source(machine, plan, used, saltenv, backup_dir, keep=more.get("keep_source"))


def _told(machine: Reader, more: _More, wanted: WantedFile, found: FileStat | None, plan: Plan) -> Plan:
    """The plan, which says whether what watches the file is told of it."""
    characters = tuple(one for one in more.get("ignore_comment_characters", ()) if one)
    ordering, whitespace = more.get("ignore_ordering", False), more.get("ignore_whitespace", False)
    ignored = IgnoredDifferences(ordering, whitespace, characters)
    return replaced(plan, skip_req=True) if plan.changes and covers(machine, ignored, wanted, found) else plan


def _finished(
    machine: Reader, data: bytes | None, rendered: Template, saltenv: str, newline: bool, allow_empty: bool
) -> bytes | None:
    """Contents of the arguments, if any, rendered where the state asks for it."""
    if data is None:
        return None
    if rendered.engine:
        text = data.decode("utf-8", "surrogateescape")
        data = machine.render_text(text, rendered.engine, saltenv, rendered.variables)
        data = data.rstrip(b"\n") + b"\n" if newline and data else data
    if not data and not allow_empty:
        raise StateFailed("'contents' value would result in empty contents. Set allow_empty to True to allow it.")
    return data


def _with_accumulated(machine: Reader, name: str, template: Template) -> Template:
    """The template, with what file.accumulated has gathered for the file."""
    if name not in machine.accumulated:
        return template
    gathered = {key: one.lines for key, one in machine.accumulated[name].items()}
    return replaced(template, variables={**template.variables, "accumulator": gathered})


def _plan(
    machine: Reader, name: str, wanted: WantedFile, found: FileStat | None, *, kept: bool, mode: str | None
) -> Plan:
    """The plan in Salt's words.

    Args:
        machine: where the file is to be.
        name: of the state.
        wanted: the file as it is to be.
        found: what is there.
        kept: whether no content was asked for, or none that replaces the one that is there.
        mode: the one that was asked for; `keep` where it is that of the source.
    """
    warnings = (_NOT_KEPT,) if mode == "keep" and wanted.perms.mode is None else ()
    changes = file_changes(machine, wanted, found)
    as_is = kept and wanted.data is None
    if not changes:
        right = "exists with proper permissions. No changes made." if as_is else "is in the correct state"
        return Plan(comment=f"File {name} {right}", warnings=warnings)
    done = "Empty file" if as_is and found is None else f"File {name} updated"
    return Plan(changes=changes, pending=_PENDING.format(name=name), done=done, warnings=warnings)


def _place(machine: Reader, name: str, *, follow_symlinks: bool) -> tuple[str, FileStat | None]:
    """Where the file is to be, and what is there."""
    path = checked(name, "managed")
    found = machine.stat(path)
    if found is None or (kind := found.kind) == "file":
        return path, found
    if follow_symlinks and kind == "symlink":
        path, found = behind(machine, path)
    if found is not None and found.kind == "directory":
        raise StateFailed(f"Specified target {name} is a directory")
    if found is not None and found.kind == "other":
        raise StateFailed(f"Specified target {name} is neither a file nor a symlink: it is left alone")
    return path, found
