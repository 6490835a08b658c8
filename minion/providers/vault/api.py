"""Requests to a Vault or OpenBao server, by hvac's adapter: one method, and errors with what to do.

hvac is imported with this module, which is imported where a secret is asked for: it takes 5 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import hvac.adapters  # type: ignore[import-untyped]  # its hints are no part of it
import hvac.exceptions  # type: ignore[import-untyped]
import requests

from highstate.redaction import secret_texts, without
from minion.providers.vault.bounded_answers import BoundedAdapter
from options.vault import VaultServer


class VaultFailed(Exception):
    """The server did not do it; the text says why, and holds no secret."""


class NothingThere(VaultFailed):
    """There is nothing at the path."""


class NotAllowed(VaultFailed):
    """The token may not do it, or is none any more."""


class Ask(Protocol):
    """Requests with one token."""

    def __call__(
        self, method: str, path: str, payload: Mapping[str, Any] | None = None, *, merge: bool = False, wrap: str = ""
    ) -> Mapping[str, Any]:
        """See `VaultApi.ask`."""


class VaultApi:
    """A server."""

    def __init__(self, server: VaultServer) -> None:
        # Redirects are followed by GET alone: a standby answers a POST by one that would lose its body.
        self._adapter = hvac.adapters.JSONAdapter(
            base_uri=server.url.rstrip("/"),
            namespace=server.namespace,
            verify=server.verify,
            timeout=(server.connect_timeout, server.read_timeout),
            session=_session(server),
        )

    def ask(
        self,
        method: str,
        path: str,
        payload: Mapping[str, Any] | None = None,
        *,
        token: str = "",
        merge: bool = False,
        wrap: str = "",
    ) -> Mapping[str, Any]:
        """The answer; empty where the server has none to give.

        Args:
            method: `GET`, `LIST`, `POST`, `PATCH`, `DELETE`, ….
            path: below `/v1/`.
            payload: the body.
            token: whose the request is.
            merge: whether the body is a merge patch.
            wrap: time for which the answer is kept by the server, to be fetched once.

        Raises:
            VaultFailed: one of its kinds.
        """
        headers = {"X-Vault-Token": token} if token else {}
        if merge:
            headers["Content-Type"] = "application/merge-patch+json"
        more = {} if payload is None else {"json": dict(payload)}
        try:
            found = self._adapter.request(
                method.lower(), f"/v1/{path.lstrip('/')}", headers=headers, wrap_ttl=wrap or None, **more
            )
        except hvac.exceptions.InvalidPath as error:
            raise NothingThere(f"there is nothing at {path}") from error
        except (hvac.exceptions.Forbidden, hvac.exceptions.Unauthorized) as error:
            raise NotAllowed(f"the token does not permit {method.upper()} of {path}") from error
        except hvac.exceptions.VaultError as error:
            said = "; ".join(str(each) for each in error.errors or ()) or str(error).partition(", on ")[0]
            told = without(said, (token, *secret_texts(dict(payload or {}))))
            raise VaultFailed(f"the server refuses {method.upper()} of {path}: {told[:300]}") from error
        except requests.RequestException as error:
            raise VaultFailed(f"the server cannot be asked: {type(error).__name__}") from error
        except RecursionError as error:
            raise VaultFailed(f"the answer to {method.upper()} of {path} is nested too deeply") from error
        return found if isinstance(found, dict) else {}

    def unwrapped(self, wrapping: str) -> Mapping[str, Any]:
        """What lies in a wrapping. VaultFailed: it was opened before, by whomever, or has expired."""
        try:
            return self.ask("POST", "sys/wrapping/unwrap", token=wrapping)
        except VaultFailed as error:
            raise VaultFailed(f"a wrapped answer cannot be opened; somebody else may have done so: {error}") from error


def _session(server: VaultServer) -> requests.Session:
    """A session that has taken proxies and certificates from the environment, once: each request takes a fifth less."""
    session = requests.Session()
    found = session.merge_environment_settings(server.url, {}, None, server.verify, None)
    session.proxies, session.verify, session.trust_env = dict(found["proxies"]), found["verify"], False
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter())
    return session
