"""The state module `gpg`: public keys of a keychain.

Behaviour: doc/ref/states/all/salt.states.gpg. A key may be named by its fingerprint, too; trust is what was set for its
owner.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from minion.arguments.types import Ignored, Texts, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.gnupg.keychain import LEVELS, Keychain, KeychainOptions, keychain_of
from minion.providers.gnupg.listing import Key
from minion.providers.gnupg.sources import content_at

Level = Literal["expired", "unknown", "not_trusted", "marginally", "fully", "ultimately"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Where keys come from."""

    keyserver: str | None
    sources: tuple[str, ...]
    skip_keyserver: bool
    text: str | None

    def bring(self, machine: Machine, chain: Keychain, name: str) -> None:
        """Take a key into a keychain. StateFailed where nobody has it."""
        if self.text:
            if not chain.receive_from(machine, self.text.encode(), name):
                raise StateFailed(f"Passed text did not contain the requested key {name}")
            return
        said: list[str] = []
        if not self.skip_keyserver:
            received, said = chain.receive(machine, [name], self.keyserver)
            if received:
                return
        for source in self.sources:
            data = content_at(machine, source)
            if data is not None and chain.receive_from(machine, data, name):
                return
        if self.sources:
            said.append(f"none of the specified sources were found or contained the (unexpired) key {name}.")
        raise StateFailed("\n".join(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is to be of one key."""

    name: str
    chain: Keychain
    origin: _Origin
    level: str | None
    found: Key | None
    expired: bool

    def said(self, *, done: bool) -> str:
        """What was done of it, or will be."""
        lines = [self._brought(done=done)]
        if self.level and self._trusts():
            lines.append(f"GPG Public Key {self.name} already in correct trust state")
        elif self.level:
            lines.append(f"{'Set' if done else 'Would have set'} trust level for {self.name} to {self.level}")
        return f"Key {self.name}:" + "".join(f"\n  * {line}" for line in lines)

    def _brought(self, *, done: bool) -> str:
        if self.found is None:
            return f"{'Added' if done else 'Would have added'} {self.name} to GPG keychain"
        if self.expired:
            verb, why = ("Updated", "was") if done else ("Would have attempted to update", "is")
            return f"{verb} {self.name} because it {why} expired"
        return f"GPG Public Key {self.name} already in keychain"

    def _trusts(self) -> bool:
        return self.found is not None and self.found.ownertrust == LEVELS[self.level or "unknown"][1]

    def change(self) -> Change | None:
        """What there is to do."""
        reported: dict[str, Any] = {}
        if self.found is None:
            reported["added"] = True
        elif self.expired:
            reported["refresh"] = True
        if self.level and not self._trusts():
            reported["trust"] = self.level
        return Change(key=self.name, reported=reported, act=self.act) if reported else None

    def act(self, machine: Machine) -> None:
        """Bring the key, and set trust in its owner."""
        machine.begin_elsewhere()
        if self.found is None or self.expired:
            self.origin.bring(machine, self.chain, self.name)
        key = self.chain.key(machine, self.name)
        if key is None:
            raise StateFailed(f"The new key {self.name} could not be retrieved though.")
        if key.expired(time.time()):
            raise StateFailed(f"The new key {self.name} is expired though.")
        if self.level and key.ownertrust != LEVELS[self.level][1]:
            self.chain.trust(machine, key.fingerprint, self.level)


def present(
    machine: Reader,
    name: str,
    *,
    keys: Texts = (),
    keyserver: str | None = None,
    trust: Level | None = None,
    source: Texts = (),
    skip_keyserver: bool = False,
    text: str | None = None,
    subkey_maxage: Annotated[Value, Ignored("a key whose own time has not ended is left as it is")] = 100,
    where: KeychainOptions,
) -> Plan:
    """These public keys are in the keychain, and have not ended."""
    if not text and skip_keyserver and not source:
        raise StateFailed("When skipping keyservers, you must provide at least one source")
    chain = keychain_of(where, machine.opts)
    origin = _Origin(keyserver=keyserver, sources=tuple(source), skip_keyserver=skip_keyserver, text=text)
    there, now = chain.keys(machine), time.time()
    wanted: list[_Wanted] = []
    for one in dict.fromkeys(keys or (name,)):
        found = next((key for key in there if key.is_named(one)), None)
        expired = found is not None and found.expired(now)
        wanted.append(
            _Wanted(name=one, chain=chain, origin=origin, level=trust, found=found, expired=expired),
        )
    changes = tuple(change for each in wanted if (change := each.change()) is not None)
    if not changes:
        return Plan(comment="\n".join(each.said(done=True) for each in wanted))
    return Plan(
        changes=changes,
        pending="\n".join(each.said(done=False) for each in wanted),
        done="\n".join(each.said(done=True) for each in wanted),
    )


def absent(
    machine: Reader,
    name: str,
    *,
    keys: Texts = (),
    keyring_absent_if_empty: bool = False,
    where: KeychainOptions,
) -> Plan:
    """These public keys are not in the keychain."""
    chain = keychain_of(where, machine.opts)
    there = chain.keys(machine)
    found: dict[str, Key] = {}
    pending, done = [], []
    for one in dict.fromkeys(keys or (name,)):
        key = next((key for key in there if key.is_named(one)), None)
        if key is None:
            pending.append(f"{one} not found in GPG keychain")
            done.append(pending[-1])
            continue
        if chain.has_secret(machine, key):
            raise StateFailed("Secret key exists, delete first or pass delete_secret=True.")
        found[one] = key
        pending.append(f"Would have deleted {one} from GPG keychain")
        done.append(f"Deleted {one} from GPG keychain")
    changes = []
    if found:
        changes.append(Change(key="deleted", reported=list(found), act=lambda machine: _delete(machine, chain, found)))
    ring = chain.keyring
    left = {key.keyid for key in there} - {key.keyid for key in found.values()}
    if ring and keyring_absent_if_empty and not left and machine.stat(ring) is not None:
        changes.append(Change(key="removed", reported=ring, act=lambda machine: machine.remove(ring)))
        done.append(f"Removed empty keyring file {ring}")
        pending.append(f"Would have removed empty keyring file {ring}")
    if not changes:
        return Plan(comment="\n".join(done))
    return Plan(changes=tuple(changes), pending="\n".join(pending), done="\n".join(done))


def _delete(machine: Machine, chain: Keychain, keys: Mapping[str, Key]) -> None:
    machine.begin_elsewhere()
    for key in keys.values():
        chain.delete(machine, key.fingerprint, secret=False)


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
