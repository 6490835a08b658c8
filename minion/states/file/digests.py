"""`source_hash`: a digest, or a file of digests in which one is looked for.

Called by `file_sources`, archive.extracted and file.cached. Looks through a `Reader` only.
Behaviour: doc/ref/states/all/salt.states.file, managed, source_hash.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass

from minion.machine.fetch import SCHEMES, shown
from minion.machine.plan import Reader, StateFailed, Value

_KINDS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_HEX = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{96}|[0-9a-fA-F]{64}|[0-9a-fA-F]{56}|"
                  r"[0-9a-fA-F]{40}|[0-9a-fA-F]{32})(?![0-9a-fA-F])")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The digest that a content is to have."""

    kind: str
    """As hashlib names it."""
    value: str
    """Lower-case hexadecimal digits."""

    def fits(self, data: bytes) -> bool:
        """Whether the content has it."""
        return self.of(data) == self.value

    def verify(self, data: bytes, url: str) -> None:
        """StateFailed when the content has another."""
        got = self.of(data)
        if got != self.value:
            raise StateFailed(
                f"Specified {self.kind} checksum for {url} ({self.value}) does not match actual checksum ({got})"
            )

    def of(self, data: bytes) -> str:
        """The digest of this kind that the content has."""
        return hashlib.new(self.kind, data, usedforsecurity=False).hexdigest()


def digest_of(machine: Reader, given: Value, url: str, named: str, target: str, saltenv: str) -> Digest:
    """The digest that `source_hash` gives for the source `url`, which is called `named` in a file of digests."""
    text = str(given).strip()
    found = _parse(text)
    if found is not None:
        return found
    if not text.startswith(("salt://", "/", "file://", *SCHEMES)):
        raise StateFailed(
            f"source_hash {text} is no digest in hexadecimal digits, and no salt://, http(s):// or local path of a "
            "file of digests"
        )
    listing = _listing(machine, text, saltenv)
    names = [one for one in (named, _basename(url), posixpath.basename(target)) if one]
    found = _in_listing(listing, names)
    if found is None:
        raise StateFailed(f"The file of digests {shown(text)} has none for {' or '.join(names)}: set source_hash_name")
    return found


def _parse(text: str) -> Digest | None:
    kind, separator, value = text.rpartition("=")
    value = value.strip().lower()
    if not _HEX.fullmatch(value):
        return None
    natural = _KINDS[len(value)]
    if separator and kind.strip().lower() != natural:
        raise StateFailed(f"source_hash {text}: a {kind} digest does not have {len(value)} digits")
    return Digest(kind=natural, value=value)


def _listing(machine: Reader, where: str, saltenv: str) -> str:
    try:
        if where.startswith("salt://"):
            data: bytes | None = machine.source(where.removeprefix("salt://").partition("?")[0], saltenv)
        elif where.startswith(SCHEMES):
            data = machine.fetch(where)
        else:
            data = machine.read(where.removeprefix("file://"))
    except (FileNotFoundError, IsADirectoryError):
        data = None
    if data is None:
        raise StateFailed(f"Source hash file {shown(where)} not found")
    return data.decode("utf-8", "replace")


def _in_listing(listing: str, names: list[str]) -> Digest | None:
    """The strongest digest on a line that names the file; of a file with a single digest, that one."""
    lines = [(line, _HEX.findall(line)) for line in listing.splitlines()]
    for name in names:
        pattern = re.compile(rf"(?:^|[\s*/(=:]){re.escape(name)}(?:$|[\s):,;])")
        fitting = [value for line, values in lines if pattern.search(line) for value in values]
        if fitting:
            return _parse(max(fitting, key=len))
    alone = [value for _, values in lines for value in values]
    return _parse(alone[0]) if len(alone) == 1 else None


def _basename(url: str) -> str:
    return posixpath.basename(url.partition("?")[0].rstrip("/"))
