"""Who changed what a drift check found, where the machine tells: the file itself, logins, audit and package logs.

Called by the executor after a drift check. Ends of logs are read, of bounded size; what cannot be read tells nothing.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from highstate.records import dataclass

MOST_STATES = 20
"""States of a check of which evidence is gathered."""
MOST_LINES = 5
"""Of one kind, of a state."""
_TAIL = 512 * 1024
"""Bytes at the end of a log."""
_NEAR = 120.0
"""Seconds between a package's entry, or an audit record, and the change of a file that count as one."""
_LOGIN, _LOGOUT, _BOOT = 7, 8, 2
_RECORD = struct.Struct("hi32s4s32s256shhiii4i20x")
"""utmp(5), on Linux."""
_AUDIT = re.compile(r"audit\((?P<at>\d+\.\d+):(?P<serial>\d+)\)")
_AUDIT_FIELD = re.compile(r"\b(auid|uid|exe|comm|name)=(\"[^\"]*\"|\S+)")
_DPKG = re.compile(r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<verb>install|upgrade|remove|purge) (?P<name>[^ :]+)")
_DNF = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}) \w+ (?P<verb>Installed|Upgraded?|Removed|Erase|Downgraded?):"
    r" (?P<name>\S+?)-\d"
)
_PACMAN = re.compile(
    r"\[(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4})\] \[ALPM\]"
    r" (?P<verb>installed|upgraded|removed|downgraded) (?P<name>\S+)"
)
_PACKAGE_LOGS = (("var/log/dpkg.log", _DPKG), ("var/log/dnf.rpm.log", _DNF), ("var/log/pacman.log", _PACMAN))


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageEntry:
    """A line of a package manager's log."""

    at: float
    verb: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSession:
    """A session of somebody, in seconds since the epoch."""

    user: str
    host: str
    begun: float
    ended: float = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCall:
    """A system call that auditd wrote down, and the files that it names."""

    at: float
    user: str
    program: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLogs:
    """What the logs of a machine say."""

    packages: Sequence[PackageEntry] = ()
    logins: Sequence[UserSession] = ()
    audited: Sequence[AuditedCall] = ()


def package_entries(text: str, form: re.Pattern[str]) -> Iterator[PackageEntry]:
    """The entries of a log of dpkg, dnf or pacman; times without a zone are local ones."""
    for line in text.splitlines():
        if (found := form.match(line)) is not None:
            at = datetime.fromisoformat(found["at"]).timestamp()
            yield PackageEntry(at=at, verb=found["verb"].lower(), name=found["name"])


def logins(data: bytes) -> list[UserSession]:
    """The sessions of a wtmp; a boot ends all."""
    found: list[UserSession] = []
    lines: dict[bytes, int] = {}
    whole = len(data) - len(data) % _RECORD.size
    for kind, _, line, _, user, host, *_, seconds, _, _, _, _, _ in _RECORD.iter_unpack(data[:whole]):
        ended = list(lines.values()) if kind == _BOOT else [lines[line]] if line in lines else []
        for place in ended:
            old = found[place]
            found[place] = UserSession(user=old.user, host=old.host, begun=old.begun, ended=float(seconds))
        if kind == _BOOT:
            lines.clear()
        elif kind in (_LOGIN, _LOGOUT):
            lines.pop(line, None)
        if kind == _LOGIN:
            lines[line] = len(found)
            found.append(UserSession(user=_text(user), host=_text(host), begun=float(seconds)))
    return found


def audited_calls(text: str) -> list[AuditedCall]:
    """The calls of an audit.log that name files."""
    records: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        head = _AUDIT.search(line)
        if head is None:
            continue
        one = records.setdefault(head["serial"], {"at": float(head["at"]), "paths": []})
        for name, value in _AUDIT_FIELD.findall(line):
            if name == "name":
                one["paths"].append(value.strip('"'))
            else:
                one.setdefault(name, value.strip('"'))
    return [
        AuditedCall(
            at=one["at"],
            user=str(one.get("auid") or one.get("uid") or ""),
            program=str(one.get("exe") or one.get("comm") or ""),
            paths=tuple(one["paths"]),
        )
        for one in records.values()
        if one["paths"]
    ]


def evidence(state: str, paths: Mapping[str, float], names: Iterable[str], logs: MachineLogs) -> dict[str, Any]:
    """What the logs say of one state.

    Args:
        state: its module (`file`).
        paths: files of it that differ -> when they were changed, in seconds since the epoch.
        names: of packages that differ.
        logs: of the machine.
    """
    times = list(paths.values())
    wanted = set(names)
    found: dict[str, Any] = {"changed": dict(paths)} if paths else {}
    packages = [one for one in logs.packages if one.name in wanted or any(abs(one.at - at) <= _NEAR for at in times)]
    times += [one.at for one in packages] if state == "pkg" else []
    audited = [one for one in logs.audited if set(one.paths) & paths.keys()]
    there = [one for one in logs.logins if any(one.begun <= at <= one.ended for at in times)]
    said = {
        "packages": [{"at": one.at, "verb": one.verb, "name": one.name} for one in packages],
        "audit": [{"at": one.at, "user": one.user, "program": one.program} for one in audited],
        "sessions": [{"user": one.user, "host": one.host, "since": one.begun} for one in there],
    }
    return found | {kind: entries[-MOST_LINES:] for kind, entries in said.items() if entries}


def with_evidence(states: dict[str, dict[str, Any]], root: Path = Path("/")) -> dict[str, dict[str, Any]]:
    """Results of a drift check, with `evidence` at those that found something."""
    pending = [key for key, entry in states.items() if entry.get("result") is None][:MOST_STATES]
    if not pending:
        return states
    logs = _logs(root)
    told = dict(states)
    for key in pending:
        state, changes = key.partition("_|-")[0], states[key].get("changes") or {}
        names = list(changes) if state == "pkg" and isinstance(changes, Mapping) else []
        said = evidence(state, _changed(state, states[key], changes), names, logs)
        if said:
            told[key] = {**states[key], "evidence": said}
    return told


def _changed(state: str, entry: Mapping[str, Any], changes: Any) -> dict[str, float]:
    """Files of a state, with the time of the last change of what is there now."""
    if state not in ("file", "ini"):
        return {}
    paths = [key for key in changes if key.startswith("/")] if isinstance(changes, Mapping) else []
    found = {}
    for path in [str(entry.get("name", "")), *paths][:MOST_LINES]:
        try:
            found[path] = os.lstat(path).st_ctime
        except (OSError, ValueError):
            continue
    return found


def _logs(root: Path) -> MachineLogs:
    packages = [
        one
        for path, form in _PACKAGE_LOGS
        for one in package_entries(_tail(root / path).decode("utf-8", "replace"), form)
    ]
    wtmp = _tail(root / "var/log/wtmp", _RECORD.size)
    audit = _tail(root / "var/log/audit/audit.log").decode("utf-8", "replace")
    return MachineLogs(packages=packages, logins=logins(wtmp), audited=audited_calls(audit))


def _tail(path: Path, record: int = 1) -> bytes:
    """The end of a file, beginning with a whole record of so many bytes."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = max(0, size - _TAIL)
            file.seek(start + -start % record)
            return file.read(_TAIL)
    except OSError:
        return b""


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")
