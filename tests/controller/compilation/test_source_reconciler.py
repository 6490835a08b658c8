"""From what remotes bring to live trees, over a real repository: what is taken, refused, told and tried again."""

import asyncio

from controller.compilation import source_reconciler
from controller.store import StoreUnavailable
from controller.store.revisions import Revisions
from gitfs.errors import FetchFailed
from gitfs.mirror.mirror import Fetched


async def test_a_revision_goes_live_once_with_its_commit(make_controller):
    controller = make_controller()
    sources = controller.parts.sources
    with controller.service.bus.subscribe("saltern/revision/*") as seen:
        await controller.go_live()
        await controller.go_live()
        [event] = seen.drain()
        commit = controller.repository.commit({"web.sls": "other: {test.nop: []}\n"}, "Another site")
        sources._fetched(controller.parts.resources.changes, Fetched(remote="states", changed=True, live={}), 0.1)
        await controller.go_live()
        [second] = seen.drain()
    assert event.tag == f"saltern/revision/{event.revision}/live"
    assert (second.data["subject"], second.data["author"]) == ("Another site", "A. Writer")
    assert [place["commit"] for place in second.data["moved"]] == [commit]
    assert second.cause > 0, "it follows from the fetch"
    assert sources.live.digest == sources.live.trees.revision.digest
    assert controller.store.revisions.get(sources.live.digest).subject == "Another site"


async def test_trees_without_a_readable_policy_are_refused_once(make_controller):
    controller = make_controller()
    await controller.go_live()
    good = controller.parts.sources.live.digest
    controller.repository.commit({"saltern.yaml": "apply: manuel\n"})
    with controller.service.bus.subscribe("saltern/revision/*/refused") as seen:
        await controller.go_live()
        await controller.go_live()
        assert len(seen.drain()) == 1
    assert controller.parts.sources.live.digest == good
    assert "manuel" in controller.parts.sources.error
    controller.repository.commit({"saltern.yaml": "apply: manual\n"})
    await controller.go_live()
    assert controller.parts.sources.error == ""
    assert controller.parts.sources.live.policy.apply == "manual"


async def test_everyone_is_looked_at_when_the_policy_is_another(make_controller):
    controller = make_controller()
    controller.minion("web1")
    await controller.go_live()
    queue = controller.parts.reconciler._queue
    await queue.take()
    controller.repository.commit({"saltern.yaml": "apply: manual\n"})
    await controller.go_live()
    assert await queue.take() == {"web1"}


async def test_nothing_is_live_before_each_remote_has_delivered(make_controller):
    controller = make_controller()
    await controller.parts.sources.go_live()
    assert controller.parts.sources.live.digest == ""


async def test_a_revision_that_cannot_be_stored_is_tried_again(make_controller, monkeypatch):
    monkeypatch.setattr(source_reconciler, "RETRY_SECONDS", 0.01)
    controller = make_controller()
    await asyncio.to_thread(controller.fetch)
    add, refused = Revisions.add, []

    def full(table, record):
        refused.append(record)
        monkeypatch.setattr(Revisions, "add", add)
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(Revisions, "add", full)
    task = asyncio.create_task(controller.parts.builds.run())
    await controller.parts.sources._go_live_or_retry()
    task.cancel()
    assert len(refused) == 1
    assert controller.parts.sources.live.digest


async def test_an_error_of_a_remote_is_told_once_and_forgotten_when_it_answers(make_controller):
    controller = make_controller()
    sources, changes = controller.parts.sources, controller.parts.resources.changes
    failed = FetchFailed("states", "connection refused", retryable=True)
    with controller.service.bus.subscribe("saltern/remote/*") as seen:
        sources.noticed(["states"], 77)
        for _ in range(2):
            sources._fetched(changes, failed, 0.1)
        sources._fetched(changes, Fetched(remote="states", changed=False, live={}), 0.1)
        assert [event.tag for event in seen.drain()] == ["saltern/remote/states/error"]
        assert sources.fetch_errors == {}
        sources.noticed(["states"], 78)
        sources._fetched(changes, Fetched(remote="states", changed=True, live={}), 0.1)
        [event] = seen.drain()
    assert (event.tag, event.cause) == ("saltern/remote/states/fetched", 78)
