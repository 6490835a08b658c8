"""The returners against real servers: Salt's keys, tables, indices, and what is delivered twice is there once."""

import email
import json

import pytest

from minion.returners.errors import EntryRefused, LibraryMissing, ReturnerError, UnknownReturner, library
from minion.returners.registry import BUILT_IN, built_in

RET = {
    "jid": "20261123020000000001",
    "id": "web1",
    "fun": "test.arg",
    "fun_args": ["a"],
    "return": {"x.y": [1, "\0"]},
    "retcode": 0,
    "success": True,
}
LOAD = {"fun": "test.arg", "tgt": "web*", "jid": RET["jid"]}
EVENTS = [{"name": "e-1", "tag": "a/b", "data": {"n": 1}}, {"name": "e-2", "tag": "a/c", "data": {"n": 2}}]


def test_redis_has_salts_keys(redis_server):
    import redis

    one = built_in("redis")
    one.returner(redis_server, RET)
    one.returner(redis_server, RET)
    one.job_cache.save_load(redis_server, RET["jid"], LOAD)
    with redis.Redis(unix_socket_path=redis_server["redis.unix_socket_path"], decode_responses=True) as client:
        assert sorted(client.keys()) == [f"load:{RET['jid']}", "minions", f"ret:{RET['jid']}", "web1:test.arg"]
        assert client.smembers("minions") == {"web1"}
        assert client.get("web1:test.arg") == RET["jid"]
        assert 0 < client.ttl(f"ret:{RET['jid']}") <= 24 * 3600
    assert one.job_cache.get_jid(redis_server, RET["jid"]) == {"web1": RET}
    assert one.job_cache.get_load(redis_server, RET["jid"]) == LOAD
    assert one.job_cache.get_jids(redis_server) == {RET["jid"]: LOAD}
    assert one.job_cache.get_load(redis_server, "0") == {}


def test_a_profile_and_arguments_of_the_job_stand_above_the_plain_options(redis_server):
    path = redis_server["redis.unix_socket_path"]
    opts = {"redis.host": "nowhere.invalid", "other.redis.unix_socket_path": path}
    built_in("redis").returner(opts, {**RET, "ret_config": "other"})
    built_in("redis").returner({}, {**RET, "ret_kwargs": {"unix_socket_path": path, "db": 1}})
    cache = built_in("redis").job_cache
    assert list(cache.get_jid(redis_server, RET["jid"])) == ["web1"]
    assert list(cache.get_jid({**redis_server, "redis.db": 1}, RET["jid"])) == ["web1"]


@pytest.mark.parametrize("name", ["pgjsonb", "postgres"])
def test_postgresql_has_salts_tables(postgres_server, name):
    import psycopg

    one = built_in(name)
    one.returner(postgres_server, RET)
    one.returner(postgres_server, RET)
    one.event_return({**postgres_server, "id": "ctl"}, EVENTS)
    one.job_cache.save_load(postgres_server, RET["jid"], LOAD)
    one.job_cache.save_load(postgres_server, RET["jid"], LOAD)
    database = {"pgjsonb": "salt", "postgres": "text"}[name]
    with psycopg.connect(host=postgres_server["host"], user="salt", dbname=database) as connection:
        rows = connection.execute("SELECT fun, jid, id, success FROM salt_returns").fetchall()
        assert rows == [("test.arg", RET["jid"], "web1", "true")]
        rows = connection.execute("SELECT tag, data, master_id FROM salt_events ORDER BY id").fetchall()
        assert [(tag, value if isinstance(value, dict) else json.loads(value), ctl) for tag, value, ctl in rows] == [
            ("a/b", {"n": 1}, "ctl"),
            ("a/c", {"n": 2}, "ctl"),
        ]
    kept = {"web1": {**RET, "return": {"x.y": [1, "\ufffd"]}}}
    assert one.job_cache.get_jid(postgres_server, RET["jid"]) == kept
    assert one.job_cache.get_load(postgres_server, RET["jid"]) == LOAD
    assert one.job_cache.get_jids(postgres_server) == {RET["jid"]: LOAD}
    assert one.job_cache.get_load(postgres_server, "0") == {}


def test_elasticsearch_has_salts_indices(http_server, documents):
    opts = {"elasticsearch.host": http_server.url, "elasticsearch.username": "u", "elasticsearch.password": "p"}
    one = built_in("elasticsearch")
    one.returner(opts, RET)
    one.returner(opts, RET)
    one.event_return(opts, EVENTS)
    one.job_cache.save_load(opts, RET["jid"], LOAD)
    [document] = documents["salt-test_arg"].values()
    assert document["data"] == {"_orig_key": "x.y", "x_y": [1, "\0"]}
    assert document["minion"] == "web1"
    assert document["success"] is True
    assert list(documents["salt-master-event-cache"]) == ["e-1", "e-2"]
    assert one.job_cache.get_jid(opts, RET["jid"]) == {"web1": RET}
    assert one.job_cache.get_load(opts, RET["jid"]) == LOAD
    assert {headers["Authorization"] for _, _, headers, _ in http_server.seen} == {"Basic dTpw"}
    one.returner({**opts, "elasticsearch.functions_blacklist": ["test.ping"]}, {**RET, "fun": "test.ping"})
    assert "salt-test_ping" not in documents


def test_slack_and_webhooks_are_posted(http_server):
    built_in("slack_webhook").returner({"slack_webhook.webhook": f"{http_server.url}/T/B/x"}, RET)
    failed = {"a": {"result": False, "comment": "no", "name": "a"}, "b": {"result": True}}
    built_in("slack_webhook").returner(
        {"slack_webhook": {"webhook": f"{http_server.url}/T/B/x", "show_tasks": True}},
        {**RET, "success": False, "return": failed},
    )
    built_in("webhook").returner({"webhook.url": http_server.url, "webhook.headers": {"X-Key": "k"}}, RET)
    built_in("webhook").event_return({"webhook.url": http_server.url}, EVENTS)
    bodies = [json.loads(body) for _, _, _, body in http_server.seen]
    assert bodies[0]["attachments"][0]["title"] == "web1 | Succeeded"
    assert bodies[1]["attachments"][0]["title"] == "web1 | Failed"
    assert "Succeeded: 1, failed: 1\na: no" in bodies[1]["attachments"][0]["text"]
    assert bodies[2] == RET
    assert bodies[3] == [{"tag": one["tag"], "data": one["data"]} for one in EVENTS]
    headers = http_server.seen[2][2]
    assert (headers["X-Key"], headers["Idempotency-Key"]) == ("k", f"{RET['jid']}/web1")


def test_what_a_service_refuses_is_told_without_the_secret_path(http_server):
    http_server.answer = lambda method, path, body: (400, {"error": "no"})
    with pytest.raises(EntryRefused, match="400 Bad Request") as refused:
        built_in("webhook").returner({"webhook.url": f"{http_server.url}/secret"}, RET)
    assert "secret" not in str(refused.value)
    http_server.answer = lambda method, path, body: (503, {})
    with pytest.raises(ReturnerError, match="503") as busy:
        built_in("webhook").returner({"webhook.url": http_server.url}, RET)
    assert not isinstance(busy.value, EntryRefused)


def test_syslog_gets_json(log_socket):
    opts = {"syslog.address": log_socket.getsockname(), "syslog.tag": "salt", "syslog.facility": "LOG_DAEMON"}
    built_in("syslog").returner(opts, RET)
    head, _, body = log_socket.recv(70_000).decode().partition(": ")
    assert head == "<30>salt"
    assert json.loads(body) == RET
    built_in("syslog").event_return(opts, EVENTS)
    assert json.loads(log_socket.recv(70_000).decode().partition(": ")[2]) == {"tag": "a/b", "data": {"n": 1}}


def test_a_mail_says_what_ran_where(mail_server):
    port, mails = mail_server
    opts = {"smtp.host": "127.0.0.1", "smtp.port": port, "smtp.from": "s@example.org", "smtp.to": ["a@example.org"]}
    built_in("smtp").returner(opts, {**RET, "success": False, "id": "web1\nBcc: x@example.org"})
    [mail] = mails
    assert mail.rcpt_tos == ["a@example.org"]
    message = email.message_from_bytes(mail.content)
    assert message["Subject"] == "Salt: web1 Bcc: x@example.org: test.arg failed"
    assert "fun: test.arg" in message.get_payload()
    with pytest.raises(ReturnerError, match=r"not configured: smtp\.from, smtp\.to, smtp\.host"):
        built_in("smtp").returner({}, RET)


def test_a_dead_server_is_an_error(tmp_path):
    opts = {
        "redis.unix_socket_path": str(tmp_path / "none"),
        "returner.pgjsonb.host": str(tmp_path),
        "returner.postgres.host": str(tmp_path),
        "elasticsearch.host": "127.0.0.1:1",
        "slack_webhook.webhook": "http://127.0.0.1:1/x",
        "webhook.url": "http://127.0.0.1:1",
        "syslog.address": str(tmp_path / "none"),
        "smtp": {"host": "127.0.0.1", "port": 1, "from": "a@example.org", "to": "b@example.org"},
    }
    for name, one in BUILT_IN.items():
        with pytest.raises(ReturnerError):
            one.returner(opts, RET)
        if one.event_return is not None:
            with pytest.raises(ReturnerError):
                one.event_return(opts, EVENTS)
        assert name


def test_a_name_that_is_not_known_has_a_hint_and_a_library_its_extra():
    with pytest.raises(UnknownReturner, match="redis"):
        built_in("rediss")
    with pytest.raises(LibraryMissing, match=r"pip install 'saltern\[redis\]'"):
        library("no_such_library", "redis")


MESSAGE = {
    "title": "web1",
    "text": "disk full\n9 %",
    "reaction": "r",
    "event": 7,
    "name": "life-7-r",
    "ret_config": None,
}


def test_messages_for_people(http_server, log_socket, mail_server):
    port, mails = mail_server
    opts = {
        "slack_webhook.webhook": f"{http_server.url}/T/B/x",
        "webhook.url": http_server.url,
        "pager.webhook.url": f"{http_server.url}/pager",
        "syslog.address": log_socket.getsockname(),
        "smtp": {"host": "127.0.0.1", "port": port, "from": "s@example.org", "to": "a@example.org"},
    }
    for name in ("slack_webhook", "webhook", "syslog", "smtp"):
        assert built_in(name).missing(opts, MESSAGE) == []
        built_in(name).message(opts, MESSAGE)
    built_in("webhook").message(opts, {**MESSAGE, "ret_config": "pager", "title": ""})
    bodies = [json.loads(body) for _, _, _, body in http_server.seen]
    assert bodies[0]["attachments"][0] == {
        "color": "#272727", "title": "web1", "text": "disk full\n9 %", "fallback": "web1"
    }  # fmt: skip
    assert bodies[1] == {key: MESSAGE[key] for key in ("title", "text", "reaction", "event")}
    assert http_server.seen[1][2]["Idempotency-Key"] == "life-7-r"
    assert http_server.seen[2][1] == "/pager"
    assert log_socket.recv(1000).decode().endswith("web1 - disk full\n9 %")
    letter = email.message_from_bytes(mails[0].content)
    assert (letter["Subject"], letter["Message-ID"]) == ("web1", "<life-7-r@saltern>")
    assert "disk full" in letter.get_payload()


def test_what_a_message_needs():
    assert built_in("smtp").missing({"smtp.host": "h"}, MESSAGE) == ["smtp.from", "smtp.to"]
    assert built_in("syslog").missing({}, MESSAGE) == []
    assert built_in("redis").message is None
