"""What minions are given of the vault: tokens and AppRoles with the policies that `policies: assign` names for each.

The controller's own token makes them. Behaviour: https://salt-extensions.github.io/saltext-vault/topics/basic_config.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cachetools import TTLCache

from highstate.types import Minion, Value
from minion.providers.vault.api import NothingThere, VaultFailed
from minion.providers.vault.patterns import NoSuchValue, expanded
from minion.providers.vault.tokens import OwnToken
from options.vault import VaultSettings

_MOST_KEPT = 20_000
"""Minions whose policies are remembered."""

PillarOf = Callable[[str], Mapping[str, Value]]
"""The pillar of a minion by its last good compile. What is being compiled does not count: it may ask the vault."""


class NoPolicies(VaultFailed):
    """No policy is assigned to a minion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultUser:
    """For whom something is issued, and why: the metadata that the server's audit log shows."""

    minion: Minion
    user: str = "compile"
    jid: str = "0"

    @property
    def values(self) -> dict[str, Any]:
        """What patterns are filled from."""
        return {"minion": self.minion.id, "grains": self.minion.grains, "user": self.user, "jid": self.jid}


@dataclass(slots=True, kw_only=True)
class Issuing:
    """Makes tokens and AppRoles for minions.

    Args:
        settings: the option `vault`.
        own: the controller's token.
        pillar_of: for patterns with `{pillar[...]}`.
        clock: seconds.
    """

    settings: VaultSettings
    own: OwnToken
    pillar_of: PillarOf
    clock: Callable[[], float]
    _policies: TTLCache[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        kept = self.settings.issue.policies_kept
        self._policies = TTLCache(_MOST_KEPT if kept else 0, kept or 1.0, timer=self.clock)

    def policies(self, minion: Minion) -> tuple[str, ...]:
        """Names of a minion's policies. Patterns that ask for what it does not have give none."""
        known = self._policies.get(minion.id)
        if known is not None:
            return known
        found: list[str] = []
        values = {"minion": minion.id, "grains": minion.grains, "pillar": self._pillar(minion)}
        for pattern in self.settings.issue.policies:
            try:
                found += [name.lower() for name in expanded(pattern, values)]  # the server's names are lower case
            except NoSuchValue:
                continue
        names = tuple(dict.fromkeys(found))
        if self._policies.maxsize:
            self._policies[minion.id] = names
        return names

    def forget(self) -> None:
        """Look for the policies of all minions anew."""
        self._policies.clear()

    def token(self, asker: VaultUser, wrap: str = "") -> Mapping[str, Any]:
        """A token: the server's answer, whose `auth` it is, or whose `wrap_info` it can be fetched by. VaultFailed."""
        issue = self.settings.issue
        names = self._some_policies(asker.minion)
        body = {**issue.token_params, "policies": list(names), "meta": self._metadata(asker)}
        path = f"auth/token/create/{issue.role_name}" if issue.role_name else "auth/token/create"
        return self.own.ask("POST", path, {key: each for key, each in body.items() if each is not None}, wrap=wrap)

    def role_id(self, asker: VaultUser, wrap: str = "") -> Mapping[str, Any]:
        """The role id of the minion's AppRole, which is made or changed where it has to be. VaultFailed."""
        role = self._role(asker.minion)
        wanted = {**self.settings.issue.approle_params, "token_policies": list(self._some_policies(asker.minion))}
        try:
            there = self.own.ask("GET", role)["data"]
        except NothingThere:
            there = {}
        if any(there.get(key) != value for key, value in wanted.items() if value is not None):
            self.own.ask("POST", role, {key: value for key, value in wanted.items() if value is not None})
        return self.own.ask("GET", f"{role}/role-id", wrap=wrap)

    def secret_id(self, asker: VaultUser, wrap: str = "") -> Mapping[str, Any]:
        """A secret id for the minion's AppRole. VaultFailed."""
        role = self._role(asker.minion)
        return self.own.ask("POST", f"{role}/secret-id", {"metadata": json.dumps(self._metadata(asker))}, wrap=wrap)

    def approles(self) -> list[str]:
        """Minions that have an AppRole. VaultFailed."""
        try:
            return [str(each) for each in self.own.ask("LIST", f"auth/{self._mount}/role")["data"]["keys"]]
        except NothingThere:
            return []

    def approle(self, minion: Minion) -> Mapping[str, Any]:
        """What the server has of a minion's AppRole. VaultFailed."""
        return dict(self.own.ask("GET", self._role(minion))["data"])

    def remove_approle(self, minion: Minion) -> None:
        """Delete a minion's AppRole. VaultFailed."""
        self.own.ask("DELETE", self._role(minion))

    def _some_policies(self, minion: Minion) -> tuple[str, ...]:
        names = self.policies(minion)
        if not names:
            raise NoPolicies(f"no policy of the option vault (policies: assign) is assigned to {minion.id}")
        return names

    @property
    def _mount(self) -> str:
        return self.settings.issue.approle_mount

    def _role(self, minion: Minion) -> str:
        return f"auth/{self._mount}/role/{minion.id}"

    def _metadata(self, asker: VaultUser) -> dict[str, str]:
        values = {**asker.values, "pillar": self._pillar(asker.minion)}
        found: dict[str, str] = {}
        for key, pattern in self.settings.issue.metadata.items():
            try:
                found[key] = ",".join(expanded(pattern, values))
            except NoSuchValue:
                found[key] = ""
        return found

    def _pillar(self, minion: Minion) -> Mapping[str, Value]:
        issue = self.settings.issue
        if any("{pillar" in each for each in (*issue.policies, *issue.metadata.values())):
            return self.pillar_of(minion.id)
        return {}
