"""Types of columns that hold the same values in SQLite and in PostgreSQL.

PostgreSQL takes no NUL in a text, refuses a text that is longer than its column says (SQLite takes no notice), has
integers of 32 bits, and sorts by the rules of a language. Minions and repositories choose some of these texts: what one
of them sends must not make a whole batch fail.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Dialect, TypeDecorator, types


class _TextWithoutNul(TypeDecorator[str]):
    """A text of any length in the order of its characters' numbers; NUL becomes U+FFFD."""

    impl = types.Text
    cache_ok = True

    def __init__(self) -> None:
        super().__init__(collation="C")

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """See the class."""
        return None if value is None else value.replace("\0", "\N{REPLACEMENT CHARACTER}")


_OF_POSTGRESQL = _TextWithoutNul()

INTEGER = types.Integer().with_variant(BigInteger(), "postgresql")
"""64 bits."""

TEXT = types.Text().with_variant(_OF_POSTGRESQL, "postgresql")
"""A text."""


def short_text(length: int) -> types.String:
    """A text that is meant to have so many characters at most."""
    return types.String(length).with_variant(_OF_POSTGRESQL, "postgresql")
