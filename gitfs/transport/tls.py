"""Whom a remote's https trusts, and with which certificate we come: a context of its own for each remote.

Called by `gitfs.transport.https_proxy` and `gitfs.transport.lfs_server`. Contexts are kept until one of their files
changes.
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from pathlib import Path

from gitfs.config.credentials import reveal
from gitfs.config.settings import RemoteSettings

_Stamp = tuple[str, int, int]


def tls_context(settings: RemoteSettings, *, introduced: bool = True) -> ssl.SSLContext:
    """OSError or LookupError, whose text can be shown, when a file or a passphrase of it is not there.

    Args:
        settings: the remote.
        introduced: come with its client certificate; False for a server that is not the remote's own.
    """
    verify = settings.ssl_verify
    authorities = _stamp(verify, "CA file") if isinstance(verify, str) else None
    own = _stamp(settings.ssl_cert, "client certificate") if settings.ssl_cert and introduced else None
    key = _stamp(settings.ssl_key, "key of the client certificate") if own and settings.ssl_key else None
    return _context(verify is not False, authorities, own, key, reveal(settings.passphrase) if own else "")


def _stamp(path: str, what: str) -> _Stamp:
    try:
        status = Path(path).stat()
    except OSError as error:
        raise OSError(f"the {what} {path} cannot be read: {error.strerror}") from None
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=32)
def _context(
    verified: bool, authorities: _Stamp | None, own: _Stamp | None, key: _Stamp | None, passphrase: str
) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verified:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if authorities:
        try:
            context.load_verify_locations(authorities[0])
        except (OSError, ssl.SSLError) as error:
            raise OSError(f"the CA file {authorities[0]} cannot be read: {_reason(error)}") from None
    if own:
        try:
            # A text, so that OpenSSL never asks a terminal.
            context.load_cert_chain(own[0], key[0] if key else None, passphrase)
        except (OSError, ssl.SSLError) as error:
            reason = f"the client certificate {own[0]} and its key do not fit, or need another `passphrase`"
            raise OSError(f"{reason}: {_reason(error)}") from None
    return context


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
