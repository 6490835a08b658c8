"""How changes are performed and shown, and results of states that failed. Used by the engine."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Mapping

from highstate.redaction import without
from highstate.types import Chunk, StateResult, Value
from minion.machine.plan import NULL, Change, Machine
from minion.machine.printable import printable, printable_in

_SECRET = re.compile(r"passw|passphrase|(?:^|_)pass$|(?:api|access|auth|private)_key$|(?:token|secret)$", re.IGNORECASE)
"""In the names of arguments."""
_SECRET_DATA = {
    "kubernetes.secret_present": ("data", "source", "context"),
    "vault_secret.present": ("values",),
}
"""Functions that are given secrets by other names."""


def show(change: Change, changes: dict[str, Value]) -> None:
    """Put a change into `changes`, as Salt shows it."""
    if change.key:
        shown = {"old": change.old, "new": change.new} if change.reported is None else change.reported
        changes[change.key] = None if shown is NULL else shown


def perform(change: Change, machine: Machine, changes: dict[str, Value]) -> None:
    """Do a change, and put it into `changes` with what the act adds."""
    more = change.act(machine)
    if not change.predicted_only:
        show(change, changes)
    if more:
        changes.update(more)


def not_convergent(comment: str, left: list[Change]) -> str:
    """The comment where a second plan still has something to do."""
    shown: dict[str, Value] = {}
    for change in left:
        show(change, shown)
    what = ", ".join(f"{key}: {value}" for key, value in shown.items()) or "a step that shows nothing"
    return f"{comment}\nThe state did not converge: after its changes were made, these are still to be made: {what}"


def _secrets_of(chunk: Chunk) -> set[str]:
    """Texts of its arguments that are secrets: nothing that is a path, or stands in another argument, too.

    Nor the word of its module, like Zabbix's password `zabbix` that everybody knows: each message would be unreadable.
    """
    by_name = _SECRET_DATA.get(f"{chunk.state}.{chunk.fun}", ())
    secret, plain = set[str](), {chunk.name, chunk.id, *chunk.state.split("_")}
    for name, value in chunk.arguments.items():
        (secret if name in by_name or _SECRET.search(name) else plain).update(_texts(value))
    return {text for text in secret - plain if not text.startswith(("/", "salt://"))}


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _unsaid(chunk: Chunk, comment: str) -> str:
    """The comment of a failure without the state's secrets, which a program or a server may have repeated."""
    secrets = _secrets_of(chunk)
    return without(comment, secrets) if secrets else comment


def failed_result(
    chunk: Chunk, comment: str, changes: Mapping[str, Value] | None = None, warnings: tuple[str, ...] = ()
) -> StateResult:
    """The result of a state that failed."""
    return StateResult(
        name=chunk.name,
        result=False,
        comment=printable(_unsaid(chunk, comment)),
        changes=printable_in(changes or {}),
        warnings=warnings,
    )


def system_text(error: OSError) -> str:
    """What the system said, with the file that it is about."""
    text = error.strerror or str(error)
    where = ", ".join(str(name) for name in (error.filename, error.filename2) if name)
    hint = " (the minion does not run as root)" if isinstance(error, PermissionError) and os.geteuid() != 0 else ""
    return f"{text}: {where}{hint}" if where else f"{text}{hint}"


def exception_text() -> str:
    """The comment of a state that raised what it should not."""
    return f"An exception occurred in this state: {traceback.format_exc()}"


def unknown_result(chunk: Chunk, comment: str) -> StateResult:
    """The result of a state of which it is not known what it would do."""
    return StateResult(name=chunk.name, result=None, comment=_unsaid(chunk, comment))
