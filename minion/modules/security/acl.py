"""The execution module `acl`: access control lists of files.

Behaviour: doc/ref/modules/all/salt.modules.linux_acl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from minion.arguments.types import Ignored, NumberOrText, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.security import acl
from minion.providers.security.acl import AclEntry, AclKind, AclPermissions, FileAcl

ToldAnyway = Annotated[Value, Ignored("what setfacl refuses is told in any case")]


def version(context: Context) -> str:
    """Version of getfacl."""
    done = context.machine.query(["getfacl", "--version"])
    if done.returncode != 0:
        raise CallFailed("There is no getfacl program: install the package acl")
    return done.stdout.split()[1]


def getfacl(context: Context, *args: str, recursive: bool = False) -> dict[str, Any]:
    """The lists of files, and of all that is below folders."""
    return {one.path: _shown(one) for one in acl.acls(context.machine, _files(args), recursive=recursive)}


def wipefacls(context: Context, *args: str, recursive: bool = False, raise_err: ToldAnyway = None) -> bool:
    """Take away all entries of lists but those that are the mode of the file."""
    return _done(lambda: acl.wipe(context.machine, _files(args), recursive=recursive))


def modfacl(
    context: Context, acl_type: str, acl_name: NumberOrText = "", perms: NumberOrText = "", *args: str,
    recursive: bool = False, raise_err: ToldAnyway = None,
) -> bool:  # fmt: skip
    """Set an entry of the lists of files."""
    words = f"{AclKind.of(acl_type).named(acl_name)}:{AclPermissions.of(perms).words}"
    return _done(lambda: acl.modify(context.machine, [words], _files(args), recursive=recursive))


def delfacl(
    context: Context, acl_type: str, acl_name: NumberOrText = "", *args: str, recursive: bool = False,
    raise_err: ToldAnyway = None,
) -> bool:  # fmt: skip
    """Take an entry away from the lists of files."""
    words = AclKind.of(acl_type).named(acl_name)
    return _done(lambda: acl.delete(context.machine, [words], _files(args), recursive=recursive))


def _files(args: Sequence[str]) -> Sequence[str]:
    if not args:
        raise CallFailed("You need to specify at least one file or directory to work with!")
    return args


def _done(act: Callable[[], None]) -> bool:
    act()
    return True


def _shown(one: FileAcl) -> dict[str, Any]:
    about = {"file": one.path, "owner": one.owner, "group": one.group, **({"flags": one.flags} if one.flags else {})}
    found: dict[str, Any] = {"comment": about, "user": [], "group": []}
    for sign, letter, name in zip(one.flags, "sst", ("suid", "sgid", "sticky"), strict=False):
        if sign == letter:
            found[name] = True
    for entry in one.entries:
        where = found.setdefault("defaults", {}) if entry.kind.default else found
        where.setdefault(entry.kind.who, []).append(_entry(one, entry))
    return found


def _entry(one: FileAcl, entry: AclEntry) -> dict[str, Any]:
    """With what it permits: the mask counts."""
    bits = one.effective(entry)
    name = entry.name or {"user": one.owner, "group": one.group}.get(entry.kind.who, "")
    permissions = {"read": bool(bits & 4), "write": bool(bits & 2), "execute": bool(bits & 1)}
    return {name: {"permissions": permissions, "octal": bits}}


FUNCTIONS: Mapping[str, Any] = {
    "delfacl": delfacl,
    "getfacl": getfacl,
    "modfacl": modfacl,
    "version": version,
    "wipefacls": wipefacls,
}
