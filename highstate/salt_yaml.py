"""Salt's YAML: YAML 1.1 on libyaml with Salt's own rules. The bottom of the room: it knows no template and no tree.

Salt's rules (its documentation, "Understanding YAML" and "YAML idiosyncrasies"): duplicate keys are errors,
timestamps stay strings, integers with leading zeros are decimal, merged keys come first and yield to own ones.
Python tags are refused, and so are aliases that unfold into more than memory should hold. Called by
`render.yaml.loader` for documents and by `traverse` for parts of paths.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Hashable, Iterator
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from highstate.types import Value
from options.yaml_bounds import refuse_depth, refuse_unfolding

_NO_VALUES = frozenset(("", "---", "..."))
_DIGITS = frozenset("0123456789_")

_TAG = "tag:yaml.org,2002:"


class SaltLoader(yaml.CSafeLoader):
    """libyaml's parser with Salt's constructors."""

    last: yaml.Node | None = None
    """The scalar that was read last: where a value is that cannot be read."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping, or an error that shows both places of a key given twice."""
        if not isinstance(node, yaml.MappingNode):
            raise ConstructorError(None, None, f"expected a mapping, but found {node.tag}", node.start_mark)
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        first: dict[Hashable, int] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=deep)
            try:
                hash(key)
            except TypeError:
                problem = f"a {type(key).__name__} cannot be a key of a mapping"
                raise ConstructorError(None, None, problem, key_node.start_mark) from None
            if key in mapping:
                problem = f"found conflicting ID {str(key)!r}: the same key stands in line {first[key]} already"
                raise ConstructorError(None, None, problem, key_node.start_mark)
            first[key] = key_node.start_mark.line + 1
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> str:
        """The text of a scalar; integers lose their leading zeros, so that 0644 is 644."""
        self.last = node
        text: str = super().construct_scalar(node)
        if node.tag == _TAG + "int" and text.startswith("0") and not text.startswith(("0b", "0x")):
            return text.lstrip("0") or "0"
        return text

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put what `<<` merges before the own keys, without those that the mapping has itself."""
        own = [pair for pair in node.value if pair[0].tag != _TAG + "merge"]
        merges = len(own) < len(node.value)
        super().flatten_mapping(node)
        if not merges:
            return
        names = {key.value for key, _ in own if isinstance(key, yaml.ScalarNode)}
        merged = node.value[: len(node.value) - len(own)]
        kept = [pair for pair in merged if not isinstance(pair[0], yaml.ScalarNode) or pair[0].value not in names]
        node.value = kept + own

    def construct_omap(self, node: yaml.Node) -> Iterator[dict[Hashable, Any]]:
        """`!!omap`: a plain mapping, which keeps its order. In two steps, so that an alias may point to it."""
        mapping: dict[Hashable, Any] = {}
        yield mapping
        mapping.update(self.construct_mapping(node))

    def construct_binary(self, node: yaml.ScalarNode) -> bytes:
        """Base64, with or without padding."""
        try:
            data = self.construct_scalar(node).encode("ascii")
            return base64.decodebytes(data + b"=" * (-len(data) % 4))
        except (UnicodeEncodeError, binascii.Error) as error:
            raise ConstructorError(None, None, f"this is no base64: {error}", node.start_mark) from error


SaltLoader.add_constructor(_TAG + "timestamp", SaltLoader.construct_scalar)
SaltLoader.add_constructor(_TAG + "omap", SaltLoader.construct_omap)
SaltLoader.add_constructor(_TAG + "binary", SaltLoader.construct_binary)


def load_whole(text: str, kind: type[SaltLoader] = SaltLoader) -> Value:
    """The one document in `text`; yaml.YAMLError when it is wrong. `refuse_depth` comes before."""
    loader = kind(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if "*" in text:
            refuse_unfolding(node)
        return loader.construct_document(node)
    except RecursionError:
        raise ConstructorError(None, None, "the document is nested too deeply") from None
    except (ValueError, LookupError) as error:  # e.g. `!!int abc`, `!!bool x`, `0_`, or an integer of too many digits
        mark = loader.last.start_mark if loader.last is not None else None
        raise ConstructorError(None, None, f"a value cannot be read: {error}", mark) from error
    finally:
        loader.dispose()


def read_word(word: str) -> Value:
    """A word of a path or command line as Salt reads it (`salt.utils.args.yamlify_arg`): "80" is 80, "yes" is True.

    The word itself where YAML cannot read it, would lose a part of it, or makes something else of it than its
    brackets say.
    """
    stripped = word.strip()
    if stripped in _NO_VALUES or any(char in word for char in "\t\r\n"):
        return word
    if "_" in word and _DIGITS.issuperset(stripped):
        return word
    if word == "None":
        return None
    try:
        refuse_depth(word)
        value = load_whole(word)
    except yaml.YAMLError:
        return word
    return word if _is_misread(word, value) else value


def _is_misread(word: str, value: Value) -> bool:
    """Whether YAML made of a word what its author cannot have meant."""
    match value:
        case dict():
            return not word.startswith("{")
        case list():
            return not word.startswith("[")
        case None | "":
            return word in ("|", "!") or "#" in word
        case str():
            return "#" in word
        case int() | float():
            return False
        case _:
            return True
