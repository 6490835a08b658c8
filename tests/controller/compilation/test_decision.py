"""The decision about documents, as transcripts: what happens to a fleet in memory -> what is decided, line by line.

The fleet here is the shell in small: it records events as facts, and feeds outcomes back. A law checked with random
orders of events: in the end everything that is stale was compiled against the newest revision.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from textwrap import dedent

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from controller.compilation.decision import (
    QUERY_SECONDS,
    BuildInstruction,
    BuildPolicy,
    BuildState,
    CarryOver,
    CompareFleetAnswers,
    Compile,
    FleetAnswers,
    Inputs,
    MinionBuild,
    OpenQuery,
    QueryFacts,
    Questions,
    RequeueBuildAfter,
    StoreErrors,
    TimeOutQuery,
    Unfinished,
    decide,
)

POLICY = BuildPolicy(refresh_seconds=600.0, facts_interval=1800.0)


@dataclass
class Fleet:
    """Minions, the world that their documents are made from, and what was decided about them."""

    now: float = 0.0
    revision: str = ""
    minions: dict[str, MinionBuild] = field(default_factory=dict)
    affected_by: dict[str, set[str]] = field(default_factory=dict)
    """Revision -> minions; one that is not named here affects all."""
    asks: dict[str, set[str]] = field(default_factory=dict)
    """Minion -> questions that its templates ask."""
    recorded: dict[str, set[str]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    external: set[str] = field(default_factory=set)
    compiling: dict[str, Inputs] = field(default_factory=dict)
    built: dict[str, str] = field(default_factory=dict)
    """Minion -> newest revision that its document was compiled against or carried over to."""
    fleet: FleetAnswers = field(default_factory=lambda: FleetAnswers(changed=False, compared_at=0.0))
    timers: dict[str, float] = field(default_factory=dict)
    stored: list[str] = field(default_factory=list)

    # --- events ---

    def push(self, revision: str, *affected: str) -> None:
        self.revision = revision
        if affected:
            self.affected_by[revision] = set(affected) - {"nobody"}
        for name, minion in self.minions.items():
            self._set(name, inputs=replace(minion.inputs, revision=revision))

    def minion(self, name: str, *asks: str) -> None:
        inputs = Inputs(revision=self.revision)
        self.minions[name] = MinionBuild(minion=name, connected=False, inputs=inputs, compiled=None, affected=True)
        self.asks[name] = set(asks)

    def connect(self, name: str) -> None:
        inputs = self.minions[name].inputs
        self._set(name, connected=True, inputs=replace(inputs, connection=inputs.connection + 1))

    def disconnect(self, name: str) -> None:
        self._set(name, connected=False)

    def grains(self, name: str) -> None:
        inputs = self.minions[name].inputs
        self._set(name, inputs=replace(inputs, grains=inputs.grains + 1))

    def mine(self) -> None:
        self.fleet = replace(self.fleet, changed=True)

    def answer(self, name: str, *, new: bool = False) -> None:
        minion = self.minions[name]
        if minion.query is None or not minion.connected or minion.query.connection != minion.inputs.connection:
            return
        self._recorded(name, new=new)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def restart(self) -> None:
        for name, minion in self.minions.items():
            fresh = MinionBuild(
                minion=name,
                connected=False,
                inputs=Inputs(revision=self.revision),
                compiled=None,
                affected=True,
                answered_at=minion.answered_at,
            )
            self.minions[name] = fresh
        self.compiling, self.timers = {}, {}

    def end(self) -> None:
        """The compile in progress ends."""
        ended, self.compiling = self.compiling, {}
        for name, inputs in ended.items():
            minion = self.minions[name]
            if self.asks[name] - self.recorded.get(name, set()):
                rounds = minion.unfinished.rounds if minion.unfinished else 0
                self._set(name, unfinished=Unfinished(inputs=inputs, rounds=rounds + 1))
            else:
                self._store(name, inputs, failed=name in self.broken)

    # --- carrying out ---

    def step(self) -> list[BuildInstruction]:
        """Decide once for everyone, and do it."""
        decided = decide(self.state(), POLICY, self.now)
        for instruction in decided:
            self._carry_out(instruction)
        return decided

    def state(self) -> BuildState:
        affected = self.affected_by.get(self.revision)
        minions = [
            replace(
                minion,
                affected=affected is None or minion.compiled is None or name in affected,
                questions=bool(self.recorded.get(name)),
            )
            for name, minion in sorted(self.minions.items())
        ]
        return BuildState(
            revision=self.revision, compiling=bool(self.compiling), minions=tuple(minions), fleet=self.fleet
        )

    def _carry_out(self, instruction: BuildInstruction) -> None:
        match instruction:
            case QueryFacts(minion=name, for_compile=for_compile):
                minion = self.minions[name]
                assert minion.connected, "nobody is asked who is away"
                query = OpenQuery(
                    deadline=self.now + QUERY_SECONDS,
                    connection=minion.inputs.connection,
                    for_compile=for_compile,
                )
                asked_for = minion.inputs if for_compile else minion.asked_for
                self._set(name, query=query, unfinished=None, asked_for=asked_for)
            case TimeOutQuery(minion=name):
                self._recorded(name, new=bool(self.asks[name] - self.recorded.get(name, set())))
            case Compile(minions=names):
                assert not self.compiling, "one compile at a time"
                for name in names:
                    self._set(name, query=None)
                    self.compiling[name] = self.minions[name].inputs
            case CarryOver(minions=names):
                for name in names:
                    self._set(name, compiled=self.minions[name].inputs)
                    self.built[name] = self.revision
            case StoreErrors(minion=name):
                self._store(name, self.minions[name].unfinished.inputs, failed=True)
            case CompareFleetAnswers():
                self.fleet = FleetAnswers(changed=False, compared_at=self.now)
                for name, minion in self.minions.items():
                    if minion.compiled is not None:
                        self._set(name, inputs=replace(minion.inputs, answers=minion.inputs.answers + 1))
            case RequeueBuildAfter(minion=name, time=time):
                self.timers[name] = time

    def _recorded(self, name: str, *, new: bool) -> None:
        minion = self.minions[name]
        new = new or bool(self.asks[name] - self.recorded.get(name, set()))
        self.recorded[name] = set(self.asks[name])
        inputs = replace(minion.inputs, answers=minion.inputs.answers + new)
        self._set(name, query=None, answered_at=self.now, inputs=inputs)

    def _store(self, name: str, inputs: Inputs, *, failed: bool) -> None:
        self.built[name] = inputs.revision
        self.stored.append(name)
        self._set(
            name,
            compiled=inputs,
            compiled_at=self.now,
            failed=failed,
            external=name in self.external or failed,
            asked_for=None,
            unfinished=None,
        )

    def _set(self, name: str, **changed: object) -> None:
        self.minions[name] = replace(self.minions[name], **changed)


def text_of(instruction: BuildInstruction) -> str:
    match instruction:
        case QueryFacts(minion=name, questions=Questions.RECORDED, for_compile=for_compile):
            return f"ask {name} again{'' if for_compile else ', compile if an answer is new'}"
        case QueryFacts(minion=name):
            return f"ask {name} what its compile lacks"
        case TimeOutQuery(minion=name):
            return f"time out the query of {name}"
        case Compile(minions=names):
            return f"compile {' '.join(names)}"
        case CarryOver(minions=names):
            return f"carry over {' '.join(names)}"
        case StoreErrors(minion=name):
            return f"store the errors of {name}"
        case CompareFleetAnswers():
            return "compare answers about the fleet"
        case RequeueBuildAfter(minion=name, time=time):
            return f"look at {name or 'the fleet'} at {time:g}"


def transcript(script: str, **more: object) -> str:
    """Run a script (an event a line; `step` decides), and write what was decided below each step."""
    fleet, lines = Fleet(**more), []
    for line in dedent(script).strip().splitlines():
        if line.startswith("  "):
            continue
        lines.append(line)
        verb, *words = line.split()
        if verb == "step":
            lines += [f"  {text_of(instruction)}" for instruction in fleet.step()]
        elif verb == "wait":
            fleet.wait(float(words[0]))
        elif verb == "answer":
            fleet.answer(words[0], new="new" in words)
        elif verb in ("break", "mend"):
            (fleet.broken.add if verb == "break" else fleet.broken.discard)(words[0])
        elif verb == "external":
            fleet.external.add(words[0])
        else:
            getattr(fleet, verb)(*words)
    return "\n".join(lines)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            """
            minion web1
            minion web2
            step
            push r1
            step
              compile web1 web2
            end
            step
            push r2 web1
            step
              compile web1
              carry over web2
            """,
            id="a push that affects some minions",
        ),
        pytest.param(
            """
            minion web1
            push r1
            step
              compile web1
            end
            grains web1
            step
              compile web1
            end
            step
            """,
            id="grains changed",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            connect web1
            push r1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            wait 1
            step
              look at web1 at 12
            answer web1
            step
              compile web1
            end
            step
              look at web1 at 1801
            """,
            id="answers arrive, and the minion is compiled with them",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            connect web1
            push r1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            wait 12
            step
              time out the query of web1
            step
              compile web1
            answer web1 new
            end
            step
              look at web1 at 1812
            """,
            id="answers are missing: compiled with what is recorded; what comes late counts for nothing",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            push r1
            step
              compile web1
            end
            step
              store the errors of web1
            connect web1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            answer web1
            step
              compile web1
            """,
            id="nobody can be asked: errors until it connects",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            connect web1
            push r1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            answer web1
            step
              compile web1
            end
            push r2 web1
            step
              ask web1 again
            answer web1
            step
              compile web1
            end
            step
              look at web1 at 1800
            push r3 nobody
            step
              carry over web1
              look at web1 at 1800
            wait 1800
            step
              ask web1 again, compile if an answer is new
            answer web1
            step
              look at web1 at 3600
            wait 1800
            step
              ask web1 again, compile if an answer is new
            answer web1 new
            step
              compile web1
            """,
            id="a push asks again; so does age, and only a new answer compiles",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            connect web1
            push r1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            disconnect web1
            step
              look at web1 at 12
            connect web1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            answer web1
            step
              compile web1
            """,
            id="the connection is lost with the questions: asked again on the new one",
        ),
        pytest.param(
            """
            minion web1
            push r1
            step
              compile web1
            end
            mine
            step
              look at the fleet at 1
            wait 1
            step
              compare answers about the fleet
            step
              compile web1
            end
            step
            """,
            id="a mine value changed: compared once a second",
        ),
        pytest.param(
            """
            minion web1
            external web1
            push r1
            step
              compile web1
            end
            step
              look at web1 at 600
            wait 600
            step
              compile web1
            break web1
            end
            step
              look at web1 at 660
            wait 60
            step
              compile web1
            mend web1
            end
            step
              look at web1 at 1260
            """,
            id="external data is older than pillar_cache_ttl; after a failure it is tried again sooner",
        ),
        pytest.param(
            """
            minion web1
            break web1
            push r1
            step
              compile web1
            end
            step
              look at web1 at 60
            push r2 web1
            step
              compile web1
            """,
            id="a compile failed or timed out: the next push compiles it, and so does time",
        ),
        pytest.param(
            """
            minion web1
            minion web2
            push r1
            step
              compile web1 web2
            push r2 web2
            step
            grains web1
            step
            end
            step
              compile web1 web2
            end
            step
            """,
            id="a newer revision and new grains in the middle of a compile",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            push r1
            step
              compile web1
            restart
            step
              compile web1
            end
            restart
            connect web1
            step
              compile web1
            end
            step
              ask web1 what its compile lacks
            restart
            connect web1
            step
              compile web1
            """,
            id="a restart in a compile, after it and in a query: compiled anew",
        ),
        pytest.param(
            """
            minion web1 cmd.which
            connect web1
            push r1
            step
              compile web1
            end
            push r2
            step
              compile web1
            """,
            id="a newer revision takes the place of an unfinished compile",
        ),
    ],
)
def test_transcript(script: str) -> None:
    assert transcript(script) == dedent(script).strip()


def test_questions_that_follow_from_answers_come_to_an_end() -> None:
    inputs = Inputs(revision="r1")
    minion = MinionBuild(minion="web1", connected=True, inputs=inputs, compiled=None, affected=True)

    def decided(**more) -> list[BuildInstruction]:
        left = replace(minion, unfinished=Unfinished(inputs=inputs, **more))
        return decide(BuildState(revision="r1", compiling=False, minions=(left,)), POLICY, 0.0)

    assert decided(rounds=49) == [QueryFacts("web1", Questions.UNANSWERED, for_compile=True)]
    assert decided(rounds=50) == decided(rounds=1, too_many=True) == [StoreErrors("web1")]


class AnyOrder(RuleBasedStateMachine):
    """Events in any order; then everything is let to settle."""

    names = st.sampled_from(["a", "b", "c"])

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet()
        self.pushes = 0
        for name, asks in (("a", ()), ("b", ("cmd.which",)), ("c", ("cmd.which", "file.file_exists"))):
            self.fleet.minion(name, *asks)

    @rule(affected=st.sets(names))
    def push(self, affected):
        self.pushes += 1
        self.fleet.push(f"r{self.pushes}", *(affected or {"nobody"}))
        # A minion that a push affects stays affected until it is compiled, as in the index of what was read.
        for name, minion in self.fleet.minions.items():
            before = minion.compiled.revision if minion.compiled else ""
            skipped = {f"r{number}" for number in range(1, self.pushes)}
            missed = [each for each in skipped if before and int(each[1:]) > int(before[1:])]
            if any(name in self.fleet.affected_by.get(each, {name}) for each in missed):
                self.fleet.affected_by[self.fleet.revision].add(name)

    @rule(name=names)
    def connect(self, name):
        self.fleet.connect(name)

    @rule(name=names)
    def disconnect(self, name):
        self.fleet.disconnect(name)

    @rule(name=names)
    def grains(self, name):
        self.fleet.grains(name)

    @rule(name=names, new=st.booleans())
    def answer(self, name, new):
        self.fleet.answer(name, new=new)

    @rule(name=names)
    def break_or_mend(self, name):
        self.fleet.broken ^= {name}

    @rule(name=names)
    def external(self, name):
        self.fleet.external ^= {name}

    @rule()
    def mine(self):
        self.fleet.mine()

    @rule(seconds=st.sampled_from([0.5, 12.0, 60.0, 600.0, 1800.0]))
    def wait(self, seconds):
        self.fleet.wait(seconds)

    @rule()
    def step(self):
        self.fleet.step()

    @rule()
    def end(self):
        self.fleet.end()

    @rule()
    def restart(self):
        self.fleet.restart()

    @invariant()
    def a_decision_is_the_same_however_often_it_is_asked_for(self):
        state = self.fleet.state()
        assert decide(state, POLICY, self.fleet.now) == decide(state, POLICY, self.fleet.now)

    def teardown(self):
        fleet = self.fleet
        for _ in range(100):
            done = [each for each in fleet.step() if not isinstance(each, RequeueBuildAfter)]
            if fleet.compiling:
                fleet.end()
            elif not done:
                queries = [minion.query.deadline for minion in fleet.minions.values() if minion.query]
                if not queries and not fleet.fleet.changed:
                    break
                fleet.now = max(fleet.now + 1.0, *queries) if queries else fleet.now + 1.0
        else:
            raise AssertionError("it does not settle")
        if fleet.revision:
            for name, minion in fleet.minions.items():
                assert fleet.built[name] == fleet.revision, name
                assert minion.compiled is not None
                assert (minion.compiled.revision, minion.compiled.grains, minion.compiled.answers) == (
                    minion.inputs.revision,
                    minion.inputs.grains,
                    minion.inputs.answers,
                )


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
