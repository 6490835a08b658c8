"""Statements with many values: databases take a limited number in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Column, Connection, select

_MOST = 1000
"""Values of one statement."""


def chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """The values in parts that a statement takes."""
    return (values[start : start + _MOST] for start in range(0, len(values), _MOST))


def present(connection: Connection, column: Column[str], values: Sequence[str]) -> set[str]:
    """Which of these values the column has."""
    return {value for part in chunks(values) for value in connection.scalars(select(column).where(column.in_(part)))}
