"""examples/adopt, confirm and autonomy do what their pages say, with real processes."""

import json
from pathlib import Path

import pytest
import yaml
from git_servers import Backend, serving

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}


def policy_of(name):
    return (EXAMPLES / name / "saltern.yaml").read_text()


def with_policy(rig, text):
    (rig.work / "states" / "saltern.yaml").write_text(text)
    rig.wait_applied(rig.push("policy"))


def text_on(rig, minion):
    return (rig.root(minion) / "app.conf").read_text().strip()


def metric(rig, name):
    import httpx

    lines = httpx.get(f"{rig.http}/metrics").raise_for_status().text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def wait_metric(rig, name, value):
    """The text of the metrics is made anew once in some seconds."""
    rig.wait(f"{name} of {value}", lambda: metric(rig, name) == value)


def test_confirm(make_rig):
    rig = make_rig(minions={"router1": {}, "router2": {}, "web1": {}})
    with_policy(rig, policy_of("confirm"))
    rig.push("number 1", NUMBER)
    rig.wait_applied(rig.head())
    wait_metric(rig, "saltern_unconfirmed_minions", 2)
    assert "saltern confirm router1" in rig.saltern("status", "router*").stdout
    assert rig.saltern("confirm", "router*").stdout == "confirmed router1\nconfirmed router2\n"
    wait_metric(rig, "saltern_unconfirmed_minions", 0)

    with_policy(rig, policy_of("confirm").replace("10m", "2s"))
    assert metric(rig, "saltern_unconfirmed_taken_back_total") == 0
    rig.push("number 2", {"pillar/numbers.sls": ("number: 1\n", "number: 2\n")})
    rig.wait("routers to go back", lambda: [one["sync"] for one in rig.status().values()].count("Held") == 2)
    rig.wait("the file", lambda: [text_on(rig, each) for each in rig.minions] == ["number 1", "number 1", "number 2"])
    wait_metric(rig, "saltern_unconfirmed_taken_back_total", 2)
    wait_metric(rig, "saltern_unconfirmed_minions", 0)
    assert "router1" in rig.saltern("rollback", "--list").stdout
    [undone] = json.loads(rig.saltern("rollback", "--undo", "all", "--target", "router1", "--out", "json").stdout)
    assert undone["minions"] == ["router1"]


@pytest.mark.timeout(300)
def test_autonomy(make_rig):
    rig = make_rig({"web1": {}, "db1": {}}, talkative)
    with_policy(rig, policy_of("autonomy").replace("interval: 5m", "interval: 1s\n  splay: 0").replace("10m", "1s"))
    assert "drift.autonomy" in rig.saltern("policy", "explain", "db1").stdout
    rig.wait("a check of each", lambda: all("run_id=drift-" in rig.log(each, 10_000) for each in rig.minions))
    rig.kill("controller", children=True)
    for minion in rig.minions:
        (rig.root(minion) / "app.conf").write_text("by hand\n")
    rig.wait("web1 to heal itself", lambda: text_on(rig, "web1") == "number 0")
    assert text_on(rig, "db1") == "by hand"
    rig.start_controller()
    rig.wait("it to be told", lambda: "healed while the controller was away" in rig.saltern("history", "web1").stdout)
    rig.wait("the controller to heal db1", lambda: text_on(rig, "db1") == "number 0")
    assert not [each for each in rig.history("db1") if each["run_id"].startswith("heal-")]


def talkative(rig):
    """Minions that log each drift check."""
    for minion in rig.minions:
        path = rig.directory / minion / "minion"
        path.write_text(path.read_text() + "log_level: info\n")


LIMITS = """
limits:
  file.managed:
    - name: {{ grains['root'] }}/limits.conf
    - contents: soft 10
    - makedirs: True
"""


class TwoTokens(Backend):
    """As the example has it: one user reads, another writes."""

    def is_let_in(self):
        import base64

        user = "writer" if "git-receive-pack" in self.path else "reader"
        wanted = "Basic " + base64.b64encode(f"{user}:{user}-token".encode()).decode()
        return self.headers.get("Authorization") == wanted


def test_adopt(make_rig):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "states" / "top.sls").write_text("base:\n  '*': [limits]\n")
    (rig.work / "states" / "limits.sls").write_text(LIMITS)
    with_policy(rig, "verify: none\ndrift: {interval: 1s, splay: 0}\n")
    limits = rig.root("web1") / "limits.conf"
    with serving(rig.directory, handler=TwoTokens) as port:
        text = (EXAMPLES / "adopt" / "controller.conf").read_text()
        for word in ("read", "write"):
            file = rig.directory / f"{word}-token"
            file.write_text(f"{word}er-token\n" if word == "read" else "writer-token\n")
            text = text.replace(f"/etc/saltern/git-{word}-token", str(file))
        text = text.replace("https://git.example.org/infra/states.git", f"http://127.0.0.1:{port}/remote.git")
        options = yaml.safe_load(text)
        options["gitfs_remotes"][0][f"http://127.0.0.1:{port}/remote.git"].append({"insecure_auth": True})
        rig.configure(**options)
        rig.stop("controller")
        rig.start_controller()
        rig.wait("the minion", lambda: rig.status()["web1"]["connected"])
        limits.write_text("soft 20\n")
        rig.wait("the drift", lambda: rig.status()["web1"]["health"] == "Drifted")
        assert "+    - contents: soft 20\n" in rig.saltern("adopt", "web1", str(limits), "--dry-run").stdout
        view = json.loads(rig.saltern("adopt", "web1", str(limits), "--yes", "--shared", "--out", "json").stdout)
    (commit,) = view["commits"]
    assert commit["pushed"]
    assert "+    - contents: soft 20\n" in rig.git("show", commit["branch"], cwd=rig.remote)
