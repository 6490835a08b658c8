"""States and functions of Elasticsearch, on a server that has its API."""

import json

import pytest
from elasticsearch_server import ElasticsearchServer, program

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import Context, Modules
from minion.execution.errors import CallFailed
from minion.machine.machine import LocalMachine

MAPPINGS = {"properties": {"user": {"type": "keyword"}}}
PIPELINE = {"description": "d", "processors": [{"set": {"field": "a", "value": "{{_ingest.timestamp}}"}}]}


@pytest.fixture(scope="module")
def server():
    if program() is None:
        pytest.skip("there is no osmem-server")
    one = ElasticsearchServer()
    yield one
    one.close()


@pytest.fixture
def at(server):
    return {"hosts": server.url}


@pytest.fixture
def call(server):
    modules = Modules(Context(minion_id="web1", opts={"elasticsearch": {"host": server.url}}))
    return lambda fun, *args, **kwargs: modules.call(f"elasticsearch.{fun}", args, kwargs)


def test_indices(converge, call, at):
    definition = {"settings": {"index": {"number_of_shards": 2}}, "mappings": MAPPINGS}
    made = converge("elasticsearch.index_present", "web", definition=definition, **at)
    assert (made.changes, made.comment) == ({"new": definition}, "Successfully created index web")
    assert call("index_get", "web")["web"]["settings"]["index"]["number_of_shards"] == "2"
    assert converge("elasticsearch.index_present", "web", **at).comment == "Index web is already present"
    parts = {"settings": {"number_of_replicas": 0}, "mappings": MAPPINGS, "wait_for_active_shards": 1, "timeout": "9s"}
    made = converge("elasticsearch.index_present", "other", **parts, **at)
    assert made.changes == {"new": {"settings": {"number_of_replicas": 0}, "mappings": MAPPINGS}}
    assert call("mapping_get", "other") == {"other": {"mappings": MAPPINGS}}
    kept = call("index_get", "web")["web"]
    removed = converge("elasticsearch.index_absent", "web", **at)
    assert (removed.changes, removed.comment) == ({"old": kept}, "Successfully removed index web")
    assert converge("elasticsearch.index_absent", "web", **at).comment == "Index web is already absent"
    assert converge("elasticsearch.index_absent", "oth*", **at).comment == "Index oth* is already absent"
    refused = converge("elasticsearch.index_present", "BAD", **at)
    assert refused.result is False
    assert "invalid_index_name_exception" in refused.comment


def test_a_definition_from_a_file(converge, call, at, tmp_path):
    place = tmp_path / "index.json"
    place.write_text(json.dumps({"mappings": MAPPINGS}))
    machine = LocalMachine(sources_port=MemoryFiles({"base": {"es/index.json": place.read_bytes(), "es/bad": b"- a"}}))
    for name, source in (("a", "salt://es/index.json"), ("b", str(place))):
        made = converge("elasticsearch.index_present", f"file-{name}", source=source, machine=machine, **at)
        assert made.changes == {"new": {"mappings": MAPPINGS}}
        call("index_delete", f"file-{name}")
    for source, why in (("salt://no", "There is no file salt://no"), ("salt://es/bad", "salt://es/bad is no mapping")):
        failed = converge("elasticsearch.index_present", "x", source=source, machine=machine, **at)
        assert (failed.result, failed.comment.startswith(why)) == (False, True)
    both = converge("elasticsearch.index_present", "x", source="salt://no", settings={"a": 1}, machine=machine, **at)
    assert both.comment == "Either a definition or source should be specified but not both."


def test_aliases(converge, call, at):
    for index in ("log-1", "log-2"):
        call("index_create", index)
    of_one = {"index": "log-1", **at}
    plain = converge("elasticsearch.alias_present", "a", **of_one)
    assert (plain.changes, plain.comment) == ({"new": {}}, "Successfully created alias a for index log-1")
    assert (
        converge("elasticsearch.alias_present", "a", **of_one).comment == "Alias a for index log-1 is already present"
    )
    filtered = {"definition": {"filter": {"term": {"user": "k"}}, "routing": "1"}}
    made = converge("elasticsearch.alias_present", "a", **filtered, **of_one)
    wanted = {"index_routing": "1", "search_routing": "1", "filter": {"term": {"user": "k"}}}
    assert (made.changes, made.comment) == ({"new": wanted}, "Successfully replaced alias a for index log-1")
    assert call("alias_get", "log-1", "a") == {"log-1": {"aliases": {"a": wanted}}}
    both = converge("elasticsearch.alias_present", "a", indices="log-*", filter_={"term": {"user": "z"}}, **at)
    filter_ = {"filter": {"term": {"user": "z"}}}
    assert both.changes == {
        "old": {"log-1": {**wanted, "filter": {"term": {"user": "k"}}}, "log-2": {}},
        "new": {"log-1": filter_, "log-2": filter_},
    }
    assert call("alias_get", aliases="a") == {name: {"aliases": {"a": filter_}} for name in ("log-1", "log-2")}
    removed = converge("elasticsearch.alias_absent", "a", **of_one)
    assert (removed.changes, removed.comment) == ({"old": filter_}, "Successfully removed alias a for index log-1")
    assert converge("elasticsearch.alias_absent", "a", **of_one).comment == "Alias a for index log-1 is already absent"
    assert converge("elasticsearch.alias_present", "a", index="none", **at).comment == "There is no index none"


def test_templates(converge, call, at):
    definition = {"index_patterns": ["t-*"], "order": 1, "settings": {"number_of_shards": 1}}
    made = converge("elasticsearch.index_template_present", "t", definition=json.dumps(definition), **at)
    assert (made.changes, made.comment) == ({"new": definition}, "Successfully created index template t")
    there = converge("elasticsearch.index_template_present", "t", definition={"index_patterns": ["u-*"]}, **at)
    assert there.comment == "Index template t is already present"
    checked = {"check_definition": True, **at}
    same = converge("elasticsearch.index_template_present", "t", definition=definition, **checked)
    assert same.comment == "Index template t is already present and up to date"
    parts = {
        "index_patterns": "t-*",
        "order": 1,
        "settings": {"index": {"number_of_shards": 1, "codec": "best_compression"}},
    }
    updated = converge("elasticsearch.index_template_present", "t", **parts, **checked)
    assert updated.changes == {"new": {"settings": {"index.codec": "best_compression"}}}
    assert updated.comment == "Successfully updated index template t"
    less = converge("elasticsearch.index_template_present", "t", index_patterns=["t-*"], mappings=MAPPINGS, **checked)
    assert less.changes == {
        "old": {"order": 1, "settings": {"index.number_of_shards": "1", "index.codec": "best_compression"}},
        "new": {"order": 0, "mappings": MAPPINGS},
    }
    kept = call("index_template_get", "t")["t"]
    removed = converge("elasticsearch.index_template_absent", "t", **at)
    assert (removed.changes, removed.comment) == ({"old": kept}, "Successfully removed index template t")
    assert converge("elasticsearch.index_template_absent", "t", **at).comment == "Index template t is already absent"


def test_pipelines(converge, call, at):
    made = converge("elasticsearch.pipeline_present", "p", definition=PIPELINE, **at)
    assert (made.changes, made.comment) == ({"new": PIPELINE}, "Successfully created pipeline p")
    same = converge("elasticsearch.pipeline_present", "p", **PIPELINE, **at)
    assert same.comment == "Pipeline p is already present"
    other = converge("elasticsearch.pipeline_present", "p", **PIPELINE, version=3, meta={"by": "us"}, **at)
    assert other.changes == {"new": {"version": 3, "_meta": {"by": "us"}}}
    assert other.comment == "Successfully replaced pipeline p"
    assert call("pipeline_get", "p") == {"p": {**PIPELINE, "version": 3, "_meta": {"by": "us"}}}
    assert converge("elasticsearch.pipeline_present", "p", description="d", **at).result is False
    removed = converge("elasticsearch.pipeline_absent", "p", **at)
    assert removed.comment == "Successfully removed pipeline p"
    assert converge("elasticsearch.pipeline_absent", "p", **at).comment == "Pipeline p is already absent"


def test_search_templates_and_scripts(converge, call, at):
    made = converge("elasticsearch.search_template_present", "s", definition={"inline": {"size": 10}}, **at)
    wanted = {"lang": "mustache", "source": {"size": 10}}
    assert (made.changes, made.comment) == ({"new": wanted}, "Successfully created search template s")
    same = converge("elasticsearch.script_present", "s", script={"source": '{"size": 10}'}, **at)
    assert same.comment == "Search template s is already present"
    script = {"lang": "painless", "source": "doc['a'].value"}
    other = converge("elasticsearch.script_present", "s", script=script, **at)
    assert (other.changes, other.comment) == ({"old": wanted, "new": script}, "Successfully replaced search template s")
    assert call("script_get", "s")["script"] == script
    removed = converge("elasticsearch.search_template_absent", "s", **at)
    assert (removed.changes, removed.comment) == ({"old": script}, "Successfully removed search template s")
    assert converge("elasticsearch.script_absent", "s", **at).comment == "Search template s is already absent"
    assert converge("elasticsearch.script_present", "s", script={}, **at).comment == "A script must have a source"


def test_profiles_and_servers_that_do_not_answer(converge, server):
    profile = {"hosts": ["127.0.0.1:1", server.url.removeprefix("http://")], "username": "u", "password": "secret"}
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"cluster": profile})
    made = converge("elasticsearch.index_present", "by-profile", profile="cluster", machine=machine)
    assert made.changes == {"new": {}}
    assert converge("elasticsearch.index_absent", "by-profile", profile=profile).changes
    missing = converge("elasticsearch.index_absent", "x", profile="no-such")
    assert missing.comment == "There is no profile no-such: an option of this name must be a mapping"
    silent = converge("elasticsearch.index_absent", "x", hosts="http://u:secret@127.0.0.1:1")
    assert silent.comment == "Elasticsearch does not answer: http://127.0.0.1:1: [Errno 111] Connection refused"
    odd = converge("elasticsearch.index_absent", "x", hosts="ftp://u:secret@h")
    assert odd.comment == "Elasticsearch has no address of http or https: ftp://h"


def test_an_alias_of_an_index_that_an_earlier_state_makes(server, at):
    chunks = {
        name: Chunk(state="elasticsearch", fun=fun, id=name, name=name, sls="s", arguments={**at, **more})
        for name, fun, more in (("fresh", "index_present", {}), ("al", "alias_present", {"index": "fresh"}))
    }
    machine = LocalMachine(sources_port=MemoryFiles({}))
    foretold = run(chunks, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)
    assert [result.result for result in foretold.values()] == [None, None]
    assert "There is no index fresh" in foretold["al"].comment
    done = run(chunks, StateEngine(machine, test=False), test=False, clock=lambda: 0.0)
    assert [result.changes for result in done.values()] == [{"new": {}}, {"new": {}}]


def test_functions_of_indices(call):
    assert call("index_create", "f", settings={"index": {"number_of_replicas": 0}}) is True
    assert call("index_create", "f") is True
    assert (call("index_exists", "f"), call("index_exists", "none"), call("index_get", "none")) == (True, False, None)
    assert call("alias_create", "f", "fa", '{"filter": {"term": {"a": 1}}}', timeout="9s") is True
    assert (call("alias_exists", "fa"), call("alias_exists", "fa", "none")) == (True, False)
    assert (call("alias_delete", "f", "fa"), call("alias_delete", "f", "fa")) == (True, True)
    assert call("mapping_create", "f", properties={"a": {"type": "keyword"}}) is True
    assert call("mapping_get", "f")["f"]["mappings"] == {"properties": {"a": {"type": "keyword"}}}
    assert call("index_put_settings", index="f", settings={"index": {"number_of_replicas": 1}}) is True
    assert call("index_get_settings", index="f")["f"]["settings"]["index"]["number_of_replicas"] == "1"
    assert call("document_create", "f", document={"a": "x"}, id_="1", refresh=True)["result"] == "created"
    assert call("document_create", "f", {"a": "y"}, refresh=True)["result"] == "created"
    assert (call("document_exists", "f", "1"), call("document_exists", "f", id="2")) == (True, False)
    assert call("document_update", "f", "1", doc={"b": 1}, refresh=True)["result"] == "updated"
    assert call("document_get", "f", "1")["_source"] == {"a": "x", "b": 1}
    assert call("search", "f", query={"term": {"a": "x"}}, size=1)["hits"]["total"]["value"] == 1
    assert call("bulk", [{"index": {"_id": "3"}}, {"a": "z"}], "f")["errors"] is False
    assert (call("document_delete", "f", "1")["result"], call("document_delete", "f", "1")) == ("deleted", None)
    assert (call("index_close", "f"), call("index_open", "f")) == (True, True)
    assert call("flush", "f")["_shards"]["failed"] == 0
    assert (call("index_delete", "f"), call("index_delete", "f")) == (True, True)
    with pytest.raises(CallFailed, match="Elasticsearch answers with 400: invalid_index_name_exception"):
        call("index_create", "BAD")


def test_functions_of_the_cluster(call):
    assert call("ping") is True
    assert call("ping", profile={"host": "127.0.0.1:1"}) is False
    with pytest.raises(CallFailed, match="does not answer"):
        call("ping", allow_failure=True, profile={"host": "127.0.0.1:1"})
    assert call("info")["version"]["number"]
    assert call("node_info")["_nodes"]["failed"] == 0
    assert call("cluster_health")["status"] in ("green", "yellow")
    assert call("cluster_stats")["_nodes"]["total"] == 1
    assert call("cluster_get_settings") == {"persistent": {}, "transient": {}}
    assert call("index_template_create", "ft", {"index_patterns": ["ft-*"]}, order=2) is True
    assert (call("index_template_exists", "ft"), call("template_exists", "no")) == (True, False)
    assert call("index_template_get", "ft")["ft"]["order"] == 2
    assert (call("index_template_delete", "ft"), call("index_template_get", "ft")) == (True, None)
    assert call("pipeline_create", "fp", **PIPELINE) is True
    assert call("pipeline_get", id="fp") == {"fp": PIPELINE}
    assert (call("pipeline_delete", "fp"), call("pipeline_delete", "fp"), call("pipeline_get", "fp")) == (
        True,
        True,
        None,
    )
    assert call("search_template_create", "fs", {"template": {"size": 1}}) is True
    assert call("search_template_get", "fs")["script"]["source"] == '{"size":1}'
    assert (call("search_template_delete", "fs"), call("script_delete", "fs"), call("script_get", "fs")) == (
        True,
        True,
        None,
    )
    assert call("script_create", "fs", {"lang": "painless", "source": "1"}) is True
    assert call("repository_create", "r", type_="fs", settings={"location": "/x"}, timeout="9s") is True
    assert call("repository_get", "r") == {"r": {"type": "fs", "settings": {"location": "/x"}}}
    assert (call("repository_delete", "r"), call("repository_delete", "r")) == (True, True)
    with pytest.raises(CallFailed, match="unrecognized parameters"):
        call("pipeline_create", "fp", **PIPELINE, nonsense=1)
    with pytest.raises(CallFailed, match="You must provide a body with settings"):
        call("cluster_put_settings")
