"""One remote, as frozen settings that are checked when they are made.

Made by `gitfs.config.remotes` from Salt's options, or directly by whoever has no configuration; everything else in this
room works from them. Says nothing about how options are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch

from gitfs.config import refspecs
from gitfs.config.credentials import SecretFrom
from gitfs.config.live_policy import LivePolicy
from gitfs.config.urls import parse_url
from gitfs.errors import BadRemoteSettings

ROOTS = "roots"
"""Stands for the local directories wherever remotes are named, so no remote may have this name."""

GIT = "git"
"""The backend of the remotes, as `ROOTS` is that of the local folders."""

DEFAULT_BASES = ("main", "master")
"""Tried in this order where no base is set."""

REF_TYPES = ("branch", "tag", "sha")


@dataclass(frozen=True, slots=True, kw_only=True)
class PerSaltenv:
    """What one remote shows in one environment; None: as everywhere."""

    saltenv: str
    ref: str | None = None
    root: str | None = None
    mountpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """One remote as Salt describes it. Passwords are no part of the repr."""

    name: str
    url: str
    base: str | None = None
    """Ref that is the saltenv `base`; None: `main`, or `master` where there is no `main`."""
    branch: str | None = None
    """The only ref that is used; None: every branch and tag is the saltenv of its name."""
    only_base: bool = False
    """Use the base alone."""
    saltenv: str | None = None
    """Environment that `branch` is for; None: `base` for the base, else the ref's name."""
    root: str = ""
    mountpoint: str = ""
    saltenvs: tuple[PerSaltenv, ...] = ()
    """What is otherwise in single environments."""
    all_saltenvs: str = ""
    """The ref that is shown in every environment, in place of the one of its name."""
    fallback: str = ""
    """The ref for environments that this remote has none for."""
    ref_types: tuple[str, ...] = REF_TYPES
    disable_saltenv_mapping: bool = False
    """Only `base` and what `saltenvs` maps are environments."""
    saltenv_whitelist: tuple[str, ...] = ()
    saltenv_blacklist: tuple[str, ...] = ()
    refspecs: tuple[str, ...] = refspecs.DEFAULT
    pull_requests: bool = False
    """Fetch the heads of pull requests too, for previews; they never go live."""
    submodules: bool = True
    lfs: bool = True
    update_interval: float = 60.0
    """Seconds between two polls."""
    user: str = ""
    password: str | SecretFrom = field(default="", repr=False)
    pubkey: str = ""
    privkey: str = ""
    passphrase: str | SecretFrom = field(default="", repr=False)
    token: str | SecretFrom = field(default="", repr=False)
    """Shown to an http server in place of user and password (`Authorization: Bearer`)."""
    insecure_auth: bool = False
    """Allow user and password, or a token, over plain http."""
    ssl_verify: bool | str = True
    """False: any certificate will do. A path: a file of CA certificates that this remote may have one of too."""
    ssl_cert: str = ""
    """File (PEM) of the certificate that the server is shown; its chain may follow in it."""
    ssl_key: str = ""
    """File of its key; empty: it is in the same file. `passphrase` is for it too."""
    proxy: str = ""
    """URL of an http proxy; empty: what git's configuration and the environment say."""
    policy: LivePolicy = field(default_factory=LivePolicy)

    @property
    def secrets(self) -> dict[str, str | SecretFrom]:
        """Option -> what may be shown to nobody but the server."""
        return {"password": self.password, "passphrase": self.passphrase, "token": self.token}

    def with_secrets(self, change: Callable[[str | SecretFrom], str | SecretFrom]) -> RemoteSettings:
        """These settings with each secret as `change` gives it."""
        return replace(
            self, password=change(self.password), passphrase=change(self.passphrase), token=change(self.token)
        )

    def __post_init__(self) -> None:
        where = f"remote {self.name!r}"
        address = parse_url(self.url, where)
        if address.password:
            raise BadRemoteSettings(f"{where}: the URL holds a password; set `user` and `password` instead")
        for option in ("base", "branch", "all_saltenvs", "fallback"):
            if ref := getattr(self, option):
                check_ref(ref, f"{where}: {option}")
        if self.name == ROOTS or not self.name:
            raise BadRemoteSettings(f"{where}: {self.name!r} cannot be a remote's name")
        if address.scheme == "http" and (self.user or self.password or self.token) and not self.insecure_auth:
            what = "a token" if self.token else "user and password"
            raise BadRemoteSettings(f"{where}: {what} would be sent in the clear; use https, or `insecure_auth`")
        if self.token and (self.user or self.password):
            raise BadRemoteSettings(f"{where}: a server is shown `token`, or `user` and `password`, and not both")
        if self.ssl_key and not self.ssl_cert:
            raise BadRemoteSettings(f"{where}: `ssl_key` is the key of a certificate; set `ssl_cert` too")
        for text in self.refspecs:
            refspecs.parse_refspec(text, f"{where}: refspecs")
        for expression in (*self.saltenv_whitelist, *self.saltenv_blacklist):
            _check_expression(expression, where)


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredFiles:
    """Salt's `file_ignore_glob` and `file_ignore_regex`: files that are in no tree."""

    globs: tuple[str, ...] = ()
    regexes: tuple[str, ...] = ()

    def matches(self, path: str) -> bool:
        """Whether a path is left out; regular expressions are searched for, globs match the whole path."""
        return any(re.search(each, path) for each in self.regexes) or any(fnmatch(path, each) for each in self.globs)


def check_ref(ref: str, where: str) -> str:
    """`ref` itself when it can name a branch, a tag or a commit (git-check-ref-format); else BadRemoteSettings."""
    bad = (
        not ref
        or ref.startswith(("-", "/", "."))
        or ref.endswith(("/", ".", ".lock"))
        or any(part in ref for part in ("..", "//", "@{", "/."))
        or any(ord(char) <= 32 or ord(char) == 127 or char in "~^:?*[\\" for char in ref)
    )
    if bad:
        raise BadRemoteSettings(f"{where}: {ref!r} cannot be the name of a branch, tag or commit")
    return ref


def _check_expression(expression: str, where: str) -> None:
    try:
        re.compile(expression)
    except re.error as error:
        if not any(char in expression for char in "*?["):
            raise BadRemoteSettings(
                f"{where}: {expression!r} is neither a glob nor a regular expression: {error}"
            ) from None
