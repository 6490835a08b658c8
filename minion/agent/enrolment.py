"""What the minion shows with its key so that it is accepted: an enrolment token, and grains.

Part of the agent; called for each key request of a key that is not accepted yet.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.config.settings import MinionSettings
from wire.messages import KeyRequest

log = logging.getLogger(__name__)

_MOST_TOKEN = 256
_MOST_VALUE = 1024


def enrolment_request(settings: MinionSettings, grains: Mapping[str, Any]) -> KeyRequest:
    """The request, with the token of the settings or of its file, and the grains of `autosign_grains` as text."""
    shown = {}
    for name in settings.autosign_grains:
        value = grains.get(name)
        if value is not None and len(str(value)) <= _MOST_VALUE:
            shown[name[:_MOST_TOKEN]] = str(value)
    return KeyRequest(id=settings.id, token=_token(settings), autosign_grains=shown)


def _token(settings: MinionSettings) -> str:
    path = settings.enrolment_token_file
    if path is None:
        return settings.enrolment_token[:_MOST_TOKEN]
    try:
        return _read(path)
    except FileNotFoundError:
        return ""  # it is removed by whoever wrote it when the minion has been accepted
    except (OSError, UnicodeDecodeError) as error:
        log.warning("event=enrolment_token_not_read path=%s error=%s", path, error)
        return ""


def _read(path: Path) -> str:
    # O_NONBLOCK: a FIFO must not hold the agent.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            log.warning("event=enrolment_token_readable path=%s do=%s", path, f"chmod 600 {path}")
        return file.read(_MOST_TOKEN + 1).decode("utf-8").strip()[:_MOST_TOKEN]
