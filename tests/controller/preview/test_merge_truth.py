"""What a merge would do beside the difference of two trees: policy, what is applied, failed runs, when it happens."""

import asyncio

import pytest
from msgspec import structs

from controller.forges.client import CheckState
from controller.pull_requests.checks import check_of
from controller.schema.preview_stream import PreviewFinished
from controller.schema.requests import PreviewQuestion
from controller.sessions.sessions import Session
from controller.store import AppliedRecord, RunRecord
from highstate.ports import question
from wire.messages import FactAnswer, FactAnswers, FactQuery, FactRequest, Preview, RunResult

SITE = """
one: {file.managed: [{name: /tmp/one, contents: 'number 0'}]}
two: {file.managed: [{name: /tmp/two, contents: 'kept'}]}
"""
OTHER = SITE.replace("number 0", "number 1")


class Fleet:
    """web1 and web2; who is connected answers test runs, whose keys are kept."""

    def __init__(self, controller, monkeypatch):
        self.controller = controller
        self.keys = {}
        self.answers = {}
        self.asked = []
        self.runs = 0
        monkeypatch.setattr(controller.parts.server, "send", self._send)

    def connect(self, minion):
        session = Session(minion=minion, key=minion.ljust(40, "x"), session="s", grains={}, seen=1.0)
        self.controller.parts.handlers.context.sessions.connect(session)

    def _send(self, key, message):
        if isinstance(message, FactRequest):
            minion = key.rstrip("x")
            self.asked += [each.fun for each in message.questions]
            said = FactAnswers(
                request=message.request, answers=(self.answers.get(minion, OLD),) * len(message.questions)
            )
            asyncio.get_running_loop().call_soon(self.controller.parts.builds.answered, minion, key, said)
        if isinstance(message, Preview):
            self.keys[key.rstrip("x")] = message.keys
            done = RunResult(run_id=message.run_id, kind="preview", generation=0, digest=message.digest, outcome="ok")
            self.controller.parts.handlers.results.waiters[message.run_id].set_result(done)

    def applied(self, minion, *, outcome="changed"):
        """The minion has run what it shall hold; it counts as applied when that went well."""
        store = self.controller.store
        desired = store.desired.of([minion])[minion]
        self.runs += 1
        now = float(self.runs)
        run = RunRecord(run_id=f"r-{self.runs}", minion=minion, kind="apply", created=now, digest=desired.digest)
        store.runs.create(run)
        store.runs.finish(run.run_id, outcome, finished=now + 0.5, summary="")
        if outcome == "changed":
            store.applied.put(
                AppliedRecord(
                    minion=minion,
                    generation=desired.generation,
                    digest=desired.digest,
                    revision=desired.compiled_revision,
                    at=2.0,
                    outcome=outcome,
                )
            )

    async def previewed(self, head, live="all"):
        await asyncio.to_thread(self.controller.fetch)
        question = PreviewQuestion(base="main", head=head, live=live)
        items = [item async for item in self.controller.service.preview(question)]
        assert isinstance(items[-1], PreviewFinished)
        return items[-1].report

    def timing(self, report):
        return {each.kind: each for each in report.timing}


@pytest.fixture
async def fleet(make_controller, monkeypatch):
    controller = make_controller({"web.sls": SITE})
    found = Fleet(controller, monkeypatch)
    for name in ("web1", "web2"):
        controller.minion(name)
    await controller.go_live()
    for name in ("web1", "web2"):
        found.connect(name)
        found.applied(name)
    return found


ONE = ("file_|-one_|-/tmp/one_|-managed",)
BOTH = (*ONE, "file_|-two_|-/tmp/two_|-managed")


async def test_what_changes_is_run_at_once_and_nothing_is_said_of_it(fleet):
    fleet.controller.repository.commit({"web.sls": OTHER}, branch="feature")
    report = await fleet.previewed("feature")
    assert (fleet.keys, report.timing, report.problems) == ({"web1": ONE, "web2": ONE}, (), ())


async def test_the_whole_is_run_where_policy_says_so(fleet):
    fleet.controller.repository.commit({"web.sls": OTHER, "saltern.yaml": "push: whole\n"}, branch="feature")
    report = await fleet.previewed("feature")
    assert fleet.keys == {"web1": BOTH, "web2": BOTH}
    said = fleet.timing(report)
    assert said["whole"].minions == ("web1", "web2")
    assert "push: whole" in said["whole"].text
    assert said["policy"].text == "saltern.yaml changes: push: changed -> whole"
    assert [each.title for one in report.classes for each in one.resources] == ["one [/tmp/one] (file.managed)"]


async def test_a_change_of_no_state_runs_the_whole_there(fleet):
    drift = {"saltern.yaml": "push: whole\ndrift: {interval: 5m}\n"}
    fleet.controller.repository.commit(drift, branch="feature")
    report = await fleet.previewed("feature")
    assert fleet.keys == {"web1": BOTH, "web2": BOTH}
    assert [one.resources for one in report.classes] == [()]
    assert "drift.interval: 1800.0 -> 300.0" in fleet.timing(report)["policy"].text


async def test_the_whole_is_run_after_a_failed_run(fleet):
    fleet.controller.repository.commit({"web.sls": SITE.replace("kept", "lost")}, "Fails on web2")
    await fleet.controller.go_live()
    fleet.applied("web1")
    fleet.applied("web2", outcome="failed")
    fleet.controller.repository.commit({"web.sls": OTHER.replace("kept", "lost")}, branch="feature")
    report = await fleet.previewed("feature")
    assert fleet.keys == {"web1": ONE, "web2": BOTH}
    whole = fleet.timing(report)["whole"]
    assert (whole.minions, "last run failed" in whole.text) == (("web2",), True)


async def test_what_is_pending_runs_with_the_change(fleet):
    fleet.controller.repository.commit({"web.sls": SITE.replace("kept", "lost")}, "Not applied yet")
    await fleet.controller.go_live()
    fleet.applied("web1")
    fleet.controller.repository.commit({"web.sls": OTHER.replace("kept", "lost")}, branch="feature")
    report = await fleet.previewed("feature")
    assert fleet.keys == {"web1": ONE, "web2": BOTH}
    assert [each.title for one in report.classes for each in one.resources] == ["one [/tmp/one] (file.managed)"]


async def test_a_schedule_that_waits_for_a_person_is_told_though_nothing_is_run(fleet):
    policy = {"saltern.yaml": "apply: manual\ndrift: {watch: true}\n"}
    fleet.controller.repository.commit(policy, branch="feature")
    report = await fleet.previewed("feature")
    said = {each.kind: each for each in report.timing}
    assert (report.changed, said["manual"].minions) == (0, ("web1", "web2"))


MANUAL = {"web.sls": SITE.replace("kept", "waits"), "saltern.yaml": "apply: manual\n"}


async def test_what_waits_for_a_person_runs_when_manual_is_lifted(fleet):
    fleet.controller.repository.commit(MANUAL, "Waits")
    await fleet.controller.go_live()
    fleet.applied("web1")
    fleet.controller.repository.commit({"saltern.yaml": "apply: auto\n"}, branch="lifted")
    said = fleet.timing(await fleet.previewed("lifted"))
    assert fleet.keys == {"web2": BOTH[1:]}
    assert said["pending"].minions == ("web2",)
    assert said["policy"].text == "saltern.yaml changes: apply: manual -> auto"


async def test_what_waits_on_a_paused_minion_goes_on_waiting(fleet):
    fleet.controller.repository.commit(MANUAL, "Waits")
    await fleet.controller.go_live()
    fleet.applied("web1")
    fleet.controller.store.minions.set_paused(["web2"], True)
    fleet.controller.repository.commit({"saltern.yaml": "apply: auto\n"}, branch="lifted")
    assert "pending" not in fleet.timing(await fleet.previewed("lifted"))
    assert fleet.keys == {}


async def test_a_base_that_does_not_compile_is_what_is_applied(fleet):
    fleet.controller.repository.commit({"web.sls": "site: [\n"}, "Broken")
    await fleet.controller.go_live()
    fleet.controller.repository.commit({"web.sls": OTHER}, branch="mended")
    report = await fleet.previewed("mended")
    assert fleet.keys == {"web1": ONE, "web2": ONE}
    [one] = report.classes
    assert [(each.action, each.title) for each in one.resources] == [("changed", "one [/tmp/one] (file.managed)")]


async def test_a_refused_base_is_what_is_applied(fleet):
    both = {"web.sls": SITE.replace("kept", "lost"), "saltern.yaml": "aply: manual\n"}
    fleet.controller.repository.commit(both, "Refused")
    await asyncio.to_thread(fleet.controller.fetch)
    fleet.controller.repository.commit({"saltern.yaml": ""}, branch="mended")
    report = await fleet.previewed("mended")
    assert [each.key for one in report.classes for each in one.resources] == [BOTH[1]]
    assert fleet.keys == {"web1": BOTH[1:], "web2": BOTH[1:]}


async def test_a_policy_that_cannot_be_read_is_a_problem_of_the_whole_change(fleet):
    fleet.controller.repository.commit({"web.sls": OTHER, "saltern.yaml": "aply: manual\n"}, branch="feature")
    [problem] = (await fleet.previewed("feature", "none")).problems
    assert "saltern.yaml:1: Object contains unknown field `aply`" in problem
    assert "did you mean `apply`?" in problem
    assert "The whole revision would be refused" in problem


async def test_a_policy_that_is_too_large_is_a_problem(fleet):
    fleet.controller.repository.commit({"web.sls": OTHER, "saltern.yaml": "#" * 70_000}, branch="feature")
    [problem] = (await fleet.previewed("feature", "none")).problems
    assert "saltern.yaml has 70000 bytes" in problem


async def test_who_waits_is_said(fleet):
    store, sessions = fleet.controller.store, fleet.controller.parts.handlers.context.sessions
    store.minions.set_paused(["web1"], True)
    sessions.disconnect("web2")
    fleet.controller.repository.commit({"web.sls": OTHER, "saltern.yaml": "apply: manual\n"}, branch="feature")
    said = fleet.timing(await fleet.previewed("feature", "none"))
    assert (said["paused"].minions, said["offline"].minions) == (("web1",), ("web2",))
    assert said["manual"].minions == ("web1", "web2")
    assert "saltern sync" in said["manual"].text


async def test_a_run_that_changes_grains_is_followed_by_another(fleet):
    fleet.controller.repository.commit({"web.sls": SITE + "role: {grains.present: [{value: web}]}\n"}, branch="feature")
    said = fleet.timing(await fleet.previewed("feature", "none"))
    assert said["second-run"].minions == ("web1", "web2")


HOME = "\nhome: {file.managed: [{name: /tmp/home, contents: \"{{ salt['user.info']('alice')['home'] }}\"}]}\n"
OLD = FactAnswer(value={"home": "/home/old"})
ALICE = FactQuery(fun="user.info", asked=question(("alice",), {}))


async def test_what_documents_stand_on_is_asked_anew_as_a_merge_does(fleet):
    for minion in ("web1", "web2"):  # away, so that the recorded answers count
        fleet.controller.parts.handlers.context.sessions.disconnect(minion)
        fleet.controller.store.facts.put(minion, {ALICE: OLD}, 1.0)
    fleet.controller.repository.commit({"web.sls": SITE + HOME}, "Asks")
    await fleet.controller.go_live()
    for minion in ("web1", "web2"):
        fleet.applied(minion)
    fleet.answers["web1"] = FactAnswer(value={"home": "/home/new"})
    fleet.connect("web1")
    fleet.controller.repository.commit({"web.sls": OTHER + HOME}, branch="feature")
    report = await fleet.previewed("feature")
    assert {one.minions: [each.title.split()[0] for each in one.resources] for one in report.classes} == {
        ("web1",): ["one", "home"],
        ("web2",): ["one"],
    }
    assert fleet.keys == {"web1": (*ONE, "file_|-home_|-/tmp/home_|-managed")}


async def test_a_function_that_the_head_would_allow_is_not_known_rather_than_broken(fleet):
    asks = SITE + "\nasks: {test.nop: [{name: \"{{ salt['cmd.run']('id') }}\"}]}\n"
    fleet.controller.repository.commit({"web.sls": asks, "saltern.yaml": "facts: [cmd.run]\n"}, branch="feature")
    report = await fleet.previewed("feature")
    assert (report.broken, [one.texts for one in report.unknown]) == ((), [("cmd.run",)])
    assert fleet.asked == [], "a preview never asks for it"


PROGRAM = "#!py\ndef run():\n    return {'made': {'test.nop': []}}\n"


OWN = {"_renderers/own.py": "def render(data, *a, **k):\n    return {'made': {'test.nop': []}}\n"}


@pytest.mark.parametrize("program", [{"web.sls": PROGRAM}, {"web.sls": "#!own\nx", **OWN}])
async def test_a_program_that_a_merge_runs_and_a_preview_does_not_is_not_known_rather_than_broken(fleet, program):
    policy = "previews: {forbid: ['cmd.*']}\n"
    fleet.controller.repository.commit({"saltern.yaml": policy}, "Policy")
    await fleet.controller.go_live()
    fleet.controller.repository.commit({**program, "saltern.yaml": policy}, branch="feature")
    report = await fleet.previewed("feature")
    [unknown] = report.unknown
    assert (report.broken, unknown.minions) == ((), ("web1", "web2"))
    assert ["Python of the tree, which is switched off" in text for text in unknown.texts] == [True]
    [violation] = report.violations
    assert violation.rule == "previews.forbid", "nobody gets around a rule by writing a program"
    assert check_of(report, name="preview").state is CheckState.FAILURE
    assert check_of(structs.replace(report, violations=()), name="preview").state is CheckState.NEUTRAL
