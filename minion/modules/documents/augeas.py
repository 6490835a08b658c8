"""The execution module `augeas`: values of files, by the trees that lenses make of them.

Behaviour: doc/ref/modules/all/salt.modules.augeas_cfg. Paths into one file have that file read alone; others, such as
`/files/etc/*`, all files that there are lenses for, by libaugeas itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from minion.arguments.types import ListOfTexts
from minion.execution.context import Context
from minion.execution.errors import BadArguments
from minion.machine.failure import StateFailed
from minion.providers.augeas.commands import parsed
from minion.providers.augeas.paths import path_of
from minion.providers.augeas.trees import AugeasTrees, value_of, whole_tree
from minion.states.file.paths import behind

Values = Callable[[str], dict[str, str | None]]


def execute(
    minion: Context, context: str | None = None, lens: str | None = None, commands: ListOfTexts = (),
    load_path: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Carry out commands on files, and write them; paths are below `context`, where it is given."""
    trees = _trees(minion, load_path, lens)
    try:
        if context is not None:
            trees.load(trees.file_of(context, new=True) or path_of(context))
        for one in commands:
            trees.perform(parsed(one).within(context))
        return _written(minion, trees)
    except StateFailed as error:
        return {"retval": False, "error": str(error)}


def get(context: Context, path: str, value: str = "", load_path: str | None = None) -> dict[str, str | None]:
    """The value of a node, or of one below it; empty where there is none."""
    path = path.rstrip("/") + (f"/{value.strip('/')}" if value else "")
    found = _values(context, path, load_path)(path)
    if len(found) > 1:
        raise StateFailed(f"Too many matches for path expression: {path}")
    return {path: next(iter(found.values()), "")}


def ls(context: Context, path: str, load_path: str | None = None) -> dict[str, str | None]:
    """The children of a node; names of those that have some of their own end with a slash."""
    above = f"{path.rstrip('/')}/"
    values = _values(context, above, load_path)
    return {
        node.removeprefix(above) + ("/" if values(f"{node}/*") else ""): value
        for node, value in values(f"{above}*").items()
    }


def match(context: Context, path: str, value: str = "", load_path: str | None = None) -> dict[str, str | None]:
    """The nodes that a path leads to; those with this value, where one is given."""
    found = _values(context, path, load_path)(path)
    return {node: one for node, one in found.items() if not value or one == value}


def remove(context: Context, path: str, load_path: str | None = None) -> dict[str, Any]:
    """Remove nodes of a file, and write it; how many there were."""
    trees = _trees(context, load_path)
    try:
        count = trees.remove(path)
        return {**_written(context, trees), "count": count}
    except StateFailed as error:
        return {"retval": False, "error": str(error), "count": -1}


def setvalue(context: Context, *args: Any) -> dict[str, Any]:
    """Set values: a path, its value, the next path … `prefix=/files/etc/hosts` stands before paths."""
    words = [str(one) for one in args]
    prefix, load_path = _option(words, "prefix="), _option(words, "load_path=")
    words = [one for one in words if not one.startswith(("prefix=", "load_path="))]
    if len(words) % 2:
        raise BadArguments("Uneven number of path/value arguments")
    trees = _trees(context, load_path)
    try:
        for path, value in zip(words[::2], words[1::2], strict=True):
            trees.set(f"{prefix.rstrip('/')}/{path.lstrip('/')}" if prefix else path, value)
        return _written(context, trees)
    except StateFailed as error:
        return {"retval": False, "error": str(error)}


def tree(context: Context, path: str, load_path: str | None = None) -> dict[str, str | None]:
    """A node and all that is below it."""
    above = path.rstrip("/*")
    values = _values(context, above, load_path)
    return dict(_below(values, above))


def _below(values: Values, node: str) -> Iterator[tuple[str, str | None]]:
    yield node, next(iter(values(node).values()), None)
    for one in values(f"{node}/*"):
        yield from _below(values, one)


def _option(words: Sequence[str], sign: str) -> str | None:
    found = [one.removeprefix(sign) for one in words if one.startswith(sign)]
    if len(found) > 1:
        raise BadArguments(f"Only one '{sign}' value is permitted")
    return found[0] if found else None


def _trees(context: Context, load_path: str | None, lens: str | None = None) -> AugeasTrees:
    return AugeasTrees(context.machine, behind, lens, (load_path or "").split(":"))


def _values(context: Context, path: str, load_path: str | None) -> Values:
    trees = _trees(context, load_path)
    if trees.file_of(path) is not None:
        return trees.values
    augeas = whole_tree([one for one in (load_path or "").split(":") if one])

    def values(expression: str) -> dict[str, str | None]:
        try:
            return {node: value_of(augeas, node) for node in augeas.match(expression)}
        except RuntimeError as error:
            raise StateFailed(str(error)) from error

    return values


def _written(context: Context, trees: AugeasTrees) -> dict[str, Any]:
    for one in trees.changes():
        one.make(context.machine)
    return {"retval": True}


FUNCTIONS: Mapping[str, Any] = {
    "execute": execute,
    "get": get,
    "ls": ls,
    "match": match,
    "remove": remove,
    "setvalue": setvalue,
    "tree": tree,
}
