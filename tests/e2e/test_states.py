"""Each state function on this very machine: what is planned is done, once, and a test run writes nothing.

The cases are those of docs/states.md, which `tools/docs/states_table.py` writes.
"""

import json
import os
import shutil

import pytest

from tools.docs.state_cases import CASES
from tools.docs.states_table import installed, judge
from tools.oracle.machine import COMPARED, RECORDED, key_of, plain

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt"),
]


@pytest.fixture(scope="module", autouse=True)
def packages():
    with installed(sorted({one for case in CASES for one in case.needs})):
        yield


SALT = json.loads(RECORDED.read_text())
DIFFERS = {
    "acl.absent": {"run.changes"},
    "acl.list_absent": {"run.changes"},
    "acl.present": {"test.comment", "run.changes"},
    "at.absent": {"test.comment", "run.changes"},
    "at.present": {"test.result", "test.comment", "run.changes", "again.changes"},
    "blockdev.formatted": {"run.changes"},
    "composer.installed": {"run.changes", "again.comment", "again.changes"},
    "composer.update": {"run.changes", "again.comment", "again.changes"},
    "cron.file": {"test.comment", "run.changes"},
    "docker_container.run": {"run.changes", "again.changes"},
    "docker_container.running": {"run.changes"},
    "docker_image.absent": {"run.changes"},
    "docker_image.present": {"run.changes"},
    "docker_volume.absent": {"test.*", "run.*"},
    "docker_volume.present": {"run.changes"},
    "environ.setenv": {"test.result"},
    "gem.installed": {"test.result", "test.comment", "run.*", "again.*"},
    "git.config_unset": {"run.*"},
    "group.present": {"run.changes"},
    "ini.sections_present": {"run.*", "again.*"},
    "ipset.flush": {"again.changes"},
    "iptables.flush": {"again.changes"},
    "kubernetes.configmap_present": {"run.changes"},
    "kubernetes.deployment_present": {"run.changes"},
    "kubernetes.namespace_present": {"run.changes"},
    "kubernetes.pod_present": {"run.changes"},
    "kubernetes.service_present": {"run.changes"},
    "logrotate.set": {"run.*", "again.*"},
    "lvm.vg_present": {"run.changes"},
    "memcached.absent": {"test.result", "test.comment", "run.comment", "run.changes", "again.comment"},
    "memcached.managed": {"run.changes"},
    "monit.monitor": {"test.comment", "run.*", "again.*"},
    "monit.unmonitor": {"test.comment", "run.*", "again.*"},
    "mount.fstab_present": {"run.result", "run.comment"},
    "mount.mounted": {"test.comment", "run.comment", "run.changes", "again.comment", "again.changes"},
    "mysql_query.run": {"run.*", "again.*"},
    "mysql_query.run_file": {"run.*", "again.*"},
    "network.system": {"test.*", "run.*", "again.*"},
    "nftables.chain_absent": {"test.*", "run.*", "again.*"},
    "nftables.delete": {"run.*", "again.*"},
    "nftables.flush": {"test.comment", "again.changes"},
    "nftables.set_policy": {"again.comment", "again.changes"},
    "npm.bootstrap": {"test.result", "test.comment", "run.comment", "run.changes"},
    "npm.installed": {"test.result", "test.comment", "run.*", "again.*"},
    "pecl.installed": {"test.*", "run.*", "again.*"},
    "postgres_language.absent": {"run.*", "again.*"},
    "postgres_tablespace.present": {"run.comment", "run.changes"},
    "rabbitmq_user.present": {"run.changes"},
    "redis.absent": {"test.*", "run.*"},
    "redis.string": {"test.*", "run.*", "again.changes"},
    "rsync.synchronized": {"test.comment", "run.comment", "again.comment"},
    "sqlite3.row_absent": {"test.result"},
    "sqlite3.row_present": {"test.result"},
    "sqlite3.table_absent": {"test.result"},
    "sqlite3.table_present": {"test.result"},
    "ssh_auth.manage": {"run.comment"},
    "ssh_known_hosts.absent": {"run.comment"},
    "supervisord.dead": {"again.comment"},
    "supervisord.running": {"test.comment", "run.comment", "run.changes", "again.comment", "again.changes"},
    "user.present": {"test.comment", "run.changes"},
    "virtualenv.manage": {"run.changes"},
    "virtualenv.managed": {"run.changes"},
}
"""What is ours on purpose; the reasons are in docs/salt-compatibility.md. A star: Salt itself ends in an exception."""
ABSENT = ("debconf", "keyboard", "timezone")
"""Modules that Salt does not load on the system on which it was recorded, or that need systemd there."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fun)
def test_a_state_does_what_it_says_and_once(case):
    row = judge(case)
    assert row.holds, row.said
    assert not row.said
    module = case.fun.partition(".")[0]
    if module not in COMPARED or module in ABSENT:
        return
    assert key_of(case) in SALT, "not recorded: run tools/oracle/machine.py"
    assert [
        one for one in _differences(row, SALT[key_of(case)]) if not _is_known(case.fun, one.partition(":")[0])
    ] == []


def _differences(row, recorded):
    for phase, result in row.results.items():
        ours = plain({"result": result.result, "comment": result.comment, "changes": dict(result.changes)}, row.top)
        for key, value in json.loads(json.dumps(ours)).items():
            if (phase, key) != ("test", "changes") and value != recorded[phase][key]:
                yield f"{phase}.{key}: Salt {recorded[phase][key]!r}, here {value!r}"


def _is_known(fun, what):
    return bool({what, f"{what.partition('.')[0]}.*"} & DIFFERS.get(fun, set()))
