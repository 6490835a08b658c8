"""The parts of the second opinion that need no root: cases of a formula, what is compared, what is explained."""

import json

import pytest

from tools.second_opinion.cases import cases
from tools.second_opinion.comparison import Side, Step, disagreements, read_side
from tools.second_opinion.explanations import explained, load_explanations, outdated
from tools.second_opinion.report import case_report, summary, tables
from tools.second_opinion.snapshot import snapshot

KITCHEN = """
provisioner:
  pillars:
    top.sls: {base: {'*': [web]}}
suites:
  - name: default
    provisioner:
      dependencies: [{name: helpers, path: test/salt}]
      state_top: {base: {'*': [helpers.make, web]}}
      pillars-from-files: {web.sls: test/pillar.sls}
      pillars_from_directories: [test/more, ../../outside]
  - name: centos
    includes: [centos-8]
    provisioner: {state_top: {base: {'*': [web]}}}
  - name: lacking
    provisioner:
      dependencies: [{name: other, repo: git, source: 'https://git.example.org/other-formula.git'}]
      state_top: {base: {'*': [web]}}
"""
TAG = "file_|-a_|-/etc/a_|-managed"


@pytest.fixture
def formulas(tmp_path):
    for name, text in {
        "kitchen.yml": KITCHEN,
        "web/init.sls": "web:\n  test.nop: []\n",
        "test/salt/helpers/make.sls": "make:\n  test.nop: []\n",
        "test/pillar.sls": "web: {port: 80}\n",
        "test/more/common.sls": "a: 1\n",
        "pillar.example": "web: 1\nweb: 2\n",
    }.items():
        path = tmp_path / "formulas/web-formula" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "formulas"


def test_a_formula_has_its_example_and_its_suites_as_cases(formulas, tmp_path):
    example, default = cases(formulas)
    assert [example.key, default.key] == ["web/example", "web/default"]
    assert example.pillar["example.sls"] == b"web: 2\n"
    assert [one.key for one in cases(formulas, ["web/default"])] == ["web/default"]
    default.lay_out(tmp_path / "case")
    laid = {str(path.relative_to(tmp_path / "case")) for path in (tmp_path / "case").rglob("*") if path.is_file()}
    assert {"states/web/init.sls", "states/helpers/make.sls", "states/top.sls", "conf/minion"} <= laid
    assert {"pillar/top.sls", "pillar/web.sls", "pillar/common.sls"} <= laid


def test_a_case_of_ours_has_pillar_of_its_own_or_a_suites_and_what_it_may_do(formulas, monkeypatch):
    own = [
        {"formula": "web", "name": "running", "states": ["web"], "pillar": {"web": {"port": 8080}}, "daemons": True},
        {"formula": "web", "name": "network", "suite": "default", "network": True},
        {"formula": "other", "name": "running", "states": ["other"], "pillar": {}},
    ]
    path = formulas / "own_cases.yaml"
    path.write_text(json.dumps(own))
    monkeypatch.setattr("tools.second_opinion.cases._OWN", path)
    _, default, running, network = cases(formulas)
    assert [running.key, network.key] == ["web/running", "web/network"]
    assert (running.daemons, running.network, network.daemons, network.network) == (True, False, False, True)
    assert running.pillar == {"own.sls": b"web:\n  port: 8080\n"}
    assert (network.pillar, network.top, network.beside) == (default.pillar, default.top, default.beside)


def _side(result=True, looked=True, files=None, error="", again=None):
    def step(value):
        states = {} if error else {TAG: {"result": value, "comment": "so", "changes": {"pid": id(value)}}}
        return Step(code=0, states=states, error=error)

    steps = {"apply": step(result), "own": step(True), "other": step(looked)}
    return Side(steps={**steps, "again": step(looked if again is None else again)}, files=files or {})


@pytest.mark.parametrize(
    ("saltern", "salt", "about"),
    [
        (_side(), _side(), []),
        (_side(error="x"), _side(error="y"), []),
        (_side(error="x"), _side(), ["compile"]),
        (_side(result=False), _side(), ["result"]),
        (_side(looked=None), _side(), ["salt-looks"]),
        (_side(), _side(looked=False), ["saltern-looks"]),
        (_side(again=False), _side(), ["twice"]),
        (_side(files={"etc/a": ["file", "0o644", 0, 0, "1"]}), _side(files={"etc/a": ["file", "0o600", 0, 0, "1"]}),
         ["files"]),
    ],
)  # fmt: skip
def test_disagreements_are_found(saltern, salt, about):
    assert [one.about for one in disagreements("web/default", saltern, salt)] == about


def test_a_file_that_differs_shows_the_lines_of_each_side():
    one, two = (["file", "0o644", 0, 0, digest, f"same\n{digest}\n"] for digest in ("mine", "theirs"))
    (found,) = disagreements("web/default", _side(files={"etc/a": one}), _side(files={"etc/a": two}))
    assert (found.saltern, found.salt) == ("file 0o644 0 0 mine\n+ mine", "file 0o644 0 0 theirs\n+ theirs")
    assert disagreements("web/default", _side(files={"etc/a": one}), _side(files={"etc/a": one[:5]})) == []


def test_diffs_differ_in_more_than_ends_of_lines():
    def side(diff):
        states = {TAG: {"result": True, "comment": "", "changes": {"diff": diff}}}
        step = Step(code=0, states=states)
        return Side(steps=dict.fromkeys(("apply", "own", "other", "again"), step), files={})

    one = side("--- \n+++ \n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n")
    assert disagreements("web/default", one, side("--- \n+++ \n-a+b")) == []
    assert [found.about for found in disagreements("web/default", one, side("--- \n+++ \n-a+c"))] == ["changes"]


def test_steps_are_read_as_they_were_printed(tmp_path):
    for name in ("apply", "other", "own", "again"):
        (tmp_path / f"{name}.rc").write_text("0\n")
        (tmp_path / f"{name}.err").write_text("")
        (tmp_path / f"{name}.json").write_text(json.dumps({"local": {TAG: {"result": True, "changes": {}}}}))
    (tmp_path / "other.json").write_text(json.dumps({"local": ["Rendering SLS failed"]}))
    (tmp_path / "own.json").write_text("")
    (tmp_path / "own.err").write_text("killed\n")
    (tmp_path / "files.json").write_text("{}")
    steps = read_side(tmp_path).steps
    assert (steps["apply"].error, steps["other"].error, steps["own"].error) == ("", "Rendering SLS failed", "killed")


def test_an_explanation_without_an_occurrence_is_outdated(tmp_path):
    file = tmp_path / "why.yaml"
    file.write_text(
        "- {cases: [web/*], about: files, place: '/etc/*', saltern: 'file', why: other bytes}\n"
        "- {cases: web/default, about: result, why: was fixed}\n"
        "- {cases: db/*, why: did not run}\n"
    )
    entries = load_explanations(file)
    found = disagreements("web/default", _side(files={"etc/a": ["file"], "srv/b": ["file"]}), _side())
    told = explained(found, entries)
    assert [(one.place, entry and entry.why) for one, entry in told] == [("/etc/a", "other bytes"), ("/srv/b", None)]
    assert [entry.why for entry in outdated(entries, told, ["web/default"])] == ["was fixed"]
    file.write_text("- {place: x}\n")
    with pytest.raises(ValueError, match="why"):
        load_explanations(file)


def test_the_report_counts_what_has_a_reason_and_shows_what_has_none(tmp_path):
    file = tmp_path / "why.yaml"
    file.write_text("- {about: files, why: other bytes}\n")
    entries = load_explanations(file)
    sides = {
        "web/default": (_side(files={"etc/a": ["file"]}), _side()),
        "web/failed": (_side(result=False), _side(result=False)),
        "db/default": (_side(result=False), _side()),
        "db/refused": (_side(error="x"), _side(error="y")),
    }
    reports = [
        case_report(key, one, two, explained(disagreements(key, one, two), entries))
        for key, (one, two) in sides.items()
    ]
    assert summary(reports) == (
        "4 cases of 2 formulas, 3 states: 2 cases agree in everything, 1 in everything but what has a reason, 1 do not."
        " 1 disagreements have a reason, 1 have none."
    )
    lines = tables(reports).splitlines()
    assert "| web/default | 1 |  |  |  |  | 1 |  |  |  |  |" in lines
    assert "| web/failed | 1 | 1 |  |  |  |  |  |  |  |  |" in lines
    assert "| db/refused | does not compile |  |  |  |  |  |  |  |  |  |" in lines
    assert "| 1 | 1 | other bytes |" in lines
    assert "| db/default | result | file.managed: /etc/a | False: so | True: so |" in lines


def test_the_reasons_of_the_project_are_understood():
    assert all(entry.why.endswith(".") for entry in load_explanations())


def test_a_snapshot_has_what_compares(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/x").touch()
    (tmp_path / "etc/a").write_text("made 2026-01-02 10:11:12\n")
    (tmp_path / "etc/b").write_text("made 2026-01-03 11:12:13\n")
    (tmp_path / "etc/c").symlink_to("a")
    base = tmp_path / "base"
    (base / "etc").mkdir(parents=True)
    (tmp_path / "srv").mkdir()
    found = snapshot(tmp_path, base)
    assert "srv" in found
    assert "etc" not in found
    assert found["etc/a"] == found["etc/b"]
    assert found["etc/a"][-1] == "made ?\n"
    assert found["etc/c"][-1] == "a"
    assert not any(path.startswith("var/log") for path in found)
