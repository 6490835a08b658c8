"""Secrets of Azure Key Vault.

azure-identity gets and renews tokens (a secret or certificate of an application, a workload's or a machine's identity);
the questions are one GET each, over httpx.

Source: https://learn.microsoft.com/en-us/rest/api/keyvault/secrets/get-secret/get-secret
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from controller.adapters.external_pillars.bounded_answers import CloudAnswer, asked
from controller.adapters.external_pillars.named_secrets import TIMEOUT, KeptTexts, StoreKind, text_option
from highstate.ports import SourceFailed

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_OPTIONS = ("vault_url", "tenant", "client_id", "secret", "certificate", "cloud_environment", "verify")
"""`tenant`, `client_id`, `secret` and `cloud_environment` are what saltext-azurerm calls them."""
_VERSION = "7.4"
_LONGEST_CODE = 100
_NAME = re.compile(r"(?P<secret>[0-9A-Za-z-]{1,127})(?:/(?P<version>[0-9A-Za-z]+))?")


class KeyVault:
    """`SecretStore`: a version of a secret, the newest one where none is named."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        import httpx

        url = str(text_option(options, "vault_url", "the address of a vault, like https://NAME.vault.azure.net"))
        host = urlsplit(url)
        if host.scheme != "https" or not host.hostname:
            raise SourceFailed("vault_url is the address of a vault, like https://NAME.vault.azure.net")
        verify = _verify(options)
        # The vaults of each of Azure's clouds are a resource by the name that is common to their addresses.
        kind = host.hostname.partition(".")[2]
        self._scope = f"https://{kind if kind.startswith('vault.') else 'vault.azure.net'}/.default"
        self._credential = _credential(options, verify)
        self._url = url.rstrip("/")
        self._tls = httpx.create_ssl_context()
        if isinstance(verify, str):
            self._tls.load_verify_locations(cafile=verify)

    def read(self, name: str) -> KeptTexts:
        """See `SecretStore`."""
        import httpx
        from azure.core.exceptions import AzureError

        parts = _NAME.fullmatch(name)
        if parts is None:
            raise SourceFailed(f"{name!r} is no name of a secret: letters, digits and dashes, and /VERSION")
        try:
            token = self._credential.get_token(self._scope).token
        except (AzureError, ValueError) as error:  # its text has the tenant and the application
            raise SourceFailed(f"Azure gives no token for the vault: {type(error).__name__}") from error
        path = f"/secrets/{parts['secret']}/{parts['version'] or ''}"
        try:
            answer = asked(
                "GET",
                f"{self._url}{path}",
                params={"api-version": _VERSION},
                headers={"Authorization": f"Bearer {token}"},
                verify=self._tls,
            )
        except httpx.HTTPError as error:
            raise SourceFailed(f"Azure cannot be asked for {name!r}: {type(error).__name__}") from error
        if answer.status == httpx.codes.NOT_FOUND:
            return {}
        if answer.status != httpx.codes.OK:
            needs = "; the controller needs the permission to get secrets" if answer.status == 403 else ""
            raise SourceFailed(f"Azure does not give {name!r}: {answer.status} {_code(answer)}{needs}")
        return {"": str(answer.part("value"))}


def _verify(options: Mapping[str, Any]) -> str | bool:
    verify = options.get("verify", True)
    if verify is not True and not isinstance(verify, str):
        raise SourceFailed("verify is the path of a CA's certificate")
    return verify


def _credential(options: Mapping[str, Any], verify: str | bool) -> TokenCredential:
    from azure import identity

    given = {name: text_option(options, name) for name in _OPTIONS if name not in ("vault_url", "verify")}
    tenant, client = given["tenant"], given["client_id"]
    own = given["cloud_environment"]
    common: dict[str, Any] = {
        # An authority of one's own is not asked of Microsoft's.
        **({"authority": own, "disable_instance_discovery": True} if own else {}),
        "connection_verify": verify,
        "retry_total": 1,
        "connection_timeout": TIMEOUT,
        "read_timeout": TIMEOUT,
    }
    try:
        if given["secret"] or given["certificate"]:
            if not tenant or not client:
                raise SourceFailed("secret and certificate need tenant and client_id")
            if given["secret"]:
                return identity.ClientSecretCredential(tenant, client, given["secret"], **common)
            return identity.CertificateCredential(tenant, client, given["certificate"], **common)
        found: list[TokenCredential] = [identity.EnvironmentCredential(**common)]
        if _has_workload():
            found.append(identity.WorkloadIdentityCredential(tenant_id=tenant, client_id=client, **common))
        found.append(identity.ManagedIdentityCredential(client_id=client, connection_verify=verify))
        return identity.ChainedTokenCredential(*found)
    except (ValueError, OSError) as error:
        raise SourceFailed(f"no credentials of Azure: {type(error).__name__}") from error


def _has_workload() -> bool:
    return bool(os.environ.get("AZURE_FEDERATED_TOKEN_FILE"))


def _code(answer: CloudAnswer) -> str:
    try:
        return str(answer.part("error", "code"))[:_LONGEST_CODE]
    except SourceFailed:
        return ""


KEY_VAULT = StoreKind(names="secrets", options=_OPTIONS, extra="azure", store=KeyVault)
