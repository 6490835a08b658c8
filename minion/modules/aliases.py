"""The execution module `aliases`: names of the mail system in /etc/aliases, or where the option `aliases.file` says.

Behaviour: doc/ref/modules/all/salt.modules.aliases. Lines that a call does not change stay as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from minion.execution.context import Context
from minion.execution.errors import CallFailed

AliasTargets: TypeAlias = str | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _AliasLine:
    """A line of the file; one without an alias is kept as it is."""

    raw: str
    alias: str = ""
    target: str = ""
    note: str = ""
    """What follows the target, with the blanks before it."""


def list_aliases(context: Context) -> dict[str, str]:
    """Alias → its targets as they stand in the file."""
    return {line.alias: line.target for line in _lines(context) if line.alias}


def get_target(context: Context, alias: str) -> str:
    """The targets of an alias; empty when there is no such alias."""
    return list_aliases(context).get(alias, "")


def has_target(context: Context, alias: str, target: AliasTargets) -> bool:
    """Whether an alias has exactly these targets."""
    return list_aliases(context).get(alias) == _given("target", target)


def set_target(context: Context, alias: str, target: AliasTargets) -> bool:
    """Have an alias lead to these targets and to no others; a second line of that alias is removed."""
    wanted = _given("target", target)
    lines = _lines(context)
    if any(line.alias == _given("alias", alias) and line.target == wanted for line in lines):
        return True
    first = next((line for line in lines if line.alias == alias), _AliasLine(raw=""))
    new = _AliasLine(raw=f"{alias}: {wanted}{first.note}", alias=alias, target=wanted, note=first.note)
    changed = [new if line is first else line for line in lines if line.alias != alias or line is first]
    _write(context, changed if new in changed else [*changed, new])
    return True


def rm_alias(context: Context, alias: str) -> bool:
    """Have no line of this alias."""
    lines = _lines(context)
    kept = [line for line in lines if line.alias != alias]
    if alias and len(kept) != len(lines):
        _write(context, kept)
    return True


def _given(argument: str, value: AliasTargets) -> str:
    text = ", ".join(value) if isinstance(value, list) else value
    if not text or "\n" in text:
        raise CallFailed(f"{argument} can not be an empty string, nor more than a line")
    return text


def _file(context: Context) -> str:
    """Where a link at its place leads to: the link stays."""
    path = context.opts.get("aliases.file", "/etc/aliases")
    if not isinstance(path, str) or not path.startswith("/"):
        raise CallFailed(f"aliases.file in the minion's configuration must be a path that begins with /, not {path!r}")
    return str(Path(path).resolve())


def _lines(context: Context) -> list[_AliasLine]:
    path = _file(context)
    if context.machine.stat(path) is None:
        return []
    return [_parsed(line) for line in context.machine.read(path).decode(errors="surrogateescape").splitlines()]


def _parsed(raw: str) -> _AliasLine:
    text, mark, _ = raw.partition("#")
    alias, colon, rest = text.partition(":")
    if not colon or not alias.strip() or raw[:1].isspace() or (mark and not text[-1].isspace()):
        return _AliasLine(raw=raw)
    target = rest.strip()
    note = raw[len(text.rstrip()) :] if mark else ""
    return _AliasLine(raw=raw, alias=alias.strip(), target=target, note=note)


def _write(context: Context, lines: Iterable[_AliasLine]) -> None:
    text = "".join(f"{line.raw}\n" for line in lines)
    context.machine.write(_file(context), text.encode(errors="surrogateescape"))
    program = shutil.which("newaliases")
    if program is not None and _file(context) == "/etc/aliases":
        context.machine.run([program])


FUNCTIONS: Mapping[str, Any] = {
    "get_target": get_target,
    "has_target": has_target,
    "list_aliases": list_aliases,
    "rm_alias": rm_alias,
    "set_target": set_target,
}
