"""Salt's `gitfs_remotes` and git `ext_pillar`, parsed once into frozen settings.

Called by the readers of configurations. Option names and defaults are Salt's
(https://docs.saltproject.io/en/latest/topics/tutorials/gitfs.html). What is not understood is an error that says where
it stands: a setting that is silently dropped could let the wrong tree go live.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gitfs.config.kinds import Switch, Text, TextList, TreeFolder
from gitfs.config.live_policy import LivePolicy, SignedBy
from gitfs.config.option_reader import GivenOption, OptionReader, path_text
from gitfs.config.settings import GIT, ROOTS, IgnoredFiles, PerSaltenv, RemoteSettings, check_ref
from gitfs.config.urls import RemoteUrl, canonical, parse_url, redact
from gitfs.errors import BadRemoteSettings, OptionPath
from matching.linear_regex import PatternRefused
from matching.matcher import prepared_search
from options.convert import kinds_of
from options.near_names import near

GivenOptions: TypeAlias = dict[str, GivenOption]
"""Option -> its value, converted, and where it was set."""

_POLICY = {**kinds_of(LivePolicy), "signed_by": Any}
"""Option -> type. `signed_by` and `saltenv` hold options of their own, which are converted one by one (`_options`)."""
_FIELDS = {**kinds_of(RemoteSettings), **_POLICY}
_NO_OPTIONS = ("url", "branch", "only_base", "saltenv", "saltenvs", "policy")
"""Fields that no option sets by its own name."""
_ONE_REMOTE = {name: _FIELDS[name] for name in ("name", "all_saltenvs", "push_url")}
_OF_FILES = {name: _FIELDS[name] for name in ("mountpoint", "saltenv_whitelist", "saltenv_blacklist")}
_SHARED = {name: kind for name, kind in _FIELDS.items() if name not in (*_NO_OPTIONS, *_ONE_REMOTE, *_OF_FILES)}
_FILES_ALWAYS = {**_SHARED, **_OF_FILES, "saltenv": Any}
_FILE_OPTIONS = {**_FILES_ALWAYS, **_ONE_REMOTE}
_PILLAR_GLOBALS = {**_SHARED, "env": Text, "branch": Text}
_PILLAR_OPTIONS = {**_SHARED, **_ONE_REMOTE, "env": Text, "mountpoint": _FIELDS["mountpoint"]}
_PER_SALTENV = {"ref": Text, "root": TreeFolder, "mountpoint": TreeFolder}

_WITHOUT_EFFECT = frozenset(("provider", "global_lock", "depth", "verify_config", "lock_timeout"))
"""Options of Salt's about how it talks to git and locks its checkout. There is no checkout here, and no option that
could change which files are seen is among them."""

_PILLAR_WITHOUT_EFFECT = frozenset(("ref_types", "disable_saltenv_mapping"))
"""Options that Salt takes for git_pillar and makes nothing of: `__env__` is any branch or tag there."""


def file_remotes(config: Mapping[str, Any]) -> tuple[RemoteSettings, ...]:
    """The remotes of `gitfs_remotes`, in order, with the `gitfs_*` options as their defaults.

    BadRemoteSettings has everything that is wrong.
    """
    reader = OptionReader()
    defaults = _globals(reader, config, "gitfs_", _FILES_ALWAYS)
    everywhere = defaults.pop("saltenv", None)

    def make(text: str, path: OptionPath, own: GivenOptions) -> RemoteSettings:
        saltenvs = _overlaid(everywhere, own.pop("saltenv", None))
        return _remote(parse_url(text, path_text(path)), path, {**defaults, **own}, saltenvs=saltenvs)

    listed = GivenOption(config.get("gitfs_remotes"), ("gitfs_remotes",))
    remotes = _remotes(reader, listed, _FILE_OPTIONS, make)
    _check_names(reader, remotes, "gitfs_remotes")
    reader.finish()
    return tuple(remotes.values())


def pillar_remotes(config: Mapping[str, Any]) -> tuple[RemoteSettings, ...]:
    """The remotes of the `git` entries of `ext_pillar`, in order, with the `git_pillar_*` options as defaults.

    BadRemoteSettings has everything that is wrong.
    """
    reader = OptionReader()
    rest = {key: value for key, value in config.items() if key != "git_pillar_includes"}
    defaults = _globals(reader, rest, "git_pillar_", _PILLAR_GLOBALS)

    def make(text: str, path: OptionPath, own: GivenOptions) -> RemoteSettings:
        given = {name: each for name, each in {**defaults, **own}.items() if name not in _PILLAR_WITHOUT_EFFECT}
        return _pillar_remote(text, path, given)

    remotes: dict[OptionPath, RemoteSettings] = {}
    for entry in reader.items(GivenOption(config.get("ext_pillar"), ("ext_pillar",))):
        if isinstance(entry.value, Mapping) and "git" in entry.value:  # the others are not ours to judge
            listed = GivenOption(entry.value["git"], (*entry.path, "git"))
            remotes |= _remotes(reader, listed, _PILLAR_OPTIONS, make)
    _check_names(reader, remotes, "ext_pillar")
    reader.finish()
    return tuple(remotes.values())


def pillar_includes(config: Mapping[str, Any]) -> bool:
    """`git_pillar_includes`: whether a pillar remote sees the files of the others."""
    return bool(_single(config, "git_pillar_includes", Switch, default=True))


def backends(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Where files come from, in the order of `fileserver_backend`: `roots`, `git`. Both where it is not set."""
    option = "fileserver_backend"
    known = {"roots": ROOTS, "git": GIT, "gitfs": GIT}
    names: tuple[str, ...] = _single(config, option, TextList, default=(ROOTS, GIT))
    for number, name in enumerate(names):
        if name not in known:
            message = f"{option}: there is no backend {name!r} here, only gitfs and roots"
            raise BadRemoteSettings(message, (option, number))
    return tuple(dict.fromkeys(known[name] for name in names))


def ignored_files(config: Mapping[str, Any]) -> IgnoredFiles:
    """`file_ignore_glob` and `file_ignore_regex`: one text or a list."""
    kinds = kinds_of(IgnoredFiles)
    globs = _single(config, "file_ignore_glob", kinds["globs"], default=())
    regexes = _single(config, "file_ignore_regex", kinds["regexes"], default=())
    for number, regex in enumerate(regexes):
        try:
            prepared_search(regex)
        except re.error as error:
            message = f"file_ignore_regex: {regex!r} is no regular expression: {error}"
            raise BadRemoteSettings(message, ("file_ignore_regex", number)) from None
        except PatternRefused as error:
            raise BadRemoteSettings(f"file_ignore_regex: {error}", ("file_ignore_regex", number)) from None
    return IgnoredFiles(globs=globs, regexes=regexes)


def _single(config: Mapping[str, Any], option: str, kind: Any, *, default: Any) -> Any:
    """The value of one option; BadRemoteSettings when it is not of its type."""
    if option not in config:
        return default
    reader = OptionReader()
    found = reader.convert(GivenOption(config[option], (option,)), kind)
    reader.finish()
    return default if found is None else found.value


def _remotes(
    reader: OptionReader,
    listed: GivenOption,
    kinds: Mapping[str, Any],
    make: Callable[[str, OptionPath, GivenOptions], RemoteSettings],
) -> dict[OptionPath, RemoteSettings]:
    """Path -> the remote that `make` makes of the text and the options of an entry, where nothing is wrong with it."""
    found = {}
    for text, given in reader.entries(listed):
        before = len(reader.faults)
        own = _options(reader, given, kinds)
        if len(reader.faults) == before:
            with reader.collecting(given.path):
                found[given.path] = make(text, given.path, own)
    return found


def _pillar_remote(text: str, path: OptionPath, options: GivenOptions) -> RemoteSettings:
    where = path_text(path)
    words = text.split(None, 1)
    if not words:
        raise BadRemoteSettings(f"{where}: write `BRANCH URL` (or `__env__ URL`), not {redact(text)!r}")
    default, env = (options.pop(name, GivenOption("", path)) for name in ("branch", "env"))
    branch, url = words if len(words) == 2 else (default.value, words[0])
    address = parse_url(url.strip(), where)
    if branch == "__env__":
        if env.value:
            message = "`env` has no meaning with `__env__`, which gives each branch its own"
            raise BadRemoteSettings(f"{where}: {message}", env.path)
        return _remote(address, path, options)
    if "all_saltenvs" in options:
        message = f"{where}: `all_saltenvs` has a meaning with `__env__` only"
        raise BadRemoteSettings(message, options["all_saltenvs"].path)
    if not branch:
        return _remote(address, path, options, only_base=True, saltenv=env.value or None)
    check_ref(branch, where)
    return _remote(address, path, options, branch=branch, saltenv=env.value or None)


def _remote(address: RemoteUrl, path: OptionPath, options: GivenOptions, **fields: Any) -> RemoteSettings:
    """The remote; `fields` are those that no option sets by its own name."""
    where = path_text(path)
    given = {name: option.value for name, option in options.items()}
    if address.scheme != "ssh":
        given |= {"user": address.user} if address.user else {}
        given |= {"password": address.password} if address.password else {}
    elif address.password:
        raise BadRemoteSettings(f"{where}: ssh takes no password from a URL; use `privkey`, or an agent")
    name = given.pop("name", "") or canonical(address.url)
    policy = LivePolicy(**{key: given.pop(key) for key in _POLICY if key in given})
    if policy.signed_by and not (policy.allowed_signers or policy.gpg_keyring):
        message = "`signed_by` needs keys: set `allowed_signers` (SSH) or `gpg_keyring` (GPG)"
        raise BadRemoteSettings(f"{where}: {message}", options["signed_by"].path)
    try:
        return RemoteSettings(name=name, url=address.url, policy=policy, **given, **fields)
    except BadRemoteSettings as error:
        field, *inside = error.path or ("",)
        at = (*options[str(field)].path, *inside) if field in options else path
        raise BadRemoteSettings(f"{where}: {error}", at) from None


def _overlaid(everywhere: GivenOption | None, own: GivenOption | None) -> tuple[PerSaltenv, ...]:
    """Option by option, as Salt does it: what the remote does not say is taken from `gitfs_saltenv`."""
    mapped: dict[str, PerSaltenv] = {each.saltenv: each for each in (everywhere.value if everywhere else ())}
    for each in own.value if own else ():
        under = mapped.get(each.saltenv, each)
        mapped[each.saltenv] = PerSaltenv(
            saltenv=each.saltenv,
            ref=under.ref if each.ref is None else each.ref,
            root=under.root if each.root is None else each.root,
            mountpoint=under.mountpoint if each.mountpoint is None else each.mountpoint,
        )
    return tuple(mapped.values())


def _globals(reader: OptionReader, config: Mapping[str, Any], prefix: str, kinds: Mapping[str, Any]) -> GivenOptions:
    """The options for all remotes, without the prefix of their names."""
    found = {}
    for key, value in config.items():
        option, given = str(key).removeprefix(prefix), GivenOption(value, (str(key),))
        if not str(key).startswith(prefix) or key == "gitfs_remotes" or option in _WITHOUT_EFFECT:
            continue
        if option in kinds:
            found[option] = given
        else:
            reader.refuse(given.path, _unknown(str(key), [prefix + name for name in kinds], option))
    return _converted(reader, found, kinds)


def _options(reader: OptionReader, given: GivenOption, kinds: Mapping[str, Any]) -> GivenOptions:
    """The options in a list or mapping of them."""
    found = {}
    for key, option in reader.pairs(given):
        if key in kinds:
            found[key] = option
        elif key not in _WITHOUT_EFFECT:
            reader.refuse(option.path, f"{path_text(given.path)}: {_unknown(key, list(kinds), key)}")
    return _converted(reader, found, kinds)


def _converted(reader: OptionReader, options: GivenOptions, kinds: Mapping[str, Any]) -> GivenOptions:
    """The options as their types have them; those of which that cannot be are left out."""
    found: GivenOptions = {}
    for name, option in options.items():
        match name:
            case "saltenv":
                found[name] = GivenOption(_per_saltenv(reader, option), option.path)
            case "signed_by":
                found[name] = GivenOption(_signed_by(reader, option), option.path)
            case _:
                if (value := reader.convert(option, kinds[name])) is not None:
                    found[name] = value
    return found


def _per_saltenv(reader: OptionReader, given: GivenOption) -> tuple[PerSaltenv, ...]:
    """Saltenv -> its options."""
    found = []
    for saltenv, options in reader.pairs(given):
        own = _options(reader, options, _PER_SALTENV)
        if "ref" in own and own["ref"].value:
            with reader.collecting(own["ref"].path):
                check_ref(own["ref"].value, path_text(own["ref"].path))
        found.append(PerSaltenv(saltenv=saltenv, **{name: option.value for name, option in own.items()}))
    return tuple(found)


def _signed_by(reader: OptionReader, given: GivenOption) -> tuple[SignedBy, ...]:
    """Glob of refs -> signers, in order."""
    rules = []
    for glob, signers in reader.pairs(given, "must be a list of `- GLOB: [signer, ...]`, or `*` for every known key"):
        if (names := reader.convert(signers, TextList)) is not None:
            rules.append(SignedBy(refs=glob, signers=names.value))
    return tuple(rules)


def _unknown(key: str, known: Sequence[str], option: str) -> str:
    if option in _ONE_REMOTE:
        return f"{key!r} is an option of one remote, as in Salt; set it below that remote's URL"
    meant = near(key, (*known, "gitfs_remotes"))
    hint = f"; did you mean {meant[0]!r}?" if meant else f"; known are {', '.join(sorted(known))}"
    return f"there is no option {key!r}{hint}"


def _check_names(reader: OptionReader, remotes: Mapping[OptionPath, RemoteSettings], option: str) -> None:
    """One name, one URL: people, hooks and metrics know a remote by its name alone."""
    urls: dict[str, str] = {}
    for path, remote in remotes.items():
        if urls.setdefault(remote.name, remote.url) != remote.url:
            reader.refuse(path, f"{option}: two remotes are named {remote.name!r}; give one of them another `name`")
