"""The order of Debian's package versions (deb-version(7)).

Called by the apt provider. Written here and not asked of `dpkg --compare-versions`, since a plan for many packages
would start a process for each comparison; the tests compare both.
"""

from __future__ import annotations

import re

_PARTS = re.compile(r"(\D*)(\d*)")


def compare(left: str, right: str) -> int:
    """-1, 0 or 1: by epoch, then upstream version, then revision."""
    left_epoch, left_upstream, left_revision = _split(left)
    right_epoch, right_upstream, right_revision = _split(right)
    if left_epoch != right_epoch:
        return -1 if left_epoch < right_epoch else 1
    return _order(left_upstream, right_upstream) or _order(left_revision, right_revision)


def _split(version: str) -> tuple[int, str, str]:
    """Epoch, upstream version, revision; the revision begins at the last hyphen."""
    epoch, colon, rest = version.partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version
    upstream, hyphen, revision = rest.rpartition("-")
    return (int(epoch), upstream, revision) if hyphen else (int(epoch), rest, "")


def _order(left: str, right: str) -> int:
    """Compare non-digits and digits by turns, from the left, as the manual page has it."""
    ours, theirs = _keys(left), _keys(right)
    length = max(len(ours), len(theirs))
    filler = ((0,), 0)
    ours += [filler] * (length - len(ours))
    theirs += [filler] * (length - len(theirs))
    if ours == theirs:
        return 0
    return -1 if ours < theirs else 1


def _keys(text: str) -> list[tuple[tuple[int, ...], int]]:
    pairs = [match.groups() for match in _PARTS.finditer(text) if match.group()]
    # Each run of non-digits ends in a 0: the end sorts after a tilde and before everything else.
    return [((*map(_weight, letters), 0), int(digits or "0")) for letters, digits in pairs]


def _weight(letter: str) -> int:
    """Tilde before the end of the part, letters before all other characters."""
    if letter == "~":
        return -1
    return ord(letter) if letter.isalpha() else ord(letter) + 256
