"""Pushes, previews, rollouts, drift and secrets: on our own and on stock minions alike, in true words."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import gnupg
import pytest
from both_kinds import BothKinds
from forges.github import FakeGitHub
from pull_scene import Scene
from rig import Rig
from stock_minions import salt_venvs
from store_scan import found_in

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
TREE = Path(__file__).parent / "tree"
OWN, STOCK = "own1", "stock1"
BOTH = (OWN, STOCK)
NEVER = "{schedule: '0 0 29 2 *', duration: 1m}"
POLICY = "drift: {interval: 30m}\n"
WAVES = f"{{name: test, target: {STOCK}}}, {{name: web, target: {OWN}}}"
SECRET = "correct-horse-1"
LATER = """
made:
  file.managed:
    - name: {{ grains.root }}/made
    - contents: first

replaced:
  file.replace:
    - name: {{ grains.root }}/made
    - pattern: first
    - repl: second
    - require:
      - file: made
"""
WITH_SECRET = """
db:
  file.managed:
    - name: {{ grains.root }}/db.conf
    - makedirs: True
    - contents: |
        password = {{ pillar.password }}
told:
  event.send:
    - name: told/db
    - data: {password: {{ pillar.password }}}
    - onchanges: [file: db]
said:
  cmd.run:
    - name: "echo {{ pillar.password }} 'to' {{ grains.root }}; true"
    - onchanges: [file: db]
"""


@pytest.fixture(scope="module")
def site():
    """Who is there; the scene of its forge."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    made = []

    def make(minions, **settings):
        rig = Rig(folder, minions, TREE, settings, forked=True)
        rig.up()
        made.append(BothKinds(rig, {STOCK: {"roles": ["web"]}}))
        return rig

    with FakeGitHub(app=True) as forge:
        try:
            scene = Scene(make, forge, minions={OWN: {"roles": ["web"]}})
            both = made[0]
            both.scene = scene
            both.wait_applied(scene.rig.head())
            yield both
        finally:
            for each in made:
                each.stop()
                each.rig.stop_all()
            shutil.rmtree(folder, ignore_errors=True)


def policy(site, text):
    """Have another saltern.yaml live."""
    head = site.write({"states/saltern.yaml": text}, "a policy")
    site.wait("the policy", lambda: {each["attempted_revision"] for each in site.rig.status().values()} == {head})
    return head


@pytest.fixture
def on_main(site):
    """Each begins and ends with the usual policy, and all applied."""
    site.rig.git("checkout", "-q", "main")
    yield site
    site.rig.git("checkout", "-q", "-f", "main")
    if (site.rig.work / "states/saltern.yaml").read_text() != POLICY:
        site.write({"states/saltern.yaml": POLICY})
    for minion in BOTH:
        site.rig.saltern("resume", minion, check=False)


def test_a_pull_request_is_foretold_in_weaker_words_for_a_stock_minion(on_main):
    site, scene = on_main, on_main.scene
    pull = scene.open(1)
    report = site.wait(
        "the report",
        lambda: f"→ `{pull.head[:8]}`" in (found := scene.ours(pull)[0].body if scene.ours(pull) else "") and found,
    )
    agent = site.rig.status()[STOCK]["agent"]
    assert agent.startswith("salt 3")
    assert f"({agent})" in visible(report)
    assert "as Salt's test=True foretells" in report
    assert "app-told" in report[report.index("Not foretold on") :].splitlines()[0]
    assert "| `stock1` | `~1 ↻1` | 1 | 1 asked, 1 as Salt foretells |" in report
    assert f"{OWN} (" not in visible(report)
    for form in ("text", "markdown", "html"):
        words = ("preview", "--base", "main", "--head", pull.head, "--live", "--out", form)
        shown = site.rig.saltern(*words, check=False).stdout
        assert "test=True foretells" in " ".join(shown.replace("&#39;", "'").split()), form

    def foretold():
        """By minion; one that is not asked in time, or is busy, is asked again."""
        said = json.loads(site.rig.saltern(*words[:-1], "json", check=False).stdout)
        tests = {test["minion"]: test for each in said["classes"] for test in each["tests"]}
        return tests if {test["outcome"] for test in tests.values()} == {"pending"} else None

    tests = site.wait("all to answer", foretold)
    assert {minion: test.get("agent", "") for minion, test in tests.items()} == {OWN: "", STOCK: agent}
    commit = scene.merge(pull)
    site.wait_applied(commit[:8])
    site.wait("what came of it", lambda: "After the merge of" in scene.ours(pull)[0].body)
    kept = ("| 1 | 1 | 0 | 0 | 0 |", "| 2 | 1 | 0 | 0 | 0 |")
    site.rig.wait(
        "both as foretold",
        lambda: all(row in scene.ours(pull)[0].body for row in kept),
        patience=60,
    )
    for minion in BOTH:
        assert (site.root(minion) / "app.conf").read_text() == "number 1\n"


def visible(comment):
    """Without the marks that keep a comment from being read as anything else."""
    return comment.replace("\\", "").replace("`", "").replace("\u200b", "")


def test_what_salt_cannot_foretell_is_named_and_fails_no_check(on_main):
    """On a stock minion `file.replace` fails by test=True, since its file is not there yet."""
    site = on_main
    site.rig.git("checkout", "-q", "-b", "later")
    site.write(
        {"states/later.sls": LATER, "states/top.sls": "base:\n  '*':\n    - app\n    - later\n"},
        "later",
        branch="later",
    )
    site.rig.git("checkout", "-q", "main")
    words = ("preview", "--base", "main", "--head", "later", "--live", "--out", "json")
    done = site.wait("the branch", lambda: (one := site.rig.saltern(*words, check=False)).returncode == 2 and one)
    found = json.loads(done.stdout)
    tests = {test["minion"]: test for each in found["classes"] for test in each["tests"]}
    replaced = {
        minion: next(one for key, one in test["states"].items() if "replaced" in key) for minion, test in tests.items()
    }
    assert replaced[OWN]["result"] is None
    assert not replaced[OWN].get("uncertain")
    assert replaced[STOCK]["result"] is False
    assert "without what made" in replaced[STOCK]["uncertain"]
    assert (tests[STOCK]["outcome"], tests[STOCK].get("failed", 0)) == ("pending", 0)
    site.rig.git("merge", "-q", "later")
    site.rig.push_head()
    site.wait_applied(site.rig.head())
    for minion in BOTH:
        assert (site.root(minion) / "made").read_text() == "second\n"
    site.write({"states/top.sls": "base:\n  '*':\n    - app\n"}, "no more")


def test_drift_is_healed_or_shown_as_the_policy_says(on_main):
    site = on_main
    policy(site, "drift: {interval: 2, splay: 0}\n")
    for minion in BOTH:
        (site.root(minion) / "app.conf").write_text("by hand\n")
    site.wait("both to be found", lambda: {each["health"] for each in site.rig.status().values()} == {"Drifted"})
    for minion in BOTH:
        assert (site.root(minion) / "app.conf").read_text() == "by hand\n"
        assert f"to heal it: saltern sync {minion} --whole" in site.rig.status()[minion]["message"]
    shown = site.rig.saltern("diff", STOCK, check=False).stdout
    assert ", as test=True of salt 3" in shown
    assert "-by hand" in shown
    assert "by hand" in site.rig.saltern("diff", STOCK, "--out", "markdown", check=False).stdout
    of_own = site.rig.saltern("diff", OWN, check=False).stdout
    assert "-by hand" in of_own
    assert "test=True" not in of_own
    policy(site, "drift: {interval: 2, splay: 0, mode: remediate}\n")
    site.wait(
        "both to be healed", lambda: all("by hand" not in (site.root(each) / "app.conf").read_text() for each in BOTH)
    )
    site.wait("both to be well", lambda: {each["health"] for each in site.rig.status().values()} == {"Healthy"})
    for minion in BOTH:
        assert "changed" in [each["outcome"] for each in site.rig.history(minion) if each["kind"] == "remediate"]


def test_waves_over_both_kinds_stop_at_a_stock_minion_that_fails(on_main):
    site = on_main
    good = policy(
        site,
        f"rollout: {{on_failure: rollback, waves: [{WAVES}]}}\n{POLICY}",
    )
    site.wait_applied(good)
    breaks = "\nbroken:\n  cmd.run:\n    - name: 'false'\n"
    app = site.rig.work / "states/app.sls"
    before = app.read_text()
    bad = site.write({"states/app.sls": before + breaks}, "it breaks")
    found = site.wait(
        "it to be taken back", lambda: (one := site.rig.ask("/rollouts")) and one[0]["phase"] == "RolledBack" and one[0]
    )
    assert found["revision"] == bad
    site.wait("both to be back", lambda: {each["sync"] for each in site.rig.status().values()} == {"Synced"})
    failed = {each["minion"] for each in site.rig.history() if each["kind"] == "apply" and each["outcome"] == "failed"}
    assert failed == {STOCK}
    head = site.write({"states/app.sls": before + breaks.replace("'false'", "'true'")}, "it is mended")
    site.wait_applied(head)
    site.wait("its end", lambda: site.rig.ask("/rollouts")[0]["phase"] == "Completed")
    batches = json.loads(site.rig.saltern("rollout", "show", "--out", "json", check=False).stdout)["batches"]
    assert [(each["wave"], each["names"], each["state"]) for each in batches] == [
        ("test", [STOCK], "done"),
        ("web", [OWN], "done"),
    ]
    site.wait_applied(site.write({"states/app.sls": before}, "as it was"))


def test_windows_pauses_and_suspensions_hold_for_both(on_main):
    site = on_main
    before = (site.root(OWN) / "app.conf").read_text()
    policy(site, f"windows: [{NEVER}]\n{POLICY}")
    site.write({"pillar/numbers.sls": "number: 2\nport: 5432\n"}, "number 2")
    waiting = "waits for its window: outside of allow window"
    site.wait("both to wait", lambda: all(each["message"].startswith(waiting) for each in site.rig.status().values()))
    refused = site.rig.saltern("run", "*", "state.apply", "app", "--out", "json", check=False)
    assert refused.returncode == 1
    assert (refused.stdout + refused.stderr).count("outside of allow window") == 2
    policy(site, f"suspend: true\n{POLICY}")
    site.wait("both to be paused", lambda: {each["sync"] for each in site.rig.status().values()} == {"Paused"})
    for minion in BOTH:
        assert (site.root(minion) / "app.conf").read_text() == before
        site.rig.saltern("pause", minion)
    head = policy(site, POLICY)
    assert {each["sync"] for each in site.rig.status().values()} == {"Paused"}
    site.rig.saltern("resume", "*")
    site.wait_applied(head)
    for minion in BOTH:
        assert (site.root(minion) / "app.conf").read_text() == "number 2\n"


@pytest.mark.skipif(shutil.which("gpg") is None, reason="GnuPG is not installed")
def test_a_secret_of_the_pillar_is_at_both_and_shown_of_neither(on_main):
    site, rig = on_main, on_main.rig
    keys = rig.config / "gpgkeys"
    keys.mkdir(mode=0o700)
    gpg = gnupg.GPG(gnupghome=str(keys))
    asked = gpg.gen_key_input(key_type="RSA", key_length=2048, name_email="c@example.org", no_protection=True)
    key = gpg.gen_key(asked)
    try:
        _written(site, gpg, key, SECRET)
        site.wait_applied(rig.push("a password"))
        for minion in BOTH:
            conf = site.root(minion) / "db.conf"
            assert SECRET in conf.read_text()
            conf.write_text("by hand\n")
        clean(rig.saltern("run", "*", "state.apply", "test=True", check=False).stdout)
        clean(rig.saltern("run", "*", "pillar.items").stdout)
        masked = clean(rig.saltern("run", STOCK, "pillar.get", "password").stdout)
        more = ("unmask=True",) if "*****" in masked else ()
        unmasked = clean(rig.saltern("run", STOCK, "pillar.get", "password", *more).stdout)
        assert "<secret " in unmasked, "Salt's own stars are not all that hides it"
        clean(rig.saltern("run", "*", "cmd.run", f"cat {rig.directory}/*/*/db.conf").stdout or "-")
        clean(rig.saltern("sync", "*", "--whole", check=False).stdout)
        rig.git("checkout", "-q", "-b", "secret")
        _written(site, gpg, key, "battery-" + SECRET)
        rig.push("another", branch="secret")
        rig.git("checkout", "-q", "main")
        words = ("preview", "--base", "main", "--head", "secret", "--live")
        for more in ((), ("--out", "json"), ("--out", "markdown")):
            done = site.wait(
                "the branch", lambda more=more: (one := rig.saltern(*words, *more, check=False)).returncode == 2 and one
            )
            assert "secret " in clean(done.stdout)
            if "json" in more:
                tested = _tested(site, json.loads(done.stdout))
                assert tested[OWN] == tested[STOCK] != {}
                assert "password = <secret " in str(tested)
        for run in rig.history():
            clean(rig.saltern("show", run["run_id"], "--out", "json").stdout)
            clean(rig.saltern("history", run["run_id"], "--out", "json", check=False).stdout or "-")
        clean(json.dumps(rig.history()))
        clean("\n".join(json.dumps(each) for each in site.events("*")))
        clean(rig.log("controller", lines=10_000))
        clean(site.stock.log("gateway"))
        published = [line for line in site.stock.log(STOCK).splitlines() if "PubChannel received" in line]
        clean("\n".join(published))
    finally:
        subprocess.run(["gpgconf", "--homedir", str(keys), "--kill", "gpg-agent"], check=False)


def test_a_secret_is_in_the_store_in_documents_alone(on_main):
    (store,) = (path for path in on_main.rig.directory.rglob("*.sqlite") if path.name != "spool.sqlite")
    places = found_in(store, [SECRET], apart_from={"documents", "secrets"})
    assert places <= {"run_keys.keys"}


def _tested(site, report):
    """Minion -> what its test run would change, the same of both where the same is hidden."""
    tests = {test["minion"]: test["states"] for one in report["classes"] for test in one["tests"]}
    changes = {
        minion: json.dumps({key: state["changes"] for key, state in states.items()}) for minion, states in tests.items()
    }
    return {minion: json.loads(text.replace(str(site.root(minion)), "ROOT")) for minion, text in changes.items()}


def _written(site, gpg, key, password):
    message = str(gpg.encrypt(password, key.fingerprint, always_trust=True))
    work = site.rig.work
    (work / "pillar/top.sls").write_text("base:\n  '*': [numbers, secret]\n")
    (work / "pillar/secret.sls").write_text("#!yaml|gpg\n" + json.dumps({"password": message}))
    (work / "states/db.sls").write_text(WITH_SECRET)
    (work / "states/top.sls").write_text("base:\n  '*': [app, db]\n")


def clean(text):
    assert text
    at = text.find(SECRET)
    assert at < 0, text[max(0, at - 300) : at + 60]
    return text
