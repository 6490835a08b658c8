"""Jobs on minions of this project and on stock minions: asked together, by every way to ask, and answered alike."""

import contextlib
import http.server
import json
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

import psutil
import pytest
from both_kinds import BothKinds
from range_servers import range_service
from rig import SALTERN, Rig
from stock_minions import salt_venvs

from saltern.client import AuthorizationError, LocalClient, client_config

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
TREE = Path(__file__).parent / "tree"
OWN, STOCK = "own1", "stock1"
BOTH = {OWN, STOCK}

ORCHESTRATION = """
first:
  salt.state:
    - tgt: {stock}
    - sls: app

then:
  salt.function:
    - name: cmd.run
    - tgt: {own}
    - arg: ['echo after >> {order}']
    - require:
      - salt: first

together:
  salt.function:
    - name: test.arg
    - tgt: '*'
    - batch: 1
    - arg: [1, two]
    - kwarg: {{three: 3}}
    - require:
      - salt: then

told:
  salt.runner:
    - name: manage.up
    - require:
      - salt: together
"""
FAILING = """
bad:
  salt.function:
    - name: cmd.run
    - tgt: {stock}
    - arg: ['exit 3']

after:
  salt.function:
    - name: test.ping
    - tgt: {own}
    - require:
      - salt: bad

rescue:
  salt.state:
    - tgt: {own}
    - sls: app
    - onfail:
      - salt: bad

allowed:
  salt.state:
    - tgt: '*'
    - sls: orch.fails_on_one
    - fail_minions: [{stock}]

ret:
  salt.function:
    - name: test.exception
    - tgt: {stock}
    - arg: [on purpose]

misspelt:
  salt.function:
    - name: no.such
    - tgt: '*'
"""
FAILS_ON_ONE = """
{{% if grains.id == '{stock}' %}}
it fails:
  test.fail_without_changes: []
{{% else %}}
it is well:
  test.nop: []
{{% endif %}}
"""


@contextlib.contextmanager
def service():
    """A server that keeps what is posted to it; (what it got, its address)."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.extend(body if isinstance(body, list) else [body])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield got, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def told():
    with service() as both:
        yield both


@pytest.fixture(scope="module")
def site(told):
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    with range_service() as ranges, Rig(folder, {OWN: {"roles": ["web"]}}, TREE, forked=True) as rig:
        ranges.ranges = {"%both": [OWN, STOCK]}
        rig.configure(
            range_server=ranges.address,
            nodegroups={"pair": f"L@{OWN},{STOCK}"},
            publisher_acl={"alice": ["test.*"]},
            event_return=["webhook"],
            event_return_whitelist=["salt/job/*"],
            **{"webhook.url": told[1]},
        )
        rig.up()
        both = BothKinds(rig, {STOCK: {"roles": ["web"]}})
        try:
            names = {"own": OWN, "stock": STOCK, "order": folder / "order"}
            both.wait_applied(
                both.write(
                    {
                        "states/orch/deploy.sls": ORCHESTRATION.format(**names),
                        "states/orch/failing.sls": FAILING.format(**names),
                        "states/orch/fails_on_one.sls": FAILS_ON_ONE.format(**names),
                    }
                )
            )
            yield both
        finally:
            both.stop()
    shutil.rmtree(folder, ignore_errors=True)


TARGETS = [
    ("*",),
    ("-L", f"{OWN},{STOCK}"),
    ("-E", "(own|stock)1"),
    ("-G", "roles:web"),
    ("-P", "roles:w.b"),
    ("-I", "number:0"),
    ("-J", "number:^0"),
    ("-S", "127.0.0.0/8"),
    ("-C", "G@roles:web and I@number:0 and not nobody"),
    ("-N", "pair"),
    ("-R", "%both"),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target[0])
def test_each_kind_of_target_means_both(site, target):
    if target[0] == "-S":
        # Addresses of the loopback are not in `ipv4` of Salt's grains where there are others.
        addresses = site.json("run", "*", "grains.get", "ipv4")
        assert set(addresses) == BOTH
        common = sorted(set(addresses[OWN]) & set(addresses[STOCK]))
        assert common
        target = ("-S", f"{common[0]}/32")
    assert site.json("run", *target, "test.ping") == dict.fromkeys(BOTH, True)


def test_a_part_and_batches(site):
    assert len(site.json("run", "*", "test.ping", "--subset", "1")) == 1
    assert site.json("run", "*", "test.ping", "-b", "1") == dict.fromkeys(BOTH, True)
    assert site.json("run", "*", "test.ping", "-b", "50%", "--batch-wait", "0.1") == dict.fromkeys(BOTH, True)
    stopped = site.json("run", "*", "cmd.run", "exit 3", "-b", "1", "--failhard", code=1)
    assert len(stopped) == 1


def test_one_that_does_not_answer_is_named_in_each_form(site):
    with frozen(site, STOCK):
        said = site.json("run", "*", "-t", "8", "test.ping", code=1)
        assert said[OWN] is True
        assert said[STOCK].startswith("Minion did not return within 8 s. The job goes on; its result: saltern history ")
        assert site.json("run", "*", "-t", "8", "--hide-timeout", "test.ping") == {OWN: True}
        batched = site.json("run", "*", "-b", "1", "-t", "8", "test.ping", code=1)
        assert batched == {OWN: True, STOCK: batched[STOCK]}
        assert batched[STOCK].startswith("Minion did not return within 8 s.")
    assert site.json("run", "*", "test.ping") == dict.fromkeys(BOTH, True)


def test_arguments_and_values_have_the_same_types(site):
    words = ("1", "two", "three=[1, x]", "four=null", "ü=ö", "{a: 1.5}")
    found = site.json("run", "*", "test.arg", *words)
    stock = {name: value for name, value in found[STOCK]["kwargs"].items() if not name.startswith("__pub_")}
    assert found[OWN] == {"args": [1, "two", {"a": 1.5}], "kwargs": {"three": [1, "x"], "four": None, "ü": "ö"}}
    assert (found[STOCK]["args"], stock) == (found[OWN]["args"], found[OWN]["kwargs"])


def newest(site):
    """The newest job; the verb's code says how that ended."""
    return json.loads(site.rig.saltern("jobs", "last", "--out", "json", check=False).stdout)


def outcomes(site, jid):
    return {one["minion"]: one["outcome"] for one in site.rig.ask("/job", jid=jid)["minions"]}


def begun(site, *words):
    return site.json("run", *words, "--async")["jid"]


def test_a_job_is_looked_up_by_its_id_and_the_minions_know_it_by_that(site):
    jid = begun(site, "*", "cmd.run", "sleep 300")
    running = site.wait(
        "both to run it", lambda: all((found := site.json("run", "*", "saltutil.find_job", jid)).values()) and found
    )
    assert {one["jid"] for one in running.values()} == {jid}
    assert all(jid in [one["jid"] for one in jobs] for jobs in site.json("run", "*", "saltutil.running").values())
    assert any(one["jid"] == jid for one in site.json("jobs", "active"))
    assert sorted(site.rig.saltern("jobs", "kill", jid).stdout.splitlines()) == [
        f"{OWN}: asked to end it",
        f"{STOCK}: asked to end it",
    ]
    site.wait("the end", lambda: outcomes(site, jid) == {OWN: "cancelled", STOCK: "cancelled"})
    shown = site.rig.ask("/job", jid=jid)["minions"]
    assert {one["summary"] for one in shown} == {"the run was ended by saltutil.kill_job"}
    assert not any(site.json("run", "*", "saltutil.find_job", jid).values())


def test_a_job_is_asked_to_end_by_the_functions_of_saltutil(site):
    jid = begun(site, STOCK, "cmd.run", "sleep 300")
    site.wait("it to run", lambda: site.json("run", STOCK, "saltutil.find_job", jid)[STOCK])
    assert "sent to job" in site.rig.saltern("run", STOCK, "saltutil.term_job", jid).stdout
    site.wait("the end", lambda: outcomes(site, jid) == {STOCK: "cancelled"})
    [ended] = site.rig.ask("/job", jid=jid)["minions"]
    assert ended["summary"] == "the run was ended by saltutil.term_job"


def test_who_is_interrupted_is_told_the_job_which_goes_on(site):
    go = site.rig.directory / "go"
    command = f"while [ ! -e {go} ]; do sleep 0.1; done; echo went"
    words = [*SALTERN, "run", "*", "cmd.run", command, "-c", str(site.rig.config)]
    asked = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    running = site.wait(
        "both to run it",
        lambda: [one for one in site.json("jobs", "active") if go.name in one["args"] and one["running"] == 2],
    )
    jid = running[0]["jid"]
    site.wait("the minions to know it", lambda: all(site.json("run", "*", "saltutil.find_job", jid).values()))
    asked.send_signal(signal.SIGINT)
    said, _ = asked.communicate(timeout=30)
    assert asked.returncode == 130
    assert f"job {jid} goes on" in said
    go.touch()
    site.wait("the end", lambda: outcomes(site, jid) == dict.fromkeys(BOTH, "ok"))
    assert site.json("runner", "jobs.lookup_jid", jid) == dict.fromkeys(BOTH, "went")


def test_a_limit_ends_a_job_on_both(site):
    asked = site.rig.saltern("run", "*", "--limit", "1", "cmd.run", "sleep 400", check=False)
    assert asked.returncode == 1
    last = newest(site)
    assert {one["minion"]: one["outcome"] for one in last["minions"]} == {OWN: "timed out", STOCK: "timed out"}
    assert {one["summary"] for one in last["minions"]} == {"timed out after 1 s"}
    running = site.json("run", "*", "saltutil.running")
    assert not any("sleep 400" in str(jobs) for jobs in running.values())


def test_errors_codes_and_outcomes_have_the_same_shape(site):
    assert site.json("run", "*", "cmd.run", "echo out; exit 3", code=1) == dict.fromkeys(BOTH, "out")
    failed = newest(site)["minions"]
    assert {one["outcome"] for one in failed} == {"failed"}
    assert {one["summary"] for one in failed} == {"exit code 3"}
    unknown = site.json("run", "*", "no.such_function", code=1)
    assert all("no.such_function" in value for value in unknown.values())
    assert {one["outcome"] for one in newest(site)["minions"]} == {"failed"}
    broken = site.json("run", "*", "test.exception", "on purpose", code=1)
    assert all("on purpose" in str(value) for value in broken.values())
    site.json("run", "*", "state.apply", "orch.fails_on_one", code=1)
    assert {one["minion"]: one["outcome"] for one in newest(site)["minions"]} == {
        OWN: "ok",
        STOCK: "failed",
    }
    nothing = site.json("run", "*", "state.apply", "orch.nosuch", code=1)
    assert all("orch.nosuch" in str(value) for value in nothing.values())
    assert {one["outcome"] for one in newest(site)["minions"]} == {"compile error"}


def test_a_call_of_states_runs_the_part_that_its_arguments_name(site, tmp_path):
    """The same on both kinds: one id, all but one, and a test run whose `test` has no name."""
    marks = {name: tmp_path / name for name in ("one", "two")}
    states = [f"{name}:\n  file.touch:\n    - name: {path}-{{{{ grains.id }}}}\n" for name, path in marks.items()]
    site.write({"states/parts.sls": "".join(states)})
    site.wait("the tree", lambda: site.rig.head() in str(site.rig.remotes()))

    def there():
        return {(name, minion) for name in marks for minion in BOTH if Path(f"{marks[name]}-{minion}").exists()}

    foretold = site.json("run", "*", "state.sls", "parts", "True")
    assert {one["result"] for value in foretold.values() for one in value.values()} == {None}
    assert there() == set()
    for minion, value in site.json("run", "*", "state.sls_id", "one", "parts").items():
        assert [one["__id__"] for one in value.values()] == ["one"], minion
    assert there() == {("one", minion) for minion in BOTH}
    for minion, value in site.json("run", "*", "state.sls", "parts", "exclude=[{id: one}]").items():
        assert [one["__id__"] for one in value.values()] == ["two"], minion
    assert there() == {(name, minion) for name in marks for minion in BOTH}
    unknown = site.json("run", "*", "state.sls_id", "three", "parts", code=1)
    assert all("No matches for ID 'three' found in SLS 'parts'" in str(value) for value in unknown.values())


def test_a_second_call_of_states_is_refused_or_waits_as_it_was_asked(site):
    site.write({"states/slow.sls": "slow:\n  cmd.run:\n    - name: sleep 6\n"})
    site.wait("the tree", lambda: site.rig.head() in str(site.rig.remotes()))
    slow = begun(site, "*", "state.apply", "slow")
    site.wait("both to run it", lambda: all(site.json("run", "*", "saltutil.find_job", slow).values()))
    site.json("run", "*", "state.apply", "app", code=1)
    second = newest(site)["minions"]
    assert {one["minion"]: one["outcome"] for one in second} == {OWN: "refused", STOCK: "refused"}
    assert all(one["summary"].startswith('The function "state.apply" is running as PID ') for one in second)
    waited = site.json("run", "*", "state.apply", "app", "queue=True")
    assert set(waited) == BOTH
    assert outcomes(site, slow) == {OWN: "changed", STOCK: "changed"}


def test_the_events_of_a_job_and_its_returner(site, told):
    jid = begun(site, "*", "test.arg", "told")
    site.wait("both returns", lambda: len(returned(site, jid)) == 2)
    new = site.events(f"salt/job/{jid}/new")
    assert len(new) == 1
    assert set(new[0]["data"]["minions"]) == BOTH
    shapes = {minion: set(data) for minion, data in returned(site, jid).items()}
    assert shapes[OWN] == shapes[STOCK]
    assert {data["retcode"] for data in returned(site, jid).values()} == {0}
    delivered = site.wait(
        "both at the returner",
        lambda: len(found := [one for one in told[0] if one["tag"].startswith(f"salt/job/{jid}/ret/")]) == 2 and found,
    )
    assert {one["data"]["id"] for one in delivered} == BOTH


def returned(site, jid):
    return {one["data"]["id"]: one["data"] for one in site.events(f"salt/job/{jid}/ret/*")}


def orchestrate(site, name, code=0):
    found = site.json("runner", "state.orchestrate", f"orch.{name}", code=code)
    [running] = found["data"].values()
    ordered = sorted(running.items(), key=lambda item: item[1]["__run_num__"])
    return {key.split("_|-")[1]: one for key, one in ordered}


def test_an_orchestration_goes_from_one_kind_to_the_other(site):
    (site.root(STOCK) / "app.conf").unlink()
    steps = orchestrate(site, "deploy")
    assert {name: step["result"] for name, step in steps.items()} == dict.fromkeys(
        ("first", "then", "together", "told"), True
    )
    assert list(steps) == ["first", "then", "together", "told"]
    assert (site.root(STOCK) / "app.conf").read_text() == "number 0\n"
    assert (site.rig.directory / "order").read_text() == "after\n"
    assert f"Function test.arg ran on {OWN}, {STOCK}." in steps["together"]["comment"]
    assert "Updating: stock1" in steps["first"]["comment"] or "ran successfully" in steps["first"]["comment"]


def test_what_fails_in_an_orchestration_is_told_alike(site):
    steps = orchestrate(site, "failing", code=1)
    assert {name: step["result"] for name, step in steps.items()} == {
        "bad": False,
        "after": False,
        "rescue": True,
        "allowed": True,
        "ret": False,
        "misspelt": False,
    }
    assert "requisite" in steps["after"]["comment"].lower()
    assert OWN in steps["misspelt"]["comment"]
    assert STOCK in steps["misspelt"]["comment"]


def test_the_python_api_takes_both(site):
    local = LocalClient(str(site.rig.config / "controller"))
    assert local.cmd("*", "test.ping") == dict.fromkeys(BOTH, True)
    full = local.cmd("*", "cmd.run", ["exit 3"], full_return=True)
    assert {minion: one["retcode"] for minion, one in full.items()} == dict.fromkeys(BOTH, 3)
    assert set(full[OWN]) == set(full[STOCK])
    batched = list(local.cmd_batch("*", "test.ping", batch=1))
    assert {minion: value for one in batched for minion, value in one.items()} == dict.fromkeys(BOTH, True)
    assert len(local.cmd_subset("*", "test.ping", subset=1)) == 1
    jid = local.cmd_async("*", "test.arg", ["a"])
    site.wait("both returns", lambda: len(returned(site, jid)) == 2)
    assert set(site.json("runner", "jobs.lookup_jid", jid)) == BOTH
    assert set(site.json("runner", "manage.up")) == BOTH
    versions = site.json("runner", "manage.versions")
    assert (set(versions["Salt minion"]), set(versions["Up to date"])) == ({STOCK}, {OWN})


def test_a_returner_of_the_tree_is_refused_for_a_stock_minion_with_the_reason(site):
    site.write({"states/_returners/own.py": "def returner(ret):\n    pass\n"})

    def refused():
        done = site.rig.saltern("run", "*", "test.ping", "--return", "own", check=False)
        return "none of the controller's" not in (said := done.stdout + done.stderr) and said

    assert "1 minions, stock1 the first, are stock minions" in site.wait("the returner to be live", refused)
    assert site.json("run", OWN, "test.ping", "--return", "own") == {OWN: True}


def test_what_somebody_may_do_holds_for_both(site):
    token = site.json("token", "create", "alice", "--expires", "1h")["token"]
    alice = LocalClient(mopts={**client_config(str(site.rig.config)), "token": token})
    assert alice.cmd("*", "test.ping") == dict.fromkeys(BOTH, True)
    for minion in BOTH:
        with pytest.raises(AuthorizationError, match="alice"):
            alice.cmd(minion, "cmd.run", ["id"])


def test_metrics_history_and_reports_count_both_alike(site):
    site.json("run", "*", "state.apply", "app")
    text = urllib.request.urlopen(site.rig.http + "/metrics", timeout=10).read().decode()
    labels = {minion: set() for minion in BOTH}
    for line in text.splitlines():
        for minion in BOTH:
            if f'minion="{minion}"' in line:
                labels[minion].add(line.partition("{")[0])
    assert labels[OWN] == labels[STOCK] != set()
    newest = {minion: next(one for one in site.rig.history(minion) if one["kind"] == "call") for minion in BOTH}
    assert set(newest[OWN]) == set(newest[STOCK])
    assert newest[OWN]["outcome"] == newest[STOCK]["outcome"]
    applied = {minion: next(one for one in site.rig.history(minion) if one["kind"] == "apply") for minion in BOTH}
    assert {one["outcome"] for one in applied.values()} <= {"ok", "changed"}
    assert set(applied[OWN]) == set(applied[STOCK])
    shown = {minion: site.json("show", one["run_id"]) for minion, one in applied.items()}
    states = {minion: [set(each) for each in one["states"].values()] for minion, one in shown.items()}
    for minion in BOTH:
        needed = {"result", "changes", "comment", "name", "__id__", "__sls__", "__run_num__", "duration", "start_time"}
        assert all(needed <= each for each in states[minion]), minion


def test_the_agent_of_each_is_told_wherever_minions_are_listed(site):
    rows = {one["minion"]: one for one in site.json("minions")}
    assert rows[STOCK]["agent"].startswith("salt 3")
    assert not rows[OWN]["agent"].startswith("salt ")
    assert rows[STOCK]["agent"] in site.rig.saltern("minions").stdout
    status = site.rig.status()
    assert status[STOCK]["agent"] == rows[STOCK]["agent"]
    assert rows[STOCK]["agent"] in site.rig.saltern("status", STOCK).stdout
    site.stock.stop(STOCK)
    site.wait_connected(STOCK, False)
    assert rows[STOCK]["agent"] in site.rig.saltern("minions", "--down").stdout
    assert rows[STOCK]["agent"] in site.rig.saltern("status", STOCK).stdout
    site.start(STOCK)
    site.wait_connected(STOCK)


def done(act):
    """Whether the process was still there."""
    try:
        act()
    except psutil.NoSuchProcess:
        return False
    return True


@contextlib.contextmanager
def frozen(site, minion):
    """While the minion's processes are stopped: its connections stand, and it answers nothing."""
    process = psutil.Process(site.stock.pid(minion))
    stopped = [each for each in (process, *process.children(recursive=True)) if done(each.suspend)]
    yield
    for each in stopped:
        done(each.resume)


def unread(port):
    """Bytes that have come to connections from this port of the machine and that nobody has read."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(line[4].partition(":")[2], 16) for line in lines if int(line[2].partition(":")[2], 16) == port)


def test_states_that_a_killed_gateway_has_published_are_had_of_the_next_one(site):
    """The minion gets the job, and asks for its states when the gateway that has published it is gone."""
    (site.root(STOCK) / "app.conf").write_text("by hand\n")
    # One that has just come back has shown its key, and may not listen yet.
    assert site.json("run", STOCK, "test.ping") == {STOCK: True}
    with frozen(site, STOCK):
        before = unread(site.stock.publish_port)
        jid = begun(site, STOCK, "state.apply", "app")
        # A publication has more than that; what keeps a connection up has some bytes.
        site.wait("it to be published", lambda: unread(site.stock.publish_port) > before + 300)
        site.stock.stop("gateway", signal.SIGKILL)
        site.stock.start_gateway()
    site.wait("the end", lambda: outcomes(site, jid)[STOCK] not in (None, "unreachable"))
    assert outcomes(site, jid) == {STOCK: "changed"}, site.rig.ask("/job", jid=jid)["minions"][0]["summary"]
    assert (site.root(STOCK) / "app.conf").read_text() == "number 0\n"


def test_a_killed_minion_ends_its_job_and_comes_back(site):
    jid = begun(site, STOCK, "cmd.run", "sleep 500")
    site.wait("it to run", lambda: site.json("run", STOCK, "saltutil.find_job", jid)[STOCK])
    site.stock.stop(STOCK, signal.SIGKILL)
    site.start(STOCK)
    site.wait("the end", lambda: outcomes(site, jid)[STOCK] not in (None, "unreachable"))
    assert outcomes(site, jid) == {STOCK: "failed"}
    [one] = site.rig.ask("/job", jid=jid)["minions"]
    assert one["summary"].startswith("the minion neither runs this job nor has returned it")
    assert site.json("run", STOCK, "test.ping") == {STOCK: True}
