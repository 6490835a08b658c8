"""Access over the real socket: other users of the machine, tokens, passwords that PAM knows, and what is kept of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pam_services
import pytest
from other_users import let_through

from controller.api.app import api_app
from controller.api.permissions import ANYONE, FUNCTIONS, KNOWN, NEEDS, PREFIX
from controller.config.limits import BorderLimits
from controller.config.settings import load_settings
from controller.store import Store
from controller.store.access.audit import AuditQuery, broken_links
from controller.store.schema import audit_log

STRANGER = 65534
RULES = """
publisher_acl:
  nobody: [test.*, {'web*': [cmd.run]}, {'@runner': [jobs.*]}]
api_roles:
  viewer: [nobody]
"""
root_alone = pytest.mark.skipif(os.geteuid() != 0, reason="to ask as another user is a matter of root's")

_ASK = """
import encodings.idna, http.client, json, os, socket, sys
os.setgroups([]); os.setgid({uid}); os.setuid({uid})
for method, path, body, headers in json.loads(sys.argv[2]):
    client = http.client.HTTPConnection("controller")
    client.sock = socket.socket(socket.AF_UNIX)
    client.sock.connect(sys.argv[1])
    client.request(method, "/api/v1" + path, body=None if body is None else json.dumps(body), headers=headers)
    answer = client.getresponse()
    print(json.dumps([answer.status, answer.read().decode()]))
"""


def ask_as_nobody(served, *asked):
    """(status, answer) of each (method, path, body[, headers]), asked by a user who has nothing to do with it."""
    let_through(served.settings.socket)
    questions = [[*each, *(None, {})[len(each) - 2 :]] for each in asked]
    done = subprocess.run(
        [sys.executable, "-c", _ASK.format(uid=STRANGER), str(served.settings.socket), json.dumps(questions)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def with_rules(config_dir: Path, text: str = RULES) -> None:
    with (config_dir / "controller").open("a") as file:
        file.write(text)


def call(fun, target="web*", **more):
    return ("POST", "/call", {"target": {"expression": target}, "fun": fun, **more})


def admin(served, **headers: str) -> httpx.Client:
    transport = httpx.HTTPTransport(uds=str(served.settings.socket), verify=False)
    return httpx.Client(transport=transport, base_url="http://c/api/v1", timeout=30, trust_env=False, headers=headers)


def asked_by(client, question):
    method, path, body = question
    return client.request(method, path, json=body).status_code


def rows(served):
    with Store(served.settings.store_url) as store:
        return store.audit_log.newest(AuditQuery(limit=1000))


@root_alone
def test_another_user_may_what_rules_say_and_nothing_else(desk, config_dir, serve_desk):
    with_rules(config_dir)
    with serve_desk(desk, load_settings(config_dir)) as served:
        answers = ask_as_nobody(
            served,
            ("GET", "/whoami"),
            call("test.ping", "*"),
            call("cmd.run", args=["id"]),
            call("cmd.run", "*", args=["id"]),
            call("test.ping", ret=["redis"]),
            call("pkg.upgrade"),
            ("POST", "/runner", {"fun": "jobs.active"}),
            ("POST", "/runner", {"fun": "salt.cmd"}),
            ("POST", "/runner", {"kind": "wheel", "fun": "jobs.active"}),
            ("GET", "/status"),
            ("POST", "/sync", {"target": {"expression": "*"}}),
            ("POST", "/keys/accept", {"names": ["*"]}),
            ("GET", "/audit"),
            ("POST", "/tokens", {"user": "root", "seconds": 60}),
        )
    codes = [code for code, _ in answers]
    assert codes == [200, 200, 200, 403, 403, 403, 200, 403, 403, 200, 403, 403, 403, 403]
    assert json.loads(answers[0][1]) == {
        "user": "nobody", "groups": ["nogroup"], "method": "socket", "token": "", "everything": False,
        "roles": ["viewer"], "scopes": [],
    }  # fmt: skip
    assert "no rule of publisher_acl lets nobody call cmd.run on all of these minions" in answers[3][1]
    assert "docs/access.md" in answers[3][1]
    assert desk.users == ["nobody", "nobody", "nobody"]
    kept = [(row.user, row.action, row.allowed) for row in rows(served)]
    assert kept == [
        ("nobody", "call test.ping", True),
        ("nobody", "call cmd.run", True),
        ("nobody", "call cmd.run", False),
        ("nobody", "call test.ping", True),
        ("nobody", "name returners", False),
        ("nobody", "call pkg.upgrade", False),
        ("nobody", "call runner jobs.active", True),
        ("nobody", "call runner salt.cmd", False),
        ("nobody", "call wheel jobs.active", False),
        ("nobody", "sync", False),
        ("nobody", "keys accept", False),
        ("nobody", "look at audit", False),
        ("nobody", "tokens", False),
    ]
    assert json.loads(rows(served)[1].detail) == {"target": "web*", "args": ["id"], "kwargs": {}}


LED_ASTRAY = [
    call("cmd.run", "*", batch="1"),
    call("cmd.run", "*", subset=1),
    call("cmd.run", "*", wait=False),
    call("cmd.run", "*", progress=True),
    *(("POST", "/call", {"target": target, "fun": "cmd.run"}) for target in (
        {"kind": "compound", "expression": "web* or db1"},
        {"kind": "list", "expression": "web1,db1"},
        {"kind": "pcre", "expression": ".*"},
        {"kind": "grain", "expression": "os:*"},
    )),
    *(call(fun, args=["cmd.shell", "id"]) for fun in (
        "test.ping,cmd.shell", "test.ping\ncmd.shell", "TEST.PING", "Test.ping", " test.ping", "test.ping ",
        "test.ping\0",
        "t\u0435st.ping", "\uff54est.ping", "test\u2024ping", "test.p\u0131ng", "test._private",
        "_test.ping", "test.__class__",
        "cmdmod.run", "CMD.run", "cmd.Run", "cmd.run_all", "module.run", "state.single", "state.apply", "schedule.add",
        "schedule.run_job", "mine.send", "mine.update", "saltutil.cmd", "saltutil.sync_all", "publish.publish",
        "publish.runner", "returner.test", "test" * 3000 + ".ping",
    )),
    call("test.ping", ret=["redis"]),
    call("test.ping", ret=["REDIS"]),
    call("test.ping", ret=["../redis", ""]),
    call("test.ping", ret_config="other", ret=["syslog"]),
    *(("POST", "/runner", {"fun": fun, "args": ["*", "cmd.run", ["id"]]}) for fun in (
        "salt.execute", "salt.cmd", "state.orchestrate", "state.event", "cache.clear_all", "pillar.show_pillar", "jobs",
        "JOBS.active", "jobs.active,salt.cmd", "_jobs.active",
    )),
    *(("POST", "/runner", {"kind": "wheel", "fun": fun}) for fun in ("jobs.active", "key.accept", "config.values")),
    ("POST", "/runner", {"kind": "minion", "fun": "cmd.run"}),
    ("POST", "/schedule/run", {"name": "x"}),
]  # fmt: skip
"""What somebody asks who may `test.*` everywhere, `cmd.run` on web*, and runners of jobs."""


@root_alone
def test_no_way_of_asking_goes_around_a_rule(desk, config_dir, serve_desk):
    with_rules(config_dir)
    with serve_desk(desk, load_settings(config_dir)) as served:
        answers = ask_as_nobody(served, *LED_ASTRAY)
        kept = [row for row in rows(served) if row.allowed and row.action != "call test.ping"]
    let_in = [(one[2], answer) for one, answer in zip(LED_ASTRAY, answers, strict=True) if answer[0] not in (400, 403)]
    assert [one for one, _ in let_in] == []
    assert kept == []
    assert desk.users == []


@root_alone
def test_who_may_not_call_a_function_is_not_told_whether_there_is_such_a_minion(desk, config_dir, serve_desk):
    """Else everybody could find what the pillar of a minion has, by `-I`."""
    with_rules(config_dir)
    asked = [call("file.remove", target) for target in ("web1", "nosuch")]
    with serve_desk(desk, load_settings(config_dir)) as served:
        there, not_there, rule_elsewhere = ask_as_nobody(served, *asked, call("test.ping", "nosuch"))
        kept = [(row.action, row.allowed, json.loads(row.detail)["target"]) for row in rows(served)]
    assert there == not_there
    assert there[0] == 403
    assert rule_elsewhere[0] == 404, "who may call it somewhere is told"
    assert kept == [("call file.remove", False, "web1"), ("call file.remove", False, "nosuch")]


@root_alone
@pytest.mark.parametrize("route", sorted(set(NEEDS) | {"GET /tokens", "POST /tokens", "GET /audit"}))
def test_who_has_no_rule_may_nothing(desk, config_dir, serve_desk, route):
    with_rules(config_dir, "publisher_acl: {somebody: [test.*]}\n")
    method, path = route.split()
    with serve_desk(desk, load_settings(config_dir)) as served:
        [(code, text)] = ask_as_nobody(served, (method, path, {"ids": ["x"]} if method == "POST" else None))
    free = NEEDS.get(route) in (ANYONE, KNOWN, FUNCTIONS) and route != "POST /tokens/revoke"
    allowed = 401 if path == "/session" and method != "POST" else 400 if method == "POST" else 200
    assert code == (allowed if free else 403), text
    assert desk.users == []


def test_each_route_of_the_table_is_there_and_changes_leave_a_row(desk, config_dir, serve_desk):
    """Also routes that are added later: what is not in the table needs the role admin, and is kept all the same."""
    desk.delete = desk.accept
    app = api_app(None, None, BorderLimits(), 60, lambda _: None)
    routes = {
        f"{method} {route.path.removeprefix(PREFIX)}"
        for route in app.routes
        for method in getattr(route, "route_handler_map", ())
    }
    assert set(NEEDS) <= routes
    body = {
        "names": ["*"], "target": {"expression": "web*"}, "fun": "test.ping", "pull": "1", "user": "ci", "seconds": 60,
        "ids": ["x"], "job": "x", "enabled": True, "action": "pause",
        "base": "main", "head": "topic",
    }  # fmt: skip
    with serve_desk(desk, load_settings(config_dir)) as served, admin(served) as client:
        for route in sorted(routes):
            method, path = route.split()
            if method != "POST" or NEEDS.get(f"{method} {path}") == ANYONE:
                continue
            before = len(rows(served))
            answer = _ask_with_what_it_takes(client, path, body)
            assert len(rows(served)) == before + 1, (route, answer.text)


def _ask_with_what_it_takes(client, path, body):
    """Ask with the part of a body that a route takes: unknown and missing fields are told by name."""
    asked = dict(body)
    for _ in range(2 * len(body)):
        answer = client.post(path, json=asked)
        text = answer.json().get("message", "") if answer.status_code == 400 else ""
        if "unknown field" in text:
            asked.pop(text.split("`")[1])
        elif "missing required field" in text:
            asked[text.split("`")[1]] = "x"
        else:
            return answer
    raise AssertionError(path)


def test_a_token_is_who_it_was_given_to(desk, config_dir, serve_desk):
    with_rules(config_dir)
    with serve_desk(desk, load_settings(config_dir)) as served, admin(served) as client:
        asked = {"user": "nobody", "groups": ["x"], "seconds": 60, "note": "ci"}
        made = client.post("/tokens", json=asked).json()
        assert made["view"]["user"] == "nobody"
        with admin(served, authorization=f"Bearer {made['token']}") as holder:
            assert holder.get("/whoami").json()["token"] == made["view"]["id"]
            assert asked_by(holder, call("test.ping")) == 200
            assert asked_by(holder, call("pkg.upgrade")) == 403, "although root asks"
            assert holder.get("/tokens").status_code == 403
            assert holder.post("/tokens/revoke", json={"ids": [made["view"]["id"], "other"]}).status_code == 403
            assert holder.post("/tokens/revoke", json={"ids": [made["view"]["id"]]}).json() == [made["view"]["id"]]
            refused = holder.get("/status")
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert "revoked" in refused.text
        for wrong in ("x", "x" * 5000, made["token"][:-1], made["view"]["id"], "%"):
            with admin(served, authorization=f"Bearer {wrong}") as holder:
                assert holder.get("/whoami").status_code == 401, wrong
        assert client.get("/tokens").json() == []
        assert made["token"] not in json.dumps([row.detail for row in rows(served)])
    with Store(served.settings.store_url) as store:
        assert store.access_tokens.all(0.0) == []


def test_a_token_expires_and_there_are_so_many(desk, config_dir, serve_desk):
    with_rules(config_dir, "limits: {access: {tokens: 2}}\n")
    with serve_desk(desk, load_settings(config_dir)) as served, admin(served) as client:
        short = client.post("/tokens", json={"user": "a", "seconds": 0.001}).json()
        with admin(served, authorization=f"Bearer {short['token']}") as holder:
            assert holder.get("/whoami").status_code == 401
        codes = [client.post("/tokens", json={"user": "a", "seconds": 60}).status_code for _ in range(3)]
        assert codes == [200, 200, 409]
        for seconds in (0, -1, 1e12):
            assert client.post("/tokens", json={"user": "b", "seconds": seconds}).status_code == 400


def test_what_is_kept_cannot_be_changed_unseen(tmp_path, desk, config_dir, serve_desk):
    with serve_desk(desk, load_settings(config_dir)) as served, admin(served) as client:
        for _ in range(5):
            client.post("/pause", json={"target": {"expression": "web1"}})
        assert client.get("/audit/export").json()["broken"] == []
        for statement in (
            audit_log.update().where(audit_log.c.seq == 3).values(user="somebody else"),
            audit_log.delete().where(audit_log.c.seq == 4),
        ):
            with Store(served.settings.store_url) as store, store.audit_log.database.write() as connection:
                connection.execute(statement)
            assert client.get("/audit/export").json()["broken"]


def test_the_oldest_rows_go_at_the_limit(desk, config_dir, serve_desk):
    with_rules(config_dir, "limits: {access: {audit_rows: 3}}\n")
    with serve_desk(desk, load_settings(config_dir)) as served, admin(served) as client:
        for _ in range(6):
            client.post("/pause", json={"target": {"expression": "web1"}})
        found = client.get("/audit/export").json()
    assert [row["seq"] for row in found["rows"]] == [4, 5, 6]
    assert found["broken"] == []
    with Store(served.settings.store_url) as store:
        assert list(broken_links(iter(store.audit_log.from_row(0)))) == []


@root_alone
def test_refusals_of_one_user_are_kept_up_to_a_limit(desk, config_dir, serve_desk):
    with_rules(config_dir, RULES + "limits: {access: {refusals_per_minute: 2}}\n")
    with serve_desk(desk, load_settings(config_dir)) as served:
        answers = ask_as_nobody(served, *[call("pkg.upgrade")] * 5)
        assert [code for code, _ in answers] == [403] * 5
        assert len(rows(served)) == 2
        assert served.metrics.limit_refusals("access") == {"refusals-per-minute": 3}


@pytest.fixture
def pam_service(tmp_path: Path):
    """A service of the real PAM for which `open sesame` is everybody's password."""
    with pam_services.pam_service(tmp_path) as name:
        yield name


@root_alone
def test_a_controller_that_cannot_read_shadow_says_so(tmp_path):
    """PAM's pam_unix then says no to each password."""
    shadow = tmp_path / "shadow"
    shadow.write_text("")
    shadow.chmod(0o640)
    let_through(shadow)
    program = f"""
import os
from pathlib import Path
from controller.access.pam import shadow_trouble
print(repr(shadow_trouble(Path({str(shadow)!r}))))
os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})
print(repr(shadow_trouble(Path({str(shadow)!r}))))
print(repr(shadow_trouble(Path({str(tmp_path / "none")!r}))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    of_root, of_another, without = done.stdout.splitlines()
    assert of_root == without == "''"
    assert "docs/access.md, Passwords" in of_another


@root_alone
def test_a_password_that_pam_knows_gives_a_token(desk, config_dir, serve_desk, pam_service):
    with_rules(config_dir, f"external_auth: {{pam: {{daemon: [test.ping]}}}}\nauth.pam.service: {pam_service}\n")
    with serve_desk(desk, load_settings(config_dir)) as served:
        question = {"user": "daemon", "password": "open sesame"}
        right, wrong, other, fit, none, refused = ask_as_nobody(
            served,
            ("POST", "/login", question),
            ("POST", "/login", {**question, "password": "open"}),
            ("POST", "/login", {**question, "method": "ldap"}),
            ("POST", "/login", {**question, "user": "a\0b"}),
            call("test.ping"),
            ("GET", "/status"),
        )
        assert [each[0] for each in (right, wrong, other, fit, none, refused)] == [200, 403, 403, 403, 403, 403]
        made = json.loads(right[1])
        assert made["view"]["groups"] == ["daemon"]
        shown = {"authorization": f"Bearer {made['token']}"}
        codes = [code for code, _ in ask_as_nobody(
            served, (*call("test.ping"), shown), (*call("test.arg"), shown), ("GET", "/status", None, shown)
        )]  # fmt: skip
        assert codes == [200, 403, 403]
        kept = rows(served)
        assert "sesame" not in json.dumps([[row.detail, row.action, row.why] for row in kept])
        assert [(row.action, row.allowed) for row in kept[:2]] == [
            ("log in as daemon (pam)", True), ("log in as daemon (pam)", False)
        ]  # fmt: skip


@root_alone
def test_a_locked_account_is_not_let_in_by_its_password(desk, config_dir, serve_desk, pam_service):
    """CVE-2022-22967: the password is right, and PAM says that the account may not be used."""
    file = Path("/etc/pam.d") / pam_service
    file.write_text(file.read_text().replace("account required pam_permit.so", "account required pam_deny.so"))
    with_rules(config_dir, f"external_auth: {{pam: {{daemon: [test.ping]}}}}\nauth.pam.service: {pam_service}\n")
    with serve_desk(desk, load_settings(config_dir)) as served:
        [(code, text)] = ask_as_nobody(served, ("POST", "/login", {"user": "daemon", "password": "open sesame"}))
    assert (code, "token" in json.loads(text)) == (403, False)


@root_alone
def test_run_asks_as_who_logs_in(desk, config_dir, serve_desk, pam_service, saltern, monkeypatch, tmp_path):
    with_rules(config_dir, f"external_auth: {{pam: {{daemon: [test.ping]}}}}\nauth.pam.service: {pam_service}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SALTERN_TOKEN", "")  # what the verb sets is taken back after the test
    login = ("-a", "pam", "--username", "daemon", "--password")
    with serve_desk(desk, load_settings(config_dir)) as served:
        assert saltern("run", *login, "open", "*", "test.ping").code == 1
        assert not (tmp_path / ".saltern_token").exists()
        allowed = saltern("run", *login, "open sesame", "-T", "*", "test.ping", "--out", "json")
        assert set(json.loads(allowed.out)) >= {"web1"}
        monkeypatch.setenv("SALTERN_TOKEN", "")
        refused = saltern("run", "*", "cmd.run", "id")  # by the token that was kept
        assert (refused.code, "may not" in refused.err) == (1, True)
        assert "sesame" not in json.dumps([[row.detail, row.action] for row in rows(served)])


@root_alone
def test_passwords_are_tried_so_many_times(desk, config_dir, serve_desk, pam_service):
    with_rules(
        config_dir,
        f"external_auth: {{pam: {{daemon: [test.ping]}}}}\nauth.pam.service: {pam_service}\n"
        "limits: {access: {logins_per_minute: 2}}\n",
    )
    with serve_desk(desk, load_settings(config_dir)) as served:
        tries = [("POST", "/login", {"user": "daemon", "password": word}) for word in ("a", "b", "open sesame")]
        answers = ask_as_nobody(served, *tries)
    assert [code for code, _ in answers] == [403] * 3
    assert "passwords were tried" in answers[2][1]


def test_without_rules_the_socket_is_for_its_user_alone(served):
    assert served.settings.socket.stat().st_mode & 0o777 == 0o600


@root_alone
def test_a_long_argument_is_kept_as_its_length(desk, config_dir, serve_desk):
    with_rules(config_dir, "publisher_acl: {nobody: [test.*]}\n")
    call = {"target": {"expression": "web*"}, "fun": "test.echo", "args": ["x" * 401, {"a": "y" * 400}]}
    with serve_desk(desk, load_settings(config_dir)) as served:
        ask_as_nobody(served, ("POST", "/call", call))
    assert json.loads(rows(served)[0].detail)["args"] == ["<401 characters>", {"a": "y" * 400}]
