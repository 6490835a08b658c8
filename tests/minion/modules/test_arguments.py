"""Arguments of execution functions against Salt's own, as tools/oracle/arguments.py recorded them from its modules.

Each argument is taken and used, or known to mean nothing here, or refused: none is swallowed, and none stands where
Salt has another one. A test asks one thing of all functions, and names those of which it does not hold.
"""

import ast
import functools
import inspect
import json
import textwrap

import pytest

from minion.arguments import spec_of
from minion.execution import BadArguments, Context, Modules, language
from minion.execution.loader import find, names
from tools.oracle.arguments import RECORDED_MODULES

SALT = json.loads(RECORDED_MODULES.read_text())
ALL = [name for name in names() if name not in language.DOCS]
KNOWN = [name for name in names() if name in SALT]
PASSED_ON = {"pip.install": "the state", **dict.fromkeys(
    ("file.mknod_blkdev", "file.mknod_chrdev", "file.mknod_fifo"), "its sibling"
)}  # fmt: skip
"""Functions that pass on what they are given to one that takes or refuses each name."""
STARRED = {"args", "module", "path"}
"""Salt's names for arguments that are given without one."""
REFUSING = [(full, name) for full in names() for name in sorted(spec_of(find(full), 1).refused)]


@functools.cache
def _spec(full):
    return spec_of(find(full), 1)


def _passed_over(full):
    own = {one.name for one in _spec(full).all}
    swallows = _spec(full).takes_anything and full not in PASSED_ON and full not in language.DOCS
    return {name for name in SALT[full]["arguments"] if name not in STARRED | own} if swallows else set()


def test_each_argument_of_salts_is_known():
    assert len(KNOWN) > 1000
    assert {full: missing for full in KNOWN if (missing := _passed_over(full))} == {}


def _first(full):
    """Our arguments and Salt's, as far as both have some."""
    if _spec(full).rest is not None or {*SALT[full]["arguments"]} <= STARRED:
        return [], []  # as many as are given, all of a kind
    ours, theirs = list(_spec(full).order), SALT[full]["arguments"]
    common = min(len(ours), len(theirs))
    return ours[:common], theirs[:common]


def test_arguments_stand_where_salts_do():
    found = {full: _first(full) for full in KNOWN if full not in language.DOCS}
    assert {full: ours for full, (ours, _) in found.items()} == {full: theirs for full, (_, theirs) in found.items()}


def _loaded(call):
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(call))))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _unused(full):
    call = find(full)
    if call.__name__ == "<lambda>":
        return set()
    own = [one for one in inspect.signature(call).parameters.values() if one.kind is not one.VAR_KEYWORD]
    return {one.name for one in own if one.name in _spec(full).parameters} - _loaded(call)


def test_each_argument_that_is_taken_is_used():
    asked = [name for name in KNOWN if name not in language.DOCS]
    assert {full: unused for full in asked if (unused := _unused(full))} == {}


@pytest.mark.parametrize("full", sorted({full for full, _ in REFUSING}))
def test_what_is_refused_is_said(full):
    for name in [name for each, name in REFUSING if each == full]:
        with pytest.raises(BadArguments, match=name):
            Modules(Context(minion_id="x")).call(full, (), {name: "other"})


def test_what_the_function_does_not_get_has_a_default():
    without = [
        (full, one.name)
        for full in ALL
        for one in _spec(full).all
        if not one.taken and one.default is inspect.Parameter.empty
    ]
    assert without == []


def test_positions_and_names_are_salts():
    modules = Modules(Context(minion_id="x"))
    assert modules.call("network.ip_in_subnet", (), {"ip_addr": "10.0.0.1", "cidr": "10.0.0.0/8"}) is True
    assert modules.call("network.ip_in_subnet", ("10.0.0.1", "10.0.0.0/8")) is True
    with pytest.raises(BadArguments, match="given twice"):
        modules.call("network.ip_in_subnet", ("10.0.0.1",), {"ip_addr": "10.0.0.1"})
    with pytest.raises(BadArguments, match="debconf"):
        modules.call("pkg.install", ("x", False, None, False, "answers"))


@pytest.mark.parametrize(
    ("fun", "args", "said"),
    [
        ("file.uid_to_user", ["nobody"], "uid must be a number, not 'nobody'"),
        ("file.gid_to_group", [["0"]], "gid must be a number"),
        ("network.ping", ["localhost", "soon"], "timeout must be a number or False"),
        ("saltutil.signal_job", ["1", "NONE"], "'NONE' is no signal"),
        ("saltutil.signal_job", ["1", [9]], "is no signal"),
        ("state.low", [{"state": "test", "fun": "nop"}], "data must be a mapping with state, fun and name"),
        ("pkg.install", [{"sources": "a.deb"}], "sources must be formatted as a list"),
    ],
)
def test_a_bad_value_is_named_before_the_function_runs(fun, args, said):
    args, kwargs = ((), args[0]) if fun == "pkg.install" else (args, {})
    with pytest.raises(BadArguments) as caught:
        Modules(Context(minion_id="x")).call(fun, args, kwargs)
    assert said in str(caught.value)


def test_numbers_and_their_text_name_users():
    modules = Modules(Context(minion_id="x"))
    assert modules.call("file.uid_to_user", (0,)) == modules.call("file.uid_to_user", ("0",)) == "root"
    assert modules.call("file.gid_to_group", ("",)) == ""


def _of_any_value(full):
    """How the arguments of any value are declared."""
    call = find(full)
    declared = inspect.get_annotations(call)
    for group in _spec(full).groups.values():
        declared |= inspect.get_annotations(group)
    spec = _spec(full)
    free = {name for name, one in spec.parameters.items() if one.single and one.convert is None} - {*spec.ignored}
    declared = {name: getattr(said, "__forward_arg__", said) for name, said in declared.items()}  # of a NamedTuple
    return {declared.get(name, "AnyValue") for name in free}


def test_an_argument_of_any_value_is_declared_as_one():
    assert {full: found for full in ALL if not (found := _of_any_value(full)) <= {"AnyValue"}} == {}
