"""From keys of the data back to lines of the rendered text, and from those to lines of the template."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from highstate.render.yaml.blocks import Blocks, read_blocks
from highstate.types import Value


class LineMap:
    """Where things stand. Without `blocks` finding keys composes the text once more, on first use."""

    def __init__(self, text: str, template_lines: Sequence[int], blocks: Blocks | None = None) -> None:
        self._text = text
        self._template_lines = template_lines
        self._blocks = blocks
        self._found: dict[tuple[str, ...], int] | None = None

    def find(self, *keys: Value) -> int:
        """Rendered line of the key (or list index) at the end of this path; 0 when unknown."""
        if self._blocks is None and self._found is None:
            self._blocks = read_blocks(self._text)
            self._found = _compose(self._text) if self._blocks is None else {}
        path = tuple(map(str, keys))
        return self._blocks.find(path) if self._blocks is not None else (self._found or {}).get(path, 0)

    def template_line(self, rendered_line: int) -> int:
        """Line of the template that produced a rendered line; 0 when unknown."""
        if 1 <= rendered_line <= len(self._template_lines):
            return self._template_lines[rendered_line - 1]
        return 0


def _compose(text: str) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return found
    if node is not None:
        _walk(node, (), found, set())
    return found


def _walk(node: yaml.Node, path: tuple[str, ...], found: dict[tuple[str, ...], int], above: set[int]) -> None:
    if id(node) in above or len(path) > 12:
        return
    above.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    _walk(merged, path, found, above)
            elif isinstance(key, yaml.ScalarNode):
                found.setdefault((*path, key.value), key.start_mark.line + 1)
                _walk(value, (*path, key.value), found, above)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            found.setdefault((*path, str(index)), item.start_mark.line + 1)
            _walk(item, (*path, str(index)), found, above)
    above.discard(id(node))
