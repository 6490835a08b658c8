"""Functions of indices: their aliases, settings, mappings and documents."""

from __future__ import annotations

import json
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.modules.elasticsearch.requests import RequestBody, acknowledged, asked, server_of, split
from minion.providers.stores.elasticsearch import ElasticsearchLogin
from minion.providers.stores.rest import RestRefused

_OF_MAPPINGS = (
    "date_detection", "dynamic", "dynamic_date_formats", "dynamic_templates", "field_names", "meta",
    "numeric_detection", "properties", "runtime",
)  # fmt: skip


def alias_create(
    context: Context, indices: str, alias: str, request: RequestBody, *, login: ElasticsearchLogin,
    **options: AnyValue,
) -> bool:  # fmt: skip
    """Give indices an alias: `filter_`, `routing`, `index_routing`, `search_routing`, `is_write_index`."""
    parts, query = split(options, ("filter", "routing", "index_routing", "search_routing", "is_write_index"))
    body = request.read(context, parts)
    return acknowledged(server_of(context, login).ask("PUT", indices, "_alias", alias, body=body, query=query))


def alias_delete(
    context: Context, indices: str, aliases: str, *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Take aliases from indices; true where they have none of them."""
    found = server_of(context, login).delete(indices, "_alias", aliases, query=asked(options))
    return acknowledged(found, missing=True)


def alias_exists(
    context: Context, aliases: str, indices: str = "", *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Whether an alias is there, of any index or of some."""
    return server_of(context, login).has(indices, "_alias", aliases, query=asked(options))


def alias_get(
    context: Context, indices: str = "", aliases: str = "", *, login: ElasticsearchLogin, **options: AnyValue
) -> Any:
    """Index → its aliases; null where there are none."""
    return server_of(context, login).find(indices, "_alias", aliases, query=asked(options))


def document_create(
    context: Context, index: str, request: RequestBody, *, document: AnyValue = None, id_: str = "", id: str = "",
    login: ElasticsearchLogin, **options: AnyValue,
) -> Any:  # fmt: skip
    """Put a document into an index; without an id it gets one."""
    body = request.read(context, dict(document or {}))
    method = "PUT" if id_ or id else "POST"
    return server_of(context, login).ask(method, index, "_doc", id_ or id, body=body, query=asked(options))


def document_delete(
    context: Context, index: str, id_: str = "", *, id: str = "", login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:  # fmt: skip
    """Delete a document; null where there is none."""
    return server_of(context, login).delete(index, "_doc", id_ or id, query=asked(options))


def document_exists(
    context: Context, index: str, id_: str = "", *, id: str = "", login: ElasticsearchLogin,
    **options: AnyValue,
) -> bool:  # fmt: skip
    """Whether there is a document of this id."""
    return server_of(context, login).has(index, "_doc", id_ or id, query=asked(options))


def document_get(
    context: Context, index: str, id_: str = "", *, id: str = "", login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:  # fmt: skip
    """A document; null where there is none."""
    return server_of(context, login).find(index, "_doc", id_ or id, query=asked(options))


def document_update(
    context: Context, index: str, id_: str, request: RequestBody, *, login: ElasticsearchLogin, **options: AnyValue
) -> Any:
    """Change a document: by `doc`, or by `script`; `upsert`, `doc_as_upsert`, `detect_noop`."""
    names = ("detect_noop", "doc", "doc_as_upsert", "script", "scripted_upsert", "upsert")
    parts, query = split(options, names)
    body = request.read(context, parts)
    return server_of(context, login).ask("POST", index, "_update", id_, body=body, query=query)


def search(
    context: Context, index: str = "", *, q: str | None = None, request: RequestBody, login: ElasticsearchLogin,
    **options: AnyValue,
) -> Any:  # fmt: skip
    """Search documents: `query`, `aggs`, `size`, `from_`, `sort`, … are parts of the body; `q`: a query as one line."""
    body = request.read(context, asked(options))
    return server_of(context, login).ask("POST", index, "_search", body=body, query={"q": q})


def bulk(
    context: Context, operations: AnyValue, index: str = "", *, login: ElasticsearchLogin, **options: AnyValue
) -> Any:
    """Carry out many operations: a list of their lines, or JSON of one."""
    lines = json.loads(operations) if isinstance(operations, str) else operations
    body = "".join(json.dumps(line, default=str) + "\n" for line in lines).encode()
    return server_of(context, login).ask("POST", index, "_bulk", body=body, query=asked(options))


def index_create(
    context: Context, index: str, request: RequestBody, *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Make an index: `aliases`, `mappings`, `settings`; true where there is one."""
    parts, query = split(options, ("aliases", "mappings", "settings"))
    body = request.read(context, parts)
    try:
        answer = server_of(context, login).ask("PUT", index, body=body or None, query=query)
    except RestRefused as error:
        if "already_exists_exception" in str(error):
            return True
        raise
    return acknowledged(answer) and bool(answer.get("shards_acknowledged", True))


def index_delete(context: Context, index: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Delete an index; true where there is none."""
    return acknowledged(server_of(context, login).delete(index, query=asked(options)), missing=True)


def index_exists(context: Context, index: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Whether there is an index."""
    return server_of(context, login).has(index, query=asked(options))


def index_get(context: Context, index: str, *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """An index: its aliases, mappings and settings; null where there is none."""
    return server_of(context, login).find(index, query=asked(options))


def index_open(context: Context, index: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Open an index."""
    return acknowledged(server_of(context, login).ask("POST", index, "_open", query=asked(options)))


def index_close(context: Context, index: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Close an index."""
    return acknowledged(server_of(context, login).ask("POST", index, "_close", query=asked(options)))


def index_get_settings(context: Context, index: str = "", *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Settings of indices; null where there is none. `name`: of one setting."""
    query = asked(options)
    return server_of(context, login).find(index, "_settings", str(query.pop("name", None) or ""), query=query)


def index_put_settings(
    context: Context, *, index: str = "", settings: AnyValue = None, request: RequestBody, login: ElasticsearchLogin,
    **options: AnyValue,
) -> bool:  # fmt: skip
    """Set settings of indices."""
    body = request.read(context, dict(settings or {}))
    return acknowledged(server_of(context, login).ask("PUT", index, "_settings", body=body, query=asked(options)))


def mapping_create(
    context: Context, index: str, request: RequestBody, *, login: ElasticsearchLogin, **options: AnyValue
) -> bool:
    """Add fields to the mapping of an index: `properties`, `dynamic`, …."""
    parts, query = split(options, _OF_MAPPINGS)
    body = request.read(
        context, {{"field_names": "_field_names", "meta": "_meta"}.get(key, key): one for key, one in parts.items()}
    )
    return acknowledged(server_of(context, login).ask("PUT", index, "_mapping", body=body, query=query))


def mapping_get(context: Context, index: str = "", *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Mappings of indices; null where there is none."""
    return server_of(context, login).find(index, "_mapping", query=asked(options))


def flush(context: Context, index: str = "", *, login: ElasticsearchLogin, **options: AnyValue) -> Any:
    """Have what was written put to disk."""
    return server_of(context, login).ask("POST", index, "_flush", query=asked(options))


def template_exists(context: Context, name: str, *, login: ElasticsearchLogin, **options: AnyValue) -> bool:
    """Whether there is a (legacy) template of indices."""
    return server_of(context, login).has("_template", name, query=asked(options))
