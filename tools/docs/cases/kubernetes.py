"""States of Kubernetes: none has a case, which needs an API server."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_WHY = "needs an API server; tried on one of the tests, which holds requests against the published API"

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"kubernetes.{fun}": _WHY
    for fun in (
        "configmap_absent", "configmap_present", "deployment_absent", "deployment_present", "manifest",
        "manifest_absent", "manifest_present", "namespace_absent", "namespace_present", "node_annotation_absent",
        "node_annotation_folder_absent", "node_annotation_present", "node_label_absent", "node_label_folder_absent",
        "node_label_present", "pod_absent", "pod_present", "secret_absent", "secret_present", "service_absent",
        "service_present",
    )
}  # fmt: skip
