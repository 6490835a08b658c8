"""What the functions x509.read_… show of certificates, requests and lists.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2, read_certificate, read_crl, read_csr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from minion.providers.x509.extensions import OF_CERTIFICATES, OF_ENTRIES, OF_LISTS, TIME
from minion.providers.x509.keys import kind_of, public_pem, size_of
from minion.providers.x509.lists import hexadecimal
from minion.providers.x509.loading import known_public
from minion.providers.x509.names import attributes_of, shown

_USAGES = {
    "cRLSign": "crl_sign",
    "dataEncipherment": "data_encipherment",
    "digitalSignature": "digital_signature",
    "keyAgreement": "key_agreement",
    "keyCertSign": "key_cert_sign",
    "keyEncipherment": "key_encipherment",
    "nonRepudiation": "content_commitment",
}


def certificate(given: x509.Certificate) -> dict[str, Any]:
    """What is told of a certificate."""
    key = known_public(given.public_key())
    prints = {"sha1": hashes.SHA1(), "sha256": hashes.SHA256(), "md5": hashes.MD5()}  # noqa: S303  (names, no secrets)
    return {
        "version": given.version.value + 1,
        "key_size": size_of(key),
        "key_type": kind_of(key),
        "serial_number": hexadecimal(given.serial_number),
        "fingerprints": {name: hexadecimal(given.fingerprint(each)) for name, each in prints.items()},
        **_named("subject", given.subject),
        **_named("issuer", given.issuer),
        "not_before": given.not_valid_before_utc.strftime(TIME),
        "not_after": given.not_valid_after_utc.strftime(TIME),
        "public_key": public_pem(key),
        "extensions": _extensions(given.extensions, OF_CERTIFICATES),
        "signature_algorithm": _name_of(given.signature_algorithm_oid),
    }


def request(given: x509.CertificateSigningRequest) -> dict[str, Any]:
    """What is told of a request."""
    key = known_public(given.public_key())
    return {
        "key_size": size_of(key),
        "key_type": kind_of(key),
        **_named("subject", given.subject),
        "public_key_hash": hexadecimal(x509.SubjectKeyIdentifier.from_public_key(key).digest),
        "extensions": _extensions(given.extensions, OF_CERTIFICATES),
    }


def revocation_list(given: x509.CertificateRevocationList) -> dict[str, Any]:
    """What is told of a list of revoked certificates."""
    ends = given.next_update_utc
    return {
        "issuer": attributes_of(given.issuer),
        "last_update": given.last_update_utc.strftime(TIME),
        "next_update": "" if ends is None else ends.strftime(TIME),
        "revoked_certificates": {
            hexadecimal(one.serial_number).replace(":", ""): {
                "revocation_date": one.revocation_date_utc.strftime(TIME),
                "extensions": _extensions(one.extensions, OF_ENTRIES),
            }
            for one in given
        },
        "extensions": _extensions(given.extensions, OF_LISTS),
        "signature_algorithm": _name_of(given.signature_algorithm_oid),
    }


def _named(what: str, name: x509.Name) -> dict[str, Any]:
    return {what: attributes_of(name), f"{what}_hash": _name_hash(name), f"{what}_str": name.rfc4514_string()}


def _name_hash(name: x509.Name) -> str:
    """Salt's hash of a name: four bytes of its DER, in the order of this processor. OpenSSL takes another form."""
    digest = hashes.Hash(hashes.SHA1())  # noqa: S303  (a name for a file)
    digest.update(name.public_bytes())
    first = digest.finalize()[:4]
    return hexadecimal(first[::-1] if sys.byteorder == "little" else first)


def _name_of(oid: x509.ObjectIdentifier) -> str:
    name = oid._name
    return oid.dotted_string if name == "Unknown OID" else name


def _extensions(given: x509.Extensions, known: Mapping[str, x509.ObjectIdentifier]) -> dict[str, Any]:
    found = {}
    for name, oid in known.items():
        try:
            one = given.get_extension_for_oid(oid)
        except x509.ExtensionNotFound:
            continue
        render = _RENDERERS.get(type(one.value))
        found[name] = {"critical": one.critical, **(render(one.value) if render else {"value": str(one.value)})}
    return found


def _key_usage(value: x509.KeyUsage) -> dict[str, Any]:
    only = {
        "decipherOnly": value.key_agreement and value.decipher_only,
        "encipherOnly": value.key_agreement and value.encipher_only,
    }
    return {name: getattr(value, attribute) for name, attribute in _USAGES.items()} | only


def _authority_key_identifier(value: x509.AuthorityKeyIdentifier) -> dict[str, Any]:
    number = value.authority_cert_serial_number
    return {
        "keyid": hexadecimal(value.key_identifier) if value.key_identifier else None,
        "issuer": _names(value.authority_cert_issuer) or None,
        "issuer_sn": hexadecimal(number) if number else None,
    }


def _names(given: Iterable[x509.GeneralName] | None) -> list[str]:
    return [shown(one) for one in given or ()]


def _points(value: Iterable[x509.DistributionPoint]) -> dict[str, Any]:
    return {
        "value": [
            {
                "crlissuer": _names(one.crl_issuer),
                "fullname": _names(one.full_name),
                "reasons": sorted(reason.value for reason in one.reasons or ()),
                "relativename": one.relative_name.rfc4514_string() if one.relative_name else None,
            }
            for one in value
        ]
    }


def _issuing_point(value: x509.IssuingDistributionPoint) -> dict[str, Any]:
    return {
        "fullname": _names(value.full_name),
        "onysomereasons": sorted(reason.value for reason in value.only_some_reasons or ()),
        "relativename": value.relative_name.rfc4514_string() if value.relative_name else None,
        "onlyuser": value.only_contains_user_certs,
        "onlyCA": value.only_contains_ca_certs,
        "onlyAA": value.only_contains_attribute_certs,
        "indirectCRL": value.indirect_crl,
    }


def _policies(value: x509.CertificatePolicies) -> dict[str, Any]:
    return {
        "value": [
            {_name_of(one.policy_identifier): [_qualifier(each) for each in one.policy_qualifiers or ()]}
            for one in value
        ]
    }


def _qualifier(given: str | x509.UserNotice) -> dict[str, Any]:
    if isinstance(given, str):
        return {"practice_statement": given}
    reference = given.notice_reference
    return {
        "organizataion": reference.organization if reference else None,
        "notice_numbers": list(reference.notice_numbers) if reference else None,
        "explicit_text": given.explicit_text,
    }


_RENDERERS: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    x509.AuthorityInformationAccess: lambda value: {
        "value": [{_name_of(one.access_method): shown(one.access_location)} for one in value]
    },
    x509.AuthorityKeyIdentifier: _authority_key_identifier,
    x509.BasicConstraints: lambda value: {"ca": value.ca, "pathlen": value.path_length},
    x509.CRLDistributionPoints: _points,
    x509.CRLNumber: lambda value: {"value": value.crl_number},
    x509.CRLReason: lambda value: {"value": value.reason.value},
    x509.CertificateIssuer: lambda value: {"value": _names(value)},
    x509.CertificatePolicies: _policies,
    x509.DeltaCRLIndicator: lambda value: {"value": value.crl_number},
    x509.ExtendedKeyUsage: lambda value: {"value": [_name_of(one) for one in value]},
    x509.FreshestCRL: _points,
    x509.InhibitAnyPolicy: lambda value: {"value": value.skip_certs},
    x509.InvalidityDate: lambda value: {"value": value.invalidity_date.strftime(TIME)},
    x509.IssuerAlternativeName: lambda value: {"value": _names(value)},
    x509.IssuingDistributionPoint: _issuing_point,
    x509.KeyUsage: _key_usage,
    x509.NameConstraints: lambda value: {
        "excluded": _names(value.excluded_subtrees),
        "permitted": _names(value.permitted_subtrees),
    },
    x509.OCSPNoCheck: lambda value: {"value": True},
    x509.PolicyConstraints: lambda value: {
        "inhibitPolicyMapping": value.inhibit_policy_mapping,
        "requireExplicitPolicy": value.require_explicit_policy,
    },
    x509.SubjectAlternativeName: lambda value: {"value": _names(value)},
    x509.SubjectKeyIdentifier: lambda value: {"value": hexadecimal(value.digest)},
    x509.TLSFeature: lambda value: {"value": [one.name for one in value]},
}
