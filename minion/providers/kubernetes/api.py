"""Requests to an API server: JSON by Python's own HTTP client.

Nothing has to be installed for it: the official client for Python takes 75 MiB of disk and makes objects of what
states compare as mappings (docs/clusters.md). A certificate's key is never in a file.
"""

from __future__ import annotations

import functools
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from extmods.timed_answers import timed_handlers
from highstate.redaction import without
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Reader
from minion.providers.kubernetes.access import ClusterLogin, access_of
from minion.providers.kubernetes.kinds import KubernetesObject, ObjectKind
from minion.providers.kubernetes.kubeconfig import ClusterAccess

TIMEOUT = 30.0
"""Seconds without a byte."""
_LARGEST = 64 << 20
"""Bytes of an answer."""
_BETWEEN = 0.5
"""Seconds between two looks at what is waited for."""
_BRINGING = re.compile(r"archive|cmd|file|helm|kubernetes|module|pkg|pkgrepo|service")
"""State modules that may bring what a question lacks: a kubeconfig, the server, a namespace."""
_NOT_FOUND, _CONFLICT = 404, 409
STRATEGIC, MERGE, APPLY = (
    "application/strategic-merge-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
)  # fmt: skip
"""Kinds of patches; JSON is YAML, too."""


class ApiServerRefused(StateFailed):
    """The server answers with an error."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"Error {status} ({reason}): {message}")
        self.status = status
        self.message = message

    @property
    def is_missing(self) -> bool:
        """Whether there is no such thing."""
        return self.status == _NOT_FOUND


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the credentials to somebody else."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class ClusterApi:
    """A server, with one's credentials."""

    def __init__(self, machine: Reader, login: ClusterLogin, to_come: Collection[tuple[str, str]] = ()) -> None:
        """Raises StateFailed where nothing names a server; ContentUnknown where the run may bring what does."""
        self._to_come = to_come
        try:
            self.access = access_of(machine, login)
        except StateFailed as error:
            raise self.lacking(str(error)) from None
        machine.look_elsewhere(self.access.server)
        self._opener = _opener(self.access)
        self._kinds: dict[str, dict[str, ObjectKind]] = {}

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content: str = "application/json",
        **query: str | None,
    ) -> KubernetesObject:
        """The answer.

        Raises:
            ApiServerRefused: an error is the answer.
            StateFailed: there is none.
        """
        asked = {key: value for key, value in query.items() if value is not None}
        url = f"{self.access.server.rstrip('/')}{path}{'?' + urlencode(asked) if asked else ''}"
        headers = {"Accept": "application/json", "User-Agent": "saltern"}
        if self.access.authorization:
            headers["Authorization"] = self.access.authorization
        data = None
        if body is not None:
            headers["Content-Type"] = content
            data = json.dumps(body, default=str).encode()
        request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310  (checked)
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                found = json.loads(answer.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error.code, error.read(_LARGEST), self.access.authorization or "") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", None) or error
            raise self.lacking(f"The API server {self.access.server} cannot be asked: {why}") from None
        if not isinstance(found, dict):
            raise StateFailed(f"The API server {self.access.server} answers {path} with no object")
        return found

    def find(self, kind: ObjectKind, name: str, namespace: str | None = None) -> KubernetesObject | None:
        """An object; None where there is none."""
        try:
            return self.ask("GET", kind.path(namespace, name))
        except ApiServerRefused as error:
            if error.is_missing:
                return None
            raise

    def all(self, kind: ObjectKind, namespace: str | None = None, labels: str | None = None) -> list[KubernetesObject]:
        """All objects of a kind, in a namespace or everywhere."""
        found = self.ask("GET", kind.path(namespace), labelSelector=labels)
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **one} for one in found.get("items") or ()]

    def delete(self, kind: ObjectKind, name: str, namespace: str | None, **options: Any) -> KubernetesObject | None:
        """Delete an object; None where there is none. `options`: of `DeleteOptions`."""
        given = {key: value for key, value in options.items() if value is not None}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **given}
        try:
            return self.ask("DELETE", kind.path(namespace, name), body)
        except ApiServerRefused as error:
            if error.is_missing:
                return None
            raise

    def kind_of(self, api_version: str, kind: str) -> ObjectKind | None:
        """A kind as the server has it; None where it has none of the name."""
        if api_version not in self._kinds:
            prefix = "apis" if "/" in api_version else "api"
            try:
                listed = self.ask("GET", f"/{prefix}/{api_version}").get("resources") or ()
            except ApiServerRefused as error:
                if not error.is_missing:
                    raise
                return None
            self._kinds[api_version] = {
                each["kind"]: ObjectKind(
                    api_version=api_version,
                    kind=each["kind"],
                    plural=each["name"],
                    namespaced=bool(each.get("namespaced")),
                )
                for each in listed
                if "/" not in each["name"]
            }
        return self._kinds[api_version].get(kind)

    def forget_kinds(self) -> None:
        """Ask anew which kinds there are."""
        self._kinds.clear()

    def wait_until_ready(self, kind: ObjectKind, name: str, namespace: str | None, seconds: float) -> None:
        """StateFailed: it is not ready in time."""
        end = time.monotonic() + seconds
        while (found := self.find(kind, name, namespace)) is None or not kind.is_ready(found):
            if time.monotonic() >= end:
                raise StateFailed(f"Timeout waiting for {kind.word} {name} to become ready")
            time.sleep(_BETWEEN)

    def wait_until_gone(self, kind: ObjectKind, name: str, namespace: str | None, seconds: float) -> None:
        """StateFailed: it is still there in the end."""
        end = time.monotonic() + seconds
        while self.find(kind, name, namespace) is not None:
            if time.monotonic() >= end:
                raise StateFailed(f"Timeout waiting for {kind.word} {name} to be deleted")
            time.sleep(_BETWEEN)

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self._to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)


def _refusal(code: int, content: bytes, authorization: str) -> ApiServerRefused:
    try:
        said = json.loads(content)
        message = without(str(said.get("message") or ""), (authorization, authorization.rpartition(" ")[2]))
        return ApiServerRefused(code, str(said.get("reason") or "Unknown"), message)
    except (ValueError, AttributeError, RecursionError):
        return ApiServerRefused(code, "Unknown", content[:300].decode(errors="replace").strip())


@functools.lru_cache(maxsize=8)
def _opener(access: ClusterAccess) -> urllib.request.OpenerDirector:
    parts = urlsplit(access.server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StateFailed(f"The URL of the API server is none of http or https: {access.server}")
    proxies = {"http": access.proxy, "https": access.proxy} if access.proxy else None
    if access.no_proxy and urllib.request.proxy_bypass_environment(  # type: ignore[attr-defined]
        parts.hostname, {"no": access.no_proxy}
    ):
        proxies = {}
    context = _tls(access) if parts.scheme == "https" else None
    return urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirects(), *timed_handlers(context))


def _tls(access: ClusterAccess) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.authority or None)
        if not access.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.identity:
            _load_identity(context, access.identity)
    except (ssl.SSLError, ValueError) as error:
        raise StateFailed(f"The certificates for {access.server} cannot be used: {error}") from None
    return context


def _load_identity(context: ssl.SSLContext, pem: str) -> None:
    """OpenSSL reads a file: this one is in memory alone."""
    descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
