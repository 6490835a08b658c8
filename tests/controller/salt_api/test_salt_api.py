"""The shapes of salt-api over TLS, with a controller of memory behind them: who may what, in which forms."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from api_ports import over_socket, over_tls, token_of, with_port

from controller.api.permissions import ANYONE
from controller.config.limits import BorderLimits
from controller.config.settings import load_settings
from controller.salt_api.app import salt_api_app
from controller.salt_api.credentials import NEEDS, PREFIX
from controller.schema.events import EventView
from controller.schema.runners import RunnerReturn

RULES = """
publisher_acl:
  caller: [test.*, '@runner']
api_roles:
  viewer: [viola]
  admin: [ada]
hook_secret: known to the forge
"""
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


@pytest.fixture
def serve_port(desk, config_dir, serve_desk):
    """Serves the API on a port; to be entered."""

    def serve(more="", options=""):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with_port(config_dir, port, RULES + more, options=options)
        return serve_desk(desk, load_settings(config_dir))

    return serve


def salt(served, token="", **headers):
    shown = {"x-auth-token": token} if token else {}
    return over_tls(served, PREFIX, **shown, **headers)


def routes():
    app = salt_api_app(None, None, BorderLimits(), lambda _: None)
    found = []
    for route in app.routes:
        for method in getattr(route, "route_handler_map", ()):
            if method != "OPTIONS":
                template = route.path_format.removeprefix(PREFIX) or "/"
                path = "/".join("x" if part.startswith("{") else part for part in template.split("/"))
                found.append((method, path, NEEDS.get(f"{method} {template}")))
    return sorted(found, key=lambda each: each[:2])


def test_every_route_is_in_the_table_and_no_other():
    assert [each for each in routes() if each[2] is None] == []
    assert len(routes()) == len(NEEDS)


def test_each_route_refuses_who_shows_nothing_or_nothing_good(serve_port, desk):
    with serve_port("limits: {api_port: {address_burst: 100000, failures_per_minute: 100000}}") as served:
        good = token_of(served, "ada")
        with salt(served) as client:
            for method, path, needed in routes():
                for name, headers in {
                    "nothing": {},
                    "garbage": {"x-auth-token": "garbage"},
                    "almost": {"x-auth-token": good[:-1]},
                    "a cookie that is none": {"cookie": "session_id=garbage"},
                    "a name": {"x-forwarded-user": "ada"},
                }.items():
                    answer = client.request(method, path, headers=headers, json=[PING] if method == "POST" else None)
                    expected = (401, 400) if needed == ANYONE else (401,)
                    if needed == ANYONE and method == "GET" and name in ("nothing", "a name"):
                        expected = (200,)
                    assert answer.status_code in expected, (method, path, name, answer.text)
    assert desk.users == []


def test_functions_are_called_by_the_rules_of_the_api(serve_port, desk):
    calls = [
        ("caller", PING, 200),
        ("caller", {**PING, "fun": "cmd.run"}, 401),
        ("caller", {"client": "runner", "fun": "manage.up"}, 200),
        ("caller", {"client": "wheel", "fun": "key.list_all"}, 401),
        ("caller", {**PING, "ret": "mysql"}, 401),
        ("viola", PING, 401),
        ("ada", {"client": "wheel", "fun": "key.list_all"}, 200),
        ("ada", {**PING, "client": "ssh"}, 400),
        ("ada", {**PING, "client": "nope"}, 400),
        ("ada", {**PING, "tgt": ["db1", "web1"]}, 200),
        ("ada", {**PING, "wrong": 1}, 400),
        ("ada", {"client": "local", "fun": "test.ping"}, 400),
        ("ada", {**PING, "tgt_type": "regex"}, 400),
        ("ada", {**PING, "timeout": "soon"}, 400),
    ]
    with serve_port() as served:
        tokens = {name: token_of(served, name) for name in ("caller", "viola", "ada")}
        narrow = token_of(served, "ada", scopes=["read"])
        for user, chunk, status in calls:
            with salt(served, tokens[user]) as client:
                answer = client.post("/", json=[chunk])
                assert answer.status_code == status, (user, chunk, answer.text)
        with salt(served, narrow) as client:
            assert client.post("/", json=[PING]).status_code == 401
        with over_socket(served) as admin:
            kept = [(row["user"], row["action"], row["allowed"]) for row in admin.get("/audit").json()["rows"]]
    assert desk.users == ["caller", "caller", "ada", "ada"]
    assert ("caller", "call cmd.run", False) in kept
    assert ("ada", "call wheel key.list_all", True) in kept


def test_values_have_salts_shapes(serve_port):
    with serve_port() as served, salt(served, token_of(served, "ada")) as client:

        def low(**chunk):
            answer = client.post("/", json=chunk)
            assert answer.status_code == 200, answer.text
            return answer.json()["return"]

        value = {"fun": "test.arg", "args": ["a", 2], "kwargs": {"b": 3, "c": None}}
        arguments = {"fun": "test.arg", "arg": ["a", 2, "b=3"], "kwarg": {"c": None}}
        assert low(client="local", tgt="*", **arguments) == [{"db1": value, "web1": value, "web2": False}]
        full = low(client="local", tgt="db1", full_return=True, fun="test.ping")
        assert full[0]["db1"].keys() == {"ret", "retcode", "jid"}
        begun = low(client="local_async", tgt="web*", fun="test.ping", expr_form="glob")
        assert begun == [{"jid": "20261122120000000001", "minions": ["web1", "web2"]}]
        assert low(client="local_async", tgt="nobody", fun="test.ping") == [{}]
        batched = low(client="local_batch", tgt="*", fun="test.ping", batch=1)
        assert [list(each) for each in batched] == [["db1"], ["web1"], ["web2"]]
        assert low(client="runner", fun="test.arg", arg="a") == [["a"]]
        [event] = low(client="runner", fun="test.arg", arg=["a"], full_return=True)
        assert (event["tag"], event["data"]["return"], event["data"]["fun"]) == (
            "salt/run/1/ret", ["a"], "runner.test.arg",
        )  # fmt: skip
        [wheel] = low(client="wheel", fun="key.finger", match="*")
        assert (wheel["tag"], wheel["data"]["tag"], wheel["data"]["success"]) == ("salt/wheel/1", "salt/wheel/1", True)
        assert low(client="runner_async", fun="test.arg") == [{"tag": "salt/run/1", "jid": "1"}]
        both = client.post("/", json=[PING, {"client": "runner", "fun": "test.arg", "arg": [1]}]).json()["return"]
        assert both[1] == [1]


def test_bodies_and_answers_in_each_form(serve_port):
    with serve_port() as served, salt(served, token_of(served, "ada")) as client:
        asked = {**PING, "arg": ["x"]}
        forms = {
            "application/json": json.dumps([asked]),
            "application/x-yaml": yaml.safe_dump([asked]),
            "text/yaml": yaml.safe_dump(asked),
            "text/plain": json.dumps(asked),
            "application/x-www-form-urlencoded": "client=local&tgt=*&fun=test.ping&arg=x",
        }
        for form, body in forms.items():
            answer = client.post("/", content=body, headers={"content-type": form})
            assert answer.json()["return"][0]["db1"]["args"] == ["x"], form
            as_yaml = client.post("/", content=body, headers={"content-type": form, "accept": "application/x-yaml"})
            assert as_yaml.headers["content-type"] == "application/x-yaml"
            assert yaml.safe_load(as_yaml.text) == answer.json()
        for form, body, status in (
            ("application/xml", "<a/>", 406),
            ("application/json", "{", 400),
            ("application/json", "[" * 100_000, 400),
            ("application/json", '"text"', 400),
            ("application/json", "[[1]]", 400),
            ("application/x-yaml", "a: &a [1]\nb: *a\n", 400),
            ("application/x-yaml", "[" * 5_000, 400),
            ("application/json", "", 400),
            ("application/json", json.dumps([PING] * 101), 400),
            ("application/x-www-form-urlencoded", "&".join(["a=1"] * 2000), 400),
            ("application/json", " " * (1024 * 1024 + 1), 413),
        ):
            answer = client.post("/", content=body, headers={"content-type": form})
            assert answer.status_code == status, (form, body[:20], answer.text)
        assert client.get("/", headers={"accept": "text/html"}).status_code == 406
        assert "local_async" in client.get("/", headers={"accept": "*/*"}).json()["clients"]


def test_a_token_logs_in_and_its_cookie_belongs_to_its_own_pages(serve_port):
    with serve_port() as served:
        token = token_of(served, "caller")
        with salt(served) as client:
            answer = client.post("/login", json={"username": "caller", "password": token, "eauth": "token"})
            [told] = answer.json()["return"]
            assert told["perms"] == ["test.*", "@runner"]
            assert (told["user"], told["eauth"], told["token"]) == ("caller", "token", token)
            assert told["expire"] - told["start"] == pytest.approx(600, abs=30)
            assert answer.headers["x-auth-token"] == token
            cookie = answer.headers["set-cookie"].lower()
            assert all(word in cookie for word in ("secure", "httponly", "samesite=strict", "path=/salt"))
            assert client.post("/", json=PING).status_code == 200, "by the cookie"
            elsewhere = {"origin": "https://evil.example"}
            for headers in (elsewhere, {"sec-fetch-site": "cross-site"}):
                assert client.post("/", json=PING, headers=headers).status_code == 401
                with salt(served) as other:
                    login = {"username": "caller", "password": token, "eauth": "token"}
                    assert "set-cookie" not in other.post("/login", json=login, headers=headers).headers
            refused = client.options("/", headers={**elsewhere, "access-control-request-method": "POST"})
            assert "access-control-allow-origin" not in refused.headers
            for creds in (
                {"username": "ada", "password": token, "eauth": "token"},
                {"username": "caller", "password": "no", "eauth": "token"},
                {"username": "root", "password": "x", "eauth": "pam"},
                {"username": "root", "password": "x", "eauth": "auto"},
                {},
            ):
                assert client.post("/login", json=creds).status_code == 401, creds
            assert client.post("/login", json=[creds, creds]).status_code == 400
            assert client.post("/logout").json() == {"return": "Your token has been cleared"}
        with salt(served, token) as client:
            assert client.post("/", json=PING).status_code == 401, "the token was taken back"


def test_a_login_page_of_who_may_call_nothing_has_no_perms(serve_port):
    with serve_port() as served, salt(served) as client:
        for user, scopes, perms in (
            ("viola", [], {}),
            ("ada", [], [".*", "@runner", "@wheel"]),
            ("caller", ["read"], {}),
        ):
            token = token_of(served, user, scopes=scopes)
            told = client.post("/login", json={"password": token, "eauth": "token"}).json()["return"][0]
            assert told["perms"] == perms
        assert client.get("/login").json() == {"status": None, "return": "Please log in"}


def test_run_takes_credentials_in_each_chunk(serve_port, desk):
    with serve_port() as served, salt(served) as client:
        token = token_of(served, "caller")
        assert client.post("/run", json=[{**PING, "token": token}]).status_code == 200
        by_name = {**PING, "username": "caller", "password": token, "eauth": "token"}
        assert client.post("/run", json=[by_name]).status_code == 200
        for chunk in (PING, {**PING, "token": "x"}, {**by_name, "password": "x"}, {**by_name, "eauth": "pam"}):
            assert client.post("/run", json=[chunk]).status_code == 401, chunk
        assert client.post("/token", json={"username": "caller", "password": token, "eauth": "token"}).json()[0][
            "name"
        ] == "caller"  # fmt: skip
        assert client.post("/token", json={"username": "caller"}).status_code == 400
    assert desk.users == ["caller", "caller"]


def test_events_are_salts_server_sent_events_for_viewers(serve_port, desk):
    async def events(query):
        assert query.tag == "*"
        yield [EventView(tag="salt/job/1/ret/db1", time=1.5, id="7", data={"id": "db1"})]
        yield [EventView(tag="a\nb", time=2.0)]

    desk.events = events
    with serve_port() as served:
        viola = token_of(served, "viola")
        with salt(served) as client:
            assert client.get("/events", params={"token": token_of(served, "caller")}).status_code == 401
            assert client.get("/minions", params={"token": token_of(served, "ada")}).status_code == 401
            answer = client.get("/events", params={"token": viola})
            assert answer.headers["content-type"].startswith("text/event-stream")
            first, second, third = answer.text.strip().split("\n\n")
    assert first == "retry: 400"
    tag, data = second.split("\n")
    assert tag == "tag: salt/job/1/ret/db1"
    assert json.loads(data.removeprefix("data: ")) == {
        "tag": "salt/job/1/ret/db1", "data": {"_stamp": "1970-01-01T00:00:01.500000", "id": "db1"},
    }  # fmt: skip
    assert third.startswith("tag: a b\n")


def test_a_hook_publishes_an_event_of_who_may_or_of_who_signs(serve_port, desk):
    asked = []

    async def runner(question, user=""):
        asked.append((user, question.fun, question.args, question.kwargs["data"]))
        yield RunnerReturn(jid="1", success=True, value=True)

    desk.runner = runner
    with serve_port() as served, salt(served) as client:
        token = token_of(served, "caller")
        sent = client.post("/hook/ci/build", json={"ok": True}, headers={"x-auth-token": token, "x-event": "push"})
        assert sent.json() == {"success": True}
        signed = client.post("/hook", data={"a": "1"}, headers={"x-gitlab-token": "known to the forge"})
        assert signed.status_code == 200, signed.text
        for headers in ({}, {"x-gitlab-token": "no"}, {"x-auth-token": token_of(served, "viola")}):
            assert client.post("/hook/x", json={}, headers=headers).status_code == 401
        assert client.post("/hook/" + "x" * 600, json={}, headers={"x-auth-token": token}).status_code == 400
    [(user, fun, args, data), (other, _, tag, form)] = asked
    assert (user, fun, args) == ("caller", "event.send", ("salt/netapi/hook/ci/build",))
    assert data["post"] == {"ok": True}
    assert json.loads(data["body"]) == {"ok": True}
    assert data["headers"]["x-event"] == "push"
    assert token not in json.dumps(data)
    assert (other, tag, form["post"], form["body"]) == ("webhook", ("salt/netapi/hook",), {"a": "1"}, "")
    assert "known to the forge" not in json.dumps(form)


def test_limits_of_answers_and_of_requests_that_wait(serve_port):
    with serve_port("limits: {salt_api: {answer_bytes: 30, requests_at_once: 1}}\n") as served:
        with salt(served, token_of(served, "ada")) as client:
            answer = client.post("/", json=PING)
            assert answer.status_code == 409
            assert "over 30 bytes" in answer.json()["return"]
            stats = client.get("/stats").json()["CherryPy Applications"]
            assert (stats["Current Requests"], stats["Total Requests"], stats["Refused Requests"]) == (1, 2, 1)
        assert served.metrics.limit_refusals("salt-api") == {"answer-bytes": 1}


def test_one_principal_leaves_room_for_requests_of_others(serve_port, desk, wait_for):
    """With `requests_at_once` requests that wait for a minion which never answers, one user had all of them."""
    began, done = [], threading.Event()

    async def runner(question, user=""):
        began.append(user)
        while not done.is_set():
            await asyncio.sleep(0.01)
        yield RunnerReturn(jid="1", success=True, value=True)

    desk.runner = runner
    chunk = {"client": "runner", "fun": "manage.up"}
    limits = "limits: {salt_api: {requests_at_once: 3, principal_requests: 2}}\n"
    with serve_port(limits) as served, ThreadPoolExecutor(8) as threads:
        tokens = {name: [token_of(served, name) for _ in range(3)] for name in ("ada", "caller")}

        def ask(token):
            with salt(served, token) as client:
                answer = client.post("/", json=chunk)
                return answer.status_code, str(answer.json()["return"])

        waiting = [threads.submit(ask, token) for token in tokens["ada"][:2]]
        try:
            wait_for(lambda: len(began) == 2)
            status, text = ask(tokens["ada"][2])
            assert (status, "your other requests wait" in text) == (429, True)
            waiting.append(threads.submit(ask, tokens["caller"][0]))
            wait_for(lambda: began == ["ada", "ada", "caller"])
            assert ask(tokens["caller"][1])[0] == 429
        finally:
            done.set()
        assert [each.result()[0] for each in waiting] == [200, 200, 200]
        assert ask(tokens["ada"][2])[0] == 200
        assert served.metrics.limit_refusals("salt-api") == {"principal-requests": 1, "requests-at-once": 1}


def test_keys_are_not_made_here(serve_port):
    with serve_port() as served, salt(served, token_of(served, "ada")) as client:
        answer = client.post("/keys", data={"mid": "web9"})
        assert answer.status_code == 501
        assert "minions make their keys" in answer.json()["return"]


def test_the_option_turns_all_off(serve_port):
    with serve_port(options="  salt_api: false") as served, salt(served, token_of(served, "ada")) as client:
        assert client.get("/").status_code == 404
