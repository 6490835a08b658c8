"""A password of the vault or of GnuPG gets to its minion, and nobody else ever sees it."""

import contextlib
import http.server
import json
import shutil
import subprocess
import threading

import gnupg
import pytest
from otlp_collector import Collector
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
    """(rig, written(password, states)): a minion with a password that GnuPG keeps."""
    with vaulted_rig(make_rig) as made:
        yield made


@contextlib.contextmanager
def vaulted_rig(make_rig, **options):
    if shutil.which("gpg") is None:
        pytest.skip("GnuPG is not installed")
    rig = make_rig(minions={"web1": {}}, **options)
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


POLICY = """
notifications:
  group_wait: 0
  group_interval: 1
  routes:
  - receivers: [hook]
    template: whole
  templates:
    whole:
      title: "{{ title }} {{ counts }}"
      text: "{{ text }} {{ firing }} {{ resolved }} {{ labels }}"
"""
FAILING = (
    STATES
    + """
"it fails with {{ pillar.password }}":
  cmd.run:
    - name: "echo the password is {{ pillar.password }} >&2; exit 1"
"""
)


@contextlib.contextmanager
def hook():
    """(address, bodies that came there) of an HTTP server that takes notifications."""
    taken = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            taken.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/in", taken
        server.shutdown()


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


def test_a_password_of_what_fails_is_in_no_trace_and_no_notification(make_rig):
    """A state that fails, and a push that does not compile: both with the password in all texts that they have."""
    with Collector() as collector, hook() as (url, taken):
        receivers = {"hook": {"kind": "webhook", "url": url}}
        options = {"otlp_endpoint": collector.endpoint, "notifications": {"receivers": receivers}}
        with vaulted_rig(make_rig, **options) as (rig, written):
            policy = rig.work / "states/saltern.yaml"
            policy.write_text(policy.read_text() + POLICY)
            written(OLD, FAILING)
            rig.push("it fails")
            rig.wait("the failure to be told", lambda: [each for each in taken if "minion_failed" in each])
            written(NEW, FAILING + "\n{{ pillar.password }}: [\n")
            rig.push("broken")
            rig.wait("the error to be told", lambda: [each for each in taken if "compile_broken" in each])
            names = {"push", "compile", "apply", "run"}
            rig.wait("the spans", lambda: names <= {span.name for span in collector.spans})
            assert all("<secret " in each for each in taken if '"minion_failed"' in each)
            clean("\n".join(taken))
            assert any("fail" in str(span.status) for span in collector.spans)
            clean("\n".join(map(str, collector.spans)))


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
