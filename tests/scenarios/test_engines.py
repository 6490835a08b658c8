"""Engines on a real controller: the examples at work, what is done about one that ends, and what is refused."""

import contextlib
import http.server
import json
import shutil
import sqlite3
import threading
import urllib.error
import urllib.request
from pathlib import Path

import msgspec
import pytest
from rig import Failed, free_ports

EXAMPLES = Path(__file__).parents[2] / "examples/engines/engines"


@pytest.fixture
def inbox():
    """A server that keeps what is posted to it."""
    posted = []

    class Inbox(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inbox)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", posted
    server.shutdown()
    thread.join()
    server.server_close()


def modules(tmp_path, **sources):
    folder = tmp_path / "modules/engines"
    folder.mkdir(parents=True)
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    return folder.parent


def test_the_examples_take_and_send_events(make_rig, tmp_path, inbox):
    url, posted = inbox
    folder = modules(tmp_path)
    shutil.copytree(EXAMPLES, folder / "engines", dirs_exist_ok=True)
    [port] = free_ports(1)
    (tmp_path / "slack.url").write_text(f"{url}/slack\n")
    rig = make_rig(
        minions={},
        extension_modules=str(folder),
        engines=[
            {"webhook": {"port": port, "token": "s3cret"}},
            {"http_logstash": {"url": f"{url}/logstash", "tags": ["salt/engines/hook/*"]}},
            {
                "alerts": {
                    "engine_module": "slack_alerts",
                    "url_file": str(tmp_path / "slack.url"),
                    "tags": ["salt/engines/hook/*"],
                }
            },
        ],
    )

    def post(token):
        headers = {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/build/done", b'{"build": 7}', headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0

    def arrived():
        return post("s3cret") == 204 and {path for path, _ in posted} == {"/logstash", "/slack"}

    rig.wait("the engines to tell of a request", arrived)
    assert post("wrong") == 401
    found = dict(posted)
    assert found["/logstash"]["tag"] == "salt/engines/hook/build/done"
    assert found["/logstash"]["post"] == {"build": 7}
    assert found["/slack"]["text"].startswith("salt/engines/hook/build/done: ")


ENDS = """
import os, pathlib

def start(file):
    with open(file, "a") as out:
        print(os.getpid(), __opts__["__role"], __salt__["test.arg"](1)["args"], __context__, file=out)
    if len(pathlib.Path(file).read_text().splitlines()) == 1:
        raise ValueError("on purpose")
    import time
    time.sleep(3600)
"""


def test_one_that_ends_is_begun_again_and_none_outlives_the_controller(make_rig, tmp_path):
    file = tmp_path / "starts"
    rig = make_rig(minions={}, module_dirs=[str(modules(tmp_path, ends=ENDS))], engines={"ends": {"file": str(file)}})
    rig.wait("the second start", lambda: file.exists() and len(file.read_text().splitlines()) == 2)
    first, second = [line.split(maxsplit=1) for line in file.read_text().splitlines()]
    assert first[1] == "master [1] {}"
    assert first[0] != second[0]
    assert "ValueError: on purpose" in rig.log("controller", 1000)
    shown = rig.saltern("events", "saltern/engine/*", "--since", "1h", "--count", "3", "--out", "json").stdout
    tags = [json.loads(line)["tag"].rpartition("/")[2] for line in shown.splitlines()]
    assert tags == ["started", "ended", "started"]
    rig.kill("controller", children=False)
    rig.wait("the engine to end", lambda: not Path(f"/proc/{second[0]}").exists())


def test_engines_may_stand_in_folders_of_their_own(make_rig, tmp_path):
    told = 'def start():\n    __salt__["event.send"]("salt/engines/told", {"from": "%s"})\n'
    below, direct = modules(tmp_path, told=told % "module_dirs"), tmp_path / "direct"
    direct.mkdir()
    (direct / "told.py").write_text(told % "engines_dirs")
    (direct / "alone.py").write_text(told.replace("/told", "/alone") % "engines_dirs")
    rig = make_rig(minions={}, module_dirs=[str(below)], engines_dirs=[str(direct)], engines=["told", "alone"])
    for tag in ("told", "alone"):
        shown = rig.saltern("events", f"salt/engines/{tag}", "--since", "1h", "-n", "1", "--out", "json").stdout
        assert json.loads(shown)["data"]["from"] == "engines_dirs"


def test_engines_dirs_need_no_other_folder(make_rig, tmp_path):
    (tmp_path / "once.py").write_text('def start():\n    __salt__["event.send"]("salt/engines/once", {})\n')
    rig = make_rig(minions={}, engines_dirs=[str(tmp_path)], engines=["once"])
    rig.saltern("events", "salt/engines/once", "--since", "1h", "-n", "1")


def test_what_is_configured_and_not_there_is_refused_by_name(make_rig):
    with pytest.raises(Failed) as refused:
        make_rig(minions={}, engines=[{"slack": {"token": "x"}}, "reactor"])
    assert "there is no engine 'slack'" in str(refused.value)
    assert "there is no engine 'reactor'" in str(refused.value)


GREEDY = """
def start():
    held = []
    while True:
        held.append(bytearray(8 << 20))
"""

BUSY = """
import itertools

def start():
    for number in itertools.count():
        __runners__["event.send"]("salt/engines/busy/told", {"number": number})
"""

BIG = """
def start():
    __salt__["event.send"]("salt/engines/big/told", {"text": "x" * (4 << 20)})
"""

CRASHES = """
import os

def start():
    os.abort()
"""


def test_one_that_is_over_its_limits_is_named_and_the_controller_lives(make_rig, tmp_path):
    folder = modules(tmp_path, greedy=GREEDY, busy=BUSY, big=BIG, crashes=CRASHES)
    rig = make_rig(
        minions={"web1": {}},
        module_dirs=[str(folder)],
        engines=["greedy", "busy", "big", "crashes"],
        limits={"engine": {"memory_bytes": 256 << 20, "events_per_second": 20}},
    )
    pid = rig.pid("controller")

    def told():
        return {one["engine"]: one for one in rig.ask("/status")["engines"]}

    def over():
        found = told()
        return found["busy"]["waits"] >= 20 and all(found[one]["failures"] >= 2 for one in ("greedy", "big", "crashes"))

    rig.wait("all to be over their limits again and again", over)
    found = told()
    assert "MemoryError" in found["greedy"]["error"]
    assert "limits: engine: memory_bytes" in found["greedy"]["error"]
    assert "what it sent has more than 1048576 bytes" in found["big"]["error"]
    assert "the process of crashes.start ended without a value" in found["crashes"]["error"]
    assert (found["busy"]["state"], found["busy"]["failures"]) == ("running", 0)

    shown = rig.saltern("status").stderr
    assert all(f"engine {name}: " in shown for name in ("greedy", "busy", "big", "crashes"))
    ended = rig.saltern("events", "saltern/engine/crashes/ended", "--since", "1h", "-n", "2", "--out", "json").stdout
    pauses = [json.loads(line)["data"]["again_in"] for line in ended.splitlines()]
    assert pauses == sorted(set(pauses))  # each is longer than the one before
    events = rig.saltern("events", "salt/engines/busy/*", "--since", "1h", "-n", "40", "--out", "json").stdout
    sent = [json.loads(line) for line in events.splitlines()]
    numbers = [one["data"]["number"] for one in sent]
    assert numbers == list(range(numbers[0], numbers[0] + 40))
    assert sent[-1]["time"] - sent[0]["time"] >= 0.9  # of forty, twenty may come at once

    rig.wait_applied(rig.push("work goes on"))
    assert rig.pid("controller") == pid


OF_TREE = """
import socket, time
import salt.utils.event

def _tries(what):
    try:
        return str(what())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def start(word):
    said = {
        "word": word, "version": VERSION,
        "file": _tries(lambda: open("/etc/shadow").read()),
        "network": _tries(lambda: socket.create_connection(("127.0.0.1", PORT), 5)),
        "query": _tries(lambda: __salt__["http.query"]("http://127.0.0.1:PORT/")),
        "cmd": _tries(lambda: __runners__["salt.cmd"]("cmd.run", "id")),
    }
    __salt__["event.send"]("salt/engines/mine", said)
    with salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"]) as events:
        for event in events.iter_events(tag="my/ask", full=True):
            __salt__["event.send"]("my/answer", {"version": VERSION})
"""


def test_an_engine_of_the_tree_runs_in_the_sandbox_and_follows_revisions(make_rig, inbox):
    port = inbox[0].rpartition(":")[2]
    rig = make_rig(minions={"web1": {}}, engines=[{"mine": {"word": "hi", "engine_of_tree": True}}])

    def told():
        (found,) = rig.ask("/status")["engines"]
        return found

    rig.wait("it to wait for the tree", lambda: "the live tree has no _engines/mine.py" in told()["error"])
    path = rig.work / "states" / "_engines" / "mine.py"
    path.parent.mkdir()
    path.with_name("idle.py").write_text('def start():\n    __salt__["event.send"]("salt/engines/idle", {})\n')

    def push(version):
        path.write_text(OF_TREE.replace("PORT", port).replace("VERSION", str(version)))
        rig.push(f"version {version}")

    def heard(tag):
        (path,) = (one for one in rig.directory.rglob("*.sqlite") if one.name != "spool.sqlite")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            return [
                msgspec.msgpack.decode(data)
                for (data,) in store.execute("SELECT data FROM events WHERE tag = ?", (tag,))
            ]

    push(1)
    said = rig.wait("what it may do", lambda: heard("salt/engines/mine"))[0]
    assert (said["word"], said["version"]) == ("hi", 1)
    assert "uid=" not in said["cmd"]
    for refused in ("file", "network", "query"):
        assert "ermission denied" in said[refused] or "not permitted" in said[refused], said
    assert told()["state"] == "running"
    push(2)

    def answered():
        rig.saltern("run", "web1", "event.send", "my/ask")
        return any(one.get("version") == 2 for one in heard("my/answer"))

    rig.wait("the engine of the second revision", answered)
    assert told()["failures"] == 0
    assert not heard("salt/engines/idle"), "what the administrator does not name is not run"
