"""The shapes of salt-api over minions of this project and stock minions: each client, with both in one target."""

import json
import shutil
import tempfile
from pathlib import Path

import httpx
import pytest
from both_kinds import BothKinds
from pam_services import PASSWORD, pam_service
from rig import Rig, free_ports
from stock_minions import salt_venvs

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
TREE = Path(__file__).parent / "tree"
OWN, STOCK = "own1", "stock1"
BOTH = {OWN, STOCK}


class Client:
    """One that has logged in as salt-api's clients do."""

    def __init__(self, site, address):
        self.site = site
        self.browser = httpx.Client(base_url=address, timeout=100, trust_env=False)
        login = {"eauth": "pam", "username": "daemon", "password": PASSWORD}
        [told] = self.browser.post("/login", json=login, headers={"accept": "application/json"}).json()["return"]
        self.browser.headers.update({"accept": "application/json", "x-auth-token": told["token"]})

    def ask(self, *lows):
        """What `return` has for each of these."""
        answer = self.browser.post("/", json=list(lows))
        assert answer.status_code == 200, answer.text
        return answer.json()["return"]

    def low(self, client, fun, **more):
        [found] = self.ask({"client": client, "fun": fun, **more})
        return found

    def get(self, page):
        answer = self.browser.get(page)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def job(self, jid):
        """The job once both have returned."""
        return self.site.wait(
            f"the end of {jid}",
            lambda: set((found := self.get(f"/jobs/{jid}"))["info"][0]["Result"]) == BOTH and found,
        )


@pytest.fixture(scope="module")
def api():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    [number] = free_ports(1)
    with pam_service(folder) as service:
        options = {
            "api": {"port": number, "plain_on_loopback": True},
            "external_auth": {"pam": {"daemon": [".*", "@runner", "@wheel"]}},
            "api_roles": {"viewer": ["daemon"]},
            "auth.pam.service": service,
            "nodegroups": {"pair": f"L@{OWN},{STOCK}"},
        }
        with Rig(folder / "r", {OWN: {"roles": ["web"]}}, TREE, options, forked=True) as rig:
            rig.up()
            both = BothKinds(rig, {STOCK: {"roles": ["web"]}})
            try:
                both.wait_applied(rig.push("both"))
                client = Client(both, f"http://127.0.0.1:{number}/salt")
                yield client
                client.browser.close()
            finally:
                both.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("*", "glob"),
        ("(own|stock)1", "pcre"),
        (f"{OWN},{STOCK}", "list"),
        ("roles:web", "grain"),
        ("number:0", "pillar"),
        ("G@roles:web and I@number:0", "compound"),
        ("pair", "nodegroup"),
    ],
)
def test_local_with_each_kind_of_target(api, target, kind):
    assert api.low("local", "test.ping", tgt=target, tgt_type=kind) == dict.fromkeys(BOTH, True)


def test_local_has_arguments_values_and_codes_of_both(api):
    found = api.low("local", "test.arg", tgt="*", arg=[1, "two"], kwarg={"three": [3]})
    for minion in BOTH:
        assert found[minion]["args"] == [1, "two"]
        assert found[minion]["kwargs"]["three"] == [3]
    full = api.low("local", "cmd.run", tgt="*", arg=["echo out; exit 3"], full_return=True)
    assert {minion: (one["ret"], one["retcode"]) for minion, one in full.items()} == dict.fromkeys(BOTH, ("out", 3))
    assert set(full[OWN]) == set(full[STOCK])
    batches = api.ask({"client": "local_batch", "fun": "test.ping", "tgt": "*", "batch": "1"})
    assert sorted(map(str, batches)) == [str({minion: True}) for minion in sorted(BOTH)]
    assert set(api.low("local", "no.such", tgt="*")) == BOTH
    first, second = api.ask(
        {"client": "local", "tgt": STOCK, "fun": "test.ping"},
        {"client": "local", "tgt": OWN, "fun": "test.echo", "arg": ["x"]},
    )
    assert (first, second) == ({STOCK: True}, {OWN: "x"})


def test_states_have_the_shape_of_salts_on_both(api):
    found = api.low("local", "state.apply", tgt="*", kwarg={"test": True})
    assert set(found) == BOTH
    for minion in BOTH:
        assert all("_|-" in key and one["result"] is True for key, one in found[minion].items())
    assert {key.split("_|-")[0] for key in found[OWN]} == {key.split("_|-")[0] for key in found[STOCK]}


def test_a_job_that_is_not_waited_for_is_looked_up(api):
    begun = api.low("local_async", "test.echo", tgt="*", arg=["hello"])
    assert set(begun["minions"]) == BOTH
    shown = api.job(begun["jid"])
    assert shown["info"][0]["Function"] == "test.echo"
    assert shown["return"] == [dict.fromkeys(BOTH, "hello")]
    told = api.get("/jobs")["return"][0][begun["jid"]]
    assert (told["Target"], told["Target-type"]) == (f"{OWN},{STOCK}", "list"), "those that `daemon` may call"
    looked = api.low("runner", "jobs.lookup_jid", jid=begun["jid"])
    assert looked.get("data", looked) == dict.fromkeys(BOTH, "hello")
    listed = api.low("runner", "jobs.list_job", jid=begun["jid"])
    assert {minion: one["success"] for minion, one in listed["Result"].items()} == dict.fromkeys(BOTH, True)


def test_a_running_job_is_active_and_is_ended_on_both(api):
    jid = api.low("local_async", "cmd.run", tgt="*", arg=["sleep 300"])["jid"]

    def running():
        one = api.low("runner", "jobs.active").get(jid)
        return one and {each for entry in one["Running"] for each in entry} == BOTH and one

    assert api.site.wait("both to run it", running)["Function"] == "cmd.run"
    found = api.site.wait(
        "both to know it",
        lambda: all((one := api.low("local", "saltutil.find_job", tgt="*", arg=[jid])).values()) and one,
    )
    assert {one["jid"] for one in found.values()} == {jid}
    killed = api.low("local", "saltutil.kill_job", tgt="*", arg=[jid])
    assert all(f"sent to job {jid}" in said for said in killed.values()), killed
    api.site.wait("the end", lambda: jid not in api.low("runner", "jobs.active"))


def test_runners_and_wheel_know_both(api):
    assert set(api.low("runner", "manage.up")) == BOTH
    assert api.low("runner", "manage.status")["down"] == []
    grains = api.low("runner", "cache.grains", tgt="*")
    assert set(grains) == BOTH
    assert grains[STOCK]["saltversion"].startswith("3")
    keys = api.low("wheel", "key.list_all")["data"]["return"]
    assert set(keys["minions"]) == BOTH
    assert set(api.low("wheel", "minions.connected")["data"]["return"]) == BOTH
    assert set(api.low("wheel", "key.finger", match="*")["data"]["return"]["minions"]) == BOTH
    begun = api.low("runner_async", "manage.up")
    assert {"tag", "jid"} <= set(begun)
    assert set(api.get(f"/minions/{STOCK}")["return"][0]) == {STOCK}
    assert set(api.get("/minions")["return"][0]) == BOTH


def test_events_of_both_are_told_with_the_same_fields(api):
    with api.browser.stream("GET", "/events", headers={"accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "retry: 400"
        jid = api.low("local_async", "test.echo", tgt="*", arg=["hello"])["jid"]
        seen = {}
        while set(seen) != BOTH:
            line = next(lines)
            if line.startswith("data:") and f"salt/job/{jid}/ret/" in line:
                event = json.loads(line.removeprefix("data:"))
                seen[event["data"]["id"]] = event["data"]
    assert {minion: one["return"] for minion, one in seen.items()} == dict.fromkeys(BOTH, "hello")
    assert set(seen[OWN]) == set(seen[STOCK])
    sent = api.low("local", "event.send", tgt="*", arg=["my/tag", {"a": 1}])
    assert sent == dict.fromkeys(BOTH, True)
    events = api.site.wait("the events", lambda: len(found := api.site.events("my/tag")) == 2 and found)
    assert {one["data"]["id"] for one in events} == BOTH
