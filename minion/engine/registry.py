"""Which state modules there are, and how their functions are found.

Called by the engine. A module is imported when a chunk first needs it, since imports are the latency of a push.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from minion.arguments import ArgumentSpec, spec_of
from minion.engine.unsupported import UNSUPPORTED
from minion.machine.plan import Plan, Reader, StateFunction, Value
from options.near_names import near

_LOCATIONS = {
    "acl": "security.acl",
    "apache": "apache.configfile",
    "apache_conf": "apache.conf",
    "apache_module": "apache.module",
    "apache_site": "apache.site",
    "at": "system.at",
    "augeas": "documents.augeas",
    "beacon": "agent.beacon",
    "blockdev": "storage.blockdev",
    "bower": "javascript.bower",
    "cabal": "haskell.cabal",
    "cloud": "cloud.machine",
    "cmd": "cmd.state",
    "composer": "php.composer",
    "disk": "storage.disk",
    "docker_container": "docker.container",
    "docker_image": "docker.image",
    "docker_network": "docker.network",
    "docker_volume": "docker.volume",
    "acme": "keys.acme",
    "gpg": "keys.gpg",
    "file": "file.state",
    "elasticsearch": "stores.elasticsearch",
    "firewalld": "firewall.firewalld",
    "flatpak": "software.flatpak",
    "gem": "ruby.gem",
    "git": "git.state",
    "influxdb_continuous_query": "influxdb.continuous_query",
    "influxdb_database": "influxdb.database",
    "influxdb_retention_policy": "influxdb.retention_policy",
    "influxdb_user": "influxdb.user",
    "ipset": "firewall.ipset",
    "helm": "helm.state",
    "iptables": "iptables.state",
    "kernelpkg": "system.kernelpkg",
    "keyboard": "system.keyboard",
    "monit": "servers.monit",
    "kubernetes": "kubernetes.state",
    "memcached": "stores.memcached",
    "lvm": "storage.lvm",
    "logrotate": "system.logrotate",
    "mongodb_database": "mongodb.database",
    "mongodb_user": "mongodb.user",
    "mount": "mount.state",
    "mysql_database": "mysql.database",
    "mysql_grants": "mysql.grants",
    "mysql_query": "mysql.query",
    "mysql_user": "mysql.user",
    "network": "network.state",
    "nftables": "firewall.nftables",
    "npm": "javascript.npm",
    "ntp": "system.ntp",
    "pecl": "php.pecl",
    "pip": "python.pip",
    "pkg": "pkg.state",
    "pkgrepo": "pkgrepo.state",
    "postgres_cluster": "postgres.cluster",
    "postgres_database": "postgres.database",
    "postgres_extension": "postgres.extension",
    "postgres_group": "postgres.group",
    "postgres_initdb": "postgres.initdb",
    "postgres_language": "postgres.language",
    "postgres_privileges": "postgres.privileges",
    "postgres_schema": "postgres.schema",
    "postgres_tablespace": "postgres.tablespace",
    "postgres_user": "postgres.user",
    "rabbitmq_cluster": "rabbitmq.cluster",
    "rabbitmq_plugin": "rabbitmq.plugin",
    "rabbitmq_policy": "rabbitmq.policy",
    "rabbitmq_upstream": "rabbitmq.upstream",
    "rabbitmq_user": "rabbitmq.user",
    "rabbitmq_vhost": "rabbitmq.vhost",
    "rsync": "transfer.rsync",
    "redis": "stores.redis",
    "quota": "storage.quota",
    "raid": "storage.raid",
    "schedule": "agent.schedule",
    "sqlite3": "stores.sqlite",
    "selinux": "security.selinux",
    "snap": "software.snap",
    "slack": "messages.slack",
    "smtp": "messages.smtp",
    "ssh_auth": "ssh.auth",
    "ssh_known_hosts": "ssh.known_hosts",
    "syslog_ng": "servers.syslog_ng",
    "sysrc": "system.sysrc",
    "user": "user.state",
    "vault": "vault.policy",
    "vault_secret": "vault.secret",
    "virtualenv": "python.virtualenv",
    "x509": "x509.state",
    "xml": "documents.xml",
    "zabbix_action": "zabbix.action",
    "zabbix_host": "zabbix.host",
    "zabbix_hostgroup": "zabbix.hostgroup",
    "zabbix_mediatype": "zabbix.mediatype",
    "zabbix_template": "zabbix.template",
    "zabbix_user": "zabbix.user",
    "zabbix_usergroup": "zabbix.usergroup",
    "zabbix_usermacro": "zabbix.usermacro",
    "zabbix_valuemap": "zabbix.valuemap",
}
"""Below `minion.states`, where it is not the name itself."""


def _modules() -> tuple[str, ...]:
    """Found without importing them: imports are the latency of a push."""
    files = (Path(__file__).parents[1] / "states").glob("*.py")
    flat = {file.stem for file in files} - {"__init__", "unused_arguments"}
    return tuple(sorted(flat | _LOCATIONS.keys()))


MODULES = _modules()
"""Each is `minion.states.NAME`, found by its file, or where `_LOCATIONS` says; it has `STATES`."""


class UnknownState(Exception):
    """No such state function; the text is the comment of the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A state function, and what it takes besides the machine and the name."""

    call: StateFunction
    """Takes each argument as a keyword, those of a group too."""
    spec: ArgumentSpec

    def plan(self, machine: Reader, name: str, given: Mapping[str, Value]) -> Plan:
        """Its plan for arguments of SLS. Raises BadArguments."""
        return self.call(machine, name, **self.spec.convert(given))


def find(state: str, fun: str, sls: str) -> Function:
    """The function of `state.fun`; UnknownState, in Salt's words and with near names, when there is none."""
    module = _module(state)
    functions: Mapping[str, StateFunction] = getattr(module, "STATES", {}) if module else {}
    call = functions.get(fun)
    if call is not None:
        return _function(call)
    instead = UNSUPPORTED.get(f"{state}.{fun}")
    if instead is not None:
        raise UnknownState(
            f"State '{state}.{fun}' was not found in SLS '{sls}'\nReason: '{state}.{fun}' is not supported: {instead}."
        )
    known = [f"{state}.{name}" for name in functions] or [f"{name}.{fun}" for name in MODULES] + list(MODULES)
    raise UnknownState(
        f"State '{state}.{fun}' was not found in SLS '{sls}'\n"
        f"Reason: '{state}.{fun}' is not available.{_near(f'{state}.{fun}', state, known)}"
    )


def mod_watch(state: str) -> Function | None:
    """The module's `mod_watch`, None when it has none."""
    call = getattr(_module(state), "mod_watch", None)
    return None if call is None else _function(call)


def names() -> list[str]:
    """Full names of all state functions, sorted."""
    return sorted(f"{state}.{fun}" for state in MODULES for fun in getattr(_module(state), "STATES", {}))


@functools.cache
def _module(state: str) -> ModuleType | None:
    """Kept: the import system takes longer to find a module again than most states to plan."""
    return importlib.import_module(f"minion.states.{_LOCATIONS.get(state, state)}") if state in MODULES else None


@functools.cache
def _function(call: StateFunction) -> Function:
    spec = spec_of(call, 2)
    return Function(call=spec.ungrouped(call), spec=spec)


def _near(full: str, state: str, known: list[str]) -> str:
    if state in MODULES:  # the part that all have in common says nothing
        bare = [name.partition(".")[2] for name in known]
        if meant := near(full.partition(".")[2], bare):
            return f" Did you mean {state}.{meant[0]}?"
        return f" {state} has: {', '.join(sorted(bare))}."
    if meant := near(full, known, most=2, cutoff=0.7) or near(state, known):
        return f" Did you mean {' or '.join(meant)}?"
    return f" There are: {', '.join(MODULES)}."
