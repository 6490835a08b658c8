"""file.keyvalue: settings of the form `key = value`, one a line, changed in place.

Behaviour: doc/ref/states/all/salt.states.file, keyvalue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import Ignored, NumberOrText, Reads, Scalar, Unfit
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, Value
from minion.states.file.edit import Words, edited, encoded, opened
from minion.states.file.paths import behind, checked


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    values: Mapping[str, Value]
    separator: str
    count: int
    uncomment: str | None
    key_ignore_case: bool
    value_ignore_case: bool


@dataclass(kw_only=True)
class _Edit:
    """What has become of the file, line by line."""

    lines: list[str]
    diff: list[str]
    left: dict[str, int]
    """How many lines of each key are still to be set."""
    changed: int = 0


class _KeyvalueUnused(TypedDict, total=False):
    """Arguments of Salt's file.keyvalue that are ignored or refused."""

    search_only: Annotated[Value, Ignored("a test run only searches")]


def as_key_values(value: Value) -> Mapping[str, Value] | None:
    """A mapping of keys to values; None for what is false. Worded as Salt does."""
    if isinstance(value, Mapping):
        return {str(key): given for key, given in value.items()}
    if value:
        raise Unfit("", "file.keyvalue key and value not supplied and key_values is not a dictionary")
    return None


KeyValues = Annotated[Mapping[str, Value], Reads(as_key_values)]


def keyvalue(
    machine: Reader,
    name: str,
    *,
    key: NumberOrText | None = None,
    value: Scalar | None = None,
    key_values: KeyValues | None = None,
    separator: str = "=",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    count: int = 1,
    uncomment: str | None = None,
    key_ignore_case: bool = False,
    value_ignore_case: bool = False,
    create_if_missing: bool = False,
    prune: bool = False,
    **_: Unpack[_KeyvalueUnused],
) -> Plan:
    """The plan of file.keyvalue."""
    wanted = _Wanted(
        values=_values(key, value, key_values),
        separator=separator,
        count=count,
        uncomment=uncomment,
        key_ignore_case=key_ignore_case,
        value_ignore_case=value_ignore_case,
    )
    if behind(machine, checked(name, "keyvalue"))[1] is None and not create_if_missing:
        if ignore_if_missing:
            return Plan(comment=f"unable to open {name}")
        raise StateFailed(f"unable to open {name}")
    file = opened(machine, name, "keyvalue", create=create_if_missing)
    edit = _Edit(lines=[], diff=[], left=dict.fromkeys(wanted.values, count))
    dropped = _go_through(file.text.splitlines(keepends=True), wanted, edit, prune=prune)
    if append_if_not_found or (create_if_missing and file.found is None):
        _append(edit, wanted)
    elif prepend_if_not_found:
        _prepend(edit, wanted)
    edit.diff[1:1] = [f"- {line}" for line in dropped]
    words = Words(
        good="",
        pending=f"File {name} is set to be changed ({edit.changed} lines modified, {len(dropped)} deleted)",
        done=f"Changed {edit.changed}, deleted {len(dropped)} lines",
    )
    return edited(file, encoded("".join(edit.lines)), words, show_changes=show_changes, shown="".join(edit.diff))


def _values(key: str | None, value: Value, key_values: Mapping[str, Value] | None) -> Mapping[str, Value]:
    if key is not None and value is not None:
        if key_values is not None:
            raise StateFailed("file.keyvalue can not combine key_values with key and value")
        return {key: value}
    if not key_values:
        raise StateFailed("file.keyvalue key and value not supplied and key_values is empty")
    return key_values


def _go_through(lines: list[str], wanted: _Wanted, edit: _Edit, *, prune: bool) -> list[str]:
    """Every line as it is to be, in `edit`; gives the lines that are pruned."""
    dropped = []
    for line in lines:
        key = _key_of(line, wanted)
        if key is not None:
            _set(line, key, wanted, edit)
        elif prune:
            dropped.append(line)
        else:
            edit.lines.append(line)
    return dropped


def _key_of(line: str, wanted: _Wanted) -> str | None:
    bare = line.lstrip(wanted.uncomment) if wanted.uncomment else line.lstrip()
    working = bare if wanted.uncomment else line
    found, separator, _ = working.partition(wanted.separator)
    if not separator:
        return None
    for key in wanted.values:
        if found == key or (wanted.key_ignore_case and found.lower() == key.lower()):
            return key
    return None


def _set(line: str, key: str, wanted: _Wanted, edit: _Edit) -> None:
    is_commented = bool(wanted.uncomment) and line != line.lstrip(wanted.uncomment)
    working = line.lstrip(wanted.uncomment) if is_commented else line
    found, _, value = working.partition(wanted.separator)
    wish = str(wanted.values[key])
    is_right = value.strip() == wish.strip() or (
        wanted.value_ignore_case and value.strip().lower() == wish.strip().lower()
    )
    left = edit.left[key]
    if is_commented:
        has_to_change = left != 0
    else:
        has_to_change = not is_right or left == 0
    if not has_to_change:
        edit.lines.append(line)
    else:
        edit.changed += 1
        edit.diff.append(f"- {line}")
        if left != 0:
            new = f"{found}{wanted.separator}{wish}\n"
            edit.lines.append(new)
            edit.diff.append(_shown(new, wanted.values[key]))
    if left > 0:
        edit.left[key] = left - 1


def _shown(line: str, value: Value) -> str:
    return f"+ {line}" if isinstance(value, str) else f"+ {line.rstrip()} (from {type(value).__name__} type)\n"


def _append(edit: _Edit, wanted: _Wanted) -> None:
    new = [f"{key}{wanted.separator}{value}\n" for key, value in wanted.values.items() if edit.left[key] > 0]
    if not new:
        return
    if edit.lines and not edit.lines[-1].endswith("\n"):
        edit.lines[-1] += "\n"
    edit.lines += new
    edit.changed += len(new)
    edit.diff += ["- <EOF>\n", *(f"+ {line}" for line in new), "+ <EOF>\n"]


def _prepend(edit: _Edit, wanted: _Wanted) -> None:
    new = [f"{key}{wanted.separator}{value}\n" for key, value in wanted.values.items() if edit.left[key] > 0]
    if not new:
        return
    edit.lines[:0] = reversed(new)
    edit.changed += len(new)
    edit.diff[:0] = ["  <SOF>\n", *(f"+ {line}" for line in reversed(new))]
