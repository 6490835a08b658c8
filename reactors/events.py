"""What happened: one event type for everything, with Salt's slash-separated tags.

    salt/minion/web1/start                    as Salt fires it
    salt/job/20261121120000000001/ret/web1    as Salt fires it
    saltern/revision/3f2a91c/live             ours: git, compile, sync, drift, keys

Every event names the event that caused it and the revision that it is about, so that "why did this run?" is a query.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

import msgspec

KEY_REQUEST = "salt/auth"
"""Strangers choose the ids in events with this tag, so that all of them count together where room is shared."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. Ids rise, also over restarts; `time` is in seconds since the epoch."""

    id: int
    tag: str
    time: float
    data: Mapping[str, Any] = {}
    cause: int = 0
    """Id of the event that this one follows from, 0 when none does."""
    revision: str = ""
    durable: bool = False
    """Whether it is of a kind that the policy has kept before anybody sees it, and answered also after a restart."""

    @property
    def minion(self) -> str:
        """Id of the minion that it is about; empty when it is about none."""
        return str(self.data.get("id") or self.data.get("minion") or "")


def tag_matches(pattern: str, tag: str) -> bool:
    """Whether a tag matches a reactor's glob, as Salt matches them: `*` crosses slashes (fnmatch, case counts)."""
    return fnmatch.fnmatchcase(tag, pattern)
