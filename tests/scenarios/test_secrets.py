"""A password of the vault or of GnuPG gets to its minion, and nobody else ever sees it."""

import json
import shutil
import subprocess

import gnupg
import pytest
from store_scan import found_in

OLD, NEW, BRANCH = "correct-horse-1", "battery-staple-2", "tr0ub4dor-3"
STATES = """
db:
  file.managed:
    - name: {{ grains.root }}/db.conf
    - makedirs: True
    - contents: |
        user = app
        password = {{ pillar.password }}
told:
  event.send:
    - name: told/{{ pillar.password }}
    - data: {password: {{ pillar.password }}}
    - onchanges: [file: db]
said:
  cmd.run:
    - name: "echo {{ pillar.password }} 'to' {{ grains.root }}; true"
    - onchanges: [file: db]
"""


@pytest.fixture
def vaulted(make_rig):
    """(rig, push(message, password), shown()): a minion with a password that GnuPG keeps."""
    if shutil.which("gpg") is None:
        pytest.skip("GnuPG is not installed")
    rig = make_rig(minions={"web1": {}})
    keys = rig.config / "gpgkeys"
    keys.mkdir(mode=0o700)
    gpg = gnupg.GPG(gnupghome=str(keys))
    key = gpg.gen_key(
        gpg.gen_key_input(key_type="RSA", key_length=2048, name_email="controller@example.org", no_protection=True)
    )

    def written(password, states=STATES):
        message = str(gpg.encrypt(password, key.fingerprint, always_trust=True))
        (rig.work / "pillar" / "top.sls").write_text("base:\n  '*': [secret]\n")
        (rig.work / "pillar" / "secret.sls").write_text("#!yaml|gpg\n" + json.dumps({"password": message}))
        (rig.work / "states" / "db.sls").write_text(states)
        (rig.work / "states" / "top.sls").write_text("base:\n  '*': [db]\n")

    yield rig, written
    subprocess.run(["gpgconf", "--homedir", str(keys), "--kill", "gpg-agent"], check=False)


def clean(text):
    assert text
    found = [text[max(0, at - 200) : at + 60] for word in (OLD, NEW, BRANCH) if (at := text.find(word)) >= 0]
    assert not found
    return text


def test_a_password_is_applied_and_shown_nowhere(vaulted):
    rig, written = vaulted
    written(OLD)
    rig.wait_applied(rig.push("a password"))
    conf = rig.root("web1") / "db.conf"
    assert OLD in conf.read_text()

    # It drifts, is shown, and is rotated while the minion is away.
    conf.write_text(conf.read_text().replace(OLD, "changed by hand"))
    rig.saltern("run", "web1", "state.apply", "test=True", check=False)
    rig.stop("web1")
    rig.wait("it to be gone", lambda: not rig.status()["web1"]["connected"])
    written(NEW)
    rotated = rig.push("rotated")
    rig.wait("it to compile", lambda: rig.status()["web1"]["attempted_revision"] == rotated)
    diff = clean(rig.saltern("diff", "web1", check=False).stdout)
    assert diff.count("<secret ") >= 2
    assert len(set(diff.split("<secret ")[1:])) >= 2, "that it changes is seen"
    clean(rig.saltern("diff", "web1", "--out", "json", check=False).stdout)
    rig.start_minion("web1")
    rig.wait_applied(rotated)
    assert NEW in conf.read_text()

    # What is answered, kept and logged.
    answered = clean(rig.saltern("run", "web1", "pillar.items").stdout)
    assert "<secret " in answered
    for run in rig.history():
        shown = clean(rig.saltern("show", run["run_id"], "--out", "json").stdout)
        clean(rig.saltern("show", run["run_id"]).stdout)
    assert shown
    clean(json.dumps(rig.history()))
    clean(rig.saltern("status", "--out", "json").stdout)
    clean(rig.log("controller", lines=10_000))


def test_a_password_in_an_error_and_in_a_preview(vaulted):
    rig, written = vaulted
    written(OLD)
    rig.wait_applied(rig.push("a password"))
    rig.git("checkout", "-q", "-b", "branch")
    written(BRANCH)
    rig.push("another", branch="branch")
    asked = ("preview", "--base", "main", "--head", "branch", "--exit-code")
    for more in ((), ("--out", "json"), ("--out", "markdown")):
        done = rig.wait(
            "the branch", lambda more=more: (one := rig.saltern(*asked, *more, check=False)).returncode == 2 and one
        )
        assert "secret " in clean(done.stdout)
    rig.git("checkout", "-q", "main")
    written(NEW, STATES + "\n{{ pillar.password }}: {nothing.like_it: []}\n{{ pillar.password }}: [\n")
    rig.push("broken")
    rig.wait("the error", lambda: rig.status()["web1"]["errors"])
    assert "<secret " in clean(json.dumps(rig.status()))
    clean(rig.log("controller", lines=10_000))


def test_a_password_in_names_is_in_the_store_where_it_has_to_be_alone(vaulted):
    """Documents hold it, and what is taken out of all else; a run has it for as long as it may be sent again."""
    rig, written = vaulted
    named = STATES + "\nnamed-{{ pillar.password }}:\n  test.succeed_with_changes: []\n"
    written(OLD, named)
    rig.wait_applied(rig.push("a password in names"))
    written(NEW, named)
    rig.wait_applied(rig.push("rotated"))
    rig.saltern("run", "web1", "state.apply", "test=True", check=False)
    rig.saltern("run", "web1", "state.sls_id", f"named-{NEW}", "db", check=False)
    rig.git("checkout", "-q", "-b", "branch")
    written(BRANCH, named)
    rig.push("another", branch="branch")
    asked = ("preview", "--base", "main", "--head", "branch", "--live", "--exit-code")
    rig.wait("the preview", lambda: rig.saltern(*asked, check=False).returncode == 2)
    store = next((rig.directory / "c").rglob("*.sqlite"))
    rig.wait("all runs to end", lambda: all(run["state"] == "finished" for run in rig.history()))
    assert found_in(store, (OLD, NEW, BRANCH)) == {"documents.blob", "secrets.text"}
