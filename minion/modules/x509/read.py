"""Functions of `x509` that look: read_…, verify_…, get_…, expires.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Days, Ignored, Value
from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.providers.x509.content import content_of, is_path, require_library
from minion.providers.x509.pem import pem_entry


def read_certificate(context: Context, certificate: AnyValue) -> dict[str, Any]:
    """What is in a certificate."""
    require_library()
    from minion.providers.x509 import rendering
    from minion.providers.x509.loading import load_certificate

    return rendering.certificate(load_certificate(context.machine, certificate).certificate)


def read_certificates(context: Context, glob_path: str) -> dict[str, Any]:
    """What is in each certificate of the files that match a pattern, by path."""
    found = {}
    for path in _files(context, glob_path):
        try:
            found[path] = read_certificate(context, path)
        except StateFailed:
            continue
    return found


def read_crl(context: Context, crl: AnyValue) -> dict[str, Any]:
    """What is in a list of revoked certificates."""
    require_library()
    from minion.providers.x509 import rendering
    from minion.providers.x509.loading import load_list

    return rendering.revocation_list(load_list(context.machine, crl)[0])


def read_csr(context: Context, csr: AnyValue) -> dict[str, Any]:
    """What is in a request."""
    require_library()
    from minion.providers.x509 import rendering
    from minion.providers.x509.loading import load_request

    return rendering.request(load_request(context.machine, csr)[0])


def expires(context: Context, certificate: AnyValue, days: Days = 0) -> bool:
    """Whether a certificate has ended, or will have in this number of days."""
    require_library()
    from minion.providers.x509.certificates import now_utc
    from minion.providers.x509.loading import load_certificate

    loaded = load_certificate(context.machine, certificate).certificate
    return loaded.not_valid_after_utc <= now_utc() + timedelta(days=days)


def expired(context: Context, certificate: AnyValue) -> dict[str, Any]:
    """Whether a certificate has ended, with its path and common name."""
    return {**_named(context, certificate), "expired": expires(context, certificate)}


def will_expire(context: Context, certificate: AnyValue, days: Days) -> dict[str, Any]:
    """Whether a certificate ends in this number of days, with its path and common name."""
    asked = int(days) if days == int(days) else days
    return {"check_days": asked, **_named(context, certificate), "will_expire": expires(context, certificate, days)}


def _named(context: Context, certificate: AnyValue) -> dict[str, Any]:
    require_library()
    from minion.providers.x509.loading import load_certificate
    from minion.providers.x509.names import attributes_of

    common = attributes_of(load_certificate(context.machine, certificate).certificate.subject).get("CN")
    path = {"path": certificate} if is_path(certificate) else {}
    return path | ({} if common is None else {"cn": common})


def verify_private_key(
    context: Context, private_key: AnyValue, public_key: AnyValue, passphrase: str | None = None
) -> bool:
    """Whether a private key belongs to a public key, or to that of a certificate or request."""
    require_library()
    from minion.providers.x509.keys import same_key
    from minion.providers.x509.loading import load_private_key, public_key_of

    private = load_private_key(context.machine, private_key, passphrase).key
    return same_key(public_key_of(context.machine, public_key), private.public_key())


def verify_signature(
    context: Context,
    certificate: AnyValue,
    signing_pub_key: AnyValue = None,
    signing_pub_key_passphrase: str | None = None,
) -> bool:
    """Whether a certificate was signed by the key of another, or of itself."""
    require_library()
    from minion.providers.x509.keys import signed_by
    from minion.providers.x509.loading import load_certificate, public_key_of

    key = public_key_of(context.machine, signing_pub_key or certificate, signing_pub_key_passphrase)
    return signed_by(load_certificate(context.machine, certificate).certificate, key)


def verify_crl(context: Context, crl: AnyValue, cert: AnyValue) -> bool:
    """Whether a list was signed by the key of this certificate."""
    require_library()
    from minion.providers.x509.loading import load_list, public_key_of

    return load_list(context.machine, crl)[0].is_signature_valid(public_key_of(context.machine, cert))


def get_pem_entry(context: Context, text: AnyValue, pem_type: str | None = None) -> str:
    """The first entry in PEM of a text or a file, well formed."""
    return pem_entry(content_of(context.machine, text).decode("ascii", "replace"), pem_type)


def get_pem_entries(context: Context, glob_path: str) -> dict[str, str]:
    """The first entry in PEM of each file that matches a pattern, by path."""
    found = {}
    for path in _files(context, glob_path):
        try:
            found[path] = get_pem_entry(context, path)
        except StateFailed:
            continue
    return found


def _files(context: Context, pattern: str) -> Iterator[str]:
    for path in sorted(glob.glob(pattern)):  # noqa: PTH207  (a whole path is the pattern)
        found = context.machine.stat(path)
        if found is not None and found.kind in ("file", "symlink"):
            yield path


def get_private_key_size(context: Context, private_key: AnyValue, passphrase: str | None = None) -> int | None:
    """Bits of a key of RSA or EC."""
    require_library()
    from minion.providers.x509.keys import size_of
    from minion.providers.x509.loading import load_private_key

    return size_of(load_private_key(context.machine, private_key, passphrase).key)


def get_public_key(
    context: Context,
    key: AnyValue,
    passphrase: str | None = None,
    asObj: Annotated[Value, Ignored("it was of the module x509 of before")] = None,  # noqa: N803  (Salt's name)
) -> str:
    """The public key of a key, a certificate or a request, in PEM."""
    require_library()
    from minion.providers.x509.keys import public_pem
    from minion.providers.x509.loading import public_key_of

    return public_pem(public_key_of(context.machine, key, passphrase))


FUNCTIONS = {
    "expired": expired,
    "expires": expires,
    "get_pem_entries": get_pem_entries,
    "get_pem_entry": get_pem_entry,
    "get_private_key_size": get_private_key_size,
    "get_public_key": get_public_key,
    "read_certificate": read_certificate,
    "read_certificates": read_certificates,
    "read_crl": read_crl,
    "read_csr": read_csr,
    "verify_crl": verify_crl,
    "verify_private_key": verify_private_key,
    "verify_signature": verify_signature,
    "will_expire": will_expire,
}
