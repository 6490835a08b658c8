"""kubernetes.secret_present, configmap_present, and their absence."""

from __future__ import annotations

from minion.arguments.types import Map, ToCome
from minion.machine.plan import Plan, Reader, Value
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.kinds import CONFIGMAP, SECRET, KubernetesObject
from minion.providers.kubernetes.sources import ObjectSource
from minion.providers.kubernetes.written import whole_of, written
from minion.states.kubernetes.plans import ReadyWait, WantedObject, absence, presence
from minion.states.kubernetes.workloads import Propagation


def secret_present(
    machine: Reader, name: str, *, namespace: str = "default", data: Map = {}, secret_type: str | None = None,  # noqa: B006
    metadata: Map = {}, source: ObjectSource, waiting: ReadyWait, login: ClusterLogin,  # noqa: B006
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a secret that has these values; what else it has stays. No value is in a change.

    A value that is base64 of a text already is taken as it stands.
    """
    api = ClusterApi(machine, login, to_come)
    read = written(machine, SECRET, source, {"data": data})
    if metadata:
        read["metadata"] = {**(read.get("metadata") or {}), **metadata}
    if secret_type and not read.get("type"):
        read["type"] = secret_type
    body = whole_of(SECRET, name, namespace, read)
    return presence(
        machine,
        api,
        WantedObject(
            kind=SECRET, name=name, namespace=namespace, body=lambda: body, patch=lambda: body,
            created=_keys_of_new, updated=_keys_of_changed,
        ),
        waiting,
    )  # fmt: skip


def _keys_of_new(made: KubernetesObject, asked: KubernetesObject) -> Value:
    return {"data": list(made.get("data") or ())}


def _keys_of_changed(before: KubernetesObject, after: KubernetesObject) -> tuple[Value, Value]:
    was, now = ({"data": list(one.get("data") or ()), "type": one.get("type")} for one in (before, after))
    return was, now


def secret_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is no such secret."""
    return absence(ClusterApi(machine, login, to_come), SECRET, name, namespace, waiting, propagation_policy)


def configmap_present(
    machine: Reader, name: str, *, namespace: str = "default", data: Map = {}, source: ObjectSource,  # noqa: B006
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is a ConfigMap that has these values; what else it has stays."""
    api = ClusterApi(machine, login, to_come)
    body = whole_of(CONFIGMAP, name, namespace, written(machine, CONFIGMAP, source, {"data": data}))
    wanted = WantedObject(kind=CONFIGMAP, name=name, namespace=namespace, body=lambda: body, patch=lambda: body)
    return presence(machine, api, wanted, waiting)


def configmap_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """There is no such ConfigMap."""
    return absence(ClusterApi(machine, login, to_come), CONFIGMAP, name, namespace, waiting, propagation_policy)
