"""What a revert does not take back: every state function that Saltern knows is judged."""

from importlib import resources

import pytest

from controller.preview.irreversible import HARMLESS, irreversible, known_functions
from controller.reconcile.plan import ChangeKind, ChunkChange
from highstate.types import Chunk

KNOWN = frozenset(resources.files("highstate.lint").joinpath("saltern_states.txt").read_text().split())


def change(function, kind=ChangeKind.ADDED, **arguments):
    state, fun = function.split(".")
    return ChunkChange(
        kind=kind, key="x", chunk=Chunk(state=state, fun=fun, id="x", name="x", sls="x", arguments=arguments)
    )


def test_every_state_function_is_in_one_table():
    assert known_functions() == KNOWN
    assert not [name for name in HARMLESS if irreversible(change(name))]


@pytest.mark.parametrize("name", ["pkg.purged", "pkg.removed", "user.absent", "file.absent", "cmd.run", "module.run"])
def test_what_deletes_or_runs_something_is_irreversible(name):
    assert all(irreversible(change(name, kind)) for kind in ChangeKind if kind is not ChangeKind.REMOVED)
    assert not irreversible(change(name, ChangeKind.REMOVED)), "a state that is removed does nothing"


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("git.latest", {"force_reset": True}, True),
        ("git.latest", {}, False),
        ("file.directory", {"clean": True}, True),
        ("file.recurse", {"clean": False}, False),
        ("file.managed", {}, False),
        ("mysql_database.absent", {}, True),
        ("blockdev.formatted", {}, True),
        ("own.configured", {}, False),
    ],
)
def test_arguments_and_names_decide(name, arguments, wanted):
    assert bool(irreversible(change(name, **arguments))) is wanted
