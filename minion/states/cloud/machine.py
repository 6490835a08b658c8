"""The state module `cloud`: machines of clouds, made and destroyed by the controller that this minion asks.

A machine that is there counts as right, whatever it was made by, as in Salt.
Behaviour: https://docs.saltproject.io/en/latest/ref/states/all/salt.states.cloud.html
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pprint import pformat
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction

_Opts = Annotated[AnyValue, Unsupported("options of salt-cloud are those of the controller's file `cloud`")]


def present(
    machine: Reader, name: str, *, cloud_provider: str, opts: _Opts = None, functions: Functions, **kwargs: AnyValue
) -> Plan:
    """The machine is there; otherwise it is made by the provider and these options, without a profile."""
    return _present(
        functions,
        name,
        ("cloud.create", {"provider": cloud_provider, "names": [name], **kwargs}),
        f"Created instance {name} using provider {cloud_provider} and the following options: {pformat(kwargs)}",
    )


def profile(
    machine: Reader, name: str, *, profile: str, opts: _Opts = None, functions: Functions, **kwargs: AnyValue
) -> Plan:
    """The machine is there; otherwise it is made by the profile, before which these options count."""
    return _present(
        functions,
        name,
        ("cloud.profile", {"profile": profile, "names": [name], "vm_overrides": kwargs}),
        f"Created instance {name} using profile {profile}",
    )


def absent(machine: Reader, name: str, *, functions: Functions) -> Plan:
    """No account has a machine of this name: each that has is asked to destroy it."""
    if not _is_there(functions, name):
        return Plan(comment=f"Already absent instance {name}")

    def act(machine: Machine) -> Mapping[str, Any]:
        machine.begin_elsewhere()
        return _answer(functions.call("cloud.destroy", ([name],)), name)

    return Plan(
        changes=(Change(key="destroyed", reported=name, predicted_only=True, act=act),),
        pending=f"Instance {name} needs to be destroyed",
        done=f"Destroyed instance {name}",
    )


def _present(functions: KnownFunctions, name: str, call: tuple[str, Mapping[str, Any]], done: str) -> Plan:
    if _is_there(functions, name):
        return Plan(comment=f"Already present instance {name}")
    return Plan(
        changes=(
            Change(key="created", reported=name, predicted_only=True, act=partial(_create, functions, name, call)),
        ),
        pending=f"Instance {name} needs to be created",
        done=done,
    )


def _create(
    functions: KnownFunctions, name: str, call: tuple[str, Mapping[str, Any]], machine: Machine
) -> Mapping[str, Any]:
    machine.begin_elsewhere()
    fun, kwargs = call
    return _answer(functions.call(fun, (), kwargs), name)


def _is_there(functions: KnownFunctions, name: str) -> bool:
    try:
        return bool(functions.look("cloud.has_instance", (name,)))
    except StateFailed:
        raise
    except Exception as error:
        raise StateFailed(str(error)) from error


def _answer(value: Any, name: str) -> Mapping[str, Any]:
    """The changes that an answer tells; StateFailed where it tells of an error."""
    if not isinstance(value, Mapping) or not value:
        raise StateFailed(f"the controller says nothing of {name}")
    own = value.get(name)
    error = value.get("Error") or (own.get("Error") if isinstance(own, Mapping) else None)
    if error:
        raise StateFailed(f"{name}: {error}")
    return value


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present, "profile": profile}
