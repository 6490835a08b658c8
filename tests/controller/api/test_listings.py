"""Pages and filters of lists, and the search, of a wired controller."""

from __future__ import annotations

import asyncio
import socket

import pytest
from api_ports import over_tls, token_of, with_port

from controller.config.settings import load_settings
from controller.schema.errors import ServiceError
from controller.schema.fleet.listings import RevisionsQuery, SearchQuery
from controller.schema.jobs import JobsQuery
from controller.schema.requests import CallQuestion, HistoryQuery
from controller.schema.targets import TargetExpression
from controller.store import RunRecord
from controller.store.search import NEWEST_RUNS


@pytest.fixture
async def controller(make_controller):
    """Two minions, two revisions, and runs: of the second revision, one that changed and one that failed."""
    controller = make_controller()
    for name in ("web1", "web2"):
        controller.minion(name)
    controller.service.state.keyring.replace(controller.store.keys.all())
    await controller.go_live()
    controller.repository.commit({"web.sls": "other: {test.nop: []}\n"}, subject="The second 100%_one")
    await controller.go_live()
    digest = controller.service.git.live.digest
    runs = controller.store.runs
    for number, (minion, kind, outcome) in enumerate(
        [("web1", "apply", "changed"), ("web2", "apply", "failed"), ("web1", "drift", "ok"), ("web1", "apply", "ok")]
    ):
        run_id = f"2026112712000000000{number}"
        run = RunRecord(run_id=run_id, minion=minion, kind=kind, created=float(number), revision=digest)
        runs.create(run)
        runs.finish(run_id, outcome, finished=5.0, changes=int(outcome == "changed"), summary=f"run {number} summary")
    return controller


def ids(entries):
    return [each.run_id[-1] for each in entries]


async def test_history_is_filtered_and_goes_on_behind_a_run(controller):
    history = controller.service.history
    assert ids(await history(HistoryQuery())) == ["3", "2", "1", "0"]
    assert ids(await history(HistoryQuery(minion="web1", kind="apply,remediate"))) == ["3", "0"]
    assert ids(await history(HistoryQuery(outcome="failed,changed"))) == ["1", "0"]
    first = await history(HistoryQuery(limit=2))
    assert ids(await history(HistoryQuery(limit=2, before=first[-1].run_id))) == ["1", "0"]
    assert ids(await controller.service.history_with_causes(HistoryQuery(kind="drift"))) == ["2"]
    with pytest.raises(ServiceError, match="no run 'gone'"):
        await history(HistoryQuery(before="gone"))


async def test_revisions_tell_what_they_changed_and_which_is_live(controller):
    page = await controller.service.revisions(RevisionsQuery())
    second, first = page.revisions
    assert page.total == 2
    assert (second.subject, second.live, second.changed, second.failed) == ("The second 100%_one", True, 1, 1)
    assert (first.live, first.changed, first.error, first.quarantined) == (False, 0, "", False)
    assert second.commit.startswith(second.revision)
    assert (second.author, second.live_since >= first.live_since > 1e9) == ("A. Writer", True)
    assert (await controller.service.revisions(RevisionsQuery(limit=1, offset=1))).revisions == (first,)
    for text in ("SECOND", "100%_", second.revision):
        found = await controller.service.revisions(RevisionsQuery(text=text))
        assert (found.revisions, found.total) == ((second,), 1), text
    assert (await controller.service.revisions(RevisionsQuery(text="1%0"))).total == 0, "it is no pattern"
    compiling = asyncio.create_task(controller.parts.builds.run())
    await controller.service.fleet.quarantine.roll_back("", user="olga", why="broken")
    compiling.cancel()
    await asyncio.wait([compiling])
    taken = (await controller.service.revisions(RevisionsQuery(text="second"))).revisions[0]
    assert (taken.quarantined, taken.live) == (True, False)


def named(found, kind):
    return [each.name for each in found.hits if each.kind == kind]


def last(names):
    return [each[-1] for each in names]


async def test_search_finds_some_of_each(controller):
    search = controller.service.search
    found = await search(SearchQuery(q="WEB"))
    assert named(found, "minion") == ["web1", "web2"]
    assert last(named(found, "run")) == ["3", "2", "1", "0"]
    one = await search(SearchQuery(q="web", limit=1))
    assert (named(one, "minion"), last(named(one, "run"))) == (["web1"], ["3"])
    [revision] = (await search(SearchQuery(q="the second"))).hits
    assert (revision.kind, revision.text, revision.time > 1e9) == ("revision", "The second 100%_one", True)
    assert revision.name == (await controller.service.revisions(RevisionsQuery())).revisions[0].revision
    assert last(named(await search(SearchQuery(q="2026112712000000000")), "run")) == ["3", "2", "1", "0"]
    [run] = (await search(SearchQuery(q="run 2 SUM"))).hits
    assert (run.kind, run.name[-1], run.text, run.time) == ("run", "2", "web1 drift ok: run 2 summary", 2.0)
    call = CallQuestion(target=TargetExpression(expression="web1"), fun="pkg.version", args=("nginx",), wait=False)
    jid = (await anext(controller.service.call(call, user="olga"))).jid
    for text in ("nginx", "pkg.ver", "olga", jid[:18]):
        found = await search(SearchQuery(q=text))
        assert named(found, "job") == [jid], text
        assert next(each.text for each in found.hits if each.kind == "job") == "pkg.version nginx on web1 by olga"
    assert await search(SearchQuery(q="%")) == await search(SearchQuery(q="100%_one"))


async def test_search_tells_no_password(controller):
    target = TargetExpression(expression="web1")
    call = CallQuestion(target=target, fun="user.add", kwargs={"name": "bob", "password": "s3cr3t"}, wait=False)
    assert [item async for item in controller.service.call(call, user="olga")]
    assert (await controller.service.search(SearchQuery(q="s3cr3t"))).hits == ()
    assert "password=***" in (await controller.service.search(SearchQuery(q="user.add"))).hits[0].text


async def test_search_looks_through_so_many_runs(controller, monkeypatch):
    assert NEWEST_RUNS == 50_000
    monkeypatch.setattr("controller.store.search.NEWEST_RUNS", 1)
    assert last(named(await controller.service.search(SearchQuery(q="web1")), "run")) == ["3"]
    assert last(named(await controller.service.search(SearchQuery(q="20261127120000000000")), "run")) == ["0"]


async def test_jobs_are_filtered(controller):
    async def jids(**query):
        return [each.jid for each in await controller.service.newest_jobs(JobsQuery(**query))]

    call = CallQuestion(target=TargetExpression(expression="web*"), fun="pkg.version", wait=False)
    begun = [item async for item in controller.service.call(call, user="olga")]
    job, first, second, third = begun[0].jid, *(f"2026112712000000000{number}" for number in (3, 1, 0))
    assert await jids() == [job, first, second, third]
    assert await jids(kind="call") == [job]
    assert await jids(kind="apply") == [first, second, third]
    assert await jids(minion="web2") == [job, second]
    assert await jids(outcome="failed,changed") == [second, third]
    assert await jids(outcome="unreachable") == [job], "nobody of it was connected"
    assert await jids(user="olga") == await jids(fun="pkg.") == [job]
    assert await jids(user="olga", minion="nobody") == []
    assert await jids(minion="web1", before=job, limit=1) == [first]


def test_lists_of_keys_tokens_and_rollouts_have_pages(desk, config_dir, serve_desk):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with_port(config_dir, port, "api_roles: {admin: [ada]}")
    desk.rollouts = lambda limit: []
    with serve_desk(desk, load_settings(config_dir)) as served:
        tokens = [token_of(served, name) for name in ("ada", "olga", "olga")]
        with over_tls(served, authorization=f"Bearer {tokens[0]}") as client:

            def page(path, **query):
                answer = client.get(path, params=query)
                assert answer.status_code == 200, answer.text
                return int(answer.headers["x-total-count"]), answer.json()

            total, keys = page("/keys")
            assert (total, len(keys)) == (3, 3)
            total, keys = page("/keys", state="pending", limit=1, offset=1)
            assert (total, [each["fingerprint"] for each in keys]) == (2, ["aa:03"])
            assert page("/keys", text="WEB")[0] == page("/keys", text="aa:02")[0] == 1
            assert page("/tokens", user="olga", limit=1)[0] == 2
            assert page("/tokens", kind="session") == (0, [])
            assert page("/rollouts", phase="done") == (0, [])
            for path, query in (
                ("/keys", {"limit": 0}),
                ("/keys", {"state": "x"}),
                ("/tokens", {"limit": 1001}),
                ("/rollouts", {"limit": 201}),
                ("/jobs", {"limit": 1001}),
                ("/history", {"before": "x" * 301}),
                ("/revisions", {"limit": 201}),
                ("/search", {}),
                ("/search", {"q": ""}),
                ("/job", {"jid": ""}),
                ("/search", {"q": "x" * 201}),
                ("/search", {"q": "x", "limit": 51}),
            ):
                assert client.get(path, params=query).status_code == 400, (path, query)


async def test_revisions_tell_which_did_not_compile(controller):
    controller.repository.commit({"web.sls": "other: [\n"}, subject="A broken one")
    await controller.go_live()
    newest, before, _ = (await controller.service.revisions(RevisionsQuery())).revisions
    assert (newest.subject, newest.live, newest.error) == ("A broken one", True, "")
    assert newest.compile_error.startswith(("web1: web.sls:", "web2: web.sls:"))
    assert "\n" not in newest.compile_error
    assert before.compile_error == ""
