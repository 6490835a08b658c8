"""Previews over a real repository and a real compiler: counts, classes, errors; nothing is changed by any of them."""

import asyncio

import pytest

from controller.schema.errors import ServiceError
from controller.schema.previews import (
    PreviewBroken,
    PreviewClass,
    PreviewResult,
    PreviewStarted,
    PreviewSummary,
    PreviewUnknown,
    PreviewWarned,
)
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


async def previewed(controller, head, *, live=False, target=None):
    await asyncio.to_thread(controller.fetch)
    return [event async for event in controller.service.preview("main", head, target, live=live)]


async def test_equal_changes_are_one_class(controller):
    before = controller.store.desired.of(["web1", "web2"])
    controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, branch="feature")
    started, one, summary = await previewed(controller, "feature")
    assert isinstance(started, PreviewStarted)
    assert (started.minions, started.changed, started.unchanged, started.classes) == (2, 2, 0, 1)
    assert isinstance(one, PreviewClass)
    assert one.minions == ("web1", "web2")
    assert "number 1" in one.text
    assert isinstance(summary, PreviewSummary)
    assert controller.store.desired.of(["web1", "web2"]) == before
    assert controller.store.runs.newest(minion="web1") == []


async def test_one_target_and_no_change(controller):
    controller.repository.commit({}, branch="same")
    started, summary = await previewed(controller, "same", target=TargetExpression(expression="web2"))
    assert (started.minions, started.unchanged, summary.changed) == (1, 1, 0)


async def test_a_head_that_does_not_compile(controller):
    controller.repository.commit({"web.sls": "site: [\n"}, branch="broken")
    started, broken, summary = await previewed(controller, "broken")
    assert isinstance(broken, PreviewBroken)
    assert broken.minions == ("web1", "web2")
    assert "web.sls" in broken.errors[0]
    assert started.broken == summary.broken == 2


async def test_new_warnings_are_shown(controller):
    twice = SITE + "a: {test.nop: [{require: [{file: site}]}, {require: [{file: site}]}]}\n"
    controller.repository.commit({"web.sls": twice}, branch="warned")
    found = [event for event in await previewed(controller, "warned") if isinstance(event, PreviewWarned)]
    assert "the last one alone counts" in found[0].warnings[0]


async def test_who_is_away_is_said_to_be_untested(controller):
    controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, branch="feature")
    events = await previewed(controller, "feature", live=True)
    results = [event for event in events if isinstance(event, PreviewResult)]
    assert [(each.minion, each.outcome) for each in results] == [("web1", "unreachable"), ("web2", "unreachable")]
    assert events[-1].unreachable == 2


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
    events = await previewed(controller, "feature", live=True, target=TargetExpression(expression="web*"))
    [one] = [event for event in events if isinstance(event, PreviewClass)]
    assert one.minions == ("web1",)
    assert "home /home/alice" in one.text
    [unknown] = [event for event in events if isinstance(event, PreviewUnknown)]
    assert (unknown.minions, unknown.functions) == (("web2",), ("user.info",)), "nobody can ask web2"
    assert [[question.fun for question in request.questions] for request in asked] == [["user.info"]]
    assert (asked[0].allowed, controller.store.facts.by_minion(["web1"])) == ((), {}), "nothing is recorded"
    assert (events[0].unknown, events[-1].unknown, events[0].broken) == (1, 1, 0)


async def test_nobody_is_asked_without_live(controller, monkeypatch):
    asked = answering(controller, monkeypatch, FactAnswer(value={"home": "/"}))
    controller.repository.commit({"web.sls": ASKING}, branch="feature")
    started, unknown, _ = await previewed(controller, "feature")
    assert (asked, unknown.minions, started.unknown) == ([], ("web1", "web2"), 2)


@pytest.mark.parametrize("call", ["shadow.info']('root')", "network.dns_check']('secret.example.org', 53)"])
async def test_a_branch_has_no_machine_asked_what_tells_too_much(controller, monkeypatch, call):
    asked = answering(controller, monkeypatch, FactAnswer(value="x"))
    site = "site:\n  test.nop: [{name: \"{{ salt['" + call + ' }}"}]\n'
    controller.repository.commit({"web.sls": site}, branch="feature")
    events = await previewed(controller, "feature", live=True)
    assert [event.functions for event in events if isinstance(event, PreviewUnknown)] == [(call.split("'")[0],)]
    assert asked == []


async def test_a_ref_that_was_just_pushed_is_fetched(controller):
    commit = controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, "A number", "feature")
    events = [event async for event in controller.service.preview("main", "feature", None, live=False)]
    assert (events[0].changed, events[0].head) == (2, commit[:8])


async def test_a_preview_names_what_moved(controller):
    commit = controller.repository.commit({"web.sls": SITE.replace("number 0", "number 1")}, "A number", "feature")
    started, *_ = await previewed(controller, "feature")
    [moved] = started.moved
    assert (moved.head, moved.subject, moved.author) == (commit[:8], "A number", "A. Writer")
    assert (started.base, started.head) == (moved.base, moved.head)


NOTHING = {"top.sls": "base: {'nobody': [web]}\n"}
EMPTIED = "the top file matches this minion with nothing; before, it had 1 state"


async def test_a_top_file_that_gives_nothing_any_more_is_warned_of(controller):
    controller.repository.commit(NOTHING, branch="feature")
    [warned] = [event for event in await previewed(controller, "feature") if isinstance(event, PreviewWarned)]
    assert warned.minions == ("web1", "web2")
    assert EMPTIED in warned.warnings[0]
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
    _, one, _ = await previewed(controller, "feature")
    assert one.text.splitlines() == [
        "~ site [/tmp/x] (file.managed)  content changes",
        "    --- salt://site.conf",
        "    +++ salt://site.conf",
        "    @@ -1,2 +1,2 @@",
        "    -listen 80",
        "    +listen 81",
        "     keep",
    ]
    assert one.changes[0].content == ("\n".join(line[4:] for line in one.text.splitlines()[1:]),)


async def test_the_policy_of_a_branch_holds_for_its_preview(controller):
    gone = {"web.sls": SITE.replace("contents: 'number 0'", "source: salt://gone")}
    controller.repository.commit(gone, branch="refused")
    controller.repository.commit({**gone, "saltern.yaml": "missing_source: fail_state\n"}, branch="lenient")
    large = f"missing_source: fail_state\n#{'x' * 65536}\n"
    controller.repository.commit({**gone, "saltern.yaml": large}, branch="large")
    for branch in "refused", "large":
        assert isinstance((await previewed(controller, branch))[1], PreviewBroken), branch
    [warned] = [one for one in await previewed(controller, "lenient") if isinstance(one, PreviewWarned)]
    assert warned.minions == ("web1", "web2")
    assert (
        "salt://gone (saltenv base) is not in the tree: this state fails, the others are applied" in warned.warnings[0]
    )
