"""Files as written: whether templates parse, and which pillar keys they read without a default. Called by `trees`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import jinja2
from jinja2 import nodes

from highstate.compile import CompileOptions
from highstate.lint.findings import Finding
from highstate.lint.pillar_reads import PillarRead, pillar_reads
from highstate.render import jinja
from highstate.render.problems import excerpt
from highstate.render.steps import shebang
from highstate.types import Value

TEMPLATES = (".sls", ".jinja", ".jinja2", ".j2")
"""Names of files that are templates wherever they are."""


def check_text(
    tree: str, saltenv: str, path: str, text: str, settings: CompileOptions, pillars: Sequence[Mapping[str, Value]]
) -> Iterator[Finding]:
    """Findings about one template. `pillars` are those of all samples: a key that all of them have is there."""
    first = shebang(text) if path.endswith(".sls") else ""
    if first and not first.strip().startswith("jinja"):
        return
    chosen = settings.jinja_sls_env if path.endswith(".sls") else settings.jinja_env
    try:
        options, source = jinja.environment_options(chosen, text)
        parsed: nodes.Template = jinja.environment(options).parse(source)
    except jinja2.TemplateSyntaxError as error:
        yield _broken(tree, saltenv, path, text, error)
        return
    except (RecursionError, ValueError, TypeError) as error:
        message = f"the template cannot be parsed: {error}"
        yield Finding(rule="syntax", message=message, tree=tree, saltenv=saltenv, file=path)
        return
    for read in pillar_reads(parsed):
        if not (pillars and all(_has(pillar, read.path) for pillar in pillars)):
            yield _unsure(tree, saltenv, path, text, read)


def _broken(tree: str, saltenv: str, path: str, text: str, error: jinja2.TemplateSyntaxError) -> Finding:
    rows = text.splitlines()
    row = rows[error.lineno - 1] if 0 < error.lineno <= len(rows) else ""
    column = len(row) - len(row.lstrip()) + 1
    return Finding(
        rule="syntax",
        message=f"Jinja syntax error: {error.message}",
        tree=tree,
        saltenv=saltenv,
        file=path,
        line=error.lineno,
        column=column,
        excerpt=excerpt(text, error.lineno, column),
    )


def _unsure(tree: str, saltenv: str, path: str, text: str, read: PillarRead) -> Finding:
    rows = text.splitlines()
    row = rows[read.line - 1] if 0 < read.line <= len(rows) else ""
    found = re.search(rf"(?<!\w){re.escape(read.path[0])}(?!\w)", row)
    column = (found.start() if found else len(row) - len(row.lstrip())) + 1
    key = ":".join(read.path)
    fails = "the template fails" if read.how == "key" else "an empty string is used"
    return Finding(
        rule="pillar-default",
        message=f"pillar key {key!r} is read without a default: {fails} where it is not there",
        tree=tree,
        saltenv=saltenv,
        file=path,
        line=read.line,
        column=column,
        excerpt=excerpt(text, read.line, column),
        hint=f"write salt['pillar.get']({key!r}, DEFAULT), or give the key to every minion",
    )


def _has(pillar: Mapping[str, Value], path: tuple[str, ...]) -> bool:
    value: Value = pillar
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True
