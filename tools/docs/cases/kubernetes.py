"""Cases of the states of Kubernetes, on an API server of the tests, which holds requests against the published API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, SERVED, Case, serving

_CONFIG = f"{BESIDE}/kubeconfig"


def _case(fun: str, name: str, *there: tuple[str, dict[str, Any]], **arguments: Any) -> Case:
    """A case on a server that has these objects, by their plural names."""
    words = json.dumps([[plural, {"metadata": {"name": name}, **one}] for plural, one in there])
    return Case(
        fun=f"kubernetes.{fun}",
        name=name,
        arguments=arguments,
        opts={"kubernetes.kubeconfig": _CONFIG, "kubernetes.context": "test"},
        before=(serving(f"{{python}} {{rig}}/kubernetes_api.py {_CONFIG} '{words}'", f"test -s {_CONFIG}"),),
        after=(SERVED,),
        environment={"no_proxy": "127.0.0.1"},
    )


_IN_DEFAULT = {"metadata": {"name": "case", "namespace": "default"}}
_NOT_HERE = "tried on the same server by the tests"
_LABELS = {"app": "case"}
_PODS = {"containers": [{"name": "web", "image": "nginx:1.27"}]}
_DEPLOYMENT = {
    "replicas": 2,
    "selector": {"matchLabels": _LABELS},
    "template": {"metadata": {"labels": _LABELS}, "spec": _PODS},
}
_SERVICE = {"selector": _LABELS, "ports": [{"port": 80}]}
_DATA = {**_IN_DEFAULT, "data": {"a": "1"}}

CASES: tuple[Case, ...] = (
    _case("namespace_present", "case"),
    _case("namespace_absent", "case", ("namespaces", {})),
    _case("configmap_present", "case", data={"a": "1"}),
    _case("configmap_present", "case", ("configmaps", _DATA), data={"a": "2"}),
    _case("configmap_absent", "case", ("configmaps", _DATA)),
    _case("secret_present", "case", data={"a": "1"}),
    _case("secret_absent", "case", ("secrets", {**_IN_DEFAULT, "data": {"a": "MQ=="}})),
    _case("deployment_present", "case", metadata={"labels": _LABELS}, spec=_DEPLOYMENT),
    _case("deployment_absent", "case", ("deployments", {**_IN_DEFAULT, "spec": _DEPLOYMENT})),
    _case("service_present", "case", metadata={"labels": _LABELS}, spec=_SERVICE),
    _case("service_absent", "case", ("services", {**_IN_DEFAULT, "spec": _SERVICE})),
    _case("pod_present", "case", metadata={"labels": _LABELS}, spec=_PODS),
    _case("pod_absent", "case", ("pods", {**_IN_DEFAULT, "spec": _PODS})),
    _case("node_label_present", "rack", node="node-1", value="7"),
    _case("node_label_absent", "kubernetes.io/hostname", node="node-1"),
    _case("node_annotation_present", "rack", node="node-1", value="7"),
)
WITHOUT: Mapping[str, str] = {
    f"kubernetes.{fun}": _NOT_HERE
    for fun in (
        "manifest", "manifest_absent", "manifest_present", "node_annotation_absent", "node_annotation_folder_absent",
        "node_label_folder_absent",
    )
}  # fmt: skip
"""State functions that no case can run, and why."""
