"""The `.repo` files of dnf and zypper: sections of `key = value` lines.

Called by `minion.states.pkgrepo.rpm`. It parses and makes texts, looks for files through a `Reader`, and changes
nothing. What it does not touch stays as it is, comments and blank lines too. Format: dnf.conf(5), zypper(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader

DNF_FOLDERS = ("/etc/yum/repos.d", "/etc/yum.repos.d")
ZYPPER_FOLDERS = ("/etc/zypp/repos.d",)

_HEADER = re.compile(r"\s*\[(?P<id>[^\]]+)\]\s*")
_OPTION = re.compile(r"(?P<key>[A-Za-z0-9_.-]+)\s*=\s*(?P<value>.*)")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A section of a file."""

    path: str
    options: Mapping[str, str]
    comments: tuple[str, ...] = ()


def check_id(name: str) -> None:
    """StateFailed when this cannot be the id of a repository: it becomes the name of a file."""
    if not _ID.fullmatch(name):
        raise StateFailed(f"Invalid repository id {name!r}: letters, digits and any of _ . : - are expected")


def folder(machine: Reader, folders: Sequence[str]) -> str:
    """The folder that new files go to; StateFailed when there is none."""
    found = next((one for one in folders if machine.stat(one)), None)
    if found is None:
        raise StateFailed(f"None of the folders for repositories is there: {', '.join(folders)}")
    return found


def find(machine: Reader, name: str, folders: Sequence[str]) -> Repository | None:
    """The repository of this id, wherever it stands."""
    for place in folders:
        for file in machine.listdir(place) if machine.stat(place) else ():
            if not file.endswith(".repo"):
                continue
            path = f"{place}/{file}"
            for section, lines in sections(machine.read(path).decode("utf-8", "surrogateescape")):
                if section == name:
                    comments = tuple(line.lstrip("# ").rstrip() for line in lines if line.startswith("#"))
                    return Repository(path=path, options=options(lines), comments=comments)
    return None


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """The sections with their lines; what stands before the first one has an empty name."""
    name, lines = "", list[str]()
    for line in text.splitlines():
        match = _HEADER.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        yield name, lines
        name, lines = match["id"], []
    yield name, lines


def options(lines: Sequence[str]) -> dict[str, str]:
    """The options of a section; lines that begin with white space go on with the value before."""
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        match = _OPTION.fullmatch(line.rstrip())
        if match is not None:
            last = match["key"].lower()
            found[last] = match["value"].strip()
        elif last and line[:1].isspace() and line.strip():
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found


def with_repository(text: str, name: str, wanted: Mapping[str, str], comments: Sequence[str]) -> str:
    """The text with this repository in it, in place of the one of the same id."""
    section = [f"[{name}]", *(f"# {line}" for line in comments), *(f"{key}={value}" for key, value in wanted.items())]
    parts: list[list[str]] = []
    for found, lines in sections(text):
        if found == name:
            blank = [line for line in lines[-1:] if not line.strip()]
            parts.append([*section, *blank])
        else:
            parts.append([*([f"[{found}]"] if found else []), *lines])
    if not any(found == name for found, _ in sections(text)):
        parts.append([*([""] if text.strip() else []), *section])
    return "\n".join(line for part in parts for line in part) + "\n"


def without_repository(text: str, name: str) -> str:
    """The text without this repository; empty when no other is left."""
    kept = [(found, lines) for found, lines in sections(text) if found != name]
    if not any(found for found, _ in kept):
        return ""
    lines = [line for found, lines in kept for line in [*([f"[{found}]"] if found else []), *lines]]
    return "\n".join(lines).rstrip() + "\n"
