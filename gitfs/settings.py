"""Salt's `gitfs_remotes` and git `ext_pillar`, parsed once into frozen settings.

Called by whoever reads the configuration; `gitfs.source` works from the result. Option names and defaults are
Salt's (https://docs.saltproject.io/en/latest/topics/tutorials/gitfs.html). What is not understood is an error that
says where it stands: a setting that is silently dropped could let the wrong tree go live.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitfs.errors import BadSettings
from gitfs.urls import Address, canonical, parse_url, redact

ROOTS = "roots"
"""Stands for the local directories wherever remotes are named, so no remote may have this name."""

DEFAULT_BASES = ("main", "master")
"""Tried in this order where no base is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """One remote as Salt describes it. Passwords are no part of the repr."""

    name: str
    url: str
    base: str | None = None
    """Branch that is the saltenv `base`; None: `main`, or `master` where there is no `main`."""
    branch: str | None = None
    """The only branch that is used; None: every branch is the saltenv of its name."""
    saltenv: str | None = None
    """Environment that `branch` is for; None: `base` for the base branch, else the branch's name."""
    root: str = ""
    mountpoint: str = ""
    update_interval: float = 60.0
    """Seconds between two polls."""
    user: str = ""
    password: str = field(default="", repr=False)
    pubkey: str = ""
    privkey: str = ""
    passphrase: str = field(default="", repr=False)
    insecure_auth: bool = False
    """Allow user and password over plain http."""
    ssl_verify: bool | str = True
    """False: any certificate will do. A path: a file of CA certificates that are trusted too."""
    allow_rewind: bool = False
    """Accept a branch that was force-pushed or set back."""

    def __post_init__(self) -> None:
        where = f"remote {self.name!r}"
        address = parse_url(self.url, where)
        if address.password:
            raise BadSettings(f"{where}: the URL holds a password; set `user` and `password` instead")
        for option in ("base", "branch"):
            ref = getattr(self, option)
            if ref is not None:
                check_ref(ref, f"{where}: {option}")
        if self.name == ROOTS or not self.name:
            raise BadSettings(f"{where}: {self.name!r} cannot be a remote's name")
        if address.scheme == "http" and (self.user or self.password) and not self.insecure_auth:
            raise BadSettings(f"{where}: user and password would be sent in the clear; use https, or `insecure_auth`")


def check_ref(ref: str, where: str) -> str:
    """`ref` itself when it can name a branch, a tag or a commit (git-check-ref-format); else BadSettings."""
    bad = (
        not ref
        or ref.startswith(("-", "/", "."))
        or ref.endswith(("/", ".", ".lock"))
        or any(part in ref for part in ("..", "//", "@{", "/."))
        or any(ord(char) <= 32 or ord(char) == 127 or char in "~^:?*[\\" for char in ref)
    )
    if bad:
        raise BadSettings(f"{where}: {ref!r} cannot be the name of a branch, tag or commit")
    return ref


def file_remotes(config: Mapping[str, Any]) -> tuple[RemoteSettings, ...]:
    """The remotes of `gitfs_remotes`, in order, with the `gitfs_*` options as their defaults."""
    defaults = _globals(config, "gitfs_", _FILE_OPTIONS)
    remotes = []
    for where, url, options in _items(config.get("gitfs_remotes"), "gitfs_remotes"):
        own = _options(options, where, _FILE_OPTIONS)
        remotes.append(_remote(parse_url(url, where), where, {**defaults, **own}))
    _unique(remotes, "gitfs_remotes")
    return tuple(remotes)


def pillar_remotes(config: Mapping[str, Any]) -> tuple[RemoteSettings, ...]:
    """The remotes of the `git` entries of `ext_pillar`, in order, with the `git_pillar_*` options as defaults."""
    defaults = _globals(config, "git_pillar_", _PILLAR_OPTIONS)
    remotes = []
    for number, entry in enumerate(_sequence(config.get("ext_pillar"), "ext_pillar")):
        if not isinstance(entry, Mapping) or "git" not in entry:
            continue  # another external pillar; not ours to judge
        for where, text, options in _items(entry["git"], f"ext_pillar[{number}].git"):
            own = _options(options, where, _PILLAR_OPTIONS)
            remotes.append(_pillar_remote(text, where, {**defaults, **own}))
    _unique(remotes, "ext_pillar")
    return tuple(remotes)


def _pillar_remote(text: str, where: str, options: dict[str, Any]) -> RemoteSettings:
    branch, _, url = text.strip().partition(" ")
    if not url.strip():
        raise BadSettings(f"{where}: write `BRANCH URL` (or `__env__ URL`), not {redact(text)!r}")
    address = parse_url(url.strip(), where)
    saltenv = options.pop("env", None)
    if branch == "__env__":
        if saltenv:
            raise BadSettings(f"{where}: `env` has no meaning with `__env__`, which gives each branch its own")
        return _remote(address, where, options)
    check_ref(branch, where)
    return _remote(address, where, {**options, "branch": branch, "saltenv": saltenv or None})


def _remote(address: Address, where: str, options: dict[str, Any]) -> RemoteSettings:
    if address.scheme != "ssh":
        if address.user:
            options = {**options, "user": address.user}
        if address.password:
            options = {**options, "password": address.password}
    elif address.password:
        raise BadSettings(f"{where}: ssh takes no password from a URL; use `privkey`, or an agent")
    name = options.pop("name", "") or canonical(address.url)
    try:
        return RemoteSettings(name=name, url=address.url, **options)
    except BadSettings as error:
        raise BadSettings(f"{where}: {error}") from None


def _text(value: Any) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise ValueError("a string")


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("true or false")


def _seconds(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**8:
        return float(value)
    raise ValueError("a number of seconds above 0")


def _folder(value: Any) -> str:
    text = _text(value).removeprefix("salt://").strip("/")
    if "\0" in text or any(part in ("..", ".") for part in text.split("/")):
        raise ValueError("a folder inside the repository, without `.` and `..`")
    return text


def _file(value: Any) -> str:
    text = _text(value)
    if text and not Path(text).is_absolute():
        raise ValueError("an absolute path")
    return text


def _verify(value: Any) -> bool | str:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and Path(value).is_absolute():
        return value
    raise ValueError("true, false, or the absolute path of a file of CA certificates")


def _ref(value: Any) -> str | None:
    return _text(value) or None


_SHARED: dict[str, Any] = {
    "base": _ref,
    "root": _folder,
    "update_interval": _seconds,
    "user": _text,
    "password": _text,
    "pubkey": _file,
    "privkey": _file,
    "passphrase": _text,
    "insecure_auth": _flag,
    "ssl_verify": _verify,
    "allow_rewind": _flag,
}
_FILE_OPTIONS = {**_SHARED, "name": _text, "mountpoint": _folder}
_PILLAR_OPTIONS = {**_SHARED, "name": _text, "env": _text}

_SALT_ONLY = frozenset(
    (
        *("all_saltenvs", "branch", "disable_saltenv_mapping", "fallback", "global_lock", "includes", "lock_timeout"),
        *("proxy", "ref_types", "refspecs", "saltenv", "saltenv_blacklist", "saltenv_whitelist", "verify_config"),
    )
)
"""Options of Salt's that would change which files are seen, so that leaving them out silently would mislead."""


def _globals(config: Mapping[str, Any], prefix: str, options: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in config.items():
        if not isinstance(key, str) or not key.startswith(prefix) or key in ("gitfs_remotes", f"{prefix}provider"):
            continue
        option = key.removeprefix(prefix)
        known = [name for name in options if name != "name"]
        if option not in known:
            raise BadSettings(_unknown(key, option, [prefix + name for name in known]))
        found[option] = _parsed(key, options[option], value)
    return found


def _options(pairs: Mapping[str, Any], where: str, options: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs.items():
        if key not in options:
            raise BadSettings(f"{where}: {_unknown(str(key), str(key), list(options))}")
        found[key] = _parsed(f"{where}: {key}", options[key], value)
    return found


def _parsed(where: str, parse: Any, value: Any) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        raise BadSettings(f"{where} must be {error}, not a {type(value).__name__}") from None


def _unknown(key: str, option: str, known: Sequence[str]) -> str:
    if option in _SALT_ONLY:
        return f"{key!r} is an option of Salt's that is not supported here; remove it"
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"
    return f"there is no option {key!r}{hint}"


def _items(value: Any, where: str) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    """(place, text, options) of each entry of a list of `text` or `{text: [{option: value}, ...]}`."""
    for number, entry in enumerate(_sequence(value, where)):
        place = f"{where}[{number}]"
        if isinstance(entry, str):
            yield place, entry, {}
        elif isinstance(entry, Mapping) and len(entry) == 1:
            text, options = next(iter(entry.items()))
            yield place, str(text), _merged(options, f"{place} ({redact(str(text))})")
        else:
            raise BadSettings(f"{place}: write a URL, or one URL with its options below it")


def _merged(options: Any, where: str) -> dict[str, Any]:
    """Salt's list of one-key mappings (or one mapping) as one mapping."""
    if isinstance(options, Mapping):
        return dict(options)
    merged: dict[str, Any] = {}
    for option in _sequence(options, where):
        if not isinstance(option, Mapping):
            raise BadSettings(f"{where}: write options as a list of `- option: value`")
        for key, value in option.items():
            if key in merged:
                raise BadSettings(f"{where}: the option {key!r} is given twice")
            merged[key] = value
    return merged


def _sequence(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value
    raise BadSettings(f"{where} must be a list, not a {type(value).__name__}")


def _unique(remotes: Sequence[RemoteSettings], where: str) -> None:
    """One name, one URL: people, hooks and metrics know a remote by its name alone."""
    urls: dict[str, str] = {}
    for remote in remotes:
        if urls.setdefault(remote.name, remote.url) != remote.url:
            raise BadSettings(f"{where}: two remotes are named {remote.name!r}; give one of them another `name`")
