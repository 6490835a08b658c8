"""Extensions of PHP as pecl(1) has them.

Called by the state and the execution module `pecl`. Its exit code is 0 for what it leaves out,
too: what it says counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_ROW = re.compile(r"^(\S+) +(\d\S*) +([a-z]+)$", re.MULTILINE)
_MISSING = 127
_DEFAULTS = "\n" * 100
"""Answers to what an extension asks before it is built."""


def listed(machine: Reader, channel: str | None = None) -> dict[str, list[str]]:
    """Extension → its version and the stability of that."""
    words = ["-c", named(channel)] if channel else []
    text = _said(machine.query(["pecl", "list", *words]))
    return {name: [version, state] for name, version, state in _ROW.findall(text)}


def install(
    machine: Machine, names: Sequence[str], *, defaults: bool = False, force: bool = False,
    preferred_state: str = "stable",
) -> str:  # fmt: skip
    """Install extensions; what pecl says. StateFailed where it did not."""
    flags = ["-f"] if force else []
    argv = ["pecl", "-d", f"preferred_state={preferred_state}", "install", *flags, *map(named, names)]
    text = _said(machine.run(argv, stdin=_DEFAULTS if defaults else None))
    if "install ok" not in text:
        raise StateFailed(text.strip())
    return text


def upgrade(machine: Machine, names: Sequence[str]) -> str:
    """Bring extensions to their newest versions; what pecl says."""
    return _said(machine.run(["pecl", "upgrade", *map(named, names)]))


def uninstall(machine: Machine, names: Sequence[str]) -> str:
    """Remove extensions; what pecl says. StateFailed where it did not."""
    text = _said(machine.run(["pecl", "uninstall", *map(named, names)]))
    if "uninstall ok" not in text:
        raise StateFailed(text.strip())
    return text


def named(name: str) -> str:
    """The extension. StateFailed where pecl would take it for an option."""
    if not name or name.startswith("-"):
        raise StateFailed(f"{name!r} is no extension of pecl")
    return name


def _said(done: Completed) -> str:
    if done.returncode == _MISSING:
        raise StateFailed("pecl is not there: install it (Debian: php-pear)")
    if done.returncode != 0:
        raise StateFailed(done.stdout.strip() or done.stderr.strip())
    return done.stdout
