"""kubernetes.manifest, manifest_present and manifest_absent: server-side apply, foretold by the server itself."""

from typing import Any

from kubernetes_api import KubernetesApi

APP = b"""
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {password: {{ password }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27", env: [{name: A, value: "1"}, {name: B, value: "2"}]}
"""
CONFIG: dict[str, Any] = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"},
    "data": {"a": "1", "b": "2"},
}  # fmt: skip


def test_several_objects_of_a_template(kubernetes: Any, server: KubernetesApi) -> None:
    kubernetes.files["app.yaml"] = APP
    source = {"source": "salt://app.yaml", "template": "jinja", "template_context": {"password": "hush-hush"}}
    made = kubernetes("manifest", "app", **source)
    assert made.result is True, made.comment
    assert list(made.changes) == ["v1/Namespace/shop", "v1/Secret/shop/login", "apps/v1/Deployment/shop/web"]
    assert made.changes["v1/Secret/shop/login"]["new"]["data"] == ["password"]
    assert "hush-hush" not in str(made)
    assert server.get("secrets", "login", "shop") is not None
    source["template_context"] = {"password": "other-one"}
    changed = kubernetes("manifest", "app", **source)
    assert changed.changes == {"v1/Secret/shop/login": {"old": {"data": ["password"]}, "new": {"data": ["password"]}}}
    kubernetes.files["app.yaml"] = APP.replace(b', {name: B, value: "2"}', b"").replace(b"replicas: 2", b"replicas: 3")
    less = kubernetes("manifest", "app", **source)
    assert list(less.changes) == ["apps/v1/Deployment/shop/web"]
    found = server.get("deployments", "web", "shop")
    assert found is not None
    assert found["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    gone = kubernetes("manifest_absent", "app", **source)
    assert list(gone.changes) == list(reversed(made.changes))
    assert kubernetes("manifest_absent", "app", **source).comment == "Manifests already absent"


def test_fields_of_others_are_kept_and_conflicts_told(kubernetes: Any, server: KubernetesApi) -> None:
    server.put("v1", "configmaps", {"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "0", "x": "y"}})
    for test in (True, False):
        refused = kubernetes.once("manifest", "c", manifest=CONFIG, test=test)
        assert refused.result is False
        assert 'Apply failed with 1 conflict(s): conflict with "test": .data.a' in refused.comment
    made = kubernetes("manifest", "c", manifest=CONFIG, force_conflicts=True)
    assert made.changes["v1/ConfigMap/default/c"] == {
        "old": {"data": {"a": "0", "b": "<_null_>"}}, "new": {"data": {"a": "1", "b": "2"}}
    }  # fmt: skip
    found = server.get("configmaps", "c")
    assert found is not None
    assert found["data"] == {"a": "1", "b": "2", "x": "y"}
    owned = {one["manager"]: one["fieldsV1"] for one in found["metadata"]["managedFields"]}
    assert owned["saltern"] == {"f:data": {"f:a": {}, "f:b": {}}}
    assert owned["test"] == {"f:data": {"f:x": {}}}
    shorter = {**CONFIG, "data": {"a": "1"}}
    assert kubernetes("manifest", "c", manifest=shorter).changes["v1/ConfigMap/default/c"]["old"] == {
        "data": {"b": "2"}
    }
    other = kubernetes("manifest_present", "c", manifest=shorter)
    assert other.changes == {}, "the fields have the same values: another manager is no change"


def test_kinds_that_come_with_the_manifest(kubernetes: Any, server: KubernetesApi) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Boat", "plural": "boats"},
            "versions": [{"name": "v1", "served": True, "storage": True,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }  # fmt: skip
    boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "one"}, "spec": {"sails": 2}}
    lacking = kubernetes.once("manifest", "boats", manifest=[boat], namespace="default")
    assert lacking.comment == "The cluster has no kind Boat of example.com/v1"
    nowhere = kubernetes.once("manifest", "boats", manifest=[definition, boat])
    assert nowhere.comment == "Namespaced kind Boat requires 'metadata.namespace', or the argument namespace"
    made = kubernetes("manifest", "boats", manifest=[definition, boat], namespace="default")
    assert made.result is True, made.comment
    assert list(made.changes)[1] == "example.com/v1/Boat/default/one"
    assert kubernetes("manifest", "boats", manifest=[definition, boat], namespace="default").changes == {}


def test_what_is_no_manifest(kubernetes: Any, server: KubernetesApi) -> None:
    said = [
        ({}, "Provide either 'source' or 'manifest'"),
        ({"manifest": ""}, "No manifests to apply"),
        ({"manifest": 7}, "manifest must be a dict, list, or YAML string, not int"),
        ({"manifest": {"kind": "Pod"}}, "Each manifest needs apiVersion, kind, and metadata.name"),
        ({"manifest": [CONFIG, CONFIG]}, "The manifest has v1/ConfigMap/default/c more than once"),
        ({"manifest": "a: [", "namespace": "x"}, "manifest is no YAML"),
    ]
    for given, why in said:
        refused = kubernetes.once("manifest", "m", **given)
        assert (refused.result, refused.comment[: len(why)]) == (False, why)
    listed = {"apiVersion": "v1", "kind": "List", "items": [CONFIG]}
    assert kubernetes("manifest", "m", manifest=listed).result is True
    assert server.changed() == [("PATCH", "/api/v1/namespaces/default/configmaps/c")]
