"""Orchestrations: those that go on, and those that the history has. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from controller.schema.structs import ApiStruct, Identifier


class OrchestrationView(ApiStruct, frozen=True, kw_only=True):
    """One orchestration, in a line."""

    jid: str
    fun: str
    """`state.orchestrate` and the like."""
    sls: str
    """What it runs, with the arguments as one would type them."""
    user: str = ""
    created: float = 0.0
    state: str = ""
    """`running`, `paused` or `finished`."""
    outcome: str = ""
    """`ok`, `failed`; empty while it goes on."""
    test: bool = False
    done: int = 0
    """Steps that have ended."""
    total: int = 0
    summary: str = ""


class OrchestrationStep(ApiStruct, frozen=True, kw_only=True):
    """One step."""

    key: str
    id: str
    fun: str
    """`salt.state` and the like."""
    name: str
    state: str
    """`waiting`, `running`, `paused` or `finished`."""
    outcome: str = ""
    """`ok`, `failed`, `pending` (test=True: it would change something); empty until it has ended."""
    started: float | None = None
    comment: str = ""
    changes: dict[str, Any] = msgspec.field(default_factory=dict)
    jid: str = ""
    """Of the job or runner that it began."""
    minions: dict[str, str] = msgspec.field(default_factory=dict)
    """Minion that it means -> outcome of the call there, or `waiting`, `running`; of one that goes on."""


class OrchestrationDetail(ApiStruct, frozen=True, kw_only=True):
    """One orchestration with its steps."""

    orchestration: OrchestrationView
    steps: tuple[OrchestrationStep, ...] = ()
    """In the order in which they run, or were begun where it has ended."""
    errors: tuple[str, ...] = ()
    """What did not compile, or why nothing is known of the steps."""


class OrchestrationQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern orchestrations show`."""

    jid: Annotated[Identifier, msgspec.Meta(min_length=1)]


class OrchestrationsQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern orchestrations list`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20
    before: Identifier = ""
    """Only those that ended and began before this one (its jid): the next page."""
