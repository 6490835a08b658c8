"""The server as a minion sees it: by its own login, or by tokens and AppRoles that the controller makes for it.

What the controller sends is wrapped: the minion alone fetches it from the server, once, and notices when somebody else
did before. Behaviour: the functions `vault.*` of saltext-vault, and `peer_run` of the controller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from minion.machine.failure import StateFailed
from options.vault import VaultLogin, VaultServer, VaultSettings
from wire.messages import PublishCall, Published, Refused

if TYPE_CHECKING:
    from minion.providers.vault.key_values import KeyValues
    from minion.providers.vault.tokens import OwnToken, Token

_SECONDS = 20.0
"""That the controller has for an answer: it asks the server meanwhile."""


class MinionVault:
    """What a call of functions keeps of the server: where it is, a token, its engines.

    Args:
        own: the minion's own option `vault`; empty: it has none.
        publish: asks the controller; None: there is none.
    """

    def __init__(self, own: Mapping[Any, Any], publish: Callable[[PublishCall], Published | Refused] | None) -> None:
        self._settings = VaultSettings.parse_of_minion(own) if own else None
        self._publish = publish

    @cached_property
    def server(self) -> VaultServer:
        """Where it is. StateFailed."""
        if self._is_local and self._settings is not None:
            return self._settings.server
        return VaultServer(**self._given["server"])

    @cached_property
    def own(self) -> OwnToken:
        """Requests with the minion's token. StateFailed."""
        try:
            from minion.providers.vault.api import VaultApi
            from minion.providers.vault.tokens import OwnToken, logged_in
        except ModuleNotFoundError as error:
            raise StateFailed(f"secrets of a vault need {error.name}: pip install 'saltern[vault]'") from error
        api = VaultApi(self.server)
        login = self._settings.login if self._settings and self._is_local else None
        if login is not None:
            own = login
            return OwnToken(api, lambda now: logged_in(api, own, now), own, time.monotonic)
        return OwnToken(api, self._from_controller, VaultLogin(), time.monotonic)

    @cached_property
    def secrets(self) -> KeyValues:
        """Its key-value engines. StateFailed."""
        own = self.own  # says first what is not installed
        from minion.providers.vault.key_values import KeyValues, Mounts

        return KeyValues(ask=own.ask, look=own.mount, mounts=Mounts())

    def forget(self) -> None:
        """Ask anew where it is, and have another token."""
        for name in ("server", "own", "secrets", "_given"):
            self.__dict__.pop(name, None)

    @property
    def _is_local(self) -> bool:
        if self._settings is None:
            return False
        return self._publish is None if self._settings.is_local is None else self._settings.is_local

    @cached_property
    def _given(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._asked("vault.get_config")
        return found

    def _from_controller(self, now: float) -> Token:
        from minion.providers.vault.api import VaultApi, VaultFailed
        from minion.providers.vault.tokens import token_of

        api = VaultApi(self.server)

        def opened(answer: Mapping[str, Any]) -> Mapping[str, Any]:
            wrapping = answer.get("wrap_info")
            return api.unwrapped(wrapping["token"]) if wrapping else answer

        if self._given["type"] == "token":
            return token_of(opened(self._asked("vault.generate_new_token"))["auth"], now)
        body = {"role_id": opened(self._asked("vault.get_role_id"))["data"]["role_id"]}
        if self._given["needs_secret_id"]:
            body["secret_id"] = opened(self._asked("vault.generate_secret_id"))["data"]["secret_id"]
        try:
            return token_of(api.ask("POST", f"auth/{self._given['mount']}/login", body)["auth"], now)
        except KeyError as error:
            raise VaultFailed("the login by the AppRole gave no token") from error

    def _asked(self, fun: str) -> Any:
        """What a runner of the controller says."""
        if self._publish is None:
            raise StateFailed(
                "no vault is configured: give this minion the option vault, or run the agent, which asks the controller"
            )
        found = self._publish(PublishCall(request=0, nonce=uuid4().hex, kind="runner", fun=fun, timeout=_SECONDS))
        if isinstance(found, Refused):
            raise StateFailed(f"the controller does not permit {fun}; its peer_run has to name it: {found.message}")
        value = found.returns.get("value")
        if found.failed:
            raise StateFailed(str(value))
        return value
