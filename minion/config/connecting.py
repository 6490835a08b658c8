"""What all programs that connect to a controller read in the same way of their files: minion, relay and gateway.

Each has options of its own, with its own names; here is what they mean by a host, a key, and an option that is unknown.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from minion.config.files import BadMinionSettings, parse_file
from minion.config.names import is_minion_id
from options.convert import convert_options
from options.document import Fault, Option
from options.near_names import did_you_mean
from wire.errors import BadKey
from wire.keys import check_public_key


def read_options(
    path: Path, rules: Mapping[str, Any], aliases: Mapping[str, str]
) -> tuple[dict[str, Any], Mapping[str, Option]]:
    """Fields that a file sets, and its options as they are written. Raises BadMinionSettings.

    Args:
        path: of the file; without one nothing is set.
        rules: option -> type of its field.
        aliases: other name -> option.
    """
    faults: list[Fault] = []
    options = parse_file(path, faults) if path.is_file() else {}
    values = convert_options(options, rules, faults, aliases)
    if faults:
        raise BadMinionSettings("\n".join(str(fault) for fault in faults))
    return values, options


def unknown_options(path: Path, names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """A warning for each name that is no option, with the nearest that is one."""
    for name in names:
        if name not in known:
            hint = did_you_mean(name, list(known))
            yield f"{path}: unknown option {name}" + (f"; {hint}" if hint else "")


def host_and_port(name: str, port: int, file: object, option: str) -> tuple[str, int]:
    """Host and port of `host`, `host:port`, an IPv6 address, or `[address]:port` (Salt's forms of `master`).

    Args:
        name: as it is written.
        port: where none is written.
        file: that has it, for who reads the error.
        option: that has it.
    """
    host, colon, written = name.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return name.strip("[]"), port
    if not host or not written.isdigit() or not 0 < int(written) < 65536:
        raise BadMinionSettings(f"{file}: {option}: {name} is no host, and no host with a port")
    return host.strip("[]"), int(written)


def key_of(keys: Mapping[str, str], name: str, file: object, option: str) -> str:
    """The public key that an option has for a host; empty where it has none. Raises BadMinionSettings.

    Args:
        keys: host -> key; that of no name is for all others.
        name: of the host.
        file: that has the option.
        option: its name.
    """
    key = keys.get(name) or keys.get("") or ""
    try:
        if key:
            check_public_key(key)
    except BadKey as error:
        raise BadMinionSettings(f"{file}: {option}: {error}") from error
    return key


def relay_key_of(keys: Mapping[str, str], name: str, file: object) -> str:
    """The key of the relay at a host; empty where the controller itself listens there. Raises BadMinionSettings."""
    key = key_of(keys, name, file, "relay_key")
    if key and importlib.util.find_spec("cryptography") is None:
        raise BadMinionSettings(
            f"{file}: relay_key: sessions through a relay need cryptography: pip install 'saltern[cryptography]'"
        )
    return key


def check_hosts(keys: Mapping[str, str], hosts: Collection[str], file: object, option: str, listed: str) -> None:
    """Raise BadMinionSettings where a mapping of hosts to keys names one that is not in the list `listed`."""
    if strange := keys.keys() - {*hosts, ""}:
        raise BadMinionSettings(f"{file}: {option}: {', '.join(sorted(strange))} is not in `{listed}`")


def id_of_host(path: Path, before: str = "") -> str:
    """The id of a program that has none in its file. Raises BadMinionSettings.

    Args:
        path: of the file.
        before: what stands before the name of the host.
    """
    name = before + os.uname().nodename
    if not is_minion_id(name):
        raise BadMinionSettings(f"{path}: the name of this host, {name!r}, is no id: write one as `id`")
    return name
