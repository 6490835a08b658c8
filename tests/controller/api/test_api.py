"""The API over its real sockets."""

from __future__ import annotations

import hashlib
import hmac
import os
import pwd
import socket
import stat
from pathlib import Path

import httpx
import msgspec
import pytest

from controller.api.listening import CannotListen
from controller.api.public import CachedExposition
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.schema.errors import ErrorView
from controller.schema.minions import StatusView


def admin(served) -> httpx.Client:
    transport = httpx.HTTPTransport(uds=str(served.settings.socket), verify=False)
    return httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30, trust_env=False)


def public(served) -> httpx.Client:
    host, port = served.listening.http
    return httpx.Client(base_url=f"http://{host}:{port}", timeout=30, trust_env=False, verify=False)


def with_secret(config_dir: Path, secret: str) -> None:
    with (config_dir / "controller").open("a") as file:
        file.write(f"hook_secret: {secret}\n")


def test_the_socket_is_for_its_user_alone_whatever_the_umask(desk, config_dir, serve_desk):
    before = os.umask(0)
    try:
        with serve_desk(desk, load_settings(config_dir)) as served:
            path = served.settings.socket
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert not path.exists()


def test_status_and_targets(served):
    with admin(served) as client:
        view = msgspec.json.decode(client.get("/status").content, type=StatusView)
        assert [minion.minion for minion in view.minions] == ["db1", "web1", "web2"]
        assert view.remotes[0].error == "connection refused"
        chosen = client.get("/status", params={"expression": "web*"}).json()["minions"]
        assert [minion["minion"] for minion in chosen] == ["web1", "web2"]


def test_refusals_are_json_with_a_status(served):
    with admin(served) as client:
        for path, status, kind in (
            ("/status?expression=zz*", 404, "no-target"),
            ("/status?expression=a&kind=moon", 400, "bad-request"),
            ("/run?id=none", 404, "not-found"),
            ("/history?limit=0", 400, "bad-request"),
            ("/nowhere", 404, "not-found"),
        ):
            response = client.get(path)
            view = msgspec.json.decode(response.content, type=ErrorView)
            assert (response.status_code, view.error) == (status, kind), path
            assert view.message


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"target": 1}', b'{"target": {}, "more": 1}', b"\xff"])
def test_bad_bodies_are_refused(served, body):
    with admin(served) as client:
        response = client.post("/call", content=body, headers={"content-type": "application/json"})
        assert response.status_code == 400
        assert response.json()["error"] == "bad-request"


def test_keys_change_state_and_conflicts_are_told(served, desk):
    with admin(served) as client:
        assert client.post("/keys/accept", json={"names": ["aa:02"]}).json()[0]["state"] == "accepted"
        assert desk.key_views["aa:02"].state == "accepted"
        refused = client.post("/keys/accept", json={"names": ["aa:03"]})
        assert refused.status_code == 409
        assert refused.json()["hint"] == "delete that one first"
        assert client.get("/keys/controller").json() == {"public": "P" * 40, "fingerprint": "cc:cc"}


def test_a_call_streams_lines_and_an_unmatched_target_is_a_status(served):
    with admin(served) as client:
        question = {"target": {"expression": "web*"}, "fun": "test.ping", "args": [1], "kwargs": {"a": None}}
        response = client.post("/call", json=question)
        begun, *lines = [msgspec.json.decode(line) for line in response.iter_lines()]
        assert (begun["t"], begun["minions"]) == ("call-started", ["web1", "web2"])
        assert [(line["t"], line["minion"], line["answered"]) for line in lines] == [
            ("return", "web1", True),
            ("return", "web2", False),
        ]
        assert lines[0]["value"] == {"fun": "test.ping", "args": [1], "kwargs": {"a": None}}
        question["target"] = {"expression": "nobody"}
        assert client.post("/call", json=question).status_code == 404


def test_requests_that_change_something_name_the_user_of_the_socket(served, desk):
    target = {"expression": "web1"}
    requests = {
        "/call": {"target": target, "fun": "test.ping"},
        "/sync": {"target": target},
        "/pause": {"target": target},
        "/resume": {"target": target},
        "/confirm": {"target": target},
        "/preview": {"base": "main", "head": "same"},
        "/keys/accept": {"names": ["aa:02"]},
        "/keys/reject": {"names": ["aa:02"]},
        "/keys/delete": {"names": ["aa:02"]},
        "/remotes/fetch": {},
    }
    with admin(served) as client:
        for path, body in requests.items():
            assert client.post(path, json=body, headers={"User": "mallory"}).is_success, path
    assert desk.users == [pwd.getpwuid(os.geteuid()).pw_name] * len(requests)


def test_a_stream_that_breaks_ends_with_the_error(served, desk):
    desk.broken_stream = True
    with admin(served) as client:
        response = client.post("/call", json={"target": {"expression": "web1"}, "fun": "test.ping"})
        lines = [msgspec.json.decode(line) for line in response.iter_lines()]
    assert [line["t"] for line in lines] == ["call-started", "return", "error"]
    assert lines[2]["message"] == "it broke in the middle"


def test_values_that_json_does_not_know_are_still_answered(served):
    with admin(served) as client:
        response = client.post("/call", json={"target": {"expression": "web1"}, "fun": "strange.values"})
        value = msgspec.json.decode(response.content.splitlines()[1])["value"]
    assert set(value) == {"None", "1", "s", "b'k'"} or set(value) == {"None", "1", "s", "k"}


def test_a_listener_that_leaves_is_noticed(served, desk, wait_for):
    with admin(served) as client, client.stream("GET", "/events") as response:
        lines = response.iter_lines()
        assert next(lines)
        assert desk.listeners == 1
    wait_for(lambda: desk.listeners == 0)


def test_who_leaves_before_the_first_line_is_noticed(served, desk, wait_for):
    with admin(served) as client, pytest.raises(httpx.ReadTimeout):
        client.post("/preview", json={"base": "main", "head": "endless"}, timeout=0.3)
    wait_for(lambda: desk.listeners == 0)


def test_stopping_does_not_wait_for_listeners(desk, config_dir, serve_desk, wait_for):
    with serve_desk(desk, load_settings(config_dir)) as served:
        client = admin(served)
        stream = client.stream("GET", "/events")
        response = stream.__enter__()
        lines = response.iter_lines()
        assert next(lines)
    wait_for(lambda: desk.listeners == 0)
    with pytest.raises(httpx.HTTPError):
        for _ in lines:
            pass
    client.close()


def test_metrics_have_minions_and_counters(served):
    served.metrics.compiled(0.2, ok=False)
    with public(served) as client:
        response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert 'saltern_minion_health{health="Drifted",minion="web1"} 1.0' in response.text
    assert 'saltern_applied_revision_age_seconds{minion="web1"} 1000.0' in response.text
    assert "saltern_compile_errors_total 1.0" in response.text


def test_metrics_are_made_once_a_second_whoever_asks():
    class Counting(Metrics):
        made = 0

        def exposition(self):
            self.made += 1
            return super().exposition()

    metrics, now = Counting(lambda: 0.0), [100.0]
    cached = CachedExposition(metrics, lambda: now[0])
    first = cached.text()
    metrics.hooked("accepted")
    assert (cached.text(), metrics.made) == (first, 1)
    now[0] += 1.0
    assert b'saltern_hooks_total{result="accepted"} 1.0' in cached.text()[0]
    assert metrics.made == 2


def test_who_reads_openmetrics_gets_it(served):
    with public(served) as client:
        asked = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"
        answer = client.get("/metrics", headers={"accept": asked})
        assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
        assert answer.text.endswith("# EOF\n")
        assert client.get("/metrics").headers["content-type"].startswith("text/plain")


def test_the_network_reaches_nothing_else(served):
    with public(served) as client:
        assert client.get("/healthz").text == "ok\n"
        for path in ("/status", "/keys", "/events", "/run?id=run-1", "/schema"):
            assert client.get(path).status_code == 404
        assert client.post("/keys/accept", json={"names": ["aa:02"]}).status_code == 404


def test_a_hook_about_a_pull_request_is_a_hint(served):
    body = {"action": "opened", "repository": {"full_name": "org/states"}, "pull_request": {"number": 7}}
    with public(served) as client:
        assert client.post("/hook", json=body, headers={"X-GitHub-Event": "pull_request"}).status_code == 202
        assert client.post("/hook", json=body, headers={"X-GitHub-Event": "push"}).status_code == 202
    assert served.hinted == [("org/states", 7)]


def test_a_hook_without_a_secret_is_for_this_machine(served, desk):
    with public(served) as client:
        body = {"repository": {"full_name": "me/states", "clone_url": "https://git/states.git"}}
        assert client.post("/hook", json=body).json() == {"remotes": 1}
        assert desk.fetched == ["https://git/states.git"]
        refused = client.post("/hook", json=body, headers={"X-Forwarded-For": "203.0.113.9"})
        assert refused.status_code == 403
        assert "hook_secret" in refused.json()["hint"]


def test_a_hint_that_fits_nothing_fetches_everything(served, desk):
    with public(served) as client:
        assert client.post("/hook", json={"repository": {"url": "https://elsewhere/x"}}).json() == {"remotes": 2}
        assert client.post("/hook", content=b"\xff\x00[[[[").json() == {"remotes": 2}
        assert client.post("/hook", content=b"[" * 500_000).json() == {"remotes": 2}
        assert client.post("/hook?remote=https://git/states.git").json() == {"remotes": 1}
    assert desk.fetched == ["https://elsewhere/x", None, None, None, "https://git/states.git"]


def test_a_hook_with_a_secret_wants_a_signature_or_token(desk, config_dir, serve_desk):
    with_secret(config_dir, "s3cret")
    body = b'{"repository": {"clone_url": "https://git/states.git"}}'
    good = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    with serve_desk(desk, load_settings(config_dir)) as served, public(served) as client:

        def post(**headers: str) -> int:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.post("/hook", content=body, headers=named).status_code

        assert post() == 403
        assert post(x_hub_signature_256="sha256=" + "0" * 64) == 403
        assert post(x_hub_signature_256="sha256=") == 403
        assert post(x_gitlab_token="s3cre") == 403
        assert post(x_gitlab_token="") == 403
        assert desk.fetched == []
        assert post(x_hub_signature_256=f"sha256={good}") == 202
        assert post(x_gitea_signature=good) == 202
        assert post(x_gitlab_token="s3cret") == 202
        assert client.post("/hook", content=body + b" ", headers={"x-hub-signature-256": f"sha256={good}"}).is_error
        text = client.get("/metrics").text
    assert 'saltern_hooks_total{result="refused"} 6.0' in text
    assert 'saltern_hooks_total{result="accepted"} 3.0' in text


def test_a_delivery_that_comes_again_fetches_nothing(served, desk):
    with public(served) as client:
        body = {"repository": {"clone_url": "https://git/states.git"}}
        for name, remotes in (("one", 1), ("one", 0), ("two", 1)):
            answer = client.post("/hook", json=body, headers={"X-GitHub-Delivery": name, "X-GitHub-Event": "push"})
            assert (answer.status_code, answer.json()) == (202, {"remotes": remotes})
        ping = {"X-GitHub-Delivery": "three", "X-GitHub-Event": "ping"}
        assert client.post("/hook", json=body, headers=ping).json() == {"remotes": 0}
    assert len(desk.fetched) == 2


def test_a_hook_body_is_bounded(served, desk):
    with public(served) as client:
        assert client.post("/hook", content=b"x" * (1024 * 1024 + 1)).status_code == 413
    assert desk.fetched == []


def test_two_controllers_do_not_share_a_socket(served, desk, serve_desk):
    with pytest.raises(CannotListen, match="running already"), serve_desk(desk, served.settings):
        pass
    with admin(served) as client:
        assert client.get("/whoami").status_code == 200


def test_the_socket_of_a_dead_controller_is_replaced_but_a_file_is_not(desk, config_dir, serve_desk):
    settings = load_settings(config_dir)
    settings.sock_dir.mkdir(parents=True, mode=0o700)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(settings.socket))
    dead.close()
    with serve_desk(desk, settings) as served, admin(served) as client:
        assert client.get("/whoami").status_code == 200
    settings.socket.write_text("mine")
    with pytest.raises(CannotListen, match="no socket"), serve_desk(desk, settings):
        pass
    assert settings.socket.read_text() == "mine"


def test_a_folder_that_others_can_write_is_refused(desk, config_dir, serve_desk):
    settings = load_settings(config_dir)
    settings.sock_dir.mkdir(parents=True)
    settings.sock_dir.chmod(0o777)
    with pytest.raises(CannotListen, match="writable by it alone"), serve_desk(desk, settings):
        pass


def test_a_taken_port_says_what_to_do(desk, config_dir, serve_desk):
    settings = load_settings(config_dir)
    taken = socket.create_server(("127.0.0.1", settings.http_port))
    refused = pytest.raises(CannotListen, match="choose another http_port")
    with taken, refused, serve_desk(desk, settings):
        pass
    assert not settings.socket.exists()


def test_port_zero_serves_no_network(desk, config_dir, serve_desk):
    config = config_dir / "controller"
    config.write_text("\n".join(line for line in config.read_text().splitlines() if "http_port" not in line))
    with config.open("a") as file:
        file.write("\nhttp_port: 0\n")
    with serve_desk(desk, load_settings(config_dir)) as served:
        assert served.listening.http is None
