"""file.managed: a file's content, owner and mode.

Behaviour: doc/ref/states/all/salt.states.file, managed. Where Salt's test run says less than its real one
(`newfile`, no mode), both say the same here.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import Annotated, Unpack

from highstate.records import dataclass
from minion.arguments.types import BackupDir, Context, Mode, ModeOrKeep, Owner, TextOrFalse, Unsupported
from minion.machine.plan import Change, FileStat, Plan, Reader, StateFailed, Value
from minion.states.file.paths import behind, checked
from minion.states.file.perms import Perms
from minion.states.file.sources import LocalFile, SourceCheck, Template, kept_mode, of_contents, of_source
from minion.states.file.sources import template as rendering
from minion.states.file.target import WantedFile, check_of, file_changes
from minion.states.unused_arguments import HeldAsItIs, NoSourceCache, Signatures, WindowsOwner

_PENDING = (
    "The file {name} is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states."
)
_UNCHECKED = SourceCheck()
_NOT_KEPT = "mode: keep follows sources of the tree and local ones; the mode stays as it is"


class _ManagedUnused(Signatures, WindowsOwner, total=False):
    """Arguments of Salt's file.managed that are ignored or refused."""

    keep_source: NoSourceCache
    ignore_ordering: HeldAsItIs
    ignore_whitespace: HeldAsItIs
    ignore_comment_characters: HeldAsItIs
    selinux: Annotated[Value, Unsupported("let a cmd.run that watches the file call restorecon")]


def managed(
    machine: Reader,
    name: str,
    *,
    source: Value = None,
    source_hash: str | None = None,
    contents: Value = None,
    contents_pillar: Value = None,
    contents_grains: Value = None,
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
    use_etag: bool = False,
    verify_ssl: bool = True,
    source_hash_name: str | None = None,
    contents_delimiter: str = ":",
    encoding: str | None = None,
    encoding_errors: str = "strict",
    check_cmd: TextOrFalse = "",
    tmp_dir: str = "",
    tmp_ext: str = "",
    attrs: str | None = None,
    new_file_diff: bool = False,
    saltenv: str = "base",
    backup_dir: BackupDir = "",
    **_: Unpack[_ManagedUnused],
) -> Plan:
    """The plan of file.managed. `backup_dir` is the engine's."""
    path, found = _place(machine, name, follow_symlinks=follow_symlinks)
    if found is None and not create:
        return Plan(comment=f"File {name} is not present and is not set for creation")
    kept = kept_mode(machine, source, saltenv) if mode == "keep" else mode
    rendered = rendering(template, context, defaults, {"name": name, "user": user, "group": group, "mode": kept})
    text = of_contents(machine, contents, contents_pillar, contents_grains, newline=contents_newline,
                       delimiter=contents_delimiter, codec=(encoding or "utf-8", encoding_errors))  # fmt: skip
    check = SourceCheck(source_hash=source_hash, source_hash_name=source_hash_name or "", skip=skip_verify,
                        target=path, use_etag=use_etag, verify_ssl=verify_ssl) if source else _UNCHECKED  # fmt: skip
    content = _Content(text=text, source=source, check=check, template=_accumulating(machine, name, rendered),
                       saltenv=saltenv, newline=contents_newline, allow_empty=allow_empty)  # fmt: skip
    wanted = WantedFile(path=path, data=content.data(machine, keep=found is not None and not replace),
                        perms=Perms(user=user, group=group, mode=kept), makedirs=makedirs, dir_mode=dir_mode,
                        show_changes=show_changes, new_file_diff=new_file_diff, attrs=attrs,
                        backup=backup_dir if backup in (True, "minion", "both") else "",
                        check=check_of(check_cmd, tmp_dir, tmp_ext))  # fmt: skip
    as_is = wanted.data is None and (not source or (found is not None and not replace))
    plan = _plan(name, file_changes(machine, wanted, found), is_new=found is None, as_is=as_is)
    return replaced(plan, warnings=(_NOT_KEPT,)) if mode == "keep" and kept is None else plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """Where the content of a managed file comes from."""

    text: bytes | None
    """Of the arguments; None: of the source."""
    source: Value
    check: SourceCheck
    template: Template
    saltenv: str
    newline: bool
    allow_empty: bool

    def data(self, machine: Reader, *, keep: bool) -> bytes | LocalFile | None:
        """The content; None where there is none, or with `keep`. Raises StateFailed where it is not to be had."""
        text = None if self.text is None else self._finished(machine, self.text)
        if keep:
            return None
        if text is None and self.source:
            return of_source(
                machine, self.source, self.saltenv, self.template, self.check.source_hash, self.check, large=True
            )
        return text

    def _finished(self, machine: Reader, data: bytes) -> bytes:
        """Contents of the arguments, rendered where the state asks for it."""
        if self.template.engine:
            text = data.decode("utf-8", "surrogateescape")
            data = machine.render_text(text, self.template.engine, self.saltenv, self.template.variables)
            data = data.rstrip(b"\n") + b"\n" if self.newline and data else data
        if not data and not self.allow_empty:
            raise StateFailed("'contents' value would result in empty contents. Set allow_empty to True to allow it.")
        return data


def _accumulating(machine: Reader, name: str, template: Template) -> Template:
    """The template, with what file.accumulated has gathered for the file."""
    if name not in machine.accumulated:
        return template
    return replaced(template, variables={**template.variables, "accumulator": machine.accumulated[name]})


def _plan(name: str, changes: tuple[Change, ...], *, is_new: bool, as_is: bool) -> Plan:
    """The plan in Salt's words; `as_is`: no content was asked for."""
    if not changes:
        right = "exists with proper permissions. No changes made." if as_is else "is in the correct state"
        return Plan(comment=f"File {name} {right}")
    done = "Empty file" if as_is and is_new else f"File {name} updated"
    return Plan(changes=changes, pending=_PENDING.format(name=name), done=done)


def _place(machine: Reader, name: str, *, follow_symlinks: bool) -> tuple[str, FileStat | None]:
    """Where the file is to be, and what is there."""
    path = checked(name, "managed")
    found = machine.stat(path)
    if follow_symlinks and found is not None and found.kind == "symlink":
        path, found = behind(machine, path)
    if found is not None and found.kind == "directory":
        raise StateFailed(f"Specified target {name} is a directory")
    if found is not None and found.kind == "other":
        raise StateFailed(f"Specified target {name} is neither a file nor a symlink: it is left alone")
    return path, found
