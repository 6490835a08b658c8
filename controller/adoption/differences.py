"""What a machine has that a state asks to be otherwise, value by value. Pure; called by `adoptions`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from controller.adoption.machine_state import FileNow, MachineState, PackagesNow, ServiceNow, packages_of
from controller.adoption.refusal import NotAdopted
from highstate.types import Chunk, Value

CONTENT = "content"
FUNCTION = "function"
_RANGE = re.compile(r"[*?\[<>=!,|~]|^latest$")
"""In a version that is none of its own."""
_OPPOSITE = {"running": "dead", "dead": "running", "enabled": "disabled", "disabled": "enabled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value that is another on the machine."""

    argument: str
    """Of the state; `content` for that of a file, `function` for the function of the state."""
    wanted: Value
    found: Value
    item: str = ""
    """The package, in `pkgs`."""


def differences(chunk: Chunk, now: MachineState, content: bytes | None) -> tuple[Difference, ...]:
    """What differs; NotAdopted for what cannot be said by a value of the state.

    Args:
        chunk: the state.
        now: what the machine has.
        content: that the state writes; None where it writes none.
    """
    match now:
        case FileNow():
            return tuple(_of_file(chunk, now, content))
        case PackagesNow():
            return tuple(_of_packages(chunk, now))
        case ServiceNow():
            return tuple(_of_service(chunk, now))


def _of_file(chunk: Chunk, now: FileNow, content: bytes | None) -> Iterator[Difference]:
    if content is not None and content != now.data:
        yield Difference(argument=CONTENT, wanted=content, found=now.data)
    mode = chunk.arguments.get("mode")
    if mode is not None and mode != "keep" and _octal(mode) != _octal(now.mode):
        yield Difference(argument="mode", wanted=mode, found=_like(mode, now.mode))
    for name, found in (("user", now.user), ("group", now.group)):
        wanted = chunk.arguments.get(name)
        if isinstance(wanted, str) and not wanted.isdigit() and wanted != found:
            yield Difference(argument=name, wanted=wanted, found=found)


def _octal(mode: Value) -> str:
    return str(mode).lower().removeprefix("0o").lstrip("0") or "0"


def _like(wanted: Value, found: str) -> Value:
    """A mode as the one that is asked for is written."""
    if isinstance(wanted, int):
        return int(_octal(found))
    return found if wanted.startswith("0") else _octal(found)


def _of_packages(chunk: Chunk, now: PackagesNow) -> Iterator[Difference]:
    for name, wanted in packages_of(chunk).items():
        found = now.versions[name]
        if not found:
            raise NotAdopted(f"{name} is not installed", "to have it so, write pkg.removed in its SLS")
        if wanted is None or wanted == found:
            continue
        if _RANGE.search(wanted):
            raise NotAdopted(
                f"version {wanted!r} of {name} is no single version", f"{found} is installed; write it there"
            )
        yield Difference(argument="version", wanted=wanted, found=found, item=name if "pkgs" in chunk.arguments else "")


def _of_service(chunk: Chunk, now: ServiceNow) -> Iterator[Difference]:
    is_so = now.running if chunk.fun in ("running", "dead") else now.enabled
    if is_so != (chunk.fun in ("running", "enabled")):
        yield Difference(argument=FUNCTION, wanted=chunk.fun, found=_OPPOSITE[chunk.fun])
    enable = chunk.arguments.get("enable")
    if isinstance(enable, bool) and enable != now.enabled:
        yield Difference(argument="enable", wanted=enable, found=now.enabled)
