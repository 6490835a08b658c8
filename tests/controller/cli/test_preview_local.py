"""`saltern preview --local`: the report of two commits of a working copy, without a controller."""

from __future__ import annotations

import json
import subprocess

import pytest

TOP = "base:\n  '*':\n    - web\n"
WEB = """
motd:
  file.managed:
    - name: /etc/motd
    - contents: 'Hello from {{ grains.id }}, {{ pillar.color }}'
page:
  file.managed:
    - name: /srv/page
    - source: salt://page.html
web:
  service.running:
    - watch:
      - file: page
"""


class Copy:
    """A working copy."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words):
        identity = ["-c", "user.name=A. Writer", "-c", "user.email=a@example.org"]
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.path,
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.strip()

    def commit(self, subject, **files):
        for name, text in files.items():
            path = self.path / name.replace("__", "/").replace("_sls", ".sls").replace("_html", ".html")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def copy(tmp_path):
    made = Copy(tmp_path / "states")
    made.commit(
        "first",
        salt__top_sls=TOP,
        salt__web_sls=WEB,
        salt__page_html="one\ntwo\n",
        pillar__top_sls="base: {'*': [color]}\n",
        pillar__color_sls="color: red\n",
    )
    grains = {f"web{number}": {"os": "Debian", "role": "web"} for number in (1, 2, 3)}
    (tmp_path / "grains.json").write_text(json.dumps(grains))
    return made


@pytest.fixture
def preview(saltern, copy, tmp_path):
    def run(*more, base="main", head="feature"):
        words = ("--local", "--repo", str(copy.path), "--grains", str(tmp_path / "grains.json"))
        roots = ("--file-root", "salt", "--pillar-root", "pillar")
        return saltern("preview", "--base", base, "--head", head, *words, *roots, *more)

    return run


def test_two_commits_are_compared(copy, preview):
    base = copy.git("rev-parse", "HEAD")
    copy.git("switch", "-q", "-c", "feature")
    head = copy.commit("A better page", salt__page_html="one\n2\n")
    done = preview("--out", "json")
    assert done.code == 2, done
    report = json.loads(done.out)
    assert (report["base"], report["head"], report["minions"], report["changed"]) == (base, head, 3, 3)
    assert report["moved"][0]["subject"] == "A better page"
    [found] = report["classes"]
    assert found["minions"] == ["web1", "web2", "web3"]
    assert found["resources"][0]["origin"] == "web.sls:6"
    assert "-two\n+2" in found["resources"][0]["files"][0]["text"]
    assert [each["action"] for each in found["resources"]] == ["changed", "retriggered"]
    assert report["restarts"][0]["service"] == "web"
    assert copy.git("status", "--porcelain") == ""


def test_values_of_pillar_and_grains_make_one_change(copy, preview):
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("blue", pillar__color_sls="color: blue\n")
    report = json.loads(preview("--out", "json").out)
    assert [each["minions"] for each in report["classes"]] == [["web1", "web2", "web3"]]
    assert "⟨grains.id⟩" in json.dumps(report["classes"], ensure_ascii=False)


def test_nothing_changes(preview):
    done = preview(head="main")
    assert (done.code, "Nothing changes on 3 minions" in done.out) == (0, True)


def test_a_head_that_does_not_compile(copy, preview):
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("broken", salt__web_sls="motd: {{ nothing.here }\n")
    done = preview("--out", "comment")
    assert done.code == 1
    assert "Does not compile: 3 minions" in done.out
    assert "web.sls" in done.out
    assert preview("--exit-code").code == 4


def test_a_policy_that_cannot_be_used_is_told(copy, preview):
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("typing error", **{"salt__saltern.yaml": "drift: {intervall: 1m}\n"})
    done = preview("--out", "json")
    assert "saltern.yaml cannot be used" in json.loads(done.out)["problems"][0]


def test_a_template_without_an_end_is_an_error(copy, preview):
    copy.git("switch", "-q", "-c", "feature")
    text = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    copy.commit("endless", salt__web_sls=text)
    done = preview("--target", "web1")
    assert done.code == 1
    assert "steps" in done.out


def test_from_where_the_head_has_branched_off(copy, preview):
    origin = copy.git("rev-parse", "HEAD")
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("feature", salt__page_html="one\n2\n")
    copy.git("switch", "-q", "main")
    copy.commit("main went on", pillar__color_sls="color: green\n")
    assert json.loads(preview("--out", "json").out)["classes"][0]["resources"][0]["title"].startswith("motd")
    report = json.loads(preview("--merge", "--out", "json").out)
    assert report["base"] == origin
    assert [each["title"] for each in report["classes"][0]["resources"]] == [
        "page [/srv/page] (file.managed)",
        "web (service.running)",
    ]


def test_answers_of_machines_are_not_known(copy, preview):
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("asks", salt__web_sls="{% set x = salt['cmd.which']('sh') %}\nmotd: {test.nop: [{name: '{{ x }}'}]}\n")
    report = json.loads(preview("--out", "json").out)
    assert report["unknown"][0]["texts"] == ["cmd.which"]


def test_python_of_the_tree_is_not_run_where_it_is_restricted(copy, preview, tmp_path):
    copy.git("switch", "-q", "-c", "feature")
    copy.commit(
        "python", salt__web_sls=f"#!py\ndef run():\n    open({str(tmp_path / 'ran')!r}, 'w')\n    return {{}}\n"
    )
    done = preview("--restricted")
    assert done.code == 2
    assert "Not known" in done.out
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--head", "nope"), 1, "no branch, tag or commit"),
        (("--repo", "/nowhere"), 1, "no working copy"),
        (("--live",), 64, "asks minions"),
        (("--target", "db*"), 5, "no minion"),
        (("-G", "--target", "os:Debian"), 64, "glob or a list"),
        (("--opt", "state_auto_order=maybe"), 1, "state_auto_order"),
    ],
)
def test_what_cannot_be_previewed_says_why(preview, words, code, said):
    done = preview(*words)
    assert (done.code, said in done.err) == (code, True), done


def test_what_is_of_the_working_copy_needs_local(saltern):
    done = saltern("preview", "--base", "a", "--head", "b", "--grains", "x.json")
    assert (done.code, "go with --local" in done.err) == (64, True)
    done = saltern("preview", "--base", "a", "--head", "b", "--local")
    assert (done.code, "grains.items" in done.err) == (64, True)


@pytest.mark.parametrize(
    ("text", "why"), [("web1: 7\n", "must be a mapping"), ("", "names no minion"), ("{}", "names no minion")]
)
def test_grains_that_are_none_are_refused(saltern, copy, tmp_path, text, why):
    (tmp_path / "bad.yaml").write_text(text)
    words = ("--local", "--repo", str(copy.path), "--grains", str(tmp_path / "bad.yaml"))
    done = saltern("preview", "--base", "main", "--head", "main", *words)
    assert (done.code, why in done.err, "grains.items" in done.err) == (64, True, True)


def test_templates_are_rendered_on_both_sides(copy, preview):
    sls = WEB + "conf:\n  file.managed: [{name: /etc/conf, source: 'salt://conf', template: jinja}]\n"
    copy.commit("A template", salt__web_sls=sls, salt__conf="for {{ grains.id }}\ncolor {{ pillar.color }}\n")
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("Another color", pillar__color_sls="# the new one\ncolor: blue\n")
    done = preview("--out", "json")
    motd, conf = json.loads(done.out)["classes"][0]["resources"][:2]
    assert conf["files"][0]["path"] == "/etc/conf"
    assert " for ⟨grains.id⟩\n-color red\n+color blue" in conf["files"][0]["text"]
    assert [(key["path"], key["origin"]) for key in conf["pillar"]] == [("color", "color.sls:2")]
    assert motd["pillar"] == conf["pillar"]
