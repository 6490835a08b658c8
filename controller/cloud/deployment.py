"""Makes a machine a minion: waits for its sshd, sends files and a script in one connection, and runs the script.

The key of a machine that is new is taken at the first connection, and has to be the same at all others of the
deployment. What goes there holds the minion's private key.
"""

from __future__ import annotations

import io
import shlex
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from controller.cloud.accounts.account import CloudMachine, Pause
from controller.cloud.configuration import MachineProfile
from controller.cloud.deploy_script import DEPLOY_SCRIPT
from controller.cloud.errors import CloudFailed
from controller.ssh.command import SshCommands, raw_line
from controller.ssh.target import BadRoster, SshTarget, target_of

_INTERVAL = 2.0
"""Seconds between two tries of a connection."""
_MOST_SAID = 2000
_TOO_LONG = 124
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
        pause: waits between two tries.
        say: tells whoever watches why nobody can log in yet.
    """

    def __init__(
        self,
        machine: CloudMachine,
        profile: MachineProfile,
        folders: SshFolders,
        *,
        pause: Pause,
        say: Callable[[str], None],
    ) -> None:
        self._profile, self._options = profile, profile.options
        self._pause, self._say = pause, say
        self._scripts = folders.scripts
        self._name = machine.name
        self.target = target_for(machine, profile)
        self._commands = SshCommands(folder=folders.known, own_key=folders.own_key)

    def wait_for_ssh(self) -> None:
        """Wait until somebody may log in there; CloudFailed after `ssh_connect_timeout`."""
        seconds = self._profile.seconds("ssh_connect_timeout", 900)
        deadline = time.monotonic() + seconds
        before = ""
        while True:
            code, said = self._run("true", b"", 30.0)
            if code == 0:
                return
            if said != before:
                self._say(f"{self._name}: nobody can log in yet: {said}")
            before = said
            if time.monotonic() > deadline:
                raise CloudFailed(f"nobody can log in to {self.target.host} within {seconds:g} s: {said}")
            self._pause(_INTERVAL)

    def deploy(self, files: MinionFiles) -> None:
        """Send the files, and run the script; CloudFailed with what it says."""
        line = _UNPACK.format(arguments=shlex.join(_words(self._profile)))
        code, said = self._run(line, self._packed(files), self._profile.seconds("deploy_timeout", 900))
        if code:
            raise CloudFailed(f"the script on {self._name} ended with {code}: {said}")

    def _run(self, line: str, data: bytes, seconds: float) -> tuple[int, str]:
        command = self._commands.command(self.target, raw_line(self.target, line), "accept-new")
        environment = self._commands.environment(self.target)
        with tempfile.TemporaryFile() as given:
            given.write(data)
            given.seek(0)
            try:
                process = subprocess.Popen(
                    command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
                )
            except FileNotFoundError as error:
                raise CloudFailed("there is no ssh here; install openssh-client") from error
        code, said = _end_of(process, seconds)
        return code, said if code != _TOO_LONG else f"it does not end within {seconds:g} s {said}".strip()

    def _packed(self, files: MinionFiles) -> bytes:
        """The folder that the script gets, as a tar."""
        contents: dict[str, bytes] = {
            "deploy.sh": _script(self._options, self._scripts),
            "minion.key": files.private_key,
            "minion": yaml.safe_dump(dict(files.configuration), sort_keys=False).encode(),
        }
        if files.grains:
            contents["grains"] = yaml.safe_dump(dict(files.grains)).encode()
        for path in _packages(self._options):
            contents[f"packages/{path.name}"] = _read(path, "packages")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in contents.items():
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(data), 0o600
                tar.addfile(info, io.BytesIO(data))
        return packed.getvalue()


def check_deployment(profile: MachineProfile, scripts: Path) -> None:
    """Whether all that a deployment needs of this machine is here, before a cloud is asked for one. CloudFailed."""
    profile.seconds("ssh_connect_timeout", 0)
    profile.seconds("deploy_timeout", 0)
    _words(profile)
    _script(profile.options, scripts)
    for path in _packages(profile.options):
        _read(path, "packages")
    if key := profile.options.get("private_key"):
        _read(Path(str(key)), "private_key")


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


def _end_of(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, str]:
    """The code with which ssh ends, `_TOO_LONG` where it does not in time, and the end of what it says."""
    assert process.stderr is not None  # noqa: S101 - a pipe
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    kept = b""
    try:
        # However much a machine says, little is kept.
        while data := process.stderr.read(4096):
            kept = (kept + data)[-4 * _MOST_SAID :]
        process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.stderr.close()
    return _TOO_LONG if late.is_set() else process.returncode, kept.decode(errors="replace").strip()[-_MOST_SAID:]


def _words(profile: MachineProfile) -> list[str]:
    try:
        return shlex.split(str(profile.options.get("script_args") or ""))
    except ValueError as error:
        raise CloudFailed(f"{profile.place}: `script_args`: {error}") from error


def _script(options: Mapping[str, Any], scripts: Path) -> bytes:
    name = str(options.get("script") or "")
    if name in _BUILT_IN:
        return DEPLOY_SCRIPT.encode()
    path = Path(name)
    if not path.is_absolute():
        path = scripts / (name if name.endswith(".sh") else f"{name}.sh")
    return _read(path, "script")


def _packages(options: Mapping[str, Any]) -> list[Path]:
    packages = options.get("packages") or []
    return [Path(str(each)) for each in ([packages] if isinstance(packages, str) else packages)]


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CloudFailed(f"{option}: {path}: {error.strerror}") from error
