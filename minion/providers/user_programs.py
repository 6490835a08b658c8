"""A program that some user runs: asked by plans, told by acts, with the same words.

Called by the providers of package managers of languages, which a state runs as the user whose packages they are.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_MISSING = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class UserProgram:
    """A program as one user runs it.

    Args:
        argv: the program, and words that stand before all others.
        remedy: what to do where it is not there.
        user: who runs it; None: who runs the minion.
        env: variables of its environment. What is secret goes by them: all users see the words of a command.
    """

    argv: tuple[str, ...]
    remedy: str
    user: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def ask(self, machine: Reader, *words: str) -> Completed:
        """What comes of a command that only looks. StateFailed where the program is not there."""
        argv, env = [*self.argv, *words], dict(self.env)
        if self.user and self.user != pwd.getpwuid(os.geteuid()).pw_name:
            argv = ["runuser", "-u", self.user, "--", *argv]
            env = {"HOME": home_of(self.user)} | env
        return self._there(machine.query(argv, env=env or None))

    def tell(self, machine: Machine, *words: str, cwd: str | None = None) -> Completed:
        """What comes of a command that changes something. StateFailed where the program is not there."""
        argv = [*self.argv, *words]
        return self._there(machine.run(argv, runas=self.user, env=self.env or None, cwd=cwd))

    def _there(self, done: Completed) -> Completed:
        if done.returncode == _MISSING:
            raise StateFailed(f"{self.argv[0]} is not there: {self.remedy}")
        return done


def home_of(user: str) -> str:
    """The home of a user. StateFailed where there is none of this name."""
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        raise StateFailed(f"User '{user}' is not available") from None
