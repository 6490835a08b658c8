"""Restricted previews of strangers' forks on a real controller: what their templates find of a pillar that is not
theirs, and a forge that refuses meanwhile."""

import base64
import json
import re
import urllib.request

import pytest
from pull_scene import Scene
from store_scan import found_in

CANARY = "kestrel-over-quarry"
COUNT = 73316
SHOWN = "heron-is-public"
PILLAR = f"""
note: {CANARY}
count: {COUNT}
enabled: false
items: [one, {CANARY}]
nested: {{deep: {{er: {CANARY}}}}}
colours: {{main: {SHOWN}, other: {CANARY}}}
"""
POLICY = "previews: {strangers: restricted, public_pillar: ['colours:main']}\n"
VALUES = """
{% set note = pillar.note %}
{% set letters = [] %}
{% for place in range(40) %}{% for letter in 'abcdefghijklmnopqrstuvwxyz-0123456789' %}
{% if note[place:place + 1] == letter %}{% do letters.append(letter) %}{% endif %}
{% endfor %}{% endfor %}
whole: {test.nop: [{a: "{{ pillar | json | base64_encode }}"}, {b: "{{ note[::-1] }}"}, {c: "{{ note | upper }}"}]}
byletters: {test.nop: [{d: "{{ letters | join('.') }}"}, {e: "{{ salt['pillar.items']() | json | base64_encode }}"}]}
byfunctions:
  test.nop:
  - f: "{{ salt['pillar.get']('nested:deep:er')[::-1] }}"
  - g: "{{ opts.pillar | json | base64_encode }}"
  - h: "{{ salt['config.get']('note')[::-1] }}"
  - i: "{{ salt['pillar.get']('items')[1] | list | join('.') }}"
length-{{ note | length }}-of: {test.nop: []}
guessed-{{ note == 'kestrel-over' ~ '-quarry' }}-{{ pillar.count == COUNT }}-{{ not pillar.enabled }}: {test.nop: []}
greater-{{ pillar.count > 50000 }}: {test.nop: []}
{% for letter in letters %}
by-{{ loop.index }}-{{ letter }}: {test.nop: []}
{% endfor %}
public: {test.nop: [{n: "{{ pillar.colours.main }}"}, {o: "{{ pillar.colours.other[::-1] }}"}]}
""".replace("COUNT", str(COUNT))
ERRORS = {
    "raised": "{{ raise(pillar.note) }}",
    "yaml": "x: [{{ pillar.note }}\n",
    "attribute": "{{ salt[pillar.note]() }}",
    "number": "{{ pillar.note | int + pillar['items'][1] }}",
    "state": "x:\n  {{ pillar.note }}.managed: []\n",
    "source": "x:\n  file.managed:\n  - name: /tmp/x\n  - source: salt://{{ pillar.note }}/{{ pillar.count }}\n",
    "include": "include: [{{ pillar.note }}]\n",
    "slow": "{% if pillar.note.startswith('kestrel') %}{% for a in range(99999) %}{% for b in range(99999) %}"
    "{% endfor %}{% endfor %}{% endif %}x: {test.nop: []}\n",
    "large": "{% if not pillar.enabled %}{{ 'x' * 99999999 }}{% endif %}x: {test.nop: []}\n",
}
TOP = """
base:
  'I@note:kestrel*': [{match: compound}, found-by-glob]
  'J@note:^kestrel': [{match: compound}, found-by-regex]
  'I@count:COUNT': [{match: compound}, found-by-number]
  'I@colours:main:heron*': [{match: compound}, found-by-what-is-public]
  '*': [app]
""".replace("COUNT", str(COUNT))
FORMS = (
    CANARY,
    CANARY[::-1],
    CANARY.upper(),
    ".".join(CANARY),
    str(COUNT),
    *(base64.b64encode(("." * shift + CANARY).encode()).decode()[4:20] for shift in range(3)),
)


@pytest.fixture
def scene(make_rig, forge, tmp_path):
    """A pillar in a folder of the controller, beside that of the repository that strangers may fork."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "top.sls").write_text("base: {'*': [private]}\n")
    (private / "private.sls").write_text(PILLAR)
    scene = Scene(make_rig, forge, pillar_roots={"base": [str(private)]}, compile_timeout=5, public_url="http://x")
    (scene.rig.work / "states" / "saltern.yaml").write_text(POLICY)
    scene.rig.wait_applied(scene.rig.push("policy"))
    assert found_in(store_of(scene), (CANARY,)) == {"documents.blob"}, "it is the pillar of the minion"
    return scene


def store_of(scene):
    return next((scene.rig.directory / "c").rglob("*.sqlite"))


def changed(scene, files):
    """A commit on the stranger's branch, not pushed to the pull request yet; the commit."""
    git = scene.rig.git
    git("checkout", "-q", "-B", "topic", "main")
    for path, text in files.items():
        (scene.rig.work / path).write_text(text)
    git("add", "-A")
    git("commit", "-q", "-m", "from outside")
    git("push", "-q", "--force", "origin", "topic")
    return git("rev-parse", "HEAD")


def told(scene):
    """All that leaves the controller: to the forge, to whoever has the address of a report, in its log and metrics."""
    sent = json.dumps([each.body for each in scene.forge.requests if each.method != "GET"], default=str)
    pages = []
    for link in set(re.findall(r"http://x(/[^\s)\"\\]+)", sent)):
        for form in ("", "&format=json", "&format=md"):
            with urllib.request.urlopen(scene.rig.http + link + form, timeout=10) as page:
                pages.append(page.read().decode())
    assert pages, "the comments lead to the whole reports"
    metrics = urllib.request.urlopen(scene.rig.http + "/metrics", timeout=10).read().decode()
    log = (scene.rig.directory / "controller.log").read_text(errors="replace")
    events = scene.rig.saltern("events", "--out", "json", "--no-follow", check=False).stdout
    return "\n".join((sent, *pages, metrics, log, events))


def nothing_of_it(scene):
    text = told(scene)
    found = [text[max(0, at - 200) : at + 40] for form in FORMS if (at := text.find(form)) >= 0]
    assert not found
    assert found_in(store_of(scene), FORMS) == {"documents.blob"}
    return text


@pytest.mark.timeout(400)
def test_a_stranger_learns_nothing_of_a_pillar_of_others(scene):
    pull = scene.forge.model.open(
        "org/states", head=changed(scene, {"states/app.sls": VALUES}), branch="topic", fork="eve/states", author="eve"
    )
    scene.wait_report(pull)
    scene.wait_comment(pull, "Restricted preview", "guessed-False-False-False", "length-18-of", SHOWN)
    heads = {name: {"states/app.sls": text} for name, text in ERRORS.items()}
    marks = {
        f"states/found-by-{name}.sls": f"found-by-{name}: {{test.nop: []}}\n"
        for name in ("glob", "regex", "number", "what-is-public")
    }
    heads["top"] = {"states/top.sls": TOP, **marks}
    heads["pillar"] = {
        "pillar/numbers.sls": "{% import_text 'private.sls' as t %}number: {{ t[::-1] | json }}\n",
        "pillar/top.sls": "base: {'*': [numbers, private]}\n",
    }
    for name, files in heads.items():
        scene.forge.model.push(pull, changed(scene, files), force=True)
        scene.wait_report(pull)
        if name == "top":
            scene.wait_comment(pull, "found-by-what-is-public")
    scene.wait_comment(pull, "does to the pillar is not shown")
    text = nothing_of_it(scene)
    assert "found-by-glob" not in re.sub(r"found-by-glob\.sls|states/found-by-glob", "", scene.ours(pull)[0].body)
    assert SHOWN in text
    assert "guessed-True" not in text
    assert f"length-{len(CANARY)}-" not in text
    accepted = scene.forge.model.comment(pull, "max", f"/saltern preview --commit {pull.head[:12]}")
    scene.rig.wait("the whole preview", lambda: "Restricted preview" not in scene.ours(pull)[0].body)
    assert accepted.given


@pytest.mark.timeout(300)
def test_a_forge_that_refuses_for_a_limit_and_for_a_right(scene):
    """403 means one of two things: too much was asked, and later it goes on; or a permission lacks, which is told."""
    scene.forge.exhausted(times=1, seconds=1)
    head = changed(scene, {"states/app.sls": "stranger: {test.nop: [{n: '{{ pillar.note }}'}]}\n"})
    pull = scene.forge.model.open("org/states", head=head, branch="topic", fork="eve/states", author="eve")
    scene.wait_report(pull)
    scene.wait_comment(pull, "Restricted preview", "dummy-")
    scene.wait_check(pull, "success")
    assert len(scene.ours(pull)) == 1
    assert scene.metric('saltern_forge_looks_total{forge="hub",result="unavailable"}') >= 1

    scene.forge.app_permissions["pull_requests"] = "read"
    scene.forge.expire_tokens()
    scene.forge.model.push(pull, changed(scene, {"states/app.sls": "another: {test.nop: []}\n"}), force=True)
    scene.rig.wait("the refusal", lambda: scene.metric('saltern_forge_looks_total{forge="hub",result="refused"}') >= 1)
    assert "not accessible by integration" in scene.rig.log("controller", lines=10_000)
    checked = scene.rig.saltern("forge", "check", check=False)
    assert checked.returncode != 0
    assert "pull_requests" in checked.stdout + checked.stderr or "Pull requests" in checked.stdout + checked.stderr
    scene.forge.app_permissions["pull_requests"] = "write"
    scene.forge.expire_tokens()
    scene.forge.model.comment(pull, "eve", "and now?")  # the delivery says that there is something to look at
    scene.wait_report(pull)
    assert len(scene.ours(pull)) == 1
    nothing_of_it(scene)
