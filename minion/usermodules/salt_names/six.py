"""`salt.ext.six`: Python 3's side of it."""

from __future__ import annotations

import io
from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from typing import Any

PY2, PY3 = False, True
string_types: tuple[type, ...] = (str,)
integer_types: tuple[type, ...] = (int,)
text_type, binary_type = str, bytes
StringIO, BytesIO = io.StringIO, io.BytesIO


def iteritems(data: Mapping[Any, Any]) -> ItemsView[Any, Any]:
    """Pairs."""
    return data.items()


def iterkeys(data: Mapping[Any, Any]) -> KeysView[Any]:
    """Keys."""
    return data.keys()


def itervalues(data: Mapping[Any, Any]) -> ValuesView[Any]:
    """Values."""
    return data.values()
