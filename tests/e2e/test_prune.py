"""What each state function with an inverse brings into being is removed when no state names it, in a fresh root."""

import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from fresh_roots import in_fresh_root

from highstate.desired import Desired, chunk_keys
from highstate.files import MemoryFiles
from highstate.run.ports import MemoryJournal, RunHooks
from highstate.run.runner import run
from highstate.types import Chunk
from minion.config.settings import static_grains
from minion.execution import Context
from minion.execution.state_engine import engine_of
from minion.grains import collect
from minion.ownership.resources import resources_of
from minion.worker.owned_run import OwnedRun
from tools.docs.cases.case import fits_a_root
from tools.docs.state_cases import CASES
from tools.docs.states_table import installed, placed, run_hooks

pytestmark = [
    pytest.mark.fresh_root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt"),
]

OTHER = Chunk(state="test", fun="nop", id="other", name="other", sls="case")
REMOVED = (
    "alias.present",
    "alternatives.install",
    "beacon.present",
    "cron.env_present",
    "cron.present",
    "file.copy",
    "file.directory",
    "file.hardlink",
    "file.managed",
    "file.recurse",
    "file.serialize",
    "file.symlink",
    "file.touch",
    "grains.present",
    "group.present",
    "host.present",
    "mount.fstab_present",
    "mount.mounted",
    "pip.installed",
    "pkg.installed",
    "pkgrepo.managed",
    "schedule.present",
    "service.enabled",
    "service.running",
    "ssh_auth.present",
    "ssh_known_hosts.present",
    "user.present",
)
"""State functions of whose cases something new comes that has to go again."""
TRIED_ELSEWHERE = {
    "iptables.append": "tests/minion/states/test_iptables.py",
    "iptables.chain_present": "tests/minion/states/test_iptables.py",
    "iptables.insert": "tests/minion/states/test_iptables.py",
}
"""What has no case in a root of its own, as it may not be done to the machine of the tests."""


def _chunk(case) -> Chunk:
    state, _, fun = case.fun.partition(".")
    return Chunk(state=state, fun=fun, id="case", name=case.name, sls="case", arguments=dict(case.arguments))


def _apply(case, folder: Path, *chunks: Chunk, test: bool):
    """Results of what was taken away, the report, and results of the states."""
    (folder / "cache").mkdir(exist_ok=True)
    grains = {**collect(), "id": "case", **case.grains, **static_grains(folder / "etc")}
    context = Context(
        minion_id="case",
        opts={"id": "case", "config_dir": str(folder), "conf_file": str(folder / "minion")},
        make_grains=lambda: grains,
        make_pillar=lambda: case.pillar,
        make_files=lambda: MemoryFiles({"base": {path: text.encode() for path, text in case.tree.items()}}),
        backup_dir=str(folder / "cache/file_backup"),
        cachedir=str(folder / "cache"),
        config_dir=str(folder / "etc"),
        fire=lambda tag, data: "",
    )
    owned = OwnedRun(folder / "cache", context.machine, writes=not test)
    engine = engine_of(context, owned.machine, test=test)
    desired = Desired(chunks=chunk_keys(chunks), drift={"prune": {"mode": "on", "limit": "100%"}})
    results = run(desired.chunks, owned.states(engine), test=test, clock=time.time)
    pruned = owned.after(desired, engine, results, MemoryJournal(), RunHooks())
    return pruned, results


def _wrong(case) -> list[str]:
    """What is wrong with the removal of what a case made; empty where nothing is."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-case-")))
        case = placed(case, {"{top}": str(folder / "top"), "{url}": "", "{hostname}": os.uname().nodename})
        stack.enter_context(run_hooks(case, folder / "top"))
        chunk = _chunk(case)
        _, made = _apply(case, folder, chunk, OTHER, test=False)
        if any(one.result is False for one in made.values()):
            return [f"{case.fun}: {[one.comment for one in made.values()]}"]
        foretold, _ = _apply(case, folder, OTHER, test=True)
        done, _ = _apply(case, folder, OTHER, test=False)
        left = [f"{one.resource} {one.fate} {one.why}" for one in (done.report.resources if done.report else ())]
        if not done.results:
            return [f"{case.fun}: nothing was removed; left: {left}"]
        wrong = [f"{case.fun}: {key}: {one.comment}" for key, one in done.results.items() if one.result is not True]
        for key, one in done.results.items():
            said = foretold.results.get(key)
            if (
                said is None
                or said.result is not None
                or not all(one.changes.get(k) == v for k, v in said.changes.items())
            ):
                wrong.append(f"{case.fun}: {key}: foretold {said}, done {one}")
        again, _ = _apply(case, folder, OTHER, test=False)
        return wrong + [f"{case.fun}: again {key}" for key in again.results]


def wrong_removals(module: str) -> str:
    """Of the cases of a module, a line each."""
    cases = [case for case in CASES if case.fun.partition(".")[0] == module and case.fun in REMOVED and not case.fails]
    cases = [case for case in cases if fits_a_root(case)]
    new = [case for case in cases if case.name.removeprefix("{top}/") not in case.files]
    firsts = {case.fun: case for case in reversed(new)}
    with installed(sorted({one for case in cases for one in case.needs})):
        return "\n".join(line for case in firsts.values() for line in _wrong(case))


@pytest.mark.parametrize("module", sorted({fun.partition(".")[0] for fun in REMOVED}))
def test_what_a_state_made_goes_when_no_state_names_it(tmp_path, module):
    assert in_fresh_root(tmp_path, wrong_removals, module) == ""


def test_each_inverse_is_tried():
    cases = [case for case in CASES if fits_a_root(case)]
    tried = {case.fun for case in cases}
    with_inverse = {case.fun for case in cases if any(one.inverse for one in resources_of(_chunk(case)))}
    assert with_inverse <= {*REMOVED, "pkg.latest"}, with_inverse - {*REMOVED}
    assert {*REMOVED} <= tried
    assert not TRIED_ELSEWHERE.keys() & tried
    for fun, path in TRIED_ELSEWHERE.items():
        assert f'"{fun}"' in (Path(__file__).parents[2] / path).read_text()
