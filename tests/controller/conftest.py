"""A controller's API with a small service of memory behind it, on real sockets, for the tests of API and CLI."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import io
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from controller.api.serving import Listening, serve
from controller.app import port_mounts
from controller.cli.main import run as run_cli
from controller.compilation.sources import open_source
from controller.composition.access import make_access
from controller.composition.controller import Parts, compose
from controller.composition.shared import Resources
from controller.config.settings import ControllerSettings, load_settings
from controller.observe.metrics import Metrics
from controller.observe.minion_metrics import MinionSample
from controller.schema.errors import ServiceError
from controller.schema.events import EventView, WhyStep, WhyView
from controller.schema.fleet.activity import ActiveRun, ActivityQuery, ActivityView
from controller.schema.fleet.comparisons import MinionComparison, SaltsSide
from controller.schema.fleet.minion_pages import MinionPage, MinionPageQuery
from controller.schema.fleet.replacements import ReplacementQuestion, ReplacementView
from controller.schema.fleet.status import (
    FleetStatusView,
    GroupCondition,
    GroupScope,
    GroupStatus,
    ReasonCount,
    RevisionCount,
    StateCount,
)
from controller.schema.keys import ControllerKey, KeyRefusals, KeyView
from controller.schema.minions import (
    CompileView,
    EngineStatus,
    ExecutorStatus,
    MinionStatus,
    ReturnerStatus,
    VolatileRead,
)
from controller.schema.plans import DriftView, FieldDiff, MinionDiff, StateDiff
from controller.schema.preview_stream import PreviewFinished, PreviewItem, PreviewProgress
from controller.schema.pulls import HeldHead, PullView
from controller.schema.remotes import RemoteStatus
from controller.schema.reports import (
    ChangeClass,
    LiveTest,
    MinionErrors,
    PreviewReport,
    ReportPage,
    ResourceChange,
)
from controller.schema.requests import (
    CallQuestion,
    EventsQuery,
    HistoryQuery,
    PreviewQuestion,
    RunnerQuestion,
    SyncQuestion,
    WhyQuery,
)
from controller.schema.runners import RunnerItem, RunnerOutput, RunnerProgress, RunnerReturn, RunnerStarted
from controller.schema.runs import (
    Approval,
    CallItem,
    CallProgress,
    CallReturn,
    CallStarted,
    CausedEntry,
    HistoryEntry,
    RunView,
    SyncReturn,
)
from controller.schema.targets import TargetExpression
from controller.store import Store
from gitfs.changes import Changes

STATES = {
    "file_|-motd_|-/etc/motd_|-managed": {
        "__run_num__": 0, "name": "/etc/motd", "result": True, "comment": "File /etc/motd updated",
        "changes": {"diff": "--- \n+++ \n-old\n+new"},
    },
    "test_|-quiet_|-quiet_|-nop": {"__run_num__": 1, "name": "quiet", "result": True, "comment": "ok", "changes": {}},
}  # fmt: skip


class Desk:
    """Three minions, three keys and a history in memory; answers as a controller does."""

    def __init__(self) -> None:
        self.refused_keys: dict[str, int] = {}
        self.minions = dict.fromkeys(("db1", "web1", "web2"), "Synced")
        self.paused: set[str] = set()
        self.key_views = {
            "aa:01": KeyView(
                minion="db1", state="accepted", fingerprint="aa:01", first_seen=1.0, changed=2.0, public_key="1" * 40
            ),
            "aa:02": KeyView(
                minion="web1", state="pending", fingerprint="aa:02", first_seen=1.0, changed=1.0, public_key="2" * 40
            ),
            "aa:03": KeyView(
                minion="db1", state="pending", fingerprint="aa:03", first_seen=3.0, changed=3.0, conflict=True
            ),
        }
        self.fetched: list[str | None] = []
        """What `hook` was called with."""
        self.users: list[str] = []
        """Who called, of what changes something."""
        self.listeners = 0
        self.broken_stream = False
        self.replaced: dict[str, list[ReplacementView]] = {}
        """How the replacement of the agent of each goes on: one step each time that it is asked for."""
        self.stuck = threading.Event()
        """Set once somebody waits for what never comes."""
        self.endless = ""
        """The minion for which that is so."""

    def _match(self, target: TargetExpression | None) -> list[str]:
        if target is None:
            return sorted(self.minions)
        if target.kind == "list":
            found = [name for name in sorted(self.minions) if name in target.expression.split(",")]
        elif target.kind == "glob":
            found = [name for name in sorted(self.minions) if fnmatch.fnmatchcase(name, target.expression)]
        else:
            raise ServiceError("bad-request", f"{target.kind} targets are not understood here")
        if not found:
            raise ServiceError("no-target", f"no minion matches {target.expression!r}", hint="see: saltern key list")
        return found

    async def select(self, target: TargetExpression) -> Sequence[str]:
        return self._match(target)

    def select_compound(self, expression: str) -> frozenset[str]:
        """As rules of access have it: globs here."""
        return frozenset(fnmatch.filter(self.minions, expression))

    async def status(self, target: TargetExpression | None) -> Sequence[MinionStatus]:
        """One of them does not compile."""
        return [
            MinionStatus(
                minion=name,
                sync="Paused" if name in self.paused else "OutOfSync" if name == "db1" else "Synced",
                health="Degraded" if name == "db1" else "Healthy",
                connected=name != "web2",
                attempted_revision="abc1234",
                applied_revision="abc1234",
                applied_at=1_000.0,
                last_seen=2_000.0,
                message="compile error\x1b[31m" if name == "db1" else "",
                errors=("db.sls:3: 'nope' is undefined",) if name == "db1" else (),
                warnings=("web.sls:3: the last one alone counts",) if name == "web1" else (),
            )
            for name in self._match(target)
        ]

    def remotes(self) -> Sequence[RemoteStatus]:
        """One that fails."""
        return [RemoteStatus(name="states", url="https://git/states", commit="abc1234def", error="connection refused")]

    async def fleet_status(self, by: GroupScope, *, recent: bool = False) -> FleetStatusView:
        """One group of two minions, of which one does not compile."""
        group = GroupStatus(
            scope=by,
            name=by,
            minions=2,
            connected=1,
            states=(
                StateCount(sync="Synced", health="Healthy", minions=1),
                StateCount(sync="OutOfSync", health="Degraded", minions=1),
            ),
            revisions=(RevisionCount(revision="abc1234", attempted=2, applied=1),),
            reasons=(ReasonCount(reason="CompileError", message="db.sls:3\x1b[31m", minions=1, names=("db1",)),),
            conditions=(
                GroupCondition(
                    type="Compiled", status="False", reason="CompileError", message="1", last_transition=1_000.0
                ),
            ),
        )
        return FleetStatusView(at=2_000.0, groups=(group,))

    async def minion_page(self, query: MinionPageQuery) -> MinionPage:
        """By a part of their names."""
        found = [each for each in await self.status(None) if query.text in each.minion]
        return MinionPage(minions=tuple(found[: query.limit]), total=len(found), offset=0, at=1.0)

    async def activity(self, query: ActivityQuery) -> ActivityView:
        """One run, which is half through."""
        run = ActiveRun(
            run_id="run-9", minion="web1", kind="apply", state="started", created=time.time() - 60, done=3, total=6,
            text="3/6 nginx (pkg.installed)", connected=True,
        )  # fmt: skip
        return ActivityView(
            at=time.time(), events=int(time.time()), accepted=3, connected=2, runs=(run,)[: query.limit], open_runs=1,
            queue=0, compiling=0, compile_queue=0, rollouts=(), slowest=(),
        )  # fmt: skip

    def executor(self) -> ExecutorStatus:
        """This machine."""
        return ExecutorStatus(executor="local", state="local", minions_here=2)

    def engines(self) -> Sequence[EngineStatus]:
        """None."""
        return ()

    def returners(self) -> Sequence[ReturnerStatus]:
        """None."""
        return ()

    def key_refusals(self) -> KeyRefusals:
        return KeyRefusals(limits=self.refused_keys)

    async def keys(self) -> Sequence[KeyView]:
        """All of them."""
        return list(self.key_views.values())

    def controller_key(self) -> ControllerKey:
        """A constant."""
        return ControllerKey(public="P" * 40, fingerprint="cc:cc")

    def _set(self, names: Sequence[str], state: Any) -> Sequence[KeyView]:
        changed = []
        for name in names:
            if name not in self.key_views:
                raise ServiceError("not-found", f"no key {name}")
            old = self.key_views[name]
            if state == "accepted" and old.conflict:
                raise ServiceError(
                    "conflict", f"another key is accepted for {old.minion!r}", hint="delete that one first"
                )
            self.key_views[name] = KeyView(
                minion=old.minion, state=state, fingerprint=name, first_seen=old.first_seen, changed=9.0
            )
            changed.append(self.key_views[name])
        return changed

    async def accept(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """By fingerprint."""
        self.users.append(user)
        return self._set(names, "accepted")

    async def reject(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """By fingerprint."""
        self.users.append(user)
        return self._set(names, "rejected")

    async def delete(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """By fingerprint."""
        self.users.append(user)
        return [self.key_views.pop(name) for name in names]

    async def diff(self, minion: str | None) -> Sequence[MinionDiff]:
        """web1 has a change and a drift."""
        if minion is not None:
            self._match(TargetExpression(expression=minion))
        change = StateDiff(key="file_|-motd", action="changed", fields=(FieldDiff(field="mode", old="1", new=2),))
        drift = DriftView(key="file_|-motd", comment="would be updated", changes={"mode": "0600"})
        found = MinionDiff(
            minion="web1", base="abc", head="def", text="~ file.managed motd", changes=(change,), drift=(drift,),
            warnings=("web.sls:3: the last one alone counts",),
        )  # fmt: skip
        return [found] if minion in (None, "web1") else []

    async def history_with_causes(self, query: HistoryQuery) -> Sequence[CausedEntry]:
        """The same, each with its plan."""
        return [CausedEntry(**structs.asdict(one), plan="1 changed") for one in await self.history(query)]

    async def history(self, query: HistoryQuery) -> Sequence[HistoryEntry]:
        """Five runs."""
        entries = [
            HistoryEntry(
                run_id=f"run-{number}", minion="web1", kind="apply", state="finished", outcome="changed",
                revision="abc1234", created=1.0, finished=2.0, seconds=0.5, changes=1, summary="1 changed",
            )
            for number in range(5)
        ]  # fmt: skip
        return [entry for entry in entries if query.minion in (None, entry.minion)][: query.limit]

    def compile_detail(self, minion: str) -> CompileView:
        """web1 stands on an answer of its machine and on a page."""
        if minion != "web1":
            raise ServiceError("not-found", f"no minion {minion!r}")
        reads = (
            VolatileRead(name="cmd.which", asked='[["nginx"], {}]', at=1_000.0),
            VolatileRead(name="ext_pillar.http_json", at=2_000.0),
        )
        warnings = ("web.sls:3: the last one alone counts",)
        return CompileView(minion=minion, revision="abc1234", compiled_at=2_000.0, warnings=warnings, volatile=reads)

    async def why(self, query: WhyQuery) -> WhyView:
        """web1 was pushed to, and a state failed."""
        if query.minion != "web1":
            raise ServiceError("no-target", f"no minion {query.minion!r}")
        live = WhyStep(
            id="7", tag="saltern/revision/abc1234/live", time=1_000.0, step="revision", revision="abc1234",
            text="commit abc1234 by A. Writer", details=("A subject that goes on for so long that it needs two lines",),
        )  # fmt: skip
        failed = WhyStep(
            id="9", cause="7", tag="salt/job/1/ret/web1", time=1_001.0, step="result", text="apply: failed",
            details=("nginx (pkg.installed) (web.sls): no \x1b[31m package",),
        )  # fmt: skip
        return WhyView(minion=query.minion, steps=(live, failed))

    async def run_detail(self, run_id: str) -> RunView:
        """One of the five."""
        for entry in await self.history(HistoryQuery(limit=5)):
            if entry.run_id == run_id:
                step = WhyStep(
                    id="1",
                    cause="",
                    tag="saltern/sync",
                    time=1.0,
                    step="request",
                    text="a person: saltern sync\x1b[31m",
                )
                approvals = (Approval(user="alice", at=1.0),)
                return RunView(
                    entry=entry, plan="1 changed", rollout="7", approvals=approvals, steps=(step,), states=STATES
                )
        raise ServiceError("not-found", f"there is no run {run_id!r}")

    async def call(self, question: CallQuestion, *, user: str = "") -> AsyncIterator[CallItem]:
        """Returns what it was asked; web2 is away."""
        self.users.append(user)
        names = tuple(self._match(question.target))
        yield CallStarted(jid="20261122120000000001", minions=names)
        for name in names:
            await asyncio.sleep(0)
            if question.progress:
                yield CallProgress(
                    minion=name, run_id="1", done=3, total=8, text="3/8 nginx (pkg.installed)", seconds=4
                )
            if name == "web2":
                yield CallReturn(minion=name, ok=False, answered=False, error="not connected")
            elif question.fun == "strange.values":
                yield CallReturn(
                    minion=name, ok=True, value={None: b"\xff", 1: float("nan"), "s": "\ud800", b"k": 2**70}
                )
            else:
                yield CallReturn(
                    minion=name,
                    ok=True,
                    value={"fun": question.fun, "args": list(question.args), "kwargs": question.kwargs},
                )
        if self.broken_stream:
            raise ServiceError("internal", "it broke in the middle")

    async def sync(self, question: SyncQuestion, *, user: str = "") -> AsyncIterator[SyncReturn]:
        """Changes, or would."""
        self.users.append(user)
        for name in self._match(question.target):
            outcome = "pending" if question.test else "changed"
            summary = "whole" if question.whole else ""
            yield SyncReturn(minion=name, outcome=outcome, changes=1, states=STATES, summary=summary)

    async def runner(self, question: RunnerQuestion, *, user: str = "") -> AsyncIterator[RunnerItem]:
        """Says how far it is, and returns its arguments."""
        self.users.append(user)
        yield RunnerStarted(jid="1")
        if question.wait:
            yield RunnerProgress(data={"message": "half"})
            yield RunnerOutput(text="printed")
            yield RunnerReturn(jid="1", success=question.fun != "error.error", value=list(question.args))

    async def pause(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """Until resume."""
        self.users.append(user)
        names = self._match(target)
        self.paused.update(names)
        return names

    async def resume(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """Until pause."""
        self.users.append(user)
        names = self._match(target)
        self.paused.difference_update(names)
        return names

    async def compare_with_master(self, theirs: SaltsSide) -> MinionComparison:
        """The same but for db1, which compiles to nothing, and for `endless`, which takes for ever."""
        if theirs.minion == self.endless:
            await self._wait_for_ever()
        return MinionComparison(minion=theirs.minion, verdict="not compared" if theirs.minion == "db1" else "same")

    async def _wait_for_ever(self) -> None:
        self.stuck.set()
        await asyncio.Event().wait()

    def replacements(self) -> Sequence[ReplacementView]:
        """Those of `replaced`."""
        return [steps.pop(0) if len(steps) > 1 else steps[0] for steps in self.replaced.values()]

    async def replace_agents(self, question: ReplacementQuestion, *, user: str = "") -> AsyncIterator[ReplacementView]:
        """That of db1 is refused, those of the others end well, and of `endless` no end comes."""
        self.users.append(user)
        return self._replaced(question)

    async def _replaced(self, question: ReplacementQuestion) -> AsyncIterator[ReplacementView]:
        for name in self._match(question.target):
            if name == "db1":
                yield ReplacementView(minion=name, to=question.to, step="refused", why="it is not connected")
            elif question.test:
                yield ReplacementView(minion=name, to=question.to, step="planned", plan=("install",))
            else:
                yield ReplacementView(minion=name, to=question.to, step="installing")
                if name == self.endless:
                    await self._wait_for_ever()
                yield ReplacementView(minion=name, to=question.to, step="done", notes=("returner: not taken",))

    async def confirm(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """Something waits on all but db1."""
        self.users.append(user)
        return [name for name in self._match(target) if name != "db1"]

    def pulls(self) -> Sequence[PullView]:
        """One that was previewed, and one of a stranger."""
        common = {"forge": "hub", "project": "org/states", "base_branch": "main"}
        return [
            PullView(
                **common, number=12, title="Another \x1b[31m port " + 8 * "is long ", head="a" * 40, check="success",
                base="b" * 40, previewed_at=1_000.0, previewed_head="a" * 40, minions=1204, changed=12, classes=3,
                preview="done", preview_since=1_000.0, url="https://hub/12",
                held=(HeldHead(head="a" * 40, minions=("web1", "web2"), user="max", since=1_000.0, until=4_600.0),),
            ),
            PullView(
                **common, number=9, title="Fix", head="c" * 40, check="neutral", from_fork=True,
                base="b" * 40, previewed_at=900.0, previewed_head="d" * 40, minions=1204, changed=1,
                preview="running", preview_since=1_100.0, restricted=True,
                waiting_for="a maintainer: /saltern preview --commit cccccccccccc (a fork)",
            ),
        ]  # fmt: skip

    async def unapply(self, pull: str, target: TargetExpression | None, *, user: str = "") -> Sequence[str]:
        """Of `org/states#12`, which two minions hold."""
        self.users.append(user)
        if pull not in ("org/states#12", "hub:org/states#12"):
            raise ServiceError("not-found", f"no minion holds {pull}", hint="`saltern pulls` shows what is held")
        return [each for each in ("web1", "web2") if target is None or fnmatchcase(each, target.expression)]

    async def report_page(self, report_id: str, expires: str, signature: str, form: str) -> ReportPage:
        """There is none."""
        raise ServiceError("not-found", f"no report {report_id}")

    async def preview(self, question: PreviewQuestion, *, user: str = "") -> AsyncIterator[PreviewItem]:
        """Branch `broken` does not compile, `same` changes nothing, `nope` is not there."""
        self.users.append(user)
        head = question.head
        if head == "nope":
            raise ServiceError("not-found", "no remote has 'nope'", hint="did you mean 'note'?")
        names = tuple(self._match(question.target))
        if head == "endless":
            self.listeners += 1
            try:
                await asyncio.sleep(3600)
            finally:
                self.listeners -= 1
        yield PreviewProgress(text="compiling", of=len(names))
        yield PreviewFinished(report=_report(question, names))

    async def events(self, query: EventsQuery) -> AsyncIterator[Sequence[EventView]]:
        """An event at once, then every few milliseconds."""
        self.listeners += 1
        try:
            for number in range(1_000_000 if query.follow else 4):
                tag = f"saltern/{'run' if number % 2 else 'push'}"
                if fnmatchcase(tag, query.tag):
                    yield [EventView(tag=tag, time=1.0 * number, data={"n": number})]
                await asyncio.sleep(0.005)
        finally:
            self.listeners -= 1

    async def hook(self, remote: str | None, *, user: str = "") -> int:
        """Knows one url."""
        self.users.append(user)
        self.fetched.append(remote)
        return 2 if remote is None else int(remote == "https://git/states.git")


def _report(question: PreviewQuestion, names: tuple[str, ...]) -> PreviewReport:
    """What the desk answers."""
    group = {"minions": names, "folded": ", ".join(names)}
    broken = MinionErrors(**group, texts=("web.sls:1: no such thing",), places=("web.sls:1",))
    warned = MinionErrors(**group, texts=("web.sls:3: the last one alone counts",), places=("web.sls:3",))
    motd = ResourceChange(action="added", key="file_|-motd_|-motd_|-managed", title="motd ```", function="file.managed")
    test = LiveTest(minion=names[0], outcome="pending", states=STATES, summary="1 would change")
    tests = (test,) if question.live != "none" else ()
    changed = question.head not in ("same", "broken")
    return PreviewReport(
        made_at=1_000.0,
        seconds=0.1,
        base=question.base,
        head=question.head,
        minions=len(names),
        changed=len(names) if changed else 0,
        classes=(ChangeClass(id="1", **group, resources=(motd,), tests=tests),) if changed else (),
        broken=(broken,) if question.head == "broken" else (),
        warned=(warned,) if question.head == "warned" else (),
    )


class Served:
    """The API of a desk, in a thread with a loop of its own."""

    def __init__(self, desk: Desk, settings: ControllerSettings) -> None:
        self.desk, self.settings = desk, settings
        self.metrics = Metrics(lambda: 5_000.0)
        self.metrics.watch_minions(
            lambda: [MinionSample(id="web1", sync="Synced", health="Drifted", drifted=3, revision_at=4_000.0)]
        )
        self.hinted: list[tuple[str, int]] = []
        """Pull requests that webhooks said something of."""
        self.why_not_ready = ""
        self.listening: Listening | None = None
        self.error: Exception | None = None
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(30)
        if self.error is not None:
            self._thread.join()
            raise self.error
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    async def unready(self) -> str:
        return self.why_not_ready

    def hint_pull(self, project: str, number: int) -> bool:
        self.hinted.append((project, number))
        return True

    async def _serve(self, store: Store) -> None:
        access = make_access(self.settings, store, self.metrics, time.time, self.desk.select_compound, str)
        serving = serve(
            self.desk,
            access,
            self.settings,
            self.metrics,
            self.hint_pull,
            is_ready=self.unready,
            mounts=port_mounts(self.desk, access, self.settings, self.metrics),
        )
        async with serving as self.listening:
            self._ready.set()
            await self._stop.wait()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            with Store(self.settings.store_url) as store:
                await self._serve(store)
        except Exception as error:
            self.error = error
        finally:
            self._ready.set()


def free_port() -> int:
    """One that was free a moment ago."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    """A configuration folder whose controller lives below it."""
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "controller").write_text(f"root_dir: {tmp_path}/root\nhttp_port: {free_port()}\n")
    return folder


@pytest.fixture
def desk() -> Desk:
    """The service behind the API."""
    return Desk()


@pytest.fixture
def served(desk: Desk, config_dir: Path) -> Iterator[Served]:
    """The API, listening."""
    with Served(desk, load_settings(config_dir)) as found:
        yield found


@pytest.fixture
def serve_desk() -> type[Served]:
    """To serve with other settings."""
    return Served


class Completed:
    """What came of `saltern ...`."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


@pytest.fixture
def saltern(config_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command line in this process, which is quick; it talks to real sockets all the same."""
    monkeypatch.setenv("SALTERN_CONFIG_DIR", str(config_dir))

    def run(*arguments: str) -> Completed:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_cli(arguments)
        return Completed(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def saltern_process(config_dir: Path) -> Any:
    """Runs the command line as a process of its own."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> Completed:
        environment = {**os.environ, "SALTERN_CONFIG_DIR": str(config_dir), **(env or {})}
        command = [sys.executable, "-c", "from controller.cli import main; main()", *arguments]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
async def make_controller(tmp_path: Path) -> Any:
    """Makes a wired controller, of which nothing runs, over a repository with these files on `main`."""
    async with contextlib.AsyncExitStack() as stack:

        def make(files: Mapping[str, str] = {}, **options: str) -> Composed:
            repository = Repository(tmp_path / "states")
            repository.commit({"top.sls": "base: {'*': [web]}\n", "web.sls": "site: {test.nop: []}\n", **files})
            folder = tmp_path / "etc"
            folder.mkdir()
            lines = [f"root_dir: {tmp_path}/root", f"gitfs_remotes: [{tmp_path}/states]", "gitfs_base: main"]
            lines += [f"{name}: {value}" for name, value in options.items()]
            (folder / "controller").write_text("\n".join(lines) + "\n")
            settings = load_settings(folder)
            store = stack.enter_context(Store(settings.store_url))
            source = stack.enter_context(open_source(settings))
            changes = Changes(source.remotes, roots=source.roots)
            parts = compose(
                Resources(settings=settings, store=store, source=source, changes=changes, metrics=Metrics(time.time))
            )
            for pool in parts.pools:
                stack.callback(pool.close)
            return Composed(parts, repository)

        yield make


@pytest.fixture
def make_repository(tmp_path: Path) -> Any:
    """Makes a repository of this name beside that of the states."""
    return lambda name: Repository(tmp_path / name)


class Repository:
    """A git repository to push to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        """Run git; what it says."""
        command = ["git", "-c", "user.name=A. Writer", "-c", "user.email=a@example.org", *words]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str], subject: str = "A commit", branch: str = "") -> str:
        """Commit files; the commit."""
        if branch:
            self.git("checkout", "-q", "-b", branch)
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")


class Composed:
    """The parts of a controller over a repository, for tests that move them by hand."""

    def __init__(self, parts: Parts, repository: Repository) -> None:
        self.parts, self.repository = parts, repository
        self.service, self.store = parts.service, parts.resources.store

    def minion(self, name: str, **grains: Any) -> None:
        """An accepted minion that has told its grains."""
        self.store.minions.seen(name, 1.0, grains={"id": name, **grains})
        self.store.keys.request(name.ljust(40, "x"), name, 1.0)
        self.store.keys.set_state(name, "accepted", 1.0)

    def fetch(self) -> None:
        """Bring what was committed into the mirrors."""
        self.parts.resources.source.fetch()

    async def go_live(self) -> None:
        """Fetch, take the trees, and compile everyone against them."""
        await asyncio.to_thread(self.fetch)
        task = asyncio.create_task(self.parts.builds.run())
        await self.parts.sources.go_live()
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture
def wait_for() -> Any:
    """Waits until a condition holds."""

    def wait(condition: Any, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it never came about"
            time.sleep(0.01)

    return wait
