"""What is asked of an account of a cloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from controller.cloud.configuration import MachineProfile

Pause = Callable[[float], None]
"""Waits so many seconds; CloudFailed where nobody wants to wait any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudMachine:
    """A machine of an account, in the words of `salt-cloud -Q`."""

    id: str
    name: str
    image: str = ""
    size: str = ""
    state: str = ""
    """In capitals: RUNNING, STOPPED, ..."""
    public_ips: tuple[str, ...] = ()
    private_ips: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What else the cloud says of it (`-F`)."""
    password: str = field(default="", repr=False)
    """That the cloud has made for it; empty: none."""

    def shown(self, *, full: bool = False) -> dict[str, Any]:
        """As it is printed."""
        found: dict[str, Any] = {
            "id": self.id,
            "image": self.image,
            "name": self.name,
            "private_ips": list(self.private_ips),
            "public_ips": list(self.public_ips),
            "size": self.size,
            "state": self.state,
        }
        return {**found, "extra": dict(self.extra)} if full else found


class Account(Protocol):
    """One provider. Every function may wait for the cloud, and raises CloudFailed."""

    def machines(self) -> Sequence[CloudMachine]:
        """All that are not gone."""

    def offers(self, what: str) -> Mapping[str, Mapping[str, Any]]:
        """Name -> description of `images`, `sizes` or `locations`."""

    def create(self, name: str, profile: MachineProfile) -> CloudMachine:
        """Have a machine made; it need not be up yet."""

    def reached(self, machine: CloudMachine, seconds: float, pause: Pause) -> CloudMachine:
        """The machine when it has an address, within so many seconds; `pause` waits between two looks."""

    def destroy(self, machine: CloudMachine) -> None:
        """Destroy one."""

    def act(self, machine: CloudMachine, action: str) -> Any:
        """`reboot`, `start` or `stop` one."""
