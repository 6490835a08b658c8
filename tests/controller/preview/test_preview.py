"""Previews over a real repository and a real compiler: counts, classes, errors; nothing is changed by any of them."""

import asyncio
import os
import shutil
from functools import partial

import pytest

from controller.schema.errors import ServiceError
from controller.schema.preview_stream import PreviewFinished, PreviewProgress
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from controller.sessions.sessions import Session
from wire.messages import FactAnswer, FactAnswers, FactRequest, Preview, RunResult

SITE = "site:\n  file.managed: [{name: /tmp/x, contents: 'number 0'}]\n"


@pytest.fixture
async def controller(make_controller):
    controller = make_controller({"web.sls": SITE})
    for name in ("web1", "web2"):
        controller.minion(name)
    await controller.go_live()
    return controller


async def previewed(controller, head, *, live="none", target=None):
    await asyncio.to_thread(controller.fetch)
    return await asked_for(controller, PreviewQuestion(base="main", head=head, target=target, live=live))


async def asked_for(controller, question):
    *progress, last = [item async for item in controller.service.preview(question)]
    assert {type(each) for each in progress} <= {PreviewProgress}
    assert isinstance(last, PreviewFinished)
    return last.report


async def test_equal_changes_are_one_class(controller):
    before = controller.store.desired.of(["web1", "web2"])
    controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, branch="feature")
    report = await previewed(controller, "feature")
    assert (report.minions, report.changed, report.unchanged) == (2, 2, 0)
    [one] = report.classes
    assert one.minions == ("web1", "web2")
    [site] = one.resources
    assert (site.action, site.title, site.function) == ("changed", "site [/tmp/x] (file.managed)", "file.managed")
    assert [(each.field, each.old, each.new) for each in site.fields] == [("contents", "number 0", "number 1")]
    assert controller.store.desired.of(["web1", "web2"]) == before
    assert controller.store.runs.newest(minion="web1") == []


async def test_one_target_and_no_change(controller):
    controller.repository.commit({}, branch="same")
    report = await previewed(controller, "same", target=TargetExpression(expression="web2"))
    assert (report.minions, report.unchanged, report.changed, report.classes) == (1, 1, 0, ())


async def test_a_head_that_does_not_compile(controller):
    controller.repository.commit({"web.sls": "site: [\n"}, branch="broken")
    [broken] = (await previewed(controller, "broken")).broken
    assert broken.minions == ("web1", "web2")
    assert "web.sls" in broken.texts[0]
    assert broken.places[0].startswith("web.sls:")


async def test_new_warnings_are_shown(controller):
    twice = SITE + "a: {test.nop: [{require: [{file: site}]}, {require: [{file: site}]}]}\n"
    controller.repository.commit({"web.sls": twice}, branch="warned")
    [found] = (await previewed(controller, "warned")).warned
    assert "the last one alone counts" in found.texts[0]


async def test_who_is_away_is_said_to_be_untested(controller):
    controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, branch="feature")
    [one] = (await previewed(controller, "feature", live="all")).classes
    assert [(each.minion, each.outcome) for each in one.tests] == [("web1", "unreachable"), ("web2", "unreachable")]


async def test_a_ref_that_is_not_there(controller):
    with pytest.raises(ServiceError) as refused:
        await previewed(controller, "nope")
    assert refused.value.kind == "not-found"


ASKING = """
{% set user = salt['user.info']('alice') %}
site:
  file.managed: [{name: /tmp/x, contents: 'home {{ user.home }}'}]
"""


def answering(controller, monkeypatch, answer):
    """web1 is connected, and answers questions of the machine with this."""
    session = Session(minion="web1", key="web1".ljust(40, "x"), session="s", grains={}, seen=1.0)
    controller.parts.handlers.context.sessions.connect(session)
    asked = []

    def send(key, message):
        if isinstance(message, FactRequest):
            asked.append(message)
            said = FactAnswers(request=message.request, answers=(answer,) * len(message.questions))
            asyncio.get_running_loop().call_soon(controller.parts.builds.answered, "web1", key, said)
        elif isinstance(message, Preview):
            done = RunResult(run_id=message.run_id, kind="preview", generation=0, digest=message.digest, outcome="ok")
            controller.parts.handlers.results.waiters[message.run_id].set_result(done)

    monkeypatch.setattr(controller.parts.server, "send", send)
    return asked


async def test_what_templates_ask_of_a_machine_is_asked_for_a_preview(controller, monkeypatch):
    asked = answering(controller, monkeypatch, FactAnswer(value={"home": "/home/alice"}))
    controller.repository.commit({"web.sls": ASKING}, branch="feature")
    report = await previewed(controller, "feature", live="all", target=TargetExpression(expression="web*"))
    [one] = report.classes
    assert one.minions == ("web1",)
    assert one.resources[0].fields[0].new == "home /home/alice"
    assert [test.outcome for test in one.tests] == ["ok"]
    [unknown] = report.unknown
    assert (unknown.minions, unknown.texts) == (("web2",), ("user.info",)), "nobody can ask web2"
    assert [[question.fun for question in request.questions] for request in asked] == [["user.info"]]
    assert (asked[0].allowed, controller.store.facts.by_minion(["web1"])) == ((), {}), "nothing is recorded"
    assert report.broken == ()


async def test_nobody_is_asked_without_live(controller, monkeypatch):
    asked = answering(controller, monkeypatch, FactAnswer(value={"home": "/"}))
    controller.repository.commit({"web.sls": ASKING}, branch="feature")
    [unknown] = (await previewed(controller, "feature")).unknown
    assert (asked, unknown.minions) == ([], ("web1", "web2"))


@pytest.mark.parametrize("call", ["shadow.info']('root')", "network.dns_check']('secret.example.org', 53)"])
async def test_a_branch_has_no_machine_asked_what_tells_too_much(controller, monkeypatch, call):
    asked = answering(controller, monkeypatch, FactAnswer(value="x"))
    site = "site:\n  test.nop: [{name: \"{{ salt['" + call + ' }}"}]\n'
    controller.repository.commit({"web.sls": site}, branch="feature")
    report = await previewed(controller, "feature", live="all")
    assert [each.texts for each in report.unknown] == [(call.split("'")[0],)]
    assert asked == []


async def test_a_ref_that_was_just_pushed_is_fetched(controller):
    commit = controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, "A number", "feature")
    report = await asked_for(controller, PreviewQuestion(base="main", head="feature", live="none"))
    assert (report.changed, report.head) == (2, commit)


async def test_a_preview_names_what_moved(controller):
    commit = controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, "A number", "feature")
    report = await previewed(controller, "feature")
    [moved] = report.moved
    assert (moved.head, moved.subject, moved.author) == (commit[:8], "A number", "A. Writer")
    assert (report.base[:8], report.head) == (moved.base, commit)


NOTHING = {"top.sls": "base: {'nobody': [web]}\n"}
EMPTIED = "the top file matches this minion with nothing; before, it had 1 state"


async def test_a_top_file_that_gives_nothing_any_more_is_warned_of(controller):
    controller.repository.commit(NOTHING, branch="feature")
    [warned] = (await previewed(controller, "feature")).warned
    assert warned.minions == ("web1", "web2")
    assert EMPTIED in warned.texts[0]
    controller.repository.git("checkout", "-q", "main")
    controller.repository.git("merge", "-q", "feature")
    await controller.go_live()
    for _ in range(2):  # and again while it has nothing
        [diff] = await controller.service.diff("web1")
        assert EMPTIED in diff.warnings[0]
        controller.repository.commit({"other.sls": "{}"}, "Another")
        await controller.go_live()
    controller.repository.commit({"top.sls": "base: {'*': [web]}\n"}, "Back")
    await controller.go_live()
    assert (await controller.service.diff("web1"))[0].warnings == ()


async def test_what_changes_in_the_source_of_a_file_is_shown_without_a_minion(make_controller):
    managed = "site:\n  file.managed: [{name: /tmp/x, source: 'salt://site.conf'}]\n"
    controller = make_controller({"web.sls": managed, "site.conf": "listen 80\nkeep\n"})
    controller.minion("web1")
    await controller.go_live()
    controller.repository.commit({"site.conf": "listen 81\nkeep\n"}, branch="feature")
    [one] = (await previewed(controller, "feature")).classes
    [file] = one.resources[0].files
    assert (file.path, file.note) == ("salt://site.conf", "")
    assert file.text.splitlines() == [
        "--- salt://site.conf",
        "+++ salt://site.conf",
        "@@ -1,2 +1,2 @@",
        "-listen 80",
        "+listen 81",
        " keep",
    ]


async def test_where_a_change_is_written_and_by_which_commit(make_controller):
    sls = "{% set number = 0 %}\nfirst: {test.nop: []}\n" + SITE + "'gone':\n  test.nop: []\n"
    controller = make_controller({"site/init.sls": sls, "top.sls": "base: {'*': [site]}\n"})
    controller.minion("web1")
    await controller.go_live()
    changed = sls.replace("number 0", "number 1")
    commit = controller.repository.commit({"site/init.sls": changed}, "One more\n\nWhy.", "feature")
    controller.repository.commit({"other": "x"}, "Another file")
    [one] = (await previewed(controller, "feature")).classes
    [site] = one.resources
    assert (site.origin, site.commit) == ("site/init.sls:3", f"{commit[:8]} One more")
    controller.repository.commit({"site/init.sls": sls.partition("'gone'")[0]}, "Less", "less")
    [gone] = (await previewed(controller, "less")).classes[0].resources
    assert (gone.action, gone.origin) == ("removed", "site/init.sls:5")


async def test_what_triggers_what(make_controller):
    controller = make_controller({"web.sls": SERVICE})
    controller.minion("web1")
    await controller.go_live()
    controller.repository.commit({"web.sls": SERVICE.replace("number 0", "number 1")}, branch="feature")
    conf, nginx = (await previewed(controller, "feature")).classes[0].resources
    assert conf.triggers == (nginx.title,)
    assert nginx.triggered_by == (conf.title,)


SERVICE = """
conf: {file.managed: [{name: /tmp/x, contents: 'number 0'}]}
nginx: {service.running: [{watch: [{file: conf}]}]}
"""
RULES = "previews: {forbid: ['cmd.*'], irreversible: approve, whole_group: approve, groups: os}\n"


async def test_restarts_and_the_rules_of_the_base(make_controller):
    controller = make_controller({"web.sls": SERVICE, "saltern.yaml": RULES})
    for name in ("web1", "web2", "db1"):
        controller.minion(name)
    await controller.go_live()
    head = SERVICE.replace("number 0", "number 1") + "gone: {cmd.run: [{name: rm -r /srv}]}\n"
    controller.repository.commit({"web.sls": head, "saltern.yaml": "previews: {}\n"}, branch="feature")
    report = await previewed(controller, "feature")
    [restart] = report.restarts
    assert (restart.service, restart.action, restart.minions, restart.certain) == (
        "nginx", "restart", ("db1", "web1", "web2"), True
    )  # fmt: skip
    assert [each.title for each in report.classes[0].resources if each.irreversible] == ["gone [rm -r /srv] (cmd.run)"]
    assert {each.rule for each in report.violations} >= {"previews.forbid", "previews.irreversible"}
    assert any("previews.forbid" in text for text in report.problems), "the head drops its own rules"


async def test_targets_of_the_top_file_are_groups(make_controller):
    top = "base:\n  'web*': [web]\n  'os:Debian': [{match: grain}, web]\n  'db*': [web]\n{# by Jinja #}\n"
    controller = make_controller({"web.sls": SERVICE, "top.sls": top, "saltern.yaml": "previews: {groups: top}\n"})
    for name, system in (("web1", "Debian"), ("web2", "Debian"), ("db1", "Debian"), ("mail1", "Debian")):
        controller.minion(name, os=system)
    await controller.go_live()
    controller.repository.commit({"web.sls": SERVICE.replace("number 0", "number 1")}, branch="feature")
    [restart] = (await previewed(controller, "feature")).restarts
    assert restart.whole_groups == ("target web* (2 minions)", "target os:Debian (4 minions)")
    controller.repository.commit({"top.sls": "base: [\n"}, branch="broken")
    controller.repository.git("checkout", "-q", "main")
    report = await asked_for(controller, PreviewQuestion(base="broken", head="feature", live="none"))
    assert any("previews.groups" in text for text in report.problems), (report.problems, report.restarts, report.base)


async def test_a_report_says_whose_it_is(controller):
    controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, branch="feature")
    report = await previewed(controller, "feature")
    assert len(report.controller) == 12
    assert report.answers_at == 0


async def test_the_policy_of_a_branch_holds_for_its_preview(controller):
    gone = {"web.sls": SITE.replace("contents: 'number 0'", "source: salt://gone")}
    controller.repository.commit(gone, branch="refused")
    controller.repository.commit({**gone, "saltern.yaml": "missing_source: fail_state\n"}, branch="lenient")
    large = f"missing_source: fail_state\n#{'x' * 65536}\n"
    controller.repository.commit({**gone, "saltern.yaml": large}, branch="large")
    for branch in "refused", "large":
        assert (await previewed(controller, branch)).broken, branch
    [warned] = (await previewed(controller, "lenient")).warned
    assert warned.minions == ("web1", "web2")
    assert "salt://gone (saltenv base) is not in the tree: this state fails, the others are applied" in warned.texts[0]


async def test_what_cannot_be_read_on_the_controller_is_named_without_its_folder(make_controller, tmp_path):
    """Who may write a branch sees previews, and is told nothing of where the controller keeps its files."""
    secret = tmp_path / "where-secrets-are"
    (secret / "hosts" / "web1").mkdir(parents=True)
    controller = make_controller(
        {"web.sls": SITE},
        kept=f"{{driver: yaml, files: [{secret}/sdb.yaml]}}",
        ext_pillar=f"[{{file_tree: {{root_dir: {secret}}}}}]",
    )
    controller.minion("web1")
    await controller.go_live()
    controller.repository.commit({"web.sls": "{{ salt['sdb.get']('sdb://kept/password') }}\n"}, branch="sdb")
    controller.repository.commit({"web.sls": SITE + "# {{ pillar }}\n"}, branch="pillar")
    await said_without(secret, controller, "sdb", "file 1 of the sdb profile 'kept' cannot be read: FileNotFoundError")
    large = secret / "hosts" / "web1" / "large"
    large.touch()
    os.truncate(large, 9 * 2**20)
    await said_without(secret, controller, "pillar", "large has more than 8388608 bytes")
    large.unlink()
    shutil.rmtree(secret / "hosts" / "web1")
    shutil.move(secret, tmp_path / "elsewhere")
    await said_without(secret, controller, "pillar", "root_dir must be the absolute path of a folder")


async def said_without(secret, controller, branch, text):
    broken = (await previewed(controller, branch)).broken
    said = "\n".join(text for one in broken for text in one.texts)
    assert text in said
    assert str(secret) not in said


async def test_a_branch_that_is_nobodys_saltenv_concerns_only_its_preview(controller, monkeypatch):
    asked = {"live": [], "preview": []}
    for name, pool in zip(asked, controller.parts.pools, strict=True):
        monkeypatch.setattr(pool, "stream", partial(noted, asked[name], pool.stream))
    live = controller.parts.sources.live.digest
    controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, branch="feature")
    await controller.go_live()
    assert controller.parts.sources.live.digest != live, "the branch is a saltenv now"
    records = controller.store.desired.of(["web1", "web2"]).values()
    assert {record.revision for record in records} == {controller.parts.sources.live.digest}
    assert asked["live"] == []
    report = await previewed(controller, "feature")
    assert report.changed == 2
    assert [request.files.read("web.sls").decode() for request in asked["preview"]] == [
        SITE.replace("number 0", "number 1")
    ], "the base is in the store"


def noted(asked, stream, request, *more):
    asked.append(request)
    return stream(request, *more)
