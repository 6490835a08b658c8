"""What all types of the API have in common. Subclassed in this folder only."""

from __future__ import annotations

import msgspec


class ApiStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A type of the API; all its fields are in the JSON."""


class StreamStruct(ApiStruct, frozen=True, kw_only=True, tag_field="t"):
    """An item of a stream: JSON lines, distinguished by `t`."""
