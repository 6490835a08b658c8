"""Names in certificates: distinguished names, and the general names of extensions.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2; RFC 4514, RFC 5280 4.2.1.6.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from cryptography import x509
from cryptography.x509.oid import NameOID

from minion.machine.failure import StateFailed

ATTRIBUTES: Mapping[str, x509.ObjectIdentifier] = {
    "C": NameOID.COUNTRY_NAME,
    "ST": NameOID.STATE_OR_PROVINCE_NAME,
    "L": NameOID.LOCALITY_NAME,
    "STREET": NameOID.STREET_ADDRESS,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "CN": NameOID.COMMON_NAME,
    "MAIL": NameOID.EMAIL_ADDRESS,
    "SN": NameOID.SURNAME,
    "GN": NameOID.GIVEN_NAME,
    "UID": NameOID.USER_ID,
    "SERIALNUMBER": NameOID.SERIAL_NUMBER,
}
"""In the order in which they stand in a name."""


def distinguished_name(given: Any) -> x509.Name:
    """A name from its text as in RFC 4514, a list of its parts, or a mapping of its attributes."""
    try:
        if isinstance(given, str):
            return x509.Name.from_rfc4514_string(given)
        if isinstance(given, list | tuple):
            return x509.Name([relative_name(one) for one in given])
        if isinstance(given, Mapping):
            pairs = ((oid, given[name]) for name, oid in ATTRIBUTES.items() if given.get(name) is not None)
            return x509.Name([x509.NameAttribute(oid, str(value)) for oid, value in pairs])
    except ValueError as error:
        raise StateFailed(f"This is no distinguished name: {error}") from error
    raise StateFailed("Need string, list or dict to parse distinguished names")


def relative_name(text: Any) -> x509.RelativeDistinguishedName:
    """One part of a name: `CN=example.com`, or several attributes with `+` between."""
    try:
        parts = x509.Name.from_rfc4514_string(str(text)).rdns
    except ValueError as error:
        raise StateFailed(f"Failed parsing rdn string: {text}") from error
    if len(parts) != 1:
        raise StateFailed("Specified string is not a Relative Distinguished Name, but a Distinguished Name.")
    return parts[0]


def object_identifier(text: Any) -> x509.ObjectIdentifier:
    """An identifier in dotted digits."""
    try:
        return x509.ObjectIdentifier(str(text).strip())
    except ValueError as error:
        raise StateFailed(f"Invalid oid: {text}") from error


def general_names(pairs: Iterable[tuple[str, Any]]) -> list[x509.GeneralName]:
    """The general names of pairs of a type and a value."""
    return [_general_name(str(kind), value) for kind, value in pairs]


def general_name(text: str) -> x509.GeneralName:
    """One from its text: `DNS:example.com`."""
    kind, _, value = text.partition(":")
    return _general_name(kind.strip(), value.strip())


def _general_name(kind: str, value: Any) -> x509.GeneralName:
    make = _KINDS.get(kind.lower())
    if make is None:
        why = "otherName is currently not implemented" if kind.lower() == "othername" else None
        raise StateFailed(why or f"GeneralName type {kind.lower()} is invalid")
    try:
        return make(value)
    except (TypeError, ValueError) as error:
        raise StateFailed(f"{kind}:{value}: {error}") from error


_LABEL = re.compile(r"[A-Za-z\d_-]{1,63}")


def _domain(value: str, *, dot: bool = False, wildcard: bool = False) -> str:
    """The name of a host in ASCII; a dot or `*.` before it where it may have one."""
    first = "." if dot and value.startswith(".") else "*." if wildcard and value.startswith("*.") else ""
    ascii_name = value[len(first) :].encode("idna").decode() if not value.isascii() else value[len(first) :]
    if not ascii_name or not all(_LABEL.fullmatch(label) for label in ascii_name.split(".")):
        raise ValueError("this is no name of a host")
    return first + ascii_name


def _address(value: str) -> x509.IPAddress:
    try:
        return x509.IPAddress(ipaddress.ip_address(value))
    except ValueError:
        return x509.IPAddress(ipaddress.ip_network(value))


def _mail(value: str) -> x509.RFC822Name:
    user, at, domain = value.rpartition("@")
    return x509.RFC822Name(f"{user}{at}{_domain(domain, dot=not at)}")


def _uri(value: str) -> x509.UniformResourceIdentifier:
    parts = urlsplit(value)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    return x509.UniformResourceIdentifier(urlunsplit(parts._replace(netloc=host)))


_KINDS: Mapping[str, Callable[[Any], x509.GeneralName]] = {
    "dirname": lambda value: x509.DirectoryName(distinguished_name(value)),
    "dns": lambda value: x509.DNSName(_domain(value, dot=True, wildcard=True)),
    "email": _mail,
    "ip": lambda value: _address(str(value)),
    "rid": lambda value: x509.RegisteredID(object_identifier(value)),
    "uri": _uri,
}


def shown(name: x509.GeneralName) -> str:
    """A general name as OpenSSL writes it."""
    match name:
        case x509.DNSName():
            return f"DNS:{name.value}"
        case x509.DirectoryName():
            return f"dirName:{name.value.rfc4514_string()}"
        case x509.IPAddress():
            return f"IP:{name.value.exploded}"
        case x509.RFC822Name():
            return f"mail:{name.value}"
        case x509.RegisteredID():
            return f"RID:{name.value.dotted_string}"
        case x509.UniformResourceIdentifier():
            return f"URI:{name.value}"
    return str(name)


def attributes_of(name: x509.Name) -> dict[str, str]:
    """The attributes of a name, the first of each kind."""
    found = {key: name.get_attributes_for_oid(oid) for key, oid in ATTRIBUTES.items()}
    return {key: str(values[0].value) for key, values in found.items() if values}
