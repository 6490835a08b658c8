"""Libraries that only some configurations need, and that come with an extra of their own (docs/adr/0037)."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from controller.config.access import AccessSettings
from controller.config.api import ApiSettings
from options.document import Fault, Option
from options.vault import VaultSettings

_OF_PILLARS: Mapping[str, tuple[str, str]] = {
    "aws_secrets_manager": ("botocore", "aws"),
    "aws_ssm": ("botocore", "aws"),
    "azure_key_vault": ("azure.identity", "azure"),
    "google_secret_manager": ("google.auth", "google"),
}
"""External pillar -> the module that it needs, and the extra that brings it."""


def lacking_vault(vault: VaultSettings | None, place: str) -> list[Fault]:
    """What a configuration with a vault lacks on this machine."""
    return _lacking("hvac", "vault", "vault", place) if vault else []


def lacking_libraries(
    options: Mapping[str, Option], vault: VaultSettings | None, access: AccessSettings, api: ApiSettings
) -> list[Fault]:
    """The libraries that a configuration needs and this machine has not.

    Args:
        options: as they stand in the files, for the places.
        vault: whose secrets are read.
        access: who may have what done.
        api: how the API is served.
    """

    def place(name: str) -> str:
        return options[name].place if name in options else ""

    found = lacking_vault(vault, place("vault"))
    entries = options["ext_pillar"].value if "ext_pillar" in options else ()
    for name in dict.fromkeys(str(each) for entry in entries if isinstance(entry, Mapping) for each in entry):
        if name in _OF_PILLARS:
            found += _lacking(_OF_PILLARS[name][0], _OF_PILLARS[name][1], name, place("ext_pillar"))
    if "pam" in access.external_auth:
        found += _lacking("pamela", "pam", "external_auth", place("external_auth"))
    if api.oidc is not None:
        found += _lacking("jwt", "oidc", "api: oidc", place("api"))
    return found


def _lacking(module: str, extra: str, option: str, place: str) -> list[Fault]:
    if _is_there(module):
        return []
    return [Fault(place, f"{option} needs {module}, which is not installed", f"pip install 'saltern[{extra}]'")]


def _is_there(module: str) -> bool:
    """Whether a module can be imported, which it is not here."""
    parts = module.split(".")
    try:
        return all(importlib.util.find_spec(".".join(parts[: length + 1])) for length in range(len(parts)))
    except ModuleNotFoundError:
        return False
