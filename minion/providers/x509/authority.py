"""An authority that signs for others: who may ask, what a policy shows them, and what it issues.

Called on a minion by `x509.sign_remote_certificate`, and by the controller where it is the authority. What an asker
sends is data: no path in it is looked at here, and nothing of it is the authority's. Behaviour:
doc/ref/modules/all/salt.modules.x509_v2, signing policies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from matching.matcher import Matcher
from minion.machine.failure import StateFailed
from minion.machine.plan import FileStat
from minion.providers.x509.content import KeyFiles, require_library
from minion.providers.x509.policies import LONG_NAMES, NAMES, merged

FUNCTION = "x509.sign_remote_certificate"
LARGEST_REQUEST = 64 * 1024
"""Bytes of what an asker sends, packed."""
_SECRET = ("signing_private_key", "signing_private_key_passphrase", "private_key", "private_key_passphrase")
"""What of a policy leaves the authority never."""
_OF_THE_AUTHORITY = frozenset(
    (*_SECRET, "signing_cert", "copypath", "prepend_cn", "ca_server", "signing_policy", "minions")
)
"""What the authority says alone: asked for, it is as if it were not."""
_OTHERS = ("subject", "public_key", "csr", "serial_number", "not_before", "not_after", "days_valid", "digest")

IsTarget = Callable[[str, str], bool]
"""(compound target, minion) -> whether it means the minion."""


class _NoFiles:
    """Where an asker's paths lead."""

    def stat(self, path: str) -> FileStat | None:
        """Nothing is there."""
        return None

    def read(self, path: str) -> bytes:
        """Nothing can be read."""
        raise StateFailed(f"{path} is not there")


def check_asker(policy: Mapping[str, Any], asker: str, is_target: IsTarget) -> None:
    """Raise StateFailed unless the policy's `minions`, a glob or with `@` a compound target, means who asks."""
    if "minions" not in policy:
        return
    wanted = policy["minions"]
    if not asker:
        raise StateFailed("minion sending this request could not be identified")
    if not isinstance(wanted, str):
        raise StateFailed("minions of a signing policy has to be a glob or a compound target")
    if not (is_target(wanted, asker) if "@" in wanted else Matcher().glob(wanted, asker)):
        raise StateFailed("minion not permitted to use specified signing policy")


def shown(files: KeyFiles, policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy as an asker gets it: without keys and what is kept where, with the certificate itself."""
    found = {key: value for key, value in policy.items() if key == "signing_cert" or key not in _OF_THE_AUTHORITY}
    if found.get("signing_cert"):
        require_library()
        from cryptography.hazmat.primitives import serialization

        from minion.providers.x509.loading import load_certificate

        certificate = load_certificate(files, found["signing_cert"]).certificate
        found["signing_cert"] = certificate.public_bytes(serialization.Encoding.PEM).decode()
    return found


def rules_for(policy: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The merged arguments of a certificate that somebody else asks for. StateFailed where there is to be none.

    An authority below this one is issued only where the policy itself says `basicConstraints`.
    """
    require_library()
    for name in ("signing_cert", "signing_private_key"):
        if not policy.get(name):
            raise StateFailed(f"the signing policy says no {name}")
    taken = _data_of(asked)
    rules = merged(policy, taken)
    if "basicConstraints" not in policy and _makes_authority(taken):
        raise StateFailed("the signing policy says no basicConstraints: it issues no certificate of an authority")
    return rules


def _data_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What an asker sent, with the key and the request as PEM."""
    from cryptography.hazmat.primitives import serialization

    from minion.providers.x509.extensions import OF_CERTIFICATES
    from minion.providers.x509.keys import public_pem
    from minion.providers.x509.loading import load_public_key, load_request

    size = len(msgspec.msgpack.encode(asked, enc_hook=str))
    if size > LARGEST_REQUEST:
        raise StateFailed(f"a request of {size} bytes is larger than {LARGEST_REQUEST}")
    named = {LONG_NAMES.get(key, key): value for key, value in asked.items()}
    taken = {key: value for key, value in named.items() if key not in _OF_THE_AUTHORITY and value is not None}
    if unknown := sorted(set(taken) - {*NAMES, *OF_CERTIFICATES, *_OTHERS, "nsComment", "nsCertType"}):
        raise StateFailed(f"a request for a certificate has no {', '.join(unknown)[:200]}")
    if taken.get("public_key"):
        taken["public_key"] = public_pem(load_public_key(_NoFiles(), taken["public_key"]))
    if taken.get("csr"):
        request, _ = load_request(_NoFiles(), taken["csr"])
        if not request.is_signature_valid:
            raise StateFailed("the request is not signed by the key that it has")
        taken["csr"] = request.public_bytes(serialization.Encoding.PEM).decode()
    return taken


def _makes_authority(taken: Mapping[str, Any]) -> bool:
    """Whether what is asked for, or the request beside it, is a certificate that may sign others."""
    from cryptography import x509

    from minion.providers.x509.extensions import Around, extension
    from minion.providers.x509.loading import load_request

    if "basicConstraints" in taken:
        found = extension("basicConstraints", taken["basicConstraints"], Around(None, None, None)).value
        return isinstance(found, x509.BasicConstraints) and found.ca
    if not taken.get("csr"):
        return False
    try:
        extensions = load_request(_NoFiles(), taken["csr"])[0].extensions
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
