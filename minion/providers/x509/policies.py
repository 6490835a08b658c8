"""Signing policies: what an authority says about certificates, over what is asked for.

Called by the functions and states of x509. Policies stand in the pillar or the configuration as
`x509_signing_policies`. Behaviour: doc/ref/modules/all/salt.modules.x509_v2, signing policies.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from minion.machine.failure import StateFailed

OPTION = "x509_signing_policies"

NAMES = ("C", "ST", "L", "STREET", "O", "OU", "CN", "MAIL", "SN", "GN", "UID", "SERIALNUMBER")
"""Attributes of a name, as arguments."""
LONG_NAMES: Mapping[str, str] = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationUnitName": "OU",
    "givenName": "GN",
    "surname": "SN",
    "Email": "MAIL",
    "emailAddress": "MAIL",
    "serialNumber": "SERIALNUMBER",
    "X509v3 Basic Constraints": "basicConstraints",
    "X509v3 Key Usage": "keyUsage",
    "X509v3 Extended Key Usage": "extendedKeyUsage",
    "X509v3 Subject Key Identifier": "subjectKeyIdentifier",
    "X509v3 Authority Key Identifier": "authorityKeyIdentifier",
    "X509v3 Issuer Alternative Name": "issuerAltName",
    "issuserAltName": "issuerAltName",
    "Authority Information Access": "authorityInfoAccess",
    "X509v3 Subject Alternative Name": "subjectAltName",
    "X509v3 CRL Distribution Points": "crlDistributionPoints",
    "X509v3 Certificate Policies": "certificatePolicies",
    "X509v3 Policy Constraints": "policyConstraints",
    "X509v3 Inhibit Any Policy": "inhibitAnyPolicy",
    "X509v3 Name Constraints": "nameConstraints",
    "OCSP No Check": "noCheck",
    "TLS Feature": "tlsfeature",
    "algorithm": "digest",
}
"""Names of before that Salt still takes -> the names of today."""

_VALIDITY = ("days_valid", "not_before", "not_after")


def with_short_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments under their names of today."""
    return {LONG_NAMES.get(name, name): value for name, value in given.items()}


def policy_in(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The policy of this name in pillar or options; empty where there is none."""
    policies = data.get(OPTION)
    found = policies.get(name) if isinstance(policies, Mapping) else None
    if not found:
        return {}
    if isinstance(found, list) and all(isinstance(one, Mapping) for one in found):
        found = {key: value for one in found for key, value in one.items()}
    if not isinstance(found, Mapping):
        raise StateFailed(f"{OPTION}: {name}: a mapping is needed, or a list of mappings")
    return with_short_names(copy.deepcopy(dict(found)))


def local_policy(pillar: Mapping[str, Any], opts: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """The policy of this machine: of its pillar, else of its configuration. StateFailed where it is nowhere."""
    if not name:
        return {}
    found = policy_in(pillar, name) or policy_in(opts, name)
    if not found:
        raise StateFailed(f"There is no signing policy '{name}': {OPTION} of the pillar or the configuration has none")
    return found


def merged(policy: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for, as far as the policy leaves it: what the policy says goes before.

    A `subject` that is asked for counts where the policy has no attribute of a name; a mapping or list of both is
    one, those of the policy first. Where the policy says how long a certificate is valid, nothing asked for does.
    """
    wanted = with_short_names(asked)
    rules = {key: value for key, value in with_short_names(policy).items() if key != "minions"}
    if any(rules.get(name) is not None for name in ("days_valid", "not_after")):
        wanted = {key: value for key, value in wanted.items() if key not in _VALIDITY}
    theirs, ours = wanted.get("subject"), rules.get("subject")
    if theirs and any(name in rules for name in NAMES):
        wanted.pop("subject")
    elif isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        rules["subject"] = {**theirs, **ours}
    elif isinstance(theirs, list) and isinstance(ours, list):
        rules["subject"] = [*ours, *theirs]
    return {**wanted, **rules}
