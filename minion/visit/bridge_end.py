"""The end of a visit on the target: the minion's folder and key, its agent, and the bridge that the agent connects by.

Called by `minion.visit.bootstrap`, in a process of the ssh session. The agent is a process of its own: when the session
ends before its work does, it finishes what it runs, keeps the results, and the next visit brings them home.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from minion.machine.file_locks import lock_holder
from wire.bridge import Bridge, BrokenBridge
from wire.keys import load_or_create

PORTS = (4505, 4506)
"""Of the agent's `master`: names of sockets in the bridge's folder."""
PREDECESSOR_SECONDS = 60.0
"""That the agent of an earlier visit has to end: after the state that it is at."""
FINISH = b"finish"
"""The controller's note that nobody wants anything more."""
FINISH_SECONDS = 3600.0
"""That the agent has, from then on, for what it still runs."""


def serve(header: Mapping[str, Any], folder: str, to_controller: int) -> int:
    """Serve a visit until the agent has ended or the controller is gone; the exit code.

    Args:
        header: what the controller says: `id`, `options` (of the minion's configuration), `drift` (whether drift is
            looked for, once).
        folder: the minion's.
        to_controller: descriptor of the pipe to the controller; the one from it is standard input.
    """
    home = Path(folder)
    config_dir = home / "etc"
    config_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _end_predecessor(home / "cache" / "agent.lock"):
        _say(to_controller, {"error": "the agent of an earlier visit does not end: see its log in " + str(home)})
        return 1
    sockets = Path(tempfile.mkdtemp(prefix="saltern-ssh-"))
    try:
        options = {
            **header["options"],
            "id": header["id"],
            "pki_dir": str(home / "pki"),
            "cachedir": str(home / "cache"),
            "log_file": str(home / "log"),
            "master": str(sockets),
            "master_port": PORTS[1],
            "publish_port": PORTS[0],
        }
        config = config_dir / "minion"
        config.write_text(json.dumps(options), encoding="utf-8")
        _say(to_controller, {"public": load_or_create(home / "pki" / "minion.key").public})
        listening = {port: _listen(sockets / str(port)) for port in PORTS}
        agent = _start_agent(config_dir, home / "log", drift=bool(header["drift"]))
        gc.enable()
        return asyncio.run(_carry(listening, agent, to_controller))
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


def _say(fd: int, message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode()
    os.write(fd, len(data).to_bytes(4, "big") + data)


def _end_predecessor(lock: Path) -> bool:
    """Have the agent of an earlier visit end, whose session was lost; its runs are resumed by the next one."""
    deadline = time.monotonic() + PREDECESSOR_SECONDS
    told = None
    while (holder := lock_holder(lock) if lock.parent.is_dir() else None) is not None:
        if holder != told:
            told = holder
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder, signal.SIGTERM)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _listen(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(16)
    return listening


def _start_agent(config_dir: Path, log: Path, *, drift: bool) -> int:
    """Fork the agent; its process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()  # it outlives the ssh session where it has to
        nothing = os.open(os.devnull, os.O_RDWR)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        for fd, to in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(fd, to)
        os.closerange(3, 64)
        from minion.agent.agent import main
        from minion.agent.visit import AgentVisit

        gc.freeze()  # what is imported stays
        gc.enable()  # as `minion.visit.bootstrap` has not
        code = main(config_dir, visit=AgentVisit(checks_drift=drift))
    finally:
        sys.stderr.flush()
        os._exit(code)


async def _carry(listening: Mapping[int, socket.socket], agent: int, to_controller: int) -> int:
    """Carry the agent's connections until it has ended, or the controller is gone."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # of a session with a terminal: its input ends, too, and that counts
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(to_controller, "wb", 0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)

    def noted(note: bytes) -> None:
        if note == FINISH:
            os.kill(agent, signal.SIGUSR1)
            loop.call_later(FINISH_SECONDS, os.kill, agent, signal.SIGTERM)

    bridge = Bridge(reader, writer, noted=noted)
    servers = [
        await asyncio.start_unix_server(partial(bridge.carry, str(port)), sock=each) for port, each in listening.items()
    ]
    ended = loop.run_in_executor(None, os.waitpid, agent, 0)
    carried = asyncio.ensure_future(bridge.run())
    await asyncio.wait((ended, carried), return_when=asyncio.FIRST_COMPLETED)
    for server in servers:
        server.close()
    if not ended.done():
        os.kill(agent, signal.SIGUSR1)
        sys.stdout.flush()
        os._exit(0)  # the agent goes on alone
    carried.cancel()
    with contextlib.suppress(asyncio.CancelledError, BrokenBridge, OSError):
        await carried
    return os.waitstatus_to_exitcode(ended.result()[1])
