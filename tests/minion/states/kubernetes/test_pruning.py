"""kubernetes.manifest with `prune`: what leaves the manifest is deleted, and nothing else is."""

import base64
import hashlib
from typing import Any

import pytest
from kubernetes_api import KubernetesApi

from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.applysets import ApplySet, SetScope

LABEL = "applyset.kubernetes.io/part-of"


def config(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"a": "1"}}


def service(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": {"mine": "kept"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


def role(name: str) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def parent(server: KubernetesApi, name: str = "app", namespace: str = "default") -> dict[str, str]:
    found = server.get("configmaps", name, namespace)
    assert found is not None
    return dict(found["metadata"]["annotations"])


def test_what_leaves_the_manifest_is_deleted(kubernetes: Any, server: KubernetesApi) -> None:
    first = [NAMESPACE, config("one"), config("two", "shop"), service("web")]
    made = kubernetes("manifest", "app", manifest=first, prune=True)
    assert made.result is True, made.comment
    assert list(made.changes) == [
        "v1/ConfigMap/default/app", "v1/Namespace/shop", "v1/ConfigMap/default/one", "v1/ConfigMap/shop/two",
        "v1/Service/default/web",
    ]  # fmt: skip
    named = base64.urlsafe_b64encode(hashlib.sha256(b"app.default.ConfigMap.").digest()).decode().rstrip("=")
    web = server.get("services", "web")
    assert web is not None
    assert web["metadata"]["labels"] == {"mine": "kept", LABEL: f"applyset-{named}-v1"}
    assert parent(server) == {
        "applyset.kubernetes.io/tooling": "saltern/v1",
        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Namespace,Service",
        "applyset.kubernetes.io/additional-namespaces": "shop",
    }
    server.put("v1", "configmaps", {"metadata": {"name": "theirs", "namespace": "default"}})
    server.put("v1", "configmaps", {"metadata": {"name": "other", "namespace": "default", "labels": {LABEL: "x"}}})
    less = kubernetes("manifest", "app", manifest=[NAMESPACE, config("one"), role("new")], prune=True)
    assert list(less.changes) == [
        "v1/ConfigMap/default/app", "rbac.authorization.k8s.io/v1/ClusterRole/new", "v1/Service/default/web",
        "v1/ConfigMap/shop/two",
    ]  # fmt: skip
    assert less.changes["v1/Service/default/web"] == {"old": "present", "new": "absent"}
    assert less.changes["v1/ConfigMap/default/app"] == {
        "old": {"kinds": "ConfigMap,Namespace,Service", "namespaces": "shop"},
        "new": {"kinds": "ClusterRole.rbac.authorization.k8s.io,ConfigMap,Namespace", "namespaces": ""},
    }
    assert server.get("services", "web") is None
    assert server.get("configmaps", "theirs") is not None
    assert server.get("configmaps", "other") is not None
    last = kubernetes("manifest", "app", manifest=[NAMESPACE, config("one")], prune=True)
    assert list(last.changes) == ["rbac.authorization.k8s.io/v1/ClusterRole/new", "v1/ConfigMap/default/app"]


def test_namespaces_stay(kubernetes: Any, server: KubernetesApi) -> None:
    kubernetes("manifest", "app", manifest=[NAMESPACE, config("two", "shop")], prune=True)
    less = kubernetes("manifest", "app", manifest=[config("one")], prune=True)
    assert less.comment.endswith("They stay, and are to be deleted by hand: v1/Namespace/shop")
    assert server.get("namespaces", "shop", "") is not None
    assert server.get("configmaps", "two", "shop") is None
    assert "Namespace" in parent(server)["applyset.kubernetes.io/contains-group-kinds"]


def test_a_set_in_a_namespace_of_the_manifest(kubernetes: Any, server: KubernetesApi) -> None:
    given = {"manifest": [NAMESPACE, config("two", "shop")], "prune": True, "applyset": "shop/all"}
    made = kubernetes("manifest", "app", **given)
    assert list(made.changes) == ["v1/Namespace/shop", "v1/ConfigMap/shop/all", "v1/ConfigMap/shop/two"]
    assert parent(server, "all", "shop")["applyset.kubernetes.io/additional-namespaces"] == ""


def test_what_is_no_part_of_the_set_any_more_stays(kubernetes: Any, server: KubernetesApi) -> None:
    """An object that somebody has taken out of the set, and one that a controller has made."""
    kubernetes("manifest", "app", manifest=[config("one"), config("two"), config("three")], prune=True)
    for name in ("two", "three"):
        found = server.get("configmaps", name)
        assert found is not None
        if name == "two":
            del found["metadata"]["labels"]
        else:
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "u", "controller": True}
            found["metadata"]["ownerReferences"] = [owner]
    assert kubernetes("manifest", "app", manifest=[config("one")], prune=True).changes == {}
    assert server.get("configmaps", "two") is not None
    assert server.get("configmaps", "three") is not None


def test_what_changes_between_plan_and_act_stays(kubernetes: Any, server: KubernetesApi) -> None:
    kubernetes("manifest", "app", manifest=[config("one"), config("two"), config("three")], prune=True)
    app, api = ApplySet.named("app"), ClusterApi(kubernetes.machine, ClusterLogin())
    two, three = (one for one in app.members(api, SetScope(kinds=frozenset({"ConfigMap"}))) if one.name[0] == "t")
    made_anew = server.get("configmaps", "two")
    unlabelled = server.get("configmaps", "three")
    assert made_anew is not None
    assert unlabelled is not None
    made_anew["metadata"]["uid"] = "another"
    del unlabelled["metadata"]["labels"]
    app.delete(api, two)
    app.delete(api, three)
    assert server.get("configmaps", "two") is not None
    assert server.get("configmaps", "three") is not None


def test_sets_of_others(kubernetes: Any, server: KubernetesApi) -> None:
    kubernetes("manifest", "first", manifest=[config("one")], prune=True)
    taken = kubernetes.once("manifest", "second", manifest=[config("one")], prune=True, test=True)
    assert "v1/ConfigMap/default/one is part of another set of objects (applyset-" in taken.comment
    server.put("v1", "configmaps", {"metadata": {"name": "plain", "namespace": "default"}})
    assert "is no set of objects" in kubernetes.once("manifest", "plain", manifest=[config("x")], prune=True).comment
    found = server.get("configmaps", "first")
    assert found is not None
    found["metadata"]["annotations"]["applyset.kubernetes.io/tooling"] = "kubectl/v1.27"
    theirs = kubernetes.once("manifest", "first", manifest=[config("one")], prune=True)
    assert theirs.comment == "v1/ConfigMap/default/first is a set of objects of another tool: kubectl/v1.27"


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Apply The App", {}, "A set of objects is named NAME or NAMESPACE/NAME"),
        ("app", {"applyset": "a/b/c"}, "A set of objects is named NAME or NAMESPACE/NAME"),
        ("one", {}, "v1/ConfigMap/default/one is the set's own"),
        ("app", {"applyset": "none/app"}, 'namespaces "none" not found'),
    ],
)
def test_what_cannot_be_a_set(kubernetes: Any, name: str, given: dict[str, str], said: str) -> None:
    refused = kubernetes.once("manifest", name, manifest=[config("one")], prune=True, test=True, **given)
    assert refused.result is False
    assert said in refused.comment
