"""rsync(1): what it would copy and delete, and what it has.

Called by the state and the execution module `rsync`. Each thing that it does is asked for in a line with a mark of its
own, so that no message of a server is taken for a file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from minion.arguments.types import ListOfTexts, Texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed

_MARK = "=> "
_LINE = re.compile(rf"^{_MARK}(send|recv|del\.) (.*)$", re.MULTILINE)
_MISSING = 127


class RsyncOptions(NamedTuple):
    """How it copies: as arguments of the state and the function."""

    delete: bool = False
    force: bool = False
    update: bool = False
    passwordfile: str | None = None
    exclude: Texts = ()
    excludefrom: str | None = None
    additional_opts: ListOfTexts = ()


class Copied(NamedTuple):
    """What rsync has copied and deleted, or would: a line each, sorted."""

    copied: tuple[str, ...]
    deleted: tuple[str, ...]

    def shown(self) -> dict[str, str]:
        """As Salt shows it."""
        return {key: "\n".join(lines) or "N/A" for key, lines in self._asdict().items()}


def command(source: str, target: str, options: RsyncOptions, *more: str) -> list[str]:
    """The words of a command. StateFailed where one would be taken for an option."""
    for path in (source, target):
        if not path or path.startswith("-"):
            raise StateFailed(f"{path!r} is nothing that rsync can copy from or to")
        if path.startswith("salt://"):
            raise StateFailed(f"{path}: rsync copies no files of the tree: use file.recurse")
    words = ["rsync", "-avz"]
    words += [f"--{name}" for name in ("delete", "force", "update") if getattr(options, name)]
    if options.passwordfile:
        words += ["--password-file", options.passwordfile]
    if options.excludefrom:
        words += ["--exclude-from", options.excludefrom]
    words += [word for one in options.exclude for word in ("--exclude", one)]
    return [*words, *more, *options.additional_opts, source, target]


def marked(argv: list[str]) -> list[str]:
    """The command, so that `copied` can read what it prints."""
    return [*argv[:-2], f"--out-format={_MARK}%o %n%L", *argv[-2:]]


def copied(done: Completed) -> Copied:
    """What a command has done. StateFailed where it failed."""
    if done.returncode == _MISSING:
        raise StateFailed("rsync is not there: install it (Debian: rsync)")
    if done.returncode != 0:
        raise StateFailed(done.stderr.strip() or f"rsync ends with {done.returncode}")
    found = _LINE.findall(done.stdout)
    return Copied(
        copied=tuple(sorted(name for what, name in found if what != "del.")),
        deleted=tuple(sorted(name for what, name in found if what == "del.")),
    )
