"""`osrelease` and the grains derived from it. Called by `minion.grains.osrelease` and `minion.grains.freebsd`."""

from __future__ import annotations

from typing import Any

Grains = dict[str, Any]

_FINGER_BY_OS = ("AlmaLinux", "Debian", "FreeBSD", "Raspbian")
_FINGER_BY_RELEASE = ("NixOS", "Pop", "Ubuntu")


def release_grains(name: str, full: str, release: str) -> Grains:
    """`osrelease` and what is derived from it; a system without releases has an empty one and nothing else."""
    if not release:
        return {"osrelease": ""}
    info = [int(part) if part.isdigit() else part for part in release.split(".")]
    finger = name if name in _FINGER_BY_OS else full
    found: Grains = {
        "osrelease": release,
        "osrelease_info": info,
        "osfinger": f"{finger}-{release if name in _FINGER_BY_RELEASE else info[0]}",
    }
    return {**found, "osmajorrelease": info[0]} if isinstance(info[0], int) else found
