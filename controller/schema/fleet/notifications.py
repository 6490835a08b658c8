"""Notifications: receivers, routes, and what waits in the spool. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from controller.schema.structs import ApiStruct


class ReceiverView(ApiStruct, frozen=True, kw_only=True):
    """A receiver of the configuration. How it does is told since the start of the controller."""

    name: str
    kind: str
    routes: int
    """Routes of the live policy that lead to it."""
    waiting: int
    given_up: int
    sent: int
    sent_at: float | None = None
    failures: int = 0
    """In a row."""
    error: str = ""
    """Of the last attempt; empty: it was taken."""


class RouteView(ApiStruct, frozen=True, kw_only=True):
    """A route of the live policy."""

    line: int
    """Of saltern.yaml."""
    receivers: tuple[str, ...]
    kinds: tuple[str, ...]
    severities: tuple[str, ...]
    environments: tuple[str, ...]
    target: str
    group_by: tuple[str, ...]
    group_wait: float
    group_interval: float
    repeat_interval: float
    send_resolved: bool
    template: str


class NotificationGroupView(ApiStruct, frozen=True, kw_only=True):
    """What one receiver is told together, and is not over."""

    receiver: str
    labels: dict[str, str]
    began: float
    sent: int
    """Messages."""
    sent_at: float | None
    firing: tuple[str, ...]
    """What holds, by its names, 100 at most."""
    count: int
    """Of all that holds."""


class NotificationsView(ApiStruct, frozen=True, kw_only=True):
    """`saltern notify list`."""

    receivers: tuple[ReceiverView, ...]
    unknown: tuple[str, ...]
    """Receivers that saltern.yaml names and the configuration has not."""
    routes: tuple[RouteView, ...]
    groups: tuple[NotificationGroupView, ...]


class SpoolQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern notify spool`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class SpooledMessage(ApiStruct, frozen=True, kw_only=True):
    """A message that waits, or was given up."""

    id: str
    receiver: str
    state: Literal["waiting", "dead"]
    action: str
    severity: str
    title: str
    created: float
    attempts: int
    next_at: float | None
    """When it is tried again; none where it was not tried, or is not tried again."""
    error: str


class ReceiverTestQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern notify test`."""

    receiver: str


class ReceiverTestView(ApiStruct, frozen=True, kw_only=True):
    """What came of it."""

    receiver: str
    taken: bool
    error: str
    seconds: float


class SpoolRetryQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern notify retry`."""

    message: str
