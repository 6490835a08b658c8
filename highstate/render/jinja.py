"""Jinja as Salt sets it up: one sandboxed environment for each set of options, templates compiled once per blob.

Each render works in a light fork of the environment with its own globals and loader, because Salt keeps
`salt`, `grains`, `tpldir`, ... as environment globals that imported files see without `with context`.
Called by `pipeline` alone; knows nothing of YAML documents and SLS names.
"""

from __future__ import annotations

import bisect
import json
import posixpath
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from types import CodeType
from typing import Any, TypeAlias

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import new_context
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import missing

from highstate.render.bounds import BOUNDED_FILTERS, MAX_PRODUCT, MAX_STEPS, TooMuch, check_call, check_operator
from highstate.render.filters import FILTERS, GLOBALS, TESTS
from highstate.render.serial import Printable
from highstate.render.tags import SerializerTags
from highstate.render.undefined import Missing
from highstate.tracked import Recorder
from highstate.types import Value

MAX_OUTPUT = 32 * 1024 * 1024
"""Characters that one template may write."""
Options: TypeAlias = tuple[tuple[str, Any], ...]
"""Environment options that differ from Jinja's own, sorted."""

_CODE_CACHE_SIZE = 8192
_OPTION_NAMES = """
    block_start_string block_end_string variable_start_string variable_end_string comment_start_string
    comment_end_string line_statement_prefix line_comment_prefix trim_blocks lstrip_blocks newline_sequence
    keep_trailing_newline
"""
_OPTIONS = frozenset(_OPTION_NAMES.split())
_LENIENT = "lenient"


class _LineExact(CodeGenerator):
    """Writes each piece of output as a statement of its own, so that each keeps its line."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        """A loop, whose turns are counted. A recursive one is left: its depth is what bounds it."""
        if not node.recursive:
            counted = nodes.EnvironmentAttribute("counted")
            node.iter = nodes.Call(counted, [node.iter], [], None, None).set_lineno(node.iter.lineno)
        super().visit_For(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        """`~`, through a method that bounds it: text joined to itself in a loop doubles each time."""
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Environment(SandboxedEnvironment):
    """Salt's sandbox, with bounds on what `*`, `**`, `+` and `~` may make."""

    options: Options = ()
    steps: int = 0
    """Turns of loops and calls that this render has done."""
    code_generator_class = _LineExact
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """`*`, `**`, `+` and `%`, refused where the outcome would be huge."""
        check_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: jinja2.runtime.Context, function: Any, /, *arguments: Any, **named: Any) -> Any:
        """A call, counted, and refused where its outcome would be huge."""
        self.count()
        check_call(function, arguments, named)
        return super().call(context, function, *arguments, **named)

    def count(self) -> None:
        """One step more."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooMuch(f"the template takes more than {MAX_STEPS} steps")

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop, each of which counts as a step."""
        for item in items:
            self.count()
            yield item

    def joined(self, parts: tuple[Any, ...]) -> str:
        """What `~` makes of its parts."""
        texts = [str(part) for part in parts]
        if sum(map(len, texts)) > MAX_PRODUCT:
            raise TooMuch(f"joining text with ~ makes more than {MAX_PRODUCT} characters")
        return "".join(texts)

    def fork(self, recorder: Recorder, saltenv: str, variables: Mapping[str, Value]) -> Environment:
        """An environment for one render, which shares all but globals, loader and loaded templates."""
        fork = object.__new__(type(self))
        fork.__dict__.update(self.__dict__)
        fork.globals = {**self.globals, **variables}
        fork.cache = {}
        fork.steps = 0
        fork.loader = _TreeLoader(recorder, saltenv)
        return fork


@dataclass(frozen=True, slots=True)
class Compiled:
    """A template's code, and where its pieces come from."""

    code: CodeType
    source: str


@dataclass(frozen=True, slots=True)
class Text:
    """What a template wrote, with the template's line for each line of it."""

    text: str
    lines: tuple[int, ...]


_environments: dict[Options, Environment] = {}
_codes: OrderedDict[tuple[str, str, Options], Compiled] = OrderedDict()
_lock = Lock()


def environment_options(settings: Mapping[str, Value], source: str, *, lenient: bool = False) -> tuple[Options, str]:
    """The Jinja options for a template, and its source without the `#jinja2: {...}` line that may set some.

    `lenient`: what is undefined writes nothing, in place of an error (Salt's option `allow_undefined`).
    """
    chosen = {key.lower(): value for key, value in settings.items() if key.lower() in _OPTIONS}
    lines = source.splitlines(keepends=True)
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


def environment(options: Options) -> Environment:
    """The environment with these options."""
    with _lock:
        found = _environments.get(options)
        if found is None:
            found = _environments[options] = _make(options)
        return found


def _make(options: Options) -> Environment:
    given = dict(options)
    made = Environment(
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", SerializerTags],
        undefined=jinja2.Undefined if given.pop(_LENIENT, False) else Missing,
        finalize=Printable.of,
        auto_reload=False,
        cache_size=0,
        **given,
    )
    made.filters.update({**FILTERS, **BOUNDED_FILTERS})
    made.tests.update(TESTS)
    made.globals.update(GLOBALS)
    made.globals.pop("lipsum", None)  # it writes random text
    made.options = options
    return made


def compile_template(base: Environment, oid: str, path: str, source: str) -> Compiled:
    """The code of a template, compiled once for each blob, path and set of options."""
    key = (oid, path, base.options)
    with _lock:
        found = _codes.get(key)
        if found is not None:
            _codes.move_to_end(key)
            return found
    made = Compiled(base.compile(source, name=path, filename=path), source)
    with _lock:
        _codes[key] = made
        while len(_codes) > _CODE_CACHE_SIZE:
            _codes.popitem(last=False)
    return made


def without_jinja(source: str, options: Options) -> Text | None:
    """What a template without a single tag writes: itself. None when it may have one."""
    if options or "{{" in source or "{%" in source or "{#" in source or "\r" in source:
        return None
    body = source.removesuffix("\n")
    count = body.count("\n") + (not body.endswith("\n")) if body else 0
    return Text(source, tuple(range(1, count + 1)))


def run(compiled: Compiled, fork: Environment, variables: Mapping[str, Value]) -> Text:
    """Render compiled code in a fork of its environment."""
    template = fork.template_class.from_code(fork, compiled.code, fork.make_globals(None), None)
    context = new_context(fork, template.name, template.blocks, dict(variables), False, template.globals)
    return _collect(template, context, compiled.source.endswith("\n") and not fork.keep_trailing_newline)


def _collect(template: jinja2.Template, context: jinja2.runtime.Context, newline: bool) -> Text:
    """Gather the output and, from the generator's own position, the template line of each line of it."""
    debug = template.debug_info
    code_lines = [code_line for _, code_line in debug]
    # Text of the template itself stands among the function's constants; anything else is an expression's value.
    literal = {id(one) for one in template.root_render_func.__code__.co_consts}
    parts: list[str] = []
    lines: list[int] = []
    size, at_start = 0, True
    generator: Any = template.root_render_func(context)
    for part in generator:
        if not part:
            continue
        size += len(part)
        if size > MAX_OUTPUT:
            raise TooMuch(f"the template writes more than {MAX_OUTPUT} characters")
        parts.append(part)
        at = bisect.bisect_right(code_lines, generator.gi_frame.f_lineno) - 1
        line = debug[at][0] if at >= 0 else 0
        breaks = part.count("\n")
        if at_start:
            lines.append(line)
        step = 1 if id(part) in literal else 0
        lines.extend(line + step * number for number in range(1, breaks + 1))
        if part.endswith("\n"):
            lines.pop()
            at_start = True
        else:
            at_start = False
    if newline:
        parts.append("\n")
    return Text("".join(parts), tuple(lines))


class _TreeLoader(jinja2.BaseLoader):
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


def places(error: BaseException) -> list[tuple[str, int]]:
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
