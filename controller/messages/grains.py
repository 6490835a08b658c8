"""Grains as the controller takes them from a minion.

A minion says what its grains are, but not who it is: the id is that of its key, so that `grains['id']` and `G@id:db1`
cannot be claimed by another. Everything else in grains is the minion's word (docs/security.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def trusted_grains(minion: str, claimed: Mapping[str, Any]) -> dict[str, Any]:
    """The grains of a minion, with what the controller knows better.

    Args:
        minion: id of the accepted key.
        claimed: as the minion sent them.
    """
    return {**claimed, "id": minion}
