"""One remote, as frozen settings that are checked when they are made.

Made by `gitfs.config.remotes` from Salt's options, or directly by callers without one; everything else in this
room works from them. The type of a field says which values its option takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gitfs.config import refspecs
from gitfs.config.credentials import SecretFrom
from gitfs.config.kinds import (
    REF_TYPES,
    AbsoluteFile,
    PatternList,
    RefName,
    RefTypeList,
    Secret,
    Switch,
    Text,
    TextList,
    TreeFolder,
    Verification,
)
from gitfs.config.live_policy import LivePolicy
from gitfs.config.urls import parse_url
from gitfs.errors import BadRemoteSettings
from matching.linear_regex import PatternRefused
from matching.matcher import prepared_glob, prepared_search
from options.kinds import Seconds

ROOTS = "roots"
"""Stands for the local directories wherever remotes are named, so no remote may have this name."""

GIT = "git"
"""The backend of the remotes, as `ROOTS` is that of the local folders."""

_SECRETS = ("password", "passphrase", "token", "push_password", "push_passphrase", "push_token")
_PUSH = ("push_url", "push_user", "push_password", "push_privkey", "push_passphrase", "push_token")

DEFAULT_BASES = ("main", "master")
"""Tried in this order where no base is set."""


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

    name: Text
    url: str
    base: RefName = None
    """Ref that is the saltenv `base`; None: `main`, or `master` where there is no `main`."""
    branch: str | None = None
    """The only ref that is used; None: every branch and tag is the saltenv of its name."""
    only_base: bool = False
    """Use the base alone."""
    saltenv: str | None = None
    """Environment that `branch` is for; None: `base` for the base, else the ref's name."""
    root: TreeFolder = ""
    mountpoint: TreeFolder = ""
    saltenvs: tuple[PerSaltenv, ...] = ()
    """What is otherwise in single environments."""
    all_saltenvs: Text = ""
    """The ref that is shown in every environment, in place of the one of its name."""
    fallback: Text = ""
    """The ref for environments that this remote has none for."""
    ref_types: RefTypeList = REF_TYPES
    disable_saltenv_mapping: Switch = False
    """Only `base` and what `saltenvs` maps are environments."""
    saltenv_whitelist: TextList = ()
    saltenv_blacklist: TextList = ()
    refspecs: TextList = refspecs.DEFAULT
    pull_requests: Switch = False
    """Fetch the heads of pull requests too, for previews; they never go live."""
    submodules: Switch = True
    submodule_hosts: TextList = ()
    """Hosts, or patterns of hosts, that submodules are fetched from beside the remote's own."""
    lfs: Switch = True
    update_interval: Seconds = 60.0
    """Seconds between two polls."""
    user: Text = ""
    password: Secret = field(default="", repr=False)
    pubkey: AbsoluteFile = ""
    privkey: AbsoluteFile = ""
    passphrase: Secret = field(default="", repr=False)
    token: Secret = field(default="", repr=False)
    """Shown to an http server in place of user and password (`Authorization: Bearer`)."""
    insecure_auth: Switch = False
    """Allow user and password, or a token, over plain http."""
    ssl_verify: Verification = True
    """False: any certificate will do. A path: a file of CA certificates that this remote may have one of too."""
    ssl_cert: AbsoluteFile = ""
    """File (PEM) of the certificate that the server is shown; its chain may follow in it."""
    ssl_key: AbsoluteFile = ""
    """File of its key; empty: it is in the same file. `passphrase` is for it too."""
    proxy: Text = ""
    """URL of an http proxy; empty: what git's configuration and the environment say."""
    push_url: Text = ""
    """Where branches are pushed (`saltern adopt --yes`); empty: to the URL, where another `push_` option is set."""
    push_user: Text = ""
    push_password: Secret = field(default="", repr=False)
    push_privkey: AbsoluteFile = ""
    push_passphrase: Secret = field(default="", repr=False)
    """Of `push_privkey`."""
    push_token: Secret = field(default="", repr=False)
    policy: LivePolicy = field(default_factory=LivePolicy)

    @property
    def secrets(self) -> dict[str, str | SecretFrom]:
        """Option -> what may be shown to nobody but the server."""
        return {name: getattr(self, name) for name in _SECRETS}

    def with_secrets(self, change: Callable[[str | SecretFrom], str | SecretFrom]) -> RemoteSettings:
        """These settings with each secret as `change` gives it."""
        return replace(
            self,
            password=change(self.password),
            passphrase=change(self.passphrase),
            token=change(self.token),
            push_password=change(self.push_password),
            push_passphrase=change(self.push_passphrase),
            push_token=change(self.push_token),
        )

    @property
    def takes_branches(self) -> bool:
        """Whether there is a way to write to it: what reads it is never used for that."""
        return any(getattr(self, name) for name in _PUSH)

    def for_push(self) -> RemoteSettings:
        """The same remote with its credentials for writing in the place of those for reading; see `takes_branches`."""
        return replace(
            self.without_push(),
            url=self.push_url or self.url,
            user=self.push_user,
            password=self.push_password,
            pubkey="",
            privkey=self.push_privkey,
            # With none of its own: that of `ssl_key`, which is shown whatever is asked for.
            passphrase=self.push_passphrase or self.passphrase,
            token=self.push_token,
        )

    def without_push(self) -> RemoteSettings:
        """The same remote without a way to write, for processes that read it."""
        return replace(
            self, push_url="", push_user="", push_password="", push_privkey="", push_passphrase="", push_token=""
        )

    def __post_init__(self) -> None:
        where = f"remote {self.name!r}"
        address = parse_url(self.url, where)
        _check_push(self, where)
        if address.password:
            raise BadRemoteSettings(f"{where}: the URL holds a password; set `user` and `password` instead")
        for option in ("base", "branch", "all_saltenvs", "fallback"):
            if ref := getattr(self, option):
                with _about(option):
                    check_ref(ref, f"{where}: {option}")
        if self.name == ROOTS or not self.name:
            raise BadRemoteSettings(f"{where}: {self.name!r} cannot be a remote's name", ("name",))
        if address.scheme == "http" and (self.user or self.password or self.token) and not self.insecure_auth:
            what = "a token" if self.token else "user and password"
            raise BadRemoteSettings(f"{where}: {what} would be sent in the clear; use https, or `insecure_auth`")
        if self.token and (self.user or self.password):
            what = "a server is shown `token`, or `user` and `password`, and not both"
            raise BadRemoteSettings(f"{where}: {what}", ("token",))
        if self.ssl_key and not self.ssl_cert:
            what = "`ssl_key` is the key of a certificate; set `ssl_cert` too"
            raise BadRemoteSettings(f"{where}: {what}", ("ssl_key",))
        for number, text in enumerate(self.refspecs):
            with _about("refspecs", number):
                refspecs.parse_refspec(text, f"{where}: refspecs")
        for number, host in enumerate(self.submodule_hosts):
            if not re.fullmatch(r"[\w.*?:\[\]-]+", host):
                what = f"{host!r} is no host; write names or patterns, without scheme, port and path"
                raise BadRemoteSettings(f"{where}: {what}", ("submodule_hosts", number))
        for option in ("saltenv_whitelist", "saltenv_blacklist"):
            for number, expression in enumerate(getattr(self, option)):
                with _about(option, number):
                    _check_expression(expression, where)


def _check_push(remote: RemoteSettings, where: str) -> None:
    """BadRemoteSettings where the options for writing cannot go together, as with those for reading."""
    if not remote.takes_branches:
        return
    with _about("push_url"):
        address = parse_url(remote.push_url or remote.url, f"{where}: push_url")
        if address.password:
            raise BadRemoteSettings(f"{where}: push_url holds a password; set `push_user` and `push_password` instead")
        shown = remote.push_user or remote.push_password or remote.push_token
        if address.scheme == "http" and shown and not remote.insecure_auth:
            raise BadRemoteSettings(f"{where}: what `push_` options hold would be sent in the clear; use https")
        if address.scheme == "git":
            raise BadRemoteSettings(f"{where}: nothing is pushed by git://; set `push_url` with https or ssh")
    if remote.push_token and (remote.push_user or remote.push_password):
        what = "a server is shown `push_token`, or `push_user` and `push_password`, and not both"
        raise BadRemoteSettings(f"{where}: {what}", ("push_token",))


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredFiles:
    """Salt's `file_ignore_glob` and `file_ignore_regex`: files that are in no tree."""

    globs: PatternList = ()
    regexes: PatternList = ()

    def prepared(self) -> Callable[[str], bool]:
        """Whether a path is left out; regular expressions are searched for, globs match the whole path.

        Raises re.error or PatternRefused for a pattern that cannot be used; `gitfs.config.remotes` has checked them.
        """
        tests = [*map(prepared_search, self.regexes), *map(prepared_glob, self.globs)]
        return lambda path: any(test(path) for test in tests)


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


@contextmanager
def _about(*path: str | int) -> Iterator[None]:
    """Faults are about this field."""
    try:
        yield
    except BadRemoteSettings as error:
        raise BadRemoteSettings(str(error), path) from None


def _check_expression(expression: str, where: str) -> None:
    try:
        re.compile(expression)
        prepared_name(expression)
    except PatternRefused as error:
        raise BadRemoteSettings(f"{where}: {error}") from None
    except re.error as error:
        if not any(char in expression for char in "*?["):
            raise BadRemoteSettings(
                f"{where}: {expression!r} is neither a glob nor a regular expression: {error}"
            ) from None


@lru_cache(maxsize=1024)
def prepared_name(expression: str) -> Callable[[str], bool]:
    """Whether a name is, or fits, an expression of Salt's lists: a glob, or a regular expression for the whole name.

    Raises PatternRefused for one that is not run.
    """
    glob = prepared_glob(expression)
    try:
        regex = prepared_search(rf"\A(?:{expression})\Z")
    except re.error:  # a glob that is no regular expression
        return lambda name: name == expression or glob(name)
    return lambda name: name == expression or glob(name) or regex(name)
