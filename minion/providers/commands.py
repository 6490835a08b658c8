"""Commands of package managers: run, judged by their exit code, refused when a name could be taken for an option.

Called by the providers of `minion.providers.pkg.packages`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+:@/~-]*")
_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,+:~^-]*")
_LAST_LINES = 20


def asked(machine: Reader, argv: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """What a command that only reads says; StateFailed with its complaint."""
    done = machine.query(argv, env=env)
    if done.returncode != 0:
        raise StateFailed(f"{argv[0]} cannot tell: {complaint(done)}")
    return done.stdout


def carry_out(
    machine: Machine,
    argv: Sequence[str],
    doing: str,
    *,
    fine: Sequence[int] = (0,),
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a command that changes packages; StateFailed, in Salt's frame, with what it said."""
    done = machine.run(argv, env=env)
    if done.returncode not in fine:
        raise StateFailed(problem(doing, complaint(done)))


def complaint(done: Completed) -> str:
    """The end of what a command said of its failure."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return "\n".join(lines[-_LAST_LINES:]) or f"exit code {done.returncode}, without a message"


def problem(doing: str, text: str) -> str:
    """Salt's words about a transaction that failed; `doing` is `installing`, `removing` or `upgrading`."""
    lines = [line for line in text.splitlines() if line.strip()]
    listed = "\n".join(f"    - {line}" for line in lines)
    return f"Problem encountered {doing} package(s). Additional info follows:\n\nerrors:\n{listed}"


def check_name(name: str) -> None:
    """StateFailed when this cannot be the name of a package."""
    if not _NAME.fullmatch(name):
        raise StateFailed(
            f"Invalid package name {name!r}: a name begins with a letter, a digit or '_', and holds letters, digits "
            "and any of _ . + : @ / ~ -"
        )


def check_version(name: str, version: str) -> None:
    """StateFailed when this cannot be the version of a package."""
    if not _VERSION.fullmatch(version):
        raise StateFailed(
            f"Invalid version {version!r} of package {name}: a version begins with a letter or a digit and holds "
            "letters, digits and any of _ . , + : ~ ^ -"
        )


def check_repository(name: str) -> str:
    """The name of a repository; StateFailed when it cannot be one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:+/-]*", name):
        raise StateFailed(f"Invalid fromrepo {name!r}: it is the name of a repository")
    return name
