"""Jinja for a render with blanks: they pass through what only carries text, and nothing else gets to see one.

Functions written in C read the text of a string without asking it, so that the list of what may be given a blank is
short and explicit: printing, joining, macros, collections, and the filters and functions named here. Everything else
is looked through before it is called. Made by `jinja`, in place of `sandbox.Environment`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, ValuesView
from datetime import date
from functools import wraps
from types import BuiltinMethodType, FunctionType, GeneratorType, MethodType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import Frame
from jinja2.environment import TemplateModule
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, Macro, Undefined
from jinja2.utils import Namespace

from highstate.functions.catalog import CARRIES
from highstate.memo.blank_recorder import BlankRecorder
from highstate.memo.blanks import ASKED, Blank, BlankRefused, has_blanks, without_blanks
from highstate.memo.tracked import TrackedMapping
from highstate.render.sandbox import Environment, LineExact

_OF_TEXT = frozenset(["json", "tojson", "yaml_dquote", "yaml_squote", "yaml_encode", "string", "indent", "join"])
"""Filters that write a fillable value as it is, wherever it stands."""
_OF_ITEMS = frozenset(["default", "d", "list", "sort", "first", "last", "length", "count", "dictsort", "items"])
"""Filters that look at values as Python does, which a blank answers or refuses by itself."""
_TESTS = frozenset(["defined", "undefined", "none", "string", "mapping", "number", "integer", "float", "boolean"])
_OWNERS = (dict, list, tuple, set)
_METHODS_OF_TEXT = frozenset(("join",))
_PRINTS = re.compile(r"(?:[^%]|%%|%s)*")
_DEEPEST = 50
_PLAIN = frozenset((str, int, float, bool, type(None), slice, jinja2.Undefined))
_HARMLESS = (bytes, range, date, Undefined, GeneratorType, EvalContext, Context, jinja2.Environment)
"""What cannot hold a blank, or is looked into by nobody; what made a generator was asked before."""
_OF_JINJA = ("_loop_vars", "_block_vars")


def refuse_blanks(value: Any, recorder: BlankRecorder, seen: dict[int, Any], depth: int = 0) -> None:
    """BlankRefused where a value has blanks in it, for those who look into it.

    `seen`: what was gone through by now, by identity: a few lines can put a list into itself twice, again and again.
    """
    kind = type(value)
    if kind is str:
        if has_blanks(value):
            raise BlankRefused
    elif kind in _PLAIN:
        return
    elif kind is Blank:
        raise BlankRefused(value.leaves)
    elif depth > _DEEPEST:
        raise BlankRefused
    elif id(value) in seen:
        return
    elif kind is TrackedMapping:
        _refuse_view(value, recorder)
    elif isinstance(value, Mapping):
        seen[id(value)] = value
        for key, inner in value.items():
            refuse_blanks(key, recorder, seen, depth + 1)
            refuse_blanks(inner, recorder, seen, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset | ItemsView | ValuesView | KeysView):
        seen[id(value)] = value
        for inner in value:
            refuse_blanks(inner, recorder, seen, depth + 1)
    elif isinstance(value, TemplateModule | str):
        if has_blanks(str(value)):
            raise BlankRefused
    elif not isinstance(value, _HARMLESS):
        raise BlankRefused


def _refuse_view(view: TrackedMapping, recorder: BlankRecorder) -> None:
    """A part of grains or pillar, which may hold what a template has put there, too."""
    root, path = view._place()
    if places := recorder.blanks.below.get((root, path)):
        raise BlankRefused((root, (*path, *place)) for place in places)
    if view._changed():
        raise BlankRefused


class _BlankCode(LineExact):
    """Code in which `in` asks the environment: text in C does not ask what it is compared with."""

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        """A comparison."""
        if not any(operand.op in ("in", "notin") for operand in node.ops):
            super().visit_Compare(node, frame)
            return
        if len(node.ops) > 1:  # nobody writes it
            self.write("environment.refused(")
            super().visit_Compare(node, frame)
            self.write(")")
            return
        [operand] = node.ops
        self.write("(" if operand.op == "in" else "(not ")
        self.write("environment.contained(")
        self.visit(node.expr, frame)
        self.write(", ")
        self.visit(operand.expr, frame)
        self.write("))")


class BlankEnvironment(Environment):
    """The sandbox of a render with blanks."""

    code_generator_class = _BlankCode
    recorder: BlankRecorder

    def of(self, recorder: BlankRecorder) -> BlankEnvironment:
        """This fork, for a render."""
        self.recorder = recorder
        self.filters = {name: self._filter(name, function) for name, function in self.filters.items()}
        tests: dict[str, Any] = dict(self.tests)
        self.tests = {name: self._test(name, function) for name, function in tests.items()}
        self.concat = self._joined  # type: ignore[method-assign]
        return self

    def _joined(self, parts: Iterable[str]) -> str:
        made: str = self._carried("".join(parts))
        return made

    def _carried(self, made: Any) -> Any:
        return self.recorder.blanks.text(made) if isinstance(made, str) else made

    def _refuse(self, *values: Any) -> None:
        seen: dict[int, Any] = {}
        for value in values:
            refuse_blanks(value, self.recorder, seen)

    def _filter(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if name in _OF_ITEMS:
            return function

        @wraps(function)
        def guarded(*arguments: Any, **named: Any) -> Any:
            if name in _OF_TEXT:
                # The first may be the evaluation context, which is no data.
                arguments = tuple(map(without_blanks, arguments))
                named = {key: without_blanks(value) for key, value in named.items()}
            else:
                self._refuse(*arguments, *named.values())
            return self._carried(function(*arguments, **named))

        return guarded

    def _test(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if name in _TESTS:
            return function

        @wraps(function)
        def guarded(*arguments: Any, **named: Any) -> Any:
            self._refuse(*arguments, *named.values())
            return function(*arguments, **named)

        return guarded

    def call(self, context: Context, function: Any, /, *arguments: Any, **named: Any) -> Any:
        """A call, of what carries blanks or is given none."""
        if type(function) is FunctionType and CARRIES in function.__dict__:
            given = [value for key, value in named.items() if key not in (*_OF_JINJA, "default")]
            self._refuse(*arguments[:1], *arguments[2:], *given)  # a key, a default, options
        elif not _carries(function):
            given = [value for key, value in named.items() if key not in _OF_JINJA]
            self._refuse(*arguments, *given)
        elif type(function) is BuiltinMethodType and isinstance(function.__self__, str):
            arguments = tuple(map(without_blanks, arguments))
        return self._carried(super().call(context, function, *arguments, **named))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """`+` and `%` carry blanks where they do nothing but join."""
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            left, right = without_blanks(left), without_blanks(right)
        elif operator == "%" and type(left) is str and _PRINTS.fullmatch(left):
            right = without_blanks(right)
        elif not (operator == "+" and isinstance(left, list | tuple) and isinstance(right, list | tuple)):
            self._refuse(left, right)
        return self._carried(super().call_binop(context, operator, left, right))

    def contained(self, item: Any, container: Any) -> Any:
        """`in`."""
        if type(item) is Blank and isinstance(container, str):
            return item.within(container)
        return item in container

    def refused(self, value: Any) -> Any:
        """What is never done with blanks."""
        raise BlankRefused

    def joined(self, parts: tuple[Any, ...]) -> str:
        """What `~` makes of its parts."""
        made: str = self._carried(super().joined(parts))
        return made

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`."""
        if type(obj) is Blank and attribute not in ASKED:
            raise BlankRefused(obj.leaves)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`."""
        if type(argument) is Blank:
            raise BlankRefused(argument.leaves)
        return super().getitem(obj, argument)


def _carries(function: Any) -> bool:
    """Whether a function hands on what it is given, and looks at it as Python does at the most."""
    kind = type(function)
    if kind is Macro or function is dict or function is Namespace:
        return True
    if kind is BuiltinMethodType:
        owner = function.__self__
        if isinstance(owner, str):
            return type(owner) is str and function.__name__ in _METHODS_OF_TEXT
        return type(owner) in _OWNERS
    return kind is MethodType and type(function.__self__) in (Blank, TrackedMapping)
