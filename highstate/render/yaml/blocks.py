"""YAML read block by block: each top-level key of an SLS once, however many renders print it.

An SLS is mostly a mapping whose entries stand at the left edge. Cut there, the entries are documents of their own, and
most renders of a template (other minions, a later revision) come to the same ones. What cannot be cut safely is
refused with None and read whole by `loader`, which calls this; errors are found there too. The values that come
out are shared: nobody may change them. No Jinja in here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import is_
from threading import Lock
from typing import Any, TypeAlias

import yaml
from yaml._yaml import CParser
from yaml.resolver import Resolver

from highstate.render.yaml.plain import read_plain
from highstate.types import Value

BlockLines: TypeAlias = "dict[str, Line] | list[Line] | None"
Line: TypeAlias = "tuple[int, BlockLines]"
"""Where a key or an item stands in its block (from 0), and what is below it."""

_TAG = "tag:yaml.org,2002:"
_STR, _MAP, _SEQ, _INT = _TAG + "str", _TAG + "map", _TAG + "seq", _TAG + "int"
_SCALARS = frozenset(_TAG + name for name in ("null", "bool", "int", "float"))
_EDGE = re.compile(r"\n[^\s#]")
_EMPTY = re.compile(r"(?:[ ]*(?:#.*)?\n)*")
_NEVER_CUT = frozenset("?:%.{[&*|>@`}],\\\ufeff")
"""First characters of lines that may belong to something that is more than one mapping entry."""
_MOST_BLOCKS = 20_000
_LONGEST = 65_536
_MOST_TEXTS = 50_000


class _NotPlain(ValueError):
    """A document of more than mappings, lists and plain scalars; or a wrong one."""


@dataclass(slots=True)
class Block:
    """One top-level entry."""

    key: Value
    value: Value
    written: str
    """The key as text."""
    _text: str
    _place: Line | None = None

    @property
    def lines(self) -> int:
        """How many there are to the next block."""
        return self._text.count("\n")

    @property
    def place(self) -> Line:
        """The lines in it; read again on first use, because most are never asked for."""
        if self._place is None:
            self._place = _line_of(_composed(self._text))
        return self._place


@dataclass(slots=True)
class Blocks:
    """A document: its entries in order, and the line (from 0) of the first."""

    blocks: list[Block]
    first: int
    _places: dict[str, tuple[int, Block]] | None = None

    def data(self) -> dict[Value, Value]:
        """The document as a mapping; its values are shared."""
        return {block.key: block.value for block in self.blocks}

    def find(self, path: tuple[str, ...]) -> int:
        """Line (from 1) of the key or index at the end of a path; 0 when it is not known."""
        if self._places is None:
            self._places = self._counted()
        if not path or path[0] not in self._places:
            return 0
        start, block = self._places[path[0]]
        if len(path) == 1:
            return start + 1  # a block begins with its key
        line, below = block.place
        for part in path[1:]:
            if isinstance(below, dict) and part in below:
                line, below = below[part]
            elif isinstance(below, list) and part.isdecimal() and int(part) < len(below):
                line, below = below[int(part)]
            else:
                return 0
        return start + line + 1

    def _counted(self) -> dict[str, tuple[int, Block]]:
        """Key as it is written -> the line (from 0) at which its block begins, and the block."""
        places: dict[str, tuple[int, Block]] = {}
        line = self.first
        for block in self.blocks:
            places.setdefault(block.written, (line, block))
            line += block.lines
        return places


_known: dict[str, Block] = {}
"""By text. The oldest go first. A plain dict for the reason given in `highstate.compile.shapes`."""
_lock = Lock()


def read_blocks(text: str) -> Blocks | None:
    """The document in `text`; None when it is not a plain mapping, or is wrong."""
    cuts = [match.start() + 1 for match in _EDGE.finditer(text)]
    if text and not (text[0].isspace() or text[0] == "#"):
        cuts.insert(0, 0)
    if not cuts or "&" in text or not _EMPTY.fullmatch(text, 0, cuts[0]):
        return None
    starts = _starts(text, cuts)
    if starts is None:
        return None
    blocks: list[Block] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        block = _block(text[start:end])
        if block is None:
            return None
        blocks.append(block)
    if len({block.key for block in blocks}) < len(blocks):
        return None
    return Blocks(blocks, text.count("\n", 0, cuts[0]))


def _starts(text: str, cuts: list[int]) -> list[int] | None:
    """Those lines at the edge that begin a mapping entry; None when one may belong to something else."""
    firsts = {text[cut] for cut in cuts}
    if not _NEVER_CUT.isdisjoint(firsts):
        return None
    if "-" not in firsts:
        return cuts
    # The items of a list may stand below its key without being indented.
    if text[cuts[0]] == "-" or any(text[cut] == "-" and text[cut + 1 : cut + 2] not in (" ", "\n") for cut in cuts):
        return None
    return [cut for cut in cuts if text[cut] != "-"]


def forget() -> None:
    """Drop all entries that are kept, for those who measure or need the memory."""
    with _lock:
        _known.clear()
        _tags.clear()
        _words.clear()


def forget_oldest_blocks() -> None:
    """Drop the half of the entries that were read first."""
    with _lock:
        for text in list(_known)[: (len(_known) + 1) // 2]:
            del _known[text]


def _block(text: str) -> Block | None:
    found = _known.get(text)
    if found is not None:
        return found
    read = read_plain(text, _words, _word) or _read_by_nodes(text)
    if read is None:
        return None
    [(key, value)] = read[0].items()
    block = Block(key, value, read[1], text)
    if len(text) <= _LONGEST:
        with _lock:
            _known[text] = block
            while len(_known) > _MOST_BLOCKS:
                del _known[next(iter(_known))]
            if len(_words) > _MOST_TEXTS:
                _words.clear()
    return block


def _word(text: str) -> Value:
    """What a plain scalar stands for."""
    if text[0] not in _FIRST:
        return text
    tag = str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call]
    return text if tag == _STR else _scalar(yaml.ScalarNode(tag, text))


def _read_by_nodes(text: str) -> tuple[dict[Value, Value], str] | None:
    """The mapping of one key in a text, and that key as it is written."""
    try:
        node = _composed(text)
        if not isinstance(node, yaml.MappingNode) or len(node.value) != 1 or node.start_mark.line:
            return None
        if node.tag != _MAP or node.value[0][0].start_mark.line:
            return None
        return _mapping(node, 1), node.value[0][0].value
    except (yaml.YAMLError, ValueError, TypeError, IndexError, RecursionError):
        return None  # `loader` says what is wrong


def _composed(text: str) -> Any:
    """The one document in a text as nodes; None for an empty one."""
    parser: Any = _Parser(text)
    try:
        return parser.get_single_node()
    finally:
        parser.dispose()


def _value(node: Any, depth: int) -> Any:
    """A node as data."""
    kind = type(node)
    if kind is yaml.ScalarNode:
        return node.value if node.tag == _STR else _scalar(node)
    if depth > 100:
        raise _NotPlain
    if kind is yaml.MappingNode and node.tag == _MAP:
        return _mapping(node, depth + 1)
    if kind is yaml.SequenceNode and node.tag == _SEQ:
        depth += 1
        return [_value(item, depth) for item in node.value]
    raise _NotPlain


def _mapping(node: yaml.MappingNode, depth: int) -> dict[Value, Value]:
    data: dict[Value, Value] = {}
    for key_node, value_node in node.value:
        if type(key_node) is not yaml.ScalarNode:
            raise _NotPlain
        key = key_node.value if key_node.tag == _STR else _scalar(key_node)
        if key in data:
            raise _NotPlain
        if type(value_node) is yaml.ScalarNode and value_node.tag == _STR:
            data[key] = value_node.value
        else:
            data[key] = _value(value_node, depth)
    return data


def _line_of(root: yaml.MappingNode) -> Line:
    """Where the one key of a block is, and what is below it."""
    [(key, value)] = root.value
    return key.start_mark.line, _lines(value)


def _lines(node: yaml.Node) -> BlockLines:
    if isinstance(node, yaml.MappingNode):
        places: dict[str, Line] = {}
        for key, value in node.value:
            places.setdefault(key.value, (key.start_mark.line, _lines(value)))
        return places
    if isinstance(node, yaml.SequenceNode):
        return [(item.start_mark.line, _lines(item)) for item in node.value]
    return None


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


class _Parser(CParser):
    """libyaml's parser; which tag a plain scalar gets is looked up once for each text."""

    # No tag follows from a path here. Called for each node; functions of C that do nothing cost least.
    descend_resolver = is_
    ascend_resolver = ().__len__

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        if kind is not yaml.ScalarNode:
            return _SEQ if kind is yaml.SequenceNode else _MAP
        if not implicit[0] or value[:1] not in _FIRST:
            return _STR
        tag = _tags.get(value)
        if tag is None:
            tag = str(_RESOLVER.resolve(yaml.ScalarNode, value, (True, False)))  # type: ignore[no-untyped-call]
            if len(value) <= 64:
                if len(_tags) > _MOST_TEXTS:
                    _tags.clear()
                _tags[value] = tag
        return tag


_FIRST = frozenset(Resolver.yaml_implicit_resolvers)
"""First characters of plain text that may be anything but text."""
_tags: dict[str, str] = {}
_words: dict[str, Value] = {}
"""Plain scalars, and what they stand for."""
