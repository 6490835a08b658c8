"""The option `reactor`: which SLS answer events of which tags.

Salt's form is a list of mappings with one key each, a glob of tags, over one SLS or a list of them. Taken as well,
where Salt takes them without a word and does nothing: a mapping in place of the list, and several keys in one entry.
Source: salt/utils/reactor.py `list_reactors`, doc/topics/reactor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from options.document import Fault, Option
from reactors.rules.tag_index import TagIndex

MOST_ENTRIES = 10_000
"""Tags and SLS of one map."""
_FORM = "write `- 'TAG': [SLS, ...]`, as in `- 'salt/minion/*/start': [salt://reactor/start.sls]`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorEntry:
    """Events of these tags are answered by these SLS."""

    tag: str
    """A glob; `*` crosses slashes."""
    sls: tuple[str, ...]
    """Absolute paths, with globs, or `salt://PATH`."""
    place: str = ""
    """`file:line`."""


@dataclass(frozen=True)
class ReactorMap:
    """All entries, in the order in which they were written."""

    entries: tuple[ReactorEntry, ...] = ()

    @cached_property
    def _index(self) -> TagIndex:
        return TagIndex([entry.tag for entry in self.entries])

    def matching(self, tag: str) -> tuple[ReactorEntry, ...]:
        """The entries that answer an event of this tag."""
        return tuple(self.entries[position] for position in self._index.matching(tag))


def sls_of(entries: Sequence[ReactorEntry]) -> tuple[str, ...]:
    """The SLS of these entries, as they were written; one that two of them name is there twice."""
    return tuple(sls for entry in entries for sls in entry.sls)


def read_reactor_map(option: Option | None, faults: list[Fault]) -> ReactorMap:
    """The map that an option holds; what is wrong with it is appended to the faults."""
    if option is None or option.value in (None, [], {}):
        return ReactorMap()
    entries: list[ReactorEntry] = []
    for inside, tag, given in _pairs(option, faults):
        place = option.at(inside)
        if not isinstance(tag, str) or not tag:
            faults.append(Fault(place, f"reactor: {tag!r} is no tag", _FORM))
            continue
        sls = [given] if isinstance(given, str) else given
        if not isinstance(sls, list | tuple) or not all(isinstance(each, str) and each for each in sls):
            faults.append(Fault(place, f"reactor: {tag!r} must have a list of SLS, not {given!r}", _FORM))
            continue
        entries.append(ReactorEntry(tag=tag, sls=tuple(sls), place=place))
    if len(entries) + sum(len(entry.sls) for entry in entries) > MOST_ENTRIES:
        faults.append(Fault(option.place, f"reactor: more than {MOST_ENTRIES} tags and SLS"))
        return ReactorMap()
    return ReactorMap(tuple(entries))


def _pairs(option: Option, faults: list[Fault]) -> Iterator[tuple[Sequence[str | int], Any, Any]]:
    value = option.value
    if isinstance(value, Mapping):
        yield from (((str(tag),), tag, given) for tag, given in value.items())
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            if isinstance(entry, Mapping) and entry:
                yield from (((index, str(tag)), tag, given) for tag, given in entry.items())
            else:
                faults.append(Fault(option.at((index,)), f"reactor: {entry!r} names no tag with its SLS", _FORM))
    else:
        faults.append(Fault(option.place, f"reactor must be a list of tags with their SLS, not {value!r}", _FORM))
