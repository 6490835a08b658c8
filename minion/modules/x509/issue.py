"""Certificates issued: on this machine, or by an authority that is another minion.

Called by the functions of `x509` when they are called: it brings the library cryptography.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Machine
from minion.modules.x509.authority import ask
from minion.providers.x509.certificates import issued, now_utc, wanted_certificate
from minion.providers.x509.copies import keep_copy
from minion.providers.x509.keys import public_pem
from minion.providers.x509.loading import load_certificate, load_private_key, load_public_key, load_request

_OF_THIS_MACHINE = ("private_key", "private_key_passphrase", "signing_private_key", "signing_private_key_passphrase")
"""What never leaves it."""


def issue_here(machine: Machine, rules: Mapping[str, Any]) -> x509.Certificate:
    """A certificate by these merged arguments, with the copy that they ask for."""
    certificate = issued(wanted_certificate(machine, rules), now_utc())
    keep_copy(machine, certificate, rules)
    return certificate


def issue_elsewhere(context: Context, ca_server: str, policy: str, asked: Mapping[str, Any]) -> x509.Certificate:
    """A certificate by another minion; its key stays here."""
    machine = context.machine
    sent = {key: value for key, value in asked.items() if value is not None and key not in _OF_THIS_MACHINE}
    if asked.get("private_key"):
        key = load_private_key(machine, asked["private_key"], asked.get("private_key_passphrase")).key
        sent["public_key"] = public_pem(key.public_key())
    elif sent.get("public_key"):
        sent["public_key"] = public_pem(load_public_key(machine, sent["public_key"]))
    if sent.get("csr"):
        request, _ = load_request(machine, sent["csr"])
        sent["csr"] = request.public_bytes(serialization.Encoding.PEM).decode()
    found = ask(context, ca_server, policy, sent)
    if not isinstance(found, str):
        raise CallFailed(f"ca_server {ca_server} did not return a certificate")
    return load_certificate(machine, found).certificate
