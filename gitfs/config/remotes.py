"""Salt's `gitfs_remotes` and git `ext_pillar`, parsed once into frozen settings.

Called by whoever reads the configuration. Option names and defaults are Salt's
(https://docs.saltproject.io/en/latest/topics/tutorials/gitfs.html). What is not understood is an error that says where
it stands: a setting that is silently dropped could let the wrong tree go live.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from gitfs.config import option_values as read
from gitfs.config.live_policy import LivePolicy
from gitfs.config.settings import GIT, ROOTS, IgnoredFiles, PerSaltenv, RemoteSettings, check_ref
from gitfs.config.urls import RemoteUrl, canonical, parse_url, redact
from gitfs.errors import BadRemoteSettings
from gitfs.near_names import near

_POLICY: dict[str, read.ValueReader] = {
    "allow_rewind": read.flag,
    "minimum_age": read.seconds_or_none,
    "required_parents": read.count,
    "signed_by": read.signed_by,
    "allowed_signers": read.file,
    "gpg_keyring": read.file,
}
_SHARED: dict[str, read.ValueReader] = {
    "base": read.ref,
    "root": read.folder,
    "update_interval": read.seconds,
    "fallback": read.text,
    "refspecs": read.names,
    "ref_types": read.ref_types,
    "disable_saltenv_mapping": read.flag,
    "proxy": read.text,
    "user": read.text,
    "password": read.secret,
    "pubkey": read.file,
    "privkey": read.file,
    "passphrase": read.secret,
    "insecure_auth": read.flag,
    "ssl_verify": read.verify,
    "ssl_cert": read.file,
    "ssl_key": read.file,
    "token": read.secret,
    "pull_requests": read.flag,
    "submodules": read.flag,
    "lfs": read.flag,
    **_POLICY,
}
_ONE_REMOTE: dict[str, read.ValueReader] = {"name": read.text, "all_saltenvs": read.text}
_FILES_ALWAYS = {
    **_SHARED,
    "mountpoint": read.folder,
    "saltenv": read.mapping,
    "saltenv_whitelist": read.names,
    "saltenv_blacklist": read.names,
}
_FILE_OPTIONS = {**_FILES_ALWAYS, **_ONE_REMOTE}
_PILLAR_GLOBALS = {**_SHARED, "env": read.text, "branch": read.text}
_PILLAR_OPTIONS = {**_SHARED, **_ONE_REMOTE, "env": read.text, "mountpoint": read.folder}

_WITHOUT_EFFECT = frozenset(("provider", "global_lock", "depth", "verify_config", "lock_timeout"))
"""Options of Salt's about how it talks to git and locks its checkout. There is no checkout here, and no option that
could change which files are seen is among them."""

_PILLAR_WITHOUT_EFFECT = frozenset(("ref_types", "disable_saltenv_mapping"))
"""Options that Salt takes for git_pillar and makes nothing of: `__env__` is any branch or tag there."""


def file_remotes(config: Mapping[str, Any]) -> tuple[RemoteSettings, ...]:
    """The remotes of `gitfs_remotes`, in order, with the `gitfs_*` options as their defaults."""
    defaults = _globals(config, "gitfs_", _FILES_ALWAYS)
    everywhere = _per_saltenv(defaults.pop("saltenv", {}), "gitfs_saltenv")
    remotes = []
    for where, url, options in _items(config.get("gitfs_remotes"), "gitfs_remotes"):
        own = _options(options, where, _FILE_OPTIONS)
        mapped = _per_saltenv(own.pop("saltenv", {}), f"{where}: saltenv")
        merged = {**defaults, **own, "saltenvs": _overlaid(everywhere, mapped)}
        remotes.append(_remote(parse_url(url, where), where, merged))
    _unique(remotes, "gitfs_remotes")
    return tuple(remotes)


def pillar_remotes(config: Mapping[str, Any]) -> tuple[RemoteSettings, ...]:
    """The remotes of the `git` entries of `ext_pillar`, in order, with the `git_pillar_*` options as defaults."""
    rest = {key: value for key, value in config.items() if key != "git_pillar_includes"}
    defaults = _globals(rest, "git_pillar_", _PILLAR_GLOBALS)
    remotes = []
    for number, entry in enumerate(_sequence(config.get("ext_pillar"), "ext_pillar")):
        if not isinstance(entry, Mapping) or "git" not in entry:
            continue  # another external pillar; not ours to judge
        for where, text, options in _items(entry["git"], f"ext_pillar[{number}].git"):
            merged = {**defaults, **_options(options, where, _PILLAR_OPTIONS)}
            remotes.append(_pillar_remote(text, where, _without(merged, _PILLAR_WITHOUT_EFFECT)))
    _unique(remotes, "ext_pillar")
    return tuple(remotes)


def pillar_includes(config: Mapping[str, Any]) -> bool:
    """`git_pillar_includes`: whether a pillar remote sees the files of the others."""
    value = config.get("git_pillar_includes", True)
    if not isinstance(value, bool):
        raise BadRemoteSettings(f"git_pillar_includes must be true or false, not {value!r}")
    return value


def backends(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Where files come from, in the order of `fileserver_backend`: `roots`, `git`. Both where it is not set."""
    if "fileserver_backend" not in config:
        return (ROOTS, GIT)
    names = _parsed("fileserver_backend", read.names, config["fileserver_backend"])
    known = {"roots": ROOTS, "git": GIT, "gitfs": GIT}
    if unknown := [name for name in names if name not in known]:
        raise BadRemoteSettings(f"fileserver_backend: there is no backend {unknown[0]!r} here, only gitfs and roots")
    return tuple(dict.fromkeys(known[name] for name in names))


def ignored_files(config: Mapping[str, Any]) -> IgnoredFiles:
    """`file_ignore_glob` and `file_ignore_regex`: one text or a list."""
    found = {}
    for option in ("file_ignore_glob", "file_ignore_regex"):
        value = config.get(option) or ()
        found[option] = (value,) if isinstance(value, str) else _parsed(option, read.names, value)
    for regex in found["file_ignore_regex"]:
        try:
            re.compile(regex)
        except re.error as error:
            raise BadRemoteSettings(f"file_ignore_regex: {regex!r} is no regular expression: {error}") from None
    return IgnoredFiles(globs=found["file_ignore_glob"], regexes=found["file_ignore_regex"])


def _pillar_remote(text: str, where: str, options: dict[str, Any]) -> RemoteSettings:
    words = text.split(None, 1)
    if len(words) not in (1, 2):
        raise BadRemoteSettings(f"{where}: write `BRANCH URL` (or `__env__ URL`), not {redact(text)!r}")
    default = options.pop("branch", "")
    branch, url = words if len(words) == 2 else (default, words[0])
    address = parse_url(url.strip(), where)
    saltenv = options.pop("env", None) or None
    if branch == "__env__":
        if saltenv:
            raise BadRemoteSettings(f"{where}: `env` has no meaning with `__env__`, which gives each branch its own")
        return _remote(address, where, options)
    if "all_saltenvs" in options:
        raise BadRemoteSettings(f"{where}: `all_saltenvs` has a meaning with `__env__` only")
    if not branch:
        return _remote(address, where, {**options, "only_base": True, "saltenv": saltenv})
    check_ref(branch, where)
    return _remote(address, where, {**options, "branch": branch, "saltenv": saltenv})


def _remote(address: RemoteUrl, where: str, options: dict[str, Any]) -> RemoteSettings:
    if address.scheme != "ssh":
        if address.user:
            options = {**options, "user": address.user}
        if address.password:
            options = {**options, "password": address.password}
    elif address.password:
        raise BadRemoteSettings(f"{where}: ssh takes no password from a URL; use `privkey`, or an agent")
    name = options.pop("name", "") or canonical(address.url)
    policy = LivePolicy(**{key: options.pop(key) for key in _POLICY if key in options})
    if policy.signed_by and not (policy.allowed_signers or policy.gpg_keyring):
        raise BadRemoteSettings(f"{where}: `signed_by` needs keys: set `allowed_signers` (SSH) or `gpg_keyring` (GPG)")
    try:
        return RemoteSettings(name=name, url=address.url, policy=policy, **options)
    except BadRemoteSettings as error:
        raise BadRemoteSettings(f"{where}: {error}") from None


def _per_saltenv(value: Mapping[str, Any], where: str) -> tuple[PerSaltenv, ...]:
    known = {each.name: read.text if each.name == "ref" else read.folder for each in fields(PerSaltenv)[1:]}
    found = []
    for saltenv, options in value.items():
        place = f"{where}: {saltenv}"
        own = _options(_merged(options, place), place, known)
        if own.get("ref"):
            check_ref(own["ref"], f"{place}: ref")
        found.append(PerSaltenv(saltenv=str(saltenv), **own))
    return tuple(found)


def _overlaid(everywhere: Sequence[PerSaltenv], own: Sequence[PerSaltenv]) -> tuple[PerSaltenv, ...]:
    """Option by option, as Salt does it: what the remote does not say is taken from `gitfs_saltenv`."""
    mapped = {each.saltenv: each for each in everywhere}
    for each in own:
        under = mapped.get(each.saltenv, each)
        mapped[each.saltenv] = PerSaltenv(
            saltenv=each.saltenv,
            ref=under.ref if each.ref is None else each.ref,
            root=under.root if each.root is None else each.root,
            mountpoint=under.mountpoint if each.mountpoint is None else each.mountpoint,
        )
    return tuple(mapped.values())


def _globals(config: Mapping[str, Any], prefix: str, options: Mapping[str, read.ValueReader]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in config.items():
        option = str(key).removeprefix(prefix)
        if not str(key).startswith(prefix) or key == "gitfs_remotes" or option in _WITHOUT_EFFECT:
            continue
        if option not in options:
            raise BadRemoteSettings(_unknown(key, [prefix + name for name in options], option))
        found[option] = _parsed(key, options[option], value)
    return found


def _options(pairs: Mapping[str, Any], where: str, options: Mapping[str, read.ValueReader]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs.items():
        if key in _WITHOUT_EFFECT:
            continue
        if key not in options:
            raise BadRemoteSettings(f"{where}: {_unknown(str(key), list(options), str(key))}")
        found[key] = _parsed(f"{where}: {key}", options[key], value)
    return found


def _without(options: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in names}


def _parsed(where: str, parse: read.ValueReader, value: Any) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        raise BadRemoteSettings(f"{where} must be {error}, not a {type(value).__name__}") from None


def _unknown(key: str, known: Sequence[str], option: str) -> str:
    if option in _ONE_REMOTE:
        return f"{key!r} is an option of one remote, as in Salt; set it below that remote's URL"
    meant = near(key, known)
    hint = f"; did you mean {meant[0]!r}?" if meant else f"; known are {', '.join(sorted(known))}"
    return f"there is no option {key!r}{hint}"


def _items(value: Any, where: str) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    """(place, text, options) of each entry of a list of `text` or `{text: [{option: value}, ...]}`."""
    for number, entry in enumerate(_sequence(value, where)):
        place = f"{where}[{number}]"
        if isinstance(entry, str):
            yield place, entry, {}
        elif isinstance(entry, Mapping) and len(entry) == 1:
            text, options = next(iter(entry.items()))
            if options is None:
                raise BadRemoteSettings(f"{place}: nothing stands below {redact(str(text))}; remove the colon after it")
            yield place, str(text), _merged(options, f"{place} ({redact(str(text))})")
        else:
            raise BadRemoteSettings(f"{place}: write a URL, or one URL with its options below it")


def _merged(options: Any, where: str) -> dict[str, Any]:
    """Salt's list of one-key mappings (or one mapping) as one mapping."""
    try:
        return read.merged(options)
    except ValueError as error:
        raise BadRemoteSettings(f"{where}: {error}") from None


def _sequence(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value
    raise BadRemoteSettings(f"{where} must be a list, not a {type(value).__name__}")


def _unique(remotes: Sequence[RemoteSettings], where: str) -> None:
    """One name, one URL: people, hooks and metrics know a remote by its name alone."""
    urls: dict[str, str] = {}
    for remote in remotes:
        if urls.setdefault(remote.name, remote.url) != remote.url:
            raise BadRemoteSettings(f"{where}: two remotes are named {remote.name!r}; give one of them another `name`")
