"""The texts below the fields of types, as their source has them: for documents that are made of the types."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from functools import cache


def field_texts(kind: type) -> dict[str, str]:
    """Field -> the text below it, on one line; empty where there is none. Those of the types that it extends, too."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        found |= _texts_of_module(each.__module__).get(each.__name__, {}) if each.__module__ in sys.modules else {}
    return found


@cache
def _texts_of_module(name: str) -> dict[str, dict[str, str]]:
    """Class -> its fields with their texts. None for a module without source, as of an extension."""
    try:
        parsed = ast.parse(inspect.getsource(sys.modules[name]))
    except (OSError, TypeError):
        return {}
    classes = [node for node in parsed.body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_texts(node)) for node in classes}


def _texts(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for field, text in itertools.pairwise([*node.body, ast.Pass()]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            told = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            found.append((field.target.id, " ".join(str(text.value.value).split()) if told else ""))  # type: ignore[attr-defined]  # told
    return found
