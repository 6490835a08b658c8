"""Previews over a real repository and a real compiler: counts, classes, errors; nothing is changed by any of them."""

import asyncio

import pytest

from controller.api.schema import (
    PreviewBroken,
    PreviewClass,
    PreviewResult,
    PreviewStarted,
    PreviewSummary,
    PreviewWarned,
    ServiceError,
    TargetExpression,
)

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
