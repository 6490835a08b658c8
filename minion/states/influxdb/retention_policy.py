"""The state module `influxdb_retention_policy`.

Behaviour: salt.states.influxdb_retention_policy of saltext-influxdb.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores.influxdb import InfluxdbLogin, identifier, influxdb_at, nanoseconds, policy_statement
from minion.states.influxdb.plans import telling, told


def present(
    machine: Reader,
    name: str,
    *,
    database: str,
    duration: str = "7d",
    replication: int = 1,
    default: bool = False,
    login: InfluxdbLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """A database has this policy. `default`: it is that of what names none; one that is stays so until another is."""
    server = influxdb_at(machine, login, to_come)
    policies = server.retention_policies(database)
    if policies is None:
        raise server.lacks_database(database)
    found = policies.get(name)
    if found is None:
        return told(
            server,
            policy_statement("CREATE", database, name, duration, replication, default=default),
            name,
            "Present",
            pending=f" {name} is absent and will be created",
            done=f"retention policy {name} has been created",
        )
    texts = {}
    if nanoseconds(found["duration"]) != nanoseconds(duration):
        texts["duration"] = f"Retention changed from {found['duration']} to {duration}."
    if found["replicaN"] != replication:
        texts["replication"] = f"Replication changed from {found['replicaN']} to {replication}."
    if default and not found["default"]:
        texts["default"] = f"Default changed from {found['default']} to {default}."
    act = telling(server, policy_statement("ALTER", database, name, duration, replication, default=default))
    return Plan(
        changes=tuple(
            Change(key=key, reported=said, act=act if number == 0 else _with_the_first)
            for number, (key, said) in enumerate(texts.items())
        ),
        comment=f"retention policy {name} is already present",
        pending=f" {name} is present and set to be changed",
        done=f"retention policy {name} has been changed",
    )


def absent(
    machine: Reader, name: str, *, database: str, login: InfluxdbLogin, to_come: ToCome = frozenset()
) -> Plan:  # fmt: skip
    """A database does not have this policy; the data that are kept by it go with it."""
    server = influxdb_at(machine, login, to_come)
    if name not in (server.retention_policies(database) or {}):
        return Plan(comment=f"retention policy {name} is not present")
    return told(
        server, f"DROP RETENTION POLICY {identifier(name)} ON {identifier(database)}", name, "Absent",
        pending=f"retention policy {name} is present and needs to be removed",
        done=f"retention policy {name} has been removed",
    )  # fmt: skip


def _with_the_first(machine: Machine) -> None:
    """One statement makes all changes."""


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
