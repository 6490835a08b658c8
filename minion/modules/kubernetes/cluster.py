"""Functions of `kubernetes` about nodes, manifests, the life of workloads, and what the cluster says of itself."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from minion.arguments.types import AnyValue, Map, Unsupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.kubernetes.objects import NO_LOGIN
from minion.providers.kubernetes.access import ClusterLogin, clusters_of
from minion.providers.kubernetes.api import MERGE, STRATEGIC, ClusterApi
from minion.providers.kubernetes.kinds import NODE, KubernetesObject
from minion.providers.kubernetes.manifests import Applying, apply_object, objects_of_manifest
from minion.providers.kubernetes.sources import ObjectSource, given_documents

_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_LeftOut = Annotated[AnyValue, Unsupported("leave it out of the document: what it does not say is kept")]
_WORKLOADS = {
    "deployment": "Deployment", "statefulset": "StatefulSet", "daemonset": "DaemonSet", "replicaset": "ReplicaSet"
}  # fmt: skip


def _marks(context: Context, name: str, login: ClusterLogin, field: str) -> dict[str, str]:
    found = ClusterApi(context.machine, login).find(NODE, name) or {}
    return dict((found.get("metadata") or {}).get(field) or {})


def _mark(context: Context, name: str, login: ClusterLogin, field: str, values: Mapping[str, Any]) -> KubernetesObject:
    api = ClusterApi(context.machine, login)
    if api.find(NODE, name) is None:
        raise CallFailed(f"Node {name} not found")
    return api.ask("PATCH", NODE.path(None, name), {"metadata": {field: dict(values)}}, content=MERGE)


def node_labels(context: Context, name: str, login: ClusterLogin) -> dict[str, str]:
    """The labels of a node."""
    return _marks(context, name, login, "labels")


def node_add_label(
    context: Context, node_name: str, label_name: str, label_value: str, login: ClusterLogin
) -> KubernetesObject:
    """Give a node a label."""
    return _mark(context, node_name, login, "labels", {label_name: label_value})


def node_remove_label(context: Context, node_name: str, label_name: str, login: ClusterLogin) -> KubernetesObject:
    """Take a label from a node."""
    return _mark(context, node_name, login, "labels", {label_name: None})


def node_annotations(context: Context, name: str, login: ClusterLogin) -> dict[str, str]:
    """The annotations of a node."""
    return _marks(context, name, login, "annotations")


def node_add_annotation(
    context: Context, node_name: str, annotation_name: str, annotation_value: str, login: ClusterLogin
) -> KubernetesObject:
    """Give a node an annotation."""
    return _mark(context, node_name, login, "annotations", {annotation_name: annotation_value})


def node_remove_annotation(
    context: Context, node_name: str, annotation_name: str, login: ClusterLogin
) -> KubernetesObject:
    """Take an annotation from a node."""
    return _mark(context, node_name, login, "annotations", {annotation_name: None})


def cordon(context: Context, name: str, login: ClusterLogin) -> KubernetesObject:
    """Have no new pod come to a node."""
    return _schedulable(context, name, login, cordoned=True)


def uncordon(context: Context, name: str, login: ClusterLogin) -> KubernetesObject:
    """Have new pods come to a node again."""
    return _schedulable(context, name, login, cordoned=False)


def _schedulable(context: Context, name: str, login: ClusterLogin, *, cordoned: bool) -> KubernetesObject:
    body = {"spec": {"unschedulable": cordoned}}
    return ClusterApi(context.machine, login).ask("PATCH", NODE.path(None, name), body, content=MERGE)


def apply(
    context: Context, manifest: AnyValue = None, source: str = "", namespace: str | None = None,
    field_manager: str = "salt", force_conflicts: bool = False, dry_run: bool = False, template: str = "",
    saltenv: str = "base", template_context: Map | None = None, ignore_labels: _LeftOut = None,
    ignore_annotations: _LeftOut = None, ignore_fields: _LeftOut = None, validate: bool = False,
    login: ClusterLogin = NO_LOGIN,
) -> Any:  # fmt: skip
    """Apply the objects of documents by server-side apply; what the server answers, of several a list."""
    api = ClusterApi(context.machine, login)
    place = ObjectSource(source, template, template_context or {}, saltenv)
    objects = objects_of_manifest(api, given_documents(context.machine, manifest, place), namespace)
    applying = Applying(manager=field_manager, force=force_conflicts)
    for dry in (True, dry_run) if validate else (dry_run,):
        done = [apply_object(api, one, one.kind, applying, dry=dry) for one in objects if one.kind is not None]
    return done[0] if len(done) == 1 else done


def delete_manifest(
    context: Context, manifest: AnyValue = None, source: str = "", namespace: str | None = None,
    propagation_policy: Literal["Orphan", "Background", "Foreground"] | None = None,
    grace_period_seconds: int | None = None, template: str = "", saltenv: str = "base",
    template_context: Map | None = None, login: ClusterLogin = NO_LOGIN,
) -> Any:  # fmt: skip
    """Delete the objects of documents, last first; what the server answers, null for one that was not there."""
    api = ClusterApi(context.machine, login)
    place = ObjectSource(source, template, template_context or {}, saltenv)
    objects = objects_of_manifest(api, given_documents(context.machine, manifest, place), namespace)
    options = {"propagationPolicy": propagation_policy, "gracePeriodSeconds": grace_period_seconds}
    done = [api.delete(one.kind, one.name, one.namespace, **options) for one in reversed(objects) if one.kind]
    return done[0] if len(done) == 1 else done


def get_object(
    context: Context, api_version: str, kind: str, name: str, namespace: str | None = None,
    login: ClusterLogin = NO_LOGIN,
) -> KubernetesObject | None:  # fmt: skip
    """An object of any kind; null where there is none."""
    api = ClusterApi(context.machine, login)
    known = api.kind_of(api_version, kind)
    if known is None:
        raise CallFailed(f"The cluster has no kind {kind} of {api_version}")
    return api.find(known, name, namespace)


def _workload(context: Context, login: ClusterLogin, kind: str, name: str, namespace: str) -> tuple[ClusterApi, str]:
    named = _WORKLOADS.get(kind.lower())
    if named is None:
        raise CallFailed(f"{kind} is no workload: there are {', '.join(_WORKLOADS)}")
    api = ClusterApi(context.machine, login)
    known = api.kind_of("apps/v1", named)
    if known is None or api.find(known, name, namespace) is None:
        raise CallFailed(f"{named} {namespace}/{name} not found")
    return api, known.path(namespace, name)


def scale(
    context: Context, kind: str, name: str, replicas: int, namespace: str = "default", login: ClusterLogin = NO_LOGIN
) -> KubernetesObject:
    """Give a workload another number of replicas."""
    api, path = _workload(context, login, kind, name, namespace)
    return api.ask("PATCH", path, {"spec": {"replicas": replicas}}, content=MERGE)


def restart(
    context: Context, kind: str, name: str, namespace: str = "default", login: ClusterLogin = NO_LOGIN
) -> KubernetesObject:
    """Have the pods of a workload made anew, as `kubectl rollout restart`."""
    api, path = _workload(context, login, kind, name, namespace)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    body = {"spec": {"template": {"metadata": {"annotations": {_RESTARTED: now}}}}}
    return api.ask("PATCH", path, body, content=STRATEGIC)


def list_clusters(context: Context) -> list[str]:
    """Names of the clusters that are configured, `default` first."""
    return ["default", *sorted(name for name in clusters_of(context.machine) if name != "default")]


def cluster_info(context: Context, login: ClusterLogin) -> dict[str, Any]:
    """Where the API server is, and its version."""
    api = ClusterApi(context.machine, login)
    return {"host": api.access.server, "version": dict(api.ask("GET", "/version"))}
