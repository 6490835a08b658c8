"""The published OpenAPI document holds against a real controller: schemathesis asks what each operation says it takes.

No answer is a 5xx, and each is as its schema says: what is generated from the document, what is not as it says, and
what a fleet with runs, jobs, previews and a rollout answers to real questions.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import httpx
import jsonschema
import pytest
import requests
import schemathesis
from hypothesis import Phase, given, settings
from rig import Rig, free_ports
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from controller.api.app import openapi_document

MINIONS = {"web1": {"roles": ["web"]}, "db1": {"roles": ["db"]}}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DOCUMENT = openapi_document()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [(method, path) for path, each in DOCUMENT["paths"].items() for method in each]
NOT_DRAWN = {
    "/login": "asks PAM, which waits after what is wrong",
    "/call": "runs functions",
    "/runner": "runs functions",
    "/sync": "waits for minions",
    "/keys/delete": "a glob of it means the minions that the others ask for",
    "/keys/reject": "the same",
    "/keys/controller/rotate": "minions need it",
    "/keys/rotate": "minions need it",
}
"""What is asked as it is meant alone (`ACTS`, and the tests of these routes)."""


class Api:
    """The API of a controller with two minions and three revisions, asked by its administrator's token."""

    def __init__(self, rig, port):
        self.rig = rig
        self.address = f"http://127.0.0.1:{port}/api/v1"
        self.session = requests.Session()
        self.session.trust_env = False
        transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://controller/api/v1") as root:
            token = root.post("/tokens", json={"user": "ada", "seconds": 3600}).json()["token"]
        self.session.headers["authorization"] = f"Bearer {token}"

    def hold(self, case):
        """Ask it, and look whether the answer is as the document says."""
        answer = case.call(base_url=self.address, session=self.session, timeout=60)
        case.validate_response(answer, checks=CHECKS)
        return answer

    def ask(self, method, path, question):
        """The same of a question that is meant."""
        operation = SCHEMA[path][method]
        taken = {"query": question} if method == "get" else {"body": question, "media_type": "application/json"}
        return self.hold(operation.Case(**taken))

    def orchestrate(self):
        """Have an orchestration in the history."""
        items = lines_of(self.ask("post", "/runner", {"fun": "state.orchestrate", "args": ["ping"]}), "post", "/runner")
        assert items[-1]["success"], items[-1]


@pytest.fixture(scope="module")
def api():
    [port] = free_ports(1)
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    plenty = {"address_burst": 100000, "principal_burst": 100000, "failures_per_minute": 100000}
    options = {
        "api": {"port": port, "plain_on_loopback": True},
        "api_roles": {"admin": ["ada"]},
        "limits": {"api_port": plenty},
    }
    with Rig(folder, MINIONS, Path(__file__).parent / "tree", options, forked=True) as rig:
        rig.up()
        (rig.work / "states" / "ping.sls").write_text("pinged: {salt.function: [{name: test.ping}, {tgt: '*'}]}\n")
        waves = "rollout: {waves: [{name: all, target: '*', batch: 1}]}"
        rig.wait_applied(rig.push("The first", {"states/saltern.yaml": ("drift:", f"{waves}\ndrift:")}))
        rig.wait_applied(rig.push("The second", {"pillar/numbers.sls": ("number: 0", "number: 1")}))
        rig.push("A branch", {"pillar/numbers.sls": ("number: 1", "number: 2")}, branch="other")
        found = Api(rig, port)
        found.orchestrate()
        yield found
        assert rig.long_turns() == []
    shutil.rmtree(folder, ignore_errors=True)


def lines_of(answer, method, path):
    """The values of an answer that has one a line; each is as the document says."""
    content = DOCUMENT["paths"][path][method]["responses"]["200"]["content"]["application/jsonl"]
    held = jsonschema.Draft202012Validator({**content["x-item-schema"], "components": DOCUMENT["components"]})
    values = [json.loads(line) for line in answer.text.splitlines()]
    for each in values:
        held.validate(each)
    return values


WEB1 = {"minion": "web1"}
READS = {
    "/status": {"expression": "web*"},
    "/status/fleet": {"by": "environment"},
    "/minions": {"sort": "health", "limit": 1},
    "/minions/presence": {},
    "/minions/detail": WEB1,
    "/keys": {"state": "accepted", "limit": 1},
    "/tokens": {"user": "ada"},
    "/audit": {"limit": 5},
    "/audit/export": {"after": 1},
    "/diff": WEB1,
    "/history": {"causes": "true", "kind": "apply"},
    "/revisions": {"text": "second"},
    "/search": {"q": "web"},
    "/jobs": {"minion": "web1"},
    "/compile": WEB1,
    "/why": WEB1,
    "/blame": {**WEB1, "state": "app-config"},
    "/policy": WEB1,
    "/run": {"id": "RUN"},
    "/job": {"jid": "RUN"},
    "/orchestration": {"jid": "ORCHESTRATION"},
    "/pulls/report": {"forge": "hub", "project": "org/states", "number": 1},
}
"""What each is asked where nothing at all is no question; `RUN` stands for the id of the newest."""
NOT_THERE = {
    "/session": 401,  # it is a browser's
    "/pulls/report": 404,  # there is no forge
    "/reaction": 400,  # no event was answered that one could ask for
}
ACTS = [
    ("/call", {"target": {"expression": "web*"}, "fun": "test.ping", "progress": True}),
    ("/call", {"target": {"expression": "*"}, "fun": "grains.items"}),
    ("/call", {"target": {"kind": "list", "expression": "web1,nobody"}, "fun": "no.such", "kwargs": {"a": [1]}}),
    ("/sync", {"target": {"expression": "*"}, "whole": True, "test": True, "progress": True}),
    ("/runner", {"fun": "manage.up"}),
    ("/runner", {"kind": "wheel", "fun": "key.list_all"}),
    ("/preview", {"base": "main", "head": "other", "live": "all"}),
    ("/preview", {"base": "", "head": "", "live": "none", "revisions": True}),
]
"""What answers lines: body of each question."""


@pytest.mark.parametrize("path", [path for method, path in OPERATIONS if method == "get"])
def test_answers_to_real_questions(api, path):
    known = {"RUN": "/history", "ORCHESTRATION": "/orchestrations"}
    question = dict(READS.get(path, {}))
    for key, value in question.items():
        if value in known:
            newest = api.rig.ask(known[value], limit=1)[0]
            question[key] = newest["run_id" if value == "RUN" else "jid"]
    if path == "/events":
        question = {"follow": "false", "since": "3600"}
    answer = api.ask("get", path, question)
    assert answer.status_code == NOT_THERE.get(path, 200), answer.text
    if answer.headers["content-type"] == "application/jsonl":
        assert lines_of(answer, "get", path)


@pytest.mark.parametrize(("path", "body"), ACTS, ids=[f"{path} {body.get('fun', '')}" for path, body in ACTS])
def test_lines_of_what_goes_on(api, path, body):
    values = lines_of(api.ask("post", path, body), "post", path)
    assert values[-1]["t"] != "error", values[-1]


@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if each[1] not in NOT_DRAWN])
def test_answers_to_drawn_questions(api, method, path):
    """What the document allows and what it does not, in its order: the tests before this one need what is there."""
    told = DOCUMENT["paths"][path][method]
    fixed = {"query": {"follow": False}} if path == "/events" else {}
    modes = [
        GenerationMode.POSITIVE,
        *([GenerationMode.NEGATIVE] if told["parameters"] or "requestBody" in told else []),
    ]
    for mode, examples in zip(modes, (5, 3), strict=False):

        @settings(max_examples=examples, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
        @given(case=SCHEMA[path][method].as_strategy(generation_mode=mode, **fixed))
        def ask(case):
            api.hold(case)

        ask()
