"""The execution module `tls`: an authority in a folder, its certificates, and ones that sign themselves.

Behaviour: doc/ref/modules/all/salt.modules.tls. Files are where Salt's are: `BASE/NAME/NAME_ca_cert.crt`.
"""

from __future__ import annotations

import posixpath
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Texts, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.configured import configured
from minion.modules.keys import tls_read
from minion.modules.keys.tls_read import base_path, folder_of
from minion.providers.x509.content import require_library


class NewCertificate(NamedTuple):
    """Whose certificate it is, and its key."""

    bits: int = 2048
    CN: str = "localhost"
    C: str = "US"
    ST: str = "Utah"
    L: str = "Salt Lake City"
    O: str = "SaltStack"  # noqa: E741  (the name of the attribute)
    OU: str | None = None
    emailAddress: str | None = None  # noqa: N815  (Salt's name)
    cacert_path: str | None = None
    digest: str = "sha256"
    replace: bool = False

    def subject(self) -> Any:
        """As the library has it."""
        from minion.providers.x509.authority_folder import CertificateSubject

        return CertificateSubject(self.CN, self.C, self.ST, self.L, self.O, self.OU, self.emailAddress).name()


def create_ca(
    context: Context,
    ca_name: str,
    *,
    given: NewCertificate,
    days: int = 365,
    ca_filename: str | None = None,
    onlyif: AnyValue = None,
    unless: AnyValue = None,
    fixmode: Annotated[Value, Ignored("it mends certificates of a Salt of 2014")] = False,
) -> str | None:
    """Make an authority: its key and its certificate, for which a key that is there is used."""
    require_library()
    from minion.providers.x509 import authority_folder as folders
    from minion.providers.x509.loading import load_private_key

    if not _wanted(context, onlyif, unless):
        return None
    folder, machine = folder_of(context, ca_name, given.cacert_path, ca_filename), context.machine
    if machine.stat(folder.own("crt")) is not None and not given.replace:
        return f'Certificate for CA named "{ca_name}" already exists'
    there = machine.stat(folder.own("key")) is not None
    key = load_private_key(machine, folder.own("key")).key if there else folders.new_key(given.bits)
    extensions = folders.extensions_of_authority(key)
    made = folders.issue(
        key, None, key.public_key(), given.subject(), extensions, days=days, digest=given.digest
    )  # fmt: skip
    _make(context, folder.path)
    if not there:
        machine.write(folder.own("key"), folders.key_pem(key), mode="0600")
    machine.write(folder.own("crt"), folders.pem(made), mode="0644")
    folder.record(machine, made)
    return f'Created Private Key: "{folder.own("key")}" Created CA "{ca_name}": "{folder.own("crt")}"'


def create_csr(
    context: Context,
    ca_name: str,
    *,
    given: NewCertificate,
    subjectAltName: Texts = (),  # noqa: N803  (Salt's name)
    ca_filename: str | None = None,
    csr_path: str | None = None,
    csr_filename: str | None = None,
    type_ext: bool = False,
    cert_type: str = "server",
) -> str:
    """Make a key and a request for a certificate of an authority that is there."""
    require_library()
    from minion.providers.x509 import authority_folder as folders

    folder, machine = folder_of(context, ca_name, given.cacert_path, ca_filename), context.machine
    if machine.stat(folder.own("crt")) is None:
        return f'Certificate for CA named "{ca_name}" does not exist, please create it first.'
    name = csr_filename or f"{given.CN}{f'_{cert_type}' if type_ext else ''}"
    file, key_file = folder.issued(name, "csr", csr_path), folder.issued(name, "key", csr_path)
    if machine.stat(file) is not None and not given.replace:
        return f'Certificate Request "{file}" already exists'
    extensions = dict(get_extensions(context, cert_type)["csr"])
    if subjectAltName:
        extensions["subjectAltName"] = ", ".join(subjectAltName)
    key = folders.new_key(given.bits)
    made = folders.request(key, given.subject(), extensions, given.digest)
    _make(context, posixpath.dirname(file))
    machine.write(key_file, folders.key_pem(key), mode="0600")
    machine.write(file, folders.pem(made), mode="0644")
    return f'Created Private Key: "{key_file}" Created CSR for "{given.CN}": "{file}"'


def create_self_signed_cert(
    context: Context,
    tls_dir: str = "tls",
    *,
    given: NewCertificate,
    days: int = 365,
    cert_filename: str | None = None,
) -> str:
    """Make a key and a certificate that signs itself."""
    require_library()
    from minion.providers.x509 import authority_folder as folders

    folder, machine = folder_of(context, tls_dir, given.cacert_path), context.machine
    name = cert_filename or given.CN
    file, key_file = folder.issued(name, "crt"), folder.issued(name, "key")
    if machine.stat(file) is not None and not given.replace:
        return f'Certificate "{name}" already exists'
    key = folders.new_key(given.bits)
    made = folders.issue(key, None, key.public_key(), given.subject(), (), days=days, digest=given.digest)
    _make(context, posixpath.dirname(file))
    machine.write(key_file, folders.key_pem(key), mode="0600")
    machine.write(file, folders.pem(made), mode="0644")
    folder.record(machine, made)
    return f'Created Private Key: "{key_file}" Created Certificate: "{file}"'


def create_ca_signed_cert(
    context: Context,
    ca_name: str,
    CN: str,  # noqa: N803  (Salt's name)
    days: int = 365,
    cacert_path: str | None = None,
    ca_filename: str | None = None,
    cert_path: str | None = None,
    cert_filename: str | None = None,
    digest: str = "sha256",
    cert_type: str | None = None,
    type_ext: bool = False,
    replace: bool = False,
) -> Any:
    """Sign the request of `create_csr`."""
    require_library()
    from minion.providers.x509 import authority_folder as folders
    from minion.providers.x509.loading import load_request

    if type_ext and not cert_type:
        raise CallFailed("type_ext = True but cert_type is unset. Certificate not written.")
    folder, machine = folder_of(context, ca_name, cacert_path, ca_filename), context.machine
    asked = f"{CN}{f'_{cert_type}' if type_ext else ''}"
    name = cert_filename or asked
    file = folder.issued(name, "crt", cert_path)
    if machine.stat(file) is not None and not replace:
        return f'Certificate "{name}" already exists'
    signers = folder.signers(machine)
    if signers is None:
        return {"retcode": 1, "comment": f'There is no CA named "{ca_name}"'}
    csr = folder.issued(asked, "csr", cert_path)
    if machine.stat(csr) is None:
        return {"retcode": 1, "comment": f'There is no CSR that matches the CN "{name}"'}
    made = folders.signed_request(*signers, load_request(machine, csr)[0], days=days, digest=digest)
    machine.write(file, folders.pem(made), mode="0644")
    folder.record(machine, made)
    return f'Created Certificate for "{CN}": "{file}"'


def create_pkcs12(
    context: Context,
    ca_name: str,
    CN: str,  # noqa: N803  (Salt's name)
    passphrase: str = "",
    cacert_path: str | None = None,
    replace: bool = False,
) -> str:
    """Put a certificate, its key and that of its authority into one file, for its owner alone."""
    require_library()
    from minion.providers.x509.certificates import Wrapping, encode
    from minion.providers.x509.loading import load_certificate, load_private_key

    folder, machine = folder_of(context, ca_name, cacert_path), context.machine
    file = folder.issued(CN, "p12")
    if machine.stat(file) is not None and not replace:
        return f'Certificate "{CN}" already exists'
    if machine.stat(folder.own("crt")) is None:
        return f'There is no CA named "{ca_name}"'
    certificate, key = folder.issued(CN, "crt"), folder.issued(CN, "key")
    if machine.stat(certificate) is None or machine.stat(key) is None:
        return f'There is no certificate that matches the CN "{CN}"'
    how = Wrapping(
        encoding="pkcs12",
        appended=(load_certificate(machine, folder.own("crt")).certificate,),
        private_key=load_private_key(machine, key).key,
        passphrase=passphrase or None,
        friendly_name=CN,
    )
    machine.write(file, encode(load_certificate(machine, certificate).certificate, how), mode="0600")
    return f'Created PKCS#12 Certificate for "{CN}": "{file}"'


def create_empty_crl(
    context: Context,
    ca_name: str,
    cacert_path: str | None = None,
    ca_filename: str | None = None,
    crl_file: str | None = None,
    digest: str = "sha256",
) -> str:
    """Make a list of revoked certificates that has none."""
    require_library()
    from minion.providers.x509 import authority_folder as folders

    folder, machine = folder_of(context, ca_name, cacert_path, ca_filename), context.machine
    file = crl_file or posixpath.join(folder.path, "crl.pem")
    if machine.stat(file) is not None:
        return f'CRL "{file}" already exists'
    signers = folder.signers(machine)
    if signers is None:
        return f'There is no CA named "{ca_name}"'
    machine.write(file, folders.pem(folders.list_of(*signers, (), digest)))
    return f'Created an empty CRL: "{file}"'


def revoke_cert(
    context: Context,
    ca_name: str,
    CN: str,  # noqa: N803  (Salt's name)
    cacert_path: str | None = None,
    ca_filename: str | None = None,
    cert_path: str | None = None,
    cert_filename: str | None = None,
    crl_file: str | None = None,
    digest: str = "sha256",
) -> Any:
    """Mark a certificate as revoked, and write the list of those."""
    require_library()
    from minion.providers.x509 import authority_folder as folders
    from minion.providers.x509.certificates import now_utc
    from minion.providers.x509.loading import load_certificate

    folder, machine = folder_of(context, ca_name, cacert_path, ca_filename), context.machine
    file = folder.issued(cert_filename or CN, "crt", cert_path)
    signers = folder.signers(machine)
    if signers is None:
        return f'There is no CA named "{ca_name}"'
    if machine.stat(file) is None:
        return f'There is no client certificate named "{CN}"'
    target = crl_file or posixpath.join(folder.path, "crl.pem")
    if (found := machine.stat(target)) is not None and found.kind == "directory":
        return {"retcode": 1, "comment": f'crl_file "{target}" is an existing directory'}
    line = folders.index_line(load_certificate(machine, file).certificate)
    lines, number = folder.lines(machine), line[3]
    if any(one[0] == "R" and one[3] == number for one in lines):
        return f'"{file}" was already revoked, serial number: {number}'
    known = [one for one in lines if one[3] != number]
    lines = [*known, folders.revoked_line(line, now_utc())]
    folder.write_lines(machine, lines)
    machine.write(target, folders.pem(folders.list_of(*signers, lines, digest)))
    return f'Revoked Certificate: "{file}", serial number: {number}'


def get_extensions(context: Context, cert_type: str) -> dict[str, dict[str, Any]]:
    """Extensions of requests and certificates of a type: of the pillar (`tls.extensions`), or the usual ones."""
    found = tls_read.extensions_of(configured(context.machine, "tls.extensions", {}), cert_type or "server")
    if found is None:
        raise CallFailed(f"tls.extensions of the pillar has no {cert_type}")
    return found


def _wanted(context: Context, onlyif: Any, unless: Any) -> bool:
    """Whether conditions hold: commands, or values."""

    def holds(condition: Any) -> bool:
        if isinstance(condition, str):
            return bool(context.functions["cmd.retcode"](condition, python_shell=True) == 0)
        return bool(condition)

    return (onlyif is None or holds(onlyif)) and (unless is None or not holds(unless))


def _make(context: Context, folder: str) -> None:
    if context.machine.stat(folder) is None:
        context.machine.mkdir(folder, parents=True)


FUNCTIONS = {
    **tls_read.FUNCTIONS,
    "cert_base_path": base_path,
    "create_ca": create_ca,
    "create_ca_signed_cert": create_ca_signed_cert,
    "create_csr": create_csr,
    "create_empty_crl": create_empty_crl,
    "create_pkcs12": create_pkcs12,
    "create_self_signed_cert": create_self_signed_cert,
    "get_extensions": get_extensions,
    "revoke_cert": revoke_cert,
}
