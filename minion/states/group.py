"""The group state: groups with an id and members, or gone.

Called by the engine. Reading and the tools that change groups are in `minion.providers.accounts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Unpack

from minion.arguments.types import CommaList, Id
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers import accounts
from minion.providers.accounts import Group
from minion.states.unused_arguments import LocalAccounts


def present(
    machine: Reader,
    name: str,
    *,
    gid: Id | None = None,
    system: bool = False,
    members: CommaList | None = None,
    addusers: CommaList | None = None,
    delusers: CommaList | None = None,
    non_unique: bool = False,
    **_: Unpack[LocalAccounts],
) -> Plan:
    """The group exists, with this id, and with exactly these `members` or with some added and some taken out."""
    accounts.check_name("group", name)
    whole, added, taken = _names(members), _names(addusers), _names(delusers)
    if whole is not None and (added or taken):
        raise StateFailed(
            'Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used together.'
        )
    if added and taken and set(added) & set(taken):
        raise StateFailed("Error. Same user(s) can not be added and deleted simultaneously")
    found = accounts.group(machine, name)
    if found is None:
        return _creation(machine, name, gid, whole if whole is not None else added, system, non_unique)
    return _update(machine, found, gid, (whole, added, taken), non_unique)


def absent(machine: Reader, name: str, **_: Unpack[LocalAccounts]) -> Plan:
    """There is no group of this name."""
    accounts.check_name("group", name)
    if accounts.group(machine, name) is None:
        return Plan(comment="Group not present")

    def act(machine: Machine) -> None:
        accounts.change(machine, ["groupdel", "--", name], f"Failed to remove group {name}")

    return Plan(
        changes=(Change(key=name, reported="", act=act),),
        pending=f"Group {name} is set for removal",
        done=f"Removed group {name}",
    )


def _creation(
    machine: Reader, name: str, gid: int | None, members: Sequence[str] | None, system: bool, non_unique: bool
) -> Plan:
    def act(machine: Machine) -> Mapping[str, Value]:
        # Looked up now: the group that has this id may be one that an earlier state takes away.
        owner = None if gid is None or non_unique else accounts.group_of_gid(machine, gid)
        if owner is not None:
            raise StateFailed(f"Group {name} is not present but gid {gid} is already taken by group {owner.name}")
        command = ["groupadd", *(["--system"] if system else [])]
        if gid is not None:
            command += ["--gid", str(gid), *(["--non-unique"] if non_unique else [])]
        accounts.change(machine, [*command, "--", name], f"Failed to create new group {name}")
        if members:
            _set_members(machine, name, members)
        made = accounts.group(machine, name)
        return made.as_salt() if made else {}

    first = Change(key="name", reported=name, act=act)
    known = {"passwd": "x", "gid": gid, "members": list(members or [])}
    shown = (Change(key=key, reported=value, act=_with_the_group) for key, value in known.items() if value is not None)
    return Plan(changes=(first, *shown), pending=f"Group {name} set to be added", done=f"New group {name} created")


def _with_the_group(_machine: Machine) -> None:
    """An attribute that a new group gets when it is made."""


def _update(
    machine: Reader,
    found: Group,
    gid: int | None,
    wanted: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    non_unique: bool,
) -> Plan:
    members, added, taken = wanted
    changes: list[Change] = []
    words: list[str] = []
    if gid is not None and gid != found.gid:
        words.append(f"gid: {gid}")
        changes.append(Change(key="gid", old=found.gid, new=gid, act=_change_gid(found.name, gid, non_unique)))
    new = _members(found, members, added or (), taken or ())
    if set(new) != set(found.members):
        words += _member_words(found, members, added or (), taken or ())
        changes.append(
            Change(
                key="members",
                old=list(found.members),
                new=new,
                act=lambda machine: _set_members(machine, found.name, new),
            )
        )
    if not changes:
        return Plan(comment=f"Group {found.name} is present and up to date")
    comment = "\n".join(["The following group attributes are set to be changed:", *words, ""])
    return Plan(changes=tuple(changes), pending=comment, done=comment)


def _members(found: Group, members: Sequence[str] | None, added: Sequence[str], taken: Sequence[str]) -> list[str]:
    if members is not None:
        return list(members)
    kept = [one for one in found.members if one not in taken]
    return kept + [one for one in added if one not in kept]


def _member_words(found: Group, members: Sequence[str] | None, added: Sequence[str], taken: Sequence[str]) -> list[str]:
    if members is not None:
        return [f"members: {list(members)}"]
    coming = [one for one in added if one not in found.members]
    going = [one for one in taken if one in found.members]
    return [f"{key}: {names}" for key, names in (("addusers", coming), ("delusers", going)) if names]


def _change_gid(name: str, gid: int, non_unique: bool) -> Callable[[Machine], None]:
    unique = ["--non-unique"] if non_unique else []
    command = ["groupmod", "--gid", str(gid), *unique, "--", name]
    return lambda machine: accounts.change(machine, command, f"Failed to change the gid of group {name}")


def _set_members(machine: Machine, name: str, members: Sequence[str]) -> None:
    unknown = [one for one in members if accounts.user(machine, one) is None]
    if unknown:
        raise StateFailed(f"Group {name} cannot have members who do not exist: {', '.join(unknown)}")
    command = ["gpasswd", "--members", ",".join(members), name]
    accounts.change(machine, command, f"Failed to set the members of group {name}")


def _names(given: Sequence[str] | None) -> list[str] | None:
    """Names of users, each once."""
    if given is None:
        return None
    names = list(dict.fromkeys(given))
    for one in names:
        accounts.check_name("user", one)
    return names


STATES = {"present": present, "absent": absent}
