"""`dataclass` for values that are made by the thousand: frozen to the type checker, and quick to make at run time.

Imported by the modules whose types a run or a compile makes for each state. A frozen dataclass sets each field through
`object.__setattr__`, which took two fifths of what a state costs besides its work; mypy refuses an assignment to a
field all the same. Anything else that `dataclasses.dataclass(frozen=True)` gives is here: equality, hash, `replace`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(*, frozen: bool = False, slots: bool = False, kw_only: bool = False):  # noqa: ANN201
        """The decorator of dataclasses; `frozen` is the type checker's affair."""
        return dataclasses.dataclass(slots=slots, kw_only=kw_only, unsafe_hash=frozen)


__all__ = ["dataclass"]
