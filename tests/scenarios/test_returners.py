"""Events and jobs at returners: a controller and a minion, a real Redis and a service that comes and goes."""

import contextlib
import http.server
import json
import shutil
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest


class Service:
    """An HTTP server on one port that can be stopped and started again; what it got, in order."""

    def __init__(self):
        self.got, self.port, self.server = [], 0, None

    def start(self):
        got = self.got

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                got.extend(body if isinstance(body, list) else [body])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service():
    one = Service()
    one.start()
    yield one
    one.stop()


@pytest.fixture
def redis_socket(tmp_path):
    pytest.importorskip("redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server")
    path = tmp_path / "r.sock"
    options = ["--port", "0", "--unixsocket", path, "--save", "", "--dir", tmp_path]
    server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    yield path
    server.terminate()
    server.wait()


def returner(rig, name):
    return {one["returner"]: one for one in rig.ask("/status")["returners"]}.get(name, {})


def test_a_dead_returner_of_events_delays_nothing_and_loses_nothing(make_rig, service):
    rig = make_rig(
        minions={"web1": {}},
        **{
            "event_return": ["webhook"],
            "event_return_whitelist": ["salt/job/*", "my/*"],
            "event_return_blacklist": ["my/secret"],
            "webhook.url": f"http://127.0.0.1:{service.port}",
        },
    )
    assert rig.saltern("run", "web1", "test.ping").returncode == 0
    rig.wait("the return", lambda: any("/ret/web1" in one["tag"] for one in service.got))
    service.stop()
    for number in range(3):
        assert rig.saltern("run", "web1", "test.arg", f"n={number}").returncode == 0
    rig.wait("that it fails", lambda: returner(rig, "webhook").get("failures", 0) > 0)
    rig.kill("controller", children=False)
    before = len(service.got)
    service.start()
    rig.start_controller()
    rig.wait("all that waited", lambda: len([one for one in service.got[before:] if "/ret/" in one["tag"]]) >= 3)
    returned = [one["data"]["return"]["kwargs"]["n"] for one in service.got[before:] if "/ret/" in one["tag"]]
    assert returned[:3] == [0, 1, 2]
    assert all(one["tag"].startswith("salt/job/") for one in service.got)


REACTION = """
tell:
  local.test.arg:
    - tgt: web1
    - args: [reaction]
    - ret: redis
    - ret_config: audit
"""
RULE = {"tgt": "web1", "args": ["rule"], "ret": ["redis"], "ret_kwargs": {"db": 3}}
ORCHESTRATION = """
test.arg:
  salt.function:
    - tgt: web1
    - arg: [orchestration]
    - ret: [redis]
    - ret_kwargs: {db: 4}
states:
  salt.state:
    - tgt: web1
    - sls: orch.nothing
    - ret: redis
    - ret_kwargs: {db: 4}
"""


def returned_to(redis_socket, db, minion, fun="test.arg"):
    """What Redis has as the newest return of a function."""
    import redis

    with redis.Redis(unix_socket_path=str(redis_socket), db=db, decode_responses=True) as client:
        jid = client.get(f"{minion}:{fun}")
        return jid and json.loads(client.hget(f"ret:{jid}", minion))["return"]


def test_a_job_names_its_returners(make_rig, redis_socket):
    rig = make_rig(
        minions={"web1": {}, "web2": {}},
        **{"redis.unix_socket_path": str(redis_socket), "audit.redis.db": 5},
    )

    def has(db, minion, text):
        return (returned_to(redis_socket, db, minion) or {}).get("args") == [text]

    assert rig.saltern("run", "*", "test.arg", "both", "--return", "redis,local_cache").returncode == 0
    rig.wait("both returns", lambda: has(0, "web1", "both") and has(0, "web2", "both"))
    options = ["--return", "redis", "--return_config", "audit"]
    assert rig.saltern("run", "web1", "test.arg", "profile", *options).returncode == 0
    rig.wait("the database of the profile", lambda: has(5, "web1", "profile"))
    assert rig.saltern("run", "web1", "test.arg", "other", *options, "--return_kwargs", "{db: 3}").returncode == 0
    rig.wait("the other database", lambda: has(3, "web1", "other"))
    assert has(0, "web1", "both")
    assert has(5, "web1", "profile")
    for wrong, said in (
        (["--return", "rediss"], "did you mean redis?"),
        (["--return", "redis", "--return_config", "audi"], "no options of the profile"),
        (["--return", "redis", "--return_kwargs", json.dumps({"a": "b" * 20_000})], "the limit `returner: options`"),
        (["--return_kwargs", "{db: 3}"], "no returner"),
        (["--return", "redis", "--return_kwargs", "{redis.db: 3}"], "write db, without what stands before it"),
        (["--return", "redis", "--return_kwargs", "{dbs: 3}"], "redis: there is no option 'dbs'"),
        (["--return_kwargs", "3"], "is a mapping"),
    ):
        refused = rig.saltern("run", "web1", "test.ping", *wrong, check=False)
        assert refused.returncode != 0
        assert said in refused.stdout + refused.stderr


def test_reactions_and_orchestrations_name_returners(make_rig, redis_socket, tmp_path):
    reaction = tmp_path / "tell.sls"
    reaction.write_text(REACTION)
    rig = make_rig(
        minions={"web1": {}},
        reactor=[{"my/go": [str(reaction)]}],
        rules=[{"name": "tell", "tag": "my/rule", "do": [{"local.test.arg": RULE}]}],
        **{"redis.unix_socket_path": str(redis_socket), "audit.redis.db": 5},
    )
    rig.saltern("run", "web1", "event.send", "my/go")
    rig.wait("the reaction's return", lambda: returned_to(redis_socket, 5, "web1"))
    assert returned_to(redis_socket, 5, "web1")["args"] == ["reaction"]
    rig.saltern("run", "web1", "event.send", "my/rule")
    rig.wait("the return of a native rule", lambda: returned_to(redis_socket, 3, "web1"))
    assert returned_to(redis_socket, 3, "web1")["args"] == ["rule"]
    path = rig.work / "states" / "orch" / "tell.sls"
    path.parent.mkdir()
    path.write_text(ORCHESTRATION)
    path.with_name("nothing.sls").write_text("nothing:\n  test.nop: []\n")
    rig.wait_applied(rig.push("orchestrations"))
    assert rig.saltern("runner", "state.orchestrate", "orch.tell").returncode == 0
    rig.wait("the function's return", lambda: returned_to(redis_socket, 4, "web1"))
    assert returned_to(redis_socket, 4, "web1")["args"] == ["orchestration"]
    rig.wait("the states' return", lambda: returned_to(redis_socket, 4, "web1", "state.sls"))
    assert rig.saltern("runner", "salt.execute", "web1", "test.arg", "runner", "ret=redis").returncode == 0
    rig.wait("the runner's return", lambda: (returned_to(redis_socket, 0, "web1") or {}).get("args") == ["runner"])


OF_TREE = """
import json

__virtualname__ = "mine"

def __virtual__():
    return __virtualname__

def returner(ret):
    with open(PLACE, "a") as file:
        file.write(json.dumps(ret) + "\\n")
"""


def test_returners_of_the_tree_run_on_minions(make_rig, tmp_path):
    place = tmp_path / "mine"
    rig = make_rig(minions={"web1": {}, "web2": {}})
    refused = rig.saltern("run", "*", "test.ping", "--return", "mine", check=False)
    assert "returner 'mine' is none of the controller's" in refused.stdout + refused.stderr
    path = rig.work / "states" / "_returners" / "own.py"
    path.parent.mkdir()
    path.write_text(OF_TREE.replace("PLACE", repr(str(place))))
    path.with_name("idle.py").write_text("def returner(ret):\n    raise SystemExit\n")
    (rig.work / "states" / "web.sls").write_text("nothing:\n  test.nop: []\n")
    rig.wait_applied(rig.push("a returner"))

    def got(word):
        lines = map(json.loads, place.read_text().splitlines()) if place.exists() else ()
        return sorted(ret["id"] for ret in lines if word in str(ret["return"]))

    options = ["--return", "mine", "--return_kwargs", "{db: 3}"]
    assert rig.saltern("run", "*", "test.arg", "function", *options).returncode == 0
    rig.wait("both returns", lambda: got("function") == ["web1", "web2"])
    assert json.loads(place.read_text().splitlines()[0])["ret_kwargs"] == {"db": 3}
    rig.saltern("run", "web1", "state.sls", "web", "test=True", "--return", "mine")
    rig.wait("the states' return", lambda: got("nothing") == ["web1"])
    huge = json.dumps({"a": "b" * 20_000})
    refused = rig.saltern("run", "web1", "test.ping", "--return", "mine", "--return_kwargs", huge, check=False)
    assert "the limit `returner: options`" in refused.stdout + refused.stderr
    wrong = rig.saltern("run", "web1", "test.arg", "x", "--return", "idle")
    assert wrong.returncode == 0  # what a returner does is no affair of who asked


def test_jobs_of_the_schedule_name_returners(make_rig, redis_socket):
    more = {"returner": "redis", "return_kwargs": {"db": 6}}
    rig = make_rig(
        minions={"web1": {}},
        schedule={
            "asked": {
                "function": "test.arg",
                "args": ["minion"],
                "target": "web*",
                "seconds": 1,
                "returner": ["redis"],
            },
            "own": {"function": "test.arg", "args": ["runner"], "hours": 1, **more},
            "wrong": {"function": "test.arg", "hours": 1, "returner": "mine"},
        },
        **{"redis.unix_socket_path": str(redis_socket)},
    )
    rig.wait("the minion's return", lambda: returned_to(redis_socket, 0, "web1"))
    assert returned_to(redis_socket, 0, "web1")["args"] == ["minion"]
    rig.wait("the runner's return", lambda: returned_to(redis_socket, 6, "controller", "runner.test.arg"))
    assert returned_to(redis_socket, 6, "controller", "runner.test.arg")["return"]["args"] == ["runner"]
    shown = rig.saltern("events", "saltern/schedule/wrong/error", "--since", "1h", "-n", "1", "--out", "json").stdout
    assert "'mine' is none of the controller's" in shown


def test_a_return_is_not_lost_when_the_controller_is_killed(make_rig, redis_socket, tmp_path):
    import redis

    rig = make_rig(minions={"web1": {}}, **{"redis.unix_socket_path": str(redis_socket)})
    go, begun = tmp_path / "go", tmp_path / "begun"
    command = f"touch {begun}; while ! test -e {go}; do sleep 0.05; done; echo done"
    rig.saltern("run", "-t", "0.2", "web1", "cmd.run", command, "--return", "redis", check=False)
    rig.wait("the job", begun.exists)
    rig.kill("controller", children=True)
    go.touch()
    rig.start_controller()
    rig.wait("the return", lambda: returned_to(redis_socket, 0, "web1", "cmd.run") == "done")

    def kept():
        with contextlib.closing(sqlite3.connect(store, timeout=30)) as connection:
            return connection.execute("SELECT count(*) FROM runs WHERE returners IS NOT NULL").fetchone()[0]

    (store,) = (path for path in rig.directory.rglob("*.sqlite") if path.name != "spool.sqlite")
    rig.wait("the note of it", lambda: not kept())
    rig.kill("controller", children=True)
    with redis.Redis(unix_socket_path=str(redis_socket)) as client:
        client.flushall()
    # What is on disk when it is killed after the result is stored, and before it waits for its returner.
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        text = json.dumps({"names": ["redis"]})
        assert connection.execute("UPDATE runs SET returners = ? WHERE fun = 'cmd.run'", (text,)).rowcount == 1
    rig.start_controller()
    rig.wait("the return", lambda: returned_to(redis_socket, 0, "web1", "cmd.run") == "done")
    rig.wait("the note of it", lambda: not kept())


def value(rig, *words):
    return json.loads(rig.saltern("runner", *words, "--out", "json").stdout)


def test_jobs_are_listed_from_all_job_caches(make_rig, redis_socket):
    import redis

    rig = make_rig(
        minions={"web1": {}, "web2": {}},
        **{
            "ext_job_cache": "redis",
            "master_job_cache": "elasticsearch",
            "redis": {"unix_socket_path": str(redis_socket)},
            "elasticsearch.hosts": ["127.0.0.1:1"],
        },
    )
    assert rig.saltern("run", "*", "test.arg", "kept").returncode == 0
    (jid,) = value(rig, "jobs.list_jobs", "search_function=test.arg", "ext_source=local_cache")
    rig.wait("the job", lambda: set(value(rig, "jobs.lookup_jid", jid, "ext_source=redis")) == {"web1", "web2"})
    found = value(rig, "jobs.list_job", jid, "ext_source=redis")
    assert (found["Target"], found["Minions"]) == ("*", ["web1", "web2"])
    old = "20200101000000000001"
    with redis.Redis(unix_socket_path=str(redis_socket), decode_responses=True) as client:
        load = json.loads(client.get(f"load:{jid}"))
        client.set(f"load:{old}", json.dumps({**load, "jid": old, "fun": "pkg.install", "minions": ["old1", "old2"]}))
        ret = json.loads(client.hget(f"ret:{jid}", "web1"))
        client.hset(f"ret:{old}", "old1", json.dumps({**ret, "id": "old1"}))
        client.set("load:junk", "[]")
    assert {old, jid} <= set(value(rig, "jobs.list_jobs"))
    assert list(value(rig, "jobs.list_jobs", "search_function=pkg.*")) == [old]
    assert list(value(rig, "jobs.list_jobs", "end_time=2021-01-01")) == [old]
    assert list(value(rig, "jobs.last_run", "function=pkg.install")) == [old]
    assert old in value(rig, "jobs.list_jobs_filter", "1000")
    assert value(rig, "jobs.exit_success", old) == {"old1": True, "old2": False}
    assert value(rig, "jobs.lookup_jid", old, "missing=true")["old2"] == "Minion did not return"
    refused = rig.saltern("runner", "jobs.list_jobs", "ext_source=elasticsearch", check=False)
    assert refused.returncode == 1
    assert "lists none" in refused.stdout + refused.stderr


def test_a_job_is_read_back_from_the_job_cache(make_rig, redis_socket):
    import redis

    rig = make_rig(
        minions={"web1": {}}, **{"master_job_cache": "redis", "redis": {"unix_socket_path": str(redis_socket)}}
    )
    assert rig.saltern("run", "web1", "test.arg", "kept").returncode == 0
    with redis.Redis(unix_socket_path=str(redis_socket), decode_responses=True) as client:
        rig.wait("the job", lambda: client.get("web1:test.arg"))
        jid = client.get("web1:test.arg")
        ret = json.loads(client.hget(f"ret:{jid}", "web1"))
        assert ret["return"] == {"args": ["kept"], "kwargs": {}}
        # One that this controller's store has never had.
        client.hset("ret:20200101000000000001", "old1", json.dumps({**ret, "id": "old1"}))
    found = rig.saltern("runner", "jobs.lookup_jid", "20200101000000000001", "--out", "json")
    assert json.loads(found.stdout) == {"old1": {"args": ["kept"], "kwargs": {}}}


NOTIFY = """
tell:
  notify.webhook:
    - title: {{ data['id'] }}
    - text: {{ data['data']['text'] | tojson }}
elsewhere:
  notify.slack:
    - text: x
again:
  reconcile.sync:
    - tgt: web1
    - whole: true
fetch:
  reconcile.refresh:
    - remote: nosuch
"""


def test_a_reaction_tells_people_once_their_service_is_there_again(make_rig, service, tmp_path):
    sls = tmp_path / "notify.sls"
    sls.write_text(NOTIFY)
    rig = make_rig(
        minions={"web1": {}},
        reactor=[{"my/alarm": [str(sls)]}],
        rules=[{"name": "own", "tag": "my/alarm", "do": [{"notify.webhook": {"text": "of {{ minion }}"}}]}],
        **{"webhook.url": f"http://127.0.0.1:{service.port}"},
    )
    service.stop()
    rig.saltern("run", "web1", "event.send", "my/alarm", '{"text": "{{ 7 * 7 }}"}')
    rig.wait("that it fails", lambda: returner(rig, "notify.webhook").get("failures", 0) > 0)
    done = rig.wait(
        "the reaction", lambda: [one for one in rig.ask("/reactions", limit=100) if one["outcome"] and one["sls"]]
    )
    assert sorted(f"{one['type']}.{one['fun']}" for one in done[0]["reactions"]) == [
        "notify.slack", "notify.webhook", "reconcile.refresh", "reconcile.sync"
    ]  # fmt: skip
    assert any("slack_webhook is not configured: write slack_webhook.webhook" in one for one in done[0]["errors"])
    assert any("there is no remote nosuch" in one for one in done[0]["errors"])
    assert len(done[0]["errors"]) == 2
    rig.kill("controller", children=False)
    service.start()
    rig.start_controller()
    rig.wait("both messages", lambda: len(service.got) >= 2)
    by_reaction = {one["reaction"]: one for one in service.got}
    assert by_reaction["tell"]["text"] == "{{ 7 * 7 }}"
    assert by_reaction["tell"]["title"] == "web1"
    assert by_reaction["own"]["text"] == "of web1"


EXAMPLE = Path(__file__).parents[2] / "examples/reactors/reactor/disk.sls"


def test_the_example_tells_people_of_a_disk_that_a_beacon_sees(make_rig, service):
    url = f"http://127.0.0.1:{service.port}"
    rig = make_rig(
        minions={"web1": {}},
        reactor=[{"salt/beacon/*/diskusage/*": [str(EXAMPLE)]}],
        **{"slack_webhook.webhook": f"{url}/slack", "pager.webhook.url": f"{url}/pager"},
    )
    rig.stop("web1")
    settings = rig.directory / "web1" / "minion"
    settings.write_text(settings.read_text() + "beacons: {diskusage: [{/: 0%}, {interval: 1}]}\n")
    rig.start_minion("web1")
    [said] = rig.wait("the message", lambda: service.got[:1])
    assert "The disk at / is " in json.dumps(said)
    assert "web1" in json.dumps(said)
