"""The state module `elasticsearch`: indices, their aliases and templates, ingest pipelines, search templates.

Behaviour: doc/ref/states/all/salt.states.elasticsearch of Salt 3006, with a `definition`, and of saltext-elasticsearch,
with the parts of one as arguments; both are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

from extmods.salt_compat.utils.dictdiffer import deep_diff
from minion.arguments.types import CommaList, Each, Ignored, Map, Scalar, ToCome, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores.elasticsearch import (
    Definition,
    Elasticsearch,
    ElasticsearchLogin,
    definition_in,
    elasticsearch_at,
    plain,
    script_as_kept,
    template_as_kept,
)

_UNSEEN = Ignored("it shapes an answer that nobody sees")
_OF_PIPELINES = ("_meta", "deprecated", "description", "on_failure", "processors", "version")
"""What a pipeline is made of; servers add when it was made."""


class AnswerShape(NamedTuple):
    """Arguments of Salt's that change nothing in what a state does, and two that say how long the server may take."""

    master_timeout: str | None = None
    timeout: str | None = None
    error_trace: Annotated[Value, _UNSEEN] = None
    filter_path: Annotated[Value, _UNSEEN] = None
    flat_settings: Annotated[Value, _UNSEEN] = None
    human: Annotated[Value, _UNSEEN] = None
    pretty: Annotated[Value, _UNSEEN] = None

    def query(self, **more: Any) -> dict[str, Any]:
        """What is sent of them."""
        return {"master_timeout": self.master_timeout, "timeout": self.timeout, **more}


class IndexBody(NamedTuple):
    """What an index or a template of indices is made of, as arguments: a definition, a file of one, or its parts."""

    definition: Definition = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    source: str | None = None
    saltenv: str | None = None
    aliases: Map = {}  # noqa: RUF012
    mappings: Map = {}  # noqa: RUF012
    settings: Map = {}  # noqa: RUF012

    def read(self, machine: Reader, **more: Any) -> dict[str, Any]:
        """All of it. StateFailed for a file and parts at once."""
        parts = {"aliases": self.aliases, "mappings": self.mappings, "settings": self.settings}
        given = {key: value for key, value in parts.items() if value} | more
        if self.source and (given or self.definition):
            raise StateFailed("Either a definition or source should be specified but not both.")
        found = definition_in(machine, self.source, self.saltenv or "base") if self.source else self.definition
        return {**found, **given}


def index_present(
    machine: Reader,
    name: str,
    *,
    body: IndexBody,
    wait_for_active_shards: Scalar | None = None,
    shape: AnswerShape,
    login: ElasticsearchLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is such an index; one that is there is left as it is."""
    server = elasticsearch_at(machine, login, to_come)
    if server.has(name):
        return Plan(comment=f"Index {name} is already present")
    wanted = plain(body.read(machine))
    query = shape.query(wait_for_active_shards=wait_for_active_shards)
    act = _put(server, name, body=wanted, query=query, failed=f"Cannot create index {name}")
    return _turning(
        {"new": wanted},
        act,
        pending=f"Index {name} does not exist and will be created",
        done=f"Successfully created index {name}",
    )


def index_absent(machine: Reader, name: str, *, login: ElasticsearchLogin, to_come: ToCome = frozenset()) -> Plan:
    """There is no such index; an alias or a pattern is none."""
    server = elasticsearch_at(machine, login, to_come)
    return _absence(server, "Index", name, (server.find(name) or {}).get(name), name)


def alias_present(
    machine: Reader,
    name: str,
    *,
    index: CommaList = (),
    indices: CommaList = (),
    definition: Definition = {},  # noqa: B006  (nobody changes it)
    filter_: Map = {},  # noqa: B006
    routing: str | None = None,
    index_routing: str | None = None,
    search_routing: str | None = None,
    is_write_index: bool | None = None,
    shape: AnswerShape,
    login: ElasticsearchLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """Indices have this alias, defined so and not otherwise. `index` or `indices`: their names, or patterns of them."""
    parts = {
        "filter": filter_ or None,
        "routing": routing,
        "index_routing": index_routing,
        "search_routing": search_routing,
        "is_write_index": is_write_index,
    }
    wanted = plain({**definition, **{key: value for key, value in parts.items() if value is not None}})
    server, named = elasticsearch_at(machine, login, to_come), ",".join(index or indices)
    if not named:
        raise StateFailed("index must be given: the index that has the alias")
    kept = _alias_as_kept(wanted)
    found = {each: aliases.get(name) for each, aliases in server.aliases_of(named).items()}
    if all(one == kept for one in found.values()):
        return Plan(comment=f"Alias {name} for index {named} is already present")
    exists = any(one is not None for one in found.values())
    act = _put(server, named, "_alias", name, body=wanted, query=shape.query(), failed=f"Cannot create alias {name}")
    state = "exists with wrong configuration and will be overridden" if exists else "does not exist and will be created"
    return _turning(
        _alias_changes(found, kept),
        act,
        pending=f"Alias {name} for index {named} {state}",
        done=f"Successfully {'replaced' if exists else 'created'} alias {name} for index {named}",
    )


def alias_absent(
    machine: Reader, name: str, *, index: str, login: ElasticsearchLogin, to_come: ToCome = frozenset()
) -> Plan:
    """An index does not have this alias."""
    server = elasticsearch_at(machine, login, to_come)
    found = ((server.find(index, "_alias", name) or {}).get(index) or {}).get("aliases") or {}
    return _absence(server, "Alias", f"{name} for index {index}", found.get(name), index, "_alias", name)


def index_template_present(
    machine: Reader,
    name: str,
    *,
    body: IndexBody,
    check_definition: bool = False,
    index_patterns: Each = [],  # noqa: B006  (nobody changes it)
    order: int | None = None,
    version: int | None = None,
    create: bool | None = None,
    shape: AnswerShape,
    login: ElasticsearchLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is such a (legacy) template of indices; with `check_definition` it is defined so and not otherwise."""
    server = elasticsearch_at(machine, login, to_come)
    found = (server.find("_template", name) or {}).get(name)
    if found is not None and not check_definition:
        return Plan(comment=f"Index template {name} is already present")
    parts = {"index_patterns": index_patterns or None, "order": order, "version": version}
    wanted = plain(body.read(machine, **{key: value for key, value in parts.items() if value is not None}))
    query = shape.query(create=create)
    if found is None:
        act = _put(server, "_template", name, body=wanted, query=query, failed=f"Cannot create index template {name}")
        return _turning(
            {"new": wanted},
            act,
            pending=f"Index template {name} does not exist and will be created",
            done=f"Successfully created index template {name}",
        )
    changes = deep_diff(template_as_kept(found), template_as_kept(wanted))
    if not changes:
        return Plan(comment=f"Index template {name} is already present and up to date")
    act = _put(server, "_template", name, body=wanted, query=query, failed=f"Cannot update index template {name}")
    return _turning(
        changes,
        act,
        pending=f"Index template {name} exist but need to be updated",
        done=f"Successfully updated index template {name}",
    )


def index_template_absent(
    machine: Reader, name: str, *, login: ElasticsearchLogin, to_come: ToCome = frozenset()
) -> Plan:
    """There is no such (legacy) template of indices."""
    server = elasticsearch_at(machine, login, to_come)
    found = (server.find("_template", name) or {}).get(name)
    return _absence(server, "Index template", name, found, "_template", name)


def pipeline_present(
    machine: Reader,
    name: str,
    *,
    definition: Definition = {},  # noqa: B006  (nobody changes it)
    description: str | None = None,
    processors: Each = [],  # noqa: B006
    on_failure: Each = [],  # noqa: B006
    version: int | None = None,
    meta: Map = {},  # noqa: B006
    if_version: int | None = None,
    shape: AnswerShape,
    login: ElasticsearchLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is such an ingest pipeline, defined so and not otherwise."""
    parts = {
        "description": description,
        "processors": processors or None,
        "on_failure": on_failure or None,
        "version": version,
        "_meta": meta or None,
    }
    wanted = plain({**definition, **{key: value for key, value in parts.items() if value is not None}})
    if not wanted.get("processors"):
        raise StateFailed("A pipeline must have processors: in definition, or in an argument of this name")
    server = elasticsearch_at(machine, login, to_come)
    found = (server.find("_ingest", "pipeline", name) or {}).get(name)
    old = {key: value for key, value in (found or {}).items() if key in _OF_PIPELINES}
    query = shape.query(if_version=if_version)
    act = _put(server, "_ingest", "pipeline", name, body=wanted, query=query, failed=f"Cannot create pipeline {name}")
    return _defined("Pipeline", name, found is not None, deep_diff(old, wanted), act)


def pipeline_absent(machine: Reader, name: str, *, login: ElasticsearchLogin, to_come: ToCome = frozenset()) -> Plan:
    """There is no such ingest pipeline."""
    server = elasticsearch_at(machine, login, to_come)
    found = (server.find("_ingest", "pipeline", name) or {}).get(name)
    return _absence(server, "Pipeline", name, found, "_ingest", "pipeline", name)


def search_template_present(
    machine: Reader,
    name: str,
    *,
    definition: Definition,
    shape: AnswerShape,
    login: ElasticsearchLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is such a search template, with this source: below `template`, `inline` or `source`, or the whole."""
    return _script(elasticsearch_at(machine, login, to_come), name, definition, shape)


def script_present(
    machine: Reader,
    name: str,
    *,
    script: Definition,
    shape: AnswerShape,
    login: ElasticsearchLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is such a stored script: `lang` (mustache without it) and `source`."""
    return _script(elasticsearch_at(machine, login, to_come), name, script, shape)


def script_absent(machine: Reader, name: str, *, login: ElasticsearchLogin, to_come: ToCome = frozenset()) -> Plan:
    """There is no such stored script or search template."""
    server = elasticsearch_at(machine, login, to_come)
    found = _stored(server, name)
    return _absence(server, "Search template", name, found or None, "_scripts", name)


def _script(server: Elasticsearch, name: str, definition: Mapping[str, Any], shape: AnswerShape) -> Plan:
    if not definition:
        raise StateFailed("A script must have a source")
    wanted = script_as_kept(definition)
    old = _stored(server, name)
    failed = f"Cannot create search template {name}"
    act = _put(server, "_scripts", name, body={"script": wanted}, query=shape.query(), failed=failed)
    return _defined("Search template", name, bool(old), deep_diff(old, wanted), act)


def _stored(server: Elasticsearch, name: str) -> dict[str, Any]:
    """The script as it is kept; empty where there is none."""
    found = server.find("_scripts", name) or {}
    return script_as_kept(found["script"]) if found.get("script") else {}


def _defined(what: str, name: str, exists: bool, changes: Mapping[str, Any], act: Callable[[Machine], None]) -> Plan:
    if not changes:
        return Plan(comment=f"{what} {name} is already present")
    state = "exists with wrong configuration and will be overridden" if exists else "does not exist and will be created"
    return _turning(
        changes,
        act,
        pending=f"{what} {name} {state}",
        done=f"Successfully {'replaced' if exists else 'created'} {what.lower()} {name}",
    )


def _absence(server: Elasticsearch, what: str, name: str, found: Any, *path: str) -> Plan:
    if found is None:
        return Plan(comment=f"{what} {name} is already absent")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        if not (server.delete(*path) or {}).get("acknowledged"):
            raise StateFailed(f"Failed to remove {what.lower()} {name} for unknown reasons")

    return _turning(
        {"old": found},
        act,
        pending=f"{what} {name} will be removed",
        done=f"Successfully removed {what.lower()} {name}",
    )


def _put(
    server: Elasticsearch, *path: str, body: Mapping[str, Any], query: Mapping[str, Any], failed: str
) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        answer = server.ask("PUT", *path, body=dict(body), query=query) or {}
        if not answer.get("acknowledged"):
            raise StateFailed(f"{failed}, {answer}")

    return act


def _alias_as_kept(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as the server keeps it: one routing is that of both ways."""
    kept = dict(wanted)
    routing = kept.pop("routing", None)
    both = {} if routing is None else {"index_routing": routing, "search_routing": routing}
    return {**both, **kept}


def _alias_changes(found: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """As Salt has them of one index; of several, by index."""
    each = {index: deep_diff(old or {}, kept) for index, old in found.items() if old != kept}
    if len(found) == 1:
        [one] = each.values()
        return one or {"new": dict(kept)}
    return {
        word: {index: one.get(word, {}) for index, one in each.items()}
        for word in ("old", "new")
        if word == "new" or any(word in one for one in each.values())
    }


def _turning(changes: Mapping[str, Any], act: Callable[[Machine], None], *, pending: str, done: str) -> Plan:
    """A plan of one act that makes all of the changes."""
    first, *others = changes.items()
    return Plan(
        changes=(
            Change(key=first[0], reported=first[1], act=act),
            *(Change(key=key, reported=value, act=lambda machine: None) for key, value in others),
        ),
        pending=pending,
        done=done,
    )


STATES: Mapping[str, StateFunction] = {
    "alias_absent": alias_absent,
    "alias_present": alias_present,
    "index_absent": index_absent,
    "index_present": index_present,
    "index_template_absent": index_template_absent,
    "index_template_present": index_template_present,
    "pipeline_absent": pipeline_absent,
    "pipeline_present": pipeline_present,
    "script_absent": script_absent,
    "script_present": script_present,
    "search_template_absent": script_absent,
    "search_template_present": search_template_present,
}
