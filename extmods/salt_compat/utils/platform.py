"""`salt.utils.platform`: which system this is."""

from __future__ import annotations

import sys


def is_linux() -> bool:
    """Linux."""
    return sys.platform.startswith("linux")


def is_freebsd() -> bool:
    """FreeBSD."""
    return sys.platform.startswith("freebsd")


def is_darwin() -> bool:
    """macOS."""
    return sys.platform.startswith("darwin")


def is_openbsd() -> bool:
    """OpenBSD."""
    return sys.platform.startswith("openbsd")


def _no() -> bool:
    return False


is_windows = is_sunos = is_smartos = is_aix = is_proxy = is_junos = is_netbsd = _no
