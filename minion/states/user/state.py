"""The user state: users with their attributes, groups, home and password hash, or gone.

Called by the engine. Reading and the tools that change users are in `minion.providers.accounts`, the checks of what an
author wrote in `minion.states.user.wanted`. Passwords are in `minion.states.user.shadow`; none is shown anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Unpack

from minion.arguments.types import CommaList, Id, IdOrName, Ignored, WindowsOnly
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers import accounts
from minion.providers.accounts import Group, User
from minion.states.unused_arguments import LocalAccounts
from minion.states.user.shadow import WORDS, Password
from minion.states.user.wanted import GECOS, WantedUser


class _PresentUnused(LocalAccounts, total=False):
    """Arguments of Salt's user.present that are ignored or refused."""

    loginclass: Annotated[Value, Ignored("it is for BSD")]
    win_homedrive: WindowsOnly
    win_profile: WindowsOnly
    win_logonscript: WindowsOnly
    win_description: WindowsOnly


def present(
    machine: Reader,
    name: str,
    *,
    uid: Id | None = None,
    gid: IdOrName | None = None,
    usergroup: bool | None = None,
    groups: CommaList | None = None,
    optional_groups: CommaList | None = None,
    remove_groups: bool = True,
    home: str | None = None,
    createhome: bool = True,
    persist_home: bool = False,
    password: str | None = None,
    hash_password: bool = False,
    enforce_password: bool = True,
    empty_password: bool = False,
    password_lock: bool | None = None,
    date: int | None = None,
    mindays: int | None = None,
    maxdays: int | None = None,
    inactdays: int | None = None,
    warndays: int | None = None,
    expire: int | None = None,
    shell: str | None = None,
    unique: bool = True,
    system: bool = False,
    fullname: str | None = None,
    roomnumber: str | None = None,
    workphone: str | None = None,
    homephone: str | None = None,
    other: str | None = None,
    nologinit: bool = False,
    allow_uid_change: bool = False,
    allow_gid_change: bool = False,
    **_: Unpack[_PresentUnused],
) -> Plan:
    """The user exists, with these attributes; what is left out stays as it is.

    `password` is a hash as it stands in shadow, or with `hash_password` the password itself. Days are counted since
    1970 (`date`, the last change of the password, and `expire`) or from that change on. `groups` are all that the user
    is in besides the primary one, unless `remove_groups` is False; `optional_groups` count as far as they exist.
    """
    secret = Password.checked(
        password=password, plain=hash_password, empty=empty_password, locked=password_lock, enforced=enforce_password,
        days={"date": date, "mindays": mindays, "maxdays": maxdays, "inactdays": inactdays, "warndays": warndays,
              "expire": expire or None},
    )  # fmt: skip
    wanted = WantedUser.checked(
        name, ids=(uid, gid), paths=(home, shell), groups=(groups, optional_groups),
        gecos=(fullname, roomnumber, workphone, homephone, other),
    )  # fmt: skip
    known = {one.name: one for one in accounts.groups(machine)}
    missing = [one for one in wanted.groups or () if one not in known]
    if (found := accounts.user(machine, name)) is None:
        options = _creation_options(createhome, usergroup if wanted.gid is None else None, unique, system, nologinit)
        return _creation(wanted, secret, known, missing, options)
    update = _Update(machine, found, wanted, secret, known, remove_groups, createhome, persist_home)
    update.check_ids(allow_uid_change, allow_gid_change, usergroup=bool(usergroup))
    return update.plan(missing, unique=unique)


def absent(machine: Reader, name: str, *, purge: bool = False, force: bool = False, **_: Unpack[LocalAccounts]) -> Plan:
    """There is no user of this name; `purge` takes the home with it, `force` does not mind running processes."""
    accounts.check_name("user", name)
    if accounts.user(machine, name) is None:
        return Plan(comment=f"User {name} is not present")
    command = ["userdel", *(["--remove"] if purge else []), *(["--force"] if force else []), "--", name]

    def act(machine: Machine) -> Mapping[str, Value]:
        own_group = accounts.group(machine, name)
        accounts.change(machine, command, f"Failed to remove user {name}")
        went = own_group is not None and accounts.group(machine, name) is None
        return {f"{name} group": "removed"} if went else {}

    return Plan(
        changes=(Change(key=name, reported="removed", act=act),),
        pending=f"User {name} set for removal",
        done=f"Removed user {name}",
    )


def _creation_options(
    createhome: bool, usergroup: bool | None, unique: bool, system: bool, nologinit: bool
) -> list[str]:
    options = ["--create-home" if createhome else "--no-create-home"]
    if usergroup is not None:
        options.append("--user-group" if usergroup else "--no-user-group")
    words = {"--non-unique": not unique, "--system": system, "--no-log-init": nologinit}
    return [*options, *(word for word, given in words.items() if given)]


def _creation(
    wanted: WantedUser, secret: Password, known: Mapping[str, Group], missing: Sequence[str], options: Sequence[str]
) -> Plan:
    joined = [one for one in wanted.all_groups() if one in known]
    primary = wanted.name if wanted.gid is None else wanted.gid
    alone = len(joined) == 1 and primary in (joined[0], known[joined[0]].gid)

    def act(machine: Machine) -> Mapping[str, Value]:
        _refuse_missing(machine, wanted)
        command = ["useradd", *options, *_new_attributes(wanted, joined, listed=not alone), "--", wanted.name]
        accounts.change(machine, command, f"Failed to create new user {wanted.name}")
        made = accounts.user(machine, wanted.name)
        return made.as_salt() if made else {}

    predicted: dict[str, Value] = {"uid": wanted.uid, "home": wanted.home, "shell": wanted.shell}
    predicted |= {key: text for key, text in zip(GECOS, wanted.gecos, strict=True) if text}
    pending = f"User {wanted.name} set to be added"
    return Plan(
        changes=(
            Change(key="name", reported=wanted.name, act=act),
            *(Change(key=key, reported=new, act=_with_the_user) for key, new in predicted.items() if new is not None),
            *secret.after_creation(wanted.name),
        ),
        pending=pending + (f" (pending groups: {','.join(missing)})" if missing else ""),
        done=f"New user {wanted.name} created",
    )


def _with_the_user(_machine: Machine) -> None:
    """An attribute that a new user gets when it is made."""


def _new_attributes(wanted: WantedUser, joined: Sequence[str], *, listed: bool) -> list[str]:
    """Options of useradd. Unless `listed`, the user is no member of `joined`: it is the primary group."""
    options: list[str] = []
    # useradd would make a group of the user's name, and refuses where there is one.
    own = wanted.name if wanted.name in joined else None
    for option, value in (
        ("--uid", wanted.uid),
        ("--gid", own if wanted.gid is None else wanted.gid),
        ("--home-dir", wanted.home),
        ("--shell", wanted.shell),
        ("--groups", (",".join(joined) or None) if listed else None),
        ("--comment", ",".join(text or "" for text in wanted.gecos).rstrip(",") or None),
    ):
        if value is not None:
            options += [option, str(value)]
    return options


def _refuse_missing(machine: Reader, wanted: WantedUser) -> None:
    """Groups are looked up when it comes to the act: under test, an earlier state may have been going to make them."""
    missing = [one for one in wanted.groups or () if accounts.group(machine, one) is None]
    if missing:
        raise StateFailed(f"The following group(s) are not present: {','.join(missing)}")


@dataclass(slots=True)
class _Update:
    """The difference between a user that is there and what is wanted."""

    machine: Reader
    found: User
    wanted: WantedUser
    secret: Password
    known: Mapping[str, Group]
    remove_groups: bool
    createhome: bool
    persist_home: bool
    gid: int | None = None

    def check_ids(self, allow_uid: bool, allow_gid: bool, *, usergroup: bool) -> None:
        """Raise StateFailed when an id would change without permission: files keep the old one."""
        errors = []
        found, wanted = self.found, self.wanted
        if wanted.uid is not None and wanted.uid != found.uid and not allow_uid:
            errors.append(_not_permitted("uid", found.uid, wanted.uid))
        self.gid = self._gid_of(wanted.gid)
        differs = self.gid != found.gid if self.gid is not None else wanted.gid is not None
        if differs and not allow_gid:
            errors.append(_not_permitted("gid", found.gid, wanted.gid))
        elif differs and self.gid is None:
            errors.append(f"- There is no group {wanted.gid} that could become the primary group")
        if errors:
            raise StateFailed(
                "Encountered error checking for needed changes. Additional info follows:\n\n" + "\n".join(errors)
            )
        if usergroup and wanted.gid is None and found.name in self.known:
            self.gid = self.known[found.name].gid

    def plan(self, missing: Sequence[str], *, unique: bool) -> Plan:
        """Each attribute that differs, with the command that changes it."""
        changes = [*self._attributes(unique), *self.secret.changes(self.machine, self.found.name), *self._groups()]
        if missing:
            changes.insert(0, Change(key="", act=lambda machine: _refuse_missing(machine, self.wanted)))
        if not changes:
            return Plan(comment=f"User {self.found.name} is present and up to date")
        lines = [f"{WORDS.get(one.key, one.key)}: {one.reported}" for one in changes if one.key]
        if missing:
            lines.append(f"groups (pending creation): {','.join(missing)}")
        return Plan(
            changes=tuple(changes),
            pending="\n".join(["The following user attributes are set to be changed:", *lines, ""]),
            done=f"Updated user {self.found.name}",
        )

    def _gid_of(self, gid: int | str | None) -> int | None:
        if isinstance(gid, str):
            return self.known[gid].gid if gid in self.known else None
        return gid

    def _attributes(self, unique: bool) -> list[Change]:
        found, wanted = self.found, self.wanted
        changes: list[Change] = []
        if wanted.uid is not None and wanted.uid != found.uid:
            options = ["--uid", str(wanted.uid), *([] if unique else ["--non-unique"])]
            changes.append(self._usermod("uid", found.uid, wanted.uid, options))
        if self.gid is not None and self.gid != found.gid:
            changes.append(self._usermod("gid", found.gid, self.gid, ["--gid", str(self.gid)]))
        if wanted.shell is not None and wanted.shell != found.shell:
            changes.append(self._usermod("shell", found.shell, wanted.shell, ["--shell", wanted.shell]))
        if wanted.home is not None and wanted.home != found.home:
            move = ["--move-home"] if self.persist_home else []
            changes.append(self._usermod("home", found.home, wanted.home, ["--home", wanted.home, *move]))
        return [*changes, *self._gecos(), *self._home_folder()]

    def _gecos(self) -> list[Change]:
        new = tuple(
            old if text is None else text for text, old in zip(self.wanted.gecos, self.found.gecos, strict=True)
        )
        differing = [
            (key, old, text) for key, old, text in zip(GECOS, self.found.gecos, new, strict=True) if old != text
        ]
        options = ["--comment", ",".join(new).rstrip(",")]
        return [
            # One entry holds them all, so the first command writes every part of it.
            Change(key=key, reported=text, act=_with_the_user if number else self._command(options, key))
            for number, (key, _, text) in enumerate(differing)
        ]

    def _home_folder(self) -> list[Change]:
        home = self.wanted.home or self.found.home
        moved = self.persist_home and home != self.found.home and self.machine.stat(self.found.home) is not None
        if not self.createhome or moved or self.machine.stat(home) is not None:
            return []

        def act(machine: Machine) -> None:
            machine.mkdir(home, parents=True, mode="0755")
            now = accounts.user(machine, self.found.name) or self.found
            machine.chown(home, now.uid, now.gid)

        return [Change(key="homeDoesNotExist", reported=home, act=act)]

    def _groups(self) -> list[Change]:
        if self.wanted.groups is None and self.wanted.optional_groups is None:
            return []
        gid = self.gid if self.gid is not None else self.found.gid
        # A primary group is no matter of membership; that of now is one after another has taken its place.
        primary = {one.name for one in self.known.values() if one.gid == gid}
        left = {
            one.name for one in self.known.values() if one.gid == self.found.gid and self.found.name not in one.members
        }
        asked = {one for one in self.wanted.all_groups() if one in self.known} - primary
        now = set(self.found.groups) - primary - left
        after = asked if self.remove_groups else asked | now
        if after == now:
            return []
        shown = sorted(after | {one.name for one in self.known.values() if one.gid == gid})
        options = ["--groups", ",".join(sorted(after))]
        return [Change(key="groups", reported=shown, act=self._command(options, "groups"))]

    def _usermod(self, key: str, old: Value, new: Value, options: Sequence[str]) -> Change:
        return Change(key=key, old=old, new=new, reported=new, act=self._command(options, key))

    def _command(self, options: Sequence[str], what: str) -> Callable[[Machine], None]:
        command = ["usermod", *options, "--", self.found.name]
        return lambda machine: accounts.change(machine, command, f"Failed to change {what} of user {self.found.name}")


def _not_permitted(what: str, old: Value, new: Value) -> str:
    return (
        f"- Changing {what} ({old} -> {new}) not permitted, set allow_{what}_change to True to force this change. "
        "Note that this will not change file ownership."
    )


STATES = {"present": present, "absent": absent}
