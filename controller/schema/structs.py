"""What all types of the API have in common. Subclassed in this folder only."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Identifier: TypeAlias = Annotated[str, msgspec.Meta(max_length=300)]
"""The id of a minion, run or job, or the name of somebody."""
RowNumber: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""Of a row; what databases can count."""


class ApiStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A type of the API; all its fields are in the JSON."""


class StreamStruct(ApiStruct, frozen=True, kw_only=True, tag_field="t"):
    """An item of a stream: JSON lines, distinguished by `t`."""
