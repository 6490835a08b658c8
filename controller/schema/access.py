"""Tokens of people, and the audit log. Times are seconds since the epoch."""

from __future__ import annotations

from controller.schema.structs import ApiStruct


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


class NewToken(ApiStruct, frozen=True, kw_only=True):
    """A new one: the only time that it is told."""

    token: str
    view: TokenView


class AuditListQuery(ApiStruct, frozen=True, kw_only=True):
    """`saltern audit`."""

    since: float = 0.0
    user: str = ""
    denied: bool = False
    after: int = 0
    """Rows with a higher number."""
    limit: int = 100


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
