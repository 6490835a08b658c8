"""Reactor SLS that the controller's file names by absolute paths, read for lint."""

from __future__ import annotations

import glob
from pathlib import Path

from reactors.rules.reactor_map import ReactorMap, sls_of

_MOST_FILES = 1000
_MOST_BYTES = 1024 * 1024
"""Of one."""


def reactors_on_disk(reactors: ReactorMap) -> dict[str, str]:
    """Path -> text of those that can be read; the controller itself says which cannot."""
    patterns = dict.fromkeys(sls for sls in sls_of(reactors.entries) if sls.startswith("/"))
    paths = sorted({path for pattern in patterns for path in glob.glob(pattern)})  # noqa: PTH207 - an absolute pattern
    found = {}
    for path in paths[:_MOST_FILES]:
        try:
            with Path(path).open("rb") as file:
                found[path] = file.read(_MOST_BYTES).decode("utf-8-sig", errors="replace")
        except OSError:
            continue
    return found
