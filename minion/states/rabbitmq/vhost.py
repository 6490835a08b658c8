"""The state module `rabbitmq_vhost`. Behaviour: doc/ref/states/all/salt.states.rabbitmq_vhost."""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Machine, Plan, Reader, StateFunction
from minion.providers.rabbitmq.broker import Broker, RabbitmqCaller, vhosts
from minion.states.rabbitmq.plans import turning


def present(machine: Reader, name: str, *, to_come: ToCome = frozenset()) -> Plan:
    """The broker has this virtual host."""
    broker = Broker(RabbitmqCaller(to_come=to_come))
    if name in vhosts(machine, broker):
        return Plan(comment=f"Virtual Host '{name}' already exists.")

    def act(machine: Machine) -> None:
        broker.told(machine, "add_vhost", "--", name)

    return turning("", name, act, pending=f"Virtual Host '{name}' will be created.", done=f'Adding vhost "{name}" ...')


def absent(machine: Reader, name: str, *, to_come: ToCome = frozenset()) -> Plan:
    """The broker does not have this virtual host; its queues and messages go with it."""
    broker = Broker(RabbitmqCaller(to_come=to_come))
    if name not in vhosts(machine, broker):
        return Plan(comment=f"Virtual Host '{name}' is not present.")

    def act(machine: Machine) -> None:
        broker.told(machine, "delete_vhost", "--", name)

    return turning(
        name, "", act, pending=f"Virtual Host '{name}' will be removed.", done=f'Deleting vhost "{name}" ...'
    )


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
