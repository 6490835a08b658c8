"""`Secrets` by a HashiCorp Vault or OpenBao server: read for each minion with a token that has its policies alone.

The controller's own token makes those tokens (`issuing`), and reads what the configuration itself names: the external
pillar `vault`, passwords of remotes. A path may hold `{minion}` and `{grains[...]}`, filled from the minion alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cachetools import TLRUCache

from controller.adapters.secrets.issuing import Issuing, PillarOf, VaultUser
from highstate.ports import SecretFailed
from highstate.types import Minion, Value
from minion.providers.vault.api import NotAllowed, NothingThere, VaultApi, VaultFailed
from minion.providers.vault.key_values import KeyValues, Mounts
from minion.providers.vault.patterns import NoSuchValue, expanded
from minion.providers.vault.tokens import OwnToken, Token, logged_in, token_of
from options.vault import VaultSettings

_Answer = TypeVar("_Answer")

_DEFAULT_LEASE = 300.0
"""Seconds that a secret without a lease of its own is kept."""
_MOST_SECRETS = 20_000
"""Answers that are kept, of all minions together."""
_MOST_TOKENS = 5_000
"""Tokens of minions that are kept."""


class Vault:
    """One server. Answers and failures are kept for their lease, by minion, so that a compile sees each secret once."""

    def __init__(self, settings: VaultSettings, clock: Callable[[], float] = time.monotonic) -> None:
        if settings.login is None:
            raise ValueError("a controller has a login of its own")
        login = settings.login
        self.settings = settings
        self._login = login
        self._clock = clock
        self._api = VaultApi(settings.server)
        self.own = OwnToken(self._api, lambda now: logged_in(self._api, login, now), login, clock)
        self.issuing = Issuing(settings=settings, own=self.own, pillar_of=_no_pillar, clock=clock)
        self._mounts = Mounts()
        self._kept: TLRUCache[tuple[str, str, str], Any] = TLRUCache(_MOST_SECRETS, _until, timer=clock)
        self._tokens: TLRUCache[str, Token] = TLRUCache(_MOST_TOKENS, lambda _, token, __: token.until, timer=clock)
        self._lock = threading.Lock()

    def use_pillars(self, pillar_of: PillarOf) -> None:
        """Fill `{pillar[...]}` in the names of policies from these."""
        self.issuing.pillar_of = pillar_of

    def read_secret(self, path: str, minion: Minion) -> Mapping[str, Value]:
        """All keys of one secret, as the minion may read it; SecretFailed."""
        filled = _filled(path, minion)
        return self._cached(("read", minion.id, filled), lambda: self._read(self._of_minion(minion), filled))

    def list_secrets(self, path: str, minion: Minion) -> Sequence[str]:
        """Names below a path, as the minion may list them; SecretFailed."""
        filled = _filled(path, minion)
        return self._cached(
            ("list", minion.id, filled), lambda: (self._of_minion(minion).names(filled), self._time_kept(0.0))
        )

    def read_own(self, path: str, *, anew: bool = False) -> Mapping[str, Value]:
        """A secret with the controller's own token; `anew`: without what is kept. SecretFailed."""
        key = ("own", "", path.strip("/"))
        if anew:
            with self._lock:
                self._kept.pop(key, None)
        own = KeyValues(ask=self.own.ask, look=self.own.mount, mounts=self._mounts)
        return self._cached(key, lambda: self._read(own, path))

    def forget(self) -> None:
        """Ask the server anew for whatever comes: tokens, policies and secrets."""
        with self._lock:
            self._kept.clear()
            self._tokens.clear()
        self.issuing.forget()
        self.own.forget()

    def _of_minion(self, minion: Minion) -> KeyValues:
        def ask(
            method: str, path: str, payload: Mapping[str, Any] | None = None, *, merge: bool = False, wrap: str = ""
        ) -> Mapping[str, Any]:
            token = self._token(minion)
            try:
                return self._api.ask(method, path, payload, token=token.text, merge=merge, wrap=wrap)
            except NotAllowed as error:
                with self._lock:  # it may have been taken back: the next one is new
                    self._tokens.pop(minion.id, None)
                names = ", ".join(self.issuing.policies(minion))
                raise NotAllowed(
                    f"{minion.id} may not {_VERBS.get(method, method)} {path}: none of its policies ({names}) permits "
                    f'it; one of them needs `path "{path}" {{ capabilities = ["{_VERBS.get(method, method)}"] }}`'
                ) from error

        return KeyValues(ask=ask, look=self.own.mount, mounts=self._mounts)

    def _token(self, minion: Minion) -> Token:
        """A token with the minion's policies, which has been counted as used."""
        with self._lock:
            known = self._tokens.get(minion.id)
            if known is not None and known.is_good(self._clock(), self._login.minimum_ttl):
                known.used()
                return known
        issue = self.settings.issue
        asker = VaultUser(minion=minion)
        if issue.kind == "approle":
            body = {"role_id": self.issuing.role_id(asker)["data"]["role_id"]}
            if issue.approle_params.get("bind_secret_id", True):
                body["secret_id"] = self.issuing.secret_id(asker)["data"]["secret_id"]
            answer = self._api.ask("POST", f"auth/{issue.approle_mount}/login", body)
        else:
            answer = self.issuing.token(asker)
        token = token_of(answer["auth"], self._clock())
        token.used()
        with self._lock:
            self._tokens[minion.id] = token
        return token

    def _read(self, engines: KeyValues, path: str) -> tuple[Mapping[str, Value], float]:
        found = engines.read(path)
        return dict(found.data), self._time_kept(found.lease)

    def _time_kept(self, lease: float) -> float:
        kept = self.settings.secret_kept
        return kept if kept is not None else lease or _DEFAULT_LEASE

    def _cached(self, key: tuple[str, str, str], ask: Callable[[], tuple[_Answer, float]]) -> _Answer:
        with self._lock:
            answer, _ = self._kept.get(key, (None, 0.0))
        if answer is None:
            answer, lease = _asked(ask)
            with self._lock:
                self._kept[key] = (answer, lease)
        if isinstance(answer, SecretFailed):
            raise SecretFailed(str(answer))
        found: _Answer = answer
        return found


_VERBS = {"GET": "read", "LIST": "list"}


def _asked(ask: Callable[[], tuple[_Answer, float]]) -> tuple[_Answer | SecretFailed, float]:
    try:
        return ask()
    except NothingThere as error:
        return SecretFailed(str(error)), 30.0
    except VaultFailed as error:
        return SecretFailed(str(error)), 5.0


def _until(key: object, kept: tuple[Any, float], now: float) -> float:
    return now + kept[1]


def _no_pillar(minion: str) -> Mapping[str, Value]:
    return {}


def _filled(path: str, minion: Minion) -> str:
    """The path with the minion's own values in it; SecretFailed when it has no such values."""
    try:
        [filled] = expanded(path, {"minion": minion.id, "grains": minion.grains})
    except NoSuchValue as error:
        raise SecretFailed(f"the path {path!r} asks for what this minion has not: {error}") from error
    except ValueError as error:
        raise SecretFailed(f"the path {path!r} stands for several, by a list") from error
    filled = filled.strip("/")
    if ".." in filled.split("/"):
        raise SecretFailed(f"the path {filled!r} leads upwards")
    return filled
