"""What Salt and Saltern compile for a minion, compared."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from controller.schema.structs import ApiStruct, Identifier

DifferenceKind: TypeAlias = Literal["only Salt", "only Saltern", "arguments", "order"]
ComparisonVerdict: TypeAlias = Literal["same", "different", "not compared"]
COMPARISON_VERDICTS: tuple[ComparisonVerdict, ...] = ("same", "different", "not compared")


class ChunkDifference(ApiStruct, frozen=True, kw_only=True):
    """One low chunk that is not the same."""

    kind: DifferenceKind
    chunk: str
    """`ID: state.function`."""
    sls: str = ""
    arguments: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """Argument -> Salt's value and Saltern's, as JSON that may be cut off; of `order` what stands at the place."""


class PillarDifference(ApiStruct, frozen=True, kw_only=True):
    """A key of the pillar that is not the same. Its values are not told."""

    kind: Literal["only Salt", "only Saltern", "value"]
    key: str
    """Names that lead to it, with colons between."""


class MinionComparison(ApiStruct, frozen=True, kw_only=True):
    """What came of one minion."""

    minion: str
    verdict: ComparisonVerdict
    chunks: int = 0
    """Low chunks that Saltern makes."""
    why: str = ""
    """Why it was not compared, or who does not compile it, with the error."""
    differences: tuple[ChunkDifference, ...] = ()
    pillar: tuple[PillarDifference, ...] = ()
    """Of the pillar, where a Salt master has said its own."""
    left_out: int = 0
    """Differences that are not in the lists, which are bounded."""


class SaltsSide(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Salt master compiles for a minion, to be compared with what Saltern does."""

    minion: Identifier
    low: tuple[dict[str, Any], ...] | None = None
    """Low chunks as `state.show_lowstate` gives them; None: it does not compile, as `errors` say."""
    errors: Annotated[tuple[str, ...], msgspec.Meta(max_length=1000)] = ()
    pillar: dict[str, Any] | None = None
    """None: it is not compared."""
