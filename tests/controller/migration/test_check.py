"""Configurations and trees of Salt: what is said of each thing, and that our loaders take the converted files."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from controller.config.checks import check_git
from controller.config.settings import load_settings
from controller.policy.reading import read_policy
from highstate.files import MemoryFiles
from minion.config import settings as of_minion


@pytest.fixture
def machine(tmp_path):
    """A copy of a machine with these files."""

    def make(**files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return tmp_path

    return lambda files: make(**files)


@pytest.fixture
def check(saltern, tmp_path):
    """(exit code, report) of a check of the copy."""

    def run(*more):
        done = saltern("migrate", "check", str(tmp_path / "etc/salt"), "--root", str(tmp_path), "--out", "json", *more)
        return (
            done.code,
            json.loads(done.out),
            {(each["kind"], each["name"]): each for each in json.loads(done.out)["items"]},
        )

    return run


def test_all_works(machine, check):
    machine({"etc/salt/master": "file_roots: {base: [/srv/salt]}\n", "srv/salt/top.sls": "base: {'*': [a]}\n",
             "srv/salt/a.sls": "a:\n  test.nop: []\n"})  # fmt: skip
    code, report, items = check()
    assert code == 0, report
    assert items["state", "test.nop"]["place"].endswith("srv/salt/a.sls:2")
    assert report["counts"] == {"works": 3, "different": 0, "no counterpart": 0}


def test_places_values_and_reasons(machine, check, tmp_path):
    root = machine({
        "etc/salt/master": "worker_threads: 9\npki_dir: /etc/salt/pki/master\nunheard_of: 1\nlog_level: chatty\n",
        "etc/salt/master.d/a.conf": "\nfile_recv: true\next_pillar:\n- mysql: {a: b}\n- cmd_yaml: /bin/true\n",
        "etc/salt/cloud.providers.d/x.conf": "a: 1\n",
    })  # fmt: skip
    code, _, items = check("--write", str(tmp_path / "out"))
    assert code == 2
    assert items["option", "worker_threads"]["verdict"] == "different"
    assert items["option", "pki_dir"]["verdict"] == "different"
    assert items["option", "unheard_of"]["verdict"] == "no counterpart"
    assert "log_level must be one of" in items["option", "log_level"]["how"]
    assert items["external pillar", "mysql"]["verdict"] == "no counterpart"
    assert items["external pillar", "mysql"]["place"] == f"{root}/etc/salt/master.d/a.conf:4"
    assert items["external pillar", "cmd_yaml"]["verdict"] == "works"
    assert items["file", "cloud.providers.d (salt-cloud)"]["verdict"] == "different"
    settings = load_settings(tmp_path / "out")
    check_git(settings)
    assert settings.language.ext_pillar == ({"cmd_yaml": "/bin/true"},)
    assert settings.notes == ()


def test_notes_tell_each_thing_once(machine, saltern, tmp_path):
    root = machine({"etc/salt/master": "master_job_cache: mysql\nevent_return: [nope]\nopen_mode: true\n"})
    saltern("migrate", "check", str(root / "etc/salt"), "--write", str(tmp_path / "notes"))
    notes = (tmp_path / "notes/NOTES.md").read_text()
    assert [notes.count(name) for name in ("master_job_cache", "no returner 'nope'", "open_mode")] == [1, 1, 1], notes


def test_the_converted_files_are_taken_by_our_loaders(machine, check, tmp_path):
    machine({
        "etc/salt/minion": "id: web1\nmaster: salt\nbeacons: {load: [], adb: []}\nmaster_type: func\n",
        "etc/salt/minion.d/x.conf": "grains: {a: 1}\n", "etc/salt/minion.d/y.conf": "grains: {b: 2}\n",
        "etc/salt/minion_id": "web1\n", "etc/salt/grains": "c: 3\n", "etc/salt/master": "timeout: 3\n",
        "srv/salt/a.sls": "{{ salt['cmd.run']('id') }}:\n  test.nop: []\n", "srv/pillar/top.sls": "{}\n",
    })  # fmt: skip
    _, report, items = check("--write", str(tmp_path / "out"))
    assert [Path(each).name for each in report["written"]] == [
        "controller", "saltern.yaml", "minion", "grains", "minion_id", "NOTES.md"
    ]  # fmt: skip
    assert all(stat.S_IMODE(Path(each).stat().st_mode) == 0o600 for each in report["written"])
    minion = of_minion.load_settings(tmp_path / "out")
    assert (minion.id, minion.master, minion.grains) == ("web1", ("salt",), {"a": 1, "b": 2, "c": 3})
    assert minion.warnings == ()
    assert minion.written["beacons"] == {"load": []}
    assert load_settings(tmp_path / "out").trees.file_roots == {"base": ("/srv/salt",)}
    assert items["function", "cmd.run (in SLS)"]["verdict"] == "different"
    policy = read_policy(MemoryFiles({"base": {"saltern.yaml": (tmp_path / "out/saltern.yaml").read_bytes()}}))
    assert (policy.apply, policy.facts) == ("manual", ("cmd.run",))
    assert "master_type: func" not in (tmp_path / "out/minion").read_text()
    assert "`adb`" in (tmp_path / "out/NOTES.md").read_text()


def test_what_acts_by_itself_is_a_file_of_its_own(machine, check, tmp_path):
    machine({
        "etc/salt/master": "timeout: 3\nreactor:\n- a/b: [salt://r.sls]\n"
                           "schedule:\n  s: {function: manage.up, hours: 1}\n",
        "etc/salt/minion": "id: a\n", "srv/salt/r.sls": "",
        "etc/salt/minion.d/_schedule.conf": "schedule:\n  __mine_interval: {function: mine.update, minutes: 60}\n"
                                            "  hi: {function: test.ping, hours: 1}\n",
    })  # fmt: skip
    _, report, items = check("--write", str(tmp_path / "out"))
    assert {Path(each).name for each in report["written"]} >= {"controller-acts.conf", "minion-acts.conf"}
    assert load_settings(tmp_path / "out").reactor.entries == ()
    assert ("job", "__mine_interval") not in items
    assert "__mine_interval" not in (tmp_path / "out/minion-acts.conf").read_text()
    (tmp_path / "out/controller.d").mkdir()
    (tmp_path / "out/controller-acts.conf").rename(tmp_path / "out/controller.d/acts.conf")
    assert len(load_settings(tmp_path / "out").reactor.entries) == 1


def test_includes_and_reactors_of_absolute_paths(machine, check):
    root = machine({
        "etc/salt/master": "include: [/etc/salt/more/*.conf, /etc/passwd]\n", "etc/salt/more/a.conf": "nope_a: 1\n",
        "etc/salt/master.d/r.conf": "reactor:\n- a/b: [/srv/reactor/*.sls]\n",
        "srv/reactor/one.sls": "a:\n  wheel.key.gen: []\n", "srv/reactor/two.sls": "b:\n  runner.nope.at: []\n",
    })  # fmt: skip
    _, report, items = check()
    assert items["option", "nope_a"]["place"] == f"{root}/etc/salt/more/a.conf:1"
    assert [each for each in report["not_read"] if "passwd" in each]
    assert items["wheel", "key.gen"]["place"] == f"{root}/srv/reactor/one.sls:2"
    assert items["runner", "nope.at"]["place"] == f"{root}/srv/reactor/two.sls:2"


def test_what_configurations_often_have(machine, check):
    machine({
        "etc/salt/master": "output: nested\nrenderer: jinja|yaml|gpg\next_pillar:\n- vault: path=secret/a\n"
                           "rest_cherrypy: {port: 8000}\n",
        "etc/salt/minion": "id: a\nreturn: redis,mysql,own\nenvironment: dev\n",
        "srv/salt/_returners/own.py": "def returner(ret):\n    pass\n",
    })  # fmt: skip
    _, _, items = check()
    assert items["option", "output"]["verdict"] == "different"
    assert "#!jinja|yaml|gpg" in items["option", "renderer"]["how"]
    assert ("external pillar", "vault") not in items or items["external pillar", "vault"]["verdict"] != "no counterpart"
    assert items["option", "rest_cherrypy"]["docs"] == "docs/salt-api.md"
    assert items["option", "return"]["how"].startswith("there is no returner 'mysql'")
    assert items["option", "environment"]["verdict"] == "different"


def test_nothing_is_overwritten_and_nothing_changed_in_place(machine, saltern, tmp_path):
    machine({"etc/salt/master": "timeout: 3\n", "out/minion": "mine\n", "etc/salt/minion": "id: a\n"})
    command = ("migrate", "check", str(tmp_path / "etc/salt"), "--root", str(tmp_path), "--write")
    done = saltern(*command, str(tmp_path / "out"))
    assert (done.code, [each.name for each in (tmp_path / "out").iterdir()]) == (1, ["minion"])
    assert "is there already" in done.err
    (tmp_path / "link").symlink_to(tmp_path / "etc/salt")
    assert "of which nothing is changed" in saltern(*command, str(tmp_path / "link/new")).err
    (tmp_path / "minion").symlink_to(tmp_path / "elsewhere")
    assert saltern(*command, str(tmp_path)).code == 1
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_no_folder_of_salts_is_wrong_usage(saltern, tmp_path):
    assert saltern("migrate", "check", str(tmp_path / "none")).code == 64
    assert saltern("migrate", "check", str(tmp_path)).code == 64
    assert saltern("migrate", "check", "--nope").code == 64


def test_links_specials_and_sizes(machine, check, tmp_path):
    root = machine(
        {"etc/salt/master": "include: [/etc/passwd, ../../x]\n", "secret": "token: 1\n", "srv/salt/a.sls": ""}
    )
    (root / "etc/salt/master.d").mkdir()
    (root / "etc/salt/master.d/a.conf").symlink_to(root / "secret")
    os.mkfifo(root / "etc/salt/master.d/b.conf")
    (root / "etc/salt/master.d/c.conf").write_text("x: " + "y" * (5 << 20))
    (root / "etc/salt/master.d/d.conf").write_text("a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"b{n}: &b{n} [{','.join([f'*{before}'] * 9)}]\n"
        for n, before in enumerate(["a", *(f"b{n}" for n in range(9))])))  # fmt: skip
    (root / "etc/salt/master.d/e.conf").write_text("a: [\n")
    (root / "srv/salt/out.sls").symlink_to("/etc/hostname")
    code, report, items = check()
    text = "\n".join(report["not_read"])
    assert code == 2
    for part in (
        "leads out of",
        "a.conf",
        "c.conf has more than",
        "b.conf is no file, but a fifo",
        "is no YAML: its aliases unfold",
        "e.conf:2: is no YAML",
        "passwd",
        "../../x",
    ):
        assert part in text, part
    assert ("option", "token") not in items


def test_functions_renderers_and_modules_of_trees(machine, check):
    machine({
        "etc/salt/master": "file_roots:\n  base: [/srv/salt]\n  dev: [/srv/dev]\nreactor:\n- x: [/srv/reactor/r.sls]\n",
        "srv/salt/top.sls": "base: {}\n", "srv/dev/top.sls": "dev: {}\n",
        "srv/reactor/r.sls": "a:\n  caller.x.y: []\nb:\n  wheel.key.gen: []\n",
        "srv/salt/a.sls": "#!pydsl\n", "srv/salt/_states/own.py": "__virtualname__ = 'mine'\n",
        "srv/salt/_proxy/p.py": "", "srv/salt/_modules/m.py": "import salt.utils.files\nimport salt.cloud.clouds\n",
        "srv/salt/b.sls": "a:\n  mine.set: []\nb:\n  zpool.present: []\nc:\n  file.shortcut: []\nd:\n"
                          "  pkg.installed:\n    - skip_suggestions: True\n    - pkg_verify: True\n"
                          "e:\n  nope.at_all: []\nf:\n  file.managd: []\n"
                          "g:\n  file.append:\n    - text: a\nh:\n  file.copy:\n    - force: True\n",
        "srv/salt/f.j2": "{{ salt['pkg.version']('x') }}", "srv/salt/g.sls": "{{ salt['pkg.version']('x') }}",
    })  # fmt: skip
    _, _, items = check()
    said = {key: each["verdict"] for key, each in items.items()}
    assert said["state", "mine.set"] == "works"
    assert said["state", "zpool.present"] == "no counterpart"
    assert "shortcuts are for Windows" in items["state", "file.shortcut"]["how"]
    assert "did you mean file.managed" in items["state", "file.managd"]["how"]
    assert said["state", "nope.at_all"] == "no counterpart"
    assert said["state", "file.append"] == "works"
    assert said["argument", "file.copy: force"] == "different"
    assert said["argument", "pkg.installed: skip_suggestions"] == "different"
    assert said["argument", "pkg.installed: pkg_verify"] == "no counterpart"
    assert said["renderer", "pydsl"] == "no counterpart"
    assert said["module", "_states/own"] == "works"
    assert said["module", "_proxy/p"] == "no counterpart"
    assert "salt.cloud.clouds" in items["module", "_modules/m"]["how"]
    assert said["function", "pkg.version"] == "works"
    assert said["function", "pkg.version (in SLS)"] == "different"
    assert said["reaction", "x.y"] == "no counterpart"
    assert said["wheel", "key.gen"] == "no counterpart"
    assert said["top file", "states, dev"] == "different"


def test_passwords_of_addresses_are_not_shown(machine, saltern, tmp_path):
    machine({"etc/salt/master": "gitfs_remotes:\n- https://me:hunter22@git.example.org/x.git\n- https://a:hunter22@\n"})
    for form in ("text", "json"):
        done = saltern("migrate", "check", str(tmp_path / "etc/salt"), "--root", str(tmp_path), "--out", form, "--all")
        assert "git.example.org/x.git" in done.out
        assert "hunter22" not in done.out + done.err


def test_git_remotes_are_looked_into_when_they_are_fetched(machine, check, tmp_path):
    remote = tmp_path / "remote"
    machine({"etc/salt/master": f"gitfs_base: main\ngitfs_remotes: [{remote}]\n",
             "remote/a.sls": "a:\n  zpool.present: []\n"})  # fmt: skip
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        git = ["git", "-c", "user.name=A. Writer", "-c", "user.email=a@example.org", *words]
        subprocess.run(git, cwd=remote, check=True)
    code, report, items = check()
    assert (code, report["not_read"]) == (2, ["the trees of gitfs_remotes: --fetch looks into them"])
    code, report, items = check("--fetch")
    assert items["state", "zpool.present"]["place"] == "salt://a.sls:2"
    assert report["not_read"] == []
