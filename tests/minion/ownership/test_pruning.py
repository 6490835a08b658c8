"""Prune on real files: what is owned, what is left, in which order it goes, and when all of it is held back."""

from __future__ import annotations

import time
from typing import Any

import pytest

from highstate.desired import Desired, chunk_keys
from highstate.files import MemoryFiles
from highstate.run.ports import MemoryJournal, RunHooks
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine import registry
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.ownership.inventory import Inventory
from minion.ownership.resources import _INVERSES, resources_of
from minion.worker.owned_run import OwnedRun


def managed(path, **arguments: Any) -> Chunk:
    own = {"contents": "text", "makedirs": True, **arguments}
    return Chunk(state="file", fun="managed", id="conf", name=str(path), sls="app", arguments=own)


class Minion:
    """A machine with an inventory, on which documents are run as the worker does it."""

    def __init__(self, cache, files: dict[str, bytes] | None = None) -> None:
        self.cache = cache
        self.files = MemoryFiles({"base": files or {}})

    def apply(self, *chunks: Chunk, prune: str = "on", test: bool = False, limit: Any = "100%", journal=None):
        """Run a document; the results of what was pruned by name, and the report."""
        machine = LocalMachine(sources_port=self.files, opts={"hosts.file": str(self.cache / "hosts")})
        owned = OwnedRun(self.cache, machine, writes=not test)
        engine = StateEngine(owned.machine, test=test)
        desired = Desired(chunks=chunk_keys(chunks), drift={"prune": {"mode": prune, "limit": limit}})
        results = run(desired.chunks, owned.states(engine), test=test, clock=time.time)
        pruned = owned.after(desired, engine, results, journal or MemoryJournal(), RunHooks())
        self.report, self.results = pruned.report, results
        return {result.name: result for result in pruned.results.values()}

    @property
    def owned(self) -> list[str]:
        return [each.key for each in Inventory(self.cache / "inventory", writes=False)]


@pytest.fixture
def minion(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    return Minion(cache)


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "root"
    path.mkdir()
    return path


OTHER = Chunk(state="test", fun="nop", id="other", name="other", sls="app")


def test_a_file_goes_with_the_folders_that_were_made_for_it(minion, root):
    path = root / "a/b/conf"
    minion.apply(managed(path), OTHER)
    assert minion.owned == [f"file:{root}/a", f"file:{root}/a/b", f"file:{path}"]
    foretold = minion.apply(OTHER, test=True)
    assert [result.result for result in foretold.values()] == [None, None, None]
    assert path.exists()
    done = minion.apply(OTHER)
    assert list(done) == list(foretold) == [str(path), f"{root}/a/b", f"{root}/a"]
    assert [one.changes for one in done.values()] == [one.changes for one in foretold.values()]
    assert list(root.iterdir()) == []
    assert "conf (file.managed) of app made it" in done[str(path)].comment
    assert minion.owned == []
    assert minion.apply(OTHER) == {}


def test_what_was_there_is_not_owned(minion, root):
    path = root / "conf"
    path.write_text("mine\n")
    minion.apply(managed(path), OTHER)
    assert path.read_text() == "text\n"
    assert minion.owned == []
    assert minion.apply(OTHER) == {}
    assert path.exists()


def test_a_file_that_a_link_takes_the_place_of_is_not_owned(minion, root):
    path = root / "conf"
    path.write_text("mine\n")
    link = Chunk(state="file", fun="symlink", id="l", name=str(path), sls="", arguments={"target": "/x", "force": True})
    minion.apply(link, OTHER)
    assert path.is_symlink()
    assert minion.owned == []


def test_another_id_and_another_sls_own_the_same(minion, root):
    path = root / "conf"
    minion.apply(managed(path), OTHER)
    again = Chunk(state="file", fun="managed", id="x", name=f"{root}/./conf", sls="new", arguments={"contents": "text"})
    assert minion.apply(again, OTHER) == {}
    assert path.exists()
    assert list(minion.apply(OTHER)) == [str(path)]


def test_content_that_somebody_changed_is_left_with_its_folder(minion, root):
    path = root / "a/conf"
    minion.apply(managed(path), OTHER)
    path.write_text("edited\n")
    assert minion.apply(OTHER) == {}
    assert {one.resource: (one.fate, one.why) for one in minion.report.resources} == {
        f"file:{path}": ("left", "it is not as the state left it: somebody changed it"),
        f"file:{root}/a": ("left", "there is something else in it: conf"),
    }
    assert path.exists()


def test_what_a_later_push_and_another_state_write_is_known(minion, root):
    path = root / "conf"
    minion.apply(managed(path), OTHER)
    more = Chunk(state="file", fun="append", id="more", name=str(path), sls="", arguments={"text": "more"})
    minion.apply(managed(path, contents="other", replace=False), more, OTHER)
    assert path.read_text() == "text\nmore\n"
    minion.apply(OTHER)
    assert not path.exists()


def test_a_run_heals_what_kill_9_kept_from_the_inventory(minion, root):
    path = root / "conf"
    minion.apply(managed(path), OTHER)
    path.write_text("new\n")  # as a run that was killed right after the write left it
    minion.apply(managed(path, contents="new"), OTHER)
    minion.apply(OTHER)
    assert not path.exists()


def test_an_entry_of_something_that_was_never_made_is_forgotten(minion, root):
    path = root / "conf"
    minion.apply(managed(path), OTHER)
    path.unlink()
    assert minion.apply(OTHER) == {}
    assert minion.owned == []


def test_a_backup_beside_a_file_is_nobodys(minion, root):
    path = root / "conf"
    minion.apply(managed(path, contents="a=1"), OTHER)
    edit = Chunk(state="file", fun="replace", id="e", name=str(path), sls="")
    edit = Chunk(**{**{name: getattr(edit, name) for name in ("state", "fun", "id", "name", "sls")},
                    "arguments": {"pattern": "1", "repl": "2", "backup": ".bak"}})  # fmt: skip
    minion.apply(managed(path, contents="a=1", replace=False), edit, OTHER)
    assert (root / "conf.bak").exists()
    minion.apply(OTHER)
    assert (root / "conf.bak").exists()
    assert not path.exists()


def test_a_path_that_another_state_uses_stays(minion, root):
    path = root / "home"
    minion.apply(Chunk(state="file", fun="directory", id="d", name=str(path), sls=""), OTHER)
    user = Chunk(state="test", fun="nop", id="u", name="bob", sls="", arguments={"home": str(path)})
    assert minion.apply(user) == {}
    assert path.is_dir()


def test_files_that_a_folder_of_the_tree_no_longer_has_go(minion, root):
    minion.files = MemoryFiles({"base": {"web/a": b"a", "web/sub/b": b"b"}})
    copied = Chunk(state="file", fun="recurse", id="w", name=f"{root}/web", sls="", arguments={"source": "salt://web"})
    minion.apply(copied)
    assert (root / "web/sub/b").exists()
    minion.files = MemoryFiles({"base": {"web/a": b"a"}})
    assert list(minion.apply(copied)) == [f"{root}/web/sub/b", f"{root}/web/sub"]
    assert (root / "web/a").exists()


def test_report_and_off_remove_nothing(minion, root):
    path = root / "conf"
    minion.apply(managed(path), OTHER)
    assert minion.apply(OTHER, prune="report") == {}
    assert [one.fate for one in minion.report.resources] == ["reported"]
    minion.apply(OTHER, prune="off")
    assert minion.report is None
    assert path.exists()


def test_more_than_the_limit_and_an_empty_document_are_held_back(minion, root):
    paths = [root / str(number) for number in range(30)]
    minion.apply(*map(managed, paths), OTHER)
    assert minion.apply(OTHER, limit=None) == {}
    assert minion.report.held == "30 of 30 resources are named no more, over the limit of 20"
    assert minion.apply(*map(managed, paths[:18]), limit=None) == {}
    assert "over the limit of 25%" in minion.report.held
    assert len(minion.apply(*map(managed, paths[:24]), limit=None)) == 6
    assert minion.apply(limit="100%") == {}
    assert minion.report.held == "the highstate is empty"
    assert len(minion.apply(OTHER, limit=100)) == 24


def test_a_run_that_failed_removes_nothing(minion, root):
    path = root / "conf"
    minion.apply(managed(path), OTHER)
    failing = Chunk(state="test", fun="fail_without_changes", id="f", name="f", sls="")
    assert minion.apply(failing) == {}
    assert minion.report.held == "a state of the run failed"
    assert path.exists()


def test_every_inverse_is_a_state_that_takes_what_it_is_given():
    for full, inverses in _INVERSES.items():
        state, _, fun = full.partition(".")
        registry.find(state, fun, "")
        for inverse in inverses:
            if inverse.fun:
                function = registry.find(*inverse.fun.split("."), "")
                names = set(inverse.carried) - {"*"} | inverse.fixed.keys()
                if "arguments" not in function.spec.parameters:
                    assert names <= set(function.spec.parameters), (full, names - set(function.spec.parameters))


def test_each_package_and_both_sides_of_a_service_are_resources():
    packages = Chunk(
        state="pkg", fun="installed", id="p", name="p", sls="", arguments={"pkgs": ["a", {"b:amd64": "1"}]}
    )
    assert [(one.key, one.name) for one in resources_of(packages)] == [("pkg:a", "a"), ("pkg:b", "b:amd64")]
    service = Chunk(state="service", fun="running", id="s", name="s.service", sls="", arguments={"enable": True})
    assert [(one.key, one.inverse) for one in resources_of(service)] == [
        ("service:s", "service.dead"),
        ("service:s", "service.disabled"),
    ]


def test_what_a_state_takes_away_is_nobodys_when_somebody_brings_it_again(minion):
    hosts = minion.cache / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    named = {"state": "host", "id": "h", "name": "db", "sls": "", "arguments": {"ip": "10.0.0.1"}}
    minion.apply(Chunk(fun="present", **named), OTHER)
    assert minion.owned == ["host:db:10.0.0.1"]
    minion.apply(Chunk(fun="absent", **named), OTHER)
    assert minion.owned == []
    hosts.write_text("127.0.0.1 localhost\n10.0.0.1 db\n")
    assert minion.apply(OTHER) == {}
    assert "db" in hosts.read_text()


def test_an_address_of_hosts_goes_and_the_others_stay(minion):
    hosts = minion.cache / "hosts"
    hosts.write_text("127.0.0.1 localhost\n10.0.0.2 db\n")
    state = Chunk(state="host", fun="present", id="h", name="db", sls="", arguments={"ip": ["10.0.0.1", "10.0.0.2"]})
    minion.apply(state, OTHER)
    assert minion.owned == ["host:db:10.0.0.1"]
    assert [one.result for one in minion.apply(OTHER).values()] == [True]
    assert hosts.read_text().split() == ["127.0.0.1", "localhost", "10.0.0.2", "db"]
