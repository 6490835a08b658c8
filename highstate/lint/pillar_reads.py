"""Pillar keys that a template reads without a default, found in its Jinja syntax tree. Called by `texts`.

`pillar['a']`, `pillar.a.b` and `salt['pillar.get']('a')` are such reads, unless a default stands at hand (`| default`,
`or`, a second argument) or a condition around them asks whether the key is there. The empty string that `pillar.get`
gives is as good as nothing where it is a condition, or part of one, where a loop goes over it, where it is `merge=`,
and where it is given a name that some condition asks for.
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
    _let_be(template)
    yield from _visit(template, frozenset())


def _let_be(template: nodes.Template) -> None:
    """Take out what needs no default: values of names that a condition asks for, and those of `merge=`."""
    tests = [one.test for one in template.find_all(nodes.If)]
    tests += [one.test for one in template.find_all(nodes.CondExpr)]
    asked_for = {name.name for test in tests for name in _names(test)}
    for one in template.find_all(nodes.Assign):
        if isinstance(one.target, nodes.Name) and one.target.name in asked_for and _is_asked(one.node):
            one.node = nodes.Const(None, lineno=one.lineno)
    for keyword in template.find_all(nodes.Keyword):
        if keyword.key == "merge" and _is_asked(keyword.value):
            keyword.value = nodes.Const(None, lineno=keyword.lineno)


def _names(test: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(test, nodes.Name):
        yield test
    yield from test.find_all(nodes.Name)


def _visit(node: nodes.Node, known: Guards) -> Iterator[PillarRead]:
    match node:
        case nodes.For() if _is_asked(node.iter):
            yield from _visit_all([*node.body, *node.else_], known)
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
        case nodes.And() | nodes.Or():
            yield from _condition(node.left, known)
            yield from _visit(node.right, known | _before_right(node))
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
    match test:
        case nodes.Call() if _asked(test):
            return
        case nodes.And() | nodes.Or():
            yield from _condition(test.left, known)
            yield from _condition(test.right, known | _before_right(test))
        case nodes.Not():
            yield from _condition(test.node, known)
        case nodes.Compare():
            for part in (test.expr, *(operand.expr for operand in test.ops)):
                yield from _condition(part, known)
        case nodes.Test() if test.name not in _ASKING:
            yield from _condition(test.node, known)
        case _:
            yield from _visit(test, known)


def _before_right(node: nodes.And | nodes.Or) -> Guards:
    """What is known where the right side counts."""
    return _there(node.left) if isinstance(node, nodes.And) else _there_if_not(node.left)


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


def _is_asked(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and bool(_asked(node))


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
        case nodes.Compare() | nodes.Test() if _asked_in(test):
            return frozenset((_asked_in(test).split(":")[0],))
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


def _asked_in(test: nodes.Compare | nodes.Test) -> str:
    """The key of `salt['pillar.get']('a') == 1` or `... is mapping`."""
    of = test.expr if isinstance(test, nodes.Compare) else test.node
    return _asked(of) if isinstance(of, nodes.Call) else ""


def _member(test: nodes.Compare) -> Guards:
    target = test.ops[0].expr
    if isinstance(target, nodes.Call) and _asked(target):
        return frozenset((_asked(target).split(":")[0],))
    is_pillar = isinstance(target, nodes.Name) and target.name == "pillar"
    if not isinstance(test.expr, nodes.Const):
        return frozenset()
    return frozenset((str(test.expr.value),)) if is_pillar else frozenset(_path(target)[:1])
