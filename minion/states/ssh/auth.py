"""The state module `ssh_auth`: public keys that may log in as a user.

Behaviour: doc/ref/states/all/salt.states.ssh_auth. The file lies where its user may write: a symlink at its place or at
the folder's is refused, so that a user cannot have a file of somebody else written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypedDict, Unpack

from minion.arguments.sources import as_sources
from minion.arguments.types import Texts, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.file.perms import Perms
from minion.states.file.sources import Template, of_source
from minion.states.unused_arguments import WholeKey

_KIND = r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d+|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
_LINE = re.compile(rf"^(?:(?P<options>.*?)\s+)?(?P<kind>{_KIND})\s+(?P<key>[A-Za-z0-9+/=]+)(?:\s+(?P<comment>.*))?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A line of authorized_keys."""

    kind: str
    key: str
    options: str = ""
    comment: str = ""

    def text(self) -> str:
        """The line."""
        return " ".join(part for part in (self.options, self.kind, self.key, self.comment) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    user: str
    lines: tuple[str, ...]
    mode: str | None
    owner_missing: bool = False
    """Whether there is no such user yet: a state before this one may make it, and where the file lies is not known."""


class _Unused(TypedDict, total=False):
    """Arguments of Salt's states of keys that are ignored or refused."""

    fingerprint_hash_type: WholeKey


class Login(NamedTuple):
    """Arguments of all states of keys: whose keys they are, and in which file."""

    user: str
    config: str = ".ssh/authorized_keys"


class KeyForm(NamedTuple):
    """Arguments of all states of keys: what is in the line of a key that is given without."""

    enc: str = "ssh-rsa"
    comment: str = ""
    options: Texts = ()


def present(
    machine: Reader,
    name: str,
    *,
    login: Login,
    form: KeyForm,
    source: str = "",
    saltenv: str = "base",
    **_: Unpack[_Unused],
) -> Plan:
    """The key, or each key of `source`, may log in as `user`."""
    keys, user = _keys(machine, name, form, source, saltenv), login.user
    file = _file(machine, login, may_come=True)
    lines, shown = list(file.lines), dict[str, str]()
    for key in keys:
        index = next((i for i, line in enumerate(lines) if (old := parse(line)) and old.key == key.key), None)
        if index is None:
            lines.append(key.text())
            shown[_said(name, key, source)] = "New"
        elif lines[index].strip() != key.text():
            lines[index] = key.text()
            shown[_said(name, key, source)] = "Updated"
    if not shown:
        return Plan(comment=f"The authorized host key {name} is already present for user {user}")
    word = "added" if "New" in shown.values() else "updated"
    return _plan(file, lines, shown, f"Key {name} for user {user} is set to be {word}",
                 f"The authorized host key {name} for user {user} was {word}")  # fmt: skip


def absent(
    machine: Reader,
    name: str,
    *,
    login: Login,
    form: KeyForm,
    source: str = "",
    saltenv: str = "base",
    **_: Unpack[_Unused],
) -> Plan:
    """The key, or each key of `source`, may not log in as `user`."""
    gone = {key.key: _said(name, key, source) for key in _keys(machine, name, form, source, saltenv)}
    file, user = _file(machine, login), login.user
    kept, shown = [], dict[str, str]()
    for line in file.lines:
        key = parse(line)
        if key is not None and key.key in gone:
            shown[gone[key.key]] = "Removed"
        else:
            kept.append(line)
    if not shown:
        return Plan(comment="Key not present")
    return _plan(file, kept, shown, f"Key {name} for user {user} is set for removal", "Key removed")


class _ManageUnused(_Unused, total=False):
    """Arguments of Salt's ssh_auth.manage that are ignored or refused."""

    source: Annotated[Value, Unsupported("list the keys in ssh_keys")]


def manage(
    machine: Reader, name: str, *, ssh_keys: Texts, login: Login, form: KeyForm, **_: Unpack[_ManageUnused]
) -> Plan:
    """These keys may log in as `user`, and no other."""
    keys, user = [_key(one, form) for one in ssh_keys], login.user
    file = _file(machine, login, may_come=True)
    wanted = {key.key for key in keys}
    shown = {old.key: "Key removed" for line in file.lines if (old := parse(line)) and old.key not in wanted}
    have = {old.key for line in file.lines if (old := parse(line))}
    shown |= {key.key: "New" for key in keys if key.key not in have}
    notes = [line for line in file.lines if parse(line) is None]
    if not shown:
        there = (f"The authorized host key {key.key} is already present for user {user}" for key in keys)
        return Plan(comment="\n".join(there))
    lines = [*notes, *(key.text() for key in keys)]
    words = {"Key removed": "{key} Key set for removal", "New": "Key {key} for user {user} is set to be added"}
    would = (words[what].format(key=key, user=user) for key, what in shown.items())
    return _plan(file, lines, shown, "\n".join(would), f"The keys of {user} were changed")


def _keys(machine: Reader, name: str, form: KeyForm, source: str, saltenv: str) -> list[PublicKey]:
    if not source:
        return [_key(name, form)]
    text = of_source(machine, as_sources(source), saltenv, Template(variables={}), None).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [_key(line, KeyForm(form.enc)) for line in lines]


def _key(name: str, form: KeyForm) -> PublicKey:
    key = parse(name.strip())
    listed = ",".join(form.options)
    if key is None:
        if not re.fullmatch(r"[A-Za-z0-9+/]+=*", name.strip()):
            raise StateFailed("Invalid public ssh key, most likely has spaces or invalid syntax")
        kind = form.enc if re.fullmatch(_KIND, form.enc) else f"ssh-{form.enc}"
        if not re.fullmatch(_KIND, kind):
            raise StateFailed(f"enc {form.enc} is no kind of key: write ssh-ed25519, ssh-rsa, ecdsa-sha2-nistp256, …")
        key = PublicKey(kind=kind, key=name.strip())
    return PublicKey(kind=key.kind, key=key.key, options=key.options or listed, comment=key.comment or form.comment)


def parse(line: str) -> PublicKey | None:
    """A line of authorized_keys; None when it is none."""
    found = None if line.lstrip().startswith("#") else _LINE.match(line.strip())
    if found is None:
        return None
    return PublicKey(
        kind=found["kind"], key=found["key"], options=found["options"] or "", comment=(found["comment"] or "").strip()
    )


def _said(name: str, key: PublicKey, source: str) -> str:
    return key.key if source else name


def _file(machine: Reader, login: Login, *, may_come: bool = False) -> _File:
    """The file as it is; `may_come`: that of a user who is not there is empty, and its act fails."""
    user = login.user
    asked = machine.query(["getent", "passwd", user])
    fields = asked.stdout.strip().split(":")
    if asked.returncode != 0 or len(fields) < 6:
        if may_come:
            return _File(path="", user=user, lines=(), mode=None, owner_missing=True)
        raise StateFailed(f"User {user} does not exist: its keys have nowhere to be")
    path = login.config.replace("%h", fields[5]).replace("%u", user).replace("%%", "%")
    path = posixpath.normpath(posixpath.join(fields[5], path))
    for place in (posixpath.dirname(path), path):
        found = machine.stat(place)
        if found is not None and found.kind == "symlink":
            raise StateFailed(f"{place} is a symlink to {found.target}: keys are not written through it")
    found = machine.stat(path)
    text = machine.read(path).decode("utf-8", "surrogateescape") if found is not None else ""
    return _File(path=path, user=user, lines=tuple(text.splitlines()), mode=None if found is None else found.mode)


def _plan(file: _File, lines: Sequence[str], shown: Mapping[str, str], pending: str, done: str) -> Plan:
    act = _write(file, "".join(f"{line}\n" for line in lines))
    changes = tuple(Change(key=key, reported=value, act=act) for key, value in shown.items())
    return Plan(changes=changes, pending=pending, done=done)


def _write(file: _File, text: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        if file.owner_missing:
            raise StateFailed(f"User {file.user} does not exist: its keys have nowhere to be")
        folder, owner = posixpath.dirname(file.path), Perms(user=file.user, mode="0700")
        if machine.stat(folder) is None:
            machine.mkdir(folder, mode=owner.mode)
            machine.chown(folder, file.user, _group(machine, file.user))
        machine.write(file.path, text.encode("utf-8", "surrogateescape"), mode=file.mode or "0600")
        if file.mode is None:
            machine.chown(file.path, file.user, _group(machine, file.user))

    return act


def _group(machine: Reader, user: str) -> str:
    return machine.query(["id", "-g", user]).stdout.strip()


STATES: Mapping[str, StateFunction] = {"absent": absent, "manage": manage, "present": present}
