"""Which minions a request is about."""

from __future__ import annotations

from typing import Literal, TypeAlias

from controller.schema.structs import ApiStruct

TargetKind: TypeAlias = Literal[
    "glob",
    "list",
    "pcre",
    "grain",
    "grain_pcre",
    "pillar",
    "pillar_exact",
    "pillar_pcre",
    "compound",
    "nodegroup",
    "ipcidr",
    "range",
]


class TargetExpression(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which minions, in Salt's words."""

    kind: TargetKind = "glob"
    expression: str = "*"
