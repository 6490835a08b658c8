"""What a compile worker is started with: handed over as an argument of its command."""

from __future__ import annotations

import msgspec

from controller.compilation.sandbox import SandboxPolicy


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds that a worker sets for itself before it serves."""

    sandbox_policy: SandboxPolicy | None
    """None: it may do what its user may."""
    memory_bytes: int
    """Of its own memory; a compile that wants more gets an error."""
    max_states: int
    """Of one minion; more are an error."""
    controller_pid: int
    """The process that it ends with."""
    niceness: int = 0
    """Added to what every worker has."""

    def as_argument(self) -> str:
        """One argument of a command."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_argument(cls, argument: str) -> WorkerSettings:
        """What `as_argument` gave."""
        return msgspec.json.decode(argument, type=cls)
