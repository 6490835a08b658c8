"""Kinds of objects: where the server has them, and when one is ready.

Behaviour: https://kubernetes.io/docs/reference/using-api/api-concepts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

KubernetesObject = Mapping[str, Any]
"""An object as JSON has it."""


def _exists(found: KubernetesObject) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKind:
    """A kind, as an API version has it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True
    is_ready: Callable[[KubernetesObject], bool] = _exists

    @property
    def word(self) -> str:
        """How messages name it within a sentence."""
        return self.kind.lower()

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Of the collection, or of an object in it."""
        parts = ["api" if "/" not in self.api_version else "apis", *self.api_version.split("/")]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name is not None else [])]
        return "/" + "/".join(quote(part, safe="") for part in parts)


def _status(found: KubernetesObject) -> Mapping[str, Any]:
    return found.get("status") or {}


def _replicas_available(found: KubernetesObject) -> bool:
    wanted = (found.get("spec") or {}).get("replicas", 1)
    return bool(_status(found).get("availableReplicas", 0) == wanted)


def _pod_runs(found: KubernetesObject) -> bool:
    containers = _status(found).get("containerStatuses") or ()
    running = _status(found).get("phase") == "Running" and bool(containers)
    return running and all(each.get("ready") for each in containers)


def _has_address(found: KubernetesObject) -> bool:
    spec = found.get("spec") or {}
    return bool(spec.get("clusterIP")) or spec.get("type") == "ExternalName"


def _has_token(found: KubernetesObject) -> bool:
    data = found.get("data") or {}
    if found.get("type") != "kubernetes.io/service-account-token":
        return True
    return all(data.get(key) for key in ("token", "ca.crt", "namespace"))


NAMESPACE = ObjectKind(api_version="v1", kind="Namespace", plural="namespaces", namespaced=False)
NODE = ObjectKind(api_version="v1", kind="Node", plural="nodes", namespaced=False)
SECRET = ObjectKind(api_version="v1", kind="Secret", plural="secrets", is_ready=_has_token)
CONFIGMAP = ObjectKind(api_version="v1", kind="ConfigMap", plural="configmaps")
SERVICE = ObjectKind(api_version="v1", kind="Service", plural="services", is_ready=_has_address)
POD = ObjectKind(api_version="v1", kind="Pod", plural="pods", is_ready=_pod_runs)
DEPLOYMENT = ObjectKind(
    api_version="apps/v1", kind="Deployment", plural="deployments", is_ready=_replicas_available
)  # fmt: skip
