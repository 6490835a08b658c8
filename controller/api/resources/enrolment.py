"""Keys that are accepted beforehand and enrolment tokens."""

from __future__ import annotations

from typing import Final

from litestar import Response, get, post

from controller.api import encoding
from controller.api.asked import AdminRequest, body_of, service_of, user_of
from controller.schema.keys import EnrolmentTokenQuestion, NewKeyQuestion
from controller.schema.requests import EnrolmentTokensQuestion, RotateControllerQuestion, RotateQuestion


@post("/keys/add", status_code=200)
async def add(request: AdminRequest) -> Response[bytes]:
    """`saltern key add`."""
    asked = await body_of(request, NewKeyQuestion)
    return encoding.answer(service_of(request).add_key(asked.minion, asked.public_key, user=user_of(request)))


@get("/keys/tokens")
async def tokens(request: AdminRequest) -> Response[bytes]:
    """`saltern key token list`."""
    return encoding.answer(tuple(service_of(request).enrolment_tokens()))


@post("/keys/tokens", status_code=200)
async def create(request: AdminRequest) -> Response[bytes]:
    """`saltern key token create`."""
    asked = await body_of(request, EnrolmentTokenQuestion)
    return encoding.answer(service_of(request).create_enrolment_token(asked, user=user_of(request)))


@post("/keys/tokens/revoke", status_code=200)
async def revoke(request: AdminRequest) -> Response[bytes]:
    """`saltern key token revoke`."""
    asked = await body_of(request, EnrolmentTokensQuestion)
    return encoding.answer(tuple(service_of(request).revoke_enrolment_tokens(asked.ids, user=user_of(request))))


@post("/keys/rotate", status_code=200)
async def rotate(request: AdminRequest) -> Response[bytes]:
    """`saltern key rotate`."""
    asked = await body_of(request, RotateQuestion)
    return encoding.answer(await service_of(request).rotate_key(asked.minion, user=user_of(request)))


@post("/keys/controller/rotate", status_code=200)
async def rotate_controller(request: AdminRequest) -> Response[bytes]:
    """`saltern key rotate --controller`."""
    await body_of(request, RotateControllerQuestion)
    return encoding.answer(service_of(request).rotate_controller_key())


ROUTES: Final = (rotate, rotate_controller, add, tokens, create, revoke)
