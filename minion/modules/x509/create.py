"""Functions of `x509` that make something: create_… and encode_….

What is binary is returned as base64, or as bytes with `raw`. Behaviour: doc/ref/modules/all/salt.modules.x509_v2.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from minion.arguments.types import AnyValue, Days, Each, Ignored, Pairs, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.x509.content import KeyFiles, require_library
from minion.providers.x509.pem import pem_entry
from minion.providers.x509.policies import local_policy, merged, with_short_names
from minion.states.x509.arguments import CertificateOptions, Container, SubjectOptions

_OfOldModule = Annotated[Value, Ignored("it was of the module x509 of before")]
_PEMS = ("pem", "pkcs7_pem")


class CertificateCall(CertificateOptions, total=False):
    """What a certificate is made of, and arguments of before."""

    text: _OfOldModule
    version: _OfOldModule
    serial_bits: _OfOldModule


class _RequestCall(SubjectOptions, total=False):
    text: _OfOldModule
    version: _OfOldModule


def create_certificate(
    context: Context,
    ca_server: str | None = None,
    signing_policy: str | None = None,
    *,
    container: Container,
    path: str | None = None,
    overwrite: bool = True,
    raw: bool = False,
    **given: Unpack[CertificateCall],
) -> Any:
    """A certificate, issued here or by the authority `ca_server`; with `path` it is written there."""
    require_library()
    from minion.modules.x509.issue import issue_elsewhere, issue_here
    from minion.providers.x509.certificates import encode

    machine = context.machine
    if path and not overwrite and machine.stat(path) is not None:
        return f"The file at {path} exists and overwrite was set to false"
    asked = with_short_names(given)
    if ca_server:
        if not signing_policy:
            raise CallFailed("signing_policy must be specified to request a certificate from a remote ca_server")
        certificate = issue_elsewhere(context, ca_server, signing_policy, asked)
    else:
        rules = merged(local_policy(context.pillar, context.opts, signing_policy), asked)
        certificate = issue_here(machine, rules)
    data = encode(certificate, _wrapping(machine, container, asked))
    return _given_back(context, data, container.encoding, path, raw, "Certificate")


def _wrapping(machine: KeyFiles, container: Container, asked: Mapping[str, Any]) -> Any:
    from minion.providers.x509.certificates import Wrapping
    from minion.providers.x509.loading import load_certificate, load_private_key

    key = None
    if container.encoding == "pkcs12" and asked.get("private_key"):
        key = load_private_key(machine, asked["private_key"], asked.get("private_key_passphrase")).key
    return Wrapping(
        encoding=container.encoding,
        appended=tuple(load_certificate(machine, one).certificate for one in container.append_certs),
        private_key=key,
        passphrase=container.pkcs12_passphrase,
        compatible=container.pkcs12_encryption_compat,
        friendly_name=container.pkcs12_friendlyname,
    )


def encode_certificate(
    context: Context,
    certificate: AnyValue,
    *,
    container: Container,
    private_key: str | None = None,
    private_key_passphrase: str | None = None,
    raw: bool = False,
) -> Any:
    """A certificate in another form, with those that are appended; PKCS#12 with its key."""
    require_library()
    from minion.providers.x509.certificates import encode
    from minion.providers.x509.loading import load_certificate

    if private_key and container.encoding != "pkcs12":
        raise CallFailed("Embedding private keys is only supported for pkcs12 encoding")
    asked = {"private_key": private_key, "private_key_passphrase": private_key_passphrase}
    loaded = load_certificate(context.machine, certificate).certificate
    return _shown(encode(loaded, _wrapping(context.machine, container, asked)), container.encoding, raw)


def create_csr(
    context: Context,
    private_key: str,
    private_key_passphrase: str | None = None,
    *,
    encoding: str = "pem",
    path: str | None = None,
    raw: bool = False,
    **given: Unpack[_RequestCall],
) -> Any:
    """A request for a certificate, signed by this key; with `path` it is written there."""
    require_library()
    from minion.providers.x509.requests import encode_plain, made, wanted_request

    key = {"private_key": private_key, "private_key_passphrase": private_key_passphrase}
    asked = {**with_short_names(given), **key}
    data = encode_plain(made(wanted_request(context.machine, asked)), encoding)
    return _given_back(context, data, encoding, path, raw, "CSR")


def encode_csr(context: Context, csr: AnyValue, encoding: str = "pem", raw: bool = False) -> Any:
    """A request in another form."""
    require_library()
    from minion.providers.x509.loading import load_request
    from minion.providers.x509.requests import encode_plain

    return _shown(encode_plain(load_request(context.machine, csr)[0], encoding), encoding, raw)


def create_crl(
    context: Context,
    signing_private_key: str,
    revoked: Each,
    signing_cert: str | None = None,
    signing_private_key_passphrase: str | None = None,
    include_expired: bool = False,
    days_valid: Days | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    extensions: Pairs | None = None,
    path: str | None = None,
    raw: bool = False,
    text: _OfOldModule = None,
) -> Any:
    """A list of revoked certificates; with `path` it is written there."""
    require_library()
    from minion.providers.x509.certificates import now_utc
    from minion.providers.x509.lists import list_made, wanted_list
    from minion.providers.x509.requests import encode_plain

    now = now_utc()
    asked = {
        "signing_private_key": signing_private_key,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "signing_cert": signing_cert,
        "revoked": revoked,
        "include_expired": include_expired,
        "days_valid": days_valid,
        "digest": digest,
        "extensions": extensions,
    }
    wanted = wanted_list(context.machine, asked, now)
    if wanted.counts:
        raise CallFailed("cRLNumber: auto is for the state x509.crl_managed, which knows the list of before")
    data = encode_plain(list_made(wanted, now, None), encoding)
    return _given_back(context, data, encoding, path, raw, "CRL")


def encode_crl(context: Context, crl: AnyValue, encoding: str = "pem", raw: bool = False) -> Any:
    """A list of revoked certificates in another form."""
    require_library()
    from minion.providers.x509.loading import load_list
    from minion.providers.x509.requests import encode_plain

    return _shown(encode_plain(load_list(context.machine, crl)[0], encoding), encoding, raw)


def create_private_key(
    context: Context,
    algo: str = "rsa",
    keysize: int | None = None,
    passphrase: str | None = None,
    encoding: str = "pem",
    pkcs12_encryption_compat: bool = False,
    path: str | None = None,
    raw: bool = False,
    bits: int | None = None,
    cipher: _OfOldModule = None,
    verbose: _OfOldModule = None,
    text: _OfOldModule = None,
) -> Any:
    """A new private key. With `path` it is written there, for its owner alone, and is not returned."""
    require_library()
    from minion.providers.x509.keys import encode_key, make_key

    data = encode_key(make_key(algo, bits or keysize), encoding, passphrase, compatible=pkcs12_encryption_compat)
    return _given_back(context, data, encoding, path, raw, "Private key", mode="0600")


def encode_private_key(
    context: Context,
    private_key: AnyValue,
    encoding: str = "pem",
    passphrase: str | None = None,
    private_key_passphrase: str | None = None,
    pkcs12_encryption_compat: bool = False,
    raw: bool = False,
) -> Any:
    """A private key in another form, or under another passphrase."""
    require_library()
    from minion.providers.x509.keys import encode_key
    from minion.providers.x509.loading import load_private_key

    key = load_private_key(context.machine, private_key, private_key_passphrase).key
    return _shown(encode_key(key, encoding, passphrase, compatible=pkcs12_encryption_compat), encoding, raw)


def write_pem(context: Context, text: AnyValue, path: str, overwrite: bool = True, pem_type: str | None = None) -> str:
    """Write an entry in PEM to a file, well formed.

    `overwrite: False` keeps the private key and the DH parameters that a file of certificates has.
    """
    from minion.providers.x509.content import content_of

    machine = context.machine
    entry = pem_entry(content_of(machine, text).decode("ascii", "replace"), pem_type)
    before, after = "", ""
    if pem_type == "CERTIFICATE" and not overwrite and machine.stat(path) is not None:
        there = machine.read(path).decode("ascii", "replace")
        before, after = _entry_in(there, "(?:RSA )?PRIVATE KEY"), _entry_in(there, "DH PARAMETERS")
    new = machine.stat(path) is None
    machine.write(path, f"{before}{entry}{after}".encode(), mode="0600" if new else None)
    return f"PEM written to {path}"


def _entry_in(text: str, kind: str) -> str:
    from minion.machine.failure import StateFailed

    try:
        return pem_entry(text, kind)
    except StateFailed:
        return ""


def _given_back(
    context: Context, data: bytes, encoding: str, path: str | None, raw: bool, what: str, mode: str = "0644"
) -> Any:
    """What was made, or that it was written."""
    if path is None:
        return _shown(data, encoding, raw)
    context.machine.write(path, data, mode=mode if context.machine.stat(path) is None else None)
    return f"{'PEM' if encoding == 'pem' else what} written to {path}"


def _shown(data: bytes, encoding: str, raw: bool) -> Any:
    if raw:
        return data
    return data.decode() if encoding in _PEMS else base64.b64encode(data).decode()


FUNCTIONS = {
    "create_certificate": create_certificate,
    "create_crl": create_crl,
    "create_csr": create_csr,
    "create_private_key": create_private_key,
    "encode_certificate": encode_certificate,
    "encode_crl": encode_crl,
    "encode_csr": encode_csr,
    "encode_private_key": encode_private_key,
    "write_pem": write_pem,
}
