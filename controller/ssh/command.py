"""The command line of ssh for a target, and how it gets passwords: from a program that asks nobody."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from controller.ssh.target import SshTarget

HostKeys: TypeAlias = Literal["known", "accept-new", "ignore"]
"""Which keys of hosts are taken: those that are known; those of hosts that are new, too; any."""

SUDO_PROMPT = "saltern-sudo-password:"
_PYTHONS = "python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3 /usr/local/bin/python3"
PYTHON_SHIM = (
    f"for p in {_PYTHONS}; do command -v $p >/dev/null 2>&1 && "
    "$p -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec $p -I {arguments}; done; "
    'echo "there is no Python 3.11 or later on this machine" >&2; exit 69'
)
"""A line for a shell that starts a Python which is new enough; {arguments}: of Python."""
_SHIM = PYTHON_SHIM.format(arguments='-c "$1"')
NO_PYTHON = 69
_ASKPASS = """#!/bin/sh
case "$1" in *assphrase*) printf '%s\\n' "$SALTERN_SSH_PASSPHRASE" ;; *) printf '%s\\n' "$SALTERN_SSH_PASSWORD" ;; esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshCommands:
    """Makes command lines.

    Args:
        folder: `pki_dir/ssh`: the keys of hosts that were accepted, and the program that tells passwords.
        own_key: private key, for targets that name none.
        config_file: `-F`; empty: none.
    """

    folder: Path
    own_key: Path
    config_file: str = ""

    def command(self, target: SshTarget, remote: str, host_keys: HostKeys) -> list[str]:
        """The words that run a command line there.

        Args:
            target: the machine.
            remote: a line for the user's shell there.
            host_keys: see `HostKeys`.
        """
        known = f'"{self.folder / "known_hosts"}" ~/.ssh/known_hosts /etc/ssh/ssh_known_hosts'
        checking = {"known": "yes", "accept-new": "accept-new", "ignore": "no"}[host_keys]
        options = [
            *target.ssh_options,
            f"ConnectTimeout={max(1, round(target.timeout))}",
            f"StrictHostKeyChecking={checking}",
            f"UserKnownHostsFile={'/dev/null' if host_keys == 'ignore' else known}",
            f"BatchMode={'no' if target.passwd or target.priv_passwd else 'yes'}",
            "NumberOfPasswordPrompts=1",
            "ServerAliveInterval=15",
            "ServerAliveCountMax=3",
            "LogLevel=ERROR",
            *(["IdentitiesOnly=yes"] if target.identities_only else []),
        ]
        # With a terminal ssh looks for `~.` in what it carries, which is no keyboard's.
        session = ["-tt", "-e", "none"] if target.tty else ["-T"]
        words = ["ssh", *session, "-F", self.config_file or "none", "-p", str(target.port), "-l", target.user]
        words += ["-i", target.priv or str(self.own_key)]
        for option in options:
            words += ["-o", option]
        return [*words, "--", target.host, remote]

    def environment(self, target: SshTarget) -> Mapping[str, str]:
        """The environment of ssh: with what the program of `askpass` tells."""
        found = {key: value for key, value in os.environ.items() if key not in ("SSH_ASKPASS", "SSH_AUTH_SOCK")}
        if not (target.passwd or target.priv_passwd):
            return found
        return {
            **found,
            "SSH_ASKPASS": str(self.askpass()),
            "SSH_ASKPASS_REQUIRE": "force",
            "DISPLAY": found.get("DISPLAY", ":0"),
            "SALTERN_SSH_PASSWORD": target.passwd,
            "SALTERN_SSH_PASSPHRASE": target.priv_passwd,
        }

    def askpass(self) -> Path:
        """The program that tells ssh a password."""
        path = self.folder / "askpass"
        if not path.exists():
            made = path.with_suffix(f".{os.getpid()}")
            made.write_text(_ASKPASS, encoding="ascii")
            made.chmod(0o700)
            made.replace(path)
        return path


def bootstrap_line(target: SshTarget, bootstrap: str) -> str:
    """The line that starts Python there with this text."""
    return _as_asked(target, ["/bin/sh", "-c", _SHIM, "sh", bootstrap])


def raw_line(target: SshTarget, command: str) -> str:
    """The line that runs a command there as the user who works there."""
    return _as_asked(target, ["/bin/sh", "-c", command])


def _as_asked(target: SshTarget, words: list[str]) -> str:
    lines = ["stty raw -echo -iexten"] if target.tty else []  # bytes pass through the terminal as they are
    if target.cmd_umask:
        lines.append(f"umask {shlex.quote(target.cmd_umask)}")
    if target.set_path:
        lines.append(f"PATH={shlex.quote(target.set_path)}; export PATH")
    if target.sudo:
        asks = ["-S", "-p", SUDO_PROMPT] if target.passwd else ["-n"]
        words = ["sudo", *asks, *(["-u", target.sudo_user] if target.sudo_user else []), "--", *words]
    return "; ".join([*lines, "exec " + shlex.join(words)])
