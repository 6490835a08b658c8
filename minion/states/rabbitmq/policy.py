"""The state module `rabbitmq_policy`. Behaviour: doc/ref/states/all/salt.states.rabbitmq_policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Plan, Reader, StateFunction
from minion.providers.rabbitmq.broker import Broker, RabbitmqCaller, policies, policy_words
from minion.states.rabbitmq.plans import turning


def present(
    machine: Reader,
    name: str,
    *,
    pattern: str,
    definition: AnyValue,
    priority: int = 0,
    vhost: str = "/",
    apply_to: str | None = None,
    caller: RabbitmqCaller,
) -> Plan:
    """A virtual host has this policy. `definition`: a mapping, or its JSON. `apply_to`: left alone where it is none."""
    broker, wanted = Broker(caller), _definition(definition)
    found = policies(machine, broker, vhost).get(name)
    updates = [] if found is None else _updates(found, pattern, wanted, priority, apply_to)
    if found is not None and not updates:
        return Plan(comment=f"Policy {vhost} {name} is already present")
    text = definition if isinstance(definition, str) else json.dumps(wanted)
    kept = apply_to or (found["apply_to"] if found else None)

    def act(machine: Machine) -> None:
        broker.told(machine, *policy_words(vhost, name, pattern, text, priority, kept))

    word = "updated" if found else "created"
    shown = f'"{name}" for pattern "{pattern}" to "{text}" with priority "{priority}" for vhost "{vhost}"'
    return turning(
        found or {},
        updates or name,
        act,
        pending=f"Policy {vhost} {name} is set to be {word}",
        done=f"Setting policy {shown} ...",
    )


def absent(machine: Reader, name: str, *, vhost: str = "/", caller: RabbitmqCaller) -> Plan:
    """A virtual host does not have this policy."""
    broker = Broker(caller)
    if name not in policies(machine, broker, vhost):
        return Plan(comment=f"Policy '{vhost} {name}' is not present.")

    def act(machine: Machine) -> None:
        broker.told(machine, "clear_policy", "-p", vhost, "--", name)

    return turning(name, "", act, pending=f"Policy '{vhost} {name}' will be removed.", done="Deleted")


def _definition(given: Any) -> Any:
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        raise StateFailed(f"The definition of a policy must be a mapping, or JSON: {error}") from None


def _updates(found: Mapping[str, Any], pattern: str, definition: Any, priority: int, apply_to: str | None) -> list[str]:
    """What of a policy is another, in Salt's words."""
    differs = {
        "Pattern": found["pattern"] != pattern,
        "Definition": json.loads(found["definition"]) != definition,
        "Applyto": bool(apply_to) and found["apply_to"] != apply_to,
        "Priority": int(found["priority"]) != priority,
    }
    return [word for word, other in differs.items() if other]


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
