"""Functions of the cluster: its health and settings, repositories and snapshots."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.modules.elasticsearch.requests import RequestBody, acknowledged, asked, server_of, split
from minion.providers.stores.elasticsearch import Definition, ElasticsearchLogin, script_as_kept


def ping(context: Context, *, allow_failure: bool = False, login: ElasticsearchLogin) -> bool:
    """Whether the server answers. `allow_failure`: an error where it does not."""
    try:
        server_of(context, login).ask("GET")
    except StateFailed:
        if allow_failure:
            raise
        return False
    return True


def info(context: Context, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """What the server says of itself: its name and version."""
    return server_of(context, login).ask("GET", query=asked(options))


def node_info(
    context: Context, node_id: str = "", *, metric: str = "", nodes: str = "", login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:  # fmt: skip
    """What nodes say of themselves; of those of a name or id, or all."""
    return server_of(context, login).ask("GET", "_nodes", node_id or nodes, metric, query=asked(options))


def cluster_health(
    context: Context, index: str = "", level: str = "cluster", local: bool = False, *, login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:  # fmt: skip
    """The health of the cluster, or of an index. `level`: `cluster`, `indices` or `shards`."""
    query = {"level": level, "local": local, **asked(options)}
    return server_of(context, login).ask("GET", "_cluster", "health", index, query=query)


def cluster_allocation_explain(context: Context, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Why a shard is where it is, or nowhere: `index`, `shard`, `primary`, `current_node`."""
    body, query = split(options, ("index", "shard", "primary", "current_node"))
    return server_of(context, login).ask("POST", "_cluster", "allocation", "explain", body=body or None, query=query)


def cluster_pending_tasks(context: Context, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Changes of the cluster that are to be carried out yet."""
    return server_of(context, login).ask("GET", "_cluster", "pending_tasks", query=asked(options))


def cluster_stats(
    context: Context, node_id: str = "", *, nodes: str = "", login: ElasticsearchLogin, **options: AnyValue
) -> Any:
    """Figures of the cluster."""
    named = node_id or nodes
    parts = ("nodes", named) if named else ()
    return server_of(context, login).ask("GET", "_cluster", "stats", *parts, query=asked(options))


def cluster_get_settings(context: Context, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Settings of the cluster. `include_defaults`, `flat_settings`."""
    return server_of(context, login).ask("GET", "_cluster", "settings", query=asked(options))


def cluster_put_settings(
    context: Context,
    body: Definition | None = None,
    *,
    login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:
    """Set settings of the cluster: `persistent` or `transient`."""
    parts, query = split(options, ("persistent", "transient"))
    if not body and not parts:
        raise StateFailed("You must provide a body with settings")
    return server_of(context, login).ask("PUT", "_cluster", "settings", body={**(body or {}), **parts}, query=query)


def repository_get(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """A repository of snapshots; null where there is none."""
    return server_of(context, login).find("_snapshot", name, query=asked(options))


def repository_create(
    context: Context,
    name: str,
    body: Definition | None = None,
    *,
    login: ElasticsearchLogin,
    **options: AnyValue,
) -> bool:
    """Make a repository of snapshots, or set its settings: `type` and `settings`."""
    parts, query = split(options, ("type", "settings"))
    return acknowledged(
        server_of(context, login).ask("PUT", "_snapshot", name, body={**(body or {}), **parts}, query=query)
    )


def repository_delete(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Forget a repository of snapshots; true where there is none."""
    return acknowledged(server_of(context, login).delete("_snapshot", name, query=asked(options)), missing=True)


def repository_verify(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """The nodes that reach a repository."""
    return server_of(context, login).ask("POST", "_snapshot", name, "_verify", query=asked(options))


def repository_cleanup(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Remove what no snapshot of a repository needs."""
    return server_of(context, login).ask("POST", "_snapshot", name, "_cleanup", query=asked(options))


def snapshot_status(
    context: Context, repository: str = "", snapshot: str = "", *, login: ElasticsearchLogin, **options: AnyValue
) -> Any:
    """How far snapshots are."""
    return server_of(context, login).ask("GET", "_snapshot", repository, snapshot, "_status", query=asked(options))


def snapshot_get(
    context: Context, repository: str, snapshot: str, *, login: ElasticsearchLogin, **options: AnyValue
) -> Any:
    """A snapshot; null where there is none."""
    return server_of(context, login).find("_snapshot", repository, snapshot, query=asked(options))


def snapshot_create(
    context: Context, repository: str, snapshot: str, body: Definition | None = None, *,
    login: ElasticsearchLogin, **options: AnyValue,
) -> bool:  # fmt: skip
    """Have a snapshot made: `indices`, `ignore_unavailable`, `include_global_state`, …; whether it has begun."""
    query: dict[str, Any] = {
        key: options.pop(key) for key in ("master_timeout", "wait_for_completion") if key in options
    }
    answer = server_of(context, login).ask(
        "PUT", "_snapshot", repository, snapshot, body={**(body or {}), **asked(options)}, query=query
    )
    return bool(answer.get("accepted") or answer.get("snapshot"))


def snapshot_restore(
    context: Context, repository: str, snapshot: str, body: Definition | None = None, *,
    login: ElasticsearchLogin, **options: AnyValue,
) -> bool:  # fmt: skip
    """Have a snapshot restored: `indices`, `rename_pattern`, …; whether that has begun."""
    query: dict[str, Any] = {
        key: options.pop(key) for key in ("master_timeout", "wait_for_completion") if key in options
    }
    answer = server_of(context, login).ask(
        "POST", "_snapshot", repository, snapshot, "_restore", body={**(body or {}), **asked(options)}, query=query
    )
    return bool(answer.get("accepted") or answer.get("snapshot"))


def snapshot_clone(
    context: Context, repository: str, snapshot: str, target_snapshot: str, indices: str, *,
    login: ElasticsearchLogin, **options: AnyValue,
) -> bool:  # fmt: skip
    """Make a snapshot of indices of another one."""
    answer = server_of(context, login).ask(
        "PUT", "_snapshot", repository, snapshot, "_clone", target_snapshot, body={"indices": indices},
        query=asked(options),
    )  # fmt: skip
    return acknowledged(answer)


def snapshot_delete(
    context: Context, repository: str, snapshot: str, *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Delete a snapshot; true where there is none."""
    found = server_of(context, login).delete("_snapshot", repository, snapshot, query=asked(options))
    return acknowledged(found, missing=True)


def script_get(context: Context, id_: str, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """A stored script or search template; null where there is none."""
    return server_of(context, login).find("_scripts", id_, query=asked(options))


def script_create(
    context: Context, id_: str, script: Definition, *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Store a script: `lang` and `source`."""
    answer = server_of(context, login).ask("PUT", "_scripts", id_, body={"script": script}, query=asked(options))
    return acknowledged(answer)


def script_delete(context: Context, id_: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Delete a stored script or search template; true where there is none."""
    return acknowledged(server_of(context, login).delete("_scripts", id_, query=asked(options)), missing=True)


def search_template_get(context: Context, id: str, *, login: ElasticsearchLogin) -> Any:
    """A search template; null where there is none."""
    return server_of(context, login).find("_scripts", id)


def search_template_create(context: Context, id: str, body: Definition, *, login: ElasticsearchLogin) -> bool:
    """Store a search template: its source below `template`, `inline` or `source`, or the whole."""
    return acknowledged(server_of(context, login).ask("PUT", "_scripts", id, body={"script": script_as_kept(body)}))


def search_template_delete(context: Context, id: str, *, login: ElasticsearchLogin) -> bool:
    """Delete a search template; true where there is none."""
    return acknowledged(server_of(context, login).delete("_scripts", id), missing=True)


def pipeline_get(
    context: Context,
    id_: str = "",
    *,
    id: str = "",
    login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:
    """An ingest pipeline; null where there is none."""
    return server_of(context, login).find("_ingest", "pipeline", id_ or id, query=asked(options))


def pipeline_create(
    context: Context, id_: str = "", body: Definition | None = None, *, id: str = "",
    login: ElasticsearchLogin, **options: AnyValue,
) -> bool:  # fmt: skip
    """Make or replace an ingest pipeline: `description`, `processors`, `on_failure`, `version`, `meta`."""
    parts, query = split(options, ("description", "processors", "on_failure", "version", "meta"))
    if "meta" in parts:
        parts["_meta"] = parts.pop("meta")
    path = ("_ingest", "pipeline", id_ or id)
    return acknowledged(server_of(context, login).ask("PUT", *path, body={**(body or {}), **parts}, query=query))


def pipeline_delete(
    context: Context,
    id_: str = "",
    *,
    id: str = "",
    login: ElasticsearchLogin,
    **options: AnyValue,
) -> bool:
    """Delete an ingest pipeline; true where there is none."""
    found = server_of(context, login).delete("_ingest", "pipeline", id_ or id, query=asked(options))
    return acknowledged(found, missing=True)


def pipeline_simulate(
    context: Context, id_: str = "", body: Definition | None = None, *, id: str = "",
    login: ElasticsearchLogin, **options: AnyValue,
) -> Any:  # fmt: skip
    """What a pipeline makes of documents: `docs`."""
    parts, query = split(options, ("docs", "pipeline"))
    path = ("_ingest", "pipeline", id_ or id, "_simulate")
    return server_of(context, login).ask("POST", *path, body={**(body or {}), **parts}, query=query)


def geo_ip_stats(context: Context, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Figures of the databases of the processor geoip."""
    return server_of(context, login).ask("GET", "_ingest", "geoip", "stats", query=asked(options))


def processor_grok(context: Context, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Patterns of the processor grok."""
    return server_of(context, login).ask("GET", "_ingest", "processor", "grok", query=asked(options))


def index_template_create(
    context: Context, name: str, request: RequestBody, *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Make or replace a (legacy) template of indices."""
    parts, query = split(options, ("aliases", "index_patterns", "mappings", "order", "settings", "version"))
    body = request.read(context, parts)
    return acknowledged(server_of(context, login).ask("PUT", "_template", name, body=body, query=query))


def index_template_delete(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Delete a (legacy) template of indices; true where there is none."""
    return acknowledged(server_of(context, login).delete("_template", name, query=asked(options)), missing=True)


def index_template_exists(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Whether there is such a (legacy) template of indices, which the function of this name makes."""
    return server_of(context, login).has("_template", name, query=asked(options))


def index_template_get(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """A (legacy) template of indices, by its name; null where there is none."""
    return server_of(context, login).find("_template", name, query=asked(options)) or None
