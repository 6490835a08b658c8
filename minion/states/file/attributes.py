"""Attributes of files as lsattr(1) and chattr(1) have them: `attrs` of file.managed.

Called by `file_target`. The mark of files with extents (`e`) cannot be changed and is left out of every comparison.
"""

from __future__ import annotations

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader


def attributes(machine: Reader, path: str) -> str:
    """The letters that are set; StateFailed where the file system has no attributes."""
    asked = machine.query(["lsattr", "-d", "--", path])
    if asked.returncode != 0 or not asked.stdout.strip():
        said = asked.stderr.strip() or "there is no lsattr program"
        raise StateFailed(f"The attributes of {path} cannot be read: {said}")
    return asked.stdout.split(None, 1)[0].replace("-", "")


def set_attributes(machine: Machine, path: str, wanted: str) -> None:
    """Make these letters, and no others, be set."""
    have = set(attributes(machine, path)) - {"e"}
    for sign, letters in (("-", have - set(wanted)), ("+", set(wanted) - have - {"e"})):
        if not letters:
            continue
        done = machine.run(["chattr", f"{sign}{''.join(sorted(letters))}", "--", path])
        if done.returncode != 0:
            raise StateFailed(f"The attributes of {path} cannot be changed: {done.stderr.strip()}")
