"""What test=True says of a run is what the run does: of random graphs, whose states do the same whenever they act."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from highstate.run.ports import Prepared
from highstate.run.runner import run
from highstate.types import Chunk, StateResult

KINDS = ("require", "require_any", "watch", "watch_any", "onchanges", "onchanges_any", "onfail", "onfail_any", "listen")
DOES = ("ok", "changes", "changes", "fails", "waits", "doubt-changes", "doubt-ok")
"""What states do: `waits` acts on what it watches alone; of `doubt` is not known under test=True whether it changes."""


@dataclass
class World:
    """Values that states set; nothing else decides what they do."""

    test: bool
    values: dict[str, str] = field(default_factory=dict)

    def plan(self, chunk: Chunk, arguments: Mapping[str, Any], *, watched: bool) -> Prepared | None:
        does, name = str(arguments["does"]), chunk.name
        if watched and does != "waits":
            return None
        if does == "fails":
            return Prepared(chunk=chunk, predicted=StateResult(name=name, result=False, comment="cannot"))
        if does.startswith("doubt") and self.test:
            return Prepared(chunk=chunk, predicted=StateResult(name=name, result=None, comment="not known"))
        acts = watched or (does.endswith("changes") and self.values.get(name) != "set")
        changes = {name: "set"} if acts else {}
        predicted = StateResult(name=name, result=None if acts else True, changes=changes)
        return Prepared(chunk=chunk, predicted=predicted, work="act" if acts and not self.test else None)

    def act(self, prepared: Prepared) -> StateResult:
        name = prepared.chunk.name
        self.values[name] = "set"
        return StateResult(name=name, result=True, changes=prepared.predicted.changes)


@st.composite
def graphs(draw: st.DrawFn, does: tuple[str, ...]) -> dict[str, Chunk]:
    """States that name those before them; `prereq` names one after."""
    count = draw(st.integers(2, 8))
    chunks: dict[str, Chunk] = {}
    for number in range(count):
        arguments: dict[str, Any] = {"does": draw(st.sampled_from(does))}
        if number:
            for kind in draw(st.lists(st.sampled_from(KINDS), max_size=2, unique=True)):
                named = draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=2, unique=True))
                arguments[kind] = [{"test": f"s{one}"} for one in named]
        if number < count - 1 and draw(st.integers(0, 5)) == 0:
            arguments["prereq"] = [{"test": f"s{draw(st.integers(number + 1, count - 1))}"}]
        chunk = Chunk(state="test", fun="do", id=f"s{number}", name=f"s{number}", sls="web", arguments=arguments)
        chunks[chunk.tag] = chunk
    return chunks


def both(chunks: Mapping[str, Chunk]) -> tuple[dict[str, StateResult], dict[str, StateResult]]:
    """What is predicted, and what happens then."""
    predicted = run(chunks, World(test=True), test=True, clock=lambda: 0.0)
    return predicted, run(chunks, World(test=False), test=False, clock=lambda: 0.0)


def named_by(chunk: Chunk) -> set[str]:
    items = [item for kind in (*KINDS, "prereq") for item in chunk.arguments.get(kind, ())]
    return {item["test"] for item in items}


@settings(max_examples=examples(400), deadline=None)
@given(graphs(tuple(one for one in DOES if "doubt" not in one)))
def test_what_is_predicted_to_change_is_what_changes(chunks: dict[str, Chunk]) -> None:
    predicted, happened = both(chunks)
    assert {key for key, one in predicted.items() if one.result is None} == {
        key for key, one in happened.items() if one.changes
    }
    assert {key: one.changes for key, one in predicted.items()} == {key: one.changes for key, one in happened.items()}
    assert {key: one.result is False for key, one in predicted.items()} == {
        key: one.result is False for key, one in happened.items()
    }


@settings(max_examples=examples(400), deadline=None)
@given(graphs(DOES))
def test_what_is_not_known_is_what_hangs_on_something_unknown(chunks: dict[str, Chunk]) -> None:
    predicted, happened = both(chunks)
    doubtful = {chunk.id for chunk in chunks.values() if str(chunk.arguments["does"]).startswith("doubt")}
    linked = {chunk.id: named_by(chunk) for chunk in chunks.values()}
    while True:
        before = {one for own_id in doubtful for one in linked[own_id] if one in prereqs(chunks, own_id)}
        more = {own_id for own_id, others in linked.items() if others & doubtful} | before
        if more <= doubtful:
            break
        doubtful |= more
    for key in {*predicted, *happened}:
        own_id = key.split("_|-")[1].removeprefix("listener_")
        if own_id not in doubtful:
            assert (predicted[key].result is None) == bool(happened[key].changes)


def prereqs(chunks: Mapping[str, Chunk], own_id: str) -> set[str]:
    """Those before which a state runs, which do not run where it fails."""
    return {
        item["test"] for chunk in chunks.values() if chunk.id == own_id for item in chunk.arguments.get("prereq", ())
    }
