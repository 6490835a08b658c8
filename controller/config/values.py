"""Kinds of values that options of the controller take, beyond those of `options.kinds`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from options.kinds import (
    Prepare,
    Wanted,
    absolute,
    one_as_list,
)

LOG_LEVELS = ("all", "garbage", "trace", "debug", "info", "warning", "error", "critical", "quiet")
"""Salt's names."""


MOST_SINGLE_SERIES = 1000
"""Minions up to which each has series of its own, unless `metrics_per_minion` says otherwise: ten or so of each, which
are read from the store at each scrape."""


def nearest_level(value: str) -> str:
    """The level of the log that comes nearest to one of Salt's."""
    return {"all": "debug", "garbage": "debug", "trace": "debug", "quiet": "critical"}.get(value, value)


def _log_level(value: Any) -> Any:
    if value not in LOG_LEVELS:
        raise ValueError
    return nearest_level(value)


def _per_minion(value: Any) -> Any:
    """YAML reads true and false as flags."""
    found = {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
    if found not in ("auto", "true", "false"):
        raise ValueError
    return found


def _address(value: Any) -> Any:
    """`*` and names of hosts would be guessed at, so they are not taken."""
    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError:
        raise ValueError("an IP address of this machine, like 127.0.0.1 or 0.0.0.0") from None


def _optional_absolute(value: Any) -> Any:
    return None if value in (None, "") else absolute(value)


def _range_address(value: Any) -> Any:
    """Part of an address, so that it has nothing that would begin another part of one."""
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or not _RANGE_ADDRESS.fullmatch(value):
        raise ValueError
    return value


def _public_url(value: Any) -> Any:
    """Stands in links of comments, so that it has nothing that would end one."""
    found = value.rstrip("/") if isinstance(value, str) else ""
    if value != "" and not _PUBLIC_URL.fullmatch(found):
        raise ValueError
    return found


def _grants(value: Any) -> Any:
    found = one_as_list(value)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("a list of names")
    if not all(each in ("network", "programs") or each.startswith("/") for each in found):
        raise ValueError
    return found


_RANGE_ADDRESS = re.compile(r"(https?://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?")
ControllerLogLevel: TypeAlias = Annotated[str, Wanted("one of " + ", ".join(LOG_LEVELS)), Prepare(_log_level)]
PerMinion: TypeAlias = Annotated[str, Wanted("auto, true or false"), Prepare(_per_minion)]
ControllerPath: TypeAlias = Annotated[Path, Wanted("an absolute path"), Prepare(absolute)]
OptionalControllerPath: TypeAlias = Annotated[
    Path | None, Wanted("an absolute path, or empty"), Prepare(_optional_absolute)
]
AutosignMinutes: TypeAlias = Annotated[float, Wanted("minutes, 0 or more", ge=0)]
PublicUrl: TypeAlias = Annotated[
    str, Wanted("an address like https://saltern.example.org, or that with a path"), Prepare(_public_url)
]
OtlpEndpoint: TypeAlias = Annotated[
    str, Wanted("an address like http://127.0.0.1:4318/v1/traces"), Prepare(_public_url)
]
HttpAddress: TypeAlias = Annotated[str, Prepare(_address)]
RangeAddress: TypeAlias = Annotated[str, Wanted("HOST:PORT, or that with https:// before it"), Prepare(_range_address)]
Grants: TypeAlias = Annotated[
    tuple[str, ...], Wanted("a list of `network`, `programs` and absolute paths"), Prepare(_grants)
]


def _commands(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError
    found = {str(name): [words] if isinstance(words, str) else words for name, words in value.items()}
    if not all(
        isinstance(words, list) and words and all(isinstance(w, str) for w in words) for words in found.values()
    ):
        raise ValueError
    if not all(words[0].startswith("/") for words in found.values()):
        raise ValueError
    return found


RolloutCommands: TypeAlias = Annotated[
    Mapping[str, tuple[str, ...]],
    Wanted("a mapping of names to programs, like `smoke: [/usr/local/bin/smoke, --fast]`"),
    Prepare(_commands),
]
