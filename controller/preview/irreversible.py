"""What a revert of a commit does not take back, by state function. Pure.

Called by `resources`. A revert gives the tree of before, and that is applied: files get their old content, packages
that were added stay. Irreversible is what is gone from the machine then, or was done to something else. Every state
function stands in one of the tables below: a test walks the list of those that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller.reconcile.plan import ChangeKind, ChunkChange
from highstate.types import Value

_GONE = "what is deleted is not brought back"
_CONFIG = "settings and data of the package are deleted"
_PACKAGE = "the package is removed; a revert does not install it again, nor bring back what removing it did"
_COMMAND = "what the command does is not known, and is not undone"
_FUNCTION = "what the function does is not known, and is not undone"
OVERWRITTEN = "a file that is there already, and that nothing manages yet, is replaced"
"""Of a new `file.managed`: only the machine knows whether there is such a file."""
_VERSION = "a revert does not go back to the older versions"
_ZABBIX = "it is deleted, with all that Zabbix has of it"
_SENT = "what is sent is not taken back"
_CLUSTER = "the databases are deleted, with all that is in them"
_ROLE = (
    "the role is deleted, with its password and its privileges; a revert does not bring back those that no state gives"
)
_NODE = "a node that joins a cluster loses what it holds, and a revert does not have it leave"
_ENTRY = "an entry that nobody else has written down is not brought back"

_ALWAYS = {
    "acl.absent": _ENTRY,
    "acl.list_absent": _ENTRY,
    "alias.absent": _ENTRY,
    "alternatives.remove": _ENTRY,
    "at.absent": "jobs are deleted, with what they would have run",
    "at.present": "a job that a state has added stays in the queue",
    "blockdev.formatted": "the file system that is there is lost",
    "bower.pruned": _PACKAGE,
    "bower.removed": _PACKAGE,
    "cabal.removed": _PACKAGE,
    "cmd.run": _COMMAND,
    "cmd.script": _COMMAND,
    "cmd.wait": _COMMAND,
    "cmd.wait_script": _COMMAND,
    "cmd.watch": _COMMAND,
    "composer.update": _VERSION,
    "cron.absent": _ENTRY,
    "cron.env_absent": _ENTRY,
    "cron.file": "entries of the crontab that are not in the file are deleted",
    "cloud.absent": "the machine is destroyed, with what is on its disks",
    "docker_container.absent": "the container is deleted, with what was written in it",
    "docker_container.run": "what a container has done is not taken back",
    "docker_container.running": "a container that is replaced is deleted, with what was written in it",
    "docker_image.absent": "the image is deleted; a revert does not bring back one that is in no registry",
    "docker_volume.absent": _GONE,
    "elasticsearch.index_absent": "the index is deleted, with its documents",
    **dict.fromkeys(
        (
            "elasticsearch.alias_absent",
            "elasticsearch.index_template_absent",
            "elasticsearch.pipeline_absent",
            "elasticsearch.script_absent",
            "elasticsearch.search_template_absent",
        ),
        _ENTRY,
    ),
    "event.fire_master": _SENT,
    "event.send": _SENT,
    "file.absent": _GONE,
    "file.not_cached": _GONE,
    "file.patch": "a revert does not take a patch back",
    "file.pruned": _GONE,
    "file.rename": "a revert does not rename it back",
    "file.tidied": _GONE,
    "flatpak.uninstalled": _PACKAGE,
    "gem.removed": _PACKAGE,
    "git.config_unset": _ENTRY,
    "grains.absent": _ENTRY,
    "group.absent": "files of the group stay without an owner, and a new group may get another id",
    "helm.release_absent": "the release is deleted, with what is in its objects",
    "host.absent": _ENTRY,
    "host.only": "other names of the address are deleted",
    "http.query": _SENT,
    "influxdb_continuous_query.absent": _ENTRY,
    "influxdb_database.absent": "the database is deleted, with all that is in it",
    "influxdb_retention_policy.absent": "the policy is deleted, with the data that are kept by it",
    "influxdb_retention_policy.present": "data that are older than a shorter duration are deleted",
    "influxdb_user.absent": _ROLE,
    "ini.options_absent": _ENTRY,
    "ini.sections_absent": _ENTRY,
    "ipset.absent": _ENTRY,
    "ipset.flush": "entries that no state gives are not brought back",
    "ipset.set_absent": "entries that no state gives are not brought back",
    "iptables.chain_absent": _ENTRY,
    "iptables.flush": "rules that nobody else has written down are not brought back",
    "kubernetes.configmap_absent": _GONE,
    "kubernetes.deployment_absent": "the deployment is deleted, and with `propagation_policy` its pods",
    "kubernetes.manifest_absent": "the objects are deleted, and what is in them or belongs to them",
    "kubernetes.namespace_absent": "the namespace is deleted, with all that is in it",
    "kubernetes.pod_absent": "the pod is deleted, with what was written in it",
    "kubernetes.secret_absent": _GONE,
    "kubernetes.service_absent": "the service is deleted, and a new one may get another address",
    "lvm.lv_absent": "the volume is deleted, with all that is in it",
    "lvm.pv_absent": "the device is no physical volume any more",
    "lvm.pv_present": "what was on the device is lost",
    "lvm.vg_absent": "the group is deleted, with all volumes in it",
    "module.run": _FUNCTION,
    "module.wait": _FUNCTION,
    "module.watch": _FUNCTION,
    "nftables.chain_absent": _ENTRY,
    "nftables.flush": "rules that nobody else has written down are not brought back",
    "nftables.table_absent": _ENTRY,
    "npm.removed": _PACKAGE,
    "pecl.removed": _PACKAGE,
    "pip.removed": _PACKAGE,
    "pkg.group_installed": "a revert does not remove the packages",
    "pkg.latest": _VERSION,
    "pkg.purged": _CONFIG,
    "pkg.removed": _PACKAGE,
    "pkg.uptodate": _VERSION,
    "kernelpkg.latest_active": "the machine is booted",
    "mongodb_database.absent": "the database is deleted, with all that is in it",
    "mongodb_user.absent": _ROLE,
    "mysql_database.absent": "the database is deleted, with all that is in it",
    "mysql_query.run": "what a statement has changed is not taken back",
    "mysql_query.run_file": "what a statement has changed is not taken back",
    "mysql_user.absent": _ROLE,
    "postgres_cluster.absent": _CLUSTER,
    "postgres_database.absent": "the database is deleted, with all that is in it",
    "postgres_extension.absent": "what is of the extension's types is deleted with it",
    "postgres_group.absent": _ROLE,
    "postgres_user.absent": _ROLE,
    "rabbitmq_cluster.join": _NODE,
    "rabbitmq_cluster.joined": _NODE,
    "rabbitmq_user.absent": _ROLE,
    "rabbitmq_vhost.absent": "the virtual host is deleted, with its queues and messages",
    "raid.absent": "the array is taken apart, and with its superblocks what is on it",
    "raid.present": "what was on devices that are no part of the array is lost",
    "rsync.synchronized": "files that are there are replaced, and with delete deleted",
    "memcached.absent": "the value of the key is deleted",
    "memcached.managed": "the value that the key had is deleted",
    "redis.absent": "the value of the key is deleted",
    "redis.slaveof": "a server that follows another one loses what it holds",
    "redis.string": "the value that the key had is deleted",
    "sqlite3.row_absent": "the row is deleted",
    "sqlite3.table_absent": "the table is deleted, with its rows",
    "selinux.fcontext_policy_absent": _ENTRY,
    "selinux.module_remove": "the module is deleted; a revert brings back one that a state installs",
    "selinux.port_policy_absent": _ENTRY,
    "slack.post_message": _SENT,
    "smtp.send_msg": _SENT,
    "zabbix_action.absent": _ZABBIX,
    "zabbix_host.absent": _ZABBIX,
    "zabbix_hostgroup.absent": _ZABBIX,
    "zabbix_mediatype.absent": _ZABBIX,
    "zabbix_template.absent": _ZABBIX,
    "zabbix_user.absent": _ZABBIX,
    "zabbix_usergroup.absent": _ZABBIX,
    "zabbix_usermacro.absent": _ZABBIX,
    "zabbix_valuemap.absent": _ZABBIX,
    "zabbix_user.admin_password_present": "the password that the user had is gone",
    "ssh_auth.manage": "keys that are not in the list are deleted",
    "vault.policy_absent": "the rules of the policy are deleted",
    "vault_secret.absent": "the secret, or its newest version, is deleted",
    "x509.certificate_managed": "a certificate that is issued again has another serial number; what was before is gone",
    "x509.private_key_managed": "a key that is replaced is gone, with what was issued for it",
    "gpg.absent": "the key is deleted, with the trust in its owner",
    "acme.cert": "a certificate that is renewed has another serial number and key; what was before is kept by certbot",
    "snap.removed": _PACKAGE,
    "user.absent": "the account is deleted; a new one may get another id, and its home may be gone",
}
"""Function -> why."""


def _given(name: str, why: str) -> Callable[[Mapping[str, Value]], str]:
    return lambda arguments: why if arguments.get(name) not in (None, False, "", [], {}) else ""


_BY_ARGUMENTS: dict[str, Callable[[Mapping[str, Value]], str]] = {
    "archive.extracted": _given("overwrite", "files that are there are replaced"),
    "docker_image.present": _given("force", "the image that had the name is replaced"),
    "docker_volume.present": _given("force", "a volume of another driver is deleted, with what is in it"),
    "file.copy": _given("force", "a file that is there is replaced"),
    "file.directory": _given("clean", "what is not managed in the folder is deleted"),
    "file.hardlink": _given("force", "a file that is there is replaced"),
    "file.recurse": _given("clean", "what is not managed in the folder is deleted"),
    "file.symlink": _given("force", "what is there is deleted"),
    "git.detached": _given("force_checkout", "local changes are lost"),
    "git.latest": lambda arguments: _git(arguments),
    "pkgrepo.absent": _given("keyid", "the key is deleted"),
    "sqlite3.row_present": _given("update", "the values that the row has are replaced"),
    "sqlite3.table_present": _given("force", "a table of another schema is deleted, with its rows"),
    "selinux.module": _given("remove", "the module is deleted; a revert brings back one that a state installs"),
    "kubernetes.manifest": _given("prune", "objects that the manifest has no more are deleted, and what is in them"),
    "lvm.lv_present": _given("force", "what is beyond the end of a volume that is made smaller is lost"),
    "virtualenv.manage": _given("clear", "the environment is deleted and made anew"),
    "virtualenv.managed": _given("clear", "the environment is deleted and made anew"),
}
"""Function -> why, by the arguments it is given; empty where a revert takes it back."""


def _git(arguments: Mapping[str, Value]) -> str:
    forced = [name for name in ("force_reset", "force_clone", "force_checkout") if arguments.get(name)]
    return f"local changes and commits are lost ({', '.join(forced)})" if forced else ""


_HARMLESS = """
blockdev.tuned disk.status quota.mode lvm.vg_present
acl.list_present acl.present ipset.present ipset.set_present
selinux.boolean selinux.fcontext_policy_applied selinux.fcontext_policy_present selinux.mode
selinux.module_install selinux.port_policy_present
apache.configfile apache_conf.disabled apache_conf.enabled apache_module.disabled apache_module.enabled
apache_site.disabled apache_site.enabled
gem.installed gem.sources_add gem.sources_remove
alias.present at.watch flatpak.add_remote flatpak.installed kernelpkg.latest_installed kernelpkg.latest_wait
keyboard.system keyboard.xorg logrotate.set ntp.managed snap.disabled snap.enabled snap.installed snap.option_managed
sysrc.absent sysrc.managed
alternatives.auto alternatives.install alternatives.set cron.env_present cron.present
zabbix_host.assign_templates zabbix_template.is_present
zabbix_action.present zabbix_hostgroup.present zabbix_mediatype.present zabbix_host.present
zabbix_user.present zabbix_usergroup.present zabbix_usermacro.present zabbix_valuemap.present
elasticsearch.alias_present elasticsearch.index_present elasticsearch.index_template_present
elasticsearch.pipeline_present elasticsearch.script_present elasticsearch.search_template_present
influxdb_continuous_query.present influxdb_database.present influxdb_user.present mongodb_user.present
augeas.change xml.value_present
syslog_ng.config syslog_ng.reloaded syslog_ng.started syslog_ng.stopped
bower.bootstrap bower.installed cabal.installed composer.installed pecl.installed
npm.bootstrap npm.cache_cleaned npm.installed
monit.monitor monit.unmonitor
alias.present alternatives.auto alternatives.install alternatives.set cron.env_present cron.present
debconf.set debconf.set_file docker_container.stopped docker_network.absent docker_network.present
environ.setenv event.wait file.accumulated file.append file.blockreplace
file.cached file.comment file.decode file.exists file.keyvalue file.line file.managed file.missing file.mknod
file.prepend file.replace file.serialize file.touch file.uncomment git.cloned git.config_set git.present
firewalld.present firewalld.service nftables.append nftables.chain_present nftables.delete nftables.insert
nftables.set_policy nftables.table_present
gpg.present
grains.append grains.exists grains.list_absent grains.list_present grains.present group.present host.present
http.wait_for_successful_query ini.options_present ini.sections_present iptables.append iptables.chain_present
iptables.delete iptables.insert iptables.set_policy kmod.absent kmod.present locale.present locale.system
mount.fstab_absent mount.fstab_present mount.mounted mount.swap mount.unmounted network.managed network.routes
network.system pip.installed
pkg.downloaded pkg.held pkg.installed pkg.unheld pkgrepo.managed saltutil.sync_all saltutil.sync_beacons
saltutil.sync_grains saltutil.sync_modules saltutil.sync_outputters saltutil.sync_pillar
saltutil.sync_renderers saltutil.sync_returners saltutil.sync_states saltutil.sync_tops saltutil.sync_utils
beacon.absent beacon.disabled beacon.enabled beacon.present schedule.absent schedule.disabled
schedule.enabled schedule.present service.dead service.disabled
helm.release_present helm.repo_managed helm.repo_updated
kubernetes.configmap_present kubernetes.deployment_present kubernetes.manifest_present
kubernetes.namespace_present kubernetes.node_annotation_absent kubernetes.node_annotation_folder_absent
kubernetes.node_annotation_present kubernetes.node_label_absent kubernetes.node_label_folder_absent
kubernetes.node_label_present kubernetes.pod_present kubernetes.secret_present kubernetes.service_present
mysql_database.present mysql_grants.absent mysql_grants.present mysql_user.present
postgres_cluster.present postgres_database.present postgres_extension.present postgres_group.present
postgres_initdb.present postgres_language.absent postgres_language.present postgres_privileges.absent
postgres_privileges.present postgres_schema.absent postgres_schema.present postgres_tablespace.absent
postgres_tablespace.present postgres_user.present
rabbitmq_plugin.disabled rabbitmq_plugin.enabled rabbitmq_policy.absent rabbitmq_policy.present
rabbitmq_upstream.absent rabbitmq_upstream.present rabbitmq_user.present rabbitmq_vhost.present
service.enabled service.masked service.running service.unmasked ssh_auth.absent ssh_auth.present
ssh_known_hosts.absent ssh_known_hosts.present stateconf.context stateconf.set supervisord.dead
supervisord.running sysctl.present
test.check_pillar test.configurable_test_state test.fail_with_changes test.fail_without_changes test.nop
test.show_notification test.succeed_with_changes test.succeed_without_changes timezone.system user.present
vault.policy_present vault_secret.present cloud.present cloud.profile
x509.crl_managed x509.csr_managed x509.pem_managed
"""
HARMLESS = frozenset(_HARMLESS.split())
"""A revert, or the opposite state, gives what was there: nothing is lost that stands nowhere else."""

_GROUPS = {"formatted": "the file system that is there is lost", "mkfs": "the file system that is there is lost"}
_DELETING = frozenset({"absent", "purged", "removed", "pruned", "dropped", "deleted", "wiped"})


def known_functions() -> frozenset[str]:
    """All state functions that the tables know."""
    return HARMLESS | frozenset({*_ALWAYS, *_BY_ARGUMENTS})


def irreversible(change: ChunkChange) -> str:
    """Why a revert does not take this change back; empty where it does.

    A function that is not Saltern's own is judged by its name: `mysql_database.absent` deletes, `blockdev.formatted`
    formats.
    """
    chunk = change.chunk
    function = f"{chunk.state}.{chunk.fun}"
    if change.kind is ChangeKind.REMOVED:
        return ""  # it is left as it is
    if why := _ALWAYS.get(function):
        return why
    if by_arguments := _BY_ARGUMENTS.get(function):
        return by_arguments(chunk.arguments)
    if function in known_functions():
        return ""
    return _GROUPS.get(chunk.fun, _GONE if chunk.fun in _DELETING else "")
