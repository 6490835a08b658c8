"""Tokens and the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from controller.access.decision import roles_of
from controller.api.asked import AdminRequest, access_of, principal_of
from controller.api.operations import Page, get, page, post
from controller.api.permissions import failures_counted
from controller.schema.access import (
    AuditListQuery,
    AuditPage,
    AuditView,
    LoginQuestion,
    NewToken,
    TokenQuestion,
    TokensQuery,
    TokensQuestion,
    TokenView,
    WhoAmI,
)
from controller.schema.errors import ServiceError
from controller.store.access.audit import AuditQuery, AuditRecord, broken_links
from controller.store.access.tokens import TokenRecord

_MOST_TEXT = 200
_MOST_GROUPS = 100


@get("/whoami")
async def who_am_i(request: AdminRequest) -> WhoAmI:
    """Who the controller takes the asker for (`saltern whoami`)."""
    asker = principal_of(request)
    return WhoAmI(
        user=asker.name,
        groups=tuple(sorted(asker.groups)),
        method=asker.method,
        token=asker.token,
        everything=asker.everything,
        roles=roles_of(asker, access_of(request).settings),
        scopes=asker.scopes,
    )


@post("/login")
async def log_in(request: AdminRequest, body: LoginQuestion) -> NewToken:
    """A token for a user and a password (`saltern login`)."""
    logins, asker = access_of(request).logins, principal_of(request)
    with failures_counted(request, login=True):
        token, record = await logins.log_in(asker, body.method, body.user, body.password)
    return NewToken(token=token, view=_token(record))


@get("/tokens")
async def tokens(request: AdminRequest, query: TokensQuery) -> Page[TokenView]:
    """Tokens that are good, and sessions of browsers (`saltern token list`)."""
    found = [
        each
        for each in map(_token, access_of(request).tokens.all())
        if query.user in ("", each.user) and query.kind in ("", each.kind)
    ]
    return page(found, query.offset, query.limit)


@post("/tokens")
async def create_token(request: AdminRequest, body: TokenQuestion) -> NewToken:
    """A new token (`saltern token create`)."""
    access = access_of(request)
    most = access.tokens.limits.token_seconds
    if not 0 < body.seconds <= most:
        raise ServiceError("bad-request", f"a token lives for up to {most / 86400:g} days, and for more than 0 seconds")
    if not 0 < len(body.user) <= _MOST_TEXT or len(body.note) > _MOST_TEXT or len(body.groups) > _MOST_GROUPS:
        raise ServiceError("bad-request", f"a user and a note have up to {_MOST_TEXT} characters")
    token, record = access.tokens.give(
        body.user,
        body.groups,
        "socket",
        body.seconds,
        by=principal_of(request).name,
        note=body.note,
        scopes=body.scopes,
    )
    return NewToken(token=token, view=_token(record))


@post("/tokens/revoke")
async def revoke_tokens(request: AdminRequest, body: TokensQuestion) -> Sequence[str]:
    """Take tokens back; the ids of those that there were (`saltern token revoke`). Who shows one may take that back."""
    access, asker = access_of(request), principal_of(request)
    if set(body.ids) != {asker.token}:
        access.require(asker, "admin", "revoke tokens", {"ids": body.ids})
    return tuple(access.tokens.revoke(body.ids))


@get("/audit")
async def audit(request: AdminRequest, query: AuditListQuery) -> AuditPage:
    """Decisions of the audit log, newest last (`saltern audit`)."""
    log = access_of(request).audit.store.audit_log
    wanted = AuditQuery(
        since=query.since,
        user=query.user,
        denied=query.denied,
        after=query.after,
        limit=query.limit,
    )
    rows = await asyncio.to_thread(log.newest, wanted)
    return AuditPage(rows=tuple(map(_row, rows)))


@get("/audit/export")
async def export_audit(request: AdminRequest, query: AuditListQuery) -> AuditPage:
    """The next rows after one, and which of them do not follow from the ones before (`saltern audit export`)."""
    log = access_of(request).audit.store.audit_log
    rows = await asyncio.to_thread(log.from_row, query.after)
    broken = tuple(broken_links(iter(rows)))
    return AuditPage(rows=tuple(_row(each) for each in rows if each.seq > query.after), broken=broken)


ROUTES: Final = (who_am_i, tokens, create_token, revoke_tokens, audit, export_audit)
OPEN_ROUTES: Final = (log_in,)
"""What anybody may send."""


def _token(record: TokenRecord) -> TokenView:
    return TokenView(
        id=record.id,
        user=record.user,
        groups=record.groups,
        method=record.method,
        created=record.created,
        expires=record.expires,
        created_by=record.created_by,
        note=record.note,
        scopes=record.scopes,
        kind=record.kind,
        parent=record.parent,
    )


def _row(record: AuditRecord) -> AuditView:
    return AuditView(
        seq=record.seq,
        time=record.time,
        user=record.user,
        method=record.method,
        token=record.token,
        action=record.action,
        detail=record.detail,
        allowed=record.allowed,
        why=record.why,
        address=record.address,
        request=record.request,
        digest=record.digest.hex(),
    )
