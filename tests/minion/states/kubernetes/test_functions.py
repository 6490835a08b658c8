"""Functions kubernetes.* on an API server that checks what it is sent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes_api import KubernetesApi

from minion.execution import CallFailed, Context, Modules

POD = {"containers": [{"name": "web", "image": "nginx:1.27"}]}
SPEC: dict[str, Any] = {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD}}


@pytest.fixture
def call(server: KubernetesApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """call("pods")."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args, **kwargs: modules.call(f"kubernetes.{fun}", args, kwargs)


def test_what_there_is(call: Any, server: KubernetesApi) -> None:
    assert call("ping") is True
    assert call("nodes") == ["node-1", "node-2"]
    assert call("namespaces") == ["default", "kube-system"]
    assert (call("pods"), call("deployments", "kube-system"), call("show_pod", "none")) == ([], [], None)
    assert call("node", "node-1")["metadata"]["name"] == "node-1"
    assert call("node_labels", "node-1") == {"kubernetes.io/hostname": "node-1"}
    assert call("list_clusters") == ["default"]
    assert call("cluster_info") == {"host": server.url, "version": call("cluster_info")["version"]}
    assert call("get_object", "v1", "Namespace", "default")["status"] == {"phase": "Active"}
    with pytest.raises(CallFailed, match="The cluster has no kind Boat of v1"):
        call("get_object", "v1", "Boat", "one")


def test_objects_are_made_patched_replaced_and_deleted(call: Any, server: KubernetesApi) -> None:
    call("create_namespace", "shop", metadata={"labels": {"a": "b"}})
    assert call("patch_namespace", "shop", {"metadata": {"labels": {"c": "d"}}})["metadata"]["labels"]["a"] == "b"
    call("create_deployment", "web", "shop", spec=SPEC, dry_run=True)
    assert call("deployments", "shop") == []
    assert call("create_deployment", "web", "shop", spec=SPEC, wait=True)["metadata"]["namespace"] == "shop"
    with pytest.raises(CallFailed, match="already exists"):
        call("create_deployment", "web", "shop", spec=SPEC)
    assert call("patch_deployment", "web", "shop", {"spec": {"replicas": 3}})["spec"]["replicas"] == 3
    assert call("replace_deployment", "web", spec=SPEC, namespace="shop")["spec"]["replicas"] == 2
    assert call("scale", "deployment", "web", 5, "shop")["spec"]["replicas"] == 5
    again = call("restart", "Deployment", "web", "shop")["spec"]["template"]["metadata"]["annotations"]
    assert list(again) == ["kubectl.kubernetes.io/restartedAt"]
    call("create_service", "web", "shop", spec={"ports": [80]})
    address = call("show_service", "web", "shop")["spec"]["clusterIP"]
    assert call("replace_service", "web", spec={"ports": [81]}, namespace="shop")["spec"]["clusterIP"] == address
    call("create_secret", "s", "shop", {"password": "it's hidden"}, metadata={"labels": {"a": "b"}})
    assert call("show_secret", "s", "shop", decode=True)["data"] == {"password": "it's hidden"}
    assert call("replace_secret", "s", {"other": "one"}, namespace="shop")["type"] == "Opaque"
    call("create_configmap", "c", "shop", {"a": 1})
    assert call("replace_configmap", "c", {"b": 2}, namespace="shop")["data"] == {"b": "2"}
    assert call("patch_configmap", "c", "shop", {"data": {"c": 3}})["data"] == {"b": "2", "c": "3"}
    call("create_pod", "p", "shop", spec=POD)
    assert call("delete_pod", "p", "shop", wait=True)["metadata"]["name"] == "p"
    assert call("delete_pod", "p", "shop") is None
    for kind in ("secret", "configmap", "service", "deployment"):
        assert call(f"{kind}s", "shop") != []
        call(f"delete_{kind}", call(f"{kind}s", "shop")[0], "shop")
        assert call(f"{kind}s", "shop") == []
    call("delete_namespace", "shop", wait=True)
    assert call("show_namespace", "shop") is None
    with pytest.raises(CallFailed, match="Deployment shop/web not found"):
        call("replace_deployment", "web", spec=SPEC, namespace="shop")
    with pytest.raises(CallFailed, match="Patch must be a dictionary"):
        call("patch_deployment", "web")
    with pytest.raises(CallFailed, match="job is no workload"):
        call("scale", "job", "web", 1)


def test_labels_annotations_and_cordons_of_nodes(call: Any, server: KubernetesApi) -> None:
    call("node_add_label", "node-1", "zone", "a")
    assert call("node_labels", "node-1")["zone"] == "a"
    call("node_remove_label", "node-1", "zone")
    assert "zone" not in call("node_labels", "node-1")
    call("node_add_annotation", "node-1", "a/b", "c d")
    assert call("node_annotations", "node-1") == {"a/b": "c d"}
    call("node_remove_annotation", "node-1", "a/b")
    assert call("node_annotations", "node-1") == {}
    assert call("cordon", "node-1")["spec"]["unschedulable"] is True
    assert call("uncordon", "node-1")["spec"]["unschedulable"] is False
    with pytest.raises(CallFailed, match="Node none not found"):
        call("node_add_label", "none", "zone", "a")


def test_documents_are_applied_and_deleted(call: Any, server: KubernetesApi, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}")
    given = {"source": str(tmp_path / "c.yaml"), "namespace": "default"}
    assert call("apply", **given, dry_run=True)["data"] == {"a": "1"}
    assert call("configmaps") == []
    applied = call("apply", **given)
    assert [one["manager"] for one in applied["metadata"]["managedFields"]] == ["salt"]
    assert call("delete_manifest", **given)["status"] == "Success"
    assert call("delete_manifest", **given) is None


def test_another_cluster_by_arguments(call: Any, server: KubernetesApi) -> None:
    assert call("pods", kubeconfig=str(server.kubeconfig(token="viewer-token")), context="test") == []
    with pytest.raises(CallFailed, match=r"Error 403 \(Forbidden\)"):
        call("create_configmap", "c", kubeconfig=str(server.kubeconfig(token="viewer-token")))
