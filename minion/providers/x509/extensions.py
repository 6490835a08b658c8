"""Extensions of certificates, requests and lists, from what OpenSSL's configuration or YAML says.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2, create_certificate and create_crl; x509v3_config(5ssl).
A value is a text as in OpenSSL's configuration, or the list or mapping that it stands for; `critical` is a word of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.x509.oid import (
    AuthorityInformationAccessOID,
    CRLEntryExtensionOID,
    ExtensionOID,
    SubjectInformationAccessOID,
)

from minion.machine.failure import StateFailed
from minion.providers.x509.loading import PublicKey
from minion.providers.x509.names import general_name, general_names, object_identifier, relative_name

TIME = "%Y-%m-%d %H:%M:%S"

OF_CERTIFICATES: Mapping[str, x509.ObjectIdentifier] = {
    "basicConstraints": ExtensionOID.BASIC_CONSTRAINTS,
    "keyUsage": ExtensionOID.KEY_USAGE,
    "extendedKeyUsage": ExtensionOID.EXTENDED_KEY_USAGE,
    "subjectKeyIdentifier": ExtensionOID.SUBJECT_KEY_IDENTIFIER,
    "authorityKeyIdentifier": ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    "issuerAltName": ExtensionOID.ISSUER_ALTERNATIVE_NAME,
    "authorityInfoAccess": ExtensionOID.AUTHORITY_INFORMATION_ACCESS,
    "subjectAltName": ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    "crlDistributionPoints": ExtensionOID.CRL_DISTRIBUTION_POINTS,
    "certificatePolicies": ExtensionOID.CERTIFICATE_POLICIES,
    "policyConstraints": ExtensionOID.POLICY_CONSTRAINTS,
    "inhibitAnyPolicy": ExtensionOID.INHIBIT_ANY_POLICY,
    "nameConstraints": ExtensionOID.NAME_CONSTRAINTS,
    "noCheck": ExtensionOID.OCSP_NO_CHECK,
    "tlsfeature": ExtensionOID.TLS_FEATURE,
}
OF_LISTS: Mapping[str, x509.ObjectIdentifier] = {
    "authorityKeyIdentifier": ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    "authorityInfoAccess": ExtensionOID.AUTHORITY_INFORMATION_ACCESS,
    "cRLNumber": ExtensionOID.CRL_NUMBER,
    "deltaCRLIndicator": ExtensionOID.DELTA_CRL_INDICATOR,
    "freshestCRL": ExtensionOID.FRESHEST_CRL,
    "issuerAltName": ExtensionOID.ISSUER_ALTERNATIVE_NAME,
    "issuingDistributionPoint": ExtensionOID.ISSUING_DISTRIBUTION_POINT,
}
OF_ENTRIES: Mapping[str, x509.ObjectIdentifier] = {
    "certificateIssuer": CRLEntryExtensionOID.CERTIFICATE_ISSUER,
    "CRLReason": CRLEntryExtensionOID.CRL_REASON,
    "invalidityDate": CRLEntryExtensionOID.INVALIDITY_DATE,
}
NOT_OF_REQUESTS = frozenset({"authorityInfoAccess", "authorityKeyIdentifier", "issuerAltName", "crlDistributionPoints"})
"""What the authority says, and nobody who asks."""

_USAGES = {
    name: x509.ObjectIdentifier(oid)
    for name, oid in {
        "serverAuth": "1.3.6.1.5.5.7.3.1",
        "clientAuth": "1.3.6.1.5.5.7.3.2",
        "codeSigning": "1.3.6.1.5.5.7.3.3",
        "emailProtection": "1.3.6.1.5.5.7.3.4",
        "timeStamping": "1.3.6.1.5.5.7.3.8",
        "OCSPSigning": "1.3.6.1.5.5.7.3.9",
        "ipsecIKE": "1.3.6.1.5.5.7.3.17",
        "msSmartcardLogin": "1.3.6.1.4.1.311.20.2.2",
        "msCodeInd": "1.3.6.1.4.1.311.2.1.21",
        "msCodeCom": "1.3.6.1.4.1.311.2.1.22",
        "msCTLSign": "1.3.6.1.4.1.311.10.3.1",
        "msEFS": "1.3.6.1.4.1.311.10.3.4",
        "pkInitKDC": "1.3.6.1.5.2.3.5",
    }.items()
}
_ACCESS = {
    "OCSP": AuthorityInformationAccessOID.OCSP,
    "caIssuers": AuthorityInformationAccessOID.CA_ISSUERS,
    "caRepository": SubjectInformationAccessOID.CA_REPOSITORY,
}
_KEY_USAGES = {
    "digitalSignature": "digital_signature",
    "nonRepudiation": "content_commitment",
    "keyEncipherment": "key_encipherment",
    "dataEncipherment": "data_encipherment",
    "keyAgreement": "key_agreement",
    "keyCertSign": "key_cert_sign",
    "cRLSign": "crl_sign",
    "encipherOnly": "encipher_only",
    "decipherOnly": "decipher_only",
}


class Extension(NamedTuple):
    """An extension as it is to be."""

    value: x509.ExtensionType
    critical: bool


class Around(NamedTuple):
    """Whose certificate it is: what some extensions are computed from."""

    subject_key: PublicKey | None = None
    authority: x509.Certificate | None = None
    own_authority: PublicKey | None = None
    """Of a certificate that signs itself: its key."""


def extension(name: str, given: Any, around: Around) -> Extension:
    """The extension of this name. Raises StateFailed for what it cannot be."""
    make = _MAKERS.get(name)
    if make is None:
        raise StateFailed(f"Unknown extension {name}")
    try:
        value = make(given, around)
    except (TypeError, ValueError, KeyError, AttributeError, LookupError) as error:
        raise StateFailed(f"Invalid configuration for {name}: {error}") from error
    never = name in (
        "subjectKeyIdentifier",
        "authorityKeyIdentifier",
        "authorityInfoAccess",
        "freshestCRL",
        "cRLNumber",
    )
    if _critical(given) and name in ("subjectKeyIdentifier", "authorityKeyIdentifier"):
        raise StateFailed(f"{name} must be marked as non-critical")
    return Extension(value, _critical(given) and not never)


def _critical(given: Any) -> bool:
    if isinstance(given, Mapping):
        return bool(given.get("critical", False))
    if isinstance(given, str):
        return given.strip().startswith("critical")
    return isinstance(given, list) and ("critical" in given or {"critical": True} in given)


def _words(given: Any) -> list[str]:
    """The words of a text, a list or a mapping, without `critical`."""
    if isinstance(given, Mapping):
        found = [str(key) for key, value in given.items() if value is not False]
    elif isinstance(given, str):
        found = [one for one in re.split(r"[\s,]+", given) if one]
    else:
        found = [str(one) for one in (given if isinstance(given, list) else [given])]
    return [one for one in found if one != "critical"]


def _items(text: str) -> list[str]:
    rest = text.strip()
    rest = rest.removeprefix("critical").strip().strip(",") if rest.startswith("critical") else rest
    return [one.strip() for one in rest.split(",") if one.strip()]


def _pairs(given: Any) -> Iterator[tuple[str, Any]]:
    """Names and values: of `a:b,c:d`, of a list of such texts and of mappings, or of a mapping."""
    if isinstance(given, Mapping):
        each: Iterable[Any] = ({key: value} for key, value in given.items() if key != "critical")
    else:
        each = _items(given) if isinstance(given, str) else (one for one in given if one != "critical")
    for one in each:
        if isinstance(one, Mapping):
            yield from ((str(key), value) for key, value in one.items())
        else:
            name, colon, value = str(one).partition(":")
            yield name.strip(), value.strip() if colon else "__present__"


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _basic_constraints(given: Any, around: Around) -> x509.BasicConstraints:
    if isinstance(given, str):
        found = dict(_pairs(given.lower()))
        if "ca" not in found:
            raise ValueError("'ca'")
        length = found.get("pathlen")
        return x509.BasicConstraints(found["ca"] == "true", None if length is None else int(length))
    return x509.BasicConstraints(given["ca"], given.get("pathlen"))


def _key_usage(given: Any, around: Around) -> x509.KeyUsage:
    words = set(_words(given))
    return x509.KeyUsage(**{argument: word in words for word, argument in _KEY_USAGES.items()})


def _extended_key_usage(given: Any, around: Around) -> x509.ExtendedKeyUsage:
    return x509.ExtendedKeyUsage([_USAGES.get(word) or object_identifier(word) for word in _words(given)])


def _subject_key_identifier(given: Any, around: Around) -> x509.SubjectKeyIdentifier:
    if given == "hash":
        if around.subject_key is None:
            raise ValueError("there is no public key")
        return x509.SubjectKeyIdentifier.from_public_key(around.subject_key)
    return x509.SubjectKeyIdentifier(given if isinstance(given, bytes) else bytes.fromhex(given.replace(":", "")))


def _authority_key_identifier(given: Any, around: Around) -> x509.AuthorityKeyIdentifier:
    wanted = dict(_pairs(given))
    key, issuer, number = None, None, None
    if "keyid" in wanted:
        key = _authority_key(around)
        if key is None and wanted["keyid"] == "always":
            raise ValueError("the key of the authority is not known, and it was set to always")
    if wanted.get("issuer") == "always" or ("issuer" in wanted and key is None):
        if around.authority is not None:
            issuer = [x509.DirectoryName(around.authority.issuer)]
            number = around.authority.serial_number
        elif wanted["issuer"] == "always":
            raise ValueError("the issuer is not known, and it was set to always")
    return x509.AuthorityKeyIdentifier(key, issuer, number)


def _authority_key(around: Around) -> bytes | None:
    if around.authority is not None:
        try:
            return around.authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
        except x509.ExtensionNotFound:
            key: Any = around.authority.public_key()
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(key).key_identifier
    if around.own_authority is not None:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(around.own_authority).key_identifier
    return None


def _issuers_names(given: Any, around: Around) -> list[x509.GeneralName]:
    pairs = list(_pairs(given))
    copied: list[x509.GeneralName] = []
    if ("issuer", "copy") in pairs:
        if around.authority is None:
            raise ValueError("there is no certificate of the authority to copy from")
        copied = list(around.authority.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    return copied + general_names(pair for pair in pairs if pair != ("issuer", "copy"))


def _authority_info_access(given: Any, around: Around) -> x509.AuthorityInformationAccess:
    if isinstance(given, str):
        pairs = [tuple(one.split(";", 1)) for one in _items(given)]
    else:
        pairs = [(name, value) for name, value in _pairs(given)]
    return x509.AuthorityInformationAccess(
        [x509.AccessDescription(_ACCESS.get(name) or object_identifier(name), general_name(at)) for name, at in pairs]
    )


def _reasons(given: Any) -> frozenset[x509.ReasonFlags] | None:
    return frozenset(x509.ReasonFlags(one) for one in _listed(given)) if given else None


def _full_name(given: Any) -> list[x509.GeneralName] | None:
    return [general_name(one) for one in _listed(given)] if given else None


def _distribution_points(given: Any) -> list[x509.DistributionPoint]:
    points = []
    for one in _items(given) if isinstance(given, str) else _listed(given):
        if one in ("critical", {"critical": True}):
            continue
        if isinstance(one, str) or not {"fullname", "relativename", "crlissuer", "reasons"} & set(one):
            points.append(x509.DistributionPoint(general_names(_pairs([one])), None, None, None))
            continue
        relative = one.get("relativename")
        points.append(
            x509.DistributionPoint(
                _full_name(one.get("fullname")),
                relative_name(relative) if relative else None,
                _reasons(one.get("reasons")),
                _full_name(one.get("crlissuer")),
            )
        )
    return points


def _issuing_distribution_point(given: Any, around: Around) -> x509.IssuingDistributionPoint:
    relative = given.get("relativename")
    return x509.IssuingDistributionPoint(
        full_name=_full_name(given.get("fullname")),
        relative_name=relative_name(relative) if relative else None,
        only_contains_user_certs=given.get("onlyuser", False),
        only_contains_ca_certs=given.get("onlyCA", False),
        only_some_reasons=_reasons(given.get("onlysomereasons")),
        indirect_crl=given.get("indirectCRL", False),
        only_contains_attribute_certs=given.get("onlyAA", False),
    )


def _certificate_policies(given: Any, around: Around) -> x509.CertificatePolicies:
    if isinstance(given, str):
        return x509.CertificatePolicies([x509.PolicyInformation(object_identifier(one), None) for one in _items(given)])
    return x509.CertificatePolicies(
        [
            x509.PolicyInformation(object_identifier(policy), [_qualifier(one) for one in _listed(qualifiers)])
            for policy, qualifiers in _pairs(given)
        ]
    )


def _qualifier(given: Any) -> str | x509.UserNotice:
    if isinstance(given, str):
        return given
    numbers = given.get("noticeNumbers")
    reference = x509.NoticeReference(given.get("organization"), numbers) if numbers else None
    return x509.UserNotice(reference, given.get("text"))


def _policy_constraints(given: Any, around: Around) -> x509.PolicyConstraints:
    found = {name: int(value) for name, value in _pairs(given)}
    return x509.PolicyConstraints(found.get("requireExplicitPolicy"), found.get("inhibitPolicyMapping"))


def _inhibit_any_policy(given: Any, around: Around) -> x509.InhibitAnyPolicy:
    return x509.InhibitAnyPolicy(int(given["value"] if isinstance(given, Mapping) else _words(given)[0]))


def _name_constraints(given: Any, around: Around) -> x509.NameConstraints:
    trees: dict[str, list[tuple[str, Any]]] = {"permitted": [], "excluded": []}
    if isinstance(given, str):
        for one in _items(given):
            scope, _, name = one.partition(";")
            trees[scope].extend(_pairs([name]))
    else:
        for scope, tree in trees.items():
            tree.extend(_pairs(_listed(given.get(scope) or [])))
    if not any(trees.values()):
        raise ValueError("it needs at least one definition")
    return x509.NameConstraints(general_names(trees["permitted"]) or None, general_names(trees["excluded"]) or None)


def _tls_feature(given: Any, around: Around) -> x509.TLSFeature:
    return x509.TLSFeature([x509.TLSFeatureType[word] for word in _words(given)])


def _number(given: Any) -> int:
    found = re.findall(r"\d+", str(given))
    if len(found) != 1:
        raise ValueError("it must contain a single integer")
    return int(found[0])


def _invalidity_date(given: Any, around: Around) -> x509.InvalidityDate:
    text = given.strip().removeprefix("critical").strip(", ") if isinstance(given, str) else str(given)
    return x509.InvalidityDate(datetime.strptime(text, TIME))


_MAKERS: Mapping[str, Callable[[Any, Around], x509.ExtensionType]] = {
    "CRLReason": lambda given, around: x509.CRLReason(x509.ReasonFlags(_words(given)[0])),
    "authorityInfoAccess": _authority_info_access,
    "authorityKeyIdentifier": _authority_key_identifier,
    "basicConstraints": _basic_constraints,
    "cRLNumber": lambda given, around: x509.CRLNumber(_number(given)),
    "certificateIssuer": lambda given, around: x509.CertificateIssuer(_issuers_names(given, around)),
    "certificatePolicies": _certificate_policies,
    "crlDistributionPoints": lambda given, around: x509.CRLDistributionPoints(_distribution_points(given)),
    "deltaCRLIndicator": lambda given, around: x509.DeltaCRLIndicator(_number(given)),
    "extendedKeyUsage": _extended_key_usage,
    "freshestCRL": lambda given, around: x509.FreshestCRL(_distribution_points(given)),
    "inhibitAnyPolicy": _inhibit_any_policy,
    "invalidityDate": _invalidity_date,
    "issuerAltName": lambda given, around: x509.IssuerAlternativeName(_issuers_names(given, around)),
    "issuingDistributionPoint": _issuing_distribution_point,
    "keyUsage": _key_usage,
    "nameConstraints": _name_constraints,
    "noCheck": lambda given, around: x509.OCSPNoCheck(),
    "policyConstraints": _policy_constraints,
    "subjectAltName": lambda given, around: x509.SubjectAlternativeName(general_names(_pairs(given))),
    "subjectKeyIdentifier": _subject_key_identifier,
    "tlsfeature": _tls_feature,
}
