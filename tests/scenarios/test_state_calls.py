"""Calls of `state` that the controller compiles: `saltern run TARGET state.apply SLS pillar=…`, `state.show_*`."""

import json

EXTRA = """
{% set root = grains['root'] %}
extra file:
  file.managed:
    - name: {{ root }}/extra.conf
    - makedirs: true
    - source: salt://extra.conf.j2
    - template: jinja
    - context: {number: {{ pillar['number'] }}, word: {{ pillar.get('word', 'none') }}}
extra tells:
  cmd.run:
    - name: echo {{ pillar.get('word', 'none') }} >> {{ root }}/told-extra
    - onchanges: [file: extra file]
"""
TEMPLATE = "{{ number }} {{ word }} {{ pillar.get('password', '') }}\n"


def with_extra(rig):
    (rig.work / "states" / "extra.sls").write_text(EXTRA)
    (rig.work / "states" / "extra.conf.j2").write_text(TEMPLATE)
    rig.wait_applied(rig.push("an SLS that no top file names"))


def run(rig, *arguments, target="web1", code=0):
    done = rig.saltern("run", target, "--out", "json", *arguments, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def results(states):
    return {entry["__id__"]: entry["result"] for entry in states.values()}


def test_an_sls_outside_of_the_highstate(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_extra(rig)
    before = rig.status()["web1"]
    written = rig.root("web1") / "extra.conf"

    foretold = run(rig, "state.apply", "extra", "test=True")["web1"]
    assert results(foretold) == {"extra file": None, "extra tells": None}
    assert not written.exists()

    done = run(rig, "state.apply", "extra", "pillar={word: hello}", target="web*")
    assert sorted(done) == ["web1", "web2"]
    assert all(results(states) == {"extra file": True, "extra tells": True} for states in done.values())
    assert written.read_text() == "0 hello \n"
    assert (rig.root("web1") / "told-extra").read_text() == "hello\n"
    again = run(rig, "state.sls", "extra", "pillar={word: hello}")["web1"]
    assert not any(entry["changes"] for entry in again.values())

    after = rig.status()["web1"]
    same = ("sync", "health", "drift", "applied_revision", "desired_digest")
    assert {key: after.get(key) for key in same} == {key: before.get(key) for key in same}
    assert [(one["fun"], one["args"], one["outcome"]) for one in rig.history("web1")[:2]] == [
        ("state.sls", 'extra pillar={"word": "***"}', "ok"),
        ("state.apply", 'extra pillar={"word": "***"}', "ok"),
    ]


def test_what_does_not_compile_is_a_list_of_errors(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_extra(rig)
    said = run(rig, "state.apply", "nowhere", code=1)["web1"]
    assert len(said) == 1
    assert "nowhere" in said[0]
    assert [(one["outcome"], one["state"]) for one in rig.history("web1")[:1]] == [("failed", "finished")]
