"""A branch that nobody has approved: it is previewed, and neither it nor its preview runs anything."""

import json

PROGRAM = """#!py
import pathlib

def run():
    pathlib.Path({marker!r}).write_text("ran")
    return {{}}
"""


def previewed(rig, branch):
    asked = ("preview", "--base", "main", "--head", branch, "--out", "json", "--exit-code")
    return rig.wait("the branch", lambda: (done := rig.saltern(*asked, check=False)).returncode in (2, 4) and done)


def states_of(done):
    """The states of the only test run."""
    [one] = json.loads(done.stdout)["classes"]
    return one["tests"][0]["states"]


def test_conditions_of_a_branch_are_not_run(make_rig):
    rig = make_rig(minions={"web1": {}})
    marker = rig.directory / "marker"
    live = ("- onchanges:\n", f"- unless: test -e {rig.directory}/never\n    - onchanges:\n")
    rig.wait_applied(rig.push("first", {"states/app.sls": live}))
    rig.git("checkout", "-q", "-b", "branch")
    evil = {
        "states/app.sls": ("- require:\n      - file: root", f"- unless: touch {marker}\n    - onlyif: touch {marker}"),
        "pillar/numbers.sls": ("number: 0", "number: 1"),
    }
    rig.push("a condition that writes", evil, branch="branch")
    shown = previewed(rig, "branch")
    assert not marker.exists()
    states = states_of(shown)
    config = next(entry for key, entry in states.items() if "app-config" in key)
    assert config["result"] is None
    assert "not evaluated in a preview" in config["warnings"][0]
    told = next(entry for key, entry in states.items() if "app-told" in key)
    assert "warnings" not in told, "a condition that is live already is evaluated"


def test_live_functions_in_templates_of_a_branch_are_not_run(make_rig):
    rig = make_rig(minions={"web1": {}})
    marker = rig.directory / "marker"
    rig.wait_applied(rig.push("first"))
    rig.git("checkout", "-q", "-b", "branch")
    call = "{{ salt['cmd.run']('touch " + str(marker) + "') }}"
    rig.push("a template that writes", {"states/app.conf.j2": ("number", f"{call} number")}, branch="branch")
    previewed(rig, "branch")
    assert not marker.exists()


def test_states_look_with_the_systems_programs_and_no_others(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    rig.git("checkout", "-q", "-b", "branch")
    more = """
dpkg:
  pkg.installed: []

somewhere:
  git.latest:
    - name: https://git.example.org/x.git
    - target: {{ grains['root'] }}/clone
"""
    path = rig.work / "states/app.sls"
    path.write_text(path.read_text() + more)
    rig.push("a package and a clone", branch="branch")
    states = states_of(previewed(rig, "branch"))
    package = next(entry for key, entry in states.items() if key.startswith("pkg"))
    assert package["result"] is True
    clone = next(entry for key, entry in states.items() if key.startswith("git"))
    assert clone["result"] is None
    assert "a preview does not run git" in clone["comment"]


def test_programs_of_a_branch_are_not_run_for_a_preview(make_rig):
    rig = make_rig(minions={"web1": {}}, compile_confinement=False)  # so that a program could leave its marker
    marker = rig.directory / "marker"
    rig.wait_applied(rig.push("first"))
    rig.git("checkout", "-q", "-b", "branch")
    (rig.work / "states/app.sls").write_text(PROGRAM.format(marker=str(marker)))
    rig.push("a program", branch="branch")
    shown = previewed(rig, "branch")
    assert not marker.exists()
    assert "py" in shown.stdout
    assert [len(json.loads(shown.stdout)[part]) for part in ("broken", "unknown")] == [0, 1]
    shown = rig.saltern("preview", "--base", "branch", "--head", "main", "--out", "json", check=False)
    assert not marker.exists(), "the base of a preview may be a branch that nobody has approved, too"
    assert json.loads(shown.stdout)["minions"] == 1
    rig.git("checkout", "-q", "main")
    rig.git("merge", "-q", "branch")
    rig.push_head()
    rig.wait("what is live to be run", marker.exists)


MODULES = {
    "_renderers/own.py": "render",
    "_pillar/own.py": "ext_pillar",
    "_tops/own.py": "top",
    "_runners/own.py": "who",
}
MODULE = """
import pathlib

pathlib.Path({marker!r}).write_text("ran")

def {function}(*args, **kwargs):
    return {{}}
"""


def test_modules_of_a_branch_are_not_run_for_a_preview(make_rig):
    rig = make_rig(minions={"web1": {}}, master_tops={"own": {}}, compile_confinement=False)
    (rig.work / "states/_tops").mkdir()
    (rig.work / "states/_tops/own.py").write_text("def top(**kwargs):\n    return {}\n")
    rig.wait_applied(rig.push("tops of the tree"))
    rig.git("checkout", "-q", "-b", "branch")
    marker = rig.directory / "marker"
    for path, function in MODULES.items():
        (rig.work / "states" / path).parent.mkdir(exist_ok=True)
        (rig.work / "states" / path).write_text(MODULE.format(marker=str(marker), function=function))
    app = rig.work / "states/app.sls"
    app.write_text("#!jinja|own|yaml\n{{ salt['saltutil.runner']('own.who') }}\n" + app.read_text())
    rig.push("modules", branch="branch")
    shown = previewed(rig, "branch")
    assert not marker.exists()
    assert "allow_py_renderer" in shown.stdout
    assert len(json.loads(shown.stdout)["unknown"]) == 1
    rig.git("checkout", "-q", "main")
    rig.git("merge", "-q", "branch")
    rig.push_head()
    rig.wait("the modules to be run", marker.exists)


def test_the_top_file_of_a_branch_gives_nobody_states(make_rig):
    rig = make_rig(minions={"web1": {}}, gitfs_update_interval=1)
    first = rig.push("first")
    rig.wait_applied(first)
    rig.git("checkout", "-q", "-b", "branch")
    (rig.work / "states/top.sls").write_text("branch:\n  '*':\n    - evil\n")
    (rig.work / "states/evil.sls").write_text("evil:\n  test.nop: []\n")
    rig.push("states for everyone", branch="branch")
    previewed(rig, "branch")  # it is fetched
    rig.wait("it to be compiled", lambda: rig.status()["web1"]["sync"] == "Synced")
    keys = json.loads(rig.saltern("run", "web1", "state.show_lowstate", "--out", "json").stdout)["web1"]
    assert "evil" not in {low["__sls__"] for low in keys}
