"""The execution module `elasticsearch`: an Elasticsearch or OpenSearch server, by its REST API.

Behaviour: doc/ref/modules/all/salt.modules.elasticsearch of Salt 3006, and saltext-elasticsearch for later servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.elasticsearch import cluster, indices

_ALL = (
    cluster.cluster_allocation_explain, cluster.cluster_get_settings, cluster.cluster_health,
    cluster.cluster_pending_tasks, cluster.cluster_put_settings, cluster.cluster_stats, cluster.geo_ip_stats,
    cluster.index_template_create, cluster.index_template_delete, cluster.index_template_exists,
    cluster.index_template_get, cluster.info, cluster.node_info, cluster.ping, cluster.pipeline_create,
    cluster.pipeline_delete, cluster.pipeline_get, cluster.pipeline_simulate, cluster.processor_grok,
    cluster.repository_cleanup, cluster.repository_create, cluster.repository_delete, cluster.repository_get,
    cluster.repository_verify, cluster.script_create, cluster.script_delete, cluster.script_get,
    cluster.search_template_create, cluster.search_template_delete, cluster.search_template_get,
    cluster.snapshot_clone, cluster.snapshot_create, cluster.snapshot_delete, cluster.snapshot_get,
    cluster.snapshot_restore, cluster.snapshot_status, indices.alias_create, indices.alias_delete,
    indices.alias_exists, indices.alias_get, indices.bulk, indices.document_create, indices.document_delete,
    indices.document_exists, indices.document_get, indices.document_update, indices.flush, indices.index_close,
    indices.index_create, indices.index_delete, indices.index_exists, indices.index_get,
    indices.index_get_settings, indices.index_open, indices.index_put_settings, indices.mapping_create,
    indices.mapping_get, indices.search, indices.template_exists,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _ALL}
