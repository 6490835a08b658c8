"""Addresses of git remotes: which are accepted, and how they are shown.

Called where settings are parsed and where a hook names a remote. Nothing here opens a connection.
A URL that git or a shell could read as an option or a command is refused, whether or not it would be run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gitfs.errors import BadRemoteSettings

SCHEMES = ("file", "https", "http", "ssh", "git")

_SCP_LIKE = re.compile(r"^(?:(?P<user>[\w.+-]+)@)?(?P<host>[\w.-]+):(?P<path>[^:].*)$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_USERINFO = re.compile(r"(?<=://)[^/\s]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteUrl:
    """A checked URL. `url` carries no password, and no user either where a password would go with it."""

    url: str
    scheme: str
    user: str = ""
    password: str = ""


def parse_url(text: str, where: str) -> RemoteUrl:
    """The address that `text` names; BadRemoteSettings, beginning with `where`, when it is not acceptable."""
    if _CONTROL.search(text):
        raise BadRemoteSettings(f"{where}: the URL {redact(text)!r} holds a control character")
    if not text or text.startswith("-") or "::" in text.split("/", 1)[0]:
        raise BadRemoteSettings(f"{where}: {redact(text)!r} is no URL: git would read it as an option or a command")
    if "://" not in text:
        return _plain(text, where)
    parts = urlsplit(text)
    if parts.scheme not in SCHEMES:
        raise BadRemoteSettings(f"{where}: scheme {parts.scheme!r} of {redact(text)!r} is none of {', '.join(SCHEMES)}")
    if parts.scheme != "file" and (not parts.hostname or parts.hostname.startswith("-")):
        raise BadRemoteSettings(f"{where}: {redact(text)!r} names no host")
    if parts.path.startswith("/-"):
        raise BadRemoteSettings(f"{where}: the path of {redact(text)!r} begins with a dash")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if user.startswith("-"):
        raise BadRemoteSettings(f"{where}: the user in {redact(text)!r} begins with a dash")
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme == "ssh" and user:
        host = f"{user}@{host}"
    return RemoteUrl(url=parts._replace(netloc=host).geturl(), scheme=parts.scheme, user=user, password=password)


def _plain(text: str, where: str) -> RemoteUrl:
    """A local path, or git's short form of an ssh address (`user@host:path`)."""
    if text.startswith("/"):
        return RemoteUrl(url=text, scheme="file")
    match = _SCP_LIKE.match(text)
    if match is None or match["host"].startswith("-") or match["path"].startswith("-"):
        raise BadRemoteSettings(
            f"{where}: {text!r} is no URL; a repository on this machine is written as an absolute path"
        )
    return RemoteUrl(url=text, scheme="ssh", user=match["user"] or "")


def canonical(url: str) -> str:
    """`host/path` (or the path of a local repository) without scheme, user, port and `.git`.

    The forms in which a forge, a person and a configuration write one remote come out equal.
    """
    if "://" in url:
        parts = urlsplit(url)
        path = (parts.hostname or "") + parts.path
    elif not url.startswith("/") and (match := _SCP_LIKE.match(url)):
        path = f"{match['host']}/{match['path'].lstrip('/')}"
    else:
        path = url
    return path.rstrip("/").removesuffix(".git").rstrip("/")


def same_server(one: str, other: str) -> bool:
    """Whether what is secret between us and the server of one URL may be shown to that of the other."""
    return _server(one) == _server(other)


def host_and_port(url: str) -> tuple[str, int | None]:
    """Where the server of an address listens; an empty host for a repository on this machine."""
    _, host, port = _server(url)
    return host, port


def _server(url: str) -> tuple[str, str, int | None]:
    if "://" not in url:
        match = None if url.startswith("/") else _SCP_LIKE.match(url)
        return ("ssh", match["host"].lower(), 22) if match else ("file", "", None)
    parts = urlsplit(url)
    default = {"http": 80, "https": 443, "ssh": 22, "git": 9418}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def local_path(url: str) -> Path | None:
    """Where a local remote lies; None for the others."""
    if url.startswith("/"):
        return Path(url)
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def redact(text: str) -> str:
    """`text` with the userinfo of every URL in it removed, for errors and logs."""
    return _USERINFO.sub("", text)
