"""file.blockreplace: the lines between two markers of a file.

Behaviour: doc/ref/states/all/salt.states.file, blockreplace. What file.accumulated has gathered for the file is added
to `content`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minion.arguments.types import BackupDir, NumberOrText, StateId
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader
from minion.machine.timed_regex import TimedRegex
from minion.states.file.append import TextSources
from minion.states.file.edit import CHANGES, beside, edited, encoded, opened


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a block goes that is not there yet."""

    append: bool
    prepend: bool
    before: TimedRegex[str] | None
    after: TimedRegex[str] | None


def blockreplace(
    machine: Reader,
    name: str,
    *,
    marker_start: NumberOrText = "#-- start managed zone --",
    marker_end: NumberOrText = "#-- end managed zone --",
    from_sources: TextSources,
    content: NumberOrText = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: bool | str = ".bak",
    show_changes: bool = True,
    append_newline: bool | None = None,
    insert_before_match: str | None = None,
    insert_after_match: str | None = None,
    backup_dir: BackupDir = "",
    state_id: StateId = "",
) -> Plan:
    """The plan of file.blockreplace."""
    place = _Place(
        append=append_if_not_found,
        prepend=prepend_if_not_found,
        before=_regex(insert_before_match, "insert_before_match"),
        after=_regex(insert_after_match, "insert_after_match"),
    )
    if sum(map(bool, (place.append, place.prepend, place.before, place.after))) > 1:
        raise StateFailed(
            "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and insert_after_match "
            "is permitted"
        )
    file = opened(machine, name, "blockreplace")
    gathered = _gathered(machine, name, state_id)
    whole = "\n".join([*([content] if content else []), *gathered])
    whole += "".join(from_sources.texts(machine, name))
    if not marker_start or not marker_end:
        raise StateFailed("marker_start and marker_end must not be empty: every line would be a marker")
    ended = not whole.endswith("\n") if append_newline is None else append_newline
    new = _with_block(file.text, marker_start, marker_end, _body(whole, ended=ended), place)
    return edited(file, encoded(new), CHANGES, backup=beside(file, backup, backup_dir), show_changes=show_changes)


def _gathered(machine: Reader, name: str, state_id: str) -> list[str]:
    """What was accumulated for this state; of states that no accumulator names, all that was for the file."""
    everything = machine.accumulated.get(name, {}).values()
    own = [one for one in everything if state_id in one.consumers]
    return [str(line) for one in own or everything for line in one.lines]


def _body(content: str, *, ended: bool) -> str:
    text = content.replace("\r\n", "\n")
    return f"{text}\n" if ended else text


def _with_block(text: str, start: str, end: str, body: str, place: _Place) -> str:
    ending = "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"
    body = body.replace("\n", ending)
    new, inside, found = list[str](), False, False
    for line in text.splitlines(keepends=True):
        if not inside:
            new.append(line)
            inside = start in line
        elif end in line:
            # What stands before the end marker on its own line belongs to the block, as in Salt.
            new.append(body + line[line.find(end) :].rstrip("\r\n") + ending)
            inside, found = False, True
    if inside:
        raise StateFailed("Unterminated marked block. End of file reached before marker_end.")
    if found:
        return "".join(new)
    return _with_new_block(new, f"{start}{ending}{body}{end}{ending}", ending, place)


def _with_new_block(lines: list[str], block: str, ending: str, place: _Place) -> str:
    if place.prepend:
        return block + "".join(lines)
    if place.append:
        text = "".join(lines)
        return text + (ending if text and not text.endswith(ending) else "") + block
    pattern = place.before or place.after
    if pattern:
        for index, line in enumerate(lines):
            if pattern.search(line):
                at = index if place.before else index + 1
                if at and not lines[at - 1].endswith(ending):
                    lines[at - 1] += ending
                return "".join([*lines[:at], block, *lines[at:]])
    raise StateFailed("Cannot edit marked block. Markers were not found in file.")


def _regex(value: str | None, what: str) -> TimedRegex[str] | None:
    try:
        return TimedRegex(value) if value else None
    except re.error as error:
        raise StateFailed(f"{what}: {value!r} is no regular expression: {error}") from None
