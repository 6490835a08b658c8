"""Cases of the states x509: an authority in a folder, and what it issues. Keys are of EC, which are made at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import Case

_KEY = "openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out {top}/%s.key"
_CA = (
    _KEY % "ca",
    "openssl req -x509 -new -key {top}/ca.key -out {top}/ca.crt -days 3650 -subj /CN=ca.example.com "
    "-addext keyUsage=critical,keyCertSign,cRLSign",
)
_ISSUED = "openssl x509 -req -in {top}/w.csr -CA {top}/ca.crt -CAkey {top}/ca.key -days 365 -out {top}/f 2>/dev/null"
_SIGNED = (*_CA, _KEY % "w", "openssl req -new -key {top}/w.key -subj /CN=w -out {top}/w.csr", _ISSUED)
_AUTHORITY = {"signing_private_key": "{top}/ca.key", "signing_cert": "{top}/ca.crt"}
_LEAF = {
    **_AUTHORITY,
    "private_key": "{top}/w.key",
    "CN": "www.example.com",
    "O": "Example",
    "subjectAltName": "DNS:www.example.com,IP:192.0.2.1",
    "basicConstraints": "critical, CA:false",
    "keyUsage": "critical, digitalSignature, keyEncipherment",
    "extendedKeyUsage": "serverAuth",
    "subjectKeyIdentifier": "hash",
    "authorityKeyIdentifier": "keyid,issuer:always",
    "days_valid": 365,
    "days_remaining": 30,
}


def _managed(kind: str, before: tuple[str, ...] = (), **arguments: Any) -> Case:
    return Case(fun=f"x509.{kind}_managed", before=before, arguments=arguments)


CASES: tuple[Case, ...] = (
    _managed("certificate", (*_CA, _KEY % "w"), **_LEAF),
    _managed("certificate", _SIGNED, **_LEAF),
    _managed("certificate", _SIGNED, **{**_LEAF, "encoding": "der", "digest": "sha384"}),
    _managed("certificate", (_KEY % "ca",), signing_private_key="{top}/ca.key", CN="self", days_valid=3650,
             basicConstraints="critical, CA:true, pathlen:1", subjectKeyIdentifier="hash",
             authorityKeyIdentifier="keyid:always", days_remaining=90),
    _managed("crl", _CA, **_AUTHORITY, days_valid=30, days_remaining=3, revoked=[
             {"serial_number": "0A:1B", "revocation_date": "2026-01-01 00:00:00",
              "extensions": {"CRLReason": "keyCompromise"}}]),
    _managed("csr", (_KEY % "w",), private_key="{top}/w.key", CN="www.example.com",
             subjectAltName=["DNS:www.example.com", "email:hostmaster@example.com"]),
    _managed("csr", (_KEY % "w", "openssl req -new -key {top}/w.key -subj /CN=old -out {top}/f"),
             private_key="{top}/w.key", CN="new"),
    _managed("pem", (*_CA,), text="{top}/ca.crt"),
    _managed("pem", (*_CA, "cp {top}/ca.key {top}/f"), text="{top}/ca.crt"),
    _managed("private_key", algo="ec", keysize=384),
    _managed("private_key", (_KEY % "f" + " && mv {top}/f.key {top}/f",), algo="ed25519", mode="0600"),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
