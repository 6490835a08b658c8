"""YAML read block by block: each top-level key of an SLS once, however many renders print it.

An SLS is mostly a mapping whose entries stand at the left edge. Cut there, the entries are documents of their own, and
most renders of a template (other minions, a later revision) come to the same ones. What cannot be cut safely is
refused with None and read whole by `yaml_loader`, which calls this; errors are found there too. The values that come
out are shared: nobody may change them. No Jinja in here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

import yaml
from yaml.resolver import Resolver

from highstate.types import Value

Lines: TypeAlias = "dict[str, Line] | list[Line] | None"
Line: TypeAlias = "tuple[int, Lines]"
"""Where a key or an item stands in its block (from 0), and what is below it."""

_TAG = "tag:yaml.org,2002:"
_STR, _MAP, _SEQ, _INT = _TAG + "str", _TAG + "map", _TAG + "seq", _TAG + "int"
_SCALARS = frozenset(_TAG + name for name in ("null", "bool", "int", "float"))
_EDGE = re.compile(r"^[^\s#]", re.MULTILINE)
_EMPTY = re.compile(r"(?:[ ]*(?:#.*)?\n)*")
_NEVER_CUT = frozenset("?:%.{[&*|>@`}],\\\ufeff")
"""First characters of lines that may belong to something that is more than one mapping entry."""
_MOST_BLOCKS = 20_000
_LONGEST = 65_536
_MOST_TEXTS = 50_000


class _NotPlain(Exception):
    """A document of more than mappings, lists and plain scalars; or a wrong one."""


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level entry."""

    key: Value
    value: Value
    written: str
    """The key as text."""
    place: Line


@dataclass(frozen=True, slots=True)
class Blocks:
    """A document: its entries, and where each is."""

    blocks: tuple[Block, ...]
    places: Mapping[str, tuple[int, Line]]
    """Key as it is written -> the line (from 0) at which its block begins, and the lines in the block."""

    def data(self) -> dict[Value, Value]:
        """The document as a mapping; its values are shared."""
        return {block.key: block.value for block in self.blocks}

    def find(self, path: tuple[str, ...]) -> int:
        """Line (from 1) of the key or index at the end of a path; 0 when it is not known."""
        if not path or path[0] not in self.places:
            return 0
        start, (line, below) = self.places[path[0]]
        for part in path[1:]:
            if isinstance(below, dict) and part in below:
                line, below = below[part]
            elif isinstance(below, list) and part.isdecimal() and int(part) < len(below):
                line, below = below[int(part)]
            else:
                return 0
        return start + line + 1


_known: dict[str, Block] = {}
_lock = Lock()


def read_blocks(text: str) -> Blocks | None:
    """The document in `text`; None when it is not a plain mapping, or is wrong."""
    cuts = [match.start() for match in _EDGE.finditer(text)]
    if not cuts or "&" in text or not _EMPTY.fullmatch(text, 0, cuts[0]):
        return None
    starts: list[int] = []
    for cut in cuts:
        first = text[cut]
        if first in _NEVER_CUT or (first == "-" and (not starts or text[cut + 1 : cut + 2] not in (" ", "\n"))):
            return None
        if first != "-":
            starts.append(cut)
    blocks: list[Block] = []
    keys: set[Value] = set()
    places: dict[str, tuple[int, Line]] = {}
    line, before = 0, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        block = _block(text[start:end])
        if block is None or block.key in keys:
            return None
        keys.add(block.key)
        blocks.append(block)
        line += text.count("\n", before, start)
        before = start
        places.setdefault(block.written, (line, block.place))
    return Blocks(tuple(blocks), places)


def forget() -> None:
    """Drop all entries that are kept, for those who measure or need the memory."""
    with _lock:
        _known.clear()


def _block(text: str) -> Block | None:
    found = _known.get(text)
    if found is not None:
        return found
    parser = _Parser(text)
    try:
        node = parser.get_single_node()
        if not isinstance(node, yaml.MappingNode) or len(node.value) != 1 or node.start_mark.line:
            return None
        if node.tag != _MAP:
            return None
        data, lines = _mapping(node, 1)
    except (yaml.YAMLError, _NotPlain, ValueError, TypeError, IndexError, RecursionError):
        return None  # `yaml_loader` says what is wrong
    finally:
        parser.dispose()
    [(key, value)] = data.items()
    [(written, place)] = lines.items()
    block = Block(key, value, written, place)
    if len(text) <= _LONGEST:
        with _lock:
            _known[text] = block
            while len(_known) > _MOST_BLOCKS:
                del _known[next(iter(_known))]
    return block


def _built(node: yaml.Node, depth: int) -> tuple[Any, Lines]:
    """A node as data, and the lines in it."""
    if isinstance(node, yaml.ScalarNode):
        return (node.value if node.tag == _STR else _scalar(node)), None
    if depth > 100:
        raise _NotPlain
    if isinstance(node, yaml.MappingNode) and node.tag == _MAP:
        return _mapping(node, depth + 1)
    if isinstance(node, yaml.SequenceNode) and node.tag == _SEQ:
        items: list[Value] = []
        places: list[Line] = []
        for item in node.value:
            value, lines = _built(item, depth + 1)
            items.append(value)
            places.append((item.start_mark.line, lines))
        return items, places
    raise _NotPlain


def _mapping(node: yaml.MappingNode, depth: int) -> tuple[dict[Value, Value], dict[str, Line]]:
    data: dict[Value, Value] = {}
    places: dict[str, Line] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _NotPlain
        key = key_node.value if key_node.tag == _STR else _scalar(key_node)
        if key in data:
            raise _NotPlain
        data[key], lines = _built(value_node, depth)
        places.setdefault(key_node.value, (key_node.start_mark.line, lines))
    return data, places


def _scalar(node: yaml.ScalarNode) -> Value:
    """A scalar that is no string. Timestamps stay as they are written."""
    if node.tag == _TAG + "timestamp":
        return node.value
    if node.tag not in _SCALARS:
        raise _NotPlain
    text = node.value
    if node.tag == _INT and text.startswith("0") and not text.startswith(("0b", "0x")):
        text = text.lstrip("0") or "0"
    return _CONSTRUCTORS[node.tag](yaml.ScalarNode(node.tag, text))


_PLAIN = yaml.constructor.SafeConstructor()
_CONSTRUCTORS = {
    _TAG + "null": _PLAIN.construct_yaml_null,
    _TAG + "bool": _PLAIN.construct_yaml_bool,
    _INT: _PLAIN.construct_yaml_int,
    _TAG + "float": _PLAIN.construct_yaml_float,
}
_RESOLVER = Resolver()


class _Parser(yaml.CSafeLoader):
    """libyaml's parser; which tag a plain scalar gets is looked up once for each text."""

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """No tag follows from a path here."""

    def ascend_resolver(self) -> None:
        """No tag follows from a path here."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        if kind is not yaml.ScalarNode:
            return _SEQ if kind is yaml.SequenceNode else _MAP
        if not implicit[0]:
            return _STR
        tag = _tags.get(value)
        if tag is None:
            tag = str(_RESOLVER.resolve(yaml.ScalarNode, value, (True, False)))  # type: ignore[no-untyped-call]
            if len(value) <= 64:
                if len(_tags) > _MOST_TEXTS:
                    _tags.clear()
                _tags[value] = tag
        return tag


_tags: dict[str, str] = {}
