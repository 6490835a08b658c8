"""`cmd_yaml`, `cmd_json`: a command's output as pillar. It runs as the controller's user, by the administrator's order.

The command stands in the controller's configuration, never in a tree. `%s` in it becomes the minion's id, quoted for
the shell, because Salt's users write pipes here.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence

from highstate.ports import SourceFailed
from highstate.types import Minion, Value

MAX_OUTPUT = 16 * 1024 * 1024
"""Bytes that are read of a command."""
_ENVIRONMENT = ("PATH", "LANG", "PYTHONPATH", "HOME")
"""What it gets of the controller's; passwords may stand in the rest."""


class CommandSource:
    """Commands whose output `parse` reads.

    Args:
        parse: text -> data; ValueError when it is no data.
        timeout: seconds that a command may take.
    """

    def __init__(self, parse: Callable[[str], Value], timeout: float = 30.0) -> None:
        self._parse = parse
        self._timeout = timeout

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """See `PillarSource`."""
        command = arguments.get("command") if isinstance(arguments, Mapping) else arguments
        if not isinstance(command, str) or not command:
            raise SourceFailed("it takes a command as its only argument")
        data = self._read(output_of(["/bin/sh", "-c", command.replace("%s", shlex.quote(minion.id))], self._timeout))
        if not isinstance(data, Mapping):
            raise SourceFailed(f"the output is a {type(data).__name__}, not a mapping")
        return data

    def _read(self, output: bytes) -> Value:
        try:
            data = self._parse(output.decode())
        except ValueError as error:
            raise SourceFailed(f"the output cannot be read: {error}") from error
        return {} if data is None else data


def output_of(command: Sequence[str], timeout: float) -> bytes:
    """What a program writes; SourceFailed when it fails, writes too much, or takes more than `timeout` seconds."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
    except OSError as error:
        raise SourceFailed(f"the command cannot be started: {error}") from error
    try:
        output, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        # All that it started: one of them may hold the pipe open.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise SourceFailed(f"the command took more than {timeout:g} s") from error
    if process.returncode:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        raise SourceFailed(f"the command ended with {': '.join([str(process.returncode), *last])}")
    if len(output) > MAX_OUTPUT:
        raise SourceFailed(f"the command writes more than {MAX_OUTPUT} bytes")
    return output
