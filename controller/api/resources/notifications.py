"""Notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.api.asked import AdminRequest, service_of, user_of
from controller.api.operations import get, post
from controller.schema.fleet.notifications import (
    NotificationsView,
    ReceiverTestQuestion,
    ReceiverTestView,
    SpooledMessage,
    SpoolQuery,
    SpoolRetryQuestion,
)


@get("/notifications")
async def notifications(request: AdminRequest) -> NotificationsView:
    """Receivers, routes, and what was told and is not over (`saltern notify list`)."""
    return await service_of(request).notifications()


@get("/notifications/spool")
async def spool(request: AdminRequest, query: SpoolQuery) -> Sequence[SpooledMessage]:
    """The newest messages that wait for their receiver, or were given up (`saltern notify spool`)."""
    return await service_of(request).spool(query.limit)


@post("/notifications/test")
async def test_receiver(request: AdminRequest, body: ReceiverTestQuestion) -> ReceiverTestView:
    """Send a receiver a test (`saltern notify test`)."""
    return await service_of(request).test_receiver(body.receiver, user=user_of(request))


@post("/notifications/retry")
async def retry(request: AdminRequest, body: SpoolRetryQuestion) -> Sequence[str]:
    """Have a message that was given up wait again; its id (`saltern notify retry`)."""
    return await service_of(request).retry_message(body.message)


ROUTES: Final = (notifications, spool, test_receiver, retry)
