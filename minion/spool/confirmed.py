"""The documents that this minion may go back to from what nobody confirmed: a folder of files named by their digests.

The agent writes them (`minion.agent.confirming.kept`): one, and for a moment the next one beside it. Workers have the
files of these in the cache before a run that somebody has to confirm.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from highstate.desired import Desired
from minion.spool.desired_state import read_document

FOLDER = "confirmed"


def confirmed_documents(cachedir: Path) -> list[Desired]:
    """Those that are there and can be read."""
    found: list[Desired] = []
    with contextlib.suppress(FileNotFoundError):
        for path in sorted((cachedir / FOLDER).iterdir()):
            with contextlib.suppress(OSError, ValueError):
                found.append(read_document(path).desired)
    return found
