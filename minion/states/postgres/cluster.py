"""The state module `postgres_cluster`: clusters of Debian's postgresql-common.

Behaviour: doc/ref/states/all/salt.states.postgres_cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader, StateFunction
from minion.providers.postgres.clusters import ClusterOptions, check_cluster_name, clusters, drop_cluster, make_cluster


def present(machine: Reader, name: str, *, version: str, options: ClusterOptions) -> Plan:
    """There is this cluster. Port and directory are compared with one that is there already, nothing else is."""
    check_cluster_name(version, name)
    full = f"{version}/{name}"
    found = clusters(machine).get(full)
    if found is not None:
        if options.port not in (None, found.port) or options.datadir not in (None, found.datadir):
            raise StateFailed(f"Cluster {full} has wrong parameters which couldn't be changed on fly.")
        return Plan(comment=f"Cluster {full} is already present")
    return Plan(
        changes=(
            Change(key=full, reported="Present", act=lambda machine: make_cluster(machine, version, name, options)),
        ),
        pending=f"Cluster {full} is set to be created",
        done=f"The cluster {full} has been created",
    )


def absent(machine: Reader, name: str, *, version: str) -> Plan:
    """There is no such cluster; it is stopped, and its data is removed."""
    check_cluster_name(version, name)
    full = f"{version}/{name}"
    if full not in clusters(machine):
        return Plan(comment=f"Cluster {full} is not present, so it cannot be removed")
    return Plan(
        changes=(
            Change(key=name, reported="Absent", act=lambda machine: drop_cluster(machine, version, name, stop=True)),
        ),
        pending=f"Cluster {full} is set to be removed",
        done=f"Cluster {full} has been removed",
    )


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
