"""The state module `test`: states that only pretend.

Behaviour: doc/ref/states/all/salt.states.test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from highstate.traverse import MISSING, traverse
from minion.arguments.types import ChangedRequisites, Each, OnlyBool, Texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

_OLD, _NEW = "Unchanged", "Something pretended to change"


def nop(machine: Reader, name: str, **arguments: Value) -> Plan:
    """Nothing, with any arguments."""
    return Plan(comment="Success!")


def succeed_without_changes(machine: Reader, name: str, comment: str | None = None) -> Plan:
    """Success."""
    return Plan(comment=comment or "Success!")


def fail_without_changes(machine: Reader, name: str, comment: str | None = None) -> Plan:
    """Failure."""
    return Plan(
        comment=comment or "Failure!", test_comment="If we weren't testing, this would be a failure!", result=False
    )


def succeed_with_changes(machine: Reader, name: str, comment: str | None = None) -> Plan:
    """Success with a change."""
    return _pretended(True, "If we weren't testing, this would be successful with changes", comment or "Success!")


def fail_with_changes(machine: Reader, name: str, comment: str | None = None) -> Plan:
    """Failure with a change."""
    return _pretended(False, "If we weren't testing, this would be failed with changes", comment or "Failure!")


def configurable_test_state(
    machine: Reader,
    name: str,
    changes: OnlyBool = True,
    result: OnlyBool = True,
    comment: str = "",
    warnings: Texts = (),
    allow_test_mode_failure: bool = False,
) -> Plan:
    """Whatever the arguments say; "Random" is refused, since a plan must come out the same twice."""
    predicted = False if allow_test_mode_failure and not result else None
    if not changes:
        return Plan(comment=comment, result=result, warnings=warnings)
    plan = _pretended(result, comment, comment)
    return replace(plan, warnings=warnings, test_result=predicted)


def show_notification(machine: Reader, name: str, text: str | None = None) -> Plan:
    """The text, as the comment."""
    if not text:
        raise StateFailed("Missing required argument text.")
    return Plan(comment=text)


def check_pillar(
    machine: Reader,
    name: str,
    present: Each | None = None,
    boolean: Each | None = None,
    integer: Each | None = None,
    string: Each | None = None,
    listing: Each | None = None,
    dictionary: Each | None = None,
    verbose: bool = False,
) -> Plan:
    """Failure unless each of the pillar keys is there and of its kind."""
    kinds: list[tuple[str, list[Value] | None, type | tuple[type, ...]]] = [
        ("", present, object),
        ("a boolean", boolean, bool),
        ("an integer", integer, int),
        ("a string", string, str),
        ("a list", listing, (list, tuple)),
        ("a dictionary", dictionary, Mapping),
    ]
    wrong: list[str] = []
    passed: list[str] = []
    for what, keys, kind in kinds:
        for key in keys or ():
            value = traverse(machine.pillar, key, MISSING)
            if value is MISSING:
                wrong.append(f'Pillar key "{key}" is missing.\n')
            elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                wrong.append(f'Type of pillar key "{key}" is not {what}.\n')
            else:
                passed.append(f"- {key}" + (f" ({what})\n" if what else "\n"))
    listed = ["Those keys passed the check:\n", *passed] if verbose and passed else []
    return Plan(comment="".join([*wrong, *listed]), result=not wrong)


def mod_watch(machine: Reader, name: str, reqs: ChangedRequisites = (), **arguments: Value) -> Plan:
    """Says that it was called, and what has changed (`reqs`)."""
    change = Change(key="Requisites with changes", reported=reqs, act=_nothing)
    return Plan(changes=(change,), pending="Watch statement fired.", done="Watch statement fired.", converges=False)


def _pretended(result: bool, pending: str, done: str) -> Plan:
    def act(machine: Machine) -> None:
        if not result:
            raise StateFailed(done, {"testing": {"old": _OLD, "new": _NEW}})

    change = Change(key="testing", old=_OLD, new=_NEW, act=act)
    return Plan(changes=(change,), pending=pending, done=done, converges=False, each_time=True)


def _nothing(machine: Machine) -> None:
    """It is only pretended."""


STATES: Mapping[str, StateFunction] = {
    "check_pillar": check_pillar,
    "configurable_test_state": configurable_test_state,
    "fail_with_changes": fail_with_changes,
    "fail_without_changes": fail_without_changes,
    "nop": nop,
    "show_notification": show_notification,
    "succeed_with_changes": succeed_with_changes,
    "succeed_without_changes": succeed_without_changes,
}
