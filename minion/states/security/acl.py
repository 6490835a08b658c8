"""The state module `acl`: entries of the access control lists of files.

An entry that the mask of the file weakens is set again, which widens the mask.
Behaviour: doc/ref/states/all/salt.states.linux_acl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from minion.arguments.types import NumberOrText, Texts, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.security import acl
from minion.providers.security.acl import AclEntry, AclKind, AclPermissions, FileAcl
from minion.states.file.paths import behind, checked

_BRING_ACCOUNTS = frozenset(("cmd", "group", "module", "pkg", "user"))
_RIGHT = "Permissions are in the desired state"


class _Lists(NamedTuple):
    """The lists that a state is about, the first is that of `name`."""

    found: Sequence[FileAcl]
    folders: frozenset[str]

    @classmethod
    def of(cls, machine: Reader, name: str, recurse: bool, kind: AclKind) -> _Lists:
        _, top = behind(machine, checked(name))
        if top is None:
            raise StateFailed(f"{name} does not exist")
        if kind.default and not recurse and top.kind != "directory":
            raise StateFailed(f"{name}: Only directories can have default ACLs")
        found = acl.acls(machine, [name], recursive=recurse)
        each = {one.path: top if one.path == name else machine.stat(one.path) for one in found}
        return cls(found, frozenset(path for path, one in each.items() if one and one.kind == "directory"))

    def concerned(self, kind: AclKind) -> Sequence[FileAcl]:
        """Those that can have an entry of the kind."""
        return [one for one in self.found if not kind.default or one.path in self.folders]

    def differing(self, kind: AclKind, name: str, wanted: AclPermissions) -> FileAcl | None:
        """The first that does not permit just this."""
        for one in self.concerned(kind):
            bits, entry = wanted.on(one, one.path in self.folders), one.find(kind, name)
            if entry is None or {entry.bits, one.effective(entry)} != {bits}:
                return one
        return None

    def having(self, kind: AclKind, name: str) -> tuple[FileAcl, AclEntry] | None:
        """The first that has an entry, and the entry."""
        found = ((one, one.find(kind, name)) for one in self.concerned(kind))
        return next(((one, entry) for one, entry in found if entry is not None), None)


def present(
    machine: Reader, name: str, *, acl_type: str, acl_name: NumberOrText = "", perms: NumberOrText = "",
    recurse: bool = False, force: bool = False, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The user or group may do this with the file or folder.

    Without `acl_name` it is the owner, the group of the file, the mask or all others. With `force` a change takes all
    other entries away.
    """
    kind, wanted = AclKind.of(acl_type), AclPermissions.of(perms)
    words = kind.named(acl_name)
    lists = _Lists.of(machine, name, recurse, kind)
    if lists.differing(kind, acl_name, wanted) is None:
        return Plan(comment=_RIGHT)
    _need_account(machine, kind, acl_name, to_come)
    shown = {"acl_name": acl_name, "acl_type": acl_type}
    reported: dict[str, Value] = {"new": {**shown, "perms": perms}}
    has = lists.found[0].find(kind, acl_name)
    pending, done = (
        f"New permissions will be applied for {acl_name}: {perms}",
        f"Applied new permissions for {acl_name}",
    )
    if has is not None:
        old = acl.letters(lists.found[0].effective(has))
        reported["old"] = {**shown, "perms": old}
        pending = f"Updated permissions will be applied for {acl_name}: {old} -> {perms}"
        done = f"Updated permissions for {acl_name}"
    act = _setting(name, [f"{words}:{wanted.words}"], recurse, force, acl_name)
    return Plan(changes=_steps(reported, act), pending=pending, done=done)


def absent(
    machine: Reader, name: str, *, acl_type: str, acl_name: NumberOrText = "", perms: NumberOrText = "",
    recurse: bool = False,
) -> Plan:  # fmt: skip
    """The list of the file or folder has no entry of the user or group, whatever its permissions."""
    AclPermissions.of(perms)
    kind = AclKind.of(acl_type)
    words = kind.named(acl_name)
    lists = _Lists.of(machine, name, recurse, kind)
    found = lists.having(kind, acl_name)
    if found is None:
        return Plan(comment=_RIGHT)
    if not acl_name:
        _need_removable(lists, kind)
    shown = {"acl_name": acl_name, "acl_type": acl_type, "perms": acl.letters(found[1].bits)}
    return _removing(name, [words], recurse, shown)


def list_present(
    machine: Reader, name: str, *, acl_type: str, acl_names: Texts = (), perms: NumberOrText = "",
    recurse: bool = False, force: bool = False, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """These users or groups may do this with the file or folder; with `force` a change takes all others away."""
    kind, wanted = AclKind.of(acl_type), AclPermissions.of(perms)
    words = [f"{kind.named(one)}:{wanted.words}" for one in acl_names]
    lists = _Lists.of(machine, name, recurse, kind)
    differing = [one for one in acl_names if lists.differing(kind, one, wanted) is not None]
    if not differing:
        return Plan(comment=_RIGHT)
    for one in differing:
        _need_account(machine, kind, one, to_come)
    names, shown = list(acl_names), {"acl_name": ", ".join(acl_names), "acl_type": acl_type}
    reported: dict[str, Value] = {"new": {**shown, "perms": perms}}
    pending = f"New permissions will be applied for {names}: {perms}"
    done = f"Applied new permissions for {', '.join(names)}"
    has = lists.found[0].find(kind, differing[0])
    if has is not None:
        old = str(lists.found[0].effective(has))
        reported = {"new": {**shown, "perms": wanted.bits}, "old": {**shown, "perms": old}}
        pending = f"Updated permissions will be applied for {names}: {old} -> {perms}"
        done = f"Updated permissions for {names}"
    act = _setting(name, words, recurse, force, str(names))
    return Plan(changes=_steps(reported, act), pending=pending, done=done)


def list_absent(
    machine: Reader, name: str, *, acl_type: str, acl_names: Texts = (), recurse: bool = False
) -> Plan:  # fmt: skip
    """The list of the file or folder has no entries of these users or groups."""
    kind = AclKind.of(acl_type)
    words = {one: kind.named(one) for one in acl_names}
    lists = _Lists.of(machine, name, recurse, kind)
    there = [one for one in acl_names if one and lists.having(kind, one) is not None]
    if not there:
        return Plan(comment=_RIGHT)
    shown = {"acl_name": ", ".join(there), "acl_type": acl_type}
    return _removing(name, [words[one] for one in there], recurse, shown)


def _need_account(machine: Reader, kind: AclKind, name: str, to_come: ToCome) -> None:
    """StateFailed where setfacl would not know the name, unless an earlier state of the run may bring it."""
    if not name or name.isdigit() or any(state in _BRING_ACCOUNTS for state, _ in to_come):
        return
    database = "group" if kind.who == "group" else "passwd"
    if machine.query(["getent", database, name]).returncode != 0:
        raise StateFailed(f"Error updating permissions for {name}: there is no such {kind.who}")


def _need_removable(lists: _Lists, kind: AclKind) -> None:
    """StateFailed for an entry that a list cannot do without."""
    if kind.who != "mask":
        raise StateFailed(f"The {kind.who} entry without a name belongs to every list: it cannot be removed")
    for one in lists.concerned(kind):
        if any(entry.name for entry in one.entries if entry.kind.default == kind.default):
            raise StateFailed(f"The list of {one.path} has entries with names: its mask cannot be removed")


def _setting(
    name: str, words: Sequence[str], recurse: bool, force: bool, whom: str
) -> Callable[[Machine], None]:  # fmt: skip
    def act(machine: Machine) -> None:
        try:
            if force:
                acl.wipe(machine, [name], recursive=recurse)
            acl.modify(machine, words, [name], recursive=recurse)
        except StateFailed as failed:
            raise StateFailed(f"Error updating permissions for {whom}: {failed}") from failed

    return act


def _removing(name: str, words: Sequence[str], recurse: bool, shown: Value) -> Plan:
    def act(machine: Machine) -> None:
        acl.delete(machine, words, [name], recursive=recurse)

    text = "Removing permissions"
    return Plan(changes=(Change(key="old", reported=shown, act=act),), pending=text, done=text)


def _steps(reported: Mapping[str, Value], act: Callable[[Machine], None]) -> tuple[Change, ...]:
    """One act, and what is shown of it below several keys."""
    return tuple(
        Change(key=key, reported=value, act=act if at == 0 else lambda machine: None)
        for at, (key, value) in enumerate(reported.items())
    )


STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "list_absent": list_absent,
    "list_present": list_present,
    "present": present,
}
