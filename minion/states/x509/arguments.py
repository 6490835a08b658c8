"""Arguments that the states x509 share: of the file, and of what is in a certificate."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypedDict

from minion.arguments.types import AnyValue, Each, Ignored, Mode, Owner, TextOrFalse, Unsupported, Value
from minion.states.unused_arguments import WindowsOwner


class FileOptions(NamedTuple):
    """Of the file, as file.managed has them."""

    user: Owner | None = None
    group: Owner | None = None
    mode: Mode | None = None
    attrs: str | None = None
    makedirs: bool = False
    dir_mode: Mode | None = None
    backup: bool | str = ""
    create: bool = True
    follow_symlinks: bool = True
    check_cmd: TextOrFalse = ""
    tmp_dir: str = ""
    tmp_ext: str = ""


class UnusedOfFiles(WindowsOwner, total=False):
    """Arguments of file.managed that are ignored or refused."""

    selinux: Annotated[Value, Unsupported("let a cmd.run that watches the file call restorecon")]
    file_encoding: Annotated[Value, Ignored("PEM is ASCII")]
    encoding_errors: Annotated[Value, Ignored("PEM is ASCII")]


class _NAMES(TypedDict, total=False):
    C: AnyValue
    ST: AnyValue
    L: AnyValue
    STREET: AnyValue
    O: AnyValue  # noqa: E741  (the name of the attribute)
    OU: AnyValue
    CN: AnyValue
    MAIL: AnyValue
    SN: AnyValue
    GN: AnyValue
    UID: AnyValue
    SERIALNUMBER: AnyValue
    commonName: AnyValue
    localityName: AnyValue
    stateOrProvinceName: AnyValue
    organizationName: AnyValue
    organizationUnitName: AnyValue
    givenName: AnyValue
    surname: AnyValue
    Email: AnyValue
    emailAddress: AnyValue
    serialNumber: AnyValue


"""Attributes of a subject, by their short names and those of before."""

_EXTENSIONS = TypedDict(
    "_EXTENSIONS",
    {
        "basicConstraints": AnyValue,
        "keyUsage": AnyValue,
        "extendedKeyUsage": AnyValue,
        "subjectKeyIdentifier": AnyValue,
        "authorityKeyIdentifier": AnyValue,
        "issuerAltName": AnyValue,
        "authorityInfoAccess": AnyValue,
        "subjectAltName": AnyValue,
        "crlDistributionPoints": AnyValue,
        "certificatePolicies": AnyValue,
        "policyConstraints": AnyValue,
        "inhibitAnyPolicy": AnyValue,
        "nameConstraints": AnyValue,
        "noCheck": AnyValue,
        "tlsfeature": AnyValue,
        "nsComment": Annotated[Value, Unsupported("the library cannot make it; Salt's neither")],
        "nsCertType": Annotated[Value, Unsupported("use keyUsage and extendedKeyUsage")],
        "X509v3 Basic Constraints": AnyValue,
        "X509v3 Key Usage": AnyValue,
        "X509v3 Extended Key Usage": AnyValue,
        "X509v3 Subject Key Identifier": AnyValue,
        "X509v3 Authority Key Identifier": AnyValue,
        "X509v3 Issuer Alternative Name": AnyValue,
        "issuserAltName": AnyValue,
        "Authority Information Access": AnyValue,
        "X509v3 Subject Alternative Name": AnyValue,
        "X509v3 CRL Distribution Points": AnyValue,
        "X509v3 Certificate Policies": AnyValue,
        "X509v3 Policy Constraints": AnyValue,
        "X509v3 Inhibit Any Policy": AnyValue,
        "X509v3 Name Constraints": AnyValue,
        "OCSP No Check": AnyValue,
        "TLS Feature": AnyValue,
    },
    total=False,
)
"""Extensions, by their names and those of before."""


class SubjectOptions(_NAMES, _EXTENSIONS, total=False):
    """What a certificate or a request says."""

    digest: str
    algorithm: str
    subject: AnyValue


class CertificateOptions(SubjectOptions, total=False):
    """What a certificate is made of."""

    private_key: str | None
    private_key_passphrase: str | None
    signing_private_key: str | None
    signing_private_key_passphrase: str | None
    signing_cert: str | None
    public_key: str | None
    csr: str | None
    serial_number: AnyValue
    not_before: AnyValue
    not_after: AnyValue
    days_valid: AnyValue
    copypath: str | None
    prepend_cn: bool


class Container(NamedTuple):
    """How a certificate is encoded."""

    encoding: str = "pem"
    append_certs: Each = []  # noqa: RUF012  (a default that nobody changes)
    pkcs12_passphrase: str | None = None
    pkcs12_encryption_compat: bool = False
    pkcs12_friendlyname: str | None = None
