"""Small helpers of several modules of Salt, each too small for a file of its own; `finder` says which has which."""

from __future__ import annotations

import fnmatch
import ipaddress as ipaddress  # of `salt._compat`
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO as BytesIO  # of `salt.utils.stringio`
from io import StringIO as StringIO
from types import MappingProxyType
from typing import IO, Any

import msgspec

from extmods.salt_compat.utils.atomic import Replacement

EX_OK, EX_GENERIC, EX_STATE_COMPILER_ERROR, EX_STATE_FAILURE, EX_PILLAR_FAILURE = 0, 1, 1, 2, 5
EX_AGGREGATE, EX_USAGE, EX_NOUSER, EX_UNAVAILABLE, EX_SOFTWARE = 20, 64, 67, 69, 70
EX_CANTCREAT, EX_TEMPFAIL, EX_NOPERM = 73, 75, 77
"""`salt.defaults.exitcodes`."""

ROOT_DIR, CONFIG_DIR, SRV_ROOT_DIR = "/", "/etc/salt", "/srv"
CACHE_DIR, SOCK_DIR, LOGS_DIR, PIDFILE_DIR = "/var/cache/salt", "/var/run/salt", "/var/log/salt", "/var/run"
BASE_FILE_ROOTS_DIR, BASE_PILLAR_ROOTS_DIR = "/srv/salt", "/srv/pillar"
"""`salt.syspaths`."""

DEFAULT_TARGET_DELIM, NOT_SET = ":", "__unset__"
"""`salt.defaults`."""

__version__, version_string, __saltstack_version__ = "3008.3", "3008.3", (3008, 3)
"""`salt.version`: the Salt whose language this speaks."""


def tagify(suffix: Any = "", prefix: str = "", base: str = "salt") -> str:
    """`salt.utils.event`: the tag of an event out of its parts."""
    listed = suffix if isinstance(suffix, list | tuple) else [suffix]
    return "/".join(str(part).strip("/") for part in (base, prefix, *listed) if part)


def list_to_dict(config: Any) -> dict[str, Any]:
    """`salt.utils.beacons`: a beacon's list of mappings as one mapping."""
    listed = config if isinstance(config, list) else [config]
    return {key: value for item in listed if isinstance(item, Mapping) for key, value in item.items()}


def remove_hidden_options(config: Any, whitelist: Any) -> Any:
    """`salt.utils.beacons`: without the options that every beacon has."""
    hidden = {"enabled", "interval", "disable_during_state_run", "beacon_module"} - set(whitelist)
    if isinstance(config, Mapping):
        return {key: value for key, value in config.items() if key not in hidden}
    return [item for item in config if not (isinstance(item, Mapping) and hidden & set(item))]


def split(orig: str, sep: str | None = None) -> Iterator[str]:
    """`salt.utils.itertools`: the parts of a text, one after the other."""
    yield from orig.split(sep)


def read_file(file: IO[Any], chunk_size: int = 1 << 20) -> Iterator[Any]:
    """`salt.utils.itertools`: an open file in pieces; it is closed then."""
    with file:
        while piece := file.read(chunk_size):
            yield piece


def fnmatch_multiple(candidates: Any, pattern: str) -> Any:
    """`salt.utils.itertools`: the first that a pattern matches."""
    return next((one for one in candidates if fnmatch.fnmatch(one, pattern)), None)


def strftime(date: Any = None, format: str = "%Y-%m-%d") -> str:  # noqa: A002  (Salt's name)
    """`salt.utils.dateutils`: a time as text; now without one."""
    return date_cast(date).strftime(format)


def date_cast(date: Any) -> datetime:
    """`salt.utils.dateutils`: a time out of seconds, text or a time."""
    if date is None:
        return datetime.now()
    if isinstance(date, datetime):
        return date
    text = str(date)
    return datetime.fromtimestamp(float(text)) if text.replace(".", "", 1).isdigit() else datetime.fromisoformat(text)


def utcnow() -> datetime:
    """`salt.utils.timeutil`: now, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


def utcfromtimestamp(timestamp: float) -> datetime:
    """`salt.utils.timeutil`: a time, without a zone."""
    return datetime.fromtimestamp(timestamp, UTC).replace(tzinfo=None)


def freeze(value: Any) -> Any:
    """`salt.utils.immutabletypes`: a value that nobody changes."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(inner) for inner in value)
    return frozenset(value) if isinstance(value, set) else value


ImmutableDict, ImmutableList, ImmutableSet = MappingProxyType, tuple, frozenset


def loads(message: bytes, encoding: str | None = None, raw: bool = False) -> Any:
    """`salt.payload`: a packed value."""
    return msgspec.msgpack.decode(message)


def dumps(value: Any, use_bin_type: bool = False) -> bytes:
    """`salt.payload`: a value packed."""
    return msgspec.msgpack.encode(value, enc_hook=str)


packb, unpackb = dumps, loads


def atomic_open(filename: str, mode: str = "w") -> Any:
    """`salt.utils.atomicfile`: a file whose new content is there when it is closed, or not at all."""
    return Replacement(filename, mode)


def booted(context: Any = None) -> bool:
    """`salt.utils.systemd`: whether systemd runs this machine."""
    return os.path.isdir("/run/systemd/system")  # noqa: PTH112


def offline(context: Any = None) -> bool:
    """`salt.utils.systemd`: whether this is a root of a system that does not run."""
    return bool(os.environ.get("SYSTEMD_OFFLINE")) and not booted()


def version(context: Any = None) -> int | None:
    """`salt.utils.systemd`: its version; None without one."""
    try:
        said = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    found = re.match(r"systemd (\d+)", said)
    return int(found[1]) if found else None


def has_scope(context: Any = None) -> bool:
    """`salt.utils.systemd`: whether it has scopes."""
    return booted() and (version() or 0) >= 205


def get_module_environment(env: Any = None, function: str | None = None) -> dict[str, str]:
    """`salt.utils.environment`: variables that the configuration sets for a module; none here."""
    return {}


def split_locale(loc: str) -> dict[str, str]:
    """`salt.utils.locales`: the parts of a locale."""
    rest, _, charmap = loc.partition(" ")
    rest, _, modifier = rest.partition("@")
    rest, _, codeset = rest.partition(".")
    language, _, territory = rest.partition("_")
    parts = {"language": language, "territory": territory, "codeset": codeset, "charmap": charmap}
    return {**parts, "modifier": modifier}


def join_locale(comps: Mapping[str, str]) -> str:
    """`salt.utils.locales`: a locale out of its parts."""
    signs = (("territory", "_"), ("codeset", "."), ("modifier", "@"), ("charmap", " "))
    return comps.get("language", "") + "".join(f"{sign}{comps[name]}" for name, sign in signs if comps.get(name))


def normalize_locale(loc: str) -> str:
    """`salt.utils.locales`: a locale as `locale -a` has it."""
    parts = split_locale(loc)
    parts["territory"] = parts["territory"].upper()
    parts["codeset"] = parts["codeset"].lower().replace("-", "")
    return join_locale({**parts, "charmap": ""})


def get_encodings() -> list[str]:
    """`salt.utils.locales`: encodings to try on text."""
    return ["utf-8", "latin-1"]


def pack_dunder(name: str) -> None:
    """`salt.utils.compat`: nothing is to be done here, the loader has done it."""


def cmp(one: Any, other: Any) -> int:
    """`salt.utils.compat`: -1, 0 or 1."""
    return int(one > other) - int(one < other)
