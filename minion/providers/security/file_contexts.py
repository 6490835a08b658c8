"""SELinux's rules about the labels of files, as semanage has them, and the labels, as restorecon sets them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.security.selinux import asked, told, words

FILE_TYPES: Mapping[str, str] = {
    "a": "all files",
    "f": "regular file",
    "d": "directory",
    "c": "character device",
    "b": "block device",
    "s": "socket",
    "l": "symbolic link",
    "p": "named pipe",
}
_RULE = re.compile(rf"(\S.*?)\s+({'|'.join(FILE_TYPES.values())})\s+([^:\s]+:[^:\s]+:[^:\s]+:\S+)\s*")
_CHANGES = (
    re.compile(r"Would relabel (.*) from (\S+) to (\S+)"),
    re.compile(r"restorecon reset (.*) context (\S+)->(\S+)"),  # before 2.5
)
_PARTS = ("sel_user", "sel_role", "sel_type", "sel_level")


class ContextRule(NamedTuple):
    """Which label files with such a name get."""

    filespec: str
    filetype: str
    label: str

    def shown(self) -> dict[str, str]:
        """Name and kind of the files, and the four parts of the label."""
        return {"filespec": self.filespec, "filetype": self.filetype, **parts(self.label)}


class ContextWanted(NamedTuple):
    """A rule as it is given; what is not given is not compared."""

    filespec: str
    filetype: str = "a"
    sel_type: str | None = None
    sel_user: str | None = None
    sel_level: str | None = None

    @property
    def title(self) -> str:
        """The kind of file, in semanage's words; StateFailed for a letter that is none."""
        if self.filetype not in FILE_TYPES:
            raise StateFailed(
                f"Invalid file type code {self.filetype!r}; expected one of: {', '.join(FILE_TYPES)}"
            )  # fmt: skip
        return FILE_TYPES[self.filetype]

    def differences(self, rule: ContextRule) -> dict[str, str]:
        """What of a rule is not as it is given."""
        given = self._asdict()
        return {part: given[part] for part, has in parts(rule.label).items() if given.get(part) not in (None, "", has)}


def rule_of(machine: Reader, wanted: ContextWanted, *, local: bool = False) -> ContextRule | None:
    """The rule for this name and kind of file; with `local` only one that somebody added to the policy."""
    _spec(wanted)
    said = asked(machine, "semanage", "fcontext", "--list", *(["--locallist"] if local else []))
    for line in said.splitlines():
        if line.startswith(wanted.filespec) and (found := _RULE.fullmatch(line)):
            rule = ContextRule(*found.groups())
            if (rule.filespec, rule.filetype) == (wanted.filespec, wanted.title):
                return rule
    return None


def put(machine: Machine, wanted: ContextWanted, *, change: bool) -> None:
    """Add a rule, or change the one that there is."""
    given = [
        *words("--type", wanted.sel_type),
        *words("--seuser", wanted.sel_user),
        *words("--range", wanted.sel_level),
    ]
    told(machine, "semanage", "fcontext", "--modify" if change else "--add", *_kind(wanted), *given, _spec(wanted))


def remove(machine: Machine, wanted: ContextWanted) -> None:
    """Take a rule away that somebody added."""
    told(machine, "semanage", "fcontext", "--delete", *_kind(wanted), _spec(wanted))


def mislabelled(machine: Reader, path: str, *, recursive: bool, whole: bool) -> dict[str, tuple[str, str]]:
    """Path -> label and the one that the policy has for it.

    Args:
        machine: where they are.
        path: a file or folder.
        recursive: with all that is below.
        whole: whether more than the type counts.
    """
    said = asked(machine, "restorecon", "-n", "-v", *_signs(recursive, whole), path)
    found: dict[str, tuple[str, str]] = {}
    for line in said.splitlines():
        match = next((one for one in (pattern.fullmatch(line) for pattern in _CHANGES) if one), None)
        if match is None:
            raise StateFailed(f"Unrecognized response from restorecon command: {line}")
        found[match[1]] = (match[2], match[3])
    return found


def relabel(machine: Machine, path: str, *, recursive: bool) -> None:
    """Give files the labels that the policy has for them."""
    told(machine, "restorecon", "-v", *_signs(recursive, True), path)


def parts(label: str) -> dict[str, str]:
    """A label in its four parts; StateFailed for what is none."""
    each = label.split(":", 3)
    if len(each) != len(_PARTS) or not all(each):
        raise StateFailed(f'Invalid SELinux context string: {label}. Expected "sel_user:sel_role:sel_type:sel_level"')
    return dict(zip(_PARTS, each, strict=True))


def changed_parts(old: str, new: str) -> dict[str, dict[str, str]]:
    """What is another in a label, as `old` and `new`."""
    before, after = parts(old), parts(new)
    keys = [part for part in _PARTS if before[part] != after[part]]
    return {"old": {part: before[part] for part in keys}, "new": {part: after[part] for part in keys}}


def _signs(recursive: bool, whole: bool) -> list[str]:
    return [*(["-F"] if whole else []), *(["-R"] if recursive else [])]


def _kind(wanted: ContextWanted) -> list[str]:
    return ["--ftype", wanted.filetype] if wanted.title != FILE_TYPES["a"] else []


def _spec(wanted: ContextWanted) -> str:
    if not re.fullmatch(r"[^\s-]\S*", wanted.filespec):
        raise StateFailed(f"{wanted.filespec!r} cannot be the name of files: it begins with a dash, or has a space")
    return wanted.filespec
