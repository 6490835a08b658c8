"""Arguments of execution functions against Salt's own, as tools/oracle/arguments.py recorded them from its modules.

Each argument is taken and used, or known to mean nothing here, or refused: none is swallowed, and none stands where
Salt has another one.
"""

import ast
import inspect
import json
import textwrap

import pytest

from minion.execution import BadArguments, Context, Modules, language
from minion.execution.loader import find, names
from minion.execution.parameters import idle
from minion.execution.signatures import ORDERS, REFUSED, RENAMED
from tools.oracle.arguments import RECORDED_MODULES

SALT = json.loads(RECORDED_MODULES.read_text())
KNOWN = [name for name in names() if name in SALT]
PASSED_ON = {
    **dict.fromkeys(("cmd.run", "cmd.run_all", "cmd.run_stdout", "cmd.run_stderr", "cmd.retcode", "cmd.shell"), "cmd"),
    "cmd.script": "cmd", "cmd.script_retcode": "cmd", "pip.install": "the state", "file.check_managed": "its sibling",
    "file.mknod_blkdev": "its sibling", "file.mknod_chrdev": "its sibling", "file.mknod_fifo": "its sibling",
}  # fmt: skip
"""Functions that pass on what they are given to one that takes or refuses each name."""
STARRED = {"args", "module", "path"}
"""Salt's names for arguments that are given without one."""


def _own(full):
    return list(inspect.signature(find(full)).parameters.values())[1:]


def _kinds(full, *kinds):
    return [one.name for one in _own(full) if one.kind.name in kinds]


@pytest.mark.parametrize("full", KNOWN)
def test_each_argument_of_salts_is_known(full):
    renamed = RENAMED.get(full, {})
    own = {one.name for one in _own(full)}
    missing = {
        name
        for name in SALT[full]["arguments"]
        if name not in STARRED and renamed.get(name, name) not in own | idle(full) | {*REFUSED.get(full, ())}
    }
    swallows = _kinds(full, "VAR_KEYWORD") and full not in PASSED_ON and full not in language.DOCS
    assert not (missing if swallows else ()), "these would be passed over"


@pytest.mark.parametrize("full", KNOWN)
def test_arguments_stand_where_salts_do(full):
    if full in ORDERS:
        assert list(ORDERS[full]) == SALT[full]["arguments"]
        return
    if _kinds(full, "VAR_POSITIONAL") or {*SALT[full]["arguments"]} <= STARRED:
        return  # as many as are given, all of a kind
    ours = _kinds(full, "POSITIONAL_OR_KEYWORD")
    theirs = SALT[full]["arguments"]
    common = min(len(ours), len(theirs))
    assert ours[:common] == theirs[:common] or full in language.DOCS


def _loaded(call):
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(call))))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize("full", [name for name in KNOWN if name not in language.DOCS])
def test_each_argument_that_is_taken_is_used(full):
    call = find(full)
    if getattr(call, "__wrapped__", None) or call.__name__ == "<lambda>":
        return
    given = {one.name for one in _own(full) if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    assert not given - _loaded(call) - idle(full) - {*REFUSED.get(full, ())} or hasattr(call, "__signature__")


@pytest.mark.parametrize("full", sorted(REFUSED))
def test_what_is_refused_is_said(full):
    for name in REFUSED[full]:
        with pytest.raises(BadArguments, match=name):
            Modules(Context(minion_id="x")).call(full, (), {name: "other"})


def test_positions_and_names_are_salts():
    modules = Modules(Context(minion_id="x"))
    assert modules.call("network.ip_in_subnet", (), {"ip_addr": "10.0.0.1", "cidr": "10.0.0.0/8"}) is True
    assert modules.call("network.ip_in_subnet", ("10.0.0.1", "10.0.0.0/8")) is True
    with pytest.raises(BadArguments, match="given twice"):
        modules.call("network.ip_in_subnet", ("10.0.0.1",), {"ip_addr": "10.0.0.1"})
    with pytest.raises(BadArguments, match="debconf"):
        modules.call("pkg.install", ("x", False, None, False, "answers"))
