"""Tokens and the audit log."""

from __future__ import annotations

import asyncio
from typing import Final

from litestar import Response, get, post

from controller.api import encoding
from controller.api.asked import AdminRequest, access_of, body_of, principal_of, query_of
from controller.schema.access import (
    AuditListQuery,
    AuditPage,
    AuditView,
    LoginQuestion,
    NewToken,
    TokenQuestion,
    TokensQuestion,
    TokenView,
    WhoAmI,
)
from controller.schema.errors import ServiceError
from controller.store.access.audit import AuditQuery, AuditRecord, broken_links
from controller.store.access.tokens import TokenRecord

_MOST_ROWS = 10_000
_MOST_TEXT = 200
_MOST_GROUPS = 100


@get("/whoami")
async def who_am_i(request: AdminRequest) -> Response[bytes]:
    """`saltern whoami`."""
    asker = principal_of(request)
    return encoding.answer(
        WhoAmI(
            user=asker.name,
            groups=tuple(sorted(asker.groups)),
            method=asker.method,
            token=asker.token,
            everything=asker.everything,
            scopes=asker.scopes,
        )
    )


@post("/login", status_code=200)
async def log_in(request: AdminRequest) -> Response[bytes]:
    """`saltern login`."""
    asked = await body_of(request, LoginQuestion)
    logins = access_of(request).logins
    token, record = await logins.log_in(principal_of(request), asked.method, asked.user, asked.password)
    return encoding.answer(NewToken(token=token, view=_token(record)))


@get("/tokens")
async def tokens(request: AdminRequest) -> Response[bytes]:
    """`saltern token list`."""
    return encoding.answer(tuple(map(_token, access_of(request).tokens.all())))


@post("/tokens", status_code=200)
async def create_token(request: AdminRequest) -> Response[bytes]:
    """`saltern token create`."""
    asked, access = await body_of(request, TokenQuestion), access_of(request)
    most = access.tokens.limits.token_seconds
    if not 0 < asked.seconds <= most:
        raise ServiceError("bad-request", f"a token lives for up to {most / 86400:g} days, and for more than 0 seconds")
    if not 0 < len(asked.user) <= _MOST_TEXT or len(asked.note) > _MOST_TEXT or len(asked.groups) > _MOST_GROUPS:
        raise ServiceError("bad-request", f"a user and a note have up to {_MOST_TEXT} characters")
    token, record = access.tokens.give(
        asked.user,
        asked.groups,
        "socket",
        asked.seconds,
        by=principal_of(request).name,
        note=asked.note,
        scopes=asked.scopes,
    )
    return encoding.answer(NewToken(token=token, view=_token(record)))


@post("/tokens/revoke", status_code=200)
async def revoke_tokens(request: AdminRequest) -> Response[bytes]:
    """`saltern token revoke`; who shows a token may take that one back."""
    asked, access, asker = await body_of(request, TokensQuestion), access_of(request), principal_of(request)
    if set(asked.ids) != {asker.token}:
        access.require(asker, "admin", "revoke tokens", {"ids": asked.ids})
    return encoding.answer(tuple(access.tokens.revoke(asked.ids)))


@get("/audit")
async def audit(request: AdminRequest) -> Response[bytes]:
    """`saltern audit`."""
    asked = query_of(request, AuditListQuery)
    log = access_of(request).audit.store.audit_log
    query = AuditQuery(
        since=asked.since,
        user=asked.user,
        denied=asked.denied,
        after=asked.after,
        limit=min(max(asked.limit, 1), _MOST_ROWS),
    )
    rows = await asyncio.to_thread(log.newest, query)
    return encoding.answer(AuditPage(rows=tuple(map(_row, rows))))


@get("/audit/export")
async def export_audit(request: AdminRequest) -> Response[bytes]:
    """`saltern audit export`: the next rows after one, and which of them do not follow from the ones before."""
    after = query_of(request, AuditListQuery).after
    log = access_of(request).audit.store.audit_log
    rows = await asyncio.to_thread(log.from_row, after)
    broken = tuple(broken_links(iter(rows)))
    return encoding.answer(AuditPage(rows=tuple(_row(each) for each in rows if each.seq > after), broken=broken))


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
