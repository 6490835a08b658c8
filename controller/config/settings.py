"""The controller's configuration: `DIR/controller`, then `DIR/controller.d/*.conf` in order, with Salt's option names.

Read once by the CLI into a frozen `ControllerSettings`. Everything wrong is reported at once, each with its file and
line; an option that nobody knows is an error, because a typing error must not leave a default in force. The `gitfs_*`,
`git_pillar_*` and `ext_pillar` options are handed on unread to `gitfs`, which knows them (`check_git`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.config import option_readers as read
from controller.config.files import Entry, Fault, read_files

DEFAULT_CONFIG_DIR = Path("/etc/saltern")


class BadControllerSettings(Exception):
    """The configuration cannot be used; one line for each fault, with its file and line."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """How this controller is set up. Paths are absolute, `root_dir` already in them; times are seconds."""

    config_dir: Path = DEFAULT_CONFIG_DIR
    interface: str = "0.0.0.0"  # noqa: S104 - Salt's default: minions come from anywhere, and show their keys
    publish_port: int = 4505
    ret_port: int = 4506
    http_host: str = "127.0.0.1"
    http_port: int = 8765
    """Of the hook, the metrics and the health check; 0: none of them is served."""
    root_dir: Path = Path("/")
    pki_dir: Path = Path("/etc/saltern/pki/controller")
    cachedir: Path = Path("/var/cache/saltern/controller")
    sock_dir: Path = Path("/run/saltern")
    store_url: str = "sqlite:////var/lib/saltern/controller.sqlite"
    auto_accept: bool = False
    """Accept every key that asks for a free id. For closed test networks only."""
    hook_secret: str = field(default="", repr=False)
    """Shared with the forge; empty: the hook answers this machine alone."""
    log_level: str = "info"
    alive_interval: float = 15.0
    minion_timeout: float = 45.0
    """Without a word for so long, a minion counts as unreachable."""
    run_timeout: float = 3600.0
    compile_timeout: float = 60.0
    compile_workers: int = 1
    pillar_cache_ttl: float = 3600.0
    """Until external pillars and secrets are looked at again without a push; 0: never."""
    compile_check_rate: float = 0.001
    """Part of the compiles that is done once more without the memo, and compared."""
    compile_confinement: bool = True
    """Put walls around the processes that render templates, where the kernel can (Landlock)."""
    compile_grants: tuple[str, ...] = ()
    """What these may do beside reading the trees: `network`, `programs`, and read what lies at absolute paths."""
    preview_py_renderer: bool = False
    """Run `#!py` and `#!mako` of branches that are only previewed. They are programs, run as the controller's user."""
    keep_runs: int = 1000
    """Of each minion."""
    git: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """`gitfs_*`, `git_pillar_*`, `ext_pillar`, `file_roots`, `pillar_roots` and what says how they lie over each other,
    as written."""
    language: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `highstate.Settings` that were set."""
    ports: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """`gpg_keydir`, `vault`, `nodegroups` and where plugins lie: what `compile_ports` makes ports of."""
    sdb: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Profiles of `sdb.get`: options of any name that are mappings with a `driver`."""
    places: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Option -> `file:line` where it was set."""

    @property
    def socket(self) -> Path:
        """Where the command line finds the controller."""
        return self.sock_dir / "controller.sock"


def load_settings(config_dir: Path = DEFAULT_CONFIG_DIR) -> ControllerSettings:
    """What the files in `config_dir` say; the defaults when there are none. BadControllerSettings has all faults."""
    config_dir = config_dir.absolute()
    entries, faults = read_files(config_dir / "controller", config_dir / "controller.d")
    values: dict[str, Any] = {}
    git: dict[str, Any] = {}
    language: dict[str, Any] = {}
    ports: dict[str, Any] = {}
    sdb: dict[str, Any] = {}
    for key, entry in entries.items():
        reader = _OWN.get(key) or _GIT.get(key) or _LANGUAGE.get(key) or _PORTS.get(key)
        if reader is None and isinstance(entry.value, Mapping) and "driver" in entry.value:
            sdb[key] = entry.value
            continue
        if reader is None and not key.startswith(_GIT_PREFIXES):
            faults.append(Fault(entry.place, f"there is no option {key!r}", _near(key)))
            continue
        try:
            value = entry.value if reader is None else reader(entry.value)
        except ValueError as error:
            faults.append(Fault(entry.place, f"{key} must be {error}, not {_shown(key, entry.value)}"))
            continue
        home = values if key in _OWN else language if key in _LANGUAGE else ports if key in _PORTS else git
        home[key] = value
    language |= {key: git[key] for key in ("ext_pillar",) if key in git}
    ports |= {key: language[key] for key in ("nodegroups",) if key in language}
    if "extension_modules" in ports or "module_dirs" in ports:
        ports["configuration"] = {key: entry.value for key, entry in entries.items()}  # plugins see it all, as in Salt
    faults += _contradictions(values, entries)
    if faults:
        raise BadControllerSettings(faults)
    places = {key: entry.place for key, entry in entries.items()}
    return ControllerSettings(
        config_dir=config_dir,
        git=git,
        language=_language(language),
        ports={"gpg_keydir": str(config_dir / "gpgkeys"), **ports},
        sdb=sdb,
        places=places,
        **_located(values),
    )


def _language(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as `highstate.Settings` takes them.

    Every branch is a saltenv, as in Salt. In Salt the top files of all of them count, so that whoever may push any
    branch gives states to every minion; here that of `base` alone does, until `state_top_saltenv` says otherwise.
    """
    fields = {key: value for key, value in given.items() if key not in _RENDERERS}
    fields["state_top_saltenv"] = given.get("state_top_saltenv", "base") or None
    opts = {key: given[key] for key in _RENDERERS if key in given}
    if "ext_pillar" in fields:
        fields["ext_pillar"] = tuple(fields["ext_pillar"])
    return {**fields, "opts": opts} if opts else fields


def check_git(settings: ControllerSettings) -> None:
    """Have gitfs read its options, so that what is wrong with them is known at once. Raises BadControllerSettings."""
    from gitfs.config.remotes import backends, file_remotes, ignored_files, pillar_remotes
    from gitfs.errors import BadRemoteSettings

    faults = []
    readers: tuple[tuple[Callable[[Mapping[str, Any]], object], str], ...] = (
        (file_remotes, "gitfs_remotes"),
        (pillar_remotes, "ext_pillar"),
        (backends, "fileserver_backend"),
        (ignored_files, "file_ignore_regex"),
    )
    for parse, key in readers:
        try:
            parse(settings.git)
        except BadRemoteSettings as error:
            named = [name for name in settings.places if name in str(error)]
            place = settings.places.get(max(named, key=len, default=key), str(settings.config_dir / "controller"))
            faults.append(Fault(place, str(error)))
    if faults:
        raise BadControllerSettings(faults)


def _located(values: dict[str, Any]) -> dict[str, Any]:
    """Put `root_dir` before every path that was not given below it already."""
    defaults = ControllerSettings()
    root = values.setdefault("root_dir", defaults.root_dir)
    for name in ("pki_dir", "cachedir", "sock_dir"):
        path = values.get(name, getattr(defaults, name))
        if root != Path("/") and not path.is_relative_to(root):
            path = root / path.relative_to("/")
        values[name] = path
    values.setdefault("store_url", f"sqlite:///{root / 'var/lib/saltern/controller.sqlite'}")
    return values


def _contradictions(values: Mapping[str, Any], entries: Mapping[str, Entry]) -> list[Fault]:
    defaults = ControllerSettings()

    def value(key: str) -> Any:
        return values.get(key, getattr(defaults, key))

    def place(*keys: str) -> str:
        return next((entries[key].place for key in keys if key in entries), "")

    faults = []
    if value("publish_port") == value("ret_port"):
        faults.append(
            Fault(place("ret_port", "publish_port"), "publish_port and ret_port are the same; minions need both")
        )
    if value("minion_timeout") <= value("alive_interval"):
        text = f"minion_timeout ({value('minion_timeout'):g}) must be longer than alive_interval"
        faults.append(
            Fault(
                place("minion_timeout", "alive_interval"),
                f"{text} ({value('alive_interval'):g}), or every minion would look unreachable between two signs",
            )
        )
    return faults


def _shown(key: str, value: Any) -> str:
    return "what stands there" if "secret" in key or "password" in key or key == "vault" else repr(value)


def _near(key: str) -> str:
    known = [*_OWN, *_GIT, *_LANGUAGE, *_PORTS]
    if key in _SALT_NAMES:
        return f"Saltern calls it {_SALT_NAMES[key]}"
    close = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {close[0]}?" if close else "remove it"


_OWN: dict[str, read.OptionReader] = {
    "interface": read.address,
    "publish_port": read.port,
    "ret_port": read.port,
    "http_host": read.address,
    "http_port": read.port,
    "root_dir": read.path,
    "pki_dir": read.path,
    "cachedir": read.path,
    "sock_dir": read.path,
    "store_url": read.text,
    "auto_accept": read.flag,
    "hook_secret": read.text,
    "log_level": read.log_level,
    "alive_interval": read.seconds,
    "minion_timeout": read.seconds,
    "run_timeout": read.seconds,
    "compile_timeout": read.seconds,
    "compile_workers": read.count,
    "pillar_cache_ttl": read.seconds_or_never,
    "compile_check_rate": read.part,
    "compile_confinement": read.flag,
    "compile_grants": read.grants,
    "preview_py_renderer": read.flag,
    "keep_runs": read.count,
}
_GIT: dict[str, read.OptionReader] = {
    "gitfs_remotes": read.sequence,
    "ext_pillar": read.sequence,
    "file_roots": read.roots,
    "pillar_roots": read.roots,
}
_GIT_PREFIXES = ("gitfs_", "git_pillar_", "fileserver_backend", "file_ignore_glob", "file_ignore_regex")
_LANGUAGE: dict[str, read.OptionReader] = {
    "top_file_merging_strategy": read.one_of("merge", "same", "merge_all"),
    "default_top": read.text,
    "env_order": read.names,
    "state_top": read.text,
    "state_top_saltenv": read.optional_text,
    "saltenv": read.text,
    "pillarenv": read.text,
    "state_auto_order": read.flag,
    "disabled_requisites": read.names,
    "pillar_source_merging_strategy": read.one_of("smart", "recurse", "aggregate", "overwrite", "list", "none"),
    "pillar_merge_lists": read.flag,
    "pillar_includes_override_sls": read.flag,
    "ext_pillar_first": read.flag,
    "master_tops": read.mapping,
    "master_tops_first": read.flag,
    "pillar_opts": read.flag,
    "decrypt_pillar": read.decrypted_keys,
    "decrypt_pillar_delimiter": read.text,
    "nodegroups": read.mapping,
    "jinja_env": read.mapping,
    "jinja_sls_env": read.mapping,
    "allow_py_renderer": read.flag,
    "renderer_whitelist": read.names,
    "renderer_blacklist": read.names,
}
_PORTS: dict[str, read.OptionReader] = {
    "gpg_keydir": read.folder,
    "vault": read.vault,
    "extension_modules": read.folder,
    "module_dirs": read.folders,
}
_RENDERERS = ("allow_py_renderer", "renderer_whitelist", "renderer_blacklist")
"""Options that `highstate.Settings` takes among its `opts`."""
_SALT_NAMES = {
    "open_mode": "auto_accept",
    "worker_threads": "compile_workers",
    "timeout": "run_timeout",
    "keep_jobs": "keep_runs",
    "keep_jobs_seconds": "keep_runs",
    "log_level_logfile": "log_level",
}
"""Options of Salt's master whose meaning has another name here."""
