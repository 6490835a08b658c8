"""How a mirror talks to its remote: credentials, certificates, host keys, and errors that can be shown.

Called by `gitfs.mirror.transfers`, `gitfs.transport.https_proxy` and `gitfs.mirror.mirror`. Must not let a secret or a
URL's userinfo into any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import CredentialType

from gitfs.config.credentials import SecretFrom, reveal
from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import canonical, redact, same_server
from gitfs.errors import FetchFailed

CONNECT_TIMEOUT = 10
ANSWER_TIMEOUT = 60
"""Seconds that a remote may take to connect, and to send its next bytes."""

# libgit2 has these for the whole process. Repositories here are only read as data, no hook or filter of theirs ever
# runs, so whom they belong to does not matter; without this a remote of another user's could not be fetched.
pygit2.settings.owner_validation = False
pygit2.settings.server_connect_timeout = CONNECT_TIMEOUT * 1000
pygit2.settings.server_timeout = ANSWER_TIMEOUT * 1000

_FOLLOW_REDIRECTS = "http.followRedirects"
_ELSEWHERE = re.compile(r"cannot redirect from '[^']*' to '(?P<where>[^']*)'")
"""What libgit2 says of a redirect that it does not follow."""
_SHALLOW = "invalid packet line"
"""What libgit2 says of a server's list of refs when it begins with the ends of a shallow history."""


def remote_of(repository: pygit2.Repository, url: str) -> pygit2.Remote:
    """A remote of a repository that is connected to at this URL, and at no other host.

    Redirects are followed on the same host, from http to https and not back: whoever has the git server would make us
    send requests to any other server, otherwise (server-side request forgery).
    """
    config = repository.config
    if _FOLLOW_REDIRECTS not in config or config[_FOLLOW_REDIRECTS] != "false":
        config[_FOLLOW_REDIRECTS] = "false"
    return repository.remotes.create_anonymous(url)


class ConnectionRefused(Exception):
    """A reason not to go on with a connection; `retryable` as in FetchFailed."""

    def __init__(self, reason: str, *, retryable: bool = False) -> None:
        super().__init__(reason)
        self.retryable = retryable


class TransferCutOff(ConnectionRefused):
    """The transfer exceeded a limit, and its connections were ended from here."""


class Callbacks(pygit2.RemoteCallbacks):
    """Answers libgit2's questions from the settings of one remote, for one connection to `url`."""

    def __init__(self, settings: RemoteSettings, url: str) -> None:
        super().__init__()
        self._settings = settings
        self._url = url
        self._asked = 0

    def credentials(self, url: str, username_from_url: str | None, allowed_types: CredentialType) -> Any:
        """What the server is shown. libgit2 asks again after a refusal, so a second question is the answer no."""
        if not _is_same_server(self._url, url):
            # Redirects are followed, and the question is then another server's.
            raise ConnectionRefused(
                f"it redirects to {canonical(url)}, which is not shown the credentials; set that URL"
            )
        user = self._settings.user or username_from_url
        if allowed_types & CredentialType.USERNAME:
            return pygit2.Username(user or "git")
        self._asked += 1
        if self._asked > 1:
            raise ConnectionRefused("the remote refused the credentials; check user, password or key")
        if allowed_types & CredentialType.SSH_KEY:
            return self._key(user or "git")
        if allowed_types & CredentialType.USERPASS_PLAINTEXT and user:
            return pygit2.UserPass(user, _revealed(self._settings.password))
        raise ConnectionRefused("the remote asks for credentials; set `user` and `password` (https) or `privkey` (ssh)")

    def _key(self, user: str) -> Any:
        settings = self._settings
        if not settings.privkey:
            return pygit2.KeypairFromAgent(user)
        if not Path(settings.privkey).is_file():
            raise ConnectionRefused(f"there is no private key {settings.privkey}")
        public = settings.pubkey or None
        return pygit2.Keypair(user, public, settings.privkey, _revealed(settings.passphrase))

    def certificate_check(self, certificate: None, valid: bool, host: bytes) -> bool:
        """The library's own verdict: the chain of a TLS certificate, or `~/.ssh/known_hosts` for a host key.

        Must be answered here: where it is left open, the binding takes any ssh host key.
        """
        if valid or (self._settings.ssl_verify is False and self._settings.url.startswith("https:")):
            return True
        what = (
            "its certificate is not trusted; name your CA with `ssl_verify: /path/of/ca.pem`"
            if self._settings.url.startswith("https:")
            else "its host key is not in ~/.ssh/known_hosts; add it there after comparing its fingerprint"
        )
        raise ConnectionRefused(f"{host.decode(errors='replace')} was not recognised: {what}")


def _revealed(secret: str | SecretFrom) -> str:
    try:
        return reveal(secret)
    except LookupError as error:
        raise ConnectionRefused(f"its credentials are not there: {error.args[0]}", retryable=True) from None


def _is_same_server(configured: str, asking: str) -> bool:
    """Whether the server that asks for credentials is the one that they are for (or its https side, both as usual)."""
    if not configured.startswith(("http:", "https:")) or same_server(configured, asking):
        return True
    ours, theirs = urlsplit(configured), urlsplit(asking)
    usual = (ours.scheme, ours.port or 80, theirs.scheme, theirs.port or 443) == ("http", 80, "https", 443)
    return ours.hostname == theirs.hostname and usual


@contextmanager
def failures(settings: RemoteSettings) -> Iterator[None]:
    """Turns whatever a transfer raises into FetchFailed."""
    try:
        yield
    except ConnectionRefused as error:
        raise FetchFailed(settings.name, str(error), retryable=error.retryable) from None
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        # The cause is not chained: its text may hold what `_reason` takes out.
        raise FetchFailed(settings.name, _reason(error, settings), retryable=True) from None


def _reason(error: Exception, settings: RemoteSettings) -> str:
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    for named in settings.secrets.values():
        with suppress(LookupError):
            text = text.replace(reveal(named) or "\0", "***")
    if elsewhere := _ELSEWHERE.search(text):
        text = f"it redirects to {elsewhere['where']}, which is not followed; set that URL"
    if "status code: 400" in text and not settings.ssl_cert:
        text += "; the server may ask for a certificate of ours (ssl_cert and ssl_key)"
    if text == _SHALLOW:
        text += "; a remote that is itself a shallow clone can be fetched on this machine only (git fetch --unshallow)"
    return redact(text).strip() or type(error).__name__
