"""What the controller and a process of a runner say to each other.

To the process goes a pickled `ProcessJob` and then a `RunnerAnswer` to each `RunnerQuery`; from it come, in msgpack,
queries, `FiredEvent`s, and at the end one `ProcessReturn`. What comes from it is not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from highstate.types import Files

NEXT_EVENTS = "saltern.next_events"
"""What the process of an engine asks for the events that wait; its argument: for how many seconds."""


class ProcessJob(NamedTuple):
    """One call."""

    fun: str
    """Empty: the documentation of all runners of the tree."""
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    files: Files | None
    """The tree whose runner it is."""
    folders: tuple[str, ...]
    """Folders of the administrator whose runner it is; neither these nor a tree: an execution function."""
    opts: Mapping[str, Any]
    jid: str
    user: str
    runners: tuple[str, ...]
    """Names of the controller's own runners."""
    engine: bool = False
    """Whether it is the function of an engine."""
    engines_dirs: tuple[str, ...] = ()
    """Folders of the administrator that have engines in them."""


class RunnerQuery(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """Have the controller call one of its runners."""

    fun: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class RunnerAnswer(NamedTuple):
    """What came of it."""

    value: Any = None
    error: str = ""


class FiredEvent(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """`__jid_event__.fire_event`."""

    data: dict[str, Any]
    suffix: str = "progress"


class ProcessReturn(msgspec.Struct, frozen=True, kw_only=True, tag="return"):
    """The end."""

    value: Any = None
    error: str = ""
    """Why there is no value."""
