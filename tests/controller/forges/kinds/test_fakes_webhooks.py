"""Webhooks of the fakes over the whole life of a pull request: signed as each forge does it, lost and doubled."""

from __future__ import annotations

import http.server
import threading

import pytest
from forges.all_forges import FAKES

from controller.forges import webhooks
from controller.forges.pull_hints import same_project

PROJECT = "Org/states"


@pytest.fixture
def receiver():
    """Address of a hook, and the deliveries that it got: (headers, body)."""
    got = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            """Nothing is logged."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", got
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", FAKES)
def test_the_hook_takes_and_understands_each(name, receiver):
    address, got = receiver
    with FAKES[name]() as fake:
        fake.hook = address
        fake.model.project(PROJECT, alice="write")
        pull = fake.model.open(PROJECT)
        fake.model.push(pull, force=True)
        fake.model.edit_title(pull, "Other")
        comment = fake.model.comment(pull, "alice", "/saltern preview")
        fake.model.edit_comment(pull, comment, "other")
        fake.model.close(pull)
        fake.model.reopen(pull)
        fake.model.merge(pull)
        fake.flush()
        assert [status for _, status in fake.deliveries] == [202] * 8
    for headers, body in got:
        assert webhooks.verify(fake.secret, headers, body)
        assert not webhooks.verify(b"another", headers, body)
        hint = webhooks.pull_of(headers, webhooks.payload_of(body))
        assert hint is not None
        assert same_project(hint.project, PROJECT)
        assert hint.number == 1
    names = [webhooks.delivery_of(headers, webhooks.payload_of(body)) for headers, body in got]
    assert all(names)
    assert len(set(names)) == len(got) == 8


@pytest.mark.parametrize("name", FAKES)
def test_one_is_lost_and_one_comes_twice(name, receiver):
    address, got = receiver
    with FAKES[name]() as fake:
        fake.hook, fake.lost = address, 1
        fake.model.project(PROJECT, alice="write")
        pull = fake.model.open(PROJECT)
        fake.flush()
        assert got == []
        fake.doubled = 1
        fake.model.push(pull)
        fake.flush()
    names = [webhooks.delivery_of(headers, webhooks.payload_of(body)) for headers, body in got]
    assert len(names) == 2
    assert names[0] == names[1]
