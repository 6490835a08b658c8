"""Lint of reactors, native rules and beacons, as `saltern lint` does it: whole trees on disk."""

import pytest

from controller.offline.linting import LintJob, lint
from controller.offline.reactors_on_disk import reactors_on_disk
from highstate.compile import CompileOptions
from highstate.lint import SAMPLES
from options.document import parse_document
from reactors.controller_jobs import read_controller_jobs
from reactors.rules.reactor_map import read_reactor_map

POLICY = "reactor:\n- 'salt/minion/*/start': [salt://r/a.sls]\n"
TOP = "base:\n  '*': []\n"


@pytest.fixture
def found(tmp_path):
    """Findings of a tree: (path, line, rule, message, hint)."""

    def of(states, pillar=None, **more):
        for folder, files in (("states", {"top.sls": TOP, **states}), ("pillar", pillar or {})):
            (tmp_path / folder).mkdir(exist_ok=True)
            for path, text in files.items():
                (tmp_path / folder / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / folder / path).write_text(text)
        job = LintJob(
            file_roots={"base": [str(tmp_path / "states")]},
            pillar_roots={"base": [str(tmp_path / "pillar")]},
            samples=SAMPLES[:1],
            settings=CompileOptions(),
            **more,
        )
        return [(one.file, one.line, one.rule, one.message, one.hint) for one in lint(job, timeout=60)]

    return of


GOOD = """{% if data['act'] == 'pend' %}
accept:
  wheel.key.accept:
    - args: [{match: {{ data['id'] }}}]
{% else %}
go_{{ data['id'] }}:
  local.state.apply:
    - tgt: {{ data['id'] }}
    - args: {mods: web}
{% endif %}
told:
  notify.slack:
    - text: {{ data['id'] }}
again:
  reconcile.sync:
    - tgt: {{ data['id'] }}
call:
  runner.mine.deploy:
    - args: {x: 1}
"""


def test_a_good_reactor_is_no_state_and_nothing_is_wrong_with_it(found):
    assert found({"saltern.yaml": POLICY, "r/a.sls": GOOD, "_runners/mine.py": "def deploy(x): pass\n"}) == []


@pytest.mark.parametrize(
    ("text", "line", "rule", "message", "hint"),
    [
        ("x:\n  local.test.pingg:\n    - tgt: '*'\n", 2, "unknown-function", "no function test.pingg", "test.ping"),
        ("x:\n  cmd.test.pingg:\n    - tgt: '*'\n", 2, "unknown-function", "no function test.pingg", "test.ping"),
        ("x:\n  runner.manage.upp: []\n", 2, "unknown-function", "there is no runner manage.upp", "manage.up"),
        ("x:\n  wheel.key.acept: []\n", 2, "unknown-function", "wheel function key.acept", "key.accept"),
        ("x:\n  local.test.ping: []\n", 2, "no-target", "says nothing of its minions", "tgt"),
        ("x:\n  local.test.ping:\n    - tgt: ''\n", 3, "no-target", "names no minion", "pattern"),
        ("x:\n  nosuch.test.ping:\n    - tgt: a\n", 2, "form", "no reactions of type 'nosuch'", "runner"),
        ("x:\n  local.test.ping:\n    - tgt: a\n    - tgt_typ: list\n", 4, "no-effect", "tgt_typ has no", "tgt_type"),
        ("{% if x %}\nx:\n  local.test.pingg:\n    - tgt: a\n{% endif %}\n", 3, "unknown-function", "test.pingg", ""),
        ("x:\n  notify.slak:\n    - text: a\n", 2, "form", "there is no notify.slak", "notify.slack"),
        ("x:\n  local.test.ping: [\n", 2, "yaml", "", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_reaction(found, text, line, rule, message, hint):
    [(file, *rest)] = found({"saltern.yaml": POLICY, "r/a.sls": text})
    assert (file, rest[:2]) == ("r/a.sls", [line, rule]) or (rule == "yaml" and rest[1] == rule)
    assert message in rest[2]
    assert hint in rest[3]


def test_a_comment_switches_a_rule_off_in_reactors_and_in_the_policy(found):
    sls = "# saltern: ignore=unknown-function\nx:\n  local.mine.go:\n    - tgt: a\n"
    policy = "reactor:\n# saltern: ignore=unfired-tag\n- 'my/tag': [salt://r/a.sls]\n"
    assert found({"saltern.yaml": policy, "r/a.sls": sls}) == []


def test_sls_in_a_folder_of_reactors_and_of_the_controllers_file_count_as_reactors(found):
    bad = "x:\n  local.test.pingg:\n    - tgt: '*'\n"
    option = parse_document("reactor:\n- 'salt/auth': [salt://other/b.sls, /srv/c.sls]\n", "controller").get("reactor")
    reactors = read_reactor_map(option, [])
    rules = found({"reactor/a.sls": bad, "other/b.sls": bad}, reactors=reactors)
    assert [each[:3] for each in rules] == [(path, 2, "unknown-function") for path in ("other/b.sls", "reactor/a.sls")]


def test_states_in_a_folder_named_reactor_are_states(found):
    assert [each[2] for each in found({"reactor/a.sls": "x:\n  pkg.instaled: []\n"})] == ["unknown-state"]


RULES = """rules:
- name: a
  tag: salt/auth
  do:
  - local.test.pingg: {tgt: 'web*'}
- name: b
  tag: my/alarm
  escalate: {after: 2, do: [{runner.http.querry: {args: [x]}}]}
  do:
  - local.test.ping: {tgt: '{{ minion }}'}
"""


def test_native_rules(found):
    assert [each[:4] for each in found({"saltern.yaml": RULES}, minions=("db1",))] == [
        ("saltern.yaml", 5, "nobody", "local.test.pingg reaches nobody: no minion matches 'web*'"),
        ("saltern.yaml", 5, "unknown-function", "there is no function test.pingg"),
        ("saltern.yaml", 6, "unfired-tag", "nobody fires events of the tag 'my/alarm'"),
        ("saltern.yaml", 8, "unknown-function", "there is no runner http.querry"),
    ]


@pytest.mark.parametrize(
    ("target", "reaches"),
    [
        ("tgt: web1", True), ("tgt: 'web*'", True), ("tgt: wep1", False), ("tgt: [web1, gone]", True),
        ("tgt: [gone]", False), ("tgt: 'gone,web1'\n    - tgt_type: list", True),
        ("tgt: 'we.+'\n    - tgt_type: pcre", True), ("tgt: 'wo.+'\n    - tgt_type: pcre", False),
        ("tgt: 'os:Debian'\n    - tgt_type: grain", True), ("tgt: {{ data.id }}", True),
    ],
)  # fmt: skip
def test_reactions_and_steps_to_nobody(found, target, reaches):
    files = {
        "saltern.yaml": POLICY,
        "r/a.sls": f"x:\n  local.test.ping:\n    - {target}\n",
        "orch/a.sls": f"x:\n  salt.function:\n    - name: test.ping\n    - {target}\n".replace("{{ data.id }}", "web1"),
    }
    rules = [(each[0], each[2]) for each in found(files, minions=("web1", "web2"))]
    assert rules == ([] if reaches else [("orch/a.sls", "nobody"), ("r/a.sls", "nobody")])
    assert found(files) == []


@pytest.mark.parametrize(
    "files",
    [
        {"a.sls": "my/tag:\n  event.send: []\n"},
        {"a.sls": "x:\n  event.send:\n    - name: my/{{ grains['id'] }}\n"},
        {"a.sls": "x:\n  test.nop:\n    - fire_event: my/tag\n"},
        {"_modules/m.py": "def go():\n    __salt__['event.send']('my/tag', {})\n"},
        {"_modules/m.py": "def go(x):\n    __salt__['event.send']('my/' + x)\n"},
        {"_modules/m.py": "def go(x):\n    __salt__['event.send'](f'my/{x}')\n"},
    ],
)
def test_a_tag_that_the_tree_fires_is_known(found, files):
    policy = "reactor:\n- 'my/tag': [salt://r/a.sls]\n"
    rules = [each[2] for each in found({"saltern.yaml": policy, "r/a.sls": "", **files})]
    assert "unfired-tag" not in rules


def test_a_tag_that_nobody_fires(found):
    bad = "salt/beacon/*/servce/nginx"
    policy = (
        "reactor:\n- 'salt/minion/*/started': [salt://r/a.sls]\n- 'salt/beacon/*/servce/nginx': [salt://r/a.sls]\n"
        "- 'my/tag': [salt://r/a.sls]\n- 'salt/beacon/*/mine/*': [salt://r/a.sls]\n- 'salt/beacon/*/web_load/': [salt://r/a.sls]\n"
        "- 'salt/beacon/*/nginx': [salt://r/a.sls]\n- '*': [salt://r/a.sls]\n"
    )
    files = {"saltern.yaml": policy, "r/a.sls": "", "_beacons/mine.py": "", "a.sls": "other/tag:\n  event.send: []\n"}
    pillar = {
        "top.sls": "base:\n  '*': [b]\n",
        "b.sls": "beacons:\n  web_load:\n    - beacon_module: load\n    - averages:\n        1m: [0.0, 4.0]\n",
    }
    rules = [each for each in found(files, pillar) if each[2] == "unfired-tag"]
    assert [each[:4] for each in rules] == [
        ("saltern.yaml", 2, "unfired-tag", "nobody fires events of the tag 'salt/minion/*/started'"),
        ("saltern.yaml", 3, "unfired-tag", f"there is no beacon 'servce', which the tag '{bad}' names"),
        ("saltern.yaml", 4, "unfired-tag", "nobody fires events of the tag 'my/tag'"),
    ]  # fmt: skip
    assert "salt/minion/*/start" in rules[0][4]


BEACONS = """beacons:
  loadd:
    - interval: 3
  load:
    interval: 4
  diskusage:
    - /: 63%
    - interval: x
  memusage:
    - percent: 63%
    - percentt: 3
  mine:
    - a: 1
"""


def test_beacons_of_pillar(found):
    pillar = {"top.sls": "base:\n  '*': [b]\n", "b.sls": BEACONS}
    rules = found({"_beacons/mine.py": "def beacon(config): return []\n"}, pillar)
    assert [each[:3] for each in rules] == [
        ("b.sls", 2, "beacon"),
        ("b.sls", 4, "beacon"),
        ("b.sls", 8, "beacon"),
        ("b.sls", 11, "no-effect"),
    ]
    assert "did you mean load" in rules[0][3]
    assert "must be a list" in rules[1][3]


def test_beacons_that_are_no_mapping(found):
    pillar = {"top.sls": "base:\n  '*': [b]\n", "b.sls": "beacons: [load]\n"}
    assert [each[:3] for each in found({}, pillar)] == [("b.sls", 1, "beacon")]


PROGRAM = "#!py\n\ndef run():\n    return {'x': {'local.test.ping': [{'tgt': data['id']}]}}\n"


@pytest.mark.parametrize(
    ("text", "line", "rule", "message"),
    [
        (PROGRAM, 1, "unchecked", "what this reactor asks for is not checked: it is a program (#!py)"),
        ("#!py\n\ndef run(:\n", 3, "syntax", "this is no Python: "),
        ("#!py\n\ndef go():\n    return {}\n", 1, "form", "has a function run()"),
        ("#!pyobjects\nRunner.ping('x')\n", 1, "unchecked", "it is a program (#!pyobjects)"),
    ],
)
def test_reactors_that_are_programs_are_not_passed_over(found, text, line, rule, message):
    [(file, *rest)] = found({"saltern.yaml": POLICY, "r/a.sls": text})
    assert (file, rest[:2]) == ("r/a.sls", [line, rule])
    assert message in rest[2]


def test_reactors_that_the_controllers_file_names_by_path(found, tmp_path):
    bad = "x:\n  local.test.pingg:\n    - tgt: 'wep*'\n"
    folder = tmp_path / "srv"
    folder.mkdir()
    (folder / "a.sls").write_text(bad)
    (folder / "b.sls").write_text(f"# saltern: ignore=unknown-function\n{bad}")
    option = parse_document(f"reactor:\n- 'salt/auth': [{folder}/*.sls, {folder}/gone.sls]\n", "c").get("reactor")
    reactors = read_reactor_map(option, [])
    wrong = found({}, reactors=reactors, reactor_files=reactors_on_disk(reactors), minions=("web1",))
    assert [each[:3] for each in wrong] == [
        (f"{folder}/a.sls", 2, "unknown-function"),
        (f"{folder}/a.sls", 3, "nobody"),
        (f"{folder}/b.sls", 4, "nobody"),
    ]


JOBS = """schedule:
  good: {function: jobs.last_run, hours: 1}
  far: {function: test.ping, target: 'wep*', hours: 1}
  gone: {function: jobs.lost_run, hours: 1}
"""


def test_jobs_of_the_controllers_schedule(found):
    own = read_controller_jobs(
        parse_document(JOBS.replace("gone", "own"), "/etc/saltern/controller").get("schedule"), []
    )
    wrong = found({"saltern.yaml": JOBS}, jobs={"own": own.jobs["own"]}, minions=("web1",))
    assert [each[:3] for each in wrong] == [
        ("/etc/saltern/controller", 4, "unknown-function"),
        ("saltern.yaml", 3, "nobody"),
        ("saltern.yaml", 4, "unknown-function"),
    ]
    assert "jobs.last_run" in wrong[2][4]


PILLAR_JOBS = """schedule:
  good: {function: test.ping, hours: 1}
  tea: {function: test.ping, when: tea time}
  gone: {function: test.pingg, hours: 1}
  never:
    function: test.ping
    cron: '61 * * * *'
  odd:
    function: test.ping
    hours: 1
    enabeld: false
"""


def test_jobs_of_schedules_of_pillar(found):
    pillar = {"top.sls": "base:\n  '*': [jobs]\n", "jobs.sls": PILLAR_JOBS}
    wrong = found({}, pillar)
    assert [each[:3] for each in wrong] == [
        ("jobs.sls", 4, "unknown-function"), ("jobs.sls", 5, "schedule"), ("jobs.sls", 11, "no-effect"),
    ]  # fmt: skip
    assert found({"_modules/test.py": "def pingg(): pass\n"}, pillar)[0][2] == "schedule"
