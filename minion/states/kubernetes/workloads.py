"""kubernetes.deployment_present, service_present, pod_present, namespace_present, and their absence."""

from __future__ import annotations

from typing import Literal, NamedTuple

from minion.arguments.types import Map, ToCome
from minion.machine.plan import Plan, Reader
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.kinds import DEPLOYMENT, NAMESPACE, POD, SERVICE, ObjectKind
from minion.providers.kubernetes.sources import ObjectSource
from minion.providers.kubernetes.written import change_of, whole_of, written
from minion.states.kubernetes.plans import ReadyWait, WantedObject, absence, found_alive, presence

Propagation = Literal["Orphan", "Background", "Foreground"]
"""What becomes of what an object owns."""


class ObjectParts(NamedTuple):
    """An object that is written into the state."""

    metadata: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    spec: Map = {}  # noqa: RUF012


def _wanted(
    machine: Reader, kind: ObjectKind, name: str, namespace: str, parts: ObjectParts, source: ObjectSource
) -> WantedObject:
    read = written(machine, kind, source, parts._asdict())
    return WantedObject(
        kind=kind,
        name=name,
        namespace=namespace,
        body=lambda: whole_of(kind, name, namespace, read),
        patch=lambda: change_of(kind, name, namespace, read),
    )


def deployment_present(
    machine: Reader, name: str, *, namespace: str = "default", parts: ObjectParts, source: ObjectSource,
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a deployment that has what is given; what else it has stays.

    Without a selector a new one has the labels of its template.
    """
    api = ClusterApi(machine, login, to_come)
    wanted = _wanted(machine, DEPLOYMENT, name, namespace, parts, source)
    return presence(machine, api, wanted, waiting)


def deployment_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is no such deployment. Its pods stay, unless `propagation_policy` is `Background` or `Foreground`."""
    return absence(ClusterApi(machine, login, to_come), DEPLOYMENT, name, namespace, waiting, propagation_policy)


def service_present(
    machine: Reader, name: str, *, namespace: str = "default", parts: ObjectParts, source: ObjectSource,
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a service that has what is given; what else it has stays. A port may be its number alone."""
    api = ClusterApi(machine, login, to_come)
    wanted = _wanted(machine, SERVICE, name, namespace, parts, source)
    return presence(machine, api, wanted, waiting)


def service_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is no such service."""
    return absence(ClusterApi(machine, login, to_come), SERVICE, name, namespace, waiting, propagation_policy)


def pod_present(
    machine: Reader, name: str, *, namespace: str = "default", parts: ObjectParts, source: ObjectSource,
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a pod of this name. One that is there is left as it is: pods cannot be changed."""
    api = ClusterApi(machine, login, to_come)
    wanted = _wanted(machine, POD, name, namespace, parts, source)
    if found_alive(api, POD, name, namespace) is not None:
        return Plan(
            comment="The pod already exists. Pods are immutable once created. To update, remove with pod_absent "
            "first, then recreate. For managed workloads, consider using deployment_present instead."
        )
    return presence(machine, api, wanted, waiting)


def pod_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is no such pod."""
    return absence(ClusterApi(machine, login, to_come), POD, name, namespace, waiting, propagation_policy)


def namespace_present(
    machine: Reader, name: str, *, metadata: Map = {}, source: ObjectSource, login: ClusterLogin,  # noqa: B006
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a namespace, with these labels and annotations; what else it has stays."""
    api = ClusterApi(machine, login, to_come)
    if not metadata and not source.source and found_alive(api, NAMESPACE, name, None) is not None:
        return Plan(comment="The namespace already exists")
    read = written(machine, NAMESPACE, source, {"metadata": metadata})
    wanted = WantedObject(
        kind=NAMESPACE,
        name=name,
        namespace=None,
        body=lambda: whole_of(NAMESPACE, name, None, read),
        patch=lambda: change_of(NAMESPACE, name, None, read),
    )
    return presence(machine, api, wanted, ReadyWait())


def namespace_absent(
    machine: Reader, name: str, *, waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """There is no such namespace: all that is in it is deleted with it."""
    return absence(ClusterApi(machine, login, to_come), NAMESPACE, name, None, waiting, "Background")
