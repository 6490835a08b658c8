"""By policy a source that is not in the tree fails its own state, from the push to the result."""

import json
import re
import urllib.request

GONE = """
gone:
  file.managed:
    - name: {{ grains['root'] }}/gone
    - source: salt://motd

waits:
  file.managed:
    - name: {{ grains['root'] }}/waits
    - contents: x
    - require: [{file: gone}]

later:
  file.managed:
    - name: {{ grains['root'] }}/later
    - contents: there
"""


def counted(rig):
    with urllib.request.urlopen(rig.http + "/metrics") as answer:
        text = answer.read().decode()
    return float(re.search(r'^saltern_minion_missing_sources{minion="web1"} (\S+)$', text, re.MULTILINE)[1])


def test_a_missing_source_fails_its_state_alone(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    (rig.work / "states" / "gone.sls").write_text(GONE)
    rig.push("a source is missing", {"states/app.sls": ("- base\n", "- base\n  - gone\n")})
    rig.wait("the compile error", lambda: rig.status()["web1"]["errors"])
    assert not (rig.root("web1") / "later").exists(), "without the policy nothing is applied"
    assert counted(rig) == 0

    (rig.work / "states" / "saltern.yaml").write_text("drift: {interval: 30m}\nmissing_source: fail_state\n")
    rig.push("only that state shall fail", branch="lenient")
    words = ("preview", "--base", "main", "--head", "lenient", "--out", "json")
    told = json.loads(rig.saltern(*words, check=False).stdout)
    assert "salt://motd (saltenv base) is not in the tree: this state fails" in told["warned"][0]["texts"][0]
    assert told["classes"][0]["tests"][0]["failed"] >= 1, "the run under test=True fails in the same place"

    rig.push_head()
    rig.wait("the run to end", lambda: rig.status()["web1"]["health"] == "Failed")
    run = next(one for one in rig.history("web1") if one["kind"] == "apply")
    shown = json.loads(rig.saltern("show", run["run_id"], "--out", "json").stdout)
    states = {each["__id__"]: each for each in shown["states"].values()}
    assert states["gone"]["comment"] == "Unable to manage file: Source file salt://motd not found in saltenv 'base'"
    assert [states[name]["result"] for name in ("gone", "waits", "later")] == [False, False, True]
    assert (rig.root("web1") / "later").exists()
    web1 = rig.status()["web1"]
    assert (web1["sync"], web1["errors"], len(web1["warnings"])) == ("OutOfSync", [], 1)
    assert "warning: gone.sls:2: " in rig.saltern("diff", "web1", check=False).stdout
    rig.wait("the metric", lambda: counted(rig) == 1)

    (rig.work / "states" / "motd").write_text("here it is\n")
    rig.wait_applied(rig.push("the source"))
    assert (rig.root("web1") / "gone").read_text() == "here it is\n"
    rig.wait("it to be healthy", lambda: rig.status()["web1"]["health"] == "Healthy")
    assert rig.status()["web1"]["warnings"] == []
    rig.wait("the metric to fall", lambda: counted(rig) == 0)
