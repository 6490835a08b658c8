"""Rigs for whole journeys: a real controller, real agents, a real remote, in a folder of each test's own."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import prepared
import pytest
from forges.github import FakeGitHub
from relayed_rig import RelayRig
from rig import Rig

MINIONS = {"web1": {"roles": ["web"]}, "web2": {"roles": ["web"]}, "db1": {"roles": ["db"]}}
TREE = Path(__file__).parent / "tree"


@contextlib.contextmanager
def rig_maker():
    """A function that makes a rig which is up; all are taken down at the end, and no turn of their loops was long."""
    rigs = []

    def make(minions=None, before_minions=lambda _: None, **controller):
        folder = Path(tempfile.mkdtemp(prefix="saltern-"))  # short: a unix socket's path has to fit into 107 bytes
        rig = Rig(folder, MINIONS if minions is None else minions, TREE, controller, forked=True)
        rigs.append(rig)
        rig.up(before_minions)
        return rig

    yield make
    long_turns = []
    for rig in rigs:
        rig.stop_all()
        long_turns += rig.long_turns()
        shutil.rmtree(rig.directory, ignore_errors=True)
    assert long_turns == [], "the controller's event loop computed for more than a second in one turn"


@pytest.fixture(scope="module")
def folder():
    """A folder of a module; short: a unix socket's path has to fit into 107 bytes."""
    made = Path(tempfile.mkdtemp(prefix="saltern-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def made_workers(tmp_path_factory):
    """Where controllers keep the worker, which one of them makes for all."""
    return tmp_path_factory.mktemp("workers")


@pytest.fixture
def make_rig():
    """Makes rigs of one test."""
    with rig_maker() as make:
        yield make


@pytest.fixture(scope="module")
def make_shared_rig():
    """Makes rigs that the tests of a module share."""
    with rig_maker() as make:
        yield make


@pytest.fixture
def forge():
    """A forge on this machine."""
    with FakeGitHub(app=True) as fake:
        yield fake


@pytest.fixture
def swarm(tmp_path):
    """Starts a swarm; (its process, the file with its summary)."""
    started = []

    def start(rig, *words):
        publish, request = rig.wire_ports
        words = ["swarm", "--controller-key", rig.controller_key, "--out", "json", *words]
        words += ["--master-port", str(request), "--publish-port", str(publish)]
        with (tmp_path / "summary").open("wb") as out, (tmp_path / "errors").open("wb") as errors:
            started.append(prepared.start(words, {}, out, errors))
        return started[-1]

    yield start
    for each in started:
        each.terminate()
        each.wait(10)


@pytest.fixture
def relayed():
    """A rig behind a relay, which is up."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    made = RelayRig(folder / "1")
    try:
        made.up()
        yield made
    finally:
        made.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)
