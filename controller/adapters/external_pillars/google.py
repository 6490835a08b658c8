"""Secrets of Google Cloud's Secret Manager.

google-auth finds and renews credentials (a file, the environment, the service account of a machine or of a workload).
The questions are one GET each, over httpx, where Google's client brings gRPC, of 20 MiB.

Source: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

from controller.adapters.external_pillars.bounded_answers import CloudAnswer, asked
from controller.adapters.external_pillars.named_secrets import KeptTexts, StoreKind, text_option
from highstate.ports import SourceFailed

_OPTIONS = ("project", "credentials", "endpoint_url")
_LONGEST_STATUS = 100
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_NAME = re.compile(r"(?:projects/(?P<project>[^/]+)/secrets/)?(?P<secret>[\w-]+)(?:/versions/(?P<version>\w+))?")


class SecretManager:
    """`SecretStore`: a version of a secret, the latest one where none is named."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        import google.auth
        import httpx
        from google.auth.exceptions import GoogleAuthError
        from google.oauth2.service_account import Credentials

        given = {name: text_option(options, name) for name in _OPTIONS}
        self._url = given["endpoint_url"] or "https://secretmanager.googleapis.com"
        # No client is kept, whose connections somebody had to close; making a context is what takes long.
        self._tls = httpx.create_ssl_context()
        self._asked = cast(Any, self._send)  # a `google.auth.transport.Request` by what it takes, not by its type
        self._failures = (GoogleAuthError, httpx.HTTPError)
        try:
            if given["credentials"]:
                account = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
                    given["credentials"], scopes=_SCOPES
                )
                self._credentials, own = account, account.project_id
            else:
                self._credentials, own = google.auth.default(scopes=_SCOPES, request=self._asked)
        except (GoogleAuthError, OSError, ValueError) as error:
            raise SourceFailed(f"no credentials of Google Cloud: {type(error).__name__}") from error
        self._project = given["project"] or own

    def read(self, name: str) -> KeptTexts:
        """See `SecretStore`."""
        parts = _NAME.fullmatch(name)
        project = (parts and parts["project"]) or self._project
        if parts is None or not project:
            raise SourceFailed(f"{name!r} is NAME, NAME/versions/N or projects/P/secrets/NAME, with the option project")
        path = (
            f"/v1/projects/{quote(project, safe='')}/secrets/{parts['secret']}/versions/{parts['version'] or 'latest'}"
        )
        try:
            headers: dict[str, str] = {}
            self._credentials.before_request(self._asked, "GET", path, headers)
            answer = asked("GET", f"{self._url}{path}:access", headers=headers, verify=self._tls)
        except self._failures as error:
            raise SourceFailed(f"Google Cloud cannot be asked for {name!r}: {type(error).__name__}") from error
        if answer.status == 404:
            return {}
        if answer.status != 200:
            needs = "; the controller needs secretmanager.versions.access" if answer.status == 403 else ""
            raise SourceFailed(f"Google Cloud does not give {name!r}: {answer.status} {_status(answer)}{needs}")
        try:
            return {"": _text(base64.b64decode(str(answer.part("payload", "data"))))}
        except ValueError as error:
            raise SourceFailed(f"Google Cloud gives {name!r} as no base64") from error

    def _send(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **ignored: Any,
    ) -> CloudAnswer:
        """What google-auth asks with: https://google-auth.readthedocs.io/en/latest/reference/google.auth.transport.html."""
        import httpx
        from google.auth.exceptions import TransportError

        try:
            return asked(method, url, content=body, headers=headers or {}, verify=self._tls)
        except (httpx.HTTPError, SourceFailed) as error:
            raise TransportError(type(error).__name__) from error  # type: ignore[no-untyped-call]


def _status(answer: CloudAnswer) -> str:
    try:
        return str(answer.part("error", "status"))[:_LONGEST_STATUS]
    except SourceFailed:
        return ""


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


SECRET_MANAGER = StoreKind(names="secrets", options=_OPTIONS, extra="google", store=SecretManager)
