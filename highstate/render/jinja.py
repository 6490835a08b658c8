"""Jinja as Salt sets it up: one sandboxed environment for each set of options, templates compiled once per blob.

Each render works in a light fork of the environment with its own globals and loader, because Salt keeps
`salt`, `grains`, `tpldir`, ... as environment globals that imported files see without `with context`.
Called by `pipeline` alone; knows nothing of YAML documents and SLS names.
"""

from __future__ import annotations

import json
import marshal
import posixpath
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from types import CodeType
from typing import Any, Protocol

import jinja2
from cachetools import LRUCache
from jinja2.runtime import new_context
from jinja2.utils import missing

from highstate.memo.blank_recorder import BlankRecorder
from highstate.memo.sources import digest_value
from highstate.memo.tracked import Recorder
from highstate.render.blank_sandbox import BlankEnvironment
from highstate.render.filters.text import FILTERS, GLOBALS, TESTS
from highstate.render.sandbox import Environment, EnvironmentOptions
from highstate.render.serial import Printable
from highstate.render.source_map import CodeLines, TemplateText, collect
from highstate.render.tags import SerializerTags
from highstate.render.template_limits import BOUNDED_FILTERS
from highstate.render.undefined import CAREFUL_FILTERS, CAREFUL_TESTS, Missing
from highstate.types import Value

_CODE_CACHE_SIZE = 8192
_OPTION_NAMES = """
    block_start_string block_end_string variable_start_string variable_end_string comment_start_string
    comment_end_string line_statement_prefix line_comment_prefix trim_blocks lstrip_blocks newline_sequence
    keep_trailing_newline
"""
_OPTIONS = frozenset(_OPTION_NAMES.split())
_LENIENT = "lenient"
_WITH_BLANKS = ("with blanks", True)


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A template's code, and what is needed to place its output."""

    code: CodeType
    newline: bool
    """Whether its source ends with one, which Jinja takes away."""
    code_lines: CodeLines = field(default_factory=CodeLines)


class CodeStore(Protocol):
    """Code of templates that other processes have made; keys are digests of all that it was made of."""

    def get(self, key: bytes) -> bytes:
        """The code, as `marshal` packs it; empty where it is not known."""

    def put(self, key: bytes, code: bytes) -> None:
        """Keep a code for others."""


_environments: dict[EnvironmentOptions, Environment] = {}
_codes: LRUCache[tuple[str, str, EnvironmentOptions], CompiledTemplate] = LRUCache(_CODE_CACHE_SIZE)
_lock = Lock()
_code_stores: list[CodeStore] = []
"""None, or the one of this process."""


def share_codes(store: CodeStore) -> None:
    """From here on, this process takes code of templates from a store of trusted code, and puts there what it makes."""
    _code_stores[:] = [store]


def environment_options(
    settings: Mapping[str, Value], source: str, *, lenient: bool = False
) -> tuple[EnvironmentOptions, str]:
    """The Jinja options for a template, and its source without the `#jinja2: {...}` line that may set some.

    `lenient`: what is undefined writes nothing, in place of an error (Salt's option `allow_undefined`).
    """
    chosen = {key.lower(): value for key, value in settings.items() if key.lower() in _OPTIONS}
    lines = source.splitlines(keepends=True) if source.startswith("#") else []
    at = 1 if lines and lines[0].startswith("#!") and not lines[0].startswith("#!/") else 0
    if at < len(lines) and lines[at].startswith("#jinja2:"):
        try:
            header = json.loads(lines[at].removeprefix("#jinja2:"))
        except ValueError:
            header = None
        if isinstance(header, dict):
            chosen.update({key.lower(): value for key, value in header.items() if key.lower() in _OPTIONS})
            # A comment over the line's newline takes its place: it writes nothing, and what follows keeps its number.
            opening, closing = chosen.get("comment_start_string", "{#"), chosen.get("comment_end_string", "#}")
            source = "".join([*lines[:at], f"{opening}\n{closing}", *lines[at + 1 :]])
    if lenient:
        chosen[_LENIENT] = True
    return tuple(sorted(chosen.items())), source


def environment(options: EnvironmentOptions) -> Environment:
    """The environment with these options."""
    with _lock:
        found = _environments.get(options)
        if found is None:
            found = _environments[options] = _make(options)
        return found


def _make(options: EnvironmentOptions) -> Environment:
    given = dict(options)
    kind = BlankEnvironment if given.pop(_WITH_BLANKS[0], False) else Environment
    made = kind(
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", SerializerTags],
        undefined=jinja2.Undefined if given.pop(_LENIENT, False) else Missing,
        finalize=Printable.of,
        auto_reload=False,
        cache_size=0,
        **given,
    )
    made.filters.update({**FILTERS, **BOUNDED_FILTERS, **CAREFUL_FILTERS})
    made.tests.update({**TESTS, **CAREFUL_TESTS})
    made.globals.update(GLOBALS)
    made.globals.pop("lipsum", None)  # it writes random text
    made.options = options
    return made


def prepared(
    options: EnvironmentOptions, recorder: Recorder, saltenv: str, variables: Mapping[str, Value]
) -> Environment:
    """The environment of one render."""
    if not isinstance(recorder, BlankRecorder):
        return environment(options).fork(TreeLoader(recorder, saltenv), variables)
    fork = environment((*options, _WITH_BLANKS)).fork(TreeLoader(recorder, saltenv), variables)
    assert isinstance(fork, BlankEnvironment)  # noqa: S101  (by its options)
    return fork.of(recorder)


def words(kind: str) -> Iterable[str]:
    """Names of all filters, or of all tests."""
    made = environment(())
    return made.filters if kind == "filter" else made.tests


def compile_template(base: Environment, oid: str, path: str, source: str) -> CompiledTemplate:
    """The code of a template, compiled once for each blob, path and set of options.

    `oid` is empty where the source is no blob: a step before this one made it, and another text for another minion.
    """
    key = (oid, path, base.options)
    with _lock:
        found = _codes.get(key) if oid else None
    if found is not None:
        return found
    code = _shared_code(base, key, source) if oid and _code_stores else _code(base, path, source)
    made = CompiledTemplate(code, source.endswith("\n"))
    if oid:
        with _lock:
            _codes[key] = made
    return made


def _code(base: Environment, path: str, source: str) -> CodeType:
    return base.compile(source, name=path, filename=path)


def _shared_code(base: Environment, key: tuple[str, str, EnvironmentOptions], source: str) -> CodeType:
    digest, [store] = digest_value(key), _code_stores
    packed = store.get(digest)
    if packed:
        with suppress(EOFError, TypeError, ValueError):
            found = marshal.loads(packed)  # noqa: S302 - from the controller alone
            if isinstance(found, CodeType):
                return found
    code = _code(base, key[1], source)
    store.put(digest, marshal.dumps(code))
    return code


def forget_oldest_templates() -> None:
    """Give up the half of the compiled templates that were not used for longest."""
    with _lock:
        for _ in range((len(_codes) + 1) // 2):
            _codes.popitem()


def without_jinja(source: str, options: EnvironmentOptions) -> TemplateText | None:
    """What a template without a single tag writes: itself. None when it may have one."""
    if options or "{{" in source or "{%" in source or "{#" in source or "\r" in source:
        return None
    body = source.removesuffix("\n")
    count = body.count("\n") + (not body.endswith("\n")) if body else 0
    return TemplateText(source, range(1, count + 1))


def run(compiled: CompiledTemplate, fork: Environment, variables: Mapping[str, Value]) -> TemplateText:
    """Render compiled code in a fork of its environment."""
    template = fork.template_class.from_code(fork, compiled.code, fork.globals, None)
    context = new_context(fork, template.name, template.blocks, dict(variables), False, fork.globals)
    return collect(template, context, compiled.code_lines, newline=compiled.newline and not fork.keep_trailing_newline)


class TreeLoader(jinja2.BaseLoader):
    """Loads imported templates from the tree of one render, and records that it did."""

    has_source_access = False

    def __init__(self, recorder: Recorder, saltenv: str) -> None:
        self._recorder = recorder
        self._saltenv = saltenv

    def load(
        self,
        environment: jinja2.Environment,
        name: str,
        globals: Any = None,  # noqa: A002  (Jinja's name)
    ) -> jinja2.Template:
        """The template `name`: a path from the tree's root, or from `tpldir` when it starts with ./ or ../."""
        path = _resolve(name, str(environment.globals.get("tpldir", ".")))
        oid = self._recorder.oid(path, self._saltenv) if path else None
        if oid is None:
            raise jinja2.TemplateNotFound(name, f"there is no file salt://{path or name} in saltenv {self._saltenv}")
        source = decode(self._recorder.read_file(path, self._saltenv))
        relative = name.startswith(("./", "../"))
        folder = str(environment.globals.get("tpldir")) if relative else posixpath.dirname(path)
        environment.globals.update(
            tplfile=name if relative else path, tpldir=folder or ".", tpldot=folder.replace("/", ".")
        )
        assert isinstance(environment, Environment)  # noqa: S101  (a fork of ours)
        compiled = compile_template(environment, oid, path, source)
        return environment.template_class.from_code(environment, compiled.code, globals or {}, None)


def _resolve(name: str, folder: str) -> str:
    """Path in the tree; empty when it leads out of it."""
    path = posixpath.normpath(posixpath.join(folder, name) if name.startswith(("./", "../")) else name)
    return "" if path.startswith("..") or path.startswith("/") else path


def decode(data: bytes) -> str:
    """Text of a file; UnicodeDecodeError when it is not UTF-8."""
    return data.decode("utf-8-sig")


def template_lines(error: BaseException) -> list[tuple[str, int]]:
    """(template, line) of every template on the way to an error, outermost first."""
    found: list[tuple[str, int]] = []
    if isinstance(error, jinja2.TemplateSyntaxError):
        found.append((error.name or error.filename or "", error.lineno))
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            found.append((template.name or "", template.get_corresponding_lineno(trace.tb_lineno)))
        trace = trace.tb_next
    if isinstance(error, jinja2.TemplateSyntaxError):
        found.append(found.pop(0))
    return found


def names_in_scope(error: BaseException) -> Iterable[str]:
    """Names that were there where the error happened."""
    names: set[str] = set()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__jinja_template__") is not None:
            context = trace.tb_frame.f_locals.get("context")
            if isinstance(context, jinja2.runtime.Context):
                names.update(name for name in context.get_all() if not name.startswith("_"))
            names.update(
                found[1]
                for local, value in trace.tb_frame.f_locals.items()
                if value is not missing and (found := re.fullmatch(r"l_\d+_(\w+)", local))
            )
        trace = trace.tb_next
    return names
