"""`salt.utils.event`: the events of the controller, for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extmods.salt_compat.utils.small import tagify
from saltern.client.events import ControllerEvents, get_event

__all__ = ["MasterEvent", "MinionEvent", "SaltEvent", "get_event", "get_master_event", "tagify"]


def get_master_event(
    opts: Mapping[str, Any] | None, sock_dir: str | None = None, listen: bool = True, **ignored: Any
) -> ControllerEvents:
    """See `saltern.client.get_event`."""
    return get_event("master", opts=opts, listen=listen)


class SaltEvent(ControllerEvents):
    """See `saltern.client.ControllerEvents`: `SaltEvent("master", sock_dir, opts=opts)`. ValueError for other nodes."""

    def __init__(
        self,
        node: str = "master",
        sock_dir: str | None = None,
        opts: Mapping[str, Any] | None = None,
        listen: bool = True,
        **ignored: Any,
    ) -> None:
        if node != "master":
            raise ValueError(f"there are events of the controller ('master'), and none of a {node}")
        super().__init__(opts, listen=listen)


class MasterEvent(SaltEvent):
    """`MasterEvent(sock_dir, opts)`."""

    def __init__(self, sock_dir: str | None = None, opts: Mapping[str, Any] | None = None, **ignored: Any) -> None:
        super().__init__("master", sock_dir, opts, listen=bool(ignored.get("listen", True)))


class MinionEvent(SaltEvent):
    """A minion has no bus of its own: to make one raises ValueError."""

    def __init__(self, opts: Mapping[str, Any] | None = None, **ignored: Any) -> None:
        super().__init__("minion", None, opts)
