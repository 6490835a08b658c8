"""What `saltern run` prints, of which functions, and what Ctrl-C does: on real minions."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess

import pytest
from rig import SALTERN

from minion.call.options import OUTPUTTERS


@pytest.fixture(scope="module")
def shared_rig(make_shared_rig):
    return make_shared_rig(minions={"web1": {}, "web2": {}})


@pytest.fixture
def rig(shared_rig):
    shared_rig.start_stopped()
    return shared_rig


def test_several_functions_with_their_arguments(rig):
    def returned(*words):
        return json.loads(rig.saltern("run", "web1", *words, "--out", "json").stdout)["web1"]

    expected = {"test.echo": "a b", "test.ping": True, "test.arg": {"args": [1], "kwargs": {"x": 2}}}
    words = ("test.echo,test.ping,test.arg", "a b", ",", ",", "1", "x=2")
    told = returned(*words)
    assert told["test.arg"].pop("kwargs")["x"] == 2
    assert told == {**expected, "test.arg": {"args": [1]}}
    assert returned("test.echo,test.ping,test.echo", "one,,two") == {"test.echo": "two", "test.ping": True}
    assert returned("test.echo,test.echo", "a,b", "/", "c", "--args-separator", "/")["test.echo"] == "c"
    assert returned("test.ping,test.version").keys() == {"test.ping", "test.version"}
    wrong = rig.saltern("run", "web1", "test.echo,test.echo", "one", check=False)
    assert wrong.returncode == 64
    assert "2 functions with arguments for 1" in wrong.stderr
    failed = rig.saltern("run", "web1", "cmd.run,cmd.run", "exit 3", ",", "echo well", check=False)
    assert (failed.returncode, failed.stdout) == (1, "web1:\n    cmd.run:\n        well\n")


def test_each_outputter(rig):
    shown = {form: rig.saltern("run", "web1", "test.echo", "hi", "--out", form).stdout for form in OUTPUTTERS}
    assert shown.pop("highstate").startswith("web1:")
    assert shown.pop("table").startswith("web1:")
    assert shown == {
        "json": '{\n  "web1": "hi"\n}\n',
        "nested": "web1:\n    hi\n",
        "pprint": "{'web1': 'hi'}\n",
        "quiet": "",
        "raw": "{'web1': 'hi'}\n",
        "txt": "web1: hi\n",
        "yaml": "web1: hi\n",
    }


def test_how_much_of_states_is_shown(rig, tmp_path):
    states = "said:\n  test.succeed_with_changes: []\nsame:\n  test.nop: []\n"
    (rig.work / "states/said.sls").write_text(states)
    rig.wait_applied(rig.push("a state"))

    def shown(*words):
        return rig.saltern("run", "web1", "state.apply", "said", *words).stdout

    assert "Succeeded" not in shown()
    full = shown("--state-output", "full")
    assert "          ID: same" in full
    assert "Summary for web1" in full
    assert "ID: same" not in shown("--state-verbose", "False")
    assert "Name: same - Function: test.nop - Result: Clean" in shown("--state-output=terse")
    file = tmp_path / "out"
    assert shown("--out-file", str(file), "--out", "txt") == ""
    assert shown("--out-file", str(file), "--out-file-append", "--out", "txt") == ""
    assert [line.split(":")[0] for line in file.read_text().splitlines()] == ["web1", "web1"]
    nowhere = rig.saltern("run", "web1", "test.ping", "--out-file", str(tmp_path / "no/where"), check=False)
    assert nowhere.returncode == 1
    assert "cannot write to" in nowhere.stderr


def test_who_is_connected(rig):
    def minions(*words):
        return json.loads(rig.saltern("minions", *words, "--out", "json").stdout)

    assert [(one["minion"], one["connected"]) for one in minions()] == [("web1", True), ("web2", True)]
    rig.stop("web2")
    rig.wait("web2 to be gone", lambda: [one["minion"] for one in minions("--down")] == ["web2"])
    assert minions("--down")[0]["last_seen"] > 0
    assert minions("--down")[0]["agent"].startswith("saltern ")
    assert rig.status()["web2"]["agent"].startswith("saltern ")
    assert [one["minion"] for one in minions("--up")] == ["web1"]
    assert [one["minion"] for one in minions("-L", "web2")] == ["web2"]
    lines = rig.saltern("minions").stdout.splitlines()
    assert [line.split()[:2] for line in lines[-2:]] == [["web1", "up"], ["web2", "down"]]
    assert rig.saltern("minions", "nobody*", check=False).returncode == 5
    assert rig.saltern("minions", "-G", check=False).returncode == 64


class Asked:
    """`saltern run` on a terminal."""

    def __init__(self, rig, *words):
        self._own, other = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
        command = [*SALTERN, "run", *words, "-c", str(rig.config)]
        self._process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        os.close(other)
        self.said = ""

    def until(self, text):
        while text not in self.said:
            self.said += os.read(self._own, 4096).decode()

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)

    def answer(self, text):
        os.write(self._own, f"{text}\n".encode())

    def end(self):
        try:
            while more := os.read(self._own, 4096):
                self.said += more.decode()
        except OSError:  # the other end of a terminal that is closed
            pass
        os.close(self._own)
        return self._process.wait()


@pytest.mark.parametrize("answer", ["cancel", "detach", ""])
def test_ctrl_c_asks_what_becomes_of_the_job(rig, answer):
    asked = Asked(rig, "*", "cmd.run", "sleep 600", "--show-jid")
    asked.until("Executing job with jid")
    asked.until("\n\r\n")
    jid = asked.said.split("with jid ")[1][:20]

    def minions():
        return rig.ask("/job", jid=jid)["minions"]

    rig.wait("both to run it", lambda: {one["state"] for one in minions()} == {"started"})
    asked.interrupt()
    asked.until("[detach]: ")
    asked.answer(answer)
    assert asked.end() == 130
    if answer == "cancel":
        assert f"asked 2 minions to end job {jid}" in asked.said
        rig.wait("the end", lambda: [one.get("outcome") for one in minions()] == ["cancelled"] * 2)
    else:
        assert f"job {jid} goes on; saltern jobs show {jid}" in asked.said
        assert [one.get("outcome") for one in minions()] == [None, None]


def test_a_batch_that_is_ended_asks_nobody_more(rig):
    begun = json.loads(rig.saltern("run", "*", "cmd.run", "sleep 601", "-b", "1", "--async", "--out", "json").stdout)
    jid = begun["jid"]

    def first():
        found = rig.history("web1")
        return found and found[0]["args"] == "'sleep 601'" and found[0]["state"] == "started"

    rig.wait("the first to run it", first)
    rig.saltern("jobs", "kill", jid)
    halted = rig.wait(
        "the end of the batch",
        lambda: rig.saltern("events", "salt/batch/*/halted", "--since", "1h", "-n", "1", "--out", "json").stdout,
    )
    assert json.loads(halted)["data"]["reason"] == "stop"
    assert rig.ask("/job", jid=jid)["minions"][0]["outcome"] == "cancelled"
    assert all(one["args"] != "'sleep 601'" for one in rig.history("web2"))
