"""The agent's settings, read in a child: YAML is needed for a moment and would stay in memory for good.

Called once, by `minion.agent.agent.main`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from minion.agent.child_tasks import read_settings
from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings
from minion.processes import AgentPipe, fork


def settings_from_child(config_dir: Path) -> MinionSettings:
    """The settings of a folder; BadMinionSettings with all that is wrong with them."""

    def work(pipe: AgentPipe) -> None:
        try:
            pipe.send(b"s" + msgspec.msgpack.encode(read_settings(config_dir), enc_hook=str))
        except (BadMinionSettings, OSError) as error:
            pipe.send(b"e" + str(error).encode())

    child = fork(work, umask=0o077)
    frames: list[bytes] = []
    ended = False
    os.set_blocking(child.fd, True)
    while not ended:
        more, ended = child.receive()
        frames += more
    code = child.reap()
    if not frames:
        raise BadMinionSettings(f"{config_dir}: the configuration could not be read (exit code {code}, see above)")
    if frames[0][:1] == b"e":
        raise BadMinionSettings(frames[0][1:].decode())
    return msgspec.msgpack.decode(frames[0][1:], type=MinionSettings, dec_hook=_from_text)


def _from_text(kind: Callable[[str], Any], value: Any) -> Any:
    return Path(value) if kind is Path else kind(value)
