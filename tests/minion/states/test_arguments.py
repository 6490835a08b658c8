"""Arguments of states against Salt's own, as tools/oracle/arguments.py recorded them from its modules.

Each argument is taken and used, or known to mean nothing here, or refused: none is swallowed. A test asks one thing of
all states, and names those of which it does not hold.
"""

import ast
import importlib
import inspect
import json
import textwrap

from minion.arguments import spec_of
from minion.engine.registry import find, names
from minion.engine.unsupported import UNSUPPORTED
from tools.oracle.arguments import RECORDED

SALT = json.loads(RECORDED.read_text())
_OF_THE_ENGINE = {"name", "onlyif", "require", "sfun", "unless"}
"""What every state takes."""
_PASSED_ON = {
    "at.watch": "at.present",
    "cmd.wait": "cmd.run", "cmd.watch": "cmd.run", "cmd.wait_script": "cmd.script", "event.wait": "event.send",
}  # fmt: skip
"""Functions whose arguments wait for a watch: those of the function that it calls."""
_NO_STATES = ("mod_watch", "mod_init", "mod_aggregate", "mod_beacon", "pip_has_exceptions_mod",
              "pip_has_internal_exceptions_mod", "purge_pip", "convert_duration")  # fmt: skip


def _taken(full):
    spec = find(*full.split("."), "s").spec
    return {*spec.parameters, *spec.ignored, *spec.refused, *_OF_THE_ENGINE}


def _used(call):
    tree = ast.parse(textwrap.dedent(inspect.getsource(call)))
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    everything = {
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    keys = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    by_key = keys - set(inspect.signature(call).parameters)  # those of a TypedDict are looked up
    more = {one.name for one in inspect.signature(call).parameters.values() if one.kind is one.VAR_KEYWORD}
    whole = {
        one.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for one in node.args
        if isinstance(one, ast.Name)
    }
    passed_on = bool(more & whole) or any(isinstance(node, ast.keyword) and node.arg is None for node in ast.walk(tree))
    return None if "locals" in everything else loaded | by_key | (_of_typed_dict(call) if passed_on else set())


def _of_typed_dict(call):
    return set(spec_of(call, 2).parameters) - set(inspect.signature(call).parameters) - _of_groups(call)


def _of_groups(call):
    return {field for group in spec_of(call, 2).groups.values() for field in group._fields}


def _unknown(full):
    passed_on = _taken(_PASSED_ON[full]) if full in _PASSED_ON else set()
    return {*SALT[full]["arguments"]} - _taken(full) - passed_on


def test_each_argument_of_salts_is_known():
    known = [name for name in names() if name in SALT]
    assert len(known) > 300
    assert {full: unknown for full in known if (unknown := _unknown(full))} == {}


def test_each_function_of_salts_modules_is_there_or_says_what_to_do_instead():
    states = {full for full in SALT if full.partition(".")[2] not in _NO_STATES}
    assert states - set(names()) <= set(UNSUPPORTED)
    assert not set(names()) & set(UNSUPPORTED)


def _unused(full):
    function = find(*full.split("."), "s")
    used = _used(function.call)
    later = getattr(importlib.import_module(function.call.__module__), "mod_watch", None)
    of_the_watch = set(spec_of(later, 2).parameters) if later else set()
    given = {name for name, one in function.spec.parameters.items() if one.single}
    return set() if used is None else given - {"functions"} - used - of_the_watch - _read_of_groups(function)


def test_each_argument_that_is_taken_is_used():
    assert {full: unused for full in names() if (unused := _unused(full))} == {}


def _read_of_groups(function):
    """The fields of groups that a module reads as `group.field`, or passes on by `_asdict`."""
    modules = {group.__module__ for group in function.spec.groups.values()} | {function.call.__module__}
    trees = [ast.parse(inspect.getsource(importlib.import_module(name))) for name in modules]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    if any(isinstance(node, ast.Name) and node.id == "getattr" for node in nodes):
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        beginnings = tuple(text for text in texts if text.endswith("_"))  # of names that are put together
        read |= {name for name in _of_groups(inspect.unwrap(function.call)) if name.startswith(beginnings)} | texts
    fields = _of_groups(inspect.unwrap(function.call))
    return fields if "_asdict" in read else fields & read


def test_only_functions_whose_arguments_are_passed_on_take_any():
    free = {full for full in names() if find(*full.split("."), "s").spec.takes_anything and full in SALT}
    assert {full for full in free if not SALT[full]["more"]} <= set(_PASSED_ON)


def test_what_is_ignored_or_refused_is_not_taken_as_well():
    specs = {full: find(*full.split("."), "s").spec for full in names()}
    assert {full for full, spec in specs.items() if {*spec.ignored, *spec.refused} & {*spec.parameters}} == set()
    assert {full for full, spec in specs.items() if {*spec.ignored} & {*spec.refused}} == set()


def _of_any_value(full):
    """How the arguments of any value are declared."""
    function = find(*full.split("."), "s")
    declared = inspect.get_annotations(inspect.unwrap(function.call))
    for group in function.spec.groups.values():
        declared |= inspect.get_annotations(group)
    free = {name for name, one in function.spec.parameters.items() if one.single and one.convert is None}
    declared = {name: getattr(said, "__forward_arg__", said) for name, said in declared.items()}  # of a NamedTuple
    return {declared.get(name, "AnyValue") for name in free if not function.spec.parameters[name].supplied}


def test_an_argument_of_any_value_is_declared_as_one():
    assert {full: found for full in names() if not (found := _of_any_value(full)) <= {"AnyValue"}} == {}
