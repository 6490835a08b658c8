"""The state module `archive`: what an archive holds, laid out in a directory.

Behaviour: doc/ref/states/all/salt.states.archive. Archives are unpacked here, not by tar or unzip, so that nothing in
one can be written outside of its directory: names with `..`, and names below a symlink of the archive, are refused.
"""

from __future__ import annotations

import io
import posixpath
import stat
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Unpack

from minion.arguments.sources import Sources
from minion.arguments.types import BackupDir, Ignored, Owner, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.file.digests import SignatureOptions, signed_of
from minion.states.file.kept_sources import with_source
from minion.states.file.paths import behind, checked, make_parents
from minion.states.file.perms import Perms, differing, put
from minion.states.file.sources import SourceCheck, Template, of_source
from minion.states.pkg.steps import with_its_neighbour

LARGEST = 8 * 1024 * 1024 * 1024
"""Bytes that an archive may unpack to."""


_BOTH_KEPT = "Both 'keep_source' and 'keep' were used. Since these both do the same thing, 'keep' was ignored."
_ABSENT = ", due to absence of one or more files/dirs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One thing in an archive."""

    path: str
    kind: str
    """`file`, `directory` or `symlink`."""
    mode: str
    data: bytes = b""
    target: str = ""


class _More(SignatureOptions, total=False):
    """How the archive is verified and kept, and arguments of Salt's archive.extracted that are ignored or refused."""

    skip_files_list_verify: Annotated[Value, Ignored("no list of an earlier extraction is kept")]
    list_options: Annotated[Value, Ignored("the archive's members are read without tar")]
    use_cmd_unzip: Annotated[Value, Ignored("unzip is not used")]
    keep_source: bool
    keep: bool
    backup_dir: BackupDir
    enforce_ownership_on: Annotated[Value, Unsupported("set owners with file.directory and recurse")]


def extracted(
    machine: Reader,
    name: str,
    *,
    source: Sources,
    source_hash: str | None = None,
    source_hash_name: str | None = None,
    skip_verify: bool = False,
    use_etag: bool = False,
    archive_format: str | None = None,
    options: str | None = None,
    user: Owner | None = None,
    group: Owner | None = None,
    if_missing: str | None = None,
    enforce_toplevel: bool = True,
    overwrite: bool = False,
    clean: bool = False,
    clean_parent: bool = False,
    force: bool = False,
    extract_perms: bool = True,
    trim_output: int | bool = False,
    source_hash_update: bool = False,
    password: str | None = None,
    saltenv: str = "base",
    **more: Unpack[_More],
) -> Plan:
    """Everything in the archive is there. What is there is looked into only with `overwrite` or `source_hash_update`.

    Of tar's `options` only `--strip-components` means something here. Before it is laid out, `clean` takes away what is
    there under the archive's own topmost names, and `clean_parent` all that is in the directory.
    """
    if clean and clean_parent:
        raise StateFailed("Only one of 'clean' and 'clean_parent' can be set to True")
    top, found = behind(machine, checked(name.rstrip("/") or "/", "extracted"))
    if found is not None and found.kind != "directory" and not force:
        raise StateFailed(f"{name} exists and is not a directory. Set 'force' to True to have it replaced.")
    if if_missing and behind(machine, checked(if_missing, "extracted"))[1] is not None:
        return Plan(comment=f"Path {if_missing} exists")
    owner = Perms(user=user, group=group)
    data = of_source(machine, source, saltenv, Template(variables={}), source_hash, SourceCheck(
        source_hash_name=source_hash_name or "", skip=skip_verify, use_etag=use_etag,
        signed=signed_of(more)))  # fmt: skip
    members = _stripped(read_members(data, archive_format, password, modes=extract_perms), _strip(options))
    if enforce_toplevel:
        _one_top(members, name)
    wrong = [one for one in members if not _is_there(machine, top, one, compare=overwrite or source_hash_update)]
    if not wrong:
        return _kept(machine, _owned(machine, name, top, members, owner), source, saltenv, more)
    in_the_way = [top] if clean_parent and found is not None else _tops_there(machine, top, members) if clean else []
    in_the_way = [top] if found is not None and found.kind != "directory" else in_the_way
    changes = _extraction(machine, f"{name.rstrip('/')}/", top, members, wrong, in_the_way, owner,
                          is_new=found is None, whole=clean_parent, trim_output=trim_output)  # fmt: skip
    why = ", due to source_hash update" if source_hash_update else "" if overwrite else _ABSENT
    what = f"{source[0][0]} {{}} to {name.rstrip('/')}/"
    cleaned = ", after cleaning destination path(s)" if clean else ""
    pending = f"Archive {what.format('would be extracted')}{cleaned}{why}"
    plan = Plan(changes=changes, pending=pending, done=f"{what.format('extracted')}{why}")
    return _kept(machine, plan, source, saltenv, more)


def _kept(machine: Reader, plan: Plan, source: Sources, saltenv: str, more: _More) -> Plan:
    """The plan, which keeps the archive in the cache or not; both names of that argument are worth a warning."""
    if "keep_source" in more and "keep" in more:
        plan = replace(plan, warnings=(*plan.warnings, _BOTH_KEPT))
    keep = more.get("keep_source", more.get("keep"))
    return with_source(machine, plan, source, saltenv, more.get("backup_dir", ""), keep=keep)


def _extraction(
    machine: Reader, place: str, top: str, members: Sequence[Member], wrong: Sequence[Member],
    in_the_way: Sequence[str], owner: Perms, *, is_new: bool, whole: bool, trim_output: int | bool,
) -> tuple[Change, ...]:  # fmt: skip
    """What is removed first (`in_the_way`), and what is laid out; all of it is one act."""

    def act(machine: Machine) -> None:
        for path in in_the_way:
            machine.remove(path)
        _lay_out(machine, top, members, members if in_the_way else wrong, owner)

    made = Change(key="directories_created", reported=[place], act=with_its_neighbour)
    cleaned = Change(key="removed", reported=_removed(machine, in_the_way, whole, place), act=with_its_neighbour)
    files = _trimmed([one.path for one in members], trim_output)
    return (
        *((made,) if is_new or list(in_the_way) == [top] else ()),
        *((cleaned,) if in_the_way else ()),
        Change(key="extracted_files", reported=files, act=act),
    )


def _tops_there(machine: Reader, top: str, members: Sequence[Member]) -> list[str]:
    """What is there under the topmost names of the archive."""
    paths = (posixpath.join(top, one) for one in sorted({one.path.partition("/")[0] for one in members}))
    return [path for path in paths if machine.stat(path) is not None]


def _removed(machine: Reader, paths: Sequence[str], whole: bool, place: str) -> Value:
    """As Salt shows what has to go first: directories end in a slash."""
    if whole:
        return f"Directory {place} was removed prior to the extraction"
    found = ((path, machine.stat(path)) for path in paths)
    return [f"{path}/" if one is not None and one.kind == "directory" else path for path, one in found]


def _owned(machine: Reader, name: str, top: str, members: Sequence[Member], owner: Perms) -> Plan:
    """What is left to do where all is there: owners."""
    wrong = [one for one in _paths(members) if _owner_differs(machine, top, one, owner)]
    change = Change(key="updated ownership", reported=True, act=lambda machine: _own(machine, top, wrong, owner))
    return Plan(
        changes=(change,) if wrong else (),
        comment="All files in archive are already present",
        pending=f"Ownership of {name} would be set",
        done=f"Ownership of {name} was set",
    )


def read_members(
    data: bytes, archive_format: str | None, password: str | None = None, *, modes: bool = True
) -> list[Member]:
    """What is in the archive; StateFailed when it is none, or holds what must not be unpacked.

    `modes`: whether files of a zip archive have the modes that it names.
    """
    kind = archive_format.lower() if archive_format else None
    if kind not in (None, "tar", "zip"):
        raise StateFailed(f"archive_format {kind} is not supported; it can be tar or zip")
    try:
        members = _zip(data, password, modes) if is_zip(data, kind) else _tar(data)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
        raise StateFailed(f"The archive cannot be read: {error}") from None
    links = {one.path for one in members if one.kind == "symlink"}
    for one in members:
        above = one.path
        while above := posixpath.dirname(above):
            if above in links:
                raise StateFailed(f"The archive is not safe to unpack: {one.path} lies below the symlink {above}")
    return members


def is_zip(data: bytes, archive_format: str | None) -> bool:
    """Whether an archive is one of zip's, by what was said of it or else by what it is."""
    if archive_format:
        return archive_format.lower() == "zip"
    return zipfile.is_zipfile(io.BytesIO(data))


def _tar(data: bytes) -> list[Member]:
    members: dict[str, Member] = {}
    size = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
        for one in archive:
            path = _safe(one.name)
            if not path:
                continue
            mode = f"{one.mode & 0o777:04o}"
            if one.isdir():
                members[path] = Member(path=path, kind="directory", mode=f"{one.mode & 0o777 | 0o700:04o}")
            elif one.issym():
                members[path] = Member(path=path, kind="symlink", mode="0777", target=one.linkname)
            elif one.isfile() or one.islnk():
                size = _bounded(size + one.size)
                file = archive.extractfile(one)
                members[path] = Member(path=path, kind="file", mode=mode, data=file.read() if file else b"")
            else:
                raise StateFailed(f"The archive is not safe to unpack: {one.name} is a device or a pipe")
    return list(members.values())


def _zip(data: bytes, password: str | None, modes: bool) -> list[Member]:
    members: dict[str, Member] = {}
    size = 0
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for one in archive.infolist():
            path, bits = _safe(one.filename), one.external_attr >> 16
            size = _bounded(size + one.file_size)
            if not path:
                continue
            if one.is_dir():
                members[path] = Member(path=path, kind="directory", mode="0755")
                continue
            content = archive.read(one, None if password is None else password.encode())
            if stat.S_ISLNK(bits):
                members[path] = Member(path=path, kind="symlink", mode="0777", target=content.decode())
            else:
                mode = (modes and bits & 0o777) or 0o644
                members[path] = Member(path=path, kind="file", mode=f"{mode:04o}", data=content)
    return list(members.values())


def _safe(name: str) -> str:
    path = posixpath.normpath(name)
    if path.startswith(("/", "../")) or path == ".." or "\0" in path:
        raise StateFailed(f"The archive is not safe to unpack: {name} lies outside of its directory")
    return "" if path == "." else path


def _bounded(size: int) -> int:
    if size > LARGEST:
        raise StateFailed(f"The archive unpacks to more than {LARGEST} bytes")
    return size


def _strip(options: str | None) -> int:
    words = (options or "").split()
    for index, word in enumerate(words):
        key, _, value = word.partition("=")
        if key in ("--strip-components", "--strip"):
            text = value or (words[index + 1] if index + 1 < len(words) else "")
            if not text.isdigit():
                raise StateFailed(f"options: {word} needs a number")
            return int(text)
    return 0


def _stripped(members: Sequence[Member], count: int) -> list[Member]:
    if not count:
        return list(members)
    left = []
    for one in members:
        path = "/".join(one.path.split("/")[count:])
        if path:
            left.append(Member(path=path, kind=one.kind, mode=one.mode, data=one.data, target=one.target))
    return left


def _one_top(members: Sequence[Member], name: str) -> None:
    tops = {one.path.partition("/")[0] for one in members}
    if len(tops) > 1 or any("/" not in one.path and one.kind != "directory" for one in members):
        raise StateFailed(
            "Archive does not have a single top-level directory. To allow this archive to be extracted, set "
            "'enforce_toplevel' to False. It may also be advisable to set a top-level directory by adding it to the "
            f"'name' value (now {name})."
        )


def _trimmed(paths: list[str], trim_output: int | bool) -> list[str]:
    """`trim_output`: how many are shown, 100 when it is true."""
    if trim_output is False:
        return paths
    return paths[: 100 if trim_output is True else trim_output]


def _paths(members: Sequence[Member]) -> list[str]:
    every = {one.path for one in members}
    for path in list(every):
        while path := posixpath.dirname(path):
            every.add(path)
    return sorted(every)


def _is_there(machine: Reader, top: str, one: Member, *, compare: bool) -> bool:
    path = posixpath.join(top, one.path)
    found = machine.stat(path)
    if found is None or found.kind != one.kind:
        return found is not None and found.kind == "symlink" and not compare
    if not compare or one.kind == "directory":
        return True
    if one.kind == "symlink":
        return found.target == one.target
    return found.size == len(one.data) and machine.read(path) == one.data


def _owner_differs(machine: Reader, top: str, path: str, owner: Perms) -> bool:
    found = machine.stat(posixpath.join(top, path))
    return found is not None and bool(differing(found, owner))


def _lay_out(machine: Machine, top: str, members: Sequence[Member], wrong: Sequence[Member], owner: Perms) -> None:
    machine.mkdir(top, parents=True)
    for one in wrong:
        path = posixpath.join(top, one.path)
        make_parents(machine, path, Perms(user=owner.user, group=owner.group))
        found = machine.stat(path)
        if found is not None and found.kind != one.kind:
            machine.remove(path)
        if one.kind == "directory":
            machine.mkdir(path, mode=one.mode)
        elif one.kind == "symlink":
            machine.symlink(one.target, path)
        else:
            machine.write(path, one.data, mode=one.mode)
    _own(machine, top, [path for path in _paths(members) if _owner_differs(machine, top, path, owner)], owner)


def _own(machine: Machine, top: str, paths: Sequence[str], owner: Perms) -> None:
    for path in paths:
        whole = posixpath.join(top, path)
        put(machine, whole, differing(machine.stat(whole), owner))


STATES: Mapping[str, StateFunction] = {"extracted": extracted}
