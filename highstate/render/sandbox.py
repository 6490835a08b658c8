"""Jinja's environment in Salt's sandbox: what a template may take, counted and bounded, and code that keeps its lines.

Made by `jinja`, one for each set of options; each render works in a fork. What templates do most is answered here at
once, and in exactly Jinja's words: attributes of mappings and loops, plain functions and macros, sums of integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinMethodType, FunctionType
from typing import Any, TypeAlias

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import SandboxedEnvironment

from highstate.memo.tracked import TrackedMapping
from highstate.render.template_limits import LIMITS, TooMuch, check_call, check_operator
from highstate.types import Value

EnvironmentOptions: TypeAlias = tuple[tuple[str, Any], ...]
"""Environment options that differ from Jinja's own, sorted."""

_NAMES = {kind: frozenset(dir(kind)) for kind in (dict, TrackedMapping)}
"""Kinds of mappings -> what is no key of them in `mapping.name`."""
_OF_LOOPS = frozenset(("index", "index0", "first", "last", "length", "revindex", "revindex0", "depth", "depth0"))
_EMPTY: dict[Any, Any] = {}
_FIXED = (tuple, str, range, type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()), dict, list)
"""What loops run over that cannot grow, or only by calls that are counted."""


class LineExact(CodeGenerator):
    """Writes each piece of output as a statement of its own, so that each keeps its line."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        """Pieces of output, one statement each."""
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        """A loop, whose turns are counted. A recursive one is left: its depth is what bounds it."""
        if not node.recursive:
            counted = nodes.EnvironmentAttribute("counted")
            node.iter = nodes.Call(counted, [node.iter], [], None, None).set_lineno(node.iter.lineno)
        super().visit_For(node, frame)

    def visit_Call(self, node: nodes.Call, frame: Frame, *forwarded: Any, **how: Any) -> None:  # noqa: N802
        """A call; of our own ones, without a look at what it is that is called."""
        if isinstance(node.node, nodes.EnvironmentAttribute) and node.node.name == "counted":
            self.write("environment.counted(")
            self.visit(node.args[0], frame)
            self.write(")")
        else:
            super().visit_Call(node, frame, *forwarded, **how)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802  (Jinja's name)
        """`~`, through a method that bounds it: text joined to itself in a loop doubles each time."""
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Environment(SandboxedEnvironment):
    """Salt's sandbox, with bounds on what `*`, `**`, `+` and `~` may make."""

    options: EnvironmentOptions = ()
    steps: int = 0
    """Turns of loops and calls that this render has done."""
    code_generator_class = LineExact
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """`*`, `**`, `+` and `%`, refused where the outcome would be huge."""
        if not (type(left) is int and type(right) is int and operator != "**"):
            check_operator(operator, left, right)
        return self.binop_table[operator](left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`."""
        kind = type(obj)
        if kind is LoopContext and attribute in _OF_LOOPS:
            return getattr(obj, attribute)
        names = _NAMES.get(kind)
        if names is None or attribute.startswith("_"):
            return super().getattr(obj, attribute)
        if attribute in names:
            return getattr(obj, attribute)
        try:
            return obj[attribute]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=attribute)

    def call(self, context: jinja2.runtime.Context, function: Any, /, *arguments: Any, **named: Any) -> Any:
        """A call, counted, and refused where its outcome would be huge."""
        self.count()
        kind = type(function)
        if kind is Macro:
            arguments = (context.eval_ctx, *arguments)
        # A function that has no attributes is not marked in any way: neither as unsafe nor as one that wants a context.
        elif not (
            (kind is FunctionType and not function.__dict__)
            or (kind is BuiltinMethodType and type(function.__self__) is dict)
        ):
            check_call(function, arguments, named)
            owner = function.__self__ if kind is BuiltinMethodType else None
            before = len(owner) if type(owner) is list else 0
            result = super().call(context, function, *arguments, **named)
            if type(owner) is list:
                self.count(max(0, len(owner) - before))  # a loop may be running over it
            return result
        named.pop("_block_vars", None)
        named.pop("_loop_vars", None)
        try:
            return function(*arguments, **named)
        except StopIteration:
            return super().call(context, _stop)

    def count(self, steps: int = 1) -> None:
        """One step more, or several."""
        self.steps += steps
        if self.steps > LIMITS.steps:
            raise TooMuch(f"the template takes more than {LIMITS.steps} steps")

    def counted(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items of a loop, each of which counts as a step."""
        if type(items) in _FIXED:
            self.count(len(items))  # type: ignore[arg-type]  # all of them have a length
            return items
        return self._counted(items)

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.count()
            yield item

    def joined(self, parts: tuple[Any, ...]) -> str:
        """What `~` makes of its parts."""
        texts = [str(part) for part in parts]
        if sum(map(len, texts)) > LIMITS.product:
            raise TooMuch(f"joining text with ~ makes more than {LIMITS.product} characters")
        return "".join(texts)

    def fork(self, loader: jinja2.BaseLoader, variables: Mapping[str, Value]) -> Environment:
        """An environment for one render, which shares all but globals, loader and loaded templates."""
        fork = object.__new__(type(self))
        fork.__dict__.update(self.__dict__)
        fork.globals = {**self.globals, **variables}
        fork.cache = {}
        fork.steps = 0
        fork.loader = loader
        return fork

    def make_globals(self, d: Any) -> Any:
        """The globals of a template of this render: those of the environment, as they are then."""
        return self.globals if d is None else super().make_globals(d)


def _stop() -> None:
    """What Jinja makes of a function that raises this, it knows best."""
    raise StopIteration
