"""Passwords of users, asked of PAM in a process of its own. Called by `logins` on the loop."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from controller.access import pam_check
from controller.access.pam_check import PamQuestion

LONGEST_NAME = 64
LONGEST_PASSWORD = 1024


class PamTrouble(Exception):
    """PAM said neither yes nor no; the text is why."""


@dataclass(slots=True)
class PamPasswords:
    """Asks about passwords, some at a time.

    Args:
        service: the file of /etc/pam.d.
        at_once: questions at the same time; more wait.
        seconds: that a question may take.
    """

    service: str
    at_once: int
    seconds: float
    _turns: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.at_once)

    async def is_right(self, user: str, password: str) -> bool:
        """Whether it is the user's password. PamTrouble."""
        if not 0 < len(user) <= LONGEST_NAME or len(password) > LONGEST_PASSWORD or "\0" in user + password:
            return False
        question = msgspec.json.encode(PamQuestion(service=self.service, user=user, password=password))
        async with self._turns:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "saltern.run_module",
                pam_check.__name__,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(self.seconds):
                    said, _ = await process.communicate(question)
            except TimeoutError:
                raise PamTrouble(f"PAM did not answer in {self.seconds:g} s") from None
            finally:
                if process.returncode is None:  # `Process.kill` could take the exit code away from asyncio
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
        if process.returncode not in (pam_check.YES, pam_check.NO):
            raise PamTrouble(said.decode(errors="replace").strip()[:200] or f"it ended with {process.returncode}")
        return process.returncode == pam_check.YES


def shadow_trouble(shadow: Path = Path("/etc/shadow")) -> str:
    """Why PAM refuses also right passwords of this machine's own users, and what to do; empty: it does not.

    pam_unix asks a program with the group of /etc/shadow, which tells a user about no password but its own.
    """
    if not shadow.exists() or os.access(shadow, os.R_OK, effective_ids=True):
        return ""
    return (
        f"the controller's user cannot read {shadow}, so that PAM refuses all passwords of this machine's own users: "
        "docs/access.md, Passwords, says how it can"
    )


def groups_of(user: str) -> tuple[str, ...]:
    """Names of a user's groups; none for one that the machine does not know. The system may take long to say it."""
    try:
        ids = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
    except (KeyError, OSError):
        return ()
    found = []
    for gid in ids:
        with contextlib.suppress(KeyError):
            found.append(grp.getgrgid(gid).gr_name)
    return tuple(sorted(found))
