"""How the options of a minion are read: a type for each, whose annotations are its rule.

Called by `minion.config.settings` when there are options to read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from minion.config.group_rules import GROUPED, is_custom_status, read_groups
from minion.config.names import LOG_LEVELS, LogFormat, is_minion_id
from options.convert import convert_options
from options.document import Fault, Option
from options.kinds import Flag, Prepare, Wanted, number_as_text, one_as_list

MOST_CONTROLLERS = 16
"""That a minion may have."""


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, float) else number_as_text(value)


def _id(value: Any) -> Any:
    text = _text(value)
    if not isinstance(text, str) or not is_minion_id(text):
        raise ValueError
    return text


def _hosts(value: Any) -> Any:
    hosts = [_text(host) for host in (value if isinstance(value, list) else [value])]
    hosts = [host for host in hosts if host is not None]
    if not all(hosts) or len(hosts) > MOST_CONTROLLERS or len(set(map(str, hosts))) < len(hosts):
        raise ValueError
    return hosts


def _controller_keys(value: Any) -> Any:
    keys = value if isinstance(value, dict) else {"": value}
    if len(keys) > MOST_CONTROLLERS + 1 or not all(isinstance(each, str) for each in keys.values()):
        raise ValueError
    return {str(host): key for host, key in keys.items() if key}


def _master_type(value: Any) -> Any:
    if value == "func":
        raise ValueError("str, failover, distributed or disable: `func` is not built, write the list into `master`")
    return value


def _grain_names(value: Any) -> Any:
    names = [] if value is None else one_as_list(value)
    if not isinstance(names, list) or len(names) > 20 or not all(isinstance(name, str) and name for name in names):
        raise ValueError
    return names


def _port(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _path(value: Any) -> Any:
    path = Path(value).expanduser() if isinstance(value, str) else None
    if path is None or not path.is_absolute():
        raise ValueError
    return path


def _optional_path(value: Any) -> Any:
    return None if value in (None, "") else _path(value)


def _metrics_file(value: Any) -> Any:
    path = _optional_path(value)
    if path is not None and path.suffix != ".prom":
        raise ValueError
    return path


def _mapping(value: Any) -> Any:
    return {} if value is None else value


def _roots(value: Any) -> Any:
    roots = {}
    if value is not None and not isinstance(value, dict):
        raise ValueError
    for env, folders in (value or {}).items():
        listed = one_as_list(folders)
        if not isinstance(listed, list) or not all(isinstance(folder, str) and folder for folder in listed):
            raise ValueError(f"a mapping of saltenvs to lists of folders (of {env} it is none)")
        roots[str(env)] = [os.path.expanduser(folder) for folder in listed]  # noqa: PTH111
    return roots


def _level(value: Any) -> Any:
    if value not in LOG_LEVELS:
        raise ValueError
    return value


MinionText: TypeAlias = Annotated[str, Wanted("text"), Prepare(_text)]
MinionId: TypeAlias = Annotated[
    str, Wanted("a minion id (letters, digits, dots, dashes; no slashes, no spaces)"), Prepare(_id)
]
Hosts: TypeAlias = Annotated[
    tuple[str, ...],
    Wanted(f"the name of a host, or a list of at most {MOST_CONTROLLERS} different ones"),
    Prepare(_hosts),
]
ControllerKeyTexts: TypeAlias = Annotated[
    Mapping[str, str], Wanted("a key, or a mapping of hosts, as they are written, to keys"), Prepare(_controller_keys)
]
MasterType: TypeAlias = Annotated[Literal["str", "failover", "distributed", "disable"], Prepare(_master_type)]
Rounds: TypeAlias = Annotated[int, Wanted("a whole number from 1, or -1 for no limit", ge=-1)]
Looks: TypeAlias = Annotated[int | None, Wanted("a whole number that is not negative, or empty", ge=0)]
GrainNames: TypeAlias = Annotated[
    tuple[str, ...], Wanted("a list of at most 20 names of grains"), Prepare(_grain_names)
]
Port: TypeAlias = Annotated[int, Wanted("a port number from 1 to 65535", ge=1, le=65535), Prepare(_port)]
AbsolutePath: TypeAlias = Annotated[Path, Wanted("an absolute path"), Prepare(_path)]
MetricsFile: TypeAlias = Annotated[
    Path | None, Wanted("an absolute path that ends in .prom, or empty"), Prepare(_metrics_file)
]
OptionalPath: TypeAlias = Annotated[Path | None, Wanted("an absolute path, or empty"), Prepare(_optional_path)]
AnyMapping: TypeAlias = Annotated[Mapping[Any, Any], Wanted("a mapping"), Prepare(_mapping)]
Roots: TypeAlias = Annotated[
    Mapping[str, tuple[str, ...]], Wanted("a mapping of saltenvs to lists of folders"), Prepare(_roots)
]
Amount: TypeAlias = Annotated[float, Wanted("a number that is not negative", ge=0)]
LogLevel: TypeAlias = Annotated[str, Wanted("one of " + ", ".join(LOG_LEVELS)), Prepare(_level)]

RULES: Mapping[str, Any] = {
    "id": MinionId,
    "master": Hosts,
    "master_port": Port,
    "publish_port": Port,
    "controller_key": ControllerKeyTexts,
    "relay_key": ControllerKeyTexts,
    "master_type": MasterType,
    "master_alive_interval": Amount,
    "master_failback": Flag,
    "master_failback_interval": Amount,
    "master_shuffle": Flag,
    "master_tries": Rounds,
    "retry_dns": Amount,
    "retry_dns_count": Looks,
    "enrolment_token": MinionText,
    "enrolment_token_file": OptionalPath,
    "autosign_grains": GrainNames,
    "start_event_grains": GrainNames,
    "root_dir": AbsolutePath,
    "pki_dir": AbsolutePath,
    "cachedir": AbsolutePath,
    "grains": AnyMapping,
    "file_roots": Roots,
    "pillar_roots": Roots,
    "file_client": Literal["remote", "local"],
    "log_level": LogLevel,
    "log_file": OptionalPath,
    "log_level_logfile": LogLevel,
    "log_format": LogFormat,
    "grains_refresh_every": Amount,
    "grains_cache": Flag,
    "grains_cache_expiration": Amount,
    "state_output": MinionText,
    "failhard": Flag,
    "backup_mode": MinionText,
    "state_events": Flag,
    "metrics_textfile": MetricsFile,
    "stop_grace": Amount,
}
"""Fields of `MinionSettings` that options set -> their types."""

ALIASES = {"controller": "master", "random_master": "master_shuffle", "ret_port": "master_port"}
"""Other names of options."""

LANGUAGE = frozenset(
    (
        "decrypt_pillar",
        "decrypt_pillar_delimiter",
        "default_top",
        "disabled_requisites",
        "env_order",
        "ext_pillar",
        "ext_pillar_first",
        "jinja_env",
        "jinja_sls_env",
        "master_tops",
        "master_tops_first",
        "missing_source",
        "nodegroups",
        "pillar_includes_override_sls",
        "pillar_merge_lists",
        "pillar_opts",
        "pillar_source_merging_strategy",
        "pillarenv",
        "saltenv",
        "state_auto_order",
        "state_top",
        "state_top_saltenv",
        "top_file_merging_strategy",
    )
)
"""Options that shape a compile on the minion (`minion.config.language`)."""

NOT_USED = (
    "aliases.file",
    "beacons",
    "default_include",
    "environment",
    "ca.cert_base_path",
    "docker.machine",
    "docker.url",
    "docker.version",
    "hosts.file",
    "include",
    "iptables.save_filters",
    "kubernetes.api_key",
    "kubernetes.api_key_prefix",
    "kubernetes.ca_cert",
    "kubernetes.client_cert",
    "kubernetes.client_key",
    "kubernetes.clusters",
    "kubernetes.context",
    "kubernetes.exec",
    "kubernetes.host",
    "kubernetes.in_cluster",
    "kubernetes.kubeconfig",
    "kubernetes.kubeconfig-data",
    "kubernetes.no_proxy",
    "kubernetes.password",
    "kubernetes.persist_config",
    "kubernetes.proxy",
    "kubernetes.username",
    "kubernetes.verify_ssl",
    "elasticsearch",
    "influxdb.host",
    "influxdb.password",
    "influxdb.port",
    "influxdb.user",
    "mongodb.host",
    "mongodb.password",
    "mongodb.port",
    "mongodb.user",
    "mysql.charset",
    "mysql.db",
    "mysql.default_file",
    "mysql.default_group",
    "mysql.host",
    "mysql.pass",
    "mysql.port",
    "mysql.ssl",
    "mysql.unix_socket",
    "mysql.user",
    "redis.db",
    "redis.host",
    "redis.password",
    "redis.port",
    "redis.unix_socket_path",
    "redis.username",
    "redis_sentinel.host",
    "redis_sentinel.password",
    "redis_sentinel.port",
    "slack",
    "slack.api_key",
    "slack.api_url",
    "slack.hook",
    "syslog_ng.binary_path",
    "syslog_ng.config_file",
    "zabbix",
    "zabbix.password",
    "zabbix.url",
    "zabbix.user",
    "postgres.bins_dir",
    "postgres.host",
    "postgres.maintenance_db",
    "postgres.pass",
    "postgres.port",
    "postgres.timeout",
    "postgres.user",
    "saltcheck_output_details",
    "saltcheck_test_location",
    "x509_signing_policies",
)
"""Options that are known, and that are read elsewhere or not at all."""

KNOWN = frozenset((*RULES, *ALIASES, *GROUPED, *LANGUAGE, *NOT_USED))
"""All options by name."""


def is_known(option: str) -> bool:
    """Whether an option is read by somebody, so that no warning is due."""
    return option in KNOWN or is_custom_status(option)


def read_settings(options: Mapping[str, Option], faults: list[Fault]) -> dict[str, Any]:
    """The fields of `MinionSettings` that options set; what is wrong with one is appended to the faults."""
    values = convert_options(options, RULES, faults, ALIASES)
    values["options"] = read_groups(options, faults)
    if not LANGUAGE.isdisjoint(options):
        from minion.config.language import read_language  # loads the types of the language

        read_language(options, faults)
    return values
