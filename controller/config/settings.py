"""The controller's configuration: `DIR/controller`, then `DIR/controller.d/*.conf` in order, with Salt's option names.

Read once by the CLI into a frozen `ControllerSettings`. Everything wrong is reported at once, each with its file and
line; an option that nobody knows is an error, because a typing error must not leave a default in force. The `gitfs_*`,
`git_pillar_*` and `ext_pillar` options are handed on unread to `gitfs`, which knows them (see `check_git`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.config.access import OPTIONS as ACCESS_OPTIONS
from controller.config.access import AccessSettings, read_access
from controller.config.api import ApiSettings, read_api
from controller.config.authority import SigningPolicies
from controller.config.compile_executor import LOCAL, CompileExecutor, ExecutorOptions
from controller.config.engines import EngineSettings, read_engines
from controller.config.files import read_files
from controller.config.forges import read_forges
from controller.config.libraries import lacking_vault
from controller.config.limits import BorderLimits, read_limits
from controller.config.notifications import ReceiverSettings, read_receivers
from controller.config.places import DEFAULT_CONFIG_DIR, DEFAULT_SOCK_DIR, below, socket_in
from controller.config.returners import OPTIONS as RETURNER_OPTIONS
from controller.config.returners import ReturnerSettings, is_returner_option, read_returners
from controller.config.sections import (
    GIT_LISTS,
    GIT_PREFIXES,
    PortOptions,
    RendererOptions,
    SdbProfile,
    TreeOptions,
    is_profile,
)
from controller.config.ssh import SshSettings
from controller.config.values import (
    AutosignMinutes,
    ControllerLogLevel,
    ControllerPath,
    Grants,
    HttpAddress,
    OptionalControllerPath,
    OtlpEndpoint,
    PerMinion,
    PublicUrl,
    RangeAddress,
    RolloutCommands,
)
from controller.forges.settings import ForgeSettings
from highstate.compile_options import CompileOptions
from minion.config.names import LogFormat
from minion.config.salt_options import asks_for_nothing, said_of, salt_option
from options.convert import convert_options, kinds_of
from options.document import Fault, Option, UnreadableDocument, parse_value, read_config_text
from options.kinds import (
    Count,
    Flag,
    Fraction,
    OptionalText,
    OptionText,
    PortNumber,
    Seconds,
    SecondsOrNever,
    WholeNumber,
)
from reactors.controller_jobs import ControllerJobs, read_controller_jobs
from reactors.rules.native_rule import NativeRules, read_rules
from reactors.rules.reactor_map import ReactorMap, read_reactor_map


class BadControllerSettings(Exception):
    """The configuration cannot be used; one line for each fault, with its file and line."""

    def __init__(self, faults: list[Fault], rest: ControllerSettings | None = None) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)
        self.rest = rest
        """What else the files say, with defaults in place of what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """How this controller is set up. Paths are absolute, `root_dir` already in them; times are seconds."""

    config_dir: Path = DEFAULT_CONFIG_DIR
    interface: HttpAddress = "0.0.0.0"  # noqa: S104 - Salt's default: minions come from anywhere, and show their keys
    publish_port: PortNumber = 4505
    ret_port: PortNumber = 4506
    cluster_address: OptionText = ""
    """Where other controllers of the same database reach this one; empty: `interface`, or the name of the machine."""
    cluster_pool_port: PortNumber = 4520
    """Of the controller that leads, for those that wait (Salt's name). Without a shared database nothing listens."""
    http_host: HttpAddress = "127.0.0.1"
    http_port: PortNumber = 8765
    """Of the hook, the metrics, the health check and reports of previews; 0: none of them is served."""
    public_url: PublicUrl = ""
    """Where people reach that port, in links to reports; empty: there are no links."""
    root_dir: ControllerPath = Path("/")
    pki_dir: ControllerPath = Path("/etc/saltern/pki/controller")
    cachedir: ControllerPath = Path("/var/cache/saltern/controller")
    sock_dir: ControllerPath = DEFAULT_SOCK_DIR
    store_url: OptionText = "sqlite:////var/lib/saltern/controller.sqlite"
    auto_accept: Flag = False
    """Accept every key that asks for a free id. For closed test networks only."""
    autosign_file: OptionalControllerPath = None
    """Ids, globs and regular expressions of ids whose keys are accepted."""
    autoreject_file: OptionalControllerPath = None
    """The same of those whose keys are rejected; it comes before all that accepts."""
    autosign_grains_dir: OptionalControllerPath = None
    """A file for each grain, whose lines are the values by which a key is accepted."""
    autosign_timeout: AutosignMinutes = 120.0
    """Minutes that a file in `minions_autosign` in `pki_dir` accepts the id of its name; 0: for ever."""
    permissive_pki_access: Flag = False
    """Whether these files count when their group may write them."""
    presence_events: Flag = False
    """Publish `salt/presence/change` and, once a minute, `salt/presence/present`."""
    fileserver_events: Flag = False
    """Publish `salt/fileserver/gitfs/update` when a fetch has brought something."""
    file_recv: Flag = False
    """Keep files that minions send (`cp.push`), in `minions/ID/files` of `cachedir`."""
    file_recv_max_size: Count = 100
    """MiB of one of them."""
    hook_secret: OptionText = field(default="", repr=False)
    """Shared with the forge; empty: the hook answers this machine alone."""
    events_token: OptionText = field(default="", repr=False)
    """Who sends it may read the events at `http_port`; empty: nobody."""
    otlp_endpoint: OtlpEndpoint = ""
    """Address of a collector of OpenTelemetry that gets traces of pushes; empty: nobody gets them."""
    metrics_per_minion: PerMinion = "auto"
    """Whether single minions have series: `true`, `false`, or `auto`: up to `MOST_SINGLE_SERIES` minions."""
    log_level: ControllerLogLevel = "info"
    log_format: LogFormat = "logfmt"
    alive_interval: Seconds = 15.0
    alive_rate: Count = 200
    """Signs of life of all minions in a second, from which on they give them less often."""
    minion_timeout: Seconds = 45.0
    """Without a word for so long, a minion counts as unreachable."""
    run_timeout: Seconds = 3600.0
    compile_timeout: Seconds = 60.0
    compile_workers: WholeNumber = 0
    """Processes of this machine; 0: one for each processor that the controller may use, four at most."""
    compile_executor: CompileExecutor = LOCAL
    """`local`, or the Dask scheduler whose workers compile: `dask://HOST:PORT` or `tls://HOST:PORT`."""
    compile_executor_tls_ca: OptionalControllerPath = None
    """Who has signed the certificates of the cluster."""
    compile_executor_tls_cert: OptionalControllerPath = None
    """The controller's certificate there."""
    compile_executor_tls_key: OptionalControllerPath = None
    """And its key."""
    pillar_cache_ttl: SecondsOrNever = 3600.0
    """Until external pillars and secrets are looked at again without a push; 0: never."""
    compile_check_rate: Fraction = 0.001
    """Part of the compiles that is done once more without the memo, and compared."""
    compile_audit_interval: SecondsOrNever = 60.0
    """Between two checks of a minion that pushes left out, on the average; 0: none."""
    compile_confinement: Flag = True
    """Sandbox the processes that render templates, where the kernel can (Landlock)."""
    compile_grants: Grants = ()
    """What these may do beside reading the trees: `network`, `programs`, and read what lies at absolute paths."""
    preview_py_renderer: Flag = False
    """Run `#!py` and `#!mako` of branches that are only previewed. They are programs, run as the controller's user."""
    range_server: RangeAddress = ""
    """Which says whom the ranges of targets mean; empty: there is none."""
    prometheus_url: OptionText = ""
    """The server that gates of rollouts ask; empty: there is none."""
    rollout_commands: RolloutCommands = field(default_factory=dict)
    """Name -> program with its arguments, for gates of rollouts."""
    x509_signing_policies: SigningPolicies = field(default_factory=dict, repr=False)
    """By which the controller signs certificates of minions."""
    x509_ca_server: OptionText = "controller"
    """The id by which minions name the controller as their `ca_server`."""
    keep_runs: Count = 1000
    """Of each minion."""
    resume_orchestrations: Flag = True
    """Go on, after a restart, with orchestrations that had not ended; else they are closed as failed."""
    trees: TreeOptions = field(default_factory=TreeOptions)
    language: CompileOptions = field(default_factory=lambda: CompileOptions(state_top_saltenv="base"))
    ports: PortOptions = field(default_factory=PortOptions, repr=False)
    sdb: Mapping[str, SdbProfile] = field(default_factory=dict, repr=False)
    limits: BorderLimits = field(default_factory=BorderLimits)
    """What comes from outside may cost so much."""
    forges: tuple[ForgeSettings, ...] = ()
    """Whose pull requests are previewed."""
    reactor: ReactorMap = field(default_factory=ReactorMap)
    """Which SLS answer events of which tags."""
    rules: NativeRules = field(default_factory=NativeRules)
    schedule: ControllerJobs = field(default_factory=ControllerJobs)
    engines: tuple[EngineSettings, ...] = ()
    """Programs of the administrator that go on beside it."""
    access: AccessSettings = field(default_factory=AccessSettings)
    """Who may have what done, beside root and the user of the controller."""
    api: ApiSettings = field(default_factory=ApiSettings)
    """Where the API is reached over the network."""
    returners: ReturnerSettings = field(default_factory=ReturnerSettings)
    """Where events and jobs are kept outside."""
    receivers: tuple[ReceiverSettings, ...] = ()
    """Of notifications."""
    ssh: SshSettings = field(default_factory=SshSettings, repr=False)
    """How machines without an agent of their own are reached."""
    places: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Option -> `file:line` where it was set."""
    given: Mapping[str, Option] = field(default_factory=dict, repr=False, compare=False)
    """The options as they stand in the files."""
    notes: tuple[str, ...] = field(default=(), repr=False)
    """A line for each option of Salt's that is accepted and means nothing."""

    @property
    def executor(self) -> ExecutorOptions:
        """Where compiles are done."""
        return ExecutorOptions(
            address=self.compile_executor,
            tls_ca=self.compile_executor_tls_ca,
            tls_cert=self.compile_executor_tls_cert,
            tls_key=self.compile_executor_tls_key,
        )

    @property
    def socket(self) -> Path:
        """Where the command line finds the controller."""
        return socket_in(self.sock_dir)


def load_settings(config_dir: Path = DEFAULT_CONFIG_DIR) -> ControllerSettings:
    """What the files in `config_dir` say; the defaults when there are none. BadControllerSettings has all faults."""
    config_dir = config_dir.absolute()
    options, faults = read_files(config_dir / "controller", config_dir / "controller.d")
    faults += [fault for name, option in options.items() if (fault := _unknown(name, option)) is not None]
    return _settings(options, faults, config_dir)


def settings_of_options(options: Mapping[str, Option], config_dir: Path) -> ControllerSettings:
    """What options say that were read before. Raises BadControllerSettings."""
    return _settings(options, [], config_dir)


def load_file(path: Path) -> ControllerSettings:
    """What one file says, which may be that of a Salt master: options that are not known here are passed over.

    Raises BadControllerSettings.
    """
    options, faults = read_files(path, path.with_name(path.name + ".d") / "none")
    if not path.exists():
        faults.append(Fault(str(path), "there is no such file"))
    known = {name: option for name, option in options.items() if name != "engines" and _unknown(name, option) is None}
    return _settings(known, faults, path.absolute().parent)


def _settings(options: Mapping[str, Option], faults: list[Fault], config_dir: Path) -> ControllerSettings:
    own = convert_options(options, OWN, faults)
    forges = read_forges(options.get("forges"), faults)
    settings = ControllerSettings(
        config_dir=config_dir,
        trees=_trees(options, faults),
        language=_language(options, faults),
        ports=_ports(options, faults, config_dir),
        sdb={
            name: SdbProfile.parse(option.value)
            for name, option in options.items()
            if not _is_known(name) and is_profile(option.value)
        },
        limits=read_limits(options.get("limits"), faults),
        forges=forges,
        receivers=read_receivers(options.get("notifications"), [each.name for each in forges], faults),
        reactor=_reactor(options.get("reactor"), faults),
        rules=read_rules(options.get("rules"), faults),
        returners=read_returners(options, faults),
        schedule=read_controller_jobs(options.get("schedule"), faults),
        engines=read_engines(options.get("engines"), faults),
        access=read_access(options, faults),
        api=read_api(options.get("api"), faults),
        ssh=SshSettings(**convert_options(options, SSH, faults)),
        places={name: option.place for name, option in options.items()},
        given=options,
        notes=_notes(options),
        **_located(dict(own)),
    )
    faults += _contradictions(settings)
    if faults:
        raise BadControllerSettings(sorted(faults, key=position_in(options)), settings)
    return settings


def _language(options: Mapping[str, Option], faults: list[Fault]) -> CompileOptions:
    """The options that shape a compile.

    Every branch is a saltenv, as in Salt. In Salt the top files of all of them count, so that whoever may push any
    branch gives states to every minion; here that of `base` alone does, until `state_top_saltenv` says otherwise.
    """
    given = convert_options(options, LANGUAGE, faults)
    given["state_top_saltenv"] = given.get("state_top_saltenv", "base") or None
    given |= convert_options(options, {"ext_pillar": GIT_LISTS["ext_pillar"]}, [])  # faults are reported with the trees
    return CompileOptions(**given, opts=convert_options(options, RENDERERS, faults))


def _reactor(option: Option | None, faults: list[Fault]) -> ReactorMap:
    """The option `reactor`, or what the file holds that it names."""
    if option is not None and isinstance(option.value, str):
        try:
            text = read_config_text(Path(option.value), f"{option.place}: reactor")
            option = parse_value(text, option.value, option.place)
        except UnreadableDocument as error:
            faults.append(error.fault)
            return ReactorMap()
    return read_reactor_map(option, faults)


def _trees(options: Mapping[str, Option], faults: list[Fault]) -> TreeOptions:
    remotes = {name: option for name, option in options.items() if name.startswith(GIT_PREFIXES) or name in GIT_LISTS}
    convert_options(remotes, GIT_LISTS, faults)
    roots = convert_options(options, ROOTS, faults)
    return TreeOptions(remotes={name: option.value for name, option in remotes.items()}, positions=remotes, **roots)


def _ports(options: Mapping[str, Option], faults: list[Fault], config_dir: Path) -> PortOptions:
    given = {"gpg_keydir": str(config_dir / "gpgkeys"), **convert_options(options, PORTS, faults)}
    given |= convert_options(
        options, {"nodegroups": LANGUAGE["nodegroups"]}, []
    )  # faults are reported with the language
    if {"extension_modules", "module_dirs", "engines_dirs"} & given.keys():
        given["configuration"] = {
            name: option.value for name, option in options.items()
        }  # plugins see it all, as in Salt
    return PortOptions(**given)


def port_options(opts: Mapping[str, Any]) -> PortOptions:
    """The same of options that are in no file (of an offline compile). ValueError with all that is wrong."""
    faults: list[Fault] = []
    options = {name: Option(value, "") for name, value in opts.items() if value}
    given = convert_options(options, {**PORTS, "nodegroups": LANGUAGE["nodegroups"]}, faults)
    faults += lacking_vault(given.get("vault"), "")
    if faults:
        raise ValueError("; ".join(str(fault) for fault in faults))
    return PortOptions(**given, configuration=opts)


def _is_known(name: str) -> bool:
    return name in KNOWN or name.startswith(GIT_PREFIXES) or is_returner_option(name)


def _unknown(name: str, option: Option) -> Fault | None:
    if _is_known(name) or is_profile(option.value):
        return None
    if name in POLICY:
        hint = "it is policy: write it into saltern.yaml"
    elif (known_of_salt := salt_option(name)) is not None:
        if not known_of_salt.lacking or asks_for_nothing(name, option.value):
            return None
        return Fault(option.place, f"{name}: {said_of(name, KNOWN)}", "remove it")
    else:
        hint = said_of(name, KNOWN) or "remove it"
    return Fault(option.place, f"there is no option {name!r}", hint)


def _notes(options: Mapping[str, Option]) -> tuple[str, ...]:
    """A line for each option of Salt's that is accepted and means nothing."""
    return tuple(
        f"{option.place}: {name}: {said_of(name, KNOWN)}"
        for name, option in options.items()
        if not _is_known(name)
        and (known_of_salt := salt_option(name)) is not None
        and not known_of_salt.lacking
        and not is_profile(option.value)
    )


def position_in(options: Mapping[str, Option]) -> Callable[[Fault], tuple[int, int]]:
    """Faults in the order of the files, as they were read."""
    files = list(dict.fromkeys(option.place.rpartition(":")[0] for option in options.values()))

    def position(fault: Fault) -> tuple[int, int]:
        file, _, line = fault.place.rpartition(":")
        return (files.index(file), int(line)) if file in files else (-1, 0)

    return position


def _located(values: dict[str, Any]) -> dict[str, Any]:
    """Put `root_dir` before every path that was not given below it already."""
    defaults = ControllerSettings()
    root = values.setdefault("root_dir", defaults.root_dir)
    for name in ("pki_dir", "cachedir", "sock_dir"):
        values[name] = below(root, values.get(name, getattr(defaults, name)))
    of_executor = ("compile_executor_tls_ca", "compile_executor_tls_cert", "compile_executor_tls_key")
    for name in ("autosign_file", "autoreject_file", "autosign_grains_dir", *of_executor):
        path = values.get(name)
        if path is not None:
            values[name] = below(root, path)
    values.setdefault("store_url", f"sqlite:///{root / 'var/lib/saltern/controller.sqlite'}")
    return values


def _contradictions(settings: ControllerSettings) -> list[Fault]:
    def place(*names: str) -> str:
        return next((settings.places[name] for name in names if name in settings.places), "")

    faults = []
    if settings.publish_port == settings.ret_port:
        text = "publish_port and ret_port are the same; minions need both"
        faults.append(Fault(place("ret_port", "publish_port"), text))
    if settings.cluster_pool_port in (settings.publish_port, settings.ret_port):
        faults.append(Fault(place("cluster_pool_port"), "cluster_pool_port is a port of minions; it needs its own"))
    if settings.minion_timeout <= settings.alive_interval:
        text = (
            f"minion_timeout ({settings.minion_timeout:g}) must be longer than alive_interval "
            f"({settings.alive_interval:g}), or every minion would look unreachable between two signs"
        )
        faults.append(Fault(place("minion_timeout", "alive_interval"), text))
    if settings.api.port and settings.api.port == settings.http_port:
        faults.append(Fault(place("api"), "api: the port is that of http_port; it needs its own"))
    for name, text, hint in settings.executor.faults():
        faults.append(Fault(place(name, "compile_executor"), text, hint))
    return faults


_NOT_OPTIONS = frozenset(
    (
        "config_dir",
        "trees",
        "language",
        "ports",
        "sdb",
        "limits",
        "forges",
        "reactor",
        "rules",
        "schedule",
        "engines",
        "access",
        "api",
        "places",
        "given",
        "notes",
        "opts",
        "returners",
        "receivers",
        "ssh",
        "ext_pillar",
    )
)
"""Fields that no option sets by its own name."""


def _kinds(settings: type, *, without: frozenset[str] = _NOT_OPTIONS) -> dict[str, Any]:
    return {name: kind for name, kind in kinds_of(settings).items() if name not in without}


OWN = _kinds(ControllerSettings)
"""Options of the controller itself -> their types; the next are of its groups."""
LANGUAGE = {
    **_kinds(CompileOptions, without=_NOT_OPTIONS | {"missing_source"}),  # it is policy
    "state_top_saltenv": OptionalText,
}
RENDERERS = _kinds(RendererOptions)
PORTS = _kinds(PortOptions, without=frozenset(("nodegroups", "configuration")))
SSH = _kinds(SshSettings)
ROOTS = _kinds(TreeOptions, without=frozenset(("remotes", "positions")))
KNOWN = frozenset(
    (
        "limits",
        "forges",
        "notifications",
        "reactor",
        "rules",
        "schedule",
        "engines",
        "api",
        *ACCESS_OPTIONS,
        *RETURNER_OPTIONS,
        *OWN,
        *LANGUAGE,
        *RENDERERS,
        *PORTS,
        *ROOTS,
        *SSH,
        *GIT_LISTS,
    )
)
"""All options that are known here by name; those of gitfs are known to it."""
POLICY = frozenset(
    (
        "apply",
        "push",
        "verify",
        "drift",
        "facts",
        "missing_source",
        "previews",
        "beacons",
        "events",
        "retry",
        "windows",
        "visits",
        "suspend",
        "shadow",
        "policies",
        "rollout",
        "ignore_differences",
        "prune",
        "prune_limit",
        "confirm",
    )
)  # `notifications` is in both: receivers here, routes there
"""Keys of a tree's saltern.yaml."""
