"""What gpg(1) prints for programs: keys (`--with-colons`) and status lines. Pure.

Format: doc/DETAILS of GnuPG. How a key is shown is Salt's: doc/ref/modules/all/salt.modules.gpg, list_keys.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")
TRUSTS = {
    "e": "Expired",
    "q": "Unknown",
    "n": "Not Trusted",
    "f": "Fully Trusted",
    "m": "Marginally Trusted",
    "u": "Ultimately Trusted",
    "r": "Revoked",
    "-": "Unknown",
    "i": "Unknown",
    "o": "Unknown",
    "d": "Unknown",
}
"""Letters of trust and validity -> Salt's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, or a subkey of one."""

    keyid: str
    fingerprint: str = ""
    uids: tuple[str, ...] = ()
    created: str = ""
    """Seconds since the epoch; so is the next."""
    expires: str = ""
    length: str = ""
    validity: str = ""
    ownertrust: str = ""
    grip: str = ""
    """What its secret part is kept under."""
    subkeys: tuple[Key, ...] = field(default=())

    def expired(self, now: float) -> bool:
        """Whether it has ended."""
        return bool(self.expires) and now >= float(self.expires)

    def is_named(self, name: str) -> bool:
        """Whether a fingerprint, or the long or short id, is this key's."""
        wanted = plain_id(name)
        return bool(wanted) and wanted in (self.fingerprint, self.keyid, self.keyid[8:])

    def shown(self, now: float) -> dict[str, Any]:
        """As functions give it."""
        found: dict[str, Any] = {"keyid": self.keyid}
        if self.uids:
            found["uids"] = list(self.uids)
        if self.fingerprint:
            found["fingerprint"] = self.fingerprint
        if self.expires:
            found |= {"expires": _date(self.expires), "expired": self.expired(now)}
        if self.created:
            found["created"] = _date(self.created)
        if self.length:
            found["keyLength"] = self.length
        if self.ownertrust:
            found["ownerTrust"] = TRUSTS.get(self.ownertrust, "Unknown")
        if self.validity:
            found["trust"] = TRUSTS.get(self.validity, "Unknown")
        if self.subkeys:
            found["subkeys"] = [one.shown(now) for one in self.subkeys]
        return found


def plain_id(name: str) -> str:
    """An id or fingerprint as gpg prints it."""
    return str(name).replace(" ", "").upper().removeprefix("0X")


def _date(seconds: str) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(float(seconds)))


def keys_in(text: str) -> list[Key]:
    """The keys of a listing."""
    found: list[Key] = []
    for line in text.splitlines():
        parts = line.split(":")
        match parts[0]:
            case "pub" | "sec":
                found.append(_key(parts))
            case "sub" | "ssb" if found:
                found[-1] = replace(found[-1], subkeys=(*found[-1].subkeys, _key(parts)))
            case "uid" if found:
                found[-1] = replace(found[-1], uids=(*found[-1].uids, _plain(parts[9])))
            case "fpr" | "grp" if found:
                found[-1] = _with_detail(found[-1], "fingerprint" if parts[0] == "fpr" else "grip", parts[9])
    return found


def _key(parts: Sequence[str]) -> Key:
    return Key(
        validity=parts[1],
        length=parts[2],
        keyid=parts[4],
        created=parts[5],
        expires=parts[6],
        ownertrust=parts[8] if len(parts) > 8 else "",
    )


def _with_detail(key: Key, name: str, value: str) -> Key:
    """A line about the key, or about the subkey that was named last."""
    if not key.subkeys:
        return replace(key, **{name: value})  # type: ignore[arg-type]
    *others, last = key.subkeys
    return replace(key, subkeys=(*others, replace(last, **{name: value})))  # type: ignore[arg-type]


def _plain(text: str) -> str:
    """The name of a person as it was written."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def statuses(text: str) -> list[list[str]]:
    """The words of each status line."""
    return [line.split(" ")[1:] for line in text.splitlines() if line.startswith("[GNUPG:] ")]
