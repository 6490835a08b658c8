"""What a managed file is to hold: from `source`, `contents`, `contents_pillar` or `contents_grains`.

Called by file.managed, file.recurse and the states that take a source. Looks through a `Reader` only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, overload

from highstate.files import is_binary_template
from highstate.records import dataclass
from highstate.salt_urls import split_salt_url
from highstate.traverse import MISSING, traverse
from minion.arguments.sources import Source, as_contents
from minion.arguments.types import Unfit
from minion.machine.failure import StateFailed
from minion.machine.fetch import SCHEMES, shown
from minion.machine.plan import Reader, Value
from minion.states.file.digests import Digest, Signed, digest_of, hold_signed
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

    source_hash: str = ""
    source_hash_name: str = ""
    """The name that a file of digests has for the source."""
    skip: bool = False
    target: str = ""
    """The path on the machine: a file that has the digest already is not fetched again."""
    use_etag: bool = False
    """Whether the server's word is enough, as with `skip`: it says whether there is something new."""
    verify_ssl: bool = True
    """Whether an https server has to prove who it is."""
    signed: Signed = field(default_factory=Signed)
    """Who has to have signed it, and the file of its digests."""


@overload
def of_source(
    machine: Reader,
    sources: Sequence[Source],
    saltenv: str,
    rendered: Template,
    source_hash: str | None,
    check: SourceCheck | None = None,
) -> bytes: ...


@overload
def of_source(
    machine: Reader,
    sources: Sequence[Source],
    saltenv: str,
    rendered: Template,
    source_hash: str | None,
    check: SourceCheck | None = None,
    *,
    large: Literal[True],
) -> bytes | LocalFile: ...


def of_source(
    machine: Reader,
    sources: Sequence[Source],
    saltenv: str,
    rendered: Template,
    source_hash: str | None,
    check: SourceCheck | None = None,
    *,
    large: bool = False,
) -> bytes | LocalFile:
    """Content of the first source that is there; with `large`, a local file that is large is only named."""
    checks = check or SourceCheck()
    if large and len(sources) == 1 and not (rendered.engine or source_hash or sources[0][1] or checks.signed.source):
        named = _large(machine, sources[0][0], checks.target)
        if named is not None:
            return named
    for url, given in sources:
        data = _read(machine, url, saltenv, rendered, replace(checks, source_hash=given or source_hash or ""))
        if data is not None:
            return data
    if len(sources) == 1 and sources[0][0].startswith(("/", "file:///")):
        raise StateFailed(f"Unable to manage file: Source file {sources[0][0]} does not exist")
    if len(sources) == 1:
        raise StateFailed(f"Unable to manage file: Source file {sources[0][0]} not found in saltenv '{saltenv}'")
    listed = ", ".join(url for url, _ in sources)
    raise StateFailed(f"Unable to manage file: none of the specified sources were found: {listed}")


def kept_mode(machine: Reader, sources: Sequence[Source], saltenv: str) -> str | None:
    """`mode: keep`: that of the first source that is there, in the tree or on the machine; None of any other."""
    for url, _ in sources:
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


def _large(machine: Reader, url: str, target: str) -> LocalFile | None:
    path = url.removeprefix("file://")
    if not path.startswith("/"):
        return None
    path, found = behind(machine, posixpath.normpath(path))
    if found is None or found.kind != "file" or found.size <= HELD:
        return None
    _another(path, target)
    return LocalFile(path=path, size=found.size)


def _another(path: str, target: str) -> None:
    """A template would be rendered again and again over itself."""
    if posixpath.normpath(path) == target:
        raise StateFailed(f"Unable to manage file: Source file cannot be the same as destination: {target}")


def _read(machine: Reader, url: str, saltenv: str, rendered: Template, check: SourceCheck) -> bytes | None:
    if url.startswith("salt://") and rendered.engine == "jinja":
        return _rendered_from_tree(machine, url, saltenv, rendered, check)
    data = _raw(machine, url, saltenv, check)
    if data is None or not rendered.engine or is_binary_template(data):
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
        if is_binary_template(data):
            return data
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
        data = machine.read(path)
        _another(path, check.target)
        return _verified(machine, data, url, check, saltenv)
    except (FileNotFoundError, IsADirectoryError):
        return None


def _fetched(machine: Reader, url: str, check: SourceCheck, saltenv: str) -> bytes | None:
    """What the web has; asked for only when the file on the machine is not it already."""
    if check.skip or (check.use_etag and not check.source_hash):
        return machine.fetch(
            url, verify=check.verify_ssl, check=lambda data: _hold_signed(machine, data, check, saltenv)
        )
    if not check.source_hash:
        raise StateFailed(
            f"Unable to verify upstream hash of source file {shown(url)}, please set source_hash or set skip_verify "
            "to True"
        )
    wanted = _wanted(machine, url, check, saltenv)
    have = _have(machine, check.target)
    if have is not None and wanted.fits(have):
        return have

    def hold(data: bytes) -> None:
        wanted.verify(data, shown(url))
        _hold_signed(machine, data, check, saltenv)

    return machine.fetch(url, fits=wanted.fits, verify=check.verify_ssl, check=hold)


def _have(machine: Reader, target: str) -> bytes | None:
    if not target:
        return None
    found = machine.stat(target)
    return machine.read(target) if found is not None and found.kind == "file" else None


def _wanted(machine: Reader, url: str, check: SourceCheck, saltenv: str) -> Digest:
    try:
        return digest_of(machine, check.source_hash, url, check.source_hash_name, check.target, saltenv,
                         signature=check.signed.digests, verify_ssl=check.verify_ssl)  # fmt: skip
    except StateFailed as error:
        raise StateFailed(f"Unable to manage file: {error}") from None


def _verified(machine: Reader, data: bytes, url: str, check: SourceCheck, saltenv: str) -> bytes:
    if check.source_hash and not check.skip:
        _wanted(machine, url, check, saltenv).verify(data, url)
    _hold_signed(machine, data, check, saltenv)
    return data


def _hold_signed(machine: Reader, data: bytes, check: SourceCheck, saltenv: str) -> None:
    """Verify the signature where one is asked for; what the machine holds already is not verified again."""
    if check.signed.source is not None and _have(machine, check.target) != data:
        hold_signed(machine, data, check.signed.source, saltenv, verify_ssl=check.verify_ssl)


def of_contents(
    machine: Reader,
    contents: str | bytes | None,
    pillar: str | Sequence[str] | None,
    grains: str | Sequence[str] | None,
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
        read = _as_text(contents)
        if read is None:
            return contents
        contents = read
    text = "\n".join([*contents.splitlines(), ""])
    try:
        return (text if newline else text.rstrip("\r\n")).encode(*codec)
    except (LookupError, UnicodeEncodeError) as error:
        raise StateFailed(f"The contents cannot be encoded as {codec[0]}: {error}") from None


def _as_text(data: bytes) -> str | None:
    """The text that `!!binary` holds, which is treated as any other; None for what is no text."""
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _looked_up(data: Mapping[str, Value], keys: str | Sequence[str], what: str, delimiter: str) -> str | bytes | None:
    values = []
    for key in [keys] if isinstance(keys, str) else keys:
        value = traverse(data, key, MISSING, delimiter=delimiter)
        if value is MISSING:
            raise StateFailed(f"{what} {key} does not exist")
        values.append(value)
    if not isinstance(keys, str):
        return "\n".join(map(str, values))
    try:
        return None if values[0] is None else as_contents(values[0])
    except Unfit as unfit:
        raise StateFailed(unfit.comment) from None
