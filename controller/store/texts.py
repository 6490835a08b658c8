"""Whether a column has a text in it, at a cost that what is looked for cannot raise. Used by tables.

LIKE compares what is looked for anew at each place of the column: 200 letters in a text of as many kilobytes of the
same letter take a thousand times as long as another word.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Integer, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

LOOKED_AT = 2_000
"""Characters of a column that are looked through."""


class _PlaceOf(FunctionElement[int]):
    """Where a text begins in another one, from 1 on; 0: nowhere."""

    name = "place_of"
    type = Integer()
    inherit_cache = True


@compiles(_PlaceOf)
def _of_sqlite(element: _PlaceOf, compiler: Any, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


@compiles(_PlaceOf, "postgresql")
def _of_postgresql(element: _PlaceOf, compiler: Any, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"


def has_text(column: ColumnElement[Any], wanted: str) -> ColumnElement[bool]:
    """Whether the beginning of a column has this text, in small or capital letters."""
    return _PlaceOf(func.lower(func.substr(column, 1, LOOKED_AT)), wanted.lower()) > 0
