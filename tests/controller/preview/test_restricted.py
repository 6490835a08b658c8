"""Previews of what strangers wrote: no Python of the tree, dummies for secrets, nobody is asked."""

import asyncio

import pytest

from controller.compilation.compile_ports import ports_of
from controller.compilation.compile_rpc import Capabilities, PortCall, ports_over
from controller.compilation.compile_rpc_server import RpcServer
from controller.config.sections import PortOptions
from controller.schema.requests import PreviewQuestion
from highstate.compile_options import CompileOptions
from highstate.dummy_pillar import DummyPillar
from highstate.dummy_ports import dummy_text, without_secrets
from highstate.types import Minion

VAULT = "{server: {url: 'https://127.0.0.1:1'}, auth: {token: hidden}}"
SECRET = "site: {file.managed: [{name: /tmp/x, contents: {{ salt['vault.read_secret']('secret/db', 'password') }}}]}\n"
PLAIN = "site: {file.managed: [{name: /tmp/x, contents: plain}]}\n"
PYTHON = "#!py\ndef run():\n    return {'site': {'test.nop': []}}\n"


@pytest.fixture
async def controller(make_controller):
    controller = make_controller({"web.sls": PLAIN}, vault=VAULT, preview_py_renderer="true")
    controller.minion("web1")
    await controller.go_live()
    return controller


async def previewed(controller, head, *, restricted):
    await asyncio.to_thread(controller.fetch)
    question = PreviewQuestion(base="main", head=head, live="all", restricted=restricted)
    *_, last = [item async for item in controller.service.preview(question)]
    return last.report


async def test_a_secret_is_a_dummy(controller):
    controller.repository.commit({"web.sls": SECRET}, branch="feature")
    report = await previewed(controller, "feature", restricted=True)
    assert report.restricted
    [one] = report.classes
    [contents] = one.resources[0].fields
    assert contents.old == "plain"
    assert "secret" in contents.new, "the dummy, or its fingerprint"
    assert "hidden" not in str(report)
    assert one.tests == (), "nobody is asked, whatever the question says"
    assert (await previewed(controller, "feature", restricted=False)).broken, "the vault is asked, and is not there"


async def test_no_python_of_the_tree_runs(controller):
    controller.repository.commit({"web.sls": PYTHON}, branch="feature")
    assert (await previewed(controller, "feature", restricted=True)).unknown
    assert not (await previewed(controller, "feature", restricted=False)).broken


def test_the_process_that_compiles_asks_for_nothing():
    def rpc(call):
        raise AssertionError(call)

    ports = ports_over(
        rpc, Capabilities(dummies=DummyPillar(key=b"key"), pillar_sources=("http_json",), top_sources=("ext_nodes",))
    )
    minion = Minion(id="web1")
    assert ports.decrypt.decrypt("message") == dummy_text("plain", "message")
    found = ports.secrets.read_secret("secret/db", minion)
    assert "password" in found
    assert found["password"] == dummy_text("secret", "secret/db?password")
    assert found["password"] != found["user"]
    assert ports.secrets.list_secrets("secret", minion) == ()
    assert ports.pillar_sources["http_json"].pillar(minion, {}, {}) == {}
    assert ports.top_sources["ext_nodes"].tops(minion, {}) == {}


def test_the_controller_answers_nothing_that_is_secret():
    ports = without_secrets(ports_of(PortOptions()))
    server = RpcServer(ports, CompileOptions(), [Minion(id="web1")])
    for call in ("decrypt", "read_secret", "list_secrets", "fleet"):
        assert server.answer(PortCall(port=call, text="x", minion_id="web1")).error
