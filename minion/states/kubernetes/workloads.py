"""kubernetes.deployment_present, service_present, pod_present, namespace_present, and their absence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from minion.arguments.types import Map
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.kinds import DEPLOYMENT, NAMESPACE, POD, SERVICE, KubernetesObject, ObjectKind
from minion.providers.kubernetes.objects import body_of, deployment_spec, service_spec
from minion.providers.kubernetes.sources import ObjectSource, document
from minion.states.kubernetes.plans import ReadyWait, WantedObject, absence, found_alive, presence

Propagation = Literal["Orphan", "Background", "Foreground"]
"""What becomes of what an object owns."""


class ObjectParts(NamedTuple):
    """An object that is written into the state."""

    metadata: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    spec: Map = {}  # noqa: RUF012


def _wanted(
    machine: Reader, kind: ObjectKind, name: str, namespace: str, parts: ObjectParts, source: ObjectSource,
    spec: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
) -> WantedObject:  # fmt: skip
    if source.source and (parts.metadata or parts.spec):
        raise StateFailed("'source' cannot be used in combination with 'metadata' or 'spec'")
    read: KubernetesObject = (
        document(machine, source, kind)
        if source.source
        else {key: value for key, value in parts._asdict().items() if value}
    )
    return WantedObject(
        kind=kind,
        name=name,
        namespace=namespace,
        body=lambda: body_of(kind, name, namespace, {**read, "spec": spec(read.get("spec") or {})}),
        patch=lambda: body_of(kind, name, namespace, read),
    )


def deployment_present(
    machine: Reader, name: str, *, namespace: str = "default", parts: ObjectParts, source: ObjectSource,
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is a deployment that has what is given; what else it has stays.

    Without a selector a new one has the labels of its template.
    """
    api = ClusterApi(machine, login)
    wanted = _wanted(machine, DEPLOYMENT, name, namespace, parts, source, deployment_spec)
    return presence(machine, api, wanted, waiting)


def deployment_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is no such deployment. Its pods stay, unless `propagation_policy` is `Background` or `Foreground`."""
    return absence(ClusterApi(machine, login), DEPLOYMENT, name, namespace, waiting, propagation_policy)


def service_present(
    machine: Reader, name: str, *, namespace: str = "default", parts: ObjectParts, source: ObjectSource,
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is a service that has what is given; what else it has stays. A port may be its number alone."""
    api = ClusterApi(machine, login)
    if parts.spec:
        parts = parts._replace(spec=service_spec(parts.spec))
    wanted = _wanted(machine, SERVICE, name, namespace, parts, source, service_spec)
    return presence(machine, api, wanted, waiting)


def service_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is no such service."""
    return absence(ClusterApi(machine, login), SERVICE, name, namespace, waiting, propagation_policy)


def pod_present(
    machine: Reader, name: str, *, namespace: str = "default", parts: ObjectParts, source: ObjectSource,
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is a pod of this name. One that is there is left as it is: pods cannot be changed."""
    api = ClusterApi(machine, login)
    wanted = _wanted(machine, POD, name, namespace, parts, source)
    if found_alive(api, POD, name, namespace) is not None:
        return Plan(
            comment="The pod already exists. Pods are immutable once created. To update, remove with pod_absent "
            "first, then recreate. For managed workloads, consider using deployment_present instead."
        )
    return presence(machine, api, wanted, waiting)


def pod_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is no such pod."""
    return absence(ClusterApi(machine, login), POD, name, namespace, waiting, propagation_policy)


def namespace_present(
    machine: Reader, name: str, *, metadata: Map = {}, source: ObjectSource, login: ClusterLogin  # noqa: B006
) -> Plan:  # fmt: skip
    """There is a namespace, with these labels and annotations; what else it has stays."""
    if metadata and source.source:
        raise StateFailed("'source' cannot be used in combination with 'metadata'")
    api = ClusterApi(machine, login)
    if not metadata and not source.source and found_alive(api, NAMESPACE, name, None) is not None:
        return Plan(comment="The namespace already exists")
    read = document(machine, source, NAMESPACE) if source.source else {"metadata": metadata}
    wanted = WantedObject(
        kind=NAMESPACE,
        name=name,
        namespace=None,
        body=lambda: body_of(NAMESPACE, name, None, read),
        patch=lambda: body_of(NAMESPACE, name, None, read),
    )
    return presence(machine, api, wanted, ReadyWait())


def namespace_absent(machine: Reader, name: str, *, waiting: ReadyWait, login: ClusterLogin) -> Plan:
    """There is no such namespace: all that is in it is deleted with it."""
    return absence(ClusterApi(machine, login), NAMESPACE, name, None, waiting, "Background")
