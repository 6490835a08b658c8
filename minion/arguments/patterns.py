"""Regular expressions: the type of `flags`."""

from __future__ import annotations

import functools
import operator
import re
from typing import Annotated, Any

from minion.arguments.types import Reads, Unfit, as_integer, as_texts

_FLAGS = ("ASCII", "DOTALL", "IGNORECASE", "LOCALE", "MULTILINE", "VERBOSE", "A", "S", "I", "L", "M", "X")


def as_flags(value: Any) -> int:
    """Flags of a regular expression: their number, or their names."""
    try:
        return as_integer(value)
    except Unfit:
        names = as_texts(value)
    strange = [one for one in names if one.upper() not in _FLAGS]
    if strange:
        shown = repr(strange[0]).replace("{", "{{").replace("}", "}}")
        raise Unfit("", f"{{name}}: {shown} is no flag; there are {', '.join(_FLAGS)}")
    return functools.reduce(operator.or_, (int(getattr(re, one.upper())) for one in names), 0)


Flags = Annotated[int, Reads(as_flags)]
