"""Whether a column has a text in it, at a cost that what is looked for cannot raise. Used by tables.

LIKE compares what is looked for anew at each place of the column: 200 letters in a text of as many kilobytes of the
same letter take a thousand times as long as another word.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, func

from controller.store.database import Database

LOOKED_AT = 2_000
"""Characters of a column that are looked through."""


def has_text(database: Database, column: ColumnElement[Any], wanted: str) -> ColumnElement[bool]:
    """Whether the beginning of a column has this text, in small or capital letters."""
    place_of = func.strpos if database.is_postgresql else func.instr
    return place_of(func.lower(func.substr(column, 1, LOOKED_AT)), wanted.lower()) > 0
