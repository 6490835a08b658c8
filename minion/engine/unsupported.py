"""State functions of Salt's modules that are not supported, with what to do instead.

Called by the registry, which says it in the result; `docs/states.md` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

_CALL = "a Python function cannot stand in an SLS that is compiled elsewhere: use module.run"

_KINDS = """
    cluster_role cluster_role_binding cron_job custom_resource_definition daemonset gateway gateway_class
    horizontal_pod_autoscaler http_route ingress job limit_range network_policy persistent_volume
    persistent_volume_claim pod_disruption_budget priority_class reference_grant replicaset resource_quota role
    role_binding service_account statefulset storageclass
"""

UNSUPPORTED: Mapping[str, str] = {
    **dict.fromkeys(
        ("cloud.volume_absent", "cloud.volume_attached", "cloud.volume_detached", "cloud.volume_present"),
        "volumes are those of the image and its size: use `create` of a profile",
    ),
    "cmd.call": _CALL,
    "cmd.wait_call": _CALL,
    "file.mod_run_check_cmd": "it is check_cmd of file.managed",
    "file.retention_schedule": "use file.tidied with age",
    "file.shortcut": "shortcuts are for Windows",
    **{f"kubernetes.{kind}_present": "use kubernetes.manifest" for kind in _KINDS.split()},
    **{f"kubernetes.{kind}_absent": "use kubernetes.manifest_absent" for kind in _KINDS.split()},
    "kubernetes.node_cordoned": "use module.run with kubernetes.cordon",
    "kubernetes.node_tainted": "use cmd.run with kubectl taint and `unless`",
    "kubernetes.node_uncordoned": "use module.run with kubernetes.uncordon",
    "kubernetes.node_untainted": "use cmd.run with kubectl taint and `onlyif`",
    "pip.uptodate": "use pip.installed with upgrade",
    "pkg.patch_downloaded": "advisories are a matter of zypper and yum: use pkg.downloaded",
    "pkg.patch_installed": "advisories are a matter of zypper and yum: use pkg.installed with versions",
    "saltutil.sync_clouds": "there are no such modules here",
    "saltutil.sync_engines": "there are no such modules here",
    "saltutil.sync_executors": "there are no such modules here",
    "saltutil.sync_log_handlers": "there are no such modules here",
    "saltutil.sync_matchers": "there are no such modules here",
    "saltutil.sync_output": "there are no such modules here",
    "saltutil.sync_proxymodules": "there are no such modules here",
    "saltutil.sync_resources": "there are no such modules here",
    "saltutil.sync_sdb": "there are no such modules here",
    "saltutil.sync_serializers": "there are no such modules here",
    "saltutil.sync_thorium": "there are no such modules here",
    "saltutil.sync_wrapper": "there are no such modules here",
    "snap.connected": "use cmd.run with snap connect and `unless`",
    "snap.disconnected": "use cmd.run with snap disconnect and `onlyif`",
    "snap.service_dead": "use service.dead with snap.NAME.SERVICE",
    "snap.service_running": "use service.running with snap.NAME.SERVICE",
    "system.computer_desc": "the states of system are for Windows",
    "system.computer_name": "the states of system are for Windows: use network.system",
    "system.hostname": "the states of system are for Windows: use network.system",
    "system.join_domain": "the states of system are for Windows",
    "system.reboot": "the states of system are for Windows: use cmd.run",
    "system.shutdown": "the states of system are for Windows: use cmd.run",
    "system.workgroup": "the states of system are for Windows",
    "x509.certificate_managed_ssh": "an inner part of salt-ssh: use x509.certificate_managed",
    "x509.private_key_managed_ssh": "an inner part of salt-ssh: use x509.private_key_managed",
    "zabbix_template.present": "use module.run with zabbix.configuration_import",
}
"""Full name → what to do instead."""
