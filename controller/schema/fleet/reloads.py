"""A reload of the configuration."""

from __future__ import annotations

from controller.schema.structs import ApiStruct


class ReloadQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern reload`."""

    check: bool = False
    """Only say what a reload would do."""


class ReloadView(ApiStruct, frozen=True, kw_only=True):
    """What a reload did. Names of options, sorted."""

    reloaded: tuple[str, ...] = ()
    """That changed since the last reload, and hold from now on."""
    restart: tuple[str, ...] = ()
    """That are other than when the controller started: those of the start hold until it is started again."""
