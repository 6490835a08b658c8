"""A branch of a stranger with everything hostile in it is previewed: nothing of it runs, and nothing is shown to it."""

import os
import socket
import subprocess

import pytest
from effort import steps

SECRET = "canary-of-the-controller"
PY = "import pathlib\npathlib.Path({marker!r}).write_text('ran')\n"
SLS = """
{extra}
attack-{name}:
  test.nop:
    - v: |
        {line}
"""
LINES = {
    "text-of-the-machine": "{{% import_text '/etc/passwd' as t %}}{{{{ t }}}}",
    "text-beside-the-tree": "{{% import_text '../../../../../../etc/passwd' as t %}}{{{{ t }}}}",
    "include": "{{% include '/etc/passwd' %}}",
    "configuration": "{{% import_text '{config}/controller' as t %}}{{{{ t }}}}",
    "link": "{{% import_text 'link' as t %}}{{{{ t }}}}",
    "link-to-a-folder": "{{% import_text 'folder/passwd' as t %}}{{{{ t }}}}",
    "subclasses": "{{{{ ''.__class__.__mro__[1].__subclasses__() }}}}",
    "globals": "{{{{ cycler.__init__.__globals__.os.environ }}}}",
    "command": "{{{{ salt['cmd.run']('touch {marker}') }}}}",
    "attribute": "{{{{ salt.cmd.run('touch {marker}') }}}}",
    "runner": "{{{{ salt['saltutil.runner']('own.touch') }}}}",
    "module": "{{{{ salt['own.touch']() }}}}",
    "environment": "{{{{ salt['environ.items']() }}}}",
    "network": "{{{{ salt['http.query']('http://127.0.0.1:{port}/') }}}}",
    "options": "{{{{ opts }}}}{{{{ salt['config.get']('hook_secret') }}}}",
    "time": "{{% for a in range(99999) %}}{{% for b in range(99999) %}}{{% endfor %}}{{% endfor %}}",
    "memory": "{{{{ 'x' * 9999999999 }}}}",
}
EXTRA = {
    "condition": "touch:\n  cmd.run:\n    - name: 'true'\n    - unless: touch {marker}\n    - onlyif: touch {marker}\n",
    "file-of-the-machine": "stolen:\n  file.managed:\n    - name: {root}/stolen\n    - source: /etc/passwd\n",
    "template-of-a-file": "made:\n  file.managed:\n    - name: {root}/made\n    - source: salt://made.j2\n"
    "    - template: jinja\n",
    "address": "fetched:\n  file.managed:\n    - name: {root}/fetched\n    - source: http://127.0.0.1:{port}/x\n"
    "    - skip_verify: True\n",
    "script": "run:\n  cmd.script:\n    - source: salt://run.sh\n",
    "python": "#!py",
    "mako": "#!mako",
}


def hostile(rig, listener_port, marker):
    """Everything at once beside the SLS: modules, links, attributes with filters, hooks, submodules, a large file."""
    states = rig.work / "states"
    for folder, function in (
        ("_modules", "touch"),
        ("_runners", "touch"),
        ("_renderers", "render"),
        ("_pillar", "ext_pillar"),
        ("_tops", "top"),
        ("_grains", "touch"),
        ("_states", "touch"),
        ("_utils", "touch"),
    ):
        (states / folder).mkdir(exist_ok=True)
        (states / folder / "own.py").write_text(
            PY.format(marker=str(marker)) + f"def {function}(*a, **k):\n    return {{}}\n"
        )
    (states / "link").symlink_to("/etc/passwd")
    (states / "folder").symlink_to("/etc")
    (states / "made.j2").write_text("{{ salt['cmd.run']('touch " + str(marker) + "') }}")
    (states / "run.sh").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (states / "large").write_bytes(os.urandom(8 * 1024 * 1024))
    (rig.work / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (rig.work / ".gitconfig").write_text(
        f'[filter "evil"]\n\tsmudge = touch {marker}\n[core]\n\tfsmonitor = {marker}\n'
    )
    context = {"marker": marker, "config": rig.config, "port": listener_port, "root": "{{ grains['root'] }}"}
    for name, line in LINES.items():
        (states / f"{name}.sls").write_text(SLS.format(name=name, extra="", line=line.format(**context)))
    for name, extra in EXTRA.items():
        text = extra.format(**context)
        if name == "python":
            text += "\n" + PY.format(marker=str(marker)) + "def run():\n    return {}\n"
        if name == "mako":
            text += f"|yaml\n<% open({str(marker)!r}, 'w').write('ran') %>\n"
        (states / f"{name}.sls").write_text(text)


@pytest.fixture
def listener():
    """A port of this machine on which nobody must ever call."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.setblocking(False)
        yield opened


def called(listener):
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.timeout(400)
def test_a_branch_with_everything_is_previewed(make_rig, listener):
    """Each attack is the only SLS of its minion, so that an error of one hides no other."""
    attacks = [*steps([*LINES], 6), *steps([*EXTRA], 3)]
    rig = make_rig(minions={"web1": {}}, hook_secret=SECRET, compile_timeout=3)
    live = rig.push("first")
    rig.wait_applied(live)
    marker = rig.directory / "marker"
    before = sorted(rig.root("web1").rglob("*"))
    rig.git("checkout", "-q", "-b", "branch")
    hostile(rig, listener.getsockname()[1], marker)
    shown = ""
    for attack in attacks:
        (rig.work / "states/top.sls").write_text(f"base:\n  '*':\n    - {attack}\n")
        rig.push(attack, branch="branch")
        head = rig.git("rev-parse", "HEAD")
        asked = ("preview", "--base", "main", "--head", head, "--out", "json", "--exit-code")
        rig.saltern("remote", "fetch", check=False)
        done = rig.wait("the branch", lambda asked=asked: (one := rig.saltern(*asked, check=False)).stdout and one)
        assert done.returncode in (0, 1, 2, 4), f"{attack}: {done}"
        assert attack in done.stdout, attack
        shown += done.stdout + done.stderr
        assert not marker.exists(), attack
        assert not called(listener), attack
    assert "root:x:0" not in shown
    assert SECRET not in shown
    assert sorted(rig.root("web1").rglob("*")) == before
    assert rig.status()["web1"]["applied_revision"] == live
    assert not rig.saltern("run", "web1", "test.ping", check=False).returncode


def test_a_submodule_of_a_branch_runs_nothing_and_reads_nothing(make_rig):
    rig = make_rig(minions={"web1": {}})
    live = rig.push("first")
    rig.wait_applied(live)
    marker = rig.directory / "marker"
    rig.git("checkout", "-q", "-b", "branch")
    private = rig.directory / "private"
    subprocess.run(["git", "init", "-q", "-b", "main", str(private)], check=True)
    (private / "secret").write_text(SECRET)
    rig.git("add", "-A", cwd=private)
    rig.git("commit", "-q", "-m", "private", cwd=private)
    commit = rig.git("rev-parse", "HEAD", cwd=private)
    for name, url in (("ext", f"ext::sh -c 'touch {marker}'"), ("option", f"--upload-pack=touch {marker}")):
        (rig.work / ".gitmodules").write_text(f'[submodule "{name}"]\n\tpath = states/sub\n\turl = {url}\n')
        rig.git("add", ".gitmodules")
        rig.git("update-index", "--add", "--cacheinfo", f"160000,{commit},states/sub")
        rig.git("commit", "-q", "-m", name)
        rig.push_head("branch")
        rig.saltern("remote", "fetch", check=False)
        head = rig.git("rev-parse", "HEAD")
        rig.wait(
            "the branch",
            lambda head=head: (
                rig.saltern("preview", "--base", "main", "--head", head, check=False).returncode in (0, 1, 2, 4)
            ),
        )
        assert not marker.exists()
    assert rig.status()["web1"]["applied_revision"] == live


THEFT = """
{root}/private:
  file.managed:
    - contents: x

searched:
  file.replace:
    - name: {root}/private
    - pattern: canary.*
    - repl: x

shown:
  file.managed:
    - name: {root}/shown
    - source: {root}/private
    - new_file_diff: True

copied:
  file.copy:
    - name: {root}/shown
    - source: {root}/private

program:
  file.managed:
    - name: {root}/made
    - source: salt://program
    - template: py

configuration:
  file.managed:
    - name: {root}/made
    - source: salt://configuration
    - template: jinja
    - new_file_diff: True
"""


def test_a_branch_shows_no_file_of_a_minion(make_rig):
    """Contents of the minion's files, its configuration included, are in no output; what changes else is."""
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    marker, root = rig.directory / "marker", rig.root("web1")
    (root / "private").write_text(SECRET)
    rig.git("checkout", "-q", "-b", "branch")
    states = rig.work / "states"
    (states / "top.sls").write_text("base:\n  '*':\n    - theft\n")
    (states / "theft.sls").write_text(THEFT.format(root=root))
    (states / "program").write_text(PY.format(marker=str(marker)) + "def run():\n    return 'x'\n")
    (states / "configuration").write_text("{{ opts }}")
    rig.push("theft", branch="branch")
    asked = ("preview", "--base", "main", "--head", "branch", "--out", "json", "--exit-code")
    done = rig.wait("the branch", lambda: (one := rig.saltern(*asked, check=False)).returncode in (2, 4) and one)
    assert SECRET not in done.stdout + done.stderr
    assert not marker.exists()
    assert f"content of {root}/private is not read in a preview" in done.stdout
    assert "does not render py templates" in done.stdout
    rendered = next(line for line in done.stdout.split("\\n") if line.startswith("+{") and "'grains'" in line)
    assert f"{rig.directory}/web1/agent" not in rendered, "a template has nothing of the minion's configuration"
