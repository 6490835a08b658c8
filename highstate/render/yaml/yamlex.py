"""`yamlex`: YAML in which a key may come again, and values marked `!aggregate` are joined with what stood there.

    packages: !aggregate [vim]
    packages: !aggregate [git]      # [vim, git]
    !reset packages: !aggregate []  # only this

A mark on the document itself is implied. Called by `renderers` with rendered text.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from highstate.aggregation import JoinableList, JoinableMap, joined
from highstate.render.yaml.loader import load_yaml
from highstate.salt_yaml import SaltLoader
from highstate.types import Value

_AGGREGATE = "!aggregate"
_RESET = "!reset"


class _Loader(SaltLoader):
    """Salt's YAML, but keys may come again."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping; the second value of a key is joined with the first, or replaces it."""
        if not isinstance(node, yaml.MappingNode):
            raise ConstructorError(None, None, f"expected a mapping, but found {node.tag}", node.start_mark)
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            reset = key_node.tag == _RESET
            key = self._value(key_node) if reset else self.construct_object(key_node, deep=True)
            try:
                hash(key)
            except TypeError:
                problem = f"a {type(key).__name__} cannot be a key of a mapping"
                raise ConstructorError(None, None, problem, key_node.start_mark) from None
            # Deep, so that what is joined is complete already.
            value = self.construct_object(value_node, deep=True)
            mapping[key] = joined(mapping[key], value) if key in mapping and not reset else value
        return mapping

    def construct_aggregate(self, node: yaml.Node) -> Value:
        """A value that is marked."""
        value = self._value(node)
        if value is None:
            return JoinableList()
        if isinstance(value, dict):
            return JoinableMap(value)
        return JoinableList(value if isinstance(node, yaml.SequenceNode) else [value])

    def _value(self, node: yaml.Node) -> Value:
        """The value without its mark."""
        bare = copy.copy(node)
        loader: Any = self  # PyYAML's own type hints do not know `resolve`
        bare.tag = loader.resolve(type(node), node.value if isinstance(node, yaml.ScalarNode) else None, (True, False))
        return self.construct_object(bare, deep=True)


_Loader.add_constructor(_AGGREGATE, _Loader.construct_aggregate)
_Loader.add_constructor(_RESET, _Loader._value)


def load_yamlex(text: str) -> Value:
    """The document in `text`; its marks stay in the data, so that documents can be joined."""
    data = load_yaml(text, _Loader)
    return JoinableMap(data) if isinstance(data, dict) else data
