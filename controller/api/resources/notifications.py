"""Notifications."""

from __future__ import annotations

from typing import Final

from litestar import Response, get, post

from controller.api import encoding
from controller.api.asked import AdminRequest, body_of, query_of, service_of, user_of
from controller.schema.fleet.notifications import ReceiverTestQuestion, SpoolQuery, SpoolRetryQuestion


@get("/notifications")
async def notifications(request: AdminRequest) -> Response[bytes]:
    """`saltern notify list`."""
    return encoding.answer(await service_of(request).notifications())


@get("/notifications/spool")
async def spool(request: AdminRequest) -> Response[bytes]:
    """`saltern notify spool`."""
    return encoding.answer(tuple(await service_of(request).spool(query_of(request, SpoolQuery).limit)))


@post("/notifications/test", status_code=200)
async def test_receiver(request: AdminRequest) -> Response[bytes]:
    """`saltern notify test`."""
    asked = await body_of(request, ReceiverTestQuestion)
    return encoding.answer(await service_of(request).test_receiver(asked.receiver, user=user_of(request)))


@post("/notifications/retry", status_code=200)
async def retry(request: AdminRequest) -> Response[bytes]:
    """`saltern notify retry`."""
    asked = await body_of(request, SpoolRetryQuestion)
    return encoding.answer(tuple(await service_of(request).retry_message(asked.message)))


ROUTES: Final = (notifications, spool, test_receiver, retry)
