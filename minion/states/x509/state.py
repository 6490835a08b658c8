"""The state module `x509`: keys, certificates, requests and lists of revoked certificates.

Behaviour: doc/ref/states/all/salt.states.x509_v2. The modules that do it are imported when a state is called: the
library cryptography takes 8 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Unpack

from minion.arguments.types import AnyValue, BackupDir, Days, Each, Ignored, Pairs, Value
from minion.machine.functions import Functions
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.x509.content import content_of, require_library
from minion.providers.x509.pem import pem_entry
from minion.providers.x509.policies import with_short_names
from minion.states.file.managed import managed
from minion.states.x509.arguments import (
    CertificateOptions,
    Container,
    FileOptions,
    SubjectOptions,
    UnusedOfFiles,
)
from minion.states.x509.documents import Document, plan_of

_OfOldModule = Annotated[Value, Ignored("it was of the module x509 of before")]


class _Certificate(CertificateOptions, UnusedOfFiles, total=False):
    text: _OfOldModule
    version: _OfOldModule
    serial_bits: _OfOldModule


class _Request(SubjectOptions, UnusedOfFiles, total=False):
    text: _OfOldModule
    version: _OfOldModule


class _Key(UnusedOfFiles, total=False):
    cipher: _OfOldModule
    verbose: _OfOldModule
    text: _OfOldModule


class _List(UnusedOfFiles, total=False):
    text: _OfOldModule


def certificate_managed(
    machine: Reader,
    name: str,
    *,
    days_remaining: Days | None = None,
    ca_server: str | None = None,
    signing_policy: str | None = None,
    container: Container,
    file: FileOptions,
    functions: Functions,
    backup_dir: BackupDir = "",
    **given: Unpack[_Certificate],
) -> Plan:
    """A certificate that is as it is described; renewed when fewer than `days_remaining` days are left of it."""
    require_library()
    from minion.states.x509 import certificate

    issue = certificate.Issue(
        given=with_short_names(given),
        policy=signing_policy,
        ca_server=ca_server,
        container=container,
        days_remaining=days_remaining,
        functions=functions,
    )
    document = Document(name=name, title="certificate", file=file, backup_dir=backup_dir)
    return plan_of(
        machine,
        document,
        lambda path: certificate.look(machine, issue, path, name),
        lambda machine, path, looked: certificate.make(machine, issue, path, looked),
    )


def private_key_managed(
    machine: Reader,
    name: str,
    *,
    algo: str = "rsa",
    keysize: int | None = None,
    passphrase: str | None = None,
    encoding: str = "pem",
    new: bool = False,
    overwrite: bool = False,
    pkcs12_encryption_compat: bool = False,
    bits: int | None = None,
    file: FileOptions,
    backup_dir: BackupDir = "",
    **_: Unpack[_Key],
) -> Plan:
    """A private key of this kind; made when it lacks. `new`: each time."""
    require_library()
    from minion.states.x509 import key

    wanted = key.WantedKey(
        algo=algo,
        keysize=bits or keysize,
        passphrase=passphrase,
        encoding=encoding,
        new=new,
        overwrite=overwrite,
        compatible=pkcs12_encryption_compat,
    )
    document = Document(name=name, title="private key", file=file, backup_dir=backup_dir, mode="0400")
    return key.plan(machine, document, wanted)


def csr_managed(
    machine: Reader,
    name: str,
    *,
    private_key: str,
    private_key_passphrase: str | None = None,
    encoding: str = "pem",
    file: FileOptions,
    backup_dir: BackupDir = "",
    **given: Unpack[_Request],
) -> Plan:
    """A request for a certificate that is as it is described."""
    require_library()
    from minion.states.x509 import request

    asked = {**with_short_names(given), "private_key": private_key, "private_key_passphrase": private_key_passphrase}
    document = Document(name=name, title="certificate signing request", file=file, backup_dir=backup_dir)
    return plan_of(
        machine,
        document,
        lambda path: request.look(machine, asked, encoding, path, name),
        lambda machine, path, looked: request.make(machine, asked, encoding, path, looked),
    )


def crl_managed(
    machine: Reader,
    name: str,
    *,
    signing_private_key: str,
    revoked: Each,
    days_remaining: Days | None = None,
    signing_cert: str | None = None,
    signing_private_key_passphrase: str | None = None,
    include_expired: bool = False,
    days_valid: Days | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    extensions: Pairs | None = None,
    file: FileOptions,
    backup_dir: BackupDir = "",
    **_: Unpack[_List],
) -> Plan:
    """A list of revoked certificates; renewed when fewer than `days_remaining` days are left until the next one."""
    require_library()
    from minion.states.x509 import crl

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
    document = Document(name=name, title="certificate revocation list", file=file, backup_dir=backup_dir)
    wanted = crl.IssuedList(given=asked, encoding=encoding, days_remaining=days_remaining)
    return plan_of(
        machine,
        document,
        lambda path: crl.look(machine, wanted, path, name),
        lambda machine, path, looked: crl.make(machine, wanted, path, looked),
    )


def pem_managed(
    machine: Reader,
    name: str,
    *,
    text: AnyValue,
    file: FileOptions,
    backup_dir: BackupDir = "",
    **_: Unpack[UnusedOfFiles],
) -> Plan:
    """A file that holds this entry in PEM, well formed: the text, or that of a file of this machine."""
    content = pem_entry(content_of(machine, text).decode("ascii", "replace"))
    return managed(machine, name, contents=content, show_changes=False, backup_dir=backup_dir, **file._asdict())


STATES: Mapping[str, StateFunction] = {
    "certificate_managed": certificate_managed,
    "crl_managed": crl_managed,
    "csr_managed": csr_managed,
    "pem_managed": pem_managed,
    "private_key_managed": private_key_managed,
}
