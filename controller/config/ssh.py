"""The options of machines that are reached over ssh, without an agent of their own (`saltern ssh`); names are Salt's.

Read by `controller.config.settings`, used by `controller.ssh`. Nothing here opens a file or a connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from options.kinds import Count, Flag, Names, OptionalText, Prepare, Seconds, TextMapping, Wanted

ROSTERS = ("flat", "ansible", "cache", "sshconfig")


def _roster(value: Any) -> Any:
    if value not in ROSTERS:
        raise ValueError
    return value


def _port(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


PortOrText: TypeAlias = Annotated[int, Wanted("a port, 1 to 65535", ge=1, le=65535), Prepare(_port)]
RosterKind: TypeAlias = Annotated[str, Wanted("one of " + ", ".join(ROSTERS)), Prepare(_roster)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SshSettings:
    """How targets are reached, where their entries in the roster do not say it."""

    roster: RosterKind = "flat"
    roster_file: OptionalText = ""
    """Empty: `roster` beside the configuration."""
    roster_defaults: TextMapping = field(default_factory=dict, repr=False)
    """Of each entry."""
    ssh_user: OptionalText = "root"
    ssh_port: PortOrText = 22
    ssh_passwd: OptionalText = field(default="", repr=False)
    ssh_priv: OptionalText = ""
    """Private key; empty: `ssh/salt-ssh.rsa` in `pki_dir`, which is made where it is missing."""
    ssh_priv_passwd: OptionalText = field(default="", repr=False)
    ssh_sudo: Flag = False
    ssh_sudo_user: OptionalText = ""
    ssh_timeout: Seconds = 60.0
    """Until a connection counts as not coming about."""
    ssh_identities_only: Flag = False
    ssh_options: Names = ()
    """`-o` of ssh."""
    ssh_config_file: OptionalText = ""
    """`-F` of ssh, where there is such a file; empty: none is read."""
    ssh_max_procs: Count = 25
    """Connections that are made at the same time."""
    ssh_run_pre_flight: Flag = False
    """Whether the script of `ssh_pre_flight` runs at each visit."""
    ssh_minion_opts: TextMapping = field(default_factory=dict, repr=False)
    """Of the minions' configuration."""

    def entry_defaults(self) -> Mapping[str, Any]:
        """What an entry of the roster says that says nothing."""
        return {
            "user": self.ssh_user,
            "port": self.ssh_port,
            "passwd": self.ssh_passwd,
            "priv": self.ssh_priv,
            "priv_passwd": self.ssh_priv_passwd,
            "sudo": self.ssh_sudo,
            "sudo_user": self.ssh_sudo_user,
            "timeout": self.ssh_timeout,
            "identities_only": self.ssh_identities_only,
            "ssh_options": self.ssh_options,
            **self.roster_defaults,
        }
