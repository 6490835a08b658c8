"""What a machine has now of what a state manages: the questions to its minion, and its answers as types.

Pure; `adoptions` sends the questions. A minion may answer anything: what is no answer raises `NotAdopted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from controller.adoption.refusal import NotAdopted
from highstate.ports import question
from highstate.types import Chunk
from wire.messages import FactAnswer, FactQuery

ALLOWED = ("file.regular_content",)
"""Functions that a minion is asked for beside those that templates may ask for."""
_SERVICES = ("running", "dead", "enabled", "disabled")
_MOST_PACKAGES = 50


class FileNow(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it is."""

    data: bytes
    user: str
    group: str
    mode: str
    """Four octal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesNow:
    """Installed versions; empty where a package is not installed."""

    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceNow:
    """A service as it is."""

    running: bool
    enabled: bool


MachineState: TypeAlias = FileNow | PackagesNow | ServiceNow


def questions_of(chunk: Chunk, most_bytes: int) -> tuple[FactQuery, ...]:
    """What a minion is asked about a state; NotAdopted for one that cannot be adopted.

    Args:
        chunk: the state.
        most_bytes: of a file.
    """
    match chunk.state, chunk.fun:
        case "file", "managed":
            return (_query("file.regular_content", chunk.name, most_bytes),)
        case "pkg", "installed":
            return tuple(_query("pkg.version", name) for name in packages_of(chunk))
        case "service", fun if fun in _SERVICES:
            return _query("service.status", chunk.name), _query("service.enabled", chunk.name)
    raise NotAdopted(
        f"{chunk.state}.{chunk.fun} cannot be adopted; file.managed, pkg.installed and service.running, dead, enabled "
        "and disabled can",
        f"change {chunk.sls} by hand: `saltern blame` says where its values are written",
    )


def packages_of(chunk: Chunk) -> dict[str, str | None]:
    """Package -> the version that is asked for, None where any is."""
    given = chunk.arguments.get("pkgs")
    if given is None:
        version = chunk.arguments.get("version")
        return {chunk.name: None if version is None else str(version)}
    found: dict[str, str | None] = {}
    for one in given if isinstance(given, list) else []:
        if isinstance(one, Mapping):
            found |= {str(name): None if version is None else str(version) for name, version in one.items()}
        else:
            found[str(one)] = None
    if not 0 < len(found) <= _MOST_PACKAGES:
        raise NotAdopted(f"pkgs names {len(found)} packages; from 1 to {_MOST_PACKAGES} are looked at")
    return found


def machine_state(
    chunk: Chunk, queries: tuple[FactQuery, ...], answers: Mapping[FactQuery, FactAnswer]
) -> MachineState:
    """What the machine has; NotAdopted where it does not say it."""
    said = [_value(query, answers.get(query)) for query in queries]
    try:
        match chunk.state:
            case "file":
                return msgspec.convert(said[0], FileNow)
            case "pkg":
                names = list(packages_of(chunk))
                return PackagesNow(versions=dict(zip(names, msgspec.convert(said, list[str]), strict=True)))
        running, enabled = msgspec.convert(said, tuple[bool, bool])
        return ServiceNow(running=running, enabled=enabled)
    except msgspec.ValidationError:
        raise NotAdopted("the minion answers what cannot be understood", "is it of the controller's version?") from None


def _query(fun: str, *args: Any) -> FactQuery:
    return FactQuery(fun=fun, asked=question(args, {}))


def _value(query: FactQuery, answer: FactAnswer | None) -> Any:
    if answer is None:
        raise NotAdopted("the minion does not answer", "try again when it is connected")
    if "Path not found" in answer.error:
        raise NotAdopted("there is no such file on the machine", "to have it so, write file.absent in its SLS")
    if "not among the functions" in answer.error:
        raise NotAdopted(f"the minion does not know {query.fun}", "update saltern there")
    if answer.error:
        raise NotAdopted(f"the machine does not tell: {answer.error}")
    return answer.value
