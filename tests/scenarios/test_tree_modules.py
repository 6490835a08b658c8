"""Modules that a tree brings serve its compile, behind the walls, and a push that changes one reaches the minions."""

import json
import subprocess

import yaml
from rig import SALTERN

MODULES = {
    "_renderers/shout.py": """
def render(data, saltenv="base", sls="", argline="", **kwargs):
    return data.read().replace("HERE", __grains__["root"])
""",
    "_pillar/inventory.py": """
def ext_pillar(minion_id, pillar, key):
    return {key: minion_id + " first"}
""",
    "_tops/more.py": """
def top(**kwargs):
    return {"base": ["more"]}
""",
    "_runners/tell.py": """
def it(what):
    return "told " + what
""",
}
MORE = """#!jinja|shout|yaml
told:
  file.managed:
    - name: HERE/told-by-modules
    - makedirs: True
    - contents: {{ salt['saltutil.runner']('tell.it', arg=[pillar.from_module]) }}
"""


def test_modules_of_the_tree_serve_its_compile_and_follow_a_push(make_rig):
    rig = make_rig(minions={"web1": {}}, master_tops={"more": {}})
    settings = yaml.safe_load((rig.config / "controller").read_text())
    settings["ext_pillar"].append({"inventory": ["from_module"]})
    rig.stop("controller")
    (rig.config / "controller.d").mkdir()
    (rig.config / "controller.d" / "external.conf").write_text(yaml.safe_dump({"ext_pillar": settings["ext_pillar"]}))
    rig.start_controller()
    for path, text in MODULES.items():
        (rig.work / "states" / path).parent.mkdir()
        (rig.work / "states" / path).write_text(text)
    (rig.work / "states/more.sls").write_text(MORE)
    rig.wait_applied(rig.push("modules"))
    told = rig.root("web1") / "told-by-modules"
    assert told.read_text() == "told web1 first\n"
    rig.wait_applied(rig.push("another pillar", {"states/_pillar/inventory.py": ("first", "second")}))
    assert told.read_text() == "told web1 second\n"
    rig.wait_applied(rig.push("another runner", {"states/_runners/tell.py": ("told", "said")}))
    assert told.read_text() == "said web1 second\n"
    rig.push("a broken one", {"states/_pillar/inventory.py": ("return", "raise KeyError(key)\n    return")})
    rig.wait("its error", lambda: "(_pillar/inventory.py, line 3)" in rig.saltern("status", "-v", "web1").stdout)
    assert told.read_text() == "said web1 second\n"


def test_a_push_of_modules_for_minions_reaches_them(make_rig):
    """Of modules alone: functions for `module.run`, and grains that minions are chosen by."""
    rig = make_rig(minions={"web1": {}})
    states = rig.work / "states"
    for folder in ("_modules", "_grains"):
        (states / folder).mkdir()
    (states / "_grains/site.py").write_text('def site():\n    return {"site": "north"}\n')
    (states / "top.sls").write_text("base:\n  '*':\n    - told\n")
    (states / "told.sls").write_text("nothing:\n  test.nop: []\n")
    rig.wait_applied(rig.push("grains"))
    rig.wait("the grain", lambda: rig.saltern("run", "-G", "site:north", "test.ping", check=False).returncode == 0)
    rig.push("another", {"states/_grains/site.py": ("north", "south")})
    rig.wait(
        "the other grain", lambda: rig.saltern("run", "-G", "site:south", "test.ping", check=False).returncode == 0
    )
    (states / "_modules/tell.py").write_text(
        "def it(where):\n    with open(where, 'w') as file:\n        file.write('told')\n"
    )
    (states / "told.sls").write_text("told:\n  module.run:\n    - tell.it:\n      - where: {{ grains.root }}/told\n")
    rig.root("web1").mkdir(exist_ok=True)
    rig.wait_applied(rig.push("a module"))
    assert (rig.root("web1") / "told").read_text() == "told"
    assert "tell.it" in rig.saltern("run", "web1", "sys.list_functions", "tell").stdout
    for asked in (["state.show_sls", "told"], ["state.show_highstate"]):
        shown = json.loads(rig.saltern("run", "web1", *asked, "--out", "json").stdout)
        assert "tell.it" in str(shown)
    config = str(rig.directory / "web1")
    called = subprocess.run(
        [*SALTERN, "call", "-c", config, "state.apply", "test=True"], capture_output=True, text=True
    )
    assert "user_modules_not_synced" not in called.stderr
    assert "module.run" in called.stdout
