"""test=True of a run that has the same state twice, for each state function: the second sees what the first would do.

Cases are those of docs/states.md. Here are those that leave the machine alone; the others, and these, run in fresh
roots in tests/e2e/test_each_state_foretold.py.
"""

from __future__ import annotations

import pytest
from predictions import differences

from minion.engine.registry import names
from tools.docs.cases.case import Case
from tools.docs.state_cases import CASES, WITHOUT

HARMLESS = frozenset(("archive", "cmd", "environ", "event", "file", "git", "grains", "ini", "module", "schedule",
                      "stateconf", "test", "x509", "xml"))  # fmt: skip
"""Modules whose cases change nothing but their own folder."""

ELSEWHERE = {
    "blockdev": "tests/minion/states/storage",
    "disk": "it changes nothing",
    "lvm": "tests/minion/states/storage",
    "at": "tests/minion/states/test_at.py",
    "acme": "tests/minion/states/keys/test_acme.py",
    "bower": "tests/minion/states/javascript/test_bower.py",
    "docker_container": "tests/minion/states/docker/test_foretold.py",
    "docker_image": "tests/minion/states/docker/test_foretold.py",
    "docker_network": "tests/minion/states/docker/test_foretold.py",
    "docker_volume": "tests/minion/states/docker/test_foretold.py",
    "elasticsearch": "tests/minion/states/stores/test_elasticsearch.py",
    "mongodb_database": "tests/minion/states/mongodb",
    "mongodb_user": "tests/minion/states/mongodb",
    "flatpak": "tests/minion/states/software/test_flatpak.py",
    "firewalld": "tests/minion/states/firewall/test_firewalld.py",
    "gpg": "tests/minion/states/keys/test_gpg.py",
    "ipset": "tests/minion/states/firewall/test_ipset.py",
    "helm": "tests/minion/states/helm",
    "iptables": "tests/minion/states/test_iptables.py",
    "kernelpkg": "tests/minion/states/system/test_kernelpkg.py",
    "keyboard": "tests/minion/states/test_keyboard.py",
    "kmod": "tests/minion/states/test_system.py",
    "monit": "tests/minion/states/test_monit.py",
    "kubernetes": "tests/minion/states/kubernetes",
    "memcached": "tests/minion/states/stores/test_memcached.py",
    "mount.swap": "tests/minion/states/test_system.py",
    "mysql_database": "tests/minion/states/mysql",
    "mysql_grants": "tests/minion/states/mysql",
    "mysql_query": "tests/minion/states/mysql",
    "mysql_user": "tests/minion/states/mysql",
    "cabal": "tests/minion/states/haskell",
    "cloud": "tests/scenarios/test_cloud.py",
    "nftables": "tests/minion/states/firewall/test_nftables.py",
    "npm.cache_cleaned": "tests/minion/states/javascript/test_npm.py",
    "pkg.group_installed": "it is pkg.installed of what the group stands for",
    "pkg.uptodate": "tests/minion/providers/pkg/test_rpm.py",
    "rabbitmq_cluster": "tests/minion/states/rabbitmq",
    "rabbitmq_plugin": "tests/minion/states/rabbitmq",
    "rabbitmq_policy": "tests/minion/states/rabbitmq",
    "rabbitmq_upstream": "tests/minion/states/rabbitmq",
    "rabbitmq_user": "tests/minion/states/rabbitmq",
    "rabbitmq_vhost": "tests/minion/states/rabbitmq",
    "redis": "tests/minion/states/stores/test_redis.py",
    "selinux": "tests/minion/states/security/test_selinux.py",
    "quota": "tests/minion/states/storage",
    "raid": "tests/minion/states/storage",
    "service": "tests/minion/providers/service/test_services.py",
    "snap": "tests/minion/states/software/test_snap.py",
    "slack": "tests/minion/states/messages/test_slack.py",
    "smtp": "tests/minion/states/messages/test_smtp.py",
    "supervisord": "tests/minion/states/test_supervisord.py",
    "syslog_ng": "tests/minion/states/servers/test_syslog_ng.py",
    "sysrc": "tests/minion/states/system/test_sysrc.py",
    "zabbix_action": "tests/minion/states/zabbix",
    "zabbix_host": "tests/minion/states/zabbix",
    "zabbix_hostgroup": "tests/minion/states/zabbix",
    "zabbix_mediatype": "tests/minion/states/zabbix",
    "zabbix_template": "tests/minion/states/zabbix",
    "zabbix_user": "tests/minion/states/zabbix",
    "zabbix_usergroup": "tests/minion/states/zabbix",
    "zabbix_usermacro": "tests/minion/states/zabbix",
    "zabbix_valuemap": "tests/minion/states/zabbix",
    "vault": "tests/minion/states/vault/test_vault_states.py",
    "vault_secret": "tests/minion/states/vault/test_vault_states.py",
}
"""Functions without a case, or their module -> where their predictions are compared, or why nowhere."""


def test_each_state_function_has_a_case_or_a_reason() -> None:
    without = set(names()) - {case.fun for case in CASES}
    assert without == set(WITHOUT)
    assert [fun for fun in without if not {fun, fun.partition(".")[0]} & set(ELSEWHERE)] == []


def harmless(case: Case) -> bool:
    return case.fun.partition(".")[0] in HARMLESS and not case.needs and "{url}" not in str(case.arguments)


@pytest.mark.parametrize("case", [case for case in CASES if harmless(case)], ids=lambda case: case.fun)
def test_a_second_time_nothing_is_foretold(case: Case) -> None:
    assert differences(case) == []
