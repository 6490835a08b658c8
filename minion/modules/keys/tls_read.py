"""Functions of `tls` that only look: authorities, certificates, whether they hold.

Behaviour: doc/ref/modules/all/salt.modules.tls.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.configured import configured
from minion.providers.x509.content import BEGIN, require_library

if TYPE_CHECKING:
    from minion.providers.x509.authority_folder import AuthorityFolder

OPTION = "ca.cert_base_path"
_USUAL: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "common": {
        "csr": {"basicConstraints": "CA:FALSE"},
        "cert": {"authorityKeyIdentifier": "keyid,issuer:always", "subjectKeyIdentifier": "hash"},
    },
    "server": {
        "csr": {"extendedKeyUsage": "serverAuth", "keyUsage": "digitalSignature, keyEncipherment"},
        "cert": {},
    },
    "client": {
        "csr": {"extendedKeyUsage": "clientAuth", "keyUsage": "nonRepudiation, digitalSignature, keyEncipherment"},
        "cert": {},
    },
}
_LARGEST = 2**63


def base_path(context: Context, cacert_path: str | None = None) -> str:
    """The folder of all authorities."""
    return cacert_path or context.certificates_path or str(configured(context.machine, OPTION, "/etc/pki"))


def set_ca_path(context: Context, cacert_path: str) -> str:
    """Have the calls after this one, of the same run, use another folder of authorities."""
    context.certificates_path = cacert_path or context.certificates_path
    return base_path(context)


def folder_of(context: Context, name: str, cacert_path: str | None, filename: str | None = None) -> AuthorityFolder:
    """The folder of an authority."""
    require_library()
    from minion.providers.x509.authority_folder import AuthorityFolder

    return AuthorityFolder(base=base_path(context, cacert_path), name=name, filename=filename)


def extensions_of(given: Any, kind: str) -> dict[str, dict[str, Any]] | None:
    """Extensions of requests (`csr`) and certificates of a type; None where nobody says any."""
    said = given if isinstance(given, Mapping) else {}
    found = said.get(kind) or _USUAL.get(kind)
    if found is None:
        return None
    common = said.get("common") or _USUAL["common"]
    return {use: {**(common.get(use) or {}), **(found.get(use) or {})} for use in ("csr", "cert")}


def ca_exists(context: Context, ca_name: str, cacert_path: str | None = None, ca_filename: str | None = None) -> bool:
    """Whether there is this authority."""
    return context.machine.stat(folder_of(context, ca_name, cacert_path, ca_filename).own("crt")) is not None


def get_ca(context: Context, ca_name: str, as_text: bool = False, cacert_path: str | None = None) -> str:
    """The path of an authority's certificate, or its text."""
    file = folder_of(context, ca_name, cacert_path).own("crt")
    return _file(context, file, as_text, f"Certificate does not exist for {ca_name}")


def get_ca_signed_cert(
    context: Context,
    ca_name: str,
    CN: str = "localhost",  # noqa: N803  (Salt's name)
    as_text: bool = False,
    cacert_path: str | None = None,
    cert_filename: str | None = None,
) -> str:
    """The path of a certificate that an authority has signed, or its text."""
    file = folder_of(context, ca_name, cacert_path).issued(cert_filename or CN, "crt")
    return _file(context, file, as_text, f"Certificate does not exists for {CN}")


def get_ca_signed_key(
    context: Context,
    ca_name: str,
    CN: str = "localhost",  # noqa: N803  (Salt's name)
    as_text: bool = False,
    cacert_path: str | None = None,
    key_filename: str | None = None,
) -> str:
    """The path of the key of such a certificate, or its text."""
    file = folder_of(context, ca_name, cacert_path).issued(key_filename or CN, "key")
    return _file(context, file, as_text, f"Certificate does not exists for {CN}")


def _file(context: Context, path: str, as_text: bool, missing: str) -> str:
    if context.machine.stat(path) is None:
        raise CallFailed(missing)
    return context.machine.read(path).decode() if as_text else path


def cert_info(context: Context, cert: str, digest: str = "sha256") -> dict[str, Any]:
    """What is in a certificate: a path, or PEM. Times are seconds since the epoch."""
    found = _certificate(context, cert)
    from minion.providers.x509.authority_folder import components
    from minion.providers.x509.keys import digest_of
    from minion.providers.x509.lists import hexadecimal
    from minion.providers.x509.rendering import certificate

    shown = certificate(found)
    number = found.serial_number
    told = {
        "fingerprint": hexadecimal(found.fingerprint(digest_of(digest))).upper(),
        "subject": dict(components(found.subject)),
        "issuer": dict(components(found.issuer)),
        "serial_number": number if number < _LARGEST else str(number),
        "not_before": int(found.not_valid_before_utc.timestamp()),
        "not_after": int(found.not_valid_after_utc.timestamp()),
        "extensions": shown["extensions"],
        "signature_algorithm": shown["signature_algorithm"],
    }
    return {**told, **_names(found)}


def _names(found: Any) -> dict[str, list[str]]:
    from cryptography import x509

    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return {}
    each = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    return {"subject_alt_names": sorted(each)}


def get_expiration_date(context: Context, cert: str, date_format: str = "%Y-%m-%d") -> str:
    """When a certificate ends, in UTC."""
    return str(_certificate(context, cert).not_valid_after_utc.strftime(date_format))


def validate(context: Context, cert: str, ca_name: str, crl_file: str | None = None) -> dict[str, Any]:
    """Whether an authority has signed a certificate, and it has neither ended nor been revoked.

    Without `crl_file` what index.txt of the authority says counts.
    """
    found = _certificate(context, cert)
    from minion.providers.x509.certificates import now_utc
    from minion.providers.x509.keys import signed_by
    from minion.providers.x509.loading import load_certificate, load_list

    folder, machine = folder_of(context, ca_name, None), context.machine
    if machine.stat(folder.own("crt")) is None:
        raise CallFailed(f"Certificate does not exist for {ca_name}")
    authority = load_certificate(machine, folder.own("crt")).certificate
    if crl_file:
        listed, _ = load_list(machine, crl_file)
        if not listed.is_signature_valid(authority.public_key()):  # type: ignore[arg-type]
            return {"valid": False, "error": "CRL signature failure"}
        revoked = listed.get_revoked_certificate_by_serial_number(found.serial_number) is not None
    else:
        revoked = any(line[0] == "R" and int(line[3], 16) == found.serial_number for line in folder.lines(machine))
    now = now_utc()
    for wrong, error in (
        (found.issuer != authority.subject or not signed_by(found, authority.public_key()),
         "unable to get local issuer certificate"),
        (revoked, "certificate revoked"),
        (now < found.not_valid_before_utc, "certificate is not yet valid"),
        (now > min(found.not_valid_after_utc, authority.not_valid_after_utc), "certificate has expired"),
    ):  # fmt: skip
        if wrong:
            return {"valid": False, "error": error}
    return {"valid": True}


def _certificate(context: Context, cert: str) -> Any:
    require_library()
    from minion.providers.x509.loading import load_certificate

    path = posixpath.normpath(cert) if BEGIN not in cert else cert
    if path is not cert and context.machine.stat(path) is None:
        raise CallFailed(f"Failed to read cert from {cert}: it is not there")
    return load_certificate(context.machine, path).certificate


FUNCTIONS = {
    "ca_exists": ca_exists,
    "cert_info": cert_info,
    "get_ca": get_ca,
    "get_ca_signed_cert": get_ca_signed_cert,
    "get_ca_signed_key": get_ca_signed_key,
    "get_expiration_date": get_expiration_date,
    "set_ca_path": set_ca_path,
    "validate": validate,
}
