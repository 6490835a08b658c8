"""The execution module `archive`: archives, unpacked by the code of the states, packed by tar(1) and gzip(1)."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.sources import as_sources
from minion.arguments.types import CommaList, Unsupported
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def list_(
    context: Context, name: str, archive_format: str | None = None, options: NotSupported = None,
    strip_components: int | None = None, clean: NotSupported = False, verbose: bool = False, saltenv: str = "base",
    source_hash: str | None = None,
) -> Any:  # fmt: skip
    """What is in an archive; with `verbose` sorted by what it is."""
    from minion.states.archive import is_zip, read_members
    from minion.states.file.sources import Template, of_source

    url = name if "://" in name else f"file://{name}"
    data = of_source(context.machine, as_sources(url), saltenv, Template(variables={}), source_hash)
    members = read_members(data, archive_format)
    paths = {(f"{one.path}/" if one.kind == "directory" else one.path): one.kind for one in members}
    if is_zip(data, archive_format):  # few name the directories of their files, and none has to
        above = (path.rpartition("/")[0] for path, kind in paths.items() if kind == "file")
        paths |= {f"{folder}/": "directory" for folder in above if folder}
    if strip_components:
        cut = [(path.split("/", strip_components), kind) for path, kind in paths.items()]
        paths = {parts[-1]: kind for parts, kind in cut if len(parts) > strip_components and parts[-1]}
    return _by_kind(paths) if verbose else sorted(paths)


def _by_kind(paths: Mapping[str, str]) -> dict[str, list[str]]:
    """Members by what they are, and those at the top; a folder that all lie in counts as one of these."""
    kinds = {"dirs": "directory", "files": "file", "links": "symlink"}
    listed = {key: sorted(path for path, one in paths.items() if one == kind) for key, kind in kinds.items()}
    tops = {f"top_level_{key}": [path for path in found if "/" not in path[:-1]] for key, found in listed.items()}
    first, slash, _ = posixpath.commonprefix(list(paths)).partition("/")
    if slash and f"{first}/" not in tops["top_level_dirs"]:
        tops["top_level_dirs"].append(f"{first}/")
    return {**listed, **tops}


def unzip(
    context: Context, zip_file: str, dest: str, excludes: CommaList = (), options: NotSupported = None,
    template: NotSupported = None, runas: NotSupported = None, trim_output: NotSupported = False,
    password: str | None = None, extract_perms: NotSupported = True,
) -> list[str]:  # fmt: skip
    """Unpack a zip archive; what was unpacked."""
    from minion.states.archive import read_members
    from minion.states.file.paths import make_parents
    from minion.states.file.perms import Perms

    members = [one for one in read_members(context.machine.read(zip_file), "zip", password) if one.path not in excludes]
    machine, done = context.machine, []
    for one in members:
        path = f"{dest.rstrip('/')}/{one.path}"
        if one.kind == "directory":
            machine.mkdir(path, parents=True)
            done.append(f"{one.path}/")
            continue
        make_parents(machine, path, Perms())
        if one.kind == "symlink":
            machine.symlink(one.target, path)
        else:
            machine.write(path, one.data, mode=one.mode)
        done.append(one.path)
    return done


def is_encrypted(
    context: Context,
    name: str,
    clean: NotSupported = False,
    saltenv: NotSupported = "base",
    source_hash: NotSupported = None,
    use_etag: NotSupported = None,
) -> bool:
    """Whether a zip archive wants a password."""
    import io
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(context.machine.read(name))) as archive:
            return any(one.flag_bits & 1 for one in archive.infolist())
    except zipfile.BadZipFile as error:
        raise CallFailed(f"{name} is no zip archive: {error}") from error


def tar(
    context: Context,
    options: str,
    tarfile: str,
    sources: CommaList = (),
    dest: str | None = None,
    cwd: str | None = None,
    template: NotSupported = None,
    runas: str | None = None,
) -> list[str]:
    """Run tar(1): options such as `cjf` or `tf`, the archive, what goes in. What it says, line by line."""
    first = options if options.startswith("-") else f"-{options}"
    where = ["-C", dest] if dest else []
    return _run(context, ["tar", *shlex.split(first), tarfile, *where, *sources], cwd, runas)


def zip_(
    context: Context,
    zip_file: str,
    sources: CommaList,
    template: NotSupported = None,
    cwd: str | None = None,
    runas: Annotated[Any, Unsupported("see archive.cmd_zip")] = None,
    zip64: NotSupported = False,
) -> list[str]:
    """Pack files and directories into a zip archive; what was packed."""
    import io
    import zipfile
    from pathlib import Path

    buffer, names = io.BytesIO(), []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in sources:
            top = Path(cwd or "/", one)
            for path in [top, *sorted(top.rglob("*"))] if top.is_dir() else [top]:
                name = str(path.relative_to(cwd) if cwd and path.is_relative_to(cwd) else path).lstrip("/")
                archive.write(path, name)
                names.append(f"{name}/" if path.is_dir() else name)
    context.machine.write(zip_file, buffer.getvalue())
    return names


def cmd_zip(
    context: Context,
    zip_file: str,
    sources: CommaList,
    template: NotSupported = None,
    cwd: str | None = None,
    runas: str | None = None,
) -> list[str]:
    """Run `zip -r`; what it says, line by line."""
    return _run(context, ["zip", "-r", zip_file, *sources], cwd, runas)


def gunzip(
    context: Context, gzipfile: str, template: NotSupported = None, runas: str | None = None, options: str = ""
) -> list[str]:
    """Run `gunzip`; what it says, line by line."""
    return _run(context, ["gunzip", *shlex.split(options), gzipfile], None, runas)


def gzip(
    context: Context, sourcefile: str, template: NotSupported = None, runas: str | None = None, options: str = ""
) -> list[str]:
    """Run `gzip`; what it says, line by line."""
    return _run(context, ["gzip", *shlex.split(options), sourcefile], None, runas)


def cmd_unzip(
    context: Context, zip_file: str, dest: str, excludes: CommaList = (), options: str = "",
    template: NotSupported = None, runas: str | None = None, trim_output: NotSupported = False,
    password: str | None = None,
) -> list[str]:  # fmt: skip
    """Run unzip(1); what it says, line by line."""
    secret = ["-P", password] if password else []
    left_out = ["-x", *excludes] if excludes else []
    return _run(context, ["unzip", *secret, *shlex.split(options or ""), zip_file, "-d", dest, *left_out], None, runas)


def _run(context: Context, argv: list[str], cwd: str | None, runas: str | None) -> list[str]:
    done = context.machine.run(argv, cwd=cwd, runas=runas)
    if done.returncode == 127:
        raise CallFailed(f"There is no {argv[0]} program on this machine")
    if done.returncode != 0:
        raise CallFailed(f"{argv[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return (done.stdout + done.stderr).splitlines()


FUNCTIONS: Mapping[str, Any] = {
    "cmd_unzip": cmd_unzip,
    "cmd_zip": cmd_zip,
    "gunzip": gunzip,
    "gzip": gzip,
    "is_encrypted": is_encrypted,
    "list": list_,
    "tar": tar,
    "unzip": unzip,
    "zip": zip_,
}
