"""The execution module `kubernetes`: objects of a cluster, by its API server.

Behaviour: the module of saltext-kubernetes 3.0.0. What the server refuses fails with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.kubernetes import changes, cluster, objects
from minion.providers.kubernetes.kinds import CONFIGMAP, DEPLOYMENT, POD, SECRET, SERVICE

_NAMED = {
    each.__name__: each
    for each in (
        *(changes.create_configmap, changes.create_namespace, changes.create_pod, changes.create_secret),
        *(changes.patch_namespace, changes.patch_secret, changes.replace_configmap, changes.replace_secret),
        changes.replace_service,
        *(cluster.apply, cluster.cluster_info, cluster.cordon, cluster.delete_manifest, cluster.get_object),
        *(cluster.list_clusters, cluster.node_add_annotation, cluster.node_add_label, cluster.node_annotations),
        *(cluster.node_labels, cluster.node_remove_annotation, cluster.node_remove_label, cluster.restart),
        *(cluster.scale, cluster.uncordon),
        *(objects.delete_namespace, objects.namespaces, objects.node, objects.nodes, objects.ping),
        *(objects.show_namespace, objects.show_secret),
    )
}
_KINDS = {"configmap": CONFIGMAP, "deployment": DEPLOYMENT, "pod": POD, "secret": SECRET, "service": SERVICE}

FUNCTIONS: Mapping[str, Any] = {
    **_NAMED,
    **{f"{word}s": objects.listing(kind) for word, kind in _KINDS.items()},
    **{f"show_{word}": objects.showing(kind) for word, kind in _KINDS.items() if kind is not SECRET},
    **{f"delete_{word}": objects.deleting(kind) for word, kind in _KINDS.items()},
    **{f"create_{word}": changes.creating(_KINDS[word]) for word in ("deployment", "service")},
    **{f"patch_{word}": changes.patching(_KINDS[word]) for word in ("configmap", "deployment", "service")},
    "replace_deployment": changes.replacing(DEPLOYMENT),
}
