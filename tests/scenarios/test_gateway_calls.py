"""What unmodified salt-minions do by themselves: their schedules, `salt-call`, the mine, events, pushed files."""

import json
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from rig import Rig
from salt_peer import SaltPeer
from stock_minions import StockMinions, salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINIONS = {f"salt{version.partition('.')[0]}": venv for version, venv in VENVS.items()}
OWN = "own1"

TREE = {
    "states/top.sls": "base:\n  '*':\n    - web\n",
    "states/web.sls": "told:\n  test.succeed_with_changes: []\n",
    "states/extra.sls": "more:\n  test.nop: []\n",
    "states/fires.sls": "from/state:\n  event.send:\n    - data: {a: 1}\n",
    "states/nodes.sls": "%% if 'stock' in opts.get('nodegroups', {})\nof_stock:\n  test.nop: []\n%% endif\n",
    "states/hard.sls": "a:\n  test.fail_without_changes: []\nb:\n  test.nop: []\n",
    "pillar/top.sls": "base:\n  '*':\n    - all\n  'proxy*':\n    - proxy\n",
    "pillar/proxy.sls": "proxy:\n  proxytype: dummy\n",
    "pillar/all.sls": "mine_functions:\n  test.ping: []\n",
}
CONTROLLER = {
    "peer": {"salt.*": ["test.ping", "grains.get", "test.kwarg"], OWN: ["test.kwarg"]},
    "file_recv": True,
    "file_recv_max_size": 4,
    "failhard": True,
    "nodegroups": {"stock": "salt* and not own*"},
    "jinja_env": {"trim_blocks": True},
    "jinja_sls_env": {"line_statement_prefix": "%%"},
    "master_tops": {"ext_nodes": "printf 'classes: [extra]\n' #"},
    "peer_run": {"salt.*": ["manage.up"]},
}
MINION = {
    "beacons": {"status": [{"interval": 5}]},
    "schedule": {
        "said": {
            "function": "test.arg",
            "args": ["one"],
            "kwargs": {"word": "two"},
            "seconds": 3600,
            "returner": "rawfile_json",
            "run_on_start": True,
        },
        "states": {  # the first push may be running: two runs of states wait for each other only with `queue`
            "function": "state.apply",
            "args": ["web"],
            "kwargs": {"queue": True},
            "seconds": 3600,
            "run_on_start": True,
        },
        "silent": {
            "function": "test.arg",
            "args": ["silent"],
            "seconds": 3600,
            "run_on_start": True,
            "return_job": False,
        },
    },
}


class Site:
    """A controller, a gateway, a minion of each version of Salt, and one of ours."""

    def __init__(self, folder):
        self.folder = folder
        for path, text in TREE.items():
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_text(text)
        self.rig = Rig(folder / "rig", {OWN: {}}, folder / "tree", CONTROLLER, forked=True)
        self.rig.up()
        self.head = self.rig.push("first")
        self.stock = StockMinions(self.rig, folder / "stock")
        self.stock.start_gateway()
        for minion, venv in MINIONS.items():
            self.stock.start_minion(venv, minion, {**MINION, "rawfile_json.filename": str(folder / f"{minion}.json")})

    def run(self, *words, code=0):
        done = self.rig.saltern("run", *words, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def call(self, minion, *words, code=0):
        """`salt-call` of the stock minion."""
        return self.stock.call(MINIONS[minion], minion, *words, code=code)

    def runs(self, minion, fun, prefix):
        """What the minion has run by itself, oldest first."""
        found = [run for run in self.rig.history(minion) if run["run_id"].startswith(f"{prefix}-{minion}-")]
        return [run for run in reversed(found) if fun in run["cause"]]

    def wait_run(self, minion, fun, prefix):
        return self.stock.wait(f"{fun} of {minion}", lambda: self.runs(minion, fun, prefix))[-1]


class Events:
    """`saltern events` while something is done."""

    def __init__(self, rig):
        self.rig = rig

    def __enter__(self):
        self.since = time.time()
        return self

    def __exit__(self, *_):
        pass

    def wait(self, tag, minion):
        def found():
            said = self.rig.saltern("events", tag, "--since", "10m", "--no-follow", "--out", "json").stdout
            events = [json.loads(line) for line in said.splitlines() if line.strip()]
            own = [each for each in events if each["time"] >= self.since - 1 and each["data"].get("id") == minion]
            return own[-1]["data"] if own else None

        return self.rig.wait(f"{tag} of {minion}", found)


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = Site(folder)
    try:
        found.stock.wait("keys wait", lambda: set(MINIONS) <= set(found.rig.keys("pending")))
        for minion in MINIONS:
            found.rig.saltern("key", "accept", minion)
        found.rig.wait_applied(found.head, [OWN, *MINIONS], patience=120)
        yield found
    finally:
        found.stock.__exit__(None, None, None)
        found.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=sorted(MINIONS))
def minion(request):
    return request.param


# --- runs that nobody asked for


def test_jobs_of_the_minions_schedule_are_in_the_history(site, minion):
    said = site.wait_run(minion, "test.arg", "scheduled")
    assert (said["cause"], said["outcome"]) == ("schedule said: test.arg one word=two", "ok")
    states = site.wait_run(minion, "state.apply", "scheduled")
    assert (states["cause"], states["outcome"]) == ("schedule states: state.apply web queue=true", "changed")
    assert "succeed_with_changes" in site.rig.saltern("history", states["run_id"]).stdout
    assert not site.runs(minion, "silent", "scheduled")
    assert '"word": "two"' in (site.folder / f"{minion}.json").read_text()  # its returner had it, too


def test_what_somebody_calls_on_the_minion_is_in_the_history(site, minion):
    site.call(minion, "state.apply", "web")
    found = site.wait_run(minion, "state.apply web", "called")
    assert (found["cause"], found["outcome"]) == ("called on the minion: state.apply web", "changed")
    site.call(minion, "cmd.run", "exit 3", "env={PASSWORD: hunter2}", code=None)
    found = site.wait_run(minion, "cmd.run", "called")
    assert found["outcome"] == "failed"
    assert "hunter2" not in found["cause"]
    site.call(minion, "--no-return-event" if minion > "salt3007" else "--local", "test.arg", "unheard")
    site.call(minion, "test.arg", "heard")
    site.wait_run(minion, "heard", "called")
    assert [run["cause"].split()[-1] for run in site.runs(minion, "test.arg", "called")] == ["heard"]


# --- what the controller's configuration says


def test_a_minion_that_compiles_by_itself_follows_the_options_of_the_controller(site, minion):
    said = site.call(minion, "state.show_sls", "nodes")
    assert "of_stock" in said  # `jinja_sls_env` and `nodegroups`
    said = site.call(minion, "state.apply", "hard", code=None)
    assert "fail_without_changes" in said
    assert "_|-b_|-" not in said  # `failhard`
    said = site.call(minion, "state.show_top")
    assert "extra" in said  # `master_tops`
    assert '"result": true' in site.call(minion, "state.highstate")


# --- files that a minion sends


def kept(site, minion, path):
    return f"{site.rig.directory}/c/var/cache/saltern/controller/minions/{minion}/files{path}"


def test_files_are_kept_by_the_controller(site, minion):
    source = site.folder / f"{minion}.pushed"
    source.write_bytes(bytes(range(256)) * 5_000)
    assert "true" in site.call(minion, "cp.push", str(source))
    assert Path(kept(site, minion, source)).read_bytes() == source.read_bytes()
    assert "true" in site.call(minion, "cp.push", str(source), "upload_path=/with/a größe.txt")
    assert Path(kept(site, minion, "/with/a größe.txt")).read_bytes() == source.read_bytes()
    folder = site.folder / f"{minion}.folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/a.conf").write_text("a")
    (folder / "b.txt").write_text("b")
    assert "true" in site.call(minion, "cp.push_dir", str(folder), "glob=*.conf")
    assert Path(kept(site, minion, folder / "deep/a.conf")).read_text() == "a"
    assert not Path(kept(site, minion, folder / "b.txt")).exists()


def test_a_file_that_is_too_large_is_refused(site, minion):
    source = site.folder / f"{minion}.large"
    source.write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    assert "true" not in site.call(minion, "cp.push", str(source), code=None)
    assert "file_recv_max_size" in site.stock.log("gateway")


# --- what minions ask of others


def test_peers_by_the_rules_of_the_controller(site, minion):
    assert f'"{OWN}": true' in site.call(minion, "publish.publish", OWN, "test.ping", "timeout=40")
    assert f'"{minion}": true' in site.call(minion, "publish.publish", minion, "test.ping", "timeout=40")
    full = json.loads(site.call(minion, "publish.full_data", OWN, "grains.get", "id", "timeout=40"))["local"]
    assert full[OWN]["ret"] == OWN
    assert OWN in site.call(minion, "publish.runner", "manage.up")
    assert OWN not in site.call(minion, "publish.publish", OWN, "cmd.run", "id", code=None)
    assert OWN not in site.call(minion, "publish.runner", "jobs.active", code=None)
    assert f"{minion} may not call cmd.run" in site.stock.log("gateway")
    assert f"{minion} may not call runner jobs.active" in site.stock.log("gateway")


def test_a_function_is_told_who_has_it_run_whatever_the_asker_says(site, minion):
    given = ("publish.publish", minion, "test.kwarg", "arg=[a=1, __pub_id=another]", "timeout=40")
    seen = json.loads(site.call(minion, *given))["local"][minion]
    assert (seen["a"], seen["__pub_id"]) == (1, minion)
    named = ("publish.publish", minion, "test.kwarg", "arg=[{__kwarg__: true, __pub_id: another}]", "timeout=40")
    assert json.loads(site.call(minion, *named))["local"][minion]["__pub_id"] == minion
    of_ours = json.loads(site.run(OWN, *given, "--out", "json"))[OWN][minion]
    assert (of_ours["a"], of_ours["__pub_id"]) == (1, OWN)
    assert "__pub_id" not in json.loads(site.run(minion, "test.kwarg", "a=1", "--out", "json"))[minion]


def test_whoever_does_not_answer_in_time_is_left_out(site, minion):
    began = time.monotonic()
    found = json.loads(site.call(minion, "publish.publish", OWN, "test.sleep", "30", "timeout=2"))["local"]
    assert found == {}
    assert time.monotonic() - began < 25


# --- the mine


def test_both_kinds_see_each_others_mine(site, minion):
    site.call(minion, "mine.update")
    site.run(OWN, "mine.update")
    site.stock.wait("both in the mine", lambda: set(mine(site, minion, "*", "test.ping")) >= {minion, OWN})
    seen = site.run(OWN, "mine.get", minion, "test.ping")
    assert f"{minion}:" in seen
    for kind, target in (("list", f"{minion},{OWN}"), ("grain", "kernel:Linux"), ("compound", f"{minion} or {OWN}")):
        assert set(mine(site, minion, target, "test.ping", f"tgt_type={kind}")) >= {minion, OWN}
    assert set(mine(site, minion, f"{minion}|own.", "test.ping", "tgt_type=pcre")) == {minion, OWN}


def test_the_mine_of_a_minion_as_it_is_sent_and_taken_back(site, minion):
    site.call(minion, "mine.send", "said", "mine_function=test.arg", "x")
    site.call(minion, "mine.send", "secret", "mine_function=test.arg", "y", "allow_tgt=nobody*", "allow_tgt_type=glob")
    site.stock.wait("it is there", lambda: mine(site, minion, minion, "said"))
    assert "y" not in site.run(OWN, "mine.get", minion, "secret")
    site.call(minion, "mine.delete", "said")
    site.stock.wait("it is gone", lambda: not mine(site, minion, minion, "said"))
    assert mine(site, minion, minion, "test.ping")
    site.call(minion, "mine.flush")
    site.stock.wait("all is gone", lambda: not mine(site, minion, minion, "test.ping"))
    site.call(minion, "mine.update")
    site.stock.wait("it is there again", lambda: mine(site, minion, minion, "test.ping"))


def mine(site, minion, *words):
    return json.loads(site.call(minion, "mine.get", *words))["local"]


# --- events, and what the controller tells minions


def test_events_of_a_minion(site, minion):
    with Events(site.rig) as events:
        site.call(minion, "event.send", "my/tag", "{a: 1}")
        said = events.wait("my/tag", minion)
        assert said["data"]["a"] == 1
        site.call(minion, "event.fire_master", "{b: 2}", "other/tag")
        assert events.wait("other/tag", minion)["data"]["b"] == 2
        site.call(minion, "state.apply", "fires")
        assert events.wait(f"salt/job/*/ret/{minion}", minion)["fun"] == "state.apply"
        assert events.wait("from/state", minion)["data"]
        found = events.wait(f"salt/beacon/{minion}/status/*", minion)
        assert found["id"] == minion


def test_modules_of_the_tree_and_grains_come_to_the_minion(site, minion):
    changes = {"states/_modules/ours.py": f"def said():\n    return 'said by ours for {minion}'\n"}
    changes[f"states/_grains/of_{minion}.py"] = f"def found():\n    return {{'of_{minion}': 'yes'}}\n"
    for path, text in changes.items():
        (site.rig.work / path).parent.mkdir(parents=True, exist_ok=True)
        (site.rig.work / path).write_text(text)
    site.rig.push(f"modules for {minion}")
    site.stock.wait(
        "the module is there",
        lambda: f"said by ours for {minion}" in site.rig.saltern("run", minion, "ours.said", check=False).stdout,
        90,
    )
    site.stock.wait(
        "it is found by its new grain",
        lambda: minion in site.rig.saltern("run", "-G", f"of_{minion}:yes", "test.ping", check=False).stdout,
        90,
    )


def test_grains_that_are_set_are_targets(site, minion):
    site.call(minion, "grains.set", f"role_{minion}", "web")
    site.stock.wait(
        "it is found",
        lambda: minion in site.rig.saltern("run", "-G", f"role_{minion}:web", "test.ping", check=False).stdout,
        90,
    )


# --- returners


def test_returners_of_the_minion(site, minion):
    file = site.folder / f"{minion}.json"
    site.call(minion, "test.arg", "by hand", "--return", "rawfile_json")
    assert "by hand" in file.read_text()


# --- others that speak Salt's protocol


def test_a_proxy_minion_is_a_minion(site, minion):
    name = f"proxy-{minion}"
    site.stock.start_proxy(MINIONS[minion], name)
    site.stock.wait("its key waits", lambda: name in site.rig.keys("pending"))
    site.rig.saltern("key", "accept", name)
    site.stock.wait("an answer", lambda: "True" in site.rig.saltern("run", name, "test.ping", check=False).stdout, 90)
    assert "dummy" in site.run(name, "grains.get", "kernel") or "proxy" in site.run(name, "grains.get", "kernel")
    assert "coffee" in site.run(name, "pkg.install", "coffee")
    site.stock.stop(name)


def test_a_syndic_is_told_in_the_log_why_it_is_refused(site):
    with SaltPeer(site.folder, "syndic1", site.stock.ret_port) as peer:
        site.stock.wait("its key waits", lambda: peer.authenticate() is True)
        site.rig.saltern("key", "accept", "syndic1")
        site.stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
        assert peer.ask("_syndic_return", jid="1", load={}, **{"return": {}}) is False
        assert "a syndic speaks for minions that have shown no key here" in site.stock.log("gateway")
