"""The state module `grains`: static grains of this minion.

Behaviour: doc/ref/states/all/salt.states.grains. The execution module `grains` writes them, and lets the rest of the
run see them. A test run shows the changes as a real one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highstate.traverse import MISSING, traverse
from minion.arguments.types import AnyValue
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

Act = Callable[[Machine], None]


def present(
    machine: Reader,
    name: str,
    *,
    value: AnyValue,
    functions: Functions,
    delimiter: str = ":",
    force: bool = False,
) -> Plan:
    """The grain has this value; a list or mapping is replaced with `force` only."""
    old = traverse(machine.grains, name, MISSING, delimiter=delimiter)
    if old is not MISSING and old == value:
        return Plan(comment="Grain is already set")
    if isinstance(old, list | Mapping) and not force:
        raise StateFailed(f"The key '{name}' exists but is a dict or a list. Use 'force=True' to overwrite.")
    _settable(machine, name, delimiter, force=force)
    path = name.split(delimiter)
    shown = _nested(path[1:], value)
    change = Change(key=path[0], reported=shown, act=_set(functions, name, value, delimiter, force=force))
    word = "added" if old is MISSING else "changed"
    return Plan(changes=(change,), pending=f"Grain {name} is set to be {word}", done=f"Set grain {name} to {value}")


def absent(
    machine: Reader,
    name: str,
    *,
    functions: Functions,
    destructive: bool = False,
    delimiter: str = ":",
    force: bool = False,
) -> Plan:
    """The grain is empty; with `destructive` it is gone."""
    old = traverse(machine.grains, name, MISSING, delimiter=delimiter)
    if old is MISSING:
        return Plan(comment=f"Grain {name} does not exist")
    if isinstance(old, list | Mapping) and not force:
        raise StateFailed(f"The key '{name}' exists but is a dict or a list. Use 'force=True' to overwrite.")
    if destructive:
        change = Change(
            key="deleted", reported=name, act=_set(functions, name, None, delimiter, force=force, destructive=True)
        )
        return Plan(changes=(change,), pending=f"Grain {name} is set to be deleted", done=f"Grain {name} was deleted")
    if old is None:
        return Plan(comment=f"Value for grain {name} is already None")
    return Plan(
        changes=(
            Change(key="grain", reported=name, act=_set(functions, name, None, delimiter, force=force)),
            Change(key="value", reported="None", act=lambda machine: None),
        ),
        pending=f"Value for grain {name} is set to be deleted (None)",
        done=f"Value for grain {name} was set to None",
    )


def exists(machine: Reader, name: str, *, delimiter: str = ":") -> Plan:
    """Fails when there is no such grain."""
    if traverse(machine.grains, name, MISSING, delimiter=delimiter) is MISSING:
        raise StateFailed("Grain does not exist")
    return Plan(comment="Grain exists")


def list_present(machine: Reader, name: str, *, value: AnyValue, functions: Functions, delimiter: str = ":") -> Plan:
    """The list has this value, or all of these; one that is not there is made."""
    old = _list(machine, name, delimiter)
    wanted = value if isinstance(value, list) else [value]
    fresh = [one for one in wanted if one not in (old or ())]
    if not fresh:
        return Plan(comment=f"Value {value} is already in grain {name}")
    new = [*(old or ()), *fresh]
    path = name.split(delimiter)
    said = fresh if isinstance(value, list) else value
    return Plan(
        changes=(
            Change(
                key="new", reported=_nested(path, new), act=_set(functions, name, new, delimiter, force=old is not None)
            ),
        ),
        pending=f"Grain {name} is set to be added"
        if old is None
        else f"Value {said} is set to be appended to grain {name}",
        done=f"Append value {said} to grain {name}",
    )


def list_absent(machine: Reader, name: str, *, value: AnyValue, functions: Functions, delimiter: str = ":") -> Plan:
    """The list does not have this value, nor any of these."""
    old = _list(machine, name, delimiter)
    if old is None:
        return Plan(comment=f"Grain {name} does not exist")
    unwanted = value if isinstance(value, list) else [value]
    gone = [one for one in unwanted if one in old]
    if not gone:
        return Plan(comment="\n".join(f"Value {one} is absent from grain {name}" for one in unwanted))
    left = [one for one in old if one not in gone]
    return Plan(
        changes=(Change(key="deleted", reported=gone, act=_set(functions, name, left, delimiter, force=True)),),
        pending="\n".join(f"Value {one} in grain {name} is set to be deleted" for one in gone),
        done="\n".join(f"Value {one} was deleted from grain {name}" for one in gone),
    )


def append(
    machine: Reader,
    name: str,
    *,
    value: AnyValue,
    functions: Functions,
    convert: bool = False,
    delimiter: str = ":",
) -> Plan:
    """The list that is there has this value; with `convert` a single value becomes a list first."""
    old = traverse(machine.grains, name, MISSING, delimiter=delimiter)
    if old is MISSING or old is None:
        raise StateFailed(f"Grain {name} does not exist")
    if not isinstance(old, list) and not convert:
        raise StateFailed(f"Grain {name} is not a valid list")
    is_list = isinstance(old, list)
    values = list(old) if is_list else [old]
    if is_list and value in values:
        return Plan(comment=f"Value {value} is already in the list for grain {name}")
    new = [*values, value]
    pending = f"Value {value} in grain {name} is set to be added"
    if not is_list:
        pending = f"Grain {name} is set to be converted to list and value {value} will be added"
    return Plan(
        changes=(Change(key="added", reported=value, act=_set(functions, name, new, delimiter, force=True)),),
        pending=pending,
        done=f"Value {value} was added to grain {name}",
    )


def _list(machine: Reader, name: str, delimiter: str) -> list[Value] | None:
    old = traverse(machine.grains, name, MISSING, delimiter=delimiter)
    if old is MISSING or old is None:
        return None
    if not isinstance(old, list):
        raise StateFailed(f"Grain {name} is not a valid list")
    return old


def _settable(machine: Reader, name: str, delimiter: str, *, force: bool) -> None:
    """What stands above a nested grain must be a mapping."""
    above = name.split(delimiter)[:-1]
    for depth in range(1, len(above) + 1):
        value = traverse(machine.grains, delimiter.join(above[:depth]), MISSING, delimiter=delimiter)
        if value is not MISSING and not isinstance(value, Mapping) and not force:
            raise StateFailed(
                f"The key '{delimiter.join(above[:depth])}' value is '{value}', which is different from the provided "
                f"key '{name.split(delimiter)[depth]}'. Use 'force=True' to overwrite."
            )


def _nested(path: list[str], value: Value) -> Value:
    for key in reversed(path):
        value = {key: value}
    return value


def _set(
    functions: KnownFunctions, name: str, value: Value, delimiter: str, *, force: bool, destructive: bool = False
) -> Act:
    def act(machine: Machine) -> None:
        given = {"force": force, "destructive": destructive, "delimiter": delimiter}
        said = functions.call("grains.set", [name, value], given)
        if isinstance(said, Mapping) and said.get("result") is False:
            raise StateFailed(str(said.get("comment")))

    return act


STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "append": append,
    "exists": exists,
    "list_absent": list_absent,
    "list_present": list_present,
    "present": present,
}
