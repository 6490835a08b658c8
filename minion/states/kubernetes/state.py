"""The state module `kubernetes`.

Behaviour: the states of saltext-kubernetes 3.0.0, and `manifest`, which is Saltern's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import StateFunction
from minion.states.kubernetes import manifest, nodes, values, workloads

STATES: Mapping[str, StateFunction] = {
    each.__name__: each
    for each in (
        manifest.manifest,
        manifest.manifest_absent,
        manifest.manifest_present,
        nodes.node_annotation_absent,
        nodes.node_annotation_folder_absent,
        nodes.node_annotation_present,
        nodes.node_label_absent,
        nodes.node_label_folder_absent,
        nodes.node_label_present,
        values.configmap_absent,
        values.configmap_present,
        values.secret_absent,
        values.secret_present,
        workloads.deployment_absent,
        workloads.deployment_present,
        workloads.namespace_absent,
        workloads.namespace_present,
        workloads.pod_absent,
        workloads.pod_present,
        workloads.service_absent,
        workloads.service_present,
    )
}
