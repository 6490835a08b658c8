"""The kinds of forges: each module is imported when a configuration names its kind, all of them for webhooks."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from controller.forges.kind_names import KINDS

if TYPE_CHECKING:  # start time of commands whose configuration has no forges
    from controller.forges.forge import Forge


@functools.cache
def forge_of(kind: str) -> Forge:
    """The definition of one of `KINDS`."""
    found: Forge = importlib.import_module(f"controller.forges.kinds.{kind.replace('-', '_')}").FORGE
    return found


def all_forges() -> Mapping[str, Forge]:
    """Kind -> its definition."""
    return {kind: forge_of(kind) for kind in KINDS}
