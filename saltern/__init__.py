"""The one name of Saltern in site-packages, and the entry of its process.

In a wheel the rooms (`controller`, `minion`, ...) lie in `saltern/rooms`, where neither they nor another distribution's
`options` or `wire` can overwrite each other (docs/adr/0017). In a checkout they are found as they are. Must import
nothing else: `saltern call` is to start at once.
"""

from __future__ import annotations

import os
import sys

ROOMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rooms")  # noqa: PTH100, PTH118, PTH120


def find_rooms() -> None:
    """Put the rooms of a wheel in front of what Python imports from; nothing in a checkout."""
    if os.path.isdir(ROOMS) and ROOMS not in sys.path:  # noqa: PTH112
        sys.path.insert(0, ROOMS)


def main() -> None:
    """Run `saltern VERB ...`; ends the process with its exit code."""
    find_rooms()
    from controller.cli import main as command_line

    command_line()
