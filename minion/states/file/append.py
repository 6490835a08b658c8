"""file.append and file.prepend: lines that a file is to hold at its end or at its beginning.

Behaviour: doc/ref/states/all/salt.states.file. A text that is there already, whatever its white space, is not put in
again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from minion.arguments.sources import EachSources, Sources
from minion.arguments.types import Context, LinesOfText, Texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader
from minion.machine.timed_regex import TimedRegex
from minion.states.file.edit import Words, edited, encoded, opened
from minion.states.file.paths import missing_parents
from minion.states.file.sources import of_source, template

_template = template


class TextSources(NamedTuple):
    """Arguments of file.append, file.prepend and file.blockreplace: files whose texts are put in."""

    source: Sources = ()
    source_hash: str | None = None
    template: str | None = "jinja"
    sources: EachSources = ()
    source_hashes: Texts | None = None
    defaults: Context | None = None
    context: Context | None = None
    saltenv: str = "base"

    def texts(self, machine: Reader, name: str) -> list[str]:
        """The rendered text of each source for the file `name`."""
        if self.source and self.sources:
            raise StateFailed("source and sources are mutually exclusive")
        every = self.sources or ([self.source] if self.source else [])
        sums = [self.source_hash] * len(every) if self.source_hashes is None else self.source_hashes
        if every and len(sums) not in (0, len(every)):
            raise StateFailed(f"source_hashes has {len(sums)} entries, and there are {len(every)} sources")
        rendered = _template(self.template, self.context, self.defaults, {"name": name})
        found = [
            of_source(machine, one, self.saltenv, rendered, sums[index] if sums else None)
            for index, one in enumerate(every)
        ]
        return [data.decode("utf-8", "surrogateescape") for data in found]


def append(
    machine: Reader,
    name: str,
    *,
    text: LinesOfText = (),
    makedirs: bool = False,
    from_sources: TextSources,
    ignore_whitespace: bool = True,
    show_changes: bool = True,
) -> Plan:
    """Each text that the file does not hold is put at its end; a file that is not there is made."""
    chunks = from_sources.texts(machine, name) or list(text)

    def put(have: str) -> tuple[str, int]:
        lines = _lines_of(chunk for chunk in chunks if not _holds(have, chunk, ignore_whitespace=ignore_whitespace))
        end = "\n" if lines and have and not have.endswith("\n") else ""
        return f"{have}{end}{_joined(lines)}", len(lines)

    return _put_in(machine, name, "append", put if chunks else None, makedirs=makedirs, show_changes=show_changes)


def prepend(
    machine: Reader,
    name: str,
    *,
    text: LinesOfText = (),
    makedirs: bool = False,
    from_sources: TextSources,
    header: bool = False,
    show_changes: bool = True,
) -> Plan:
    """Each text that the file does not hold is put at its beginning; with `header` all must stand right there."""
    chunks = from_sources.texts(machine, name) or list(text)

    def put(have: str) -> tuple[str, int]:
        lines = _lines_of(chunk for chunk in chunks if header or not _holds(have, chunk, ignore_whitespace=True))
        if header and have.splitlines()[: len(lines)] == lines:
            lines = []
        return f"{_joined(lines)}{have}", len(lines)

    return _put_in(machine, name, "prepend", put if chunks else None, makedirs=makedirs, show_changes=show_changes)


def _put_in(
    machine: Reader,
    name: str,
    what: str,
    put: Callable[[str], tuple[str, int]] | None,
    *,
    makedirs: bool,
    show_changes: bool,
) -> Plan:
    """The plan; `put` makes the new text of the old, and says how many lines came. None: there is no text for it."""
    file = opened(machine, name, what, create=True)
    if file.found is None and not makedirs and missing_parents(machine, file.path):
        raise StateFailed(f"Directory not present to touch file {name}")
    if put is None:
        raise StateFailed(f"No text found to {what}. Nothing {what}ed")
    new, count = put(file.text)
    words = Words(
        good=f"File {name} is in correct state",
        pending=f"File {name} is set to be updated",
        done=f"{what.capitalize()}ed {count} lines",
    )
    return edited(file, encoded(new), words, show_changes=show_changes, makedirs=makedirs)


def _lines_of(chunks: Iterable[str]) -> list[str]:
    return [line for chunk in chunks for line in chunk.splitlines()]


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _holds(text: str, chunk: str, *, ignore_whitespace: bool) -> bool:
    if not ignore_whitespace:
        return re.search(rf"^{re.escape(chunk.rstrip(chr(10)))}$", text, re.MULTILINE) is not None
    lines = (r"\s*".join(re.escape(word) for word in line.split()) for line in chunk.splitlines())
    pattern = r"\s*".join(lines)
    return TimedRegex(rf"^\s*{pattern}\s*$", re.MULTILINE).search(text) is not None
