"""What of saltern.yaml holds for a minion. Times are seconds since the epoch, durations seconds."""

from __future__ import annotations

from typing import Literal

from controller.schema.structs import ApiStruct


class PolicyKey(ApiStruct, frozen=True, kw_only=True):
    """One key, and what says so."""

    key: str
    """`apply`, `drift.mode`."""
    value: bool | int | float | str | None
    source: str
    """`default`, `saltern.yaml`, or the entry of `policies` with its line."""


class PolicyWindow(ApiStruct, frozen=True, kw_only=True):
    """A window that holds for the minion."""

    kind: Literal["allow", "deny"]
    schedule: str
    duration: float
    timezone: str
    manual: bool
    source: str
    open: bool
    """Whether it is between its beginning and its end."""


class PolicyIgnored(ApiStruct, frozen=True, kw_only=True):
    """Differences that are no drift on the minion."""

    state: str
    id: str
    field: str
    """Globs."""
    expires: str = ""
    """Last day, `2026-12-31`."""
    expired: bool = False
    """Whether that is over: it holds no longer."""
    reason: str = ""
    source: str


class PolicyView(ApiStruct, frozen=True, kw_only=True):
    """The policy of one minion."""

    minion: str
    revision: str = ""
    """Label of the revision whose policy it is."""
    entries: tuple[str, ...] = ()
    """Of `policies`, which mean the minion, in order."""
    keys: tuple[PolicyKey, ...] = ()
    windows: tuple[PolicyWindow, ...] = ()
    ignored: tuple[PolicyIgnored, ...] = ()
    open: bool = True
    """Whether something may be applied now by itself."""
    manual: bool = True
    """Whether people may have something applied now."""
    why: str = ""
    """Why nothing may be applied by itself."""
    opens_at: float | None = None
    changes_at: float | None = None
    """When a window begins or ends next."""
