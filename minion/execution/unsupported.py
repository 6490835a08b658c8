"""Execution functions of Salt's modules that are here, which are not: why, and what to do instead.

Called by the loader for the error about a function that is not there, and by the generator of docs/modules.md.
"""

from __future__ import annotations

from collections.abc import Mapping

_TABLE = """
archive.rar archive.unrar: use cmd.run
cloud.network_create cloud.network_list cloud.virtual_interface_create: use the tools of the cloud
cloud.virtual_interface_list cloud.volume_attach cloud.volume_create: use the tools of the cloud
cloud.volume_delete cloud.volume_detach cloud.volume_list: use the tools of the cloud
cmd.powershell cmd.powershell_all: for Windows
cmd.run_chroot: Salt's ends every process below the new root when it is done; use cmd.run with chroot(8)
cmd.shell_info: use cmd.run
config.gather_bootstrap_script: it fetches a program of Salt's
cp.cache_file_ssh cp.hash_file_ssh cp.recv: inner parts of Salt's
disk.format disk.resize2fs disk.tune disk.wipe: too much is lost by a wrong word; use cmd.run
disk.hdparms disk.hpa disk.iostat disk.smart_attributes: use cmd.run
dnsutil.parse_zone: read zones with the tools of the name server
docker.apply docker.call docker.highstate docker.sls docker.sls_build: Salt within a container; build an image
docker.compare_container_networks docker.compare_containers docker.compare_networks: inner parts of Salt's
docker.get_client_args: inner parts of Salt's
docker.login docker.logout: manage ~/.docker/config.json with file.managed
docker.script docker.script_retcode: use docker.copy_to and docker.run
elasticsearch.flush_synced: servers have no synced flush since version 8; use elasticsearch.flush
elasticsearch.mapping_delete: no server deletes a mapping since version 2; make an index anew
file.check_file_meta file.extract_hash file.get_managed: inner parts of Salt's; use file.check_managed_changes
file.list_backup file.list_backups_dir: use file.list_backups
file.psed: use file.replace
git.merge_tree: use cmd.run
helm.completion helm.create helm.help helm.repo_index helm.verify: use cmd.run with helm
helm.plugin_install helm.plugin_list helm.plugin_uninstall helm.plugin_update: use cmd.run with helm
helm.search_hub: use helm.search_repo
http.update_ca_bundle: the system's authorities are trusted; use pkg
kubernetes.cluster_role_bindings kubernetes.cluster_roles kubernetes.cron_jobs: use kubernetes.get_object
kubernetes.custom_resource_definitions kubernetes.daemonsets kubernetes.gateway_classes: use kubernetes.get_object
kubernetes.gateways kubernetes.horizontal_pod_autoscalers kubernetes.http_routes: use kubernetes.get_object
kubernetes.ingresses kubernetes.jobs kubernetes.limit_ranges kubernetes.network_policies: use kubernetes.get_object
kubernetes.persistent_volume_claims kubernetes.persistent_volumes: use kubernetes.get_object
kubernetes.pod_disruption_budgets kubernetes.priority_classes kubernetes.reference_grants: use kubernetes.get_object
kubernetes.replicasets kubernetes.resource_quotas kubernetes.role_bindings: use kubernetes.get_object
kubernetes.roles kubernetes.service_accounts kubernetes.show_cluster_role: use kubernetes.get_object
kubernetes.show_cluster_role_binding kubernetes.show_cron_job: use kubernetes.get_object
kubernetes.show_custom_resource_definition kubernetes.show_daemonset: use kubernetes.get_object
kubernetes.show_gateway kubernetes.show_gateway_class: use kubernetes.get_object
kubernetes.show_horizontal_pod_autoscaler kubernetes.show_http_route: use kubernetes.get_object
kubernetes.show_ingress kubernetes.show_job kubernetes.show_limit_range: use kubernetes.get_object
kubernetes.show_network_policy kubernetes.show_persistent_volume: use kubernetes.get_object
kubernetes.show_persistent_volume_claim kubernetes.show_pod_disruption_budget: use kubernetes.get_object
kubernetes.show_priority_class kubernetes.show_reference_grant kubernetes.show_replicaset: use kubernetes.get_object
kubernetes.show_resource_quota kubernetes.show_role kubernetes.show_role_binding: use kubernetes.get_object
kubernetes.show_service_account kubernetes.show_statefulset kubernetes.show_storageclass: use kubernetes.get_object
kubernetes.statefulsets kubernetes.storageclasses: use kubernetes.get_object
kubernetes.create_cluster_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_cluster_role_binding: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_cron_job: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_custom_resource_definition: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_daemonset kubernetes.create_gateway: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_gateway_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_horizontal_pod_autoscaler: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_http_route kubernetes.create_ingress: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_job kubernetes.create_limit_range: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_network_policy: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_persistent_volume: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_persistent_volume_claim: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_pod_disruption_budget: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_priority_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_reference_grant kubernetes.create_replicaset: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_resource_quota kubernetes.create_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_role_binding: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_service_account kubernetes.create_statefulset: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.create_storageclass kubernetes.delete_cluster_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_cluster_role_binding: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_cron_job: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_custom_resource_definition: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_daemonset kubernetes.delete_gateway: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_gateway_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_horizontal_pod_autoscaler: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_http_route kubernetes.delete_ingress: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_job kubernetes.delete_limit_range: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_network_policy: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_persistent_volume: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_persistent_volume_claim: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_pod_disruption_budget: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_priority_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_reference_grant kubernetes.delete_replicaset: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_resource_quota kubernetes.delete_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_role_binding: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_service_account kubernetes.delete_statefulset: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.delete_storageclass kubernetes.patch_cluster_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_cluster_role_binding kubernetes.patch_cron_job: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_custom_resource_definition: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_daemonset kubernetes.patch_gateway: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_gateway_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_horizontal_pod_autoscaler: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_http_route kubernetes.patch_ingress: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_job kubernetes.patch_limit_range: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_network_policy: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_persistent_volume: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_persistent_volume_claim: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_pod_disruption_budget: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_priority_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_reference_grant kubernetes.patch_replicaset: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_resource_quota kubernetes.patch_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_role_binding kubernetes.patch_service_account: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.patch_statefulset kubernetes.patch_storageclass: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_cluster_role: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_cluster_role_binding: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_cron_job: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_custom_resource_definition: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_daemonset kubernetes.replace_gateway: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_gateway_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_horizontal_pod_autoscaler: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_http_route kubernetes.replace_ingress: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_job kubernetes.replace_limit_range: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_network_policy: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_persistent_volume: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_persistent_volume_claim: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_pod_disruption_budget: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_priority_class: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_reference_grant: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_replicaset kubernetes.replace_resource_quota: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_role kubernetes.replace_role_binding: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_service_account: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.replace_statefulset kubernetes.replace_storageclass: use kubernetes.apply and kubernetes.delete_manifest
kubernetes.cp_from kubernetes.cp_to kubernetes.exec kubernetes.logs kubernetes.drain: use cmd.run with kubectl
kubernetes.rollback: use cmd.run with kubectl
kubernetes.taint kubernetes.untaint kubernetes.patch_object: use kubernetes.apply
kubernetes.wait_for: use the argument wait
kubernetes.normalise_manifest_input: an inner part of Salt's
match.data: it looks at what data.load holds; use match.grain or match.pillar
mine.get_docker: use mine.get and a template
mount.automaster mount.filesystems mount.rm_automaster mount.rm_filesystems mount.rm_vfstab: for other systems
mount.set_automaster mount.set_filesystems mount.set_vfstab mount.vfstab: for other systems
mount.delete_mount_cache mount.read_mount_cache mount.write_mount_cache: inner parts of Salt's
mysql.free_slave: it logs into another server with this one's password; use mysql.query
network.mod_bufsize: use cmd.run with ethtool
pillar.ext: external pillars are the controller's
pip.upgrade: use pip.install with upgrade
pkg.add_repo_key pkg.del_repo_key pkg.get_repo_keys: keys belong to repositories: use pkg.mod_repo with key_url
pkg.list_downloaded pkg.services_need_restart: use cmd.run
pkg.set_selections: use pkg.hold and pkg.unhold
ps.netstat: use ps.ss or network.netstat
quota.warn: use cmd.run with warnquota
saltcheck.run_state_tests_ssh: for salt-ssh; use saltcheck.run_state_tests
saltutil.clear_job_cache saltutil.find_cached_job: the minion keeps no results once the controller has them
saltutil.cmd saltutil.cmd_iter saltutil.mmodule saltutil.runner: a minion gives the controller no orders
saltutil.wheel: a minion gives the controller no orders
saltutil.refresh_beacons saltutil.refresh_matchers saltutil.refresh_resources: there are no such modules here
saltutil.regen_keys saltutil.revoke_auth: use saltern key on the controller
saltutil.sync_resources saltutil.sync_thorium saltutil.sync_wrapper: there are no such modules here
saltutil.update: use the system's packages
schedule.copy schedule.move: a minion gives the controller no orders; use saltern run TARGET schedule.add
service.firstboot service.offline: for systems that are not running
slsutil.banner: write it into the template
snap.ack snap.connect snap.disconnect snap.info snap.known: use cmd.run with snap
snap.api snap.connections snap.interfaces snap.plugs snap.slots: requests to snapd's socket are not built
snap.service_enabled snap.service_running: use snap.services
ssh.hash_known_hosts: use cmd.run with ssh-keygen
state.clear_cache: nothing of a run is cached
state.event: use saltern events
state.get_pauses state.pause state.resume state.soft_kill: a run cannot be paused; saltutil.term_job ends it
state.graph state.graph_highstate: use state.show_lowstate
state.orchestrate: orchestration belongs to the controller
state.pkg: for salt-ssh
status.master status.ping_master status.proxy_reconnect: use saltern status on the controller
tls.maybe_fix_ssl_version: it mends certificates of a Salt of 2014
syslog_ng.set_binary_path: use the option syslog_ng.binary_path
syslog_ng.set_config_file: use the option syslog_ng.config_file
syslog_ng.set_parameters: use the options syslog_ng.config_file and syslog_ng.binary_path
sys.list_returner_functions sys.list_returners sys.returner_argspec sys.returner_doc: there are no returners yet
sys.list_runner_functions sys.list_runners sys.runner_argspec sys.runner_doc: runners are the controller's
sys.list_renderers sys.renderer_doc sys.state_schema: see docs/salt-compatibility.md and sys.state_doc
test.arg_clean test.attr_call test.cross_test test.deprecation_warning: tests of Salt's own loader
test.module_report test.not_loaded test.providers test.stack test.try: tests of Salt's own loader
test.tty: use cmd.tty
zabbix.user_addmedia zabbix.user_deletemedia: Zabbix 4 took them away; use zabbix.user_update with medias
virtualenv.get_resource_content virtualenv.get_resource_path virtualenv.virtualenv_ver: use cmd.run
"""

NOT_BUILT: Mapping[str, str] = {
    name: reason
    for names, _, reason in (line.partition(": ") for line in _TABLE.strip().splitlines())
    for name in names.split()
}
"""Full name → what to tell."""
