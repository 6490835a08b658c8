"""Whether something is behind a path, for whoever only asks that.

Called by conditions (`creates`) and by states.
"""

from __future__ import annotations

import posixpath

from minion.machine.plan import Reader


def exists(machine: Reader, path: str) -> bool:
    """Whether there is something behind a path, symlinks followed: those of any owner, since nothing is read there."""
    for _ in range(40):
        found = machine.stat(path)
        if found is None or found.kind != "symlink":
            return found is not None
        path = posixpath.join(posixpath.dirname(path), found.target)
    return False
