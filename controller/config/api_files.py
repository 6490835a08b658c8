"""Whether the files that the option `api` names can be used, looked at when a controller starts."""

from __future__ import annotations

import ssl

from controller.config.api import ApiSettings, TlsOptions
from options.bounded_files import CONFIG_BYTES, FileRefused, read_bounded


def api_file_faults(settings: ApiSettings) -> list[tuple[str, str]]:
    """(what is wrong, what to do) of the certificate, its key and the authorities of the issuer."""
    faults = []
    if settings.tls is not None:
        try:
            tls_context(settings.tls)
        except BadCertificate as error:
            faults.append((str(error), "name a PEM certificate with its chain, and the key that belongs to it"))
    if settings.oidc is not None and settings.oidc.ca_file is not None:
        try:
            read_bounded(settings.oidc.ca_file, CONFIG_BYTES, follow=True)  # OpenSSL waits for a fifo
            ssl.create_default_context(cafile=str(settings.oidc.ca_file))
        except (FileRefused, OSError, ssl.SSLError) as error:
            faults.append((f"oidc: ca_file {settings.oidc.ca_file}: {error}", "name a PEM file of certificates"))
    return faults


class BadCertificate(Exception):
    """A certificate or its key cannot be used; says which and why."""


def tls_context(options: TlsOptions) -> ssl.SSLContext:
    """The server's end of TLS: 1.2 and later, with the ciphers of Python's default. BadCertificate."""
    for path in (options.certificate, options.key):
        try:
            read_bounded(path, CONFIG_BYTES, follow=True)
        except FileRefused as error:
            raise BadCertificate(f"tls: {error}") from None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(options.certificate, options.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        text = f"tls: {options.certificate} and {options.key} are no certificate with its key: {error}"
        raise BadCertificate(text) from None
    return context


def _no_password() -> str:
    """A key with a password would have OpenSSL ask on the terminal."""
    raise ValueError("the key has a password")
