"""What a managed file is to hold: from `source`, `contents`, `contents_pillar` or `contents_grains`.

Called by file.managed and file.recurse. Looks through a `Reader` only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from minion.lookup import MISSING, lookup
from minion.states.plan import Reader, StateFailed, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """How a source is rendered, when it is."""

    engine: str | None = None
    variables: Mapping[str, Value]
    """What the template sees besides grains, pillar and functions."""


def template(engine: Value, context: Value, defaults: Value, chunk: Mapping[str, Value]) -> Template:
    """Check the arguments; `chunk` are name, user, group and mode, which templates see too."""
    if engine is not None and engine != "jinja":
        raise StateFailed(f"template: {engine} is not supported; it can be jinja")
    for name, value in (("context", context), ("defaults", defaults)):
        if value and not isinstance(value, Mapping):
            raise StateFailed(f"{name.capitalize()} must be formed as a dict")
    return Template(engine=engine, variables={**chunk, "attrs": None, **(defaults or {}), **(context or {})})


def salt_url(url: str, saltenv: str) -> tuple[str, str]:
    """(path, saltenv) of `salt://path?saltenv=x`."""
    path, _, query = url.removeprefix("salt://").partition("?")
    return path.strip("/"), parse_qs(query).get("saltenv", [saltenv])[0]


def of_source(machine: Reader, source: Value, saltenv: str, rendered: Template, source_hash: Value) -> bytes:
    """Content of the first source that is there."""
    urls = source if isinstance(source, list) else [source]
    urls = [str(next(iter(url), "")) if isinstance(url, Mapping) else str(url) for url in urls]
    for url in urls:
        data = _read(machine, url, saltenv, rendered)
        if data is not None:
            _verify(data, url, source_hash)
            return data
    if len(urls) == 1:
        raise StateFailed(f"Unable to manage file: Source file {urls[0]} not found in saltenv '{saltenv}'")
    raise StateFailed("Unable to manage file: none of the specified sources were found: " + ", ".join(urls))


def _read(machine: Reader, url: str, saltenv: str, rendered: Template) -> bytes | None:
    if url.startswith("salt://"):
        path, env = salt_url(url, saltenv)
        try:
            if rendered.engine:
                machine.source(path, env)
                return machine.render(path, env, {**rendered.variables, "source": url})
            return machine.source(path, env)
        except (FileNotFoundError, IsADirectoryError):
            return None
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    if not url.startswith("/"):
        raise StateFailed(f"Unable to manage file: source {url} is not supported: write salt://..., or a local path")
    if rendered.engine:
        raise StateFailed(f"Unable to manage file: {url} is a local file, and templates come from salt:// only")
    try:
        return machine.read(url)
    except FileNotFoundError:
        return None


_DIGESTS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}


def _verify(data: bytes, url: str, source_hash: Value) -> None:
    if not source_hash:
        return
    wanted = str(source_hash).rpartition("=")[2].strip().lower()
    kind = _DIGESTS.get(len(wanted))
    if kind is None or any(c not in "0123456789abcdef" for c in wanted):
        raise StateFailed(
            f"source_hash {source_hash} is no digest in hexadecimal digits (files of digests are not read)"
        )
    got = hashlib.new(kind, data, usedforsecurity=False).hexdigest()
    if got != wanted:
        raise StateFailed(f"Specified {kind} checksum for {url} ({wanted}) does not match actual checksum ({got})")


def of_contents(machine: Reader, contents: Value, pillar: Value, grains: Value, *, newline: bool) -> bytes | None:
    """Content from the arguments; None when none of the three is given."""
    if sum(one is not None for one in (contents, pillar, grains)) > 1:
        raise StateFailed("Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted")
    if pillar is not None:
        contents = _looked_up(machine.pillar, pillar, "Pillar")
    elif grains is not None:
        contents = _looked_up(machine.grains, grains, "Grain")
    if contents is None:
        return None
    if isinstance(contents, bytes):
        return contents
    parts = contents if isinstance(contents, list | tuple) else [contents]
    if any(isinstance(part, Mapping | list | tuple) for part in parts):
        raise StateFailed(
            "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, "
            "and is not binary data. SLS is likely malformed."
        )
    text = "".join(line + "\n" for part in parts for line in str(part).splitlines())
    return (text if newline else text.rstrip("\r\n")).encode()


def _looked_up(data: Mapping[str, Value], keys: Value, what: str) -> Value:
    values = []
    for key in keys if isinstance(keys, list) else [keys]:
        value = lookup(data, key)
        if value is MISSING:
            raise StateFailed(f"{what} {key} does not exist")
        values.append(value)
    return "\n".join(str(value) for value in values) if isinstance(keys, list) else values[0]
