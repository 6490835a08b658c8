"""git(1), run for the functions of the execution module `git`: never asks, never shows a password."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TypedDict

from minion.arguments.commands import Options
from minion.execution.arguments import NoExitCodeLog, NoPassword, NoTreeFile, Utf8Output
from minion.execution.context import Context
from minion.execution.errors import CallFailed

ENV = {"GIT_TERMINAL_PROMPT": "0"}


class OfOutput(TypedDict, total=False):
    """What Salt's functions of git take besides, about the output."""

    ignore_retcode: NoExitCodeLog
    output_encoding: Utf8Output
    saltenv: NoTreeFile


class OfGit(OfOutput, total=False):
    """The same of functions without another argument after `password`."""

    password: NoPassword


def git(
    context: Context, cwd: str | None, *words: str, user: str | None = None, identity: str | None = None,
    strip: bool = True, whole: bool = False, before: Options = (), good: Sequence[int] = (0,),
) -> str:  # fmt: skip
    """What git says; CallFailed when it fails. `whole`: what it says on stderr too; `before`: options before the verb;
    `good`: exit codes that are no failure.
    """
    env = dict(ENV)
    if identity:
        if "'" in identity:
            raise CallFailed("identity must be the path of a private key")
        env["GIT_SSH_COMMAND"] = f"ssh -o IdentitiesOnly=yes -o BatchMode=yes -i '{identity}'"
    done = context.machine.run(["git", *safe(cwd), *before, *words], cwd=cwd, env=env, runas=user)
    if done.returncode == 127:
        raise CallFailed("There is no git program: install the package git")
    if done.returncode not in good:
        said = shlex.join(["git", *map(without_password, words)])
        raise CallFailed(f"Command '{said}' failed: {without_password(done.stderr.strip())}")
    text = "\n".join(one for one in (done.stderr.strip(), done.stdout.strip()) if one) if whole else done.stdout
    return text.strip("\n").rstrip() if strip else text


def safe(cwd: str | None) -> list[str]:
    """An option of git: the caller names the clone, so git need not be afraid of its owner."""
    return ["-c", f"safe.directory={cwd}"] if cwd else []


def revision_of(rev: str) -> str:
    """The revision, which must not look like an option."""
    if rev.startswith("-"):
        raise CallFailed(f"{rev!r} is no revision")
    return rev


def without_password(text: str) -> str:
    """The text, addresses in it without names and passwords."""
    return re.sub(r"(https?://)[^/@\s]+@", r"\1<redacted>@", text)
