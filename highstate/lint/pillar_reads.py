"""Pillar keys that a template reads and cannot do without, found in its Jinja syntax tree. Called by `texts`.

`pillar['a']`, `pillar.a.b` and `salt['pillar.get']('a')` are such reads, unless a default stands at hand (`| default`,
`or`, a second argument) or a condition around them asks whether the key is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import nodes

_METHODS = frozenset(("get", "items", "keys", "values", "copy", "pop", "update", "setdefault"))
_ASKING = frozenset(("defined", "undefined"))

Guards = frozenset[str]
"""First keys that are known to be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PillarRead:
    """One read without a default."""

    path: tuple[str, ...]
    line: int
    how: str
    """`key` fails when the key is not there; `get` gives an empty string."""


def pillar_reads(template: nodes.Template) -> Iterator[PillarRead]:
    """The reads of a parsed template, in the order of the text."""
    yield from _visit(template, frozenset())


def _visit(node: nodes.Node, known: Guards) -> Iterator[PillarRead]:
    match node:
        case nodes.If():
            yield from _condition(node.test, known)
            yield from _visit_all(node.body, known | _there(node.test))
            otherwise = known | _there_if_not(node.test)
            yield from _visit_all([*node.elif_, *node.else_], otherwise)
        case nodes.CondExpr():
            yield from _condition(node.test, known)
            yield from _visit(node.expr1, known | _there(node.test))
            if node.expr2 is not None:
                yield from _visit(node.expr2, known | _there_if_not(node.test))
        case nodes.And():
            yield from _condition(node.left, known)
            yield from _visit(node.right, known | _there(node.left))
        case nodes.Or():
            yield from _condition(node.left, known)
            yield from _visit(node.right, known | _there_if_not(node.left))
        case nodes.Filter(name="default" | "d"):
            yield from _below(node.node, known)
            yield from _visit_all([*node.args, *node.kwargs], known)
        case nodes.Test() if node.name in _ASKING:
            yield from _below(node.node, known)
        case nodes.Getattr() | nodes.Getitem() if _path(node):
            yield from _read(node, known)
        case nodes.Call() if _asked(node):
            yield from _asks(node, known)
        case _:
            yield from _visit_all(list(node.iter_child_nodes()), known)


def _visit_all(found: list[nodes.Node] | list[nodes.Expr], known: Guards) -> Iterator[PillarRead]:
    for node in found:
        yield from _visit(node, known)


def _condition(test: nodes.Node, known: Guards) -> Iterator[PillarRead]:
    """A test may ask for a key that is not there through `pillar.get`: nothing is as good as false."""
    if not (isinstance(test, nodes.Call) and _asked(test)):
        yield from _visit(test, known)


def _below(node: nodes.Node | None, known: Guards) -> Iterator[PillarRead]:
    """What is under a default or `is defined`: the last key of the chain may be missing, those before it may not."""
    if isinstance(node, nodes.Getattr | nodes.Getitem) and len(_path(node)) > 1:
        yield from _visit(node.node, known)
    elif node is not None and not _path(node):
        yield from _visit(node, known)


def _read(node: nodes.Getattr | nodes.Getitem, known: Guards) -> Iterator[PillarRead]:
    path = _path(node)
    if path[-1] in _METHODS:
        path = path[:-1]
    if path and path[0] not in known:
        yield PillarRead(path=path, line=node.lineno, how="key")


def _asks(node: nodes.Call, known: Guards) -> Iterator[PillarRead]:
    key = _asked(node)
    has_default = len(node.args) > 1 or any(one.key == "default" for one in node.kwargs)
    path = tuple(key.split(":"))
    if not has_default and path[0] not in known:
        yield PillarRead(path=path, line=node.lineno, how="get")
    yield from _visit_all([*node.args[1:], *node.kwargs], known)


def _path(node: nodes.Node | None) -> tuple[str, ...]:
    """Keys of `pillar.a['b']`; empty for anything else, and where a key is computed."""
    if isinstance(node, nodes.Getattr | nodes.Getitem):
        key = node.attr if isinstance(node, nodes.Getattr) else node.arg
        if isinstance(key, nodes.Const):
            key = str(key.value)
        above = _path(node.node)
        is_root = isinstance(node.node, nodes.Name) and node.node.name == "pillar"
        if isinstance(key, str) and (above or is_root):
            return (*above, key)
    return ()


def _asked(node: nodes.Call) -> str:
    """The key of `salt['pillar.get']('a:b')` or `salt.pillar.get('a:b')`; empty for any other call."""
    if not node.args or not isinstance(node.args[0], nodes.Const) or not isinstance(node.args[0].value, str):
        return ""
    return node.args[0].value if _name_of(node.node) == "salt.pillar.get" else ""


def _name_of(node: nodes.Node) -> str:
    match node:
        case nodes.Name():
            return node.name
        case nodes.Getattr():
            return f"{_name_of(node.node)}.{node.attr}"
        case nodes.Getitem() if isinstance(node.arg, nodes.Const):
            return f"{_name_of(node.node)}.{node.arg.value}"
        case _:
            return "?"


def _there(test: nodes.Node | None) -> Guards:
    """First keys that are there when a test is true."""
    match test:
        case nodes.And():
            return _there(test.left) | _there(test.right)
        case nodes.Not():
            return _there_if_not(test.node)
        case nodes.Test(name="defined") if test.node is not None:
            return frozenset(_path(test.node)[:1])
        case nodes.Compare() if test.ops and test.ops[0].op == "in":
            return _member(test)
        case nodes.Call():
            if key := _asked(test):
                return frozenset((key.split(":")[0],))
            if _name_of(test.node) == "pillar.get" and test.args and isinstance(test.args[0], nodes.Const):
                return frozenset((str(test.args[0].value),))
            return frozenset()
        case nodes.Getattr() | nodes.Getitem():
            return frozenset(_path(test)[:1])
        case _:
            return frozenset()


def _there_if_not(test: nodes.Node | None) -> Guards:
    """First keys that are there when a test is false."""
    match test:
        case nodes.Or():
            return _there_if_not(test.left) | _there_if_not(test.right)
        case nodes.Not():
            return _there(test.node)
        case nodes.Test(name="undefined") if test.node is not None:
            return frozenset(_path(test.node)[:1])
        case nodes.Compare() if test.ops and test.ops[0].op == "notin":
            return _member(test)
        case _:
            return frozenset()


def _member(test: nodes.Compare) -> Guards:
    target = test.ops[0].expr
    is_pillar = isinstance(target, nodes.Name) and target.name == "pillar"
    if not isinstance(test.expr, nodes.Const):
        return frozenset()
    return frozenset((str(test.expr.value),)) if is_pillar else frozenset(_path(target)[:1])
