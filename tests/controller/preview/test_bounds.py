"""What a hostile branch may have a preview hold: each minion with large changes of its own."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path

import msgspec
from msgspec import structs

from controller.compilation.compile_messages import CompiledMinion
from controller.config.limits import PreviewLimits
from controller.observe.redactor import Redactor
from controller.policy.policy import PreviewPolicy
from controller.preview.comparison import Comparer, Comparison
from controller.preview.origins import Origins
from controller.preview.reporting import Known, completed
from controller.preview.repository_places import RepositoryPlaces
from controller.preview.sides.base_side import BaseSide
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.plans import FieldDiff
from controller.schema.reports import PreviewReport, ResourceChange
from controller.store import Store
from gitfs.tree.snapshot import Snapshot
from highstate.desired import Desired
from highstate.types import Chunk
from wire.patch import digest_of_packed

MIB = 1024 * 1024
MINIONS = 1000
STATES = 24
SIZE = 8000
"""Characters of each state, of which no two are equal."""
LIMITS = PreviewLimits(change_bytes=4 * MIB, document_bytes=4 * MIB, minion_change_bytes=MIB)
NO_FILES = Snapshot(environments={})
APART = BaseSide(live=False, refused=False, applied={}, document=lambda _: None)


def compiled(minion: str, states: int, size: int = SIZE) -> CompiledMinion:
    chunks = [
        Chunk(
            state="file",
            fun="managed",
            id=f"f{number}",
            name=f"/f{number}",
            sls="web",
            arguments={"contents": minion + "x" * size},
        )
        for number in range(states)
    ]
    document = msgspec.msgpack.encode(Desired(chunks={each.tag: each for each in chunks}).as_document())
    return CompiledMinion(minion_id=minion, document=document, digest=digest_of_packed(document), states=states)


def compared(folder: Path, minions: int, states: int, size: int = SIZE, limits: PreviewLimits = LIMITS) -> Comparison:
    found = Comparison(minions=minions, side=APART)
    with Store(f"sqlite:///{folder}/store.sqlite") as store:
        comparer = Comparer.of(Redactor(store, "key"), threading.Event(), limits, live=True)
        for start in range(0, minions, 50):
            names = [f"m{number}" for number in range(start, min(start + 50, minions))]
            bases = [compiled(name, 0) for name in names]
            comparer.add(found, bases, [compiled(name, states, size) for name in names], SourceDifferences(_no_blob))
            comparer.add_rendered(found, [], [])
    return found


def _no_blob(oid: str, length: int) -> None:
    return None


def test_a_thousand_minions_with_large_changes_stay_within_the_limits(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        found = compared(tmp_path, MINIONS, STATES)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MINIONS * STATES * SIZE > 180 * MIB
    assert found.change_bytes <= LIMITS.change_bytes * 5 // 4
    assert found.document_bytes <= LIMITS.document_bytes
    assert kept < 48 * MIB
    assert peak < 144 * MIB
    assert len(found.changes) == MINIONS
    assert found.shortened + len(found.cut) >= MINIONS - 25


def test_states_that_are_left_out_are_told_and_break_the_rules(tmp_path: Path) -> None:
    limits = PreviewLimits(change_bytes=100_000, minion_change_bytes=10_000)
    found = compared(tmp_path, 20, 200, 10, limits)
    report = PreviewReport(made_at=0.0, base="a", head="b", minions=20)
    base = PreviewPolicy(forbid=("cmd.*",))
    known = Known(grains={f"m{number}": {} for number in range(20)})
    places = RepositoryPlaces((NO_FILES, NO_FILES), (NO_FILES, NO_FILES), {})
    origins = Origins(NO_FILES, NO_FILES, {}, places)
    done = completed(report, found, known, (base, base), origins, (NO_FILES, NO_FILES))
    assert any("minion_change_bytes" in text for text in done.problems)
    assert [each.rule for each in done.violations] == ["previews.forbid"]
    assert {each.note for each in done.classes} <= {
        "more states change here than a preview shows",
        "too much changes to be shown here",
    }
    assert sum(len(each.minions) for each in done.classes) == 20


def test_equal_changes_are_held_once(tmp_path: Path) -> None:
    found = Comparison(minions=2, side=APART)
    resource = ResourceChange(action="added", key="k", title="t", function="f", fields=(FieldDiff(field="a", new="x"),))
    for minion in ("m1", "m2"):
        found.changes[minion] = (structs.replace(resource),)
        found.keep(minion, LIMITS)
    assert found.changes["m1"] is found.changes["m2"]
