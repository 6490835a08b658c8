"""What an API server adds to objects, and what it refuses of them besides their schema."""

import base64
import binascii
import copy
import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class Served(NamedTuple):
    """A kind that the server has."""

    version: str
    kind: str
    plural: str
    namespaced: bool
    model: str

    @property
    def resource(self) -> str:
        group = self.version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural


SERVED = (
    Served("v1", "Namespace", "namespaces", False, "core_v1"),
    Served("v1", "Node", "nodes", False, "core_v1"),
    Served("v1", "Pod", "pods", True, "core_v1"),
    Served("v1", "Service", "services", True, "core_v1"),
    Served("v1", "Secret", "secrets", True, "core_v1"),
    Served("v1", "ConfigMap", "configmaps", True, "core_v1"),
    Served("v1", "ServiceAccount", "serviceaccounts", True, "core_v1"),
    Served("v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, "core_v1"),
    Served("apps/v1", "Deployment", "deployments", True, "apps_v1"),
    Served("apps/v1", "StatefulSet", "statefulsets", True, "apps_v1"),
    Served("apps/v1", "DaemonSet", "daemonsets", True, "apps_v1"),
    Served("apps/v1", "ReplicaSet", "replicasets", True, "apps_v1"),
    Served("batch/v1", "Job", "jobs", True, "batch_v1"),
    Served("batch/v1", "CronJob", "cronjobs", True, "batch_v1"),
    Served("networking.k8s.io/v1", "Ingress", "ingresses", True, "networking_v1"),
    Served("rbac.authorization.k8s.io/v1", "Role", "roles", True, "rbac_v1"),
    Served("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", True, "rbac_v1"),
    Served("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False, "rbac_v1"),
    Served("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False,
           "apiextensions_v1"),
)  # fmt: skip

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_ADDRESSES = random.Random(8)


def invalid(kind: str, name: str, path: str, why: str) -> Refused:
    return Refused(422, "Invalid", f'{kind} "{name}" is invalid: {path}: {why}')


def check_metadata(one: Served, found: Mapping[str, Any]) -> None:
    """Names, labels and annotations."""
    metadata = found["metadata"]
    name = metadata.get("name") or ""
    shape = _LABEL if one.kind in ("Namespace", "Service") else _SUBDOMAIN
    if not name:
        raise invalid(one.kind, name, "metadata.name", "Required value: name or generateName is required")
    if not shape.fullmatch(name) or len(name) > (63 if shape is _LABEL else 253):
        raise invalid(one.kind, name, "metadata.name", f'Invalid value: "{name}": must be a lowercase RFC 1123 name')
    for field in ("labels", "annotations"):
        for key, value in (metadata.get(field) or {}).items():
            if not _LABEL_KEY.fullmatch(key):
                raise invalid(one.kind, name, f"metadata.{field}", f'Invalid value: "{key}"')
            if field == "labels" and (not _LABEL_VALUE.fullmatch(value) or len(value) > 63):
                raise invalid(one.kind, name, "metadata.labels", f'Invalid value: "{value}": a valid label must …')


def defaulted(one: Served, given: Mapping[str, Any], *, cluster_ips: bool = True) -> dict[str, Any]:
    """An object with the values that the server fills in."""
    made = copy.deepcopy(dict(given))
    made["apiVersion"], made["kind"] = one.version, one.kind
    metadata = made.setdefault("metadata", {})
    spec = made.get("spec")
    if one.kind == "Namespace":
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata.get("name")
        made.setdefault("spec", {})["finalizers"] = ["kubernetes"]
        made["status"] = made.get("status") or {"phase": "Active"}
    elif one.kind == "Secret":
        made.setdefault("type", "Opaque")
        for key, value in (made.pop("stringData", None) or {}).items():
            made.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()
    elif one.kind == "Service" and spec is not None:
        _service(spec, cluster_ips)
    elif one.kind == "Pod" and spec is not None:
        _pod(spec)
        _account_volume(spec)
    elif one.kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet") and spec is not None:
        spec.setdefault("replicas", 1)
        if one.kind == "Deployment":
            spec.setdefault("strategy", {}).setdefault("type", "RollingUpdate")
            if spec["strategy"]["type"] == "RollingUpdate":
                rolling = spec["strategy"].setdefault("rollingUpdate", {})
                rolling.setdefault("maxUnavailable", "25%")
                rolling.setdefault("maxSurge", "25%")
            spec.setdefault("revisionHistoryLimit", 10)
            spec.setdefault("progressDeadlineSeconds", 600)
        if isinstance(spec.get("template"), dict) and isinstance(spec["template"].get("spec"), dict):
            _pod(spec["template"]["spec"])
    return made


def _service(spec: dict[str, Any], choose: bool) -> None:
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
        if spec["type"] in ("NodePort", "LoadBalancer") and choose and "nodePort" not in port:
            port["nodePort"] = _ADDRESSES.randrange(30000, 32768)
    if spec["type"] == "ExternalName":
        return
    if choose and "clusterIP" not in spec:
        spec["clusterIP"] = f"10.96.{_ADDRESSES.randrange(256)}.{_ADDRESSES.randrange(1, 255)}"
    if "clusterIP" in spec:
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("internalTrafficPolicy", "Cluster")


def _pod(spec: dict[str, Any]) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        latest = ":" not in str(container.get("image", "")).rpartition("/")[2]
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        container.setdefault("resources", {})
        for port in container.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _account_volume(spec: dict[str, Any]) -> None:
    """The volume with the account's token, named by chance, as admission makes it."""
    volumes = spec.setdefault("volumes", [])
    if any(one["name"].startswith("kube-api-access-") for one in volumes):
        return
    name = f"kube-api-access-{_ADDRESSES.randrange(16**5):05x}"
    volumes.append({"name": name, "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}})
    for container in spec["containers"]:
        mounts = container.setdefault("volumeMounts", [])
        mounts.append({"name": name, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True})


def check(one: Served, found: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
    """What the values of an object have to be."""
    check_metadata(one, found)
    name, spec = found["metadata"]["name"], found.get("spec") or {}
    if one.kind == "Secret":
        for key, value in (found.get("data") or {}).items():
            try:
                base64.b64decode(value, validate=True)
            except (binascii.Error, TypeError):
                raise Refused(
                    400, "BadRequest", f'Secret in version "v1" cannot be handled: illegal base64 of {key}'
                ) from None
        if old is not None and old.get("type") != found.get("type"):
            raise invalid(one.kind, name, "type", f'Invalid value: "{found.get("type")}": field is immutable')
    elif one.kind == "Service":
        _check_service(name, spec, (old or {}).get("spec") or {})
    elif one.kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"):
        _check_workload(one, name, spec, (old or {}).get("spec"))
    elif one.kind == "Pod" and old is not None and _unchangeable(spec) != _unchangeable(old["spec"]):
        raise invalid(one.kind, name, "spec", "Forbidden: pod updates may not change fields other than …")


def _check_service(name: str, spec: Mapping[str, Any], old: Mapping[str, Any]) -> None:
    ports = spec.get("ports") or ()
    if spec.get("type") not in ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"):
        raise invalid("Service", name, "spec.type", f'Unsupported value: "{spec.get("type")}"')
    if not ports and spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None":
        raise invalid("Service", name, "spec.ports", "Required value")
    for number, port in enumerate(ports):
        if not 1 <= port["port"] <= 65535:
            raise invalid("Service", name, f"spec.ports[{number}].port", f"Invalid value: {port['port']}")
        if len(ports) > 1 and not port.get("name"):
            raise invalid("Service", name, f"spec.ports[{number}].name", "Required value")
        if "nodePort" in port and not 30000 <= port["nodePort"] <= 32767:
            raise invalid("Service", name, f"spec.ports[{number}].nodePort", "provided port is not in the valid range")
    if old.get("clusterIP") and spec.get("clusterIP") != old["clusterIP"]:
        raise invalid("Service", name, "spec.clusterIPs[0]", "Invalid value: may not change once set")


def _check_workload(one: Served, name: str, spec: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
    selector = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not selector:
        raise invalid(one.kind, name, "spec.selector", "Required value")
    if any(labels.get(key) != value for key, value in selector.items()):
        raise invalid(
            one.kind, name, "spec.template.metadata.labels", "`selector` does not match template `labels`"
        )  # fmt: skip
    if not spec["template"]["spec"].get("containers"):
        raise invalid(one.kind, name, "spec.template.spec.containers", "Required value")
    for number, container in enumerate(spec["template"]["spec"]["containers"]):
        if not container.get("image"):
            raise invalid(one.kind, name, f"spec.template.spec.containers[{number}].image", "Required value")
    if old is not None and old.get("selector") != spec.get("selector"):
        raise invalid(one.kind, name, "spec.selector", "Invalid value: field is immutable")


def _unchangeable(spec: Mapping[str, Any]) -> Any:
    left = copy.deepcopy(dict(spec))
    for container in left.get("containers") or ():
        container.pop("image", None)
    return left
