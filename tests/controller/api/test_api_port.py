"""The API over the network: each route of the application, from its own table, with everything that may be shown."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import time

import httpx
import pytest
from api_ports import AUTHORITY, over_socket, over_tls, token_of, trusting, with_port, write_certificate

from controller.api.app import api_app
from controller.api.listening import CannotListen
from controller.api.permissions import ANYONE, FUNCTIONS, KNOWN, NEEDS, PREFIX
from controller.api.port import certificate as certificates
from controller.api.port import gate
from controller.config.access import ROLES
from controller.config.checks import check_api
from controller.config.limits import BorderLimits
from controller.config.settings import BadControllerSettings, load_settings
from controller.store import Store
from controller.store.access.audit import AuditQuery

RULES = """
publisher_acl:
  caller: [test.*]
api_roles:
  viewer: [viola]
  operator: [olga]
  approver: [april]
  admin: [ada]
"""
PEOPLE = {"viewer": "viola", "operator": "olga", "approver": "april", "admin": "ada"}
LIMITS = "limits: {api_port: {address_burst: 100000, principal_burst: 100000, failures_per_minute: 100000}}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def serve_port(desk, config_dir, serve_desk):
    """Serves the API on a port; to be entered."""

    def serve(more=RULES + LIMITS, options=""):
        with_port(config_dir, free_port(), more, options=options)
        return serve_desk(desk, load_settings(config_dir))

    return serve


def routes():
    """(method, path with something in place of its parameters, what it needs) of every route that there is."""
    app = api_app(None, None, BorderLimits(), 60, lambda _: None)
    found = []
    for route in app.routes:
        for method in getattr(route, "route_handler_map", ()):
            if method != "OPTIONS":
                template = route.path_format.removeprefix(PREFIX)
                path = "/".join("x" if part.startswith("{") else part for part in template.split("/"))
                found.append((method, path, NEEDS.get(f"{method} {template}")))
    return sorted(found, key=lambda each: each[:2])


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def test_every_route_has_a_rule():
    """A route that somebody adds is the administrator's alone until it is in the table: it is put there on purpose."""
    without = {f"{method} {path}" for method, path, needed in routes() if needed is None}
    assert without == set()


def test_each_route_refuses_who_shows_nothing_or_nothing_good(serve_port, desk):
    with serve_port() as served, over_tls(served) as client:
        expired = token_of(served, "ada", seconds=0.01)
        revoked = token_of(served, "ada")
        with over_socket(served) as admin:
            ids = [each["id"] for each in admin.get("/tokens").json()]
            admin.post("/tokens/revoke", json={"ids": ids})
        good = token_of(served, "ada")
        time.sleep(0.02)  # the expired one is
        shown = {
            "nothing": {},
            "garbage": bearer("garbage"),
            "too long": bearer("x" * 5000),
            "almost": bearer(good[:-1]),
            "of another kind": {"authorization": f"Basic {good}"},
            "no scheme": {"authorization": good},
            "expired": bearer(expired),
            "revoked": bearer(revoked),
            "a cookie that is none": {"cookie": "__Host-saltern-session=garbage"},
            "a token as a cookie": {"cookie": f"__Host-saltern-session={good}"},
            "a name": {"x-forwarded-user": "ada", "remote-user": "ada", "x-saltern-asker": "cm9vdA=="},
        }
        for method, path, needed in routes():
            for name, headers in shown.items():
                answer = client.request(method, path, headers=headers, json={} if method != "GET" else None)
                if needed == ANYONE:
                    assert answer.status_code in (400, 401), (method, path, name, answer.text)
                    continue
                cookie_that_changes = method != "GET" and "cookie" in headers
                codes = (401, 403) if cookie_that_changes else (401,)
                assert answer.status_code in codes, (method, path, name, answer.text)
    assert desk.users == []


def test_each_route_that_changes_something_refuses_a_page_of_another(serve_port, desk):
    """A browser adds the cookie by itself: no CSRF token, that of another session, or a request begun elsewhere."""
    with serve_port() as served, over_tls(served) as ada, over_tls(served) as olga:
        own, of_another = (
            client.post("/session", json={"token": token_of(served, name)}).json()["csrf"]
            for client, name in ((ada, "ada"), (olga, "olga"))
        )
        shown = [{}, {"x-csrf-token": of_another}, {"x-csrf-token": own, "origin": "https://evil.example"}]
        changing = [(method, path) for method, path, needed in routes() if method != "GET" and needed != ANYONE]
        assert len(changing) > 25
        for method, path in changing:
            for headers in shown:
                answer = ada.request(method, path, headers=headers, json={})
                assert answer.status_code == 403, (method, path, headers, answer.text)
        assert ada.get("/whoami").json()["user"] == "ada", "and the session goes on"
    assert desk.users == []


def test_each_route_lets_a_role_in_that_covers_it_and_no_lower_one(serve_port, desk):
    """Who has no role, each role, each scope of an administrator's token."""
    needs = [(method, path, needed) for method, path, needed in routes() if needed in ROLES]
    assert len(needs) > 30
    with serve_port() as served, over_tls(served) as client:
        nobody = token_of(served, "caller")
        tokens = [(role, token_of(served, name)) for role, name in PEOPLE.items()]
        scopes = ("read", "operate", "approve", "admin")
        tokens += [(role, token_of(served, "ada", scopes=[scope])) for role, scope in zip(ROLES, scopes, strict=True)]
        for method, path, needed in needs:
            refused = client.request(method, path, headers=bearer(nobody), content=b"{" if method != "GET" else None)
            assert refused.status_code == 403, (method, path)
            for role, token in tokens:
                if path in ("/events", "/diff/fleet"):
                    continue  # streams, which go on; who may not is refused all the same (`test_streams_…`)
                answer = client.request(method, path, headers=bearer(token), content=b"{" if method != "GET" else None)
                may = ROLES.index(role) >= ROLES.index(needed)
                assert (answer.status_code == 403) != may, (method, path, role, answer.text)
                assert answer.status_code != 401
    assert desk.users == []


def test_streams_are_refused_before_they_begin(serve_port):
    with serve_port() as served, over_tls(served, **bearer(token_of(served, "caller"))) as client:
        for path in ("/events", "/diff/fleet"):
            assert client.get(path).status_code == 403


def test_functions_are_called_by_rules_and_by_no_token_that_is_for_less(serve_port, desk):
    question = {"target": {"expression": "web*"}, "fun": "test.ping"}
    calls = [path for method, path, needed in routes() if needed == FUNCTIONS and "runner" not in path]
    with serve_port() as served, over_tls(served) as client:
        for path in calls:
            for user, scopes, fun, code in (
                ("caller", [], "test.ping", 200),
                ("caller", [], "cmd.run", 403),
                ("caller", ["operate"], "test.ping", 200),
                ("caller", ["read"], "test.ping", 403),
                ("viola", [], "test.ping", 403),
                ("ada", [], "cmd.run", 200),
                ("ada", ["approve"], "cmd.run", 403),
            ):
                token = token_of(served, user, scopes=scopes)
                answer = client.post(path, json={**question, "fun": fun}, headers=bearer(token))
                assert answer.status_code == code, (user, scopes, fun, answer.text)
    assert desk.users == ["caller", "caller", "ada"]


def test_a_stream_of_events_ends_with_the_token_that_opened_it(serve_port):
    """Who had a stream open when the token was revoked or had expired was sent every event from then on."""
    with serve_port() as served, over_socket(served) as admin:
        for ends in ("revoked", "expired"):
            made = admin.post("/tokens", json={"user": "viola", "seconds": 3 if ends == "expired" else 600}).json()
            began = time.monotonic()
            with over_tls(served, **bearer(made["token"])) as client, client.stream("GET", "/events") as stream:
                lines = stream.iter_lines()
                assert json.loads(next(filter(None, lines)))["t"] == "event"
                if ends == "revoked":
                    assert admin.post("/tokens/revoke", json={"ids": [made["view"]["id"]]}).status_code == 200
                *_, last = filter(None, lines)
            assert json.loads(last)["error"] == "unauthenticated", ends
            assert time.monotonic() - began < 10


def test_events_are_sent_to_so_many_readers(serve_port, desk, wait_for):
    with serve_port(RULES + "limits: {api_port: {event_readers: 1}}\n") as served:
        headers = bearer(token_of(served, "viola")) | {"accept": "text/event-stream"}
        with over_tls(served, **headers) as client:
            with client.stream("GET", "/events", params={"tag": "saltern/push"}) as stream:
                lines = (line for line in stream.iter_lines() if line.startswith("data:"))
                assert json.loads(next(lines).removeprefix("data:"))["tag"] == "saltern/push"
                refused = client.get("/events")
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
            wait_for(lambda: desk.listeners == 0)
            with client.stream("GET", "/events") as stream:
                assert stream.status_code == 200


def test_one_principal_leaves_room_for_other_readers(serve_port, wait_for):
    limits = "limits: {api_port: {event_readers: 3, principal_event_readers: 2}}\n"
    with serve_port(RULES + limits) as served, contextlib.ExitStack() as streams:
        tokens, lines = [token_of(served, "viola") for _ in range(3)], []

        def opened(token):
            client = streams.enter_context(over_tls(served, **bearer(token)))
            stream = streams.enter_context(client.stream("GET", "/events"))
            if stream.status_code == 200:
                lines.append(stream.iter_lines())
                next(lines[-1])
            else:
                stream.read()
            return stream

        assert [opened(token).status_code for token in tokens[:2]] == [200, 200]
        refused = opened(tokens[2])
        assert (refused.status_code, "viola reads events so many times" in refused.text) == (429, True)
        assert "limits: api_port: principal_event_readers" in refused.text
        assert opened(token_of(served, "olga")).status_code == 200
        assert "other readers have all the room" in opened(token_of(served, "ada")).text
        assert served.metrics.limit_refusals("api-port") == {"principal-event-readers": 1, "event-readers": 1}
        streams.close()
        wait_for(lambda: opened(tokens[0]).status_code == 200)


def test_who_lets_a_rollout_go_on_is_an_approver(serve_port, desk):
    changed = []
    desk.change_rollout = lambda name, action, user="": changed.append((action, user))
    with serve_port() as served, over_tls(served) as client:
        for user, action, code in (
            ("olga", "pause", 200),
            ("olga", "approve", 403),
            ("olga", "promote", 403),
            ("april", "approve", 200),
            ("april", "promote", 200),
            ("ada", "approve", 200),
        ):
            body = {"name": "1", "action": action}
            answer = client.post("/rollout/change", json=body, headers=bearer(token_of(served, user)))
            assert answer.status_code == code, (user, action, answer.text)
    assert changed == [("pause", "olga"), ("approve", "april"), ("promote", "april"), ("approve", "ada")]


def test_who_is_known_may_ask_who_it_is_and_take_back_its_own_token(serve_port):
    assert {path for _, path, needed in routes() if needed == KNOWN} == {
        "/whoami",
        "/session",
        "/tokens/revoke",
        "/openapi.json",
    }
    with serve_port() as served:
        mine, another = token_of(served, "caller", scopes=["read"]), token_of(served, "ada")
        with over_tls(served, **bearer(mine)) as client:
            me = client.get("/whoami").json()
            assert (me["user"], me["scopes"], me["everything"]) == ("caller", ["read"], False)
            with over_tls(served, **bearer(another)) as other:
                assert client.post("/tokens/revoke", json={"ids": [other.get("/whoami").json()["token"]]}).is_error
            assert client.post("/tokens/revoke", json={"ids": [me["token"]]}).json() == [me["token"]]
            assert client.get("/whoami").status_code == 401


def test_requests_have_ids_in_answers_and_in_the_audit_log(serve_port):
    with serve_port() as served, over_tls(served, **bearer(token_of(served, "olga"))) as client:
        body = {"target": {"expression": "web1"}}
        given = client.post("/pause", json=body, headers={"x-request-id": "deploy-17.web"})
        assert given.headers.get_list("x-request-id") == ["deploy-17.web"]
        made = client.post("/pause", json=body, headers={"x-request-id": "bad id\ttoo"}).headers["x-request-id"]
        assert len(made) == 32
        refused = client.post("/keys/accept", json={"names": ["x"]})
        with over_socket(served) as admin:
            rows = admin.get("/audit").json()["rows"]
            assert "x-request-id" in admin.get("/whoami").headers
            assert admin.get("/audit/export").json()["broken"] == []
    kept = [(row["request"], row["address"], row["allowed"]) for row in rows if row["user"] == "olga"]
    assert kept == [
        ("deploy-17.web", "127.0.0.1", True),
        (made, "127.0.0.1", True),
        (refused.headers["x-request-id"], "127.0.0.1", False),
    ]


def test_who_asks_too_often_is_told_when_to_come_back(serve_port):
    limits = "limits: {api_port: {address_burst: 8, address_requests_per_second: 1, principal_burst: 3}}\n"
    limits = limits.replace("}}", ", principal_requests_per_second: 1}}")
    with serve_port(RULES + limits) as served:
        token, other = token_of(served, "viola"), token_of(served, "olga")
        with over_tls(served) as client:
            codes = [client.get("/whoami", headers=bearer(token)).status_code for _ in range(4)]
            assert codes == [200, 200, 200, 429]
            assert client.get("/whoami", headers=bearer(other)).status_code == 200, "it is viola who asks too often"
            answers = [client.get("/whoami", headers=bearer(other)) for _ in range(6)]
            late = answers[-1]
            assert (late.status_code, late.json()["error"]) == (429, "too-many-requests")
            assert int(late.headers["retry-after"]) >= 1
            assert "x-request-id" in late.headers
            assert "this address" in late.text
            assert client.get(served_url(served, "/livez")).text == "ok\n", "a probe is not counted"
        refusals = served.metrics.limit_refusals("api-port")
        assert refusals["principal-requests-per-second"] >= 1
        assert refusals["address-requests-per-second"] >= 1


def test_who_guesses_tokens_is_stopped(serve_port):
    with serve_port(RULES + "limits: {api_port: {failures_per_minute: 5}}\n") as served:
        good = token_of(served, "viola")
        with over_tls(served) as client:
            codes = [client.get("/whoami", headers=bearer(f"guess{number}")).status_code for number in range(7)]
            assert codes == [401] * 5 + [429] * 2
            assert client.get("/whoami", headers=bearer(good)).status_code == 429, "as nobody knows who guesses there"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/session", {"token": "guess"}),
        ("/login", {"method": "pam", "user": "viola", "password": "guess"}),
        ("/session", {"method": "pam", "user": "viola", "password": "guess"}),
    ],
)
def test_who_guesses_in_what_is_sent_is_stopped(serve_port, path, body):
    with serve_port(RULES + "limits: {api_port: {failures_per_minute: 5}}\n") as served, over_tls(served) as client:
        codes = [client.post(path, json=body).status_code for _ in range(7)]
        assert set(codes[:5]) <= {401, 403}
        assert codes[5:] == [429] * 2


def served_url(served, path):
    host, port = served.listening.api
    return f"https://{host}:{port}{path}"


def test_probes(serve_port, monkeypatch):
    with serve_port() as served, over_tls(served, "") as client:
        assert client.get("/livez").text == "ok\n"
        assert client.get("/readyz").text == "ok\n"
        served.why_not_ready = "database is locked"
        monkeypatch.setattr(gate, "READY_FOR", 3600.0)
        assert client.get("/readyz").status_code == 200, "who asks often is told what was seen last"
        monkeypatch.setattr(gate, "READY_FOR", 0.0)
        assert (client.get("/readyz").status_code, client.get("/readyz").text) == (503, "database is locked\n")
        assert client.get("/livez").status_code == 200
        assert client.get("/").headers["content-type"].startswith("text/html"), "the dashboard"
        for path in ("/metrics", "/hook", "/status", "/api", "/api/v2/status", "/apiv1", "/api/v1x/status"):
            assert client.get(path).status_code == 404, path


def test_answers_have_the_headers_that_browsers_heed(serve_port):
    with serve_port() as served, over_tls(served, **bearer(token_of(served, "viola"))) as client:
        headers = client.get("/status").headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["strict-transport-security"].startswith("max-age=")
        assert "access-control-allow-origin" not in headers
        assert client.options("/status", headers={"origin": "https://evil.example"}).headers.get(
            "access-control-allow-origin"
        ) is None  # fmt: skip


def test_the_body_of_who_is_not_known_is_short(serve_port):
    with serve_port() as served, over_tls(served) as client:
        for path in ("/login", "/session"):
            answer = client.post(path, content=b"x" * (64 * 1024 + 1), headers={"content-type": "application/json"})
            assert answer.status_code == 413, path


def test_connections_of_an_address_are_bounded(serve_port):
    with serve_port(RULES + "limits: {api_port: {address_connections: 2}}\n") as served:
        clients = [over_tls(served, "") for _ in range(3)]
        assert [clients[number].get("/livez").status_code for number in (0, 1)] == [200, 200]
        with pytest.raises(httpx.TransportError):
            clients[2].get("/livez")
        assert served.metrics.limit_refusals("api-port") == {"address-connections": 1}
        for client in clients:
            client.close()


def test_handshakes_that_do_not_go_on_end_and_leave_room(serve_port):
    limits = "limits: {api_port: {handshakes: 50, address_handshakes: 2, handshake_seconds: 0.5}}\n"
    with serve_port(RULES + limits) as served:
        held = [socket.create_connection(served.listening.api) for _ in range(3)]
        assert held[2].recv(1) == b"", "one too many from there"
        assert [each.recv(1) for each in held[:2]] == [b"", b""], "they took too long"
        with over_tls(served, "") as client:
            assert client.get("/livez").status_code == 200
        for each in held:
            each.close()


def test_old_tls_and_plain_http_get_no_answer(serve_port):
    with serve_port() as served:
        host, port = served.listening.api
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://{host}:{port}/livez", trust_env=False)
        context = trusting()
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(httpx.TransportError):
            httpx.get(f"https://{host}:{port}/livez", verify=context, trust_env=False)
        # Both connections are closed on the server's side too once it has answered another.
        assert httpx.get(f"https://{host}:{port}/livez", verify=trusting(), trust_env=False).status_code == 200


def test_a_renewed_certificate_is_used_and_a_broken_one_is_not(serve_port, config_dir, monkeypatch, wait_for):
    monkeypatch.setattr(certificates, "LOOK_SECONDS", 0.02)

    def shown():
        plain = socket.create_connection(served.listening.api)
        with trusting().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            return secure.getpeercert(binary_form=True)

    with serve_port() as served:
        first = shown()
        (config_dir / "api.crt").write_text("no certificate")
        time.sleep(0.2)
        assert shown() == first
        write_certificate(config_dir)
        wait_for(lambda: shown() != first)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("api: {prot: 1}", "did you mean"),
        ("api: {host: example.org, port: 1}", "host must be an IP address"),
        ("api: [8443]", "api must be a mapping"),
        ("api: {host: 0.0.0.0, port: 8443}", "tokens would go there in plain text"),
        ("api: {host: '::', port: 8443, plain_on_loopback: true}", "tokens would go there in plain text"),
        ("api: {port: 8443}", "there is no tls"),
        ("api: {port: 8443, tls: {certificate: /x}}", "tls needs key"),
        ("api: {port: 8443, tls: {certificate: x, key: /k}}", "certificate must be an absolute path"),
        ("api: {port: 70000}", "port must be a port"),
        ("api: {oidc: {issuer: 'http://id.example.org', audience: s}}", "issuer must be an address"),
        ("api: {oidc: {issuer: 'https://id.example.org'}}", "oidc needs audience"),
        ("api: {oidc: {issuer: 'https://id.example.org', audience: s, algorithms: [HS256]}}", "algorithms must be"),
        ("api: {session_seconds: 0}", "session_seconds must be"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(config_dir, text, said):
    file = config_dir / "controller"
    lines = len(file.read_text().splitlines())
    with file.open("a") as more:
        more.write(text + "\n")
    with pytest.raises(BadControllerSettings) as refused:
        load_settings(config_dir)
    [fault] = refused.value.faults
    assert fault.place == f"{file}:{lines + 1}"
    assert said in str(fault)


def test_a_certificate_that_cannot_be_used_is_told_before_anything_is_served(desk, config_dir, serve_desk):
    with_port(config_dir, free_port())
    (config_dir / "api.key").write_bytes(AUTHORITY.issue_cert("another").private_key_pem.bytes())
    settings = load_settings(config_dir)
    with pytest.raises(BadControllerSettings, match="are no certificate with its key"):
        check_api(settings)
    with pytest.raises(CannotListen, match="are no certificate with its key"), serve_desk(desk, settings):
        pass


def test_without_tls_a_loopback_address_is_served_where_it_is_said(desk, config_dir, serve_desk):
    with (config_dir / "controller").open("a") as file:
        file.write(f"api: {{port: {free_port()}, plain_on_loopback: true}}\n{RULES}")
    with serve_desk(desk, load_settings(config_dir)) as served:
        host, port = served.listening.api
        headers = bearer(token_of(served, "viola"))
        with httpx.Client(base_url=f"http://{host}:{port}/api/v1", headers=headers, trust_env=False) as client:
            answer = client.get("/status")
            assert answer.status_code == 200
            assert "strict-transport-security" not in answer.headers


def test_without_the_option_there_is_no_port(served):
    assert served.listening.api is None


def test_refusals_of_who_is_not_known_are_kept_with_their_address(serve_port):
    with serve_port() as served:
        with over_tls(served, **bearer("garbage")) as client:
            client.get("/status")
        with Store(served.settings.store_url) as store:
            [row] = store.audit_log.newest(AuditQuery(denied=True))
    assert (row.user, row.address, row.action, json.loads(row.detail)) == ("", "127.0.0.1", "show a token", {})
