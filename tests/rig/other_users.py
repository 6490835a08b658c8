"""Files of a test that another user of the machine is to reach."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def let_through(path: Path) -> None:
    """Let everybody through to a file of this test; the folder of all temporary files stays as it is."""
    everybodys = Path(tempfile.gettempdir())
    for folder in path.parents:
        if everybodys in folder.parents and folder.stat().st_uid == os.geteuid():
            folder.chmod(0o755)
