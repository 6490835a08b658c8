"""file.append and file.prepend: lines that a file is to hold at its end or at its beginning.

Behaviour: doc/ref/states/all/salt.states.file. A text that is there already, whatever its white space, is not put in
again.
"""

from __future__ import annotations

import re

from minion.states.file_edit import Opened, Words, as_text, edited, encoded, opened
from minion.states.file_paths import missing_parents
from minion.states.file_sources import Template, of_source, template
from minion.states.plan import Plan, Reader, StateFailed, Value

_template = template


def append(
    machine: Reader,
    name: str,
    *,
    text: Value = None,
    makedirs: bool = False,
    source: Value = None,
    source_hash: Value = None,
    template: Value = "jinja",
    sources: Value = None,
    source_hashes: Value = None,
    defaults: Value = None,
    context: Value = None,
    ignore_whitespace: bool = True,
    show_changes: bool = True,
    saltenv: str = "base",
) -> Plan:
    """Each text that the file does not hold is put at its end; a file that is not there is made."""
    file = _opened(machine, name, "append", makedirs)
    rendered = _template(template, context, defaults, {"name": name})
    chunks = texts(machine, text, source, sources, (source_hash, source_hashes), rendered, saltenv)
    if not chunks:
        raise StateFailed("No text found to append. Nothing appended")
    fresh = [chunk for chunk in chunks if not _holds(file.text, chunk, ignore_whitespace=ignore_whitespace)]
    lines = [line for chunk in fresh for line in chunk.splitlines()]
    base = file.text
    if lines and base and not base.endswith("\n"):
        base += "\n"
    new = base + "".join(f"{line}\n" for line in lines)
    return edited(
        file,
        encoded(new),
        _words(name, f"Appended {len(lines)} lines"),
        show_changes=show_changes,
        makedirs=bool(makedirs),
    )


def prepend(
    machine: Reader,
    name: str,
    *,
    text: Value = None,
    makedirs: bool = False,
    source: Value = None,
    source_hash: Value = None,
    template: Value = "jinja",
    sources: Value = None,
    source_hashes: Value = None,
    defaults: Value = None,
    context: Value = None,
    header: Value = None,
    show_changes: bool = True,
    saltenv: str = "base",
) -> Plan:
    """Each text that the file does not hold is put at its beginning; with `header` all must stand right there."""
    file = _opened(machine, name, "prepend", makedirs)
    rendered = _template(template, context, defaults, {"name": name})
    chunks = texts(machine, text, source, sources, (source_hash, source_hashes), rendered, saltenv)
    if not chunks:
        raise StateFailed("No text found to prepend. Nothing prepended")
    fresh = chunks if header else [chunk for chunk in chunks if not _holds(file.text, chunk, ignore_whitespace=True)]
    lines = [line for chunk in fresh for line in chunk.splitlines()]
    if header and file.text.splitlines()[: len(lines)] == lines:
        lines = []
    new = "".join(f"{line}\n" for line in lines) + file.text
    return edited(
        file,
        encoded(new),
        _words(name, f"Prepended {len(lines)} lines"),
        show_changes=show_changes,
        makedirs=bool(makedirs),
    )


def texts(
    machine: Reader,
    text: Value,
    source: Value,
    sources: Value,
    hashes: tuple[Value, Value],
    rendered: Template,
    saltenv: str,
) -> list[str]:
    """The texts of `sources` when there are any, else of `text`. `hashes`: that of one source, those of all."""
    if source and sources:
        raise StateFailed("source and sources are mutually exclusive")
    urls = list(sources) if isinstance(sources, list) else [sources] if sources else [source] if source else []
    if not urls:
        chunks = text if isinstance(text, list | tuple) else [] if text is None else [text]
        return [as_text(chunk, "text") for chunk in chunks]
    sums = hashes[1] if isinstance(hashes[1], list) else [hashes[0]] * len(urls)
    if len(sums) not in (0, len(urls)):
        raise StateFailed(f"source_hashes has {len(sums)} entries, and there are {len(urls)} sources")
    found = [
        of_source(machine, url, saltenv, rendered, sums[index] if sums else None) for index, url in enumerate(urls)
    ]
    return [data.decode("utf-8", "surrogateescape") for data in found]


def _opened(machine: Reader, name: str, what: str, makedirs: bool) -> Opened:
    file = opened(machine, name, what, create=True)
    if file.found is None and not makedirs and missing_parents(machine, file.path):
        raise StateFailed(f"Directory not present to touch file {name}")
    return file


def _holds(text: str, chunk: str, *, ignore_whitespace: bool) -> bool:
    if not ignore_whitespace:
        return re.search(rf"^{re.escape(chunk.rstrip(chr(10)))}$", text, re.MULTILINE) is not None
    lines = (r"\s*".join(re.escape(word) for word in line.split()) for line in chunk.splitlines())
    pattern = r"\s*".join(lines)
    return re.search(rf"^\s*{pattern}\s*$", text, re.MULTILINE) is not None


def _words(name: str, done: str) -> Words:
    return Words(good=f"File {name} is in correct state", pending=f"File {name} is set to be updated", done=done)
