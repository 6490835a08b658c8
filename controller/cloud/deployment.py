"""Makes a machine a minion: waits for its sshd, sends files and a script in one connection, and runs the script.

The key of a machine that is new is taken at the first connection, and has to be the same at all others of the
deployment. What goes there holds the minion's private key.
"""

from __future__ import annotations

import io
import shlex
import subprocess
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from controller.cloud.accounts.account import CloudMachine
from controller.cloud.configuration import MachineProfile
from controller.cloud.deploy_script import DEPLOY_SCRIPT
from controller.cloud.errors import CloudFailed
from controller.ssh.command import SshCommands, raw_line
from controller.ssh.target import BadRoster, SshTarget, target_of

_INTERVAL = 2.0
"""Seconds between two tries of a connection."""
_MOST_SAID = 2000
_BUILT_IN = ("", "bootstrap-salt", "bootstrap-saltern")
"""Names of `script` that mean ours; trees of Salt's have the first."""
_UNPACK = (
    'd=$(mktemp -d) && tar -xf - -C "$d" && {{ sh "$d/deploy.sh" -c "$d" {arguments}; r=$?; rm -rf "$d"; exit $r; }}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionFiles:
    """What a machine is given."""

    private_key: bytes = field(repr=False)
    configuration: Mapping[str, Any]
    grains: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SshFolders:
    """Files of this machine that a deployment needs."""

    known: Path
    """Folder for the keys of hosts; of this deployment alone."""
    own_key: Path
    """The private key for profiles that name none."""
    scripts: Path
    """`cloud.deploy.d`: where `script` is looked for."""


class Deployment:
    """Deploys one machine.

    Args:
        machine: with an address.
        profile: how it is reached, and what is installed there.
        folders: see there.
    """

    def __init__(self, machine: CloudMachine, profile: MachineProfile, folders: SshFolders) -> None:
        self._options = profile.options
        self._scripts = folders.scripts
        self._name = machine.name
        self.target = target_for(machine, profile)
        self._commands = SshCommands(folder=folders.known, own_key=folders.own_key)

    def wait_for_ssh(self) -> None:
        """Wait until somebody may log in there; CloudFailed after `ssh_connect_timeout`."""
        seconds = float(self._options.get("ssh_connect_timeout") or 900)
        deadline = time.monotonic() + seconds
        while True:
            code, said = self._run("true", b"", 30.0)
            if code == 0:
                return
            if time.monotonic() > deadline:
                raise CloudFailed(f"nobody can log in to {self.target.host} within {seconds:g} s: {said}")
            time.sleep(_INTERVAL)

    def deploy(self, files: MinionFiles) -> None:
        """Send the files, and run the script; CloudFailed with what it says."""
        line = _UNPACK.format(arguments=shlex.join(shlex.split(str(self._options.get("script_args") or ""))))
        code, said = self._run(line, self._packed(files), float(self._options.get("deploy_timeout") or 900))
        if code:
            raise CloudFailed(f"the script on {self._name} ended with {code}: {said}")

    def _run(self, line: str, data: bytes, seconds: float) -> tuple[int, str]:
        command = self._commands.command(self.target, raw_line(self.target, line), "accept-new")
        environment = self._commands.environment(self.target)
        try:
            done = subprocess.run(
                command, input=data, capture_output=True, timeout=seconds, check=False, env=environment
            )
        except FileNotFoundError as error:
            raise CloudFailed("there is no ssh here; install openssh-client") from error
        except subprocess.TimeoutExpired:
            return 124, f"it does not end within {seconds:g} s"
        return done.returncode, done.stderr.decode(errors="replace").strip()[-_MOST_SAID:]

    def _packed(self, files: MinionFiles) -> bytes:
        """The folder that the script gets, as a tar."""
        contents: dict[str, bytes] = {
            "deploy.sh": self._script(),
            "minion.key": files.private_key,
            "minion": yaml.safe_dump(dict(files.configuration), sort_keys=False).encode(),
        }
        if files.grains:
            contents["grains"] = yaml.safe_dump(dict(files.grains)).encode()
        packages = self._options.get("packages") or []
        for each in [packages] if isinstance(packages, str) else packages:
            path = Path(str(each))
            contents[f"packages/{path.name}"] = _read(path, "packages")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in contents.items():
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(data), 0o600
                tar.addfile(info, io.BytesIO(data))
        return packed.getvalue()

    def _script(self) -> bytes:
        name = str(self._options.get("script") or "")
        if name in _BUILT_IN:
            return DEPLOY_SCRIPT.encode()
        path = Path(name)
        if not path.is_absolute():
            path = self._scripts / (name if name.endswith(".sh") else f"{name}.sh")
        return _read(path, "script")


def target_for(machine: CloudMachine, profile: MachineProfile) -> SshTarget:
    """How the machine is reached; CloudFailed."""
    options = profile.options
    first, second = machine.public_ips, machine.private_ips
    if options.get("ssh_interface") == "private_ips":
        first, second = second, first
    addresses = (*first, *second)
    if not addresses:
        raise CloudFailed(f"{machine.name} has no address")
    user = str(options.get("ssh_username") or "root")
    entry = {
        "host": addresses[0],
        "user": user,
        "port": options.get("ssh_port") or options.get("port") or 22,
        "priv": options.get("private_key") or options.get("ssh_keyfile"),
        "passwd": options.get("password") if profile.provider.driver == "saltify" else machine.password,
        "sudo": bool(options.get("sudo", user != "root")),
        "timeout": 20,
        "identities_only": bool(options.get("private_key")),
    }
    if entry["sudo"] and options.get("sudo_password"):
        raise CloudFailed("sudo_password is not supported: let sudo ask for none (NOPASSWD), as images of clouds do")
    try:
        return target_of(machine.name, entry, {}, f"the profile {profile.name!r}")
    except BadRoster as error:
        raise CloudFailed(str(error)) from error


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CloudFailed(f"{option}: {path}: {error.strerror}") from error
