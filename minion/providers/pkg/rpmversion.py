"""The order of versions as rpm and pacman have it: segments of digits and of letters by turns.

Called by the providers of dnf, zypper and pacman; the tests compare it with rpm itself. Rules: rpm-version(7),
PKGBUILD(5) and vercmp(8).
"""

from __future__ import annotations

import re

_SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")


def compare(left: str, right: str) -> int:
    """-1, 0 or 1 for `[epoch:]version[-release]`; a release counts when both have one."""
    ours, theirs = _parts(left), _parts(right)
    if ours[0] != theirs[0]:
        return -1 if ours[0] < theirs[0] else 1
    order = compare_segments(ours[1], theirs[1])
    if order or not (ours[2] and theirs[2]):
        return order
    return compare_segments(ours[2], theirs[2])


def compare_segments(left: str, right: str) -> int:
    """The order of two versions, or of two releases.

    A tilde sorts before everything, even the end; a caret after the end, and before everything else. Digits are newer
    than letters. Of two that are the same as far as one goes, the longer is newer.
    """
    ours, theirs = _SEGMENT.findall(left), _SEGMENT.findall(right)
    for one, other in zip(ours, theirs, strict=False):
        order = _segment_order(one, other)
        if order:
            return order
    if len(ours) == len(theirs):
        return 0
    longer, sign = (ours, 1) if len(ours) > len(theirs) else (theirs, -1)
    return -sign if longer[min(len(ours), len(theirs))] == "~" else sign


def _segment_order(one: str, other: str) -> int:
    if one == other:
        return 0
    for mark, older in (("~", -1), ("^", -1)):
        if mark in (one, other):
            return older if one == mark else -older
    if one.isdigit() and other.isdigit():
        return (int(one) > int(other)) - (int(one) < int(other))
    if one.isdigit() or other.isdigit():
        return 1 if one.isdigit() else -1
    return (one > other) - (one < other)


def compare_pacman(left: str, right: str) -> int:
    """As `compare`, by pacman's rules: a version that goes on with letters (1.0rc1) is older than the one that ends."""
    ours, theirs = _parts(left), _parts(right)
    if ours[0] != theirs[0]:
        return -1 if ours[0] < theirs[0] else 1
    order = _pacman_order(ours[1], theirs[1])
    if order or not (ours[2] and theirs[2]):
        return order
    return _pacman_order(ours[2], theirs[2])


def _pacman_order(left: str, right: str) -> int:
    while left and right:
        gap, ours, left = _next_segment(left)
        other_gap, theirs, right = _next_segment(right)
        if not ours or not theirs:
            left, right = ours + left, theirs + right
            break
        if gap != other_gap:
            return -1 if gap < other_gap else 1
        order = _segment_order(ours, theirs)
        if order:
            return order
    if left == right:
        return 0
    # One has ended: letters that are left make a version older, anything else newer.
    return -1 if left[:1].isalpha() or (not left and not right[:1].isalpha()) else 1


def _next_segment(text: str) -> tuple[int, str, str]:
    """The length of what separates, the segment, and what is left."""
    match = re.match(r"([^0-9A-Za-z]*)([0-9]+|[A-Za-z]*)", text)
    assert match  # noqa: S101  (it fits the empty text)
    return len(match[1]), match[2], text[match.end() :]


def _parts(version: str) -> tuple[int, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version
    upstream, hyphen, release = rest.rpartition("-")
    return (int(epoch), upstream, release) if hyphen else (int(epoch), rest, "")
