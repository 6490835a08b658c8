"""Keys that are accepted beforehand and enrolment tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.api.asked import AdminRequest, service_of, user_of
from controller.api.operations import get, post
from controller.schema.keys import (
    EnrolmentTokenQuestion,
    EnrolmentTokenView,
    KeyView,
    NewEnrolmentToken,
    NewKeyQuestion,
    NextController,
    RotatedKey,
)
from controller.schema.requests import EnrolmentTokensQuestion, RotateControllerQuestion, RotateQuestion


@post("/keys/add")
async def add(request: AdminRequest, body: NewKeyQuestion) -> KeyView:
    """Accept a key before its minion, or its relay, has asked (`saltern key add`)."""
    return service_of(request).add_key(body, user=user_of(request))


@get("/keys/tokens")
async def tokens(request: AdminRequest) -> Sequence[EnrolmentTokenView]:
    """Enrolment tokens that are good (`saltern key token list`)."""
    return service_of(request).enrolment_tokens()


@post("/keys/tokens")
async def create(request: AdminRequest, body: EnrolmentTokenQuestion) -> NewEnrolmentToken:
    """A new enrolment token (`saltern key token create`)."""
    return service_of(request).create_enrolment_token(body, user=user_of(request))


@post("/keys/tokens/revoke")
async def revoke(request: AdminRequest, body: EnrolmentTokensQuestion) -> Sequence[str]:
    """Take enrolment tokens back; the ids of those that there were (`saltern key token revoke`)."""
    return service_of(request).revoke_enrolment_tokens(body.ids, user=user_of(request))


@post("/keys/rotate")
async def rotate(request: AdminRequest, body: RotateQuestion) -> RotatedKey:
    """Have a connected minion make a new key in the place of the old (`saltern key rotate`)."""
    return await service_of(request).rotate_key(body.minion, user=user_of(request))


@post("/keys/controller/rotate")
async def rotate_controller(request: AdminRequest, body: RotateControllerQuestion) -> NextController:
    """Make the controller's next key, and tell it to minions (`saltern key rotate --controller`)."""
    return service_of(request).rotate_controller_key()


ROUTES: Final = (rotate, rotate_controller, add, tokens, create, revoke)
