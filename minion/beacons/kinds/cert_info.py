"""The beacon `cert_info`: certificates in files that expire soon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Memory, Options, World

if TYPE_CHECKING:
    from cryptography import x509

_ALTERNATIVES = {"DNSName": "DNS", "IPAddress": "IP Address", "RFC822Name": "email", "UniformResourceIdentifier": "URI"}
"""OpenSSL's words for alternative names."""

NOTIFY_DAYS = 45
"""Where the configuration gives none."""


def _check(options: Options) -> Iterator[Complaint]:
    files = options.get("files")
    if not isinstance(files, list) or not files:
        yield (
            (("files",) if "files" in options else ()),
            "files is missing: a list of certificates, as `- files: [/etc/a.pem]`",
        )
        return
    if not _is_days(options.get("notify_days", NOTIFY_DAYS)):
        yield ("notify_days",), f"notify_days must be a number of days, not {options['notify_days']!r}"
    for number, one in enumerate(files):
        path, given = _entry(one)
        if not isinstance(path, str) or not isinstance(given, dict) or not _is_days(given.get("notify_days", 0)):
            yield ("files", str(number)), f"{one!r} must be a path, or a path with `notify_days: NUMBER` below it"


def _is_days(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _entry(one: Any) -> tuple[Any, Any]:
    if isinstance(one, dict) and one:
        path = next(iter(one))
        return path, one[path] or {}
    return one, {}


def _look(options: Options, memory: Memory, world: World) -> Found:
    certificates, failed = [], []
    now = datetime.fromtimestamp(world.now(), UTC)
    for path, given in map(_entry, options["files"]):
        days = given.get("notify_days", options.get("notify_days", NOTIFY_DAYS))
        try:
            certificate = _read(path)
        except (OSError, ValueError) as error:
            failed.append(f"{path}: {error}")
            continue
        if days < 0 or (certificate.not_valid_after_utc - now).days <= days:
            certificates.append(_described(path, certificate, now))
    if failed and not certificates:
        raise BeaconFailed("; ".join(failed))
    return [{"certificates": certificates}] if certificates else []


def _read(path: str) -> x509.Certificate:
    try:
        from cryptography import x509  # takes 8 MiB, in the process of the look alone
    except ModuleNotFoundError as error:
        raise BeaconFailed(f"{error}: pip install 'saltern[cryptography]'") from None

    return x509.load_pem_x509_certificate(Path(path).read_bytes())


def _described(path: str, certificate: x509.Certificate, now: datetime) -> dict[str, Any]:
    after, before = certificate.not_valid_after_utc, certificate.not_valid_before_utc
    issuer, subject = _names(certificate.issuer), _names(certificate.subject)
    return {
        "cert_path": path,
        "issuer": ",".join(f'{key}="{value}"' for key, value in issuer.items()),
        "issuer_dict": issuer,
        "notAfter_raw": f"{after:%Y%m%d%H%M%SZ}",
        "notAfter": f"{after:%Y-%m-%d %H:%M:%SZ}",
        "notBefore_raw": f"{before:%Y%m%d%H%M%SZ}",
        "notBefore": f"{before:%Y-%m-%d %H:%M:%SZ}",
        "serial_number": certificate.serial_number,
        "signature_algorithm": certificate.signature_algorithm_oid._name,
        "subject": ",".join(f'{key}="{value}"' for key, value in subject.items()),
        "subject_dict": subject,
        "version": certificate.version.value,
        "extensions": [
            {"ext_name": one.oid._name, "ext_data": _extension(one.value)} for one in certificate.extensions
        ],
        "has_expired": after < now,
    }


def _names(name: x509.Name) -> dict[str, str]:
    return {each.rfc4514_attribute_name: str(each.value) for each in name}


def _extension(value: x509.ExtensionType) -> str:
    """OpenSSL's text of the extensions that people look at; of others their description."""
    from cryptography import x509

    match value:
        case x509.BasicConstraints():
            length = "" if value.path_length is None else f", pathlen:{value.path_length}"
            return f"CA:{'TRUE' if value.ca else 'FALSE'}{length}"
        case x509.SubjectAlternativeName() | x509.IssuerAlternativeName():
            return ", ".join(_ALTERNATIVES.get(type(one).__name__, "other") + f":{one.value}" for one in value)
        case _:
            return str(value)


_KIND = BeaconKind(
    check=_check,
    look=_look,
    interval=3600.0,
    slow=True,
    known=frozenset(("files", "notify_days", "emitatstartup", "onchangeonly")),
)

BEACONS: Mapping[str, BeaconKind] = {"cert_info": _KIND}
