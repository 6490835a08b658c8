"""The option `api`: where people, scripts and browsers reach the API over the network, and who may show who they are.

Read by `controller.config.settings`, used by the composition root. Nothing here opens a file or a connection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from options.convert import Unwanted, convert_value, kinds_of
from options.document import Fault, Inside, Option
from options.kinds import Flag, Names, OptionalText, OptionText, PortNumber, Prepare, Seconds, Wanted, absolute
from options.near_names import did_you_mean

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Of signatures with a public key (RFC 7518, 3.1; RFC 8037): an issuer publishes its keys."""
_FORM = "write `api: {host: ADDRESS, port: 8443, tls: {certificate: FILE, key: FILE}}`"


def _host(value: Any) -> Any:
    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError:
        raise ValueError("an IP address of this machine, like 127.0.0.1 or 0.0.0.0") from None


def _issuer(value: Any) -> Any:
    """An address of the form of OpenID Connect Discovery 1.0, section 3; plain HTTP on this machine alone."""
    if not isinstance(value, str) or not is_web_address(value) or urlsplit(value).query:
        raise ValueError
    return value


def is_web_address(address: str) -> bool:
    """Whether it is an address of HTTPS, or of plain HTTP on this machine, with neither a password nor a fragment."""
    try:
        parts = urlsplit(address)
        named = parts.hostname or ""
    except ValueError:
        return False
    plain = parts.scheme == "http" and (named == "localhost" or is_loopback(named))
    return (parts.scheme == "https" or plain) and bool(named) and not parts.username and not parts.fragment


def is_loopback(host: str) -> bool:
    """Whether an IP address reaches this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _algorithms(value: Any) -> Any:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not set(map(str, found)) <= set(ALGORITHMS):
        raise ValueError
    return found


ApiHost: TypeAlias = Annotated[str, Prepare(_host)]
ApiPath: TypeAlias = Annotated[Path, Wanted("an absolute path"), Prepare(absolute)]
OptionalApiPath: TypeAlias = Annotated[Path | None, Wanted("an absolute path"), Prepare(absolute)]
Issuer: TypeAlias = Annotated[
    str, Wanted("an address like https://id.example.org/realms/ops (http:// on this machine alone)"), Prepare(_issuer)
]
Audiences: TypeAlias = Annotated[Names, Wanted("the name of this controller at the issuer, or a list of them")]
Algorithms: TypeAlias = Annotated[tuple[str, ...], Wanted("a list of " + ", ".join(ALGORITHMS)), Prepare(_algorithms)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """The certificate of the port."""

    certificate: ApiPath
    """PEM, with the certificates of intermediate authorities behind it."""
    key: ApiPath


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """Whose tokens show who somebody is: an issuer of OpenID Connect."""

    issuer: Issuer
    """As in the claim `iss`; the discovery document is below it."""
    audience: Audiences
    """One of them must be in the claim `aud`."""
    user_claim: OptionText = "sub"
    """Whose value is the user's name."""
    groups_claim: OptionText = "groups"
    """Whose values are the user's groups."""
    prefix: OptionalText = "oidc:"
    """Before names and groups, so that an issuer names no user of this machine by chance."""
    algorithms: Algorithms = ("RS256", "ES256", "PS256", "EdDSA")
    ca_file: OptionalApiPath = None
    """Who has signed the issuer's certificate; without it, who the system trusts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Where the API is reached over the network. Without a port it is reached on the unix socket alone."""

    host: ApiHost = "127.0.0.1"
    port: PortNumber = 0
    tls: TlsOptions | None = None
    plain_on_loopback: Flag = False
    """Whether a loopback address is served without TLS: for a proxy on this machine that ends TLS, and for tests."""
    session_seconds: Seconds = 43200.0
    """That a session of a browser lives."""
    salt_api: Flag = True
    """Whether the port serves the shapes of salt-api, too, at `/salt`."""
    dashboard: Flag = True
    """Whether the port serves the dashboard, too."""
    oidc: OidcOptions | None = None


def read_api(option: Option | None, faults: list[Fault]) -> ApiSettings:
    """The option `api`; what is wrong with it is appended to `faults`, with its place."""
    if option is None:
        return ApiSettings()
    before = len(faults)
    kinds = kinds_of(ApiSettings)
    plain = {name: kind for name, kind in kinds.items() if name not in ("tls", "oidc")}
    values = _values(option, (), plain, "api", faults, inner=("tls", "oidc"))
    given: Mapping[str, Any] = option.value if isinstance(option.value, Mapping) else {}
    if "tls" in given:
        values["tls"] = _group(option, "tls", TlsOptions, ("certificate", "key"), faults)
    if "oidc" in given:
        values["oidc"] = _group(option, "oidc", OidcOptions, ("issuer", "audience"), faults)
    found = ApiSettings(**values)
    if len(faults) == before:
        faults += _contradictions(option, found)
    return found


def _group(option: Option, name: str, of: type, needed: tuple[str, ...], faults: list[Fault]) -> Any:
    """A mapping inside the option as its type; None where it is not usable."""
    before = len(faults)
    values = _values(option, (name,), kinds_of(of), f"api: {name}", faults)
    if len(faults) == before and (missing := [each for each in needed if each not in values]):
        faults.append(Fault(option.at((name,)), f"api: {name} needs {' and '.join(missing)}"))
    return of(**values) if len(faults) == before else None


def _values(
    option: Option, inside: Inside, kinds: Mapping[str, Any], where: str, faults: list[Fault], inner: Inside = ()
) -> dict[str, Any]:
    """The entries of a mapping, each as its type; `inner` names those that are read elsewhere."""
    value: Any = option.value
    for step in inside:
        value = value[step]
    known = (*kinds, *map(str, inner))
    if not isinstance(value, Mapping):
        faults.append(Fault(option.at(inside), f"{where} must be a mapping of {', '.join(known)}", _FORM))
        return {}
    found = {}
    for name, each in value.items():
        if name not in known:
            hint = did_you_mean(str(name), known) or f"there are {', '.join(known)}"
            faults.append(Fault(option.at((*inside, str(name))), f"{where}: there is no {name!r}", hint))
        elif name in kinds:
            try:
                found[name] = convert_value(each, kinds[name])
            except Unwanted as error:
                faults.append(
                    Fault(option.at((*inside, name)), f"{where}: {name} must be {error.wanted}, not {each!r}")
                )
    return found


def _contradictions(option: Option, found: ApiSettings) -> list[Fault]:
    if found.tls is not None:
        return []
    if not is_loopback(found.host):
        text = f"api: {found.host} is reached from other machines, and tokens would go there in plain text"
        return [Fault(option.at(("host",)), text, "give it a certificate: `tls: {certificate: FILE, key: FILE}`")]
    if found.port and not found.plain_on_loopback:
        text = "api: there is no tls"
        hint = "give it a certificate, or say `plain_on_loopback: true` where a proxy on this machine ends TLS"
        return [Fault(option.at(("port",)), text, hint)]
    return []
