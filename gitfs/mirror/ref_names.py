"""Which refs of a remote are followed, by their names: a name that cannot be stored affects its own ref alone.

Called by `gitfs.mirror.transfers`. Names are text in which bytes that are no UTF-8 stand as lone surrogates (PEP 383).
Pure: touches no repository. What is a name follows git-check-ref-format(1).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

import pygit2

from gitfs.limits import GitLimits
from options.limits import CountRefusal

LONGEST_PART = 240
"""Bytes between two slashes: a file of this name and its lock have to fit into a folder (NAME_MAX is 255)."""


def fault_of(name: str, limits: GitLimits, on_refusal: CountRefusal) -> str | None:
    """Why a ref with this full name (`refs/heads/...`) cannot be followed; None when it can."""
    raw = name.encode(errors="surrogateescape")
    if not name.isascii() and raw.decode(errors="replace") != name:
        return "its name is not UTF-8"
    if len(raw) > limits.ref_name_bytes:
        on_refusal("ref-name-bytes")
        return f"its name has {len(raw)} bytes; {limits.ref_name_bytes} are taken (limit ref-name-bytes)"
    if any(len(part) > LONGEST_PART for part in raw.split(b"/")):
        return f"a part of its name has more than {LONGEST_PART} bytes between two slashes"
    if any(unicodedata.category(char) == "Cc" for char in name) or not pygit2.reference_is_valid_name(name):
        return "its name is none that git allows, or holds control characters"
    return None


def names_below_others(names: Collection[str]) -> dict[str, str]:
    """Names that would lie below another one of them (`a/b` where there is `a`) -> that other one.

    git keeps each ref as a file and has no such pairs; a server that keeps them in another way may.
    """
    known = set(names)
    found = {}
    for name in known:
        at = name.rfind("/")
        while at > 0:
            if name[:at] in known:
                found[name] = name[:at]
            at = name.rfind("/", 0, at)
    return found
