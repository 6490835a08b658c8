"""The state functions that there are: Saltern's, which are given, and Salt's, as recorded. Called by `states`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import NamedTuple

from highstate.lint.functions import CallableNames
from highstate.lint.minions import KnownMinions
from highstate.types import Value
from options.near_names import did_you_mean

_MOVED = """
    acme alternatives apache_conf aptpkg artifactory augeas azurearm_compute azurearm_network bigip boto3_route53
    boto_asg boto_ec2 boto_elb boto_iam boto_rds boto_route53 boto_s3_bucket boto_secgroup boto_sqs boto_vpc bower
    cabal capirca composer consul cpan cyg ddns docker docker_container docker_image docker_network docker_volume
    drac elasticsearch elasticsearch_index esxi gem glance glusterfs gnomedesktop grafana grafana4_dashboard
    grafana4_datasource grafana_dashboard grafana_datasource heat helm htpasswd icinga2 incron influxdb_database
    influxdb_user infoblox_a ipmi jboss7 jenkins kapacitor keystone keystone_user kubernetes layman ldap libvirt
    linux_acl logadm lxc lxd lxd_container lxd_image lxd_profile macdefaults memcached modjk mongodb_database
    mongodb_user monit mssql_database mssql_login mssql_user mysql_database mysql_grants mysql_query mysql_user
    neutron nexus nfs_export npm openstack_config openvswitch_bridge openvswitch_port opsgenie pagerduty panos pcs
    pdbedit pecl ports powerpath pushover rbenv redis rsync rvm serverdensity_device slack smartos smtp snapper
    solrcloud splunk sqlite3 statuspage supervisord suse_sysconfig svn sysrc telemetry_alert tomcat trafficserver
    tuned ufw uwsgi vagrant vault vbox_guest victorops virt vsphere webutil wordpress xml xmpp zabbix_action
    zabbix_host zabbix_hostgroup zabbix_mediatype zabbix_template zabbix_user zabbix_usergroup zcbuildout zfs
    zk_concurrency zone zookeeper zpool
"""
MOVED = frozenset(_MOVED.split())
"""State modules that Salt had once and that live in extensions of their own now."""

_FOR_ALL = """
    name names order state fun saltenv sfun check_cmd creates failhard fire_event onlyif unless parallel prereq
    prereq_in prereq_any prereq_all require require_in require_any require_all watch watch_in watch_any watch_all
    onchanges onchanges_in onchanges_any onchanges_all onfail onfail_in onfail_any onfail_all onfail_stop listen
    listen_in use use_in aggregate reload_modules reload_grains reload_pillar retry runas runas_password umask
    timeout no_log cmd_opts_exclude prerequired
"""
FOR_ALL = frozenset(_FOR_ALL.split())
"""Arguments that every state takes: requisites, conditions and what shapes the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a state function takes besides what all take."""

    arguments: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    takes_anything: bool = False

    def takes(self, argument: str) -> bool:
        """Whether an argument means something to it."""
        return self.takes_anything or argument in self.arguments or argument in FOR_ALL or argument.startswith("__")


class BeaconFault(NamedTuple):
    """What a minion would refuse of its beacons."""

    inside: tuple[str | int, ...]
    """Keys below `beacons` that lead to it."""
    why: str


class ScheduleFault(NamedTuple):
    """What is wrong with a job of a schedule."""

    inside: tuple[str, ...]
    """Keys below `schedule` that lead to it."""
    rule: str
    why: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class KnownStates:
    """Saltern's functions, those of the tree's own `_states`, and Salt's."""

    ours: Mapping[str, Signature]
    """`pkg.installed` -> what it takes."""
    own_modules: frozenset[str] = frozenset()
    """State modules that the tree brings itself: nothing is known of what they take."""
    salts: Mapping[str, Signature] = field(default_factory=lambda: salt_states())
    steps: Mapping[str, Signature] = field(default_factory=dict)
    """Steps of orchestrations: `salt.state` -> what it takes; none: they are not looked at."""
    functions: CallableNames = field(default_factory=CallableNames)
    """What steps and reactions may call."""
    beacons: Callable[[Value], Iterable[BeaconFault]] = lambda _: ()
    """What is wrong with the `beacons` of a pillar."""
    schedules: Callable[[Value], Iterable[ScheduleFault]] = lambda _: ()
    """What is wrong with the `schedule` of a pillar."""
    minions: KnownMinions = field(default_factory=KnownMinions)
    """Whom they may reach."""

    @cached_property
    def modules(self) -> frozenset[str]:
        """Saltern's state modules."""
        return frozenset(name.partition(".")[0] for name in self.ours)

    @cached_property
    def salt_modules(self) -> frozenset[str]:
        """Salt's state modules, of today and of before."""
        return frozenset(name.partition(".")[0] for name in self.salts) | MOVED

    def near(self, state: str, function: str) -> str:
        """What may have been meant, as a hint; empty when nothing comes near."""
        if hint := did_you_mean(f"{state}.{function}", {*self.ours, *self.salts}, most=2, cutoff=0.75):
            return hint
        of_module = sorted(name.partition(".")[2] for name in self.ours if name.startswith(f"{state}."))
        return f"{state} has {', '.join(of_module)}" if of_module else ""


def salt_states() -> dict[str, Signature]:
    """Salt's state functions, from the file that tools/oracle/salt_names.py writes."""
    found: dict[str, Signature] = {}
    text = resources.files("highstate.lint").joinpath("salt_states.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        name, *arguments = line.split()
        before = found.get(name, Signature())
        found[name] = Signature(
            arguments=before.arguments | frozenset(arguments) - {"**"},
            takes_anything=before.takes_anything or "**" in arguments,
        )
    return found
