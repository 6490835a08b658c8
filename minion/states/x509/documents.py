"""A file that holds a key, a certificate, a request or a list: its plan.

Called by the states x509. What is in the file is made by the act alone; the plan says what will be another in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Plan, Reader, Value
from minion.states.file.paths import behind, checked
from minion.states.file.perms import Perms
from minion.states.file.target import WantedFile, check_of, file_changes
from minion.states.x509.arguments import FileOptions

_BACKED_UP = (True, "minion", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was found in a file that is there."""

    changes: Mapping[str, Value] = field(default_factory=dict)
    """What will be another, as Salt's `changes` has it."""
    known: bool = True
    """Whether it could be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The file of a state."""

    name: str
    title: str
    """What it holds, in a comment: `certificate`."""
    file: FileOptions
    backup_dir: str
    mode: str | None = None
    """Of a file of which none is asked for."""


Maker = Callable[[Machine, str, Looked], bytes]


def plan_of(machine: Reader, document: Document, look: Callable[[str], Looked], make: Maker) -> Plan:
    """The plan.

    Args:
        machine: where the file is.
        document: the file.
        look: given the path of a file that is there, says what is to be another in it.
        make: what the file is to hold, given its path and what was found in it; called by the act.
    """
    right = f"The {document.title} is in the correct state"
    path, found = _place(machine, document)
    if found is None and not document.file.create:
        return Plan(comment=right)
    if found is None:
        looked = Looked(changes={"created": document.name}, known=False)
    elif found.kind == "symlink":
        looked = Looked(changes={"created": document.name, "replaced": document.name}, known=False)
    else:
        looked = look(path)
    around = _around(document, path)
    of_file = () if found is None else file_changes(machine, around(None), found)
    if not looked.changes:
        text = f"{right}, and the owner or mode of its file is not"
        return Plan(changes=of_file, comment=right, pending=text, done=right)
    verb = "recreated" if looked.known else "created"

    def act(machine: Machine) -> None:
        for change in file_changes(machine, around(make(machine, path, looked)), machine.stat(path)):
            change.act(machine)

    shown = [Change(key=key, reported=value, act=_nothing) for key, value in list(looked.changes.items())[1:]]
    key, value = next(iter(looked.changes.items()))
    first = Change(key=key, reported=value, act=act)
    rest = [Change(key=one.key, old=one.old, new=one.new, reported=one.reported, act=_nothing) for one in of_file]
    return Plan(
        changes=(first, *shown, *rest),
        pending=f"The {document.title} would have been {verb}",
        done=f"The {document.title} has been {verb}",
    )


def _place(machine: Reader, document: Document) -> tuple[str, FileStat | None]:
    path = checked(document.name, "managed")
    found = machine.stat(path)
    if found is not None and found.kind == "symlink" and document.file.follow_symlinks:
        path, found = behind(machine, path)
    if found is not None and found.kind not in ("file", "symlink"):
        raise StateFailed(f"Specified target {document.name} is no file, but a {found.kind}")
    return path, found


def _around(document: Document, path: str) -> Callable[[bytes | None], WantedFile]:
    """The file as it is to be, for a content."""
    file = document.file
    perms = Perms(user=file.user, group=file.group, mode=file.mode or document.mode)
    backup = document.backup_dir if file.backup in _BACKED_UP else ""
    return lambda data: WantedFile(
        path=path, data=data, perms=perms, makedirs=file.makedirs, dir_mode=file.dir_mode, show_changes=False,
        backup=backup, attrs=file.attrs, check=check_of(file.check_cmd, file.tmp_dir, file.tmp_ext),
    )  # fmt: skip


def _nothing(machine: Machine) -> None:
    """The first change does it all."""
