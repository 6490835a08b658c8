"""What a managed file is to hold: from `source`, `contents`, `contents_pillar` or `contents_grains`.

Called by file.managed, file.recurse and the states that take a source. Looks through a `Reader` only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, overload

from highstate.records import dataclass
from highstate.salt_urls import split_salt_url
from highstate.traverse import MISSING, traverse
from minion.machine.fetch import SCHEMES, shown
from minion.machine.plan import Reader, StateFailed, Value
from minion.states.file.digests import Digest, digest_of
from minion.states.file.paths import behind

HELD = 8 * 1024 * 1024
"""Bytes of a local source that are still held in memory; a larger file is copied piece by piece."""

ENGINES = ("jinja", "mako", "py")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A content that stays in its file on this machine."""

    path: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """How a source is rendered, when it is."""

    engine: str | None = None
    variables: Mapping[str, Value]
    """What the template sees besides grains, pillar and functions."""


def template(
    engine: str | None,
    context: Mapping[str, Value] | None,
    defaults: Mapping[str, Value] | None,
    chunk: Mapping[str, Value],
) -> Template:
    """Check the engine; `chunk` are name, user, group and mode, which templates see too."""
    if engine and engine not in ENGINES:
        raise StateFailed(f"template: {engine} is not supported; it can be {', '.join(ENGINES)}")
    return Template(engine=engine or None, variables={**chunk, "attrs": None, **(defaults or {}), **(context or {})})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """How a source is verified before it is used."""

    source_hash: Value = None
    source_hash_name: str = ""
    """The name that a file of digests has for the source."""
    skip: bool = False
    target: str = ""
    """The path on the machine: a file that has the digest already is not fetched again."""
    use_etag: bool = False
    """Whether the server's word is enough, as with `skip`: it says whether there is something new."""
    verify_ssl: bool = True
    """Whether an https server has to prove who it is."""


@overload
def of_source(
    machine: Reader,
    source: Value,
    saltenv: str,
    rendered: Template,
    source_hash: Value,
    check: SourceCheck | None = None,
) -> bytes: ...


@overload
def of_source(
    machine: Reader,
    source: Value,
    saltenv: str,
    rendered: Template,
    source_hash: Value,
    check: SourceCheck | None = None,
    *,
    large: Literal[True],
) -> bytes | LocalFile: ...


def of_source(
    machine: Reader,
    source: Value,
    saltenv: str,
    rendered: Template,
    source_hash: Value,
    check: SourceCheck | None = None,
    *,
    large: bool = False,
) -> bytes | LocalFile:
    """Content of the first source that is there; with `large`, a local file that is large is only named."""
    entries = _entries(source, source_hash)
    checks = check or SourceCheck()
    if large and len(entries) == 1 and not rendered.engine and not source_hash:
        named = _large(machine, entries[0][0])
        if named is not None:
            return named
    for url, given in entries:
        data = _read(machine, url, saltenv, rendered, replace(checks, source_hash=given))
        if data is not None:
            return data
    if len(entries) == 1:
        raise StateFailed(f"Unable to manage file: Source file {entries[0][0]} not found in saltenv '{saltenv}'")
    listed = ", ".join(url for url, _ in entries)
    raise StateFailed(f"Unable to manage file: none of the specified sources were found: {listed}")


def kept_mode(machine: Reader, source: Value, saltenv: str) -> str | None:
    """`mode: keep`: that of the first source that is there, in the tree or on the machine; None of any other."""
    for url, _ in _entries(source, None):
        if url.startswith("salt://"):
            bits = machine.source_mode(*split_salt_url(url, saltenv))
            if bits is not None:
                return f"{bits:04o}"
            continue
        path = url.removeprefix("file://")
        found = behind(machine, posixpath.normpath(path))[1] if path.startswith("/") else None
        if found is not None:
            return found.mode
    return None


def _large(machine: Reader, url: str) -> LocalFile | None:
    path = url.removeprefix("file://")
    if not path.startswith("/"):
        return None
    path, found = behind(machine, posixpath.normpath(path))
    if found is None or found.kind != "file" or found.size <= HELD:
        return None
    return LocalFile(path=path, size=found.size)


def _entries(source: Value, source_hash: Value) -> list[tuple[str, Value]]:
    """(URL, hash) of each source; an entry of a list may be `{url: hash}`."""
    entries = []
    for one in source if isinstance(source, list) else [source]:
        if isinstance(one, Mapping):
            entries += [(str(url), given or source_hash) for url, given in one.items()]
        else:
            entries.append((str(one), source_hash))
    return entries


def _read(machine: Reader, url: str, saltenv: str, rendered: Template, check: SourceCheck) -> bytes | None:
    if url.startswith("salt://") and rendered.engine == "jinja":
        return _rendered_from_tree(machine, url, saltenv, rendered, check)
    data = _raw(machine, url, saltenv, check)
    if data is None or not rendered.engine:
        return data
    text = data.decode("utf-8", "replace")
    return machine.render_text(text, rendered.engine, saltenv, {**rendered.variables, "source": url})


def _rendered_from_tree(
    machine: Reader, url: str, saltenv: str, rendered: Template, check: SourceCheck
) -> bytes | None:
    path, env = split_salt_url(url, saltenv)
    try:
        data = machine.source(path, env)
        _verified(machine, data, url, check, saltenv)
        return machine.render(path, env, {**rendered.variables, "source": url})
    except (FileNotFoundError, IsADirectoryError):
        return None


def _raw(machine: Reader, url: str, saltenv: str, check: SourceCheck) -> bytes | None:
    try:
        if url.startswith("salt://"):
            return _verified(machine, machine.source(*split_salt_url(url, saltenv)), url, check, saltenv)
        if url.startswith(SCHEMES):
            return _fetched(machine, url, check, saltenv)
        path = url.removeprefix("file://")
        if not path.startswith("/"):
            raise StateFailed(
                f"Unable to manage file: source {url} is not supported: write salt://, http://, https:// or ftp://, "
                "or a local path"
            )
        return _verified(machine, machine.read(path), url, check, saltenv)
    except (FileNotFoundError, IsADirectoryError):
        return None


def _fetched(machine: Reader, url: str, check: SourceCheck, saltenv: str) -> bytes | None:
    """What the web has; asked for only when the file on the machine is not it already."""
    if check.skip or (check.use_etag and not check.source_hash):
        return machine.fetch(url, verify=check.verify_ssl)
    if not check.source_hash:
        raise StateFailed(
            f"Unable to verify upstream hash of source file {shown(url)}, please set source_hash or set skip_verify "
            "to True"
        )
    wanted = digest_of(machine, check.source_hash, url, check.source_hash_name, check.target, saltenv)
    have = _have(machine, check.target)
    if have is not None and wanted.fits(have):
        return have
    data = machine.fetch(url, fits=wanted.fits, verify=check.verify_ssl)
    if data is not None:
        wanted.verify(data, shown(url))
    return data


def _have(machine: Reader, target: str) -> bytes | None:
    if not target:
        return None
    found = machine.stat(target)
    return machine.read(target) if found is not None and found.kind == "file" else None


def _verified(machine: Reader, data: bytes, url: str, check: SourceCheck, saltenv: str) -> bytes:
    if check.source_hash and not check.skip:
        wanted: Digest = digest_of(machine, check.source_hash, url, check.source_hash_name, check.target, saltenv)
        wanted.verify(data, url)
    return data


def of_contents(
    machine: Reader,
    contents: Value,
    pillar: Value,
    grains: Value,
    *,
    newline: bool,
    delimiter: str = ":",
    codec: tuple[str, str] = ("utf-8", "strict"),
) -> bytes | None:
    """Content from the arguments; None when none of the three is given. `codec`: encoding, what is done with errors."""
    if (contents is None) + (pillar is None) + (grains is None) < 2:
        raise StateFailed("Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted")
    if pillar is not None:
        contents = _looked_up(machine.pillar, pillar, "Pillar", delimiter)
    elif grains is not None:
        contents = _looked_up(machine.grains, grains, "Grain", delimiter)
    if contents is None:
        return None
    if isinstance(contents, bytes):
        return contents
    text = "\n".join([*(contents.splitlines() if isinstance(contents, str) else _lines(contents)), ""])
    try:
        return (text if newline else text.rstrip("\r\n")).encode(*codec)
    except (LookupError, UnicodeEncodeError) as error:
        raise StateFailed(f"The contents cannot be encoded as {codec[0]}: {error}") from None


def _lines(contents: Value) -> list[str]:
    parts = contents if isinstance(contents, list | tuple) else [contents]
    if any(isinstance(part, Mapping | list | tuple) for part in parts):
        raise StateFailed(
            "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, "
            "and is not binary data. SLS is likely malformed."
        )
    return [line for part in parts for line in str(part).splitlines()]


def _looked_up(data: Mapping[str, Value], keys: Value, what: str, delimiter: str) -> Value:
    values = []
    for key in keys if isinstance(keys, list) else [keys]:
        value = traverse(data, key, MISSING, delimiter=delimiter)
        if value is MISSING:
            raise StateFailed(f"{what} {key} does not exist")
        values.append(value)
    return "\n".join(str(value) for value in values) if isinstance(keys, list) else values[0]
