"""The language: render, compile, run. No sockets, no git, no disk of its own.

The names below are this room's public face. They load on first use, so that an idle
minion, which needs only the types, holds neither Jinja nor YAML in memory.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from highstate.compile import Settings, compile_minion, compile_sls
    from highstate.desired import Desired, desired_of
    from highstate.files import MemoryFiles
    from highstate.garbage import collect_new, collect_seldom
    from highstate.match import match_minion
    from highstate.memo import Memo
    from highstate.types import (
        Chunk,
        Compiled,
        Content,
        Files,
        Minion,
        Pos,
        Problem,
        Stage,
        StateResult,
        Value,
    )

__all__ = [
    "Chunk",
    "Compiled",
    "Content",
    "Desired",
    "Files",
    "Memo",
    "MemoryFiles",
    "Minion",
    "Pos",
    "Problem",
    "Settings",
    "Stage",
    "StateResult",
    "Value",
    "collect_new",
    "collect_seldom",
    "compile_minion",
    "compile_sls",
    "desired_of",
    "match_minion",
]

_HOMES = {
    "Settings": "highstate.compile",
    "compile_minion": "highstate.compile",
    "compile_sls": "highstate.compile",
    "Desired": "highstate.desired",
    "desired_of": "highstate.desired",
    "MemoryFiles": "highstate.files",
    "match_minion": "highstate.match",
    "Memo": "highstate.memo",
    "collect_new": "highstate.garbage",
    "collect_seldom": "highstate.garbage",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'highstate' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "highstate.types")), name)
