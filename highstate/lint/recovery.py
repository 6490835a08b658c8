"""What can still be read of an SLS that does not render: its declarations, entry by entry, without its Jinja.

Called by `trees`, so that one mistake does not hide those beside it. Steps: take statements and comments of Jinja out
of the text, put a mark in the place of each expression, cut the text at the lines that begin an entry, and keep the
entries that are YAML. Lines keep their numbers. What comes of it is a guess: both branches of a condition are there,
so only names are to be looked at, and none that has the mark.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import yaml

from highstate.compile import CompileOptions
from highstate.compile.compiler import Compilation
from highstate.compile.high import High
from highstate.files import MemoryFiles
from highstate.render.lines import LineMap
from highstate.render.steps import shebang
from highstate.render.yaml.loader import load_yaml
from highstate.tops.top import TopResult
from highstate.types import Minion, Pos, Value

MARK = "saltern-cannot-know"
"""Stands for what an expression would give."""

_STATEMENT = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_ENTRY = re.compile(r"[^\s#\-]")
_NOT_DECLARED = frozenset(("include", "extend", "exclude"))
_TEXTS = frozenset(("jinja", "yaml"))


def salvaged(text: str, sls: str, path: str, saltenv: str) -> list[High]:
    """High data of each entry that can be read; none where another renderer than Jinja and YAML is named."""
    return [
        _high(entry, sls, path, saltenv) for entry, data, _ in readable_entries(text) if _NOT_DECLARED.isdisjoint(data)
    ]


def readable_entries(text: str) -> Iterator[tuple[str, dict[Value, Value], LineMap]]:
    """(the text with all other lines empty, its data, its lines) of each entry that can be read."""
    for entry in _entries(_without_jinja(text)) if is_text(text) else ():
        try:
            data = load_yaml(entry)
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        if isinstance(data, dict):
            yield entry, data, LineMap(entry, ())


def is_text(text: str) -> bool:
    """Whether a file is rendered from text alone, and by no program in it."""
    return {step.split()[0] for step in shebang(text).split("|") if step.strip()} <= _TEXTS


def _without_jinja(text: str) -> str:
    text = _STATEMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    return _EXPRESSION.sub(lambda found: MARK + "\n" * found[0].count("\n"), text)


def _entries(text: str) -> Iterator[str]:
    """The text again for each of its entries, all other lines empty."""
    rows = text.split("\n")
    starts = [number for number, row in enumerate(rows) if _ENTRY.match(row)]
    for start, end in itertools.pairwise([*starts, len(rows)]):
        entry = "\n".join(rows[start:end])
        if "{%" in entry or "{{" in entry:
            continue
        yield "\n" * start + entry


def _high(text: str, sls: str, path: str, saltenv: str) -> High:
    compilation = Compilation(
        files=MemoryFiles({saltenv: {path: text.encode()}}),
        pillar_files=MemoryFiles({}),
        minion=Minion(id="sample"),
        settings=CompileOptions(),
    )
    location = Pos(file=path, saltenv=saltenv)
    return compilation.high(TopResult(matches={saltenv: (sls,)}, locations={(saltenv, sls): location}), {})
