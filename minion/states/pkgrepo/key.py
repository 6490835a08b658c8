"""The key of a repository: where it comes from, and the file that apt finds it in.

Called by `minion.states.pkgrepo.state`. A key that comes over the network is fetched once, when its file is not there:
a look at the machine asks no server.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from highstate.salt_urls import split_salt_url
from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.pkg.apt_sources import AptSource

KEYRINGS = "/etc/apt/keyrings"
_ARMOUR = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryKey:
    """A key file, as it shall be."""

    path: str
    there: bool
    """Whether the file is right, as far as is known without the network."""
    load: Callable[[Machine], bytes]

    def write(self, machine: Machine) -> None:
        """Put the key there."""
        data = self.load(machine)
        if self.path.endswith(".gpg") and data.lstrip().startswith(_ARMOUR):
            data = dearmoured(data)
        if self.path.endswith(".asc") and not data.lstrip().startswith(_ARMOUR):
            data = armoured(data)
        machine.mkdir(posixpath.dirname(self.path), parents=True, mode="0755")
        machine.write(self.path, data, mode="0644")


def key_of(
    machine: Reader, source: AptSource, given: tuple[str | None, ...], signedby: str | None, saltenv: str
) -> RepositoryKey | None:
    """The key that `key_url`, `key_text`, or `keyid` with `keyserver` name; None when they name none."""
    url, text, keyid, keyserver = given
    if not (url or text or keyid):
        return None
    path = signedby or source.options.get("signed-by") or f"{KEYRINGS}/{_file_name(source, url)}"
    if not path.startswith("/"):
        raise StateFailed(f"signed-by must be the absolute path of a key file, not {path!r}")
    if text:
        return _known(machine, path, _checked(text.encode(), "key_text"))
    if url and url.startswith(("salt://", "/", "file://")):
        return _known(machine, path, _checked(_local(machine, url, saltenv), url))
    address = url or _at_keyserver(keyid, keyserver)
    return RepositoryKey(
        path=path, there=machine.stat(path) is not None, load=lambda machine: _fetched(machine, address)
    )


def dearmoured(data: bytes) -> bytes:
    """The binary form of an armoured key (RFC 9580, 6.2), its checksum left aside; apt reads only that from a .gpg."""
    blocks = []
    for block in data.split(_ARMOUR)[1:]:
        body = block.partition(b"-----END")[0].replace(b"\r", b"")
        lines = body.partition(b"\n\n")[2].split(b"\n")
        packed = b"".join(line.strip() for line in lines if not line.startswith(b"="))
        try:
            blocks.append(base64.b64decode(packed, validate=True))
        except binascii.Error as error:
            raise StateFailed(f"The key is damaged: {error}") from error
    return b"".join(blocks)


def armoured(data: bytes) -> bytes:
    """The text form of a binary key."""
    return _ARMOUR + b"\n\n" + base64.encodebytes(data) + b"-----END PGP PUBLIC KEY BLOCK-----\n"


def _known(machine: Reader, path: str, data: bytes) -> RepositoryKey:
    stored = dearmoured(data) if path.endswith(".gpg") and data.lstrip().startswith(_ARMOUR) else data
    there = machine.stat(path) is not None and machine.read(path) == stored
    return RepositoryKey(path=path, there=there, load=lambda _machine: stored)


def _local(machine: Reader, url: str, saltenv: str) -> bytes:
    try:
        if url.startswith("salt://"):
            return machine.source(*split_salt_url(url, saltenv))
        return machine.read(url.removeprefix("file://"))
    except FileNotFoundError:
        raise StateFailed(f"The key {url} is not there") from None


def _fetched(machine: Machine, address: str) -> bytes:
    data = machine.fetch(address)
    if data is None:
        raise StateFailed(f"The key {address} is not there")
    return _checked(data, address)


def _checked(data: bytes, origin: str) -> bytes:
    """A page of an error is no key: apt would refuse the repository much later, and say less."""
    if not data.lstrip().startswith(_ARMOUR) and not data[:1] >= b"\x80":
        raise StateFailed(f"{origin} is no OpenPGP public key")
    return data


def _at_keyserver(keyid: str | None, keyserver: str | None) -> str:
    digits = (keyid or "").removeprefix("0x")
    if not keyserver or not re.fullmatch(r"[0-9A-Fa-f]{16,40}", digits):
        raise StateFailed("keyid needs a keyserver, and 16 digits at least (shorter ones can be forged)")
    host = re.sub(r"^[a-z]+://", "", keyserver).strip("/")
    return f"https://{host}/pks/lookup?op=get&options=mr&search=0x{quote(digits)}"


def _file_name(source: AptSource, url: str | None) -> str:
    """Named after the key's URL, otherwise after the repository."""
    base = posixpath.basename(url.partition("?")[0]) if url else ""
    base = re.sub(r"[^A-Za-z0-9._-]", "-", base) or re.sub(
        r"[^A-Za-z0-9.-]+", "-", source.uri.partition("//")[2]
    ).strip("-")
    return (
        base if base.endswith((".asc", ".gpg")) else f"{base}.asc" if not base.endswith(".key") else f"{base[:-4]}.asc"
    )
