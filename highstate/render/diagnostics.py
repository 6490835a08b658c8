"""Errors of templates, YAML and JSON turned into `Problem`s: the place, the lines around it, and what to do."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jinja2
import yaml

from highstate.functions.call import FunctionFailed
from highstate.memo.tracked import Recorder
from highstate.render import jinja
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.lines import LineMap
from highstate.render.problems import excerpt, near
from highstate.render.undefined import MissingFunction, MissingName
from highstate.types import Pos, Problem, Stage

__all__ = ["excerpt", "json_failed", "template_failed", "toml_failed", "yaml_failed"]

_UNKNOWN = re.compile(r"No (filter|test) named '(\w+)'")
_MISSING_FILE = re.compile(r"there is no file salt://(\S+)")
_NOT_EXPORTED = re.compile(r"the template '([^']+)'.* does not export the requested name '(\w+)'")
_EXPORTS = re.compile(r"\{%[-+]?\s*(?:set|macro|import_\w+ .+ as|import .+ as|load_\w+ as)\s+(\w+(?:\s*,\s*\w+)*)")

ON_THE_MACHINE = (
    "states are compiled on the controller: use a grain or pillar value, or let a state with onlyif/unless ask"
)


def template_failed(error: Exception, path: str, context: RenderContext, recorder: Recorder) -> RenderFailed:
    """A template raised: blame its innermost line, and name the way there."""
    locations = jinja.template_lines(error) or [(path, 0)]
    file, line = locations[-1]
    source = _source(file or path, context, recorder)
    pos = Pos(file=file or path, saltenv=context.saltenv, line=line, template_line=line, stage=Stage.RENDER)
    message, hint, live = _describe(error)
    hint = _near_import(error, message, context, recorder) or hint
    way = [f"{name}:{number}" for name, number in locations[:-1] if (name, number) != (file, line)]
    if way:
        message += f" (on the way from {' and '.join(dict.fromkeys(way))})"
    column = _column(source, line, error)
    problem = Problem(
        message=message, pos=replace(pos, column=column), excerpt=excerpt(source, line, column), hint=hint
    )
    return RenderFailed(problem, live=live)


def _near_import(error: Exception, message: str, context: RenderContext, recorder: Recorder) -> str:
    """What is near the template, or the name of one, that was to be imported and is not there."""
    if isinstance(error, jinja2.TemplateNotFound):
        path = (found[1] if (found := _MISSING_FILE.search(message)) else str(error.name)).lstrip("/")
        kind = path.rpartition(".")[2]
        return near(path, (one for one in recorder.list_files("", context.saltenv) if one.endswith(f".{kind}")))
    if not isinstance(error, MissingName) or not (found := _NOT_EXPORTED.search(message)):
        return ""
    names = {name for names in _EXPORTS.findall(_source(found[1], context, recorder)) for name in names.split(",")}
    return near(found[2], sorted(name.strip() for name in names)) or f"{found[1]} sets no such name"


def _column(source: str, line: int, error: Exception) -> int:
    """Where on the line the name is that the error is about, else where its text begins; 0 when there is no text.

    Jinja knows lines only. A name that stands there more than once is shown at its first place.
    """
    rows = source.splitlines()
    if not 0 < line <= len(rows) or not rows[line - 1].strip():
        return 0
    row = rows[line - 1]
    unknown = _UNKNOWN.search(str(error)) if isinstance(error, jinja2.TemplateSyntaxError) else None
    name = str(error.name) if isinstance(error, MissingFunction | MissingName) else unknown[2] if unknown else ""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", row) if name else None
    return (found.start() if found else len(row) - len(row.lstrip())) + 1


def _source(path: str, context: RenderContext, recorder: Recorder) -> str:
    try:
        return recorder.read_file(path, context.saltenv).decode("utf-8-sig", errors="replace")
    except FileNotFoundError:
        return ""


def _describe(error: Exception) -> tuple[str, str, str]:
    """Message, hint and, where that is the reason, the function of the live machine."""
    match error:
        case MissingFunction():
            if error.live:
                return str(error), ON_THE_MACHINE, error.name
            return str(error), near(error.name, error.known or ()), ""
        case FunctionFailed():
            return str(error), ON_THE_MACHINE if error.live else "", error.live
        case MissingName():
            return str(error), near(error.name, jinja.names_in_scope(error) if error.known is None else error.known), ""
        case jinja2.TemplateNotFound():
            return error.message or f"there is no template {error.name}", "", ""
        case jinja2.TemplateSyntaxError():
            found = _UNKNOWN.search(str(error.message))
            hint = near(found[2], jinja.words(found[1])) if found else ""
            return f"Jinja syntax error: {error.message}", hint, ""
        case jinja2.exceptions.SecurityError():
            return f"refused by the sandbox: {error}", "", ""
        case jinja2.TemplateError():
            return str(error), "", ""
        case UnicodeDecodeError():
            return f"an imported file is not UTF-8: {error}", "", ""
        case RecursionError():
            return "the template calls itself without end", "", ""
        case MemoryError():
            return "the template needs more memory than there is", "", ""
        case KeyError():
            return f"there is no key {error}", "", ""
        case _:
            return f"{type(error).__name__}: {error}", "", ""


def yaml_failed(error: yaml.YAMLError, path: str, saltenv: str, text: str, lines: LineMap) -> RenderFailed:
    """The rendered text is no YAML: show it around the place, with the template's line."""
    line = column = 0
    message = str(error)
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or message
        if mark is not None and error.context_mark is not None and not text[_index(text, mark) :].strip():
            # At the end of the text nothing is to be seen: what began and did not end is.
            mark, message = error.context_mark, f"{message} {error.context}"
        if mark is not None:
            line, column = mark.line + 1, mark.column + 1
    elif isinstance(error, yaml.reader.ReaderError):
        line, column = _place_of_position(text, error.position)
        message = f"{error.reason}: character {error.character!r}"
    return RenderFailed(
        _text_problem(message, path, saltenv, text, lines, line, column, _yaml_hint(message, text, line))
    )


def json_failed(error: Exception, path: str, saltenv: str, text: str, lines: LineMap) -> RenderFailed:
    """The rendered text is no JSON."""
    line = column = 0
    message = str(error)
    if isinstance(error, json.JSONDecodeError):
        line, column, message = error.lineno, error.colno, f"this is not JSON: {error.msg}"
    return RenderFailed(_text_problem(message, path, saltenv, text, lines, line, column, ""))


def toml_failed(error: Exception, path: str, saltenv: str, text: str, lines: LineMap) -> RenderFailed:
    """The rendered text is no TOML; its reader tells places in words only."""
    found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
    line, column = (int(found[1]), int(found[2])) if found else (0, 0)
    message = str(error)[: found.start()].strip() if found else str(error)
    return RenderFailed(_text_problem(message, path, saltenv, text, lines, line, column, ""))


def _text_problem(
    message: str, path: str, saltenv: str, text: str, lines: LineMap, line: int, column: int, hint: str
) -> Problem:
    pos = Pos(
        file=path,
        saltenv=saltenv,
        line=line,
        template_line=lines.template_line(line),
        column=column,
        stage=Stage.YAML,
    )
    return Problem(message=message, pos=pos, excerpt=excerpt(text, line, column, of=pos.template_line), hint=hint)


def _index(text: str, mark: yaml.Mark) -> int:
    """Where a mark is in the text."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: mark.line])) + mark.column


def _place_of_position(text: str, position: int) -> tuple[int, int]:
    before = text.encode()[:position].decode(errors="replace")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _yaml_hint(message: str, text: str, line: int) -> str:
    all_lines = text.splitlines()
    shown = all_lines[line - 1] if 0 < line <= len(all_lines) else ""
    if "\t" in shown and "token" in message:
        return "YAML is indented with spaces; there is a tab in this line"
    if "found conflicting ID" in message:
        return "give each ID once; to run several functions under one ID, use different state modules"
    if "mapping values are not allowed" in message:
        return "quote a value that contains ': ', and check the indentation"
    if "while scanning a quoted scalar" in message:
        return "the quotation mark that opens here has no other that closes it"
    if message == "did not find expected key" or "expected <block end>" in message:
        return "this line is not indented like those that it belongs to"
    if "found character that cannot start any token" in message:
        return "quote a value that begins with %, @ or `"
    return ""
