"""The script of a roster's entry that prepares a machine (`ssh_pre_flight`): it runs there before Python is needed.

It runs as the user who logs in, by /bin/sh, and only where the folder of the worker is not there yet, unless somebody
asks for it. Behaviour: https://docs.saltproject.io/en/latest/topics/ssh/index.html#running-a-pre-flight-script.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from dataclasses import replace
from pathlib import Path

from controller.config.limits import SshLimits
from controller.ssh.command import HostKeys, SshCommands
from controller.ssh.raw_command import OF_SSH, RawCommand
from controller.ssh.target import SshTarget
from controller.ssh.visit import VisitFailed, explain

MOST_SCRIPT = 96 * 1024
"""Bytes of a script: it goes as one word of a command line, which Linux has 128 KiB for."""


async def run_pre_flight(
    target: SshTarget, commands: SshCommands, host_keys: HostKeys, limits: SshLimits, *, again: bool
) -> None:
    """Run the script of a target, where it has one and needs it. Raises VisitFailed: the machine is left alone.

    Args:
        target: the machine.
        commands: make the command line of ssh.
        host_keys: see `HostKeys`.
        limits: what the script may take and print.
        again: run it where the worker is, too.
    """
    if not target.ssh_pre_flight:
        return
    name = Path(target.ssh_pre_flight).name
    line = pre_flight_line(target, await asyncio.to_thread(_script, target.ssh_pre_flight), name, again=again)
    command = RawCommand(line, host_keys, limits.pre_flight_seconds, limits.output_bytes)
    done = await command.on(replace(target, sudo=False), commands)
    if not done.retcode:
        return
    if done.retcode == OF_SSH and done.stderr:
        raise explain(target, OF_SSH, done.stderr)
    said = (done.error or done.stderr.strip() or done.stdout.strip()).splitlines()
    raise VisitFailed(
        f"the script of ssh_pre_flight ({name}) ended with {done.retcode}{f': {said[-1]}' if said else ''}",
        "try it by hand there; it runs by /bin/sh, as the user who logs in",
    )


def pre_flight_line(target: SshTarget, script: str, name: str, *, again: bool) -> str:
    """The line that runs a script there, with its arguments."""
    run = "exec " + shlex.join(["/bin/sh", "-c", script, name, *target.ssh_pre_flight_args])
    return run if again else f"[ -d {_folder(target)} ] || {run}"


def _folder(target: SshTarget) -> str:
    """The worker's, in words of the shell: as `minion.visit.bootstrap` finds it."""
    if target.thin_dir:
        return shlex.quote(target.thin_dir)
    works = (target.sudo_user or "root") if target.sudo else target.user
    if works == "root":
        return "/var/lib/saltern-ssh"
    home = f"~{shlex.quote(works)}" if target.sudo else '"$HOME"'
    return f"{home}/.local/state/saltern-ssh"


def _script(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_SCRIPT + 1)
    except OSError as error:
        raise VisitFailed(
            f"the script of ssh_pre_flight cannot be read: {error.strerror}: {path}", "it is a file of the controller"
        ) from error
    if len(data) > MOST_SCRIPT or b"\0" in data:
        raise VisitFailed(f"the script of ssh_pre_flight is a text of {MOST_SCRIPT} bytes at most: {path}")
    return os.fsdecode(data)
