"""kubernetes.secret_present, configmap_present, and their absence."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import Map
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, Value
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.kinds import CONFIGMAP, SECRET, KubernetesObject
from minion.providers.kubernetes.objects import body_of, encoded
from minion.providers.kubernetes.sources import ObjectSource, document
from minion.states.kubernetes.plans import ReadyWait, WantedObject, absence, presence
from minion.states.kubernetes.workloads import Propagation


def secret_present(
    machine: Reader, name: str, *, namespace: str = "default", data: Map = {}, secret_type: str | None = None,  # noqa: B006
    metadata: Map = {}, source: ObjectSource, waiting: ReadyWait, login: ClusterLogin,  # noqa: B006
) -> Plan:  # fmt: skip
    """There is a secret that has these values; what else it has stays. No value is in a change.

    A value that is base64 of a text already is taken as it stands.
    """
    if data and source.source:
        raise StateFailed("'source' cannot be used in combination with 'data'")
    api = ClusterApi(machine, login)
    read: dict[str, Any] = document(machine, source, SECRET) if source.source else {"data": data}
    if metadata:
        read["metadata"] = {**(read.get("metadata") or {}), **metadata}
    read["type"] = read.get("type") or secret_type or read.get("secret_type")
    wanted = {key: value for key, value in read.items() if value and key != "secret_type"}
    if "data" in wanted:
        wanted["data"] = encoded(wanted["data"])
    body = body_of(SECRET, name, namespace, wanted)
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
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is no such secret."""
    return absence(ClusterApi(machine, login), SECRET, name, namespace, waiting, propagation_policy)


def configmap_present(
    machine: Reader, name: str, *, namespace: str = "default", data: Map = {}, source: ObjectSource,  # noqa: B006
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is a ConfigMap that has these values; what else it has stays."""
    if data and source.source:
        raise StateFailed("'source' cannot be used in combination with 'data'")
    api = ClusterApi(machine, login)
    read: dict[str, Any] = document(machine, source, CONFIGMAP) if source.source else {}
    if data:
        read["data"] = {str(key): str(value) for key, value in data.items()}
    body = body_of(CONFIGMAP, name, namespace, read)
    wanted = WantedObject(kind=CONFIGMAP, name=name, namespace=namespace, body=lambda: body, patch=lambda: body)
    return presence(machine, api, wanted, waiting)


def configmap_absent(
    machine: Reader, name: str, *, namespace: str = "default", propagation_policy: Propagation = "Orphan",
    waiting: ReadyWait, login: ClusterLogin,
) -> Plan:  # fmt: skip
    """There is no such ConfigMap."""
    return absence(ClusterApi(machine, login), CONFIGMAP, name, namespace, waiting, propagation_policy)
