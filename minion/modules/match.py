"""The execution module `match`: whether a target means this minion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minion.modules.context import Context

KINDS = {
    "compound": "compound",
    "glob": "glob",
    "grain": "grain",
    "grain_pcre": "grain_pcre",
    "ipcidr": "ipcidr",
    "list": "list",
    "pcre": "pcre",
    "pillar": "pillar",
}


def _matcher(kind: Any) -> Callable[..., bool]:
    def match(context: Context, tgt: str) -> bool:
        from highstate.match import match_minion
        from highstate.types import Minion

        minion = Minion(id=context.minion_id, grains=context.grains)
        pillar = context.pillar if kind in ("pillar", "compound") else {}
        nodegroups = context.opts.get("nodegroups") or {}
        return match_minion(tgt, minion, pillar, kind=kind, nodegroups=nodegroups)

    match.__doc__ = f"Whether a target of kind {kind} means this minion."
    return match


FUNCTIONS: Mapping[str, Any] = {name: _matcher(kind) for name, kind in KINDS.items()}
