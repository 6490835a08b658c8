"""What of a policy is in the documents: that of the entries whose targets mean a minion, too."""

import pytest
from build_rig import MINIONS, revision, tree

from controller.compilation.compile_requests import CompileRequests
from controller.policy.reading import read_policy
from controller.reconcile.live import LiveRevision
from controller.store import Store
from controller.store.records import MinionRecord
from gitfs.source import Trees
from highstate.compile import CompileOptions
from highstate.files import MemoryFiles


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("shadow: true", {"shadow": True}),
        ("prune: 'off'", {"prune": {"mode": "off"}}),
        ("prune_limit: 3", {"prune": {"mode": "report", "limit": 3}}),
        ("drift: {watch: true}", {"watch": True}),
    ],
)
def test_an_entry_for_some_reaches_their_documents(tmp_path, entry, said):
    files = tree(**{"saltern.yaml": f"policies: [{{name: a, target: 'web*', {entry}}}]\n"})
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        requests = CompileRequests(store=store, live=LiveRevision(), language=CompileOptions())
        trees = Trees(files=files, pillar=MemoryFiles({}), revision=revision("a"))
        minions = [MinionRecord(id=each.id, grains=each.grains) for each in MINIONS]
        found = requests.request(trees, minions, policy=read_policy(files, {}))
    assert found.drifts == {minion: {**found.drift, **said} for minion in ("web1", "web2")}
    assert entry.partition(":")[0] in found.drift_rules
