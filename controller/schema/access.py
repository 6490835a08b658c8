"""Tokens of people, and the audit log. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from controller.config.access import Role
from controller.schema.structs import ApiStruct, Identifier, RowNumber

ScopeName: TypeAlias = Literal["read", "operate", "approve", "admin"]
"""What a token is for; each covers those before it."""


class LoginQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern login`."""

    method: str = "pam"
    user: str
    password: str


class TokenQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern token create`."""

    user: str
    groups: tuple[str, ...] = ()
    seconds: float
    """That it lives."""
    note: str = ""
    scopes: tuple[ScopeName, ...] = ()
    """What it is for alone; none: everything that the user may."""


class TokensQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern token list`: all of them, unless a limit is given."""

    user: Identifier = ""
    """Only those that are for this one."""
    kind: Literal["", "token", "session"] = ""
    offset: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None


class TokensQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern token revoke`."""

    ids: tuple[str, ...]


class TokenView(ApiStruct, frozen=True, kw_only=True):
    """A token that was given to somebody."""

    id: str
    user: str
    groups: tuple[str, ...]
    method: str
    created: float
    expires: float
    created_by: str
    note: str
    scopes: tuple[ScopeName, ...] = ()
    """What it is for alone; none: everything that its holder may."""
    kind: Literal["token", "session"] = "token"
    """`session`: that of a browser, shown as a cookie."""
    parent: str = ""
    """Id of the token that a session was opened with, and ends with."""


class NewToken(ApiStruct, frozen=True, kw_only=True):
    """A new one: the only time that it is told."""

    token: str
    view: TokenView


class AuditListQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern audit`."""

    since: float = 0.0
    user: Identifier = ""
    denied: bool = False
    after: RowNumber = 0
    """Rows with a higher number."""
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class AuditView(ApiStruct, frozen=True, kw_only=True):
    """A decision."""

    seq: int
    time: float
    user: str
    method: str
    token: str
    action: str
    detail: str
    """JSON of what was asked, as far as it is kept."""
    allowed: bool
    why: str
    address: str = ""
    """Where the request came from, when it came over the network."""
    request: str = ""
    """Id of the request, as the answer said it (`X-Request-Id`)."""
    digest: str
    """Hexadecimal SHA-256 of the row and the digest before it."""


class AuditPage(ApiStruct, frozen=True, kw_only=True):
    """Rows in order, and those of them that do not follow from the ones before."""

    rows: tuple[AuditView, ...]
    broken: tuple[int, ...] = ()


class WhoAmI(ApiStruct, frozen=True, kw_only=True):
    """`saltern whoami`."""

    user: str
    groups: tuple[str, ...]
    method: str
    token: str
    """Id of the token that was shown; empty: the kernel says who it is."""
    everything: bool
    """Whether it is root or the controller's own user."""
    roles: tuple[Role, ...] = ()
    """`viewer`, `operator`, `approver`, `admin`: those that one has."""
    scopes: tuple[ScopeName, ...] = ()
    """What the token is for alone; none: everything that its holder may."""


class SessionQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Log a browser in: by a token, by a user and a password, or with neither as who the request is from."""

    token: str = ""
    method: str = "pam"
    user: str = ""
    password: str = ""


class SessionView(ApiStruct, frozen=True, kw_only=True):
    """A session of a browser."""

    id: str
    user: str
    groups: tuple[str, ...]
    method: str
    roles: tuple[Role, ...] = ()
    """As in `WhoAmI`: a page shows what may be done."""
    scopes: tuple[ScopeName, ...] = ()
    expires: float


class NewSession(ApiStruct, frozen=True, kw_only=True):
    """A session with the token that its pages send as `X-CSRF-Token` with what changes something."""

    session: SessionView
    csrf: str
