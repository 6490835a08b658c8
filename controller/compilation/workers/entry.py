"""How a process that renders templates begins: its own bounds, then the sandbox, then a word to the controller.

Called by the `main` of each such process.
"""

from __future__ import annotations

import os
import signal
import socket

import pygit2
from pygit2.enums import ConfigLevel

from controller.compilation.sandbox import SandboxPolicy, Unconfined, confine
from controller.compilation.workers.channel import WorkerChannel
from controller.compilation.workers.resource_limits import end_with_parent, limit_resources
from controller.compilation.workers.settings import WorkerSettings


def begin(sock: socket.socket, settings: WorkerSettings) -> WorkerChannel:
    """The channel to the controller, which was told why the sandbox could not be entered (an empty text: it was)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the controller, which ends us
    end_with_parent(settings.controller_pid)
    os.nice(5 + settings.niceness)  # replies to minions come before compiles
    limit_resources(settings.memory_bytes)
    channel = WorkerChannel(sock)
    channel.send(_enter_sandbox(settings.sandbox_policy).encode())
    return channel


def _enter_sandbox(sandbox_policy: SandboxPolicy | None) -> str:
    """Enter the sandbox; why that cannot be done, or an empty text."""
    if sandbox_policy is None:
        return ""
    _ignore_git_configuration()
    try:
        confine(sandbox_policy)
    except Unconfined as error:
        return str(error)
    return ""


def _ignore_git_configuration() -> None:
    """Have libgit2 read no configuration: one that the sandbox does not let it read would fail every tree."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
