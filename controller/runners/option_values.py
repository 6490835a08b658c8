"""The options of the controller as plain values, for people and runners: without secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any

from controller.config.settings import ControllerSettings
from gitfs.config.urls import redact

_HIDDEN = "***"
_PRIVATE = ("ext_pillar", "master_tops")
"""Options whose arguments are somebody else's, and may be passwords."""
_SECRET = re.compile(r"passw|pwd|secret|token|credential|private|passphrase", re.IGNORECASE)
_GROUPS = ("language", "trees")
"""Fields that are made of options which stand side by side in the configuration."""


def option_values(settings: ControllerSettings) -> dict[str, Any]:
    """Name -> value. What is kept out of logs stands as `***`, where it is set."""
    found = _fields(settings)
    for about_files in ("given", "notes", "places"):
        found.pop(about_files, None)
    for group in _GROUPS:
        found |= found.pop(group)
    return {name: _HIDDEN if name in _PRIVATE and value else value for name, value in sorted(found.items())}


def _fields(group: Any) -> dict[str, Any]:
    values = {one.name: (one, getattr(group, one.name)) for one in fields(group)}
    return {name: _plain(value) if one.repr or not value else _HIDDEN for name, (one, value) in values.items()}


def _plain(value: Any) -> Any:
    match value:
        case str():
            return redact(value) if "://" in value else value
        case None | bool() | int() | float():
            return value
        case PurePath():
            return str(value)
        case Mapping():
            return {
                str(key): _HIDDEN if one and _SECRET.search(str(key)) else _plain(one) for key, one in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_plain(one) for one in value]
        case _ if is_dataclass(value):
            return _fields(value)
        case _:
            return str(value)
