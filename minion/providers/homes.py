"""Paths that begin with a home: `~/.my.cnf`, `~deploy/.ssh`.

Called by the engine, for the names of file states, and by `minion.states.file.copy`. A user whom an earlier state of a
test run would make counts.
"""

from __future__ import annotations

import os

from minion.machine.plan import Reader


def with_home(machine: Reader, path: str) -> str:
    """The path that is meant; one that begins with the home of an unknown user stays as it is."""
    if not path.startswith("~"):
        return path
    user, slash, rest = path[1:].partition("/")
    home = _home(machine, user)
    return path if home is None else f"{home.rstrip('/')}{slash}{rest}" or "/"


def _home(machine: Reader, user: str) -> str | None:
    if not user:
        return os.path.expanduser("~")  # noqa: PTH111  (Path.home raises where there is none)
    from minion.providers import accounts

    found = accounts.user(machine, user)
    return None if found is None else found.home
