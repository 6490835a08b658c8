"""`Secrets` by HashiCorp Vault's API (hvac): token or AppRole, key-value engines 1 and 2, cached within their leases.

Options are those of Salt's `vault`. The engine's version is asked of the server once for each mount. A path may hold
`{minion}` and `{grains[...]}`, filled from the minion alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hvac  # type: ignore[import-untyped]  # its hints are no part of it
import requests

from controller.config.vault import VaultSettings
from highstate.ports import SecretFailed
from highstate.traverse import traverse
from highstate.types import Minion, Value

_DEFAULT_LEASE = 300.0
"""Seconds that a secret without a lease of its own is kept."""


class Vault:
    """One vault. Answers and failures are kept for their lease, so that a compile sees each secret once."""

    def __init__(self, settings: VaultSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._client: hvac.Client | None = None
        self._token_until = 0.0
        self._kept: dict[tuple[str, str], tuple[float, Any]] = {}
        self._versions: dict[str, int] = {}
        """Mount -> version of the engine there."""

    def read_secret(self, path: str, minion: Minion) -> Mapping[str, Value]:
        """All keys of one secret; SecretFailed."""
        secret: Mapping[str, Value] = self._cached("read", _filled(path, minion), self._read)
        return secret

    def read_now(self, path: str) -> Mapping[str, Value]:
        """As `read_secret`, for the controller itself and without what is kept."""
        self._kept.pop(("read", path), None)
        return self.read_secret(path, Minion(id="", grains={}))

    def list_secrets(self, path: str, minion: Minion) -> Sequence[str]:
        """Names below a path; SecretFailed."""
        names: Sequence[str] = self._cached("list", _filled(path, minion), self._list)
        return names

    def _cached(self, kind: str, path: str, ask: Callable[[str], tuple[Any, float]]) -> Any:
        until, answer = self._kept.get((kind, path), (0.0, None))
        if self._clock() >= until:
            answer, lease = self._asked(path, ask)
            self._kept[kind, path] = (self._clock() + lease, answer)
        if isinstance(answer, SecretFailed):
            raise SecretFailed(str(answer))
        return answer

    def _asked(self, path: str, ask: Callable[[str], tuple[Any, float]]) -> tuple[Any, float]:
        try:
            return ask(path)
        except hvac.exceptions.InvalidPath:
            return SecretFailed(f"there is nothing at {path}"), 30.0
        except hvac.exceptions.Forbidden:
            self._client = None  # the token may have been taken back: the next time we log in again
            return SecretFailed(f"the controller may not read {path}"), 5.0
        except (hvac.exceptions.VaultError, requests.RequestException) as error:
            return SecretFailed(f"the vault cannot be asked: {type(error).__name__}"), 5.0

    def _read(self, path: str) -> tuple[Any, float]:
        where, version = self._place(path, "data")
        answer = self._logged_in().read(where)
        if not answer or not answer.get("data"):
            raise hvac.exceptions.InvalidPath
        data = answer["data"]["data"] if version == 2 else answer["data"]
        if data is None:  # a version that was deleted
            raise hvac.exceptions.InvalidPath
        return dict(data), float(answer.get("lease_duration") or _DEFAULT_LEASE)

    def _list(self, path: str) -> tuple[Any, float]:
        where, _ = self._place(path, "metadata")
        answer = self._logged_in().list(where)
        if not answer:
            raise hvac.exceptions.InvalidPath
        return list(answer["data"]["keys"]), _DEFAULT_LEASE

    def _place(self, path: str, part: str) -> tuple[str, int]:
        """The path as the engine there wants it: version 2 has a part of its own between mount and name."""
        mount = next((known for known in self._versions if path.startswith(known)), "")
        if not mount:
            mount, version = self._mount(path)
            self._versions[mount] = version
        version = self._versions[mount]
        if version == 1 or path[len(mount) :].startswith(f"{part}/"):
            return path, version
        return f"{mount}{part}/{path[len(mount) :]}", version

    def _mount(self, path: str) -> tuple[str, int]:
        answer = self._logged_in().adapter.get(f"/v1/sys/internal/ui/mounts/{path}")
        data = answer["data"] if isinstance(answer, dict) else answer.json()["data"]
        return str(data["path"]), int((data.get("options") or {}).get("version", 1))

    def _logged_in(self) -> hvac.Client:
        settings = self._settings
        if self._client is not None and self._clock() < self._token_until:
            return self._client
        client = hvac.Client(
            url=settings.url,
            token=settings.token or None,
            namespace=settings.namespace,
            verify=settings.verify,
            timeout=settings.timeout,
        )
        lease = float("inf")
        if settings.role_id:
            login = client.auth.approle.login(
                role_id=settings.role_id, secret_id=settings.secret_id or None, mount_point=settings.approle_mount
            )
            # Renewed by a new login, well before it ends.
            lease = float(login["auth"].get("lease_duration") or _DEFAULT_LEASE) * 0.8
        self._client, self._token_until = client, self._clock() + lease
        return client


def _filled(path: str, minion: Minion) -> str:
    """The path with the minion's own values in it; SecretFailed when it has no such values."""

    def value(found: re.Match[str]) -> str:
        if found["grains"] is None:
            return minion.id
        keys = re.findall(r"\[([^\]]+)\]", found["grains"])
        grain = traverse(minion.grains, keys, None)
        if not isinstance(grain, str | int):
            raise SecretFailed(f"the path {path!r} asks for a grain that this minion has not")
        return str(grain)

    filled = re.sub(r"\{(?:minion|grains(?P<grains>(?:\[[^\]]+\])+))\}", value, path).strip("/")
    if ".." in filled.split("/"):
        raise SecretFailed(f"the path {filled!r} leads upwards")
    return filled
