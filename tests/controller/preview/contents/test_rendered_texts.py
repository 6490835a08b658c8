"""What changes in files is shown as it is rendered for a minion, on both sides, with the pillar keys behind it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controller.schema.preview_stream import PreviewFinished
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion

SITE = """
{% from 'map.jinja' import port %}
site:
  file.managed:
    - name: /etc/site.conf
    - source: salt://site.conf
    - template: jinja
    - context: {workers: 4}
"""
CONF = "{% from 'map.jinja' import port %}name {{ grains.id }}\nport {{ port }}\nworkers {{ workers }}\n"
FILES = {"web.sls": SITE, "site.conf": CONF, "map.jinja": "{% set port = 80 %}\n"}
OWNER = "owner {{ pillar['site']['owner'] }}\n"


async def previewed(controller: Any, head: str = "feature", **options: Any) -> PreviewReport:
    await asyncio.to_thread(controller.fetch)
    question = PreviewQuestion(base="main", head=head, live="none", **options)
    *_, last = [item async for item in controller.service.preview(question)]
    assert isinstance(last, PreviewFinished)
    return last.report


@pytest.fixture
async def controller(make_controller: Any) -> Any:
    made = make_controller(FILES)
    for name in ("web1", "web2", "web3"):
        made.minion(name)
    await made.go_live()
    return made


EDITS = {
    "the template": ({"site.conf": "for {{ grains.id }}\n" + CONF}, "+for ⟨grains.id⟩"),
    "what it imports": ({"map.jinja": "{% set port = 8080 %}\n"}, "+port 8080"),
    "its context": ({"web.sls": SITE.replace("workers: 4", "workers: 8")}, "+workers 8"),
}


@pytest.mark.parametrize("what", EDITS)
async def test_what_is_rendered_differs(controller: Any, what: str) -> None:
    files, line = EDITS[what]
    controller.repository.commit(files, branch="feature")
    [one] = (await previewed(controller)).classes
    assert one.minions == ("web1", "web2", "web3")
    [file] = one.resources[0].files
    assert (file.path, file.note) == ("/etc/site.conf", "")
    lines = file.text.splitlines()
    assert lines[:2] == ["--- /etc/site.conf", "+++ /etc/site.conf"]
    assert line in lines
    assert "{{" not in file.text


async def test_a_comment_in_what_a_template_imports_changes_no_state(controller: Any) -> None:
    controller.repository.commit({"map.jinja": "{# a remark #}{% set port = 80 %}\n"}, branch="feature")
    [one] = (await previewed(controller)).classes
    assert (one.resources, one.note) == (
        (),
        "no state is another; all of them are run again: nothing was applied there yet",
    )


async def test_templates_that_ask_the_machine_are_rendered_there(make_controller: Any) -> None:
    asking = CONF + "{{ salt['cmd.run']('hostname') }}\n"
    controller = make_controller({**FILES, "site.conf": asking})
    controller.minion("web1")
    await controller.go_live()
    controller.repository.commit({"site.conf": asking + "more\n"}, branch="feature")
    [one] = (await previewed(controller)).classes
    [file] = one.resources[0].files
    assert file.note == "rendered on the machine: it needs cmd.run"
    assert (file.path, "+more" in file.text) == ("salt://site.conf", True), "the template itself is compared"


async def test_the_texts_of_a_restricted_preview_are_rendered_too(controller: Any) -> None:
    controller.repository.commit({"map.jinja": "{% set port = 8080 %}\n"}, branch="feature")
    [one] = (await previewed(controller, restricted=True)).classes
    assert "+port 8080" in one.resources[0].files[0].text


async def test_a_template_of_a_base_that_is_not_live(controller: Any) -> None:
    controller.repository.commit({"map.jinja": "{% set port = 81 %}\n"}, branch="old")
    controller.repository.commit({"map.jinja": "{% set port = 82 %}\n"}, branch="feature")
    await asyncio.to_thread(controller.fetch)
    question = PreviewQuestion(base="old", head="feature", live="none")
    *_, last = [item async for item in controller.service.preview(question)]
    text = last.report.classes[0].resources[0].files[0].text
    assert "-port 81\n+port 82" in text


async def test_more_templates_than_the_limit_are_told(make_controller: Any) -> None:
    controller = make_controller(FILES, limits="{preview: {rendered: 2}}")
    for name in ("web1", "web2", "web3"):
        controller.minion(name)
    await controller.go_live()
    controller.repository.commit({"site.conf": CONF + "more\n"}, branch="feature")
    report = await previewed(controller)
    texts = [file for each in report.classes for one in each.resources for file in one.files]
    assert sorted(file.path for file in texts) == ["/etc/site.conf", "salt://site.conf"]
    [told] = [text for text in report.problems if "Too many templates" in text]
    assert "of 1 minion files" in told


async def test_secrets_in_a_rendered_text_are_fingerprints(controller: Any) -> None:
    controller.store.secrets.put({"web1": frozenset({"hunter2-old", "hunter2-new"})})
    controller.repository.commit({"map.jinja": "{% set port = 'hunter2-new' %}\n"}, branch="feature")
    report = await previewed(controller)
    shown = next(each for each in report.classes if "web1" in each.minions).resources[0].files[0].text
    assert "hunter2" not in shown
    assert "-port 80\n+port " in shown


NEW = """
added:
  file.managed:
    - name: /etc/added
    - mode: '0600'
    - contents: |
        one
        two
    - require: [{file: site}]
rendered:
  file.managed: [{name: /etc/rendered, source: 'salt://site.conf', template: jinja, context: {workers: 2}}]
plain:
  file.managed: [{name: /etc/plain, source: 'salt://plain.txt'}]
"""


async def test_added_and_removed_states_show_what_they_have(controller: Any) -> None:
    new = {"web.sls": SITE + NEW, "plain.txt": "first\nsecond\n"}
    controller.repository.commit(new, branch="feature")
    [one] = (await previewed(controller)).classes
    added, rendered, plain = one.resources
    assert [(each.field, each.old, each.new) for each in added.fields] == [
        ("mode", None, "0600"),
        ("contents", None, "one\ntwo\n"),
    ]
    assert rendered.files[0].path == "/etc/rendered"
    assert "+name ⟨grains.id⟩\n+port 80\n+workers 2" in rendered.files[0].text
    assert rendered.files[0].text.startswith("--- /dev/null\n")
    assert plain.files[0].text.splitlines()[-2:] == ["+first", "+second"]
    controller.repository.git("checkout", "-q", "main")
    controller.repository.git("merge", "-q", "feature")
    await controller.go_live()
    controller.repository.commit({"web.sls": SITE}, branch="less")
    [one] = (await previewed(controller, "less")).classes
    added, rendered, plain = one.resources
    assert {each.action for each in one.resources} == {"removed"}
    assert [(each.field, each.old, each.new) for each in added.fields][-1] == ("contents", "one\ntwo\n", None)
    assert "-name ⟨grains.id⟩\n-port 80\n-workers 2" in rendered.files[0].text
    assert plain.files[0].text.splitlines()[-2:] == ["-first", "-second"]


USERS = """
{% for name, user in pillar.get('users', {}).items() %}
{{ name }}:
  user.present: [{uid: {{ user.uid }}}]
{% endfor %}
owner:
  file.managed: [{name: /etc/owner, source: 'salt://owner', template: jinja}]
named:
  file.managed: [{name: /etc/named, contents_pillar: 'site:text'}]
"""
PILLAR = "site:\n  owner: alice\n  text: first\nusers:\n  alice:\n    uid: 1000\n"


async def test_the_pillar_key_and_its_line_are_named(make_controller: Any, make_repository: Any, tmp_path: Any) -> None:
    pillar = make_repository("pillar")
    pillar.commit({"top.sls": "base: {'*': [site]}\n", "site.sls": PILLAR})
    controller = make_controller(
        {"web.sls": USERS, "owner": OWNER},
        ext_pillar=f"[{{git: [{{main {tmp_path}/pillar: [{{env: base}}]}}]}}]",
    )
    for name in ("web1", "web2"):
        controller.minion(name)
    await controller.go_live()
    changed = PILLAR.replace("owner: alice", "owner: bob").replace("text: first", "text: second")
    commit = pillar.commit({"site.sls": changed + "  bob:\n    uid: 1001\n"}, "A new user")
    await asyncio.to_thread(controller.fetch)
    base = pillar.git("rev-parse", "HEAD^")
    question = PreviewQuestion(base=base, head=commit, live="none")
    *_, last = [item async for item in controller.service.preview(question)]
    [one] = last.report.classes
    bob, owner, named = one.resources
    assert (bob.action, bob.title) == ("added", "bob (user.present)")
    assert [(key.path, key.origin, key.commit) for key in bob.pillar] == [
        ("users:bob", "site.sls:7", f"{commit[:8]} A new user")
    ]
    assert [(key.path, key.origin) for key in owner.pillar] == [
        ("site:owner", "site.sls:2"),
        ("users:bob", "site.sls:7"),
    ]
    assert "-owner alice\n+owner bob" in owner.files[0].text
    assert ("site:text", "site.sls:3") in [(key.path, key.origin) for key in named.pillar]
    assert "-first\n+second" in named.files[0].text
