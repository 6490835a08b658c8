"""The OpenAPI document: made of every route, and of everything that their types say."""

from __future__ import annotations

import json

import jsonschema
import pytest
from api_ports import over_socket

from controller.api.app import OPEN_ROUTES, ROUTES, openapi_document
from controller.api.operations import operation_of
from controller.api.permissions import NEEDS
from controller.schema.jobs import JobsQuery
from controller.schema.runs import CausedEntry
from options.field_texts import field_texts


@pytest.fixture(scope="module")
def document():
    return openapi_document()


def operations(document):
    return {f"{method.upper()} {path}": one for path, each in document["paths"].items() for method, one in each.items()}


def test_every_route_is_described_with_what_it_needs(document):
    """A route that is not of `controller.api.operations` has nothing that could be published."""
    found = operations(document)
    assert {name: one["x-saltern-needs"] for name, one in found.items()} == dict(NEEDS)
    assert [name for name, one in found.items() if not one["summary"]] == []
    ids = [one["operationId"] for one in found.values()]
    assert len(set(ids)) == len(ids)


def test_answers_have_types():
    without = [route.paths for route in (*ROUTES, *OPEN_ROUTES) if operation_of(route).answer in (None, object)]
    assert without == []


def test_what_a_question_takes(document):
    found = operations(document)
    limit, minion = (
        next(each for each in found["GET /jobs"]["parameters"] if each["name"] == name) for name in ("limit", "minion")
    )
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}
    assert (minion["required"], minion["in"]) == (False, "query")
    assert minion["description"] == field_texts(JobsQuery)["minion"]
    names = {one["name"]: one for one in found["GET /history"]["parameters"]}
    assert names["minion"]["schema"] == {"type": "string", "maxLength": 300}, "what is not given is no null"
    [needed] = [each["name"] for each in found["GET /search"]["parameters"] if each["required"]]
    assert needed == "q"
    body = found["POST /pause"]["requestBody"]
    assert body["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/TargetQuestion"}
    assert "JobsQuery" not in document["components"]["schemas"], "parameters are no type of a body"


def test_what_is_answered(document):
    found, schemas = operations(document), document["components"]["schemas"]
    keys = found["GET /keys"]["responses"]
    assert keys["200"]["content"]["application/json"]["schema"]["items"] == {"$ref": "#/components/schemas/KeyView"}
    assert {"X-Total-Count", "X-Request-Id"} == set(keys["200"]["headers"])
    assert keys["4XX"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorView"}
    events = found["GET /events"]["responses"]["200"]["content"]
    assert list(events) == ["application/jsonl", "text/event-stream"]
    assert {"$ref": "#/components/schemas/EventView"} in events["application/jsonl"]["x-item-schema"]["anyOf"]
    assert "202" in found["POST /remotes/fetch"]["responses"]
    assert set(schemas["RunView"]["required"]) == set(schemas["RunView"]["properties"]), "answers have all fields"
    assert schemas["CallQuestion"]["required"] == ["target", "fun"]
    assert schemas["HistoryEntry"]["properties"]["outcome"]["description"].startswith("ok, changed, pending")


def test_who_may_how(document):
    found = operations(document)
    assert found["POST /login"]["security"] == [{}]
    assert found["GET /jobs"]["security"] == [{"token": []}, {"session": []}]
    assert found["POST /pause"]["security"] == [{"token": []}, {"session": [], "csrf": []}]


def test_schemas_are_schemas_and_references_lead_somewhere(document):
    for name, schema in document["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema), name
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    named = set(references(document))
    assert len(known) > 100
    assert named <= known


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_texts_below_fields_are_those_of_the_types_that_are_extended_too():
    texts = field_texts(CausedEntry)
    assert texts["fun"] == "The function of a `call`."
    assert texts["approvals"] == "Of that rollout."
    assert texts["minion"] == ""


def test_it_is_published(served, document):
    with over_socket(served) as client:
        answer = client.get("/openapi.json")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == json.loads(json.dumps(document))
