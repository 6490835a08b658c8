"""The state module `rabbitmq_cluster`. Behaviour: doc/ref/states/all/salt.states.rabbitmq_cluster."""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Machine, Plan, Reader, StateFunction
from minion.providers.rabbitmq.broker import Broker, RabbitmqCaller, join_cluster
from minion.states.rabbitmq.plans import turning


def joined(
    machine: Reader,
    name: str,
    *,
    host: str,
    user: str = "rabbit",
    ram_node: bool = False,
    runas: str | None = "root",
    to_come: ToCome = frozenset(),
) -> Plan:
    """The node of this machine is in the cluster of the node `user@host`. What it holds is lost where it joins."""
    broker, node = Broker(RabbitmqCaller(runas, to_come)), f"{user}@{host}"
    (status,) = broker.rows(machine, "cluster_status")
    if node in (*status["disk_nodes"], *status["ram_nodes"], *status["running_nodes"]):
        return Plan(comment="Already in cluster")

    def act(machine: Machine) -> None:
        join_cluster(machine, broker, node, in_memory=ram_node)

    return turning("", node, act, pending=f"Node is set to join cluster {node}", done=f"Node has joined cluster {node}")


STATES: Mapping[str, StateFunction] = {"join": joined, "joined": joined}
