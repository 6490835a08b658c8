"""From what remotes bring to live trees, over a real repository: what is taken, refused, told and tried again."""

import asyncio

import structlog.testing

from controller.compilation import source_reconciler
from controller.store import StoreUnavailable
from controller.store.revisions import Revisions
from gitfs.errors import FetchFailed
from gitfs.mirror.fetched import Fetched


async def test_a_revision_goes_live_once_with_its_commit(make_controller):
    controller = make_controller()
    sources = controller.parts.sources
    with controller.service.telemetry.bus.subscribe("saltern/revision/*") as seen:
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
    with controller.service.telemetry.bus.subscribe("saltern/revision/*/refused") as seen:
        await controller.go_live()
        await controller.go_live()
        assert len(seen.drain()) == 1
    assert controller.parts.sources.live.digest == good
    assert "manuel" in controller.parts.sources.error
    assert "saltern_policy_refused 1.0" in controller.parts.sources.metrics.exposition().decode()
    assert [bool(remote.error) for remote in controller.service.remotes()] == [True]
    controller.repository.commit({"saltern.yaml": "apply: manual\n"})
    await controller.go_live()
    assert controller.parts.sources.error == ""
    assert "saltern_policy_refused 0.0" in controller.parts.sources.metrics.exposition().decode()
    assert controller.parts.sources.live.policy.apply == "manual"


async def test_a_refused_revision_that_is_taken_back_is_no_error_any_more(make_controller):
    controller = make_controller(gitfs_allow_rewind="true")
    await controller.go_live()
    good = controller.parts.sources.live.digest
    controller.repository.commit({"saltern.yaml": "apply: manuel\n"})
    await controller.go_live()
    assert controller.parts.sources.error
    controller.repository.git("reset", "-q", "--hard", "HEAD~1")
    await controller.go_live()
    assert controller.parts.sources.live.digest == good
    assert controller.parts.sources.error == ""
    assert [remote.error for remote in controller.service.remotes()] == [""]
    assert "saltern_policy_refused 0.0" in controller.parts.sources.metrics.exposition().decode()


async def test_everyone_is_looked_at_when_the_policy_is_another(make_controller):
    controller = make_controller()
    controller.minion("web1")
    await controller.go_live()
    queue = controller.parts.reconciler._queue
    await queue.take()
    controller.repository.commit({"saltern.yaml": "apply: manual\n"})
    await controller.go_live()
    assert await queue.take() == {"web1"}


async def test_a_garbage_collection_whose_worker_was_lost_is_told_and_tried_again(make_controller, monkeypatch):
    sources = make_controller().parts.sources

    def lost(_):
        raise FetchFailed("states", "garbage collection was ended by SIGBUS", retryable=True)

    monkeypatch.setattr(source_reconciler.Source, "gc", lost)
    with structlog.testing.capture_logs() as logs:
        for _ in range(2):
            sources._maintain()
            await asyncio.wait([sources._maintenance])
            await asyncio.sleep(0)
    assert [(line["log_level"], line["remote"], line["error"]) for line in logs] == [
        ("warning", "states", "garbage collection was ended by SIGBUS")
    ] * 2


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
    with controller.service.telemetry.bus.subscribe("saltern/remote/*") as seen:
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


async def test_a_revision_is_named_by_what_moved(make_controller, make_repository):
    pillar = make_repository("pillar")
    first = pillar.commit({"top.sls": "base: {'*': [numbers]}\n", "numbers.sls": "number: 1\n"}, "First numbers")
    controller = make_controller(ext_pillar=f"[{{git: ['main {pillar.folder}': [{{name: numbers}}]]}}]")
    controller.minion("web1")
    with controller.service.telemetry.bus.subscribe("saltern/revision/*") as seen:
        await controller.go_live()
        states = controller.parts.sources.live.trees.revision.id
        commit = pillar.commit({"numbers.sls": "number: 2\n"}, "Another number")
        await controller.go_live()
        _, event = seen.drain()
    record = controller.store.revisions.get(controller.parts.sources.live.digest)
    assert (record.label, record.commit, record.subject) == (commit[:8], commit, "Another number")
    assert event.data["moved"] == [
        {"remote": "numbers", "commit": commit, "before": first, "author": "A. Writer", "subject": "Another number"}
    ]
    [status] = await controller.service.status(None)
    assert event.revision == status.attempted_revision == commit[:8] != states
    both = pillar.commit({"numbers.sls": "number: 3\n"}, "A third")
    other = controller.repository.commit({"web.sls": "other: {test.nop: []}\n"}, "Another site")
    await controller.go_live()
    record = controller.store.revisions.get(controller.parts.sources.live.digest)
    assert record.label == f"{other[:8]}+1"
    assert [source.commit for source in record.sources if source.moved] == [other, both]


async def test_after_a_restart_a_revision_is_compared_with_the_last_one(make_controller):
    controller = make_controller()
    await controller.go_live()
    controller.parts.sources.live.trees = None
    before = controller.store.revisions.newest()
    commit = controller.repository.commit({"web.sls": "other: {test.nop: []}\n"}, "Another site")
    await controller.go_live()
    record = controller.store.revisions.get(controller.parts.sources.live.digest)
    assert [(source.before, source.commit) for source in record.sources] == [(before.commit, commit)]
