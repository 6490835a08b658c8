"""Refuses YAML that is short and costs without end: deep nesting, and aliases that unfold into more than memory holds.

Called before libyaml's composer sees a text (`refuse_depth`), and before values are made of its nodes
(`refuse_unfolding`).
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.constructor import ConstructorError

MAX_NODES = 2_000_000
"""Values that a document may have with all its aliases unfolded."""
MAX_DEPTH = 1_000
"""Collections in collections."""
_BRACKETS = re.compile(r"[\[\]{}]")
_DEEP_INDENT = re.compile(r"^[ \t\-?:]{1000}", re.MULTILINE)


def refuse_depth(text: str) -> None:
    """Refuse what is nested so deeply that libyaml's reader, which calls itself, would end the process.

    Raises yaml.YAMLError.
    """
    if not _may_be_deep(text):
        return
    depth = 0
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                mark: Any = event.start_mark
                raise ConstructorError(None, None, "the document is nested too deeply", mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _may_be_deep(text: str) -> bool:
    """A quick look: brackets that stay open, or a long row of spaces, dashes and question marks before a value."""
    if text.count("[") + text.count("{") > MAX_DEPTH:
        depth = 0
        for bracket in _BRACKETS.findall(text):
            depth += 1 if bracket in "[{" else -1
            if depth > MAX_DEPTH:
                return True
    return _DEEP_INDENT.search(text) is not None


def refuse_unfolding(root: yaml.Node, most: int = MAX_NODES) -> None:
    """Refuse aliases that unfold into more than `most` values; one inside its own anchor unfolds for ever.

    Raises yaml.YAMLError; RecursionError when the text is nested too deeply for this.
    """
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known == -1:
            raise ConstructorError(None, None, "an alias stands inside its own anchor", node.start_mark)
        if known is not None:
            return known
        sizes[id(node)] = -1
        total = 1
        if isinstance(node, yaml.SequenceNode):
            total += sum(size(item) for item in node.value)
        elif isinstance(node, yaml.MappingNode):
            total += sum(size(key) + size(value) for key, value in node.value)
        if total > most:
            raise ConstructorError(None, None, f"its aliases unfold into more than {most} values", node.start_mark)
        sizes[id(node)] = total
        return total

    size(root)
