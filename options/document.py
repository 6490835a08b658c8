"""The text of a configuration file as options that know where they stand.

Called by the configurations of the controller and of the minion, which say which file is laid over which.
YAML is imported when there is something to parse: an agent that is idle does not need it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from options.bounded_files import CONFIG_BYTES, FileRefused, read_bounded

if TYPE_CHECKING:
    import yaml

Inside: TypeAlias = tuple[str | int, ...]
"""Keys and indexes that lead from the value of an option to a value in it."""


# Named tuples are made in a tenth of the time of dataclasses: `saltern call` loads this module each time.
class Fault(NamedTuple):
    """One thing that is wrong with a configuration."""

    place: str
    """`file:line`; empty: of no single place."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text}; {self.hint}" if self.hint else text


class UnreadableDocument(Exception):
    """A text that holds no options; `fault` says where and why."""

    def __init__(self, place: str, message: str, hint: str = "") -> None:
        self.fault = Fault(place, message, hint)
        super().__init__(str(self.fault))


class Option(NamedTuple):
    """What an option was set to, and where."""

    value: Any
    place: str
    """`file:line` of its name."""
    inner: Mapping[Inside, str] = MappingProxyType({})
    """Places of the values in it."""

    def at(self, inside: Sequence[str | int] = ()) -> str:
        """The place of a value in it, or of what is known around that."""
        for length in range(len(inside), 0, -1):
            if (place := self.inner.get(tuple(inside[:length]))) is not None:
                return place
        return self.place


_MOST_VALUES = 1_000_000
"""Values of a file, each counted as often as an alias refers to it."""
_NO_YAML = "mend the line, or the one before it: quote texts with `: `, `#`, `{` or `%`, and indent with spaces"


def read_document(path: Path) -> dict[str, Option]:
    """The options of a file, which may be anything. UnreadableDocument when it holds none."""
    return parse_document(read_config_text(path), str(path))


def read_config_text(path: Path, place: str = "") -> str:
    """The text of a file of a configuration, or of one that an option names which stands at `place`.

    UnreadableDocument when it is no regular file, is too large or is no text.
    """
    try:
        return read_bounded(path, CONFIG_BYTES, follow=True).decode()
    except FileRefused as refused:
        said = str(refused) if place else str(refused).removeprefix(f"{path} ")
        raise UnreadableDocument(place or str(path), said) from None
    except UnicodeDecodeError as error:
        raise UnreadableDocument(str(path), f"is not UTF-8: {error}", "save it as UTF-8") from None


def parse_document(text: str, name: str) -> dict[str, Option]:
    """The options of a text; `name` is that of its file. UnreadableDocument when it holds none."""
    with _document(text, name) as (loader, node):
        return {} if node is None else _options(name, loader, node)


def parse_value(text: str, name: str, place: str) -> Option:
    """A text that holds one value of any kind, as that of an option that stands at `place`.

    UnreadableDocument when it is no YAML.
    """
    with _document(text, name) as (loader, node):
        if node is None:
            return Option(None, place)
        inner = {inside: _place(name, each) for inside, each in _nodes(node, (), set())}
        return Option(loader.construct_object(node, deep=True), place, inner)


@contextlib.contextmanager
def _document(text: str, name: str) -> Iterator[tuple[Any, yaml.Node | None]]:
    """A loader and the node of the whole text; what the body does with them may fail as the text may."""
    import yaml

    from options.yaml_bounds import refuse_depth, refuse_unfolding

    make_loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        refuse_depth(text)
        loader = make_loader(text)
        try:
            node = loader.get_single_node()
            if node is not None and "*" in text:
                refuse_unfolding(node, _MOST_VALUES)
            yield loader, node
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place, at = (f"{name}:{mark.line + 1}", f" (column {mark.column + 1})") if mark else (name, "")
        hint = "" if isinstance(error, yaml.constructor.ConstructorError) else _NO_YAML
        raise UnreadableDocument(place, f"is no YAML: {error.problem}{at}", hint) from error
    except RecursionError as error:
        raise UnreadableDocument(name, "is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableDocument(name, f"is no YAML: {error}", _NO_YAML) from error


def merge_options(old: Option, new: Option, *, join_lists: bool = False) -> Option:
    """One option of two files: mappings are merged key by key; of anything else the newer counts.

    Args:
        old: of the earlier file.
        new: of the later file, whose place is taken.
        join_lists: append what a list of the later file has more, as Salt does among the files of `minion.d`.
    """
    return Option(_merged(old.value, new.value, join_lists), new.place, {**old.inner, **new.inner})


def _options(name: str, loader: Any, node: yaml.Node) -> dict[str, Option]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        if isinstance(node, yaml.ScalarNode) and not node.value:
            return {}
        raise UnreadableDocument(_place(name, node), "must hold `option: value` lines")
    found: dict[str, Option] = {}
    for key_node, value_node in node.value:
        place = _place(name, key_node)
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise UnreadableDocument(place, f"{key!r} is no name of an option")
        if key in found:
            raise UnreadableDocument(place, f"{key} stands here again, after {found[key].place}")
        inner = {inside: _place(name, each) for inside, each in _nodes(value_node, (), set())}
        found[key] = Option(loader.construct_object(value_node, deep=True), place, inner)
    return found


def _nodes(node: yaml.Node, inside: Inside, seen: set[int]) -> Iterator[tuple[Inside, yaml.Node]]:
    """The nodes below one, each once however often it is referred to."""
    import yaml

    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield (*inside, key.value), key
                yield from _nodes(value, (*inside, key.value), seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*inside, index), value
            yield from _nodes(value, (*inside, index), seen)


def _place(name: str, node: yaml.Node) -> str:
    return f"{name}:{node.start_mark.line + 1}"


def _merged(old: Any, new: Any, join_lists: bool) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        both = {key: _merged(old[key], value, join_lists) if key in old else value for key, value in new.items()}
        return {**old, **both}
    if join_lists and isinstance(old, list) and isinstance(new, list):
        return old + [one for one in new if one not in old]
    return new
