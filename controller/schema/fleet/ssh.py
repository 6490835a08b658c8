"""Machines that are reached over ssh, as the API shows them (`saltern ssh`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from controller.schema.structs import ApiStruct, Identifier, StreamStruct
from controller.schema.targets import TargetExpression

_Roster = Annotated[str, msgspec.Meta(max_length=4 * 1024 * 1024)]


class SshQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which machines of a roster, and how they are reached."""

    target: TargetExpression
    roster: str = ""
    """Kind, in place of the configured one."""
    roster_text: _Roster | None = None
    """A flat roster, in place of the controller's."""
    user: str = ""
    password: str = ""
    private_key: str = ""
    """Path on the controller."""
    port: int = 0
    host_keys: Literal["known", "accept-new", "ignore"] = "known"
    new_worker: bool = False
    """Whether the worker is made anew (`-t`)."""
    key_deploy: bool = False
    """Whether the controller's public key is put there first, for which a password is needed."""
    pre_flight: bool = False
    """Whether the script of `ssh_pre_flight` runs where the worker is, too."""

    def audited(self) -> dict[str, Any]:
        """It without the password, and without a roster, which may have some."""
        kept: dict[str, Any] = msgspec.to_builtins(self)
        kept["password"] = "***" if self.password else ""
        kept["roster_text"] = None if self.roster_text is None else "***"
        return kept


class SshTargetsView(ApiStruct, frozen=True, kw_only=True):
    """Whom a question means."""

    minions: tuple[Identifier, ...]
    at_once: int
    """How many may be visited at the same time."""


class SshVisitView(StreamStruct, frozen=True, kw_only=True, tag="ssh_visit"):
    """How far a visit is; the last item of each machine says ready, or failed."""

    minion: Identifier
    state: Literal["ready", "failed", "wiped"]
    error: str = ""
    hint: str = ""


class SshRawQuestion(SshQuestion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that the machines' shells run; or what removes all of ours there."""

    command: str = ""
    wipe: bool = False
    """Remove the worker and the minion's files instead."""
    timeout: float = 60.0
    """Seconds that the command may take."""


class SshRawView(StreamStruct, frozen=True, kw_only=True, tag="ssh_raw"):
    """What a command did on a machine."""

    minion: Identifier
    retcode: int
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    """Why it was not run."""

    def shown(self) -> dict[str, Any]:
        """As Salt shows it."""
        return {"retcode": self.retcode, "stderr": self.stderr or self.error, "stdout": self.stdout}
