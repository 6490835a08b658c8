"""kubernetes.*_present and *_absent on an API server that checks what it is sent."""

import base64
import threading
import time
from typing import Any

import pytest
from kubernetes_api import KubernetesApi

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.worker.live_contents import LiveContents
from minion.worker.preview_sandbox import PreviewMachine

POD = {"containers": [{"name": "web", "image": "nginx:1.27", "ports": [{"containerPort": 80}]}]}
SPEC: dict[str, Any] = {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD}}
DEPLOYMENT = b"""
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, labels: {tier: {{ tier }}}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "{{ pillar['name'] }}:{{ tag }}"}]}
"""


def test_a_deployment_is_made_changed_and_taken_away(kubernetes: Any, server: KubernetesApi) -> None:
    made = kubernetes("deployment_present", "web", metadata={"labels": {"app": "web"}}, spec=SPEC)
    assert (made.result, made.comment) == (True, "Deployment created")
    assert made.changes["old"] == {}
    assert made.changes["new"]["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert made.changes["new"]["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert "uid" not in made.changes["new"]["metadata"]
    same = kubernetes.once("deployment_present", "web", spec=SPEC)
    assert (same.changes, same.comment) == ({}, "The deployment is already in the desired state")
    assert kubernetes.once("deployment_present", "web").changes == {}
    other = {**SPEC, "replicas": 3}
    changed = kubernetes("deployment_present", "web", spec=other)
    assert changed.changes == {"old": {"spec": {"replicas": 2}}, "new": {"spec": {"replicas": 3}}}
    image = {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:1.28"}]}}}
    assert kubernetes("deployment_present", "web", spec=image).comment == "Deployment updated"
    found = server.get("deployments", "web")
    assert found is not None
    assert found["spec"]["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    gone = kubernetes("deployment_absent", "web")
    assert (gone.changes, gone.comment) == ({"old": "present", "new": "absent"}, "Deployment web deleted")
    assert kubernetes("deployment_absent", "web").comment == "The deployment does not exist"


def test_a_deployment_of_a_template(kubernetes: Any, server: KubernetesApi) -> None:
    kubernetes.files["d.yaml"] = DEPLOYMENT
    source = {"source": "salt://d.yaml", "template": "jinja"}
    made = kubernetes("deployment_present", "web", **source, template_context={"tier": "front", "tag": "1.27"})
    assert made.result is True, made.comment
    assert made.changes["new"]["metadata"] == {"name": "web", "namespace": "default", "labels": {"tier": "front"}}
    changed = kubernetes("deployment_present", "web", **source, template_context={"tier": "front", "tag": "1.28"})
    containers = changed.changes["new"]["spec"]["template"]["spec"]["containers"]
    assert [one["image"] for one in containers] == ["nginx:1.28"]
    refused = kubernetes.once("deployment_present", "web", **source, spec={"replicas": 1})
    assert refused.comment == "'source' cannot be used in combination with 'metadata' or 'spec'"
    wrong = kubernetes.once("service_present", "web", **source, template_context={"tier": "front", "tag": "1"})
    assert wrong.comment == "The source file should define only a Service object"
    assert kubernetes.once("service_present", "web", source="salt://none").comment == (
        "Source file 'salt://none' not found"
    )


def test_what_the_server_refuses_is_foretold(kubernetes: Any, server: KubernetesApi) -> None:
    kubernetes.once("deployment_present", "web", spec=SPEC)
    moved = {"selector": {"matchLabels": {"app": "new"}}, "template": {"metadata": {"labels": {"app": "new"}}}}
    for test in (True, False):
        refused = kubernetes.once("deployment_present", "web", spec=moved, test=test)
        assert (refused.result, refused.changes) == (False, {})
        assert refused.comment == (
            'Error 422 (Invalid): Deployment "web" is invalid: spec.selector: Invalid value: field is immutable'
        )
    unknown = kubernetes.once("deployment_present", "b", spec={**SPEC, "replica": 1}, test=True)
    assert (unknown.result, 'unknown field "spec.replica"' in unknown.comment) == (False, True)
    typed = kubernetes.once("deployment_present", "b", spec={**SPEC, "replicas": "two"}, test=True)
    assert "cannot unmarshal str into a integer" in typed.comment
    nowhere = kubernetes.once("deployment_present", "b", namespace="none", spec=SPEC)
    assert nowhere.comment == 'Error 404 (NotFound): namespaces "none" not found'
    assert server.get("deployments", "b") is None


def test_services_keep_the_address_that_they_were_given(kubernetes: Any, server: KubernetesApi) -> None:
    spec = {"selector": {"app": "web"}, "type": "NodePort", "ports": [{"port": 80, "targetPort": 8080}]}
    made = kubernetes("service_present", "web", spec=spec)
    assert made.changes["new"]["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 8080}]
    assert "clusterIP" not in made.changes["new"]["spec"]
    before = server.get("services", "web")
    assert before is not None
    assert before["spec"]["clusterIP"].startswith("10.96.")
    added = kubernetes("service_present", "web", metadata={"labels": {"a": "b"}}, spec=spec)
    assert added.changes == {"old": {"metadata": {"labels": "<_null_>"}}, "new": {"metadata": {"labels": {"a": "b"}}}}
    after = server.get("services", "web")
    assert after is not None
    assert after["spec"] == before["spec"]
    assert kubernetes("service_present", "plain", spec={"ports": [80]}).result is True
    refused = kubernetes.once("service_present", "two", spec={"ports": [{"port": 80}, {"port": 81}]}, test=True)
    assert "spec.ports[0].name: Required value" in refused.comment
    assert kubernetes("service_absent", "web").changes == {"old": "present", "new": "absent"}


def test_no_value_of_a_secret_is_shown(kubernetes: Any, server: KubernetesApi) -> None:
    made = kubernetes("secret_present", "s", data={"password": "it's hidden", "number": 7})
    assert made.changes == {"old": {}, "new": {"data": ["password", "number"]}}
    found = server.get("secrets", "s")
    assert found is not None
    assert (base64.b64decode(found["data"]["password"]), found["type"]) == (b"it's hidden", "Opaque")
    changed = kubernetes("secret_present", "s", data={"password": "bmV3"})
    assert "hidden" not in str(changed)
    assert "bmV3" not in str(changed)
    found = server.get("secrets", "s")
    assert found is not None
    assert base64.b64decode(found["data"]["password"]) == b"new"
    assert base64.b64decode(found["data"]["number"]) == b"7"
    assert kubernetes("secret_present", "s", data={"password": "new"}).changes == {}
    typed = {"secret_type": "kubernetes.io/tls", "data": {"tls.crt": "c", "tls.key": "k"}}
    assert kubernetes("secret_present", "tls", **typed, metadata={"labels": {"a": "b"}}).result is True
    refused = kubernetes.once("secret_present", "tls", secret_type="Opaque", data={"tls.crt": "c"}, test=True)
    assert "field is immutable" in refused.comment
    assert kubernetes("secret_absent", "s").comment == "Secret s deleted"


def test_configmaps(kubernetes: Any, server: KubernetesApi) -> None:
    assert kubernetes("configmap_present", "c", data={"a": 1, "b": "text"}).comment == "ConfigMap created"
    changed = kubernetes("configmap_present", "c", data={"a": 2})
    assert changed.changes == {"old": {"data": {"a": "1"}}, "new": {"data": {"a": "2"}}}
    kubernetes.files["c.yaml"] = b"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: other}, data: {a: '3'}}"
    refused = kubernetes.once("configmap_present", "c", source="salt://c.yaml")
    assert refused.comment == "ConfigMap c: its metadata has the namespace other, and the state default"
    assert kubernetes("configmap_absent", "c").comment == "ConfigMap c deleted"


def test_namespaces(kubernetes: Any, server: KubernetesApi) -> None:
    assert kubernetes("namespace_present", "web").comment == "Namespace created"
    assert kubernetes("namespace_present", "web").comment == "The namespace already exists"
    labelled = kubernetes("namespace_present", "web", metadata={"labels": {"team": "a"}})
    assert labelled.changes == {
        "old": {"metadata": {"labels": {"team": "<_null_>"}}}, "new": {"metadata": {"labels": {"team": "a"}}}
    }  # fmt: skip
    assert kubernetes("configmap_present", "c", namespace="web").result is True
    server.lingers = True
    assert kubernetes("namespace_absent", "web").comment == "Namespace web deleted"
    assert kubernetes("namespace_absent", "web").comment == "The namespace is already being deleted"
    refused = kubernetes.once("namespace_present", "web")
    assert refused.comment == "The namespace web is being deleted: it can be made when it is gone"


def test_a_pod_that_is_there_is_left(kubernetes: Any, server: KubernetesApi) -> None:
    made = kubernetes("pod_present", "p", spec=POD)
    assert made.comment == "Pod created"
    assert "kube-api-access" not in str(made.changes)
    other = {"containers": [{"name": "web", "image": "nginx:2"}]}
    assert kubernetes("pod_present", "p", spec=other).comment.startswith("The pod already exists. Pods are immutable")
    assert kubernetes("pod_absent", "p").changes == {"old": "present", "new": "absent"}


def test_an_act_waits_until_what_it_made_is_ready(kubernetes: Any, server: KubernetesApi) -> None:
    server.runs = False
    late = kubernetes.once("deployment_present", "late", spec=SPEC, wait=True, timeout=0)
    assert (late.result, late.comment) == (False, "Timeout waiting for deployment late to become ready")

    def controller() -> None:
        while server.get("deployments", "web") is None:
            time.sleep(0.01)
        server.make_ready("deployments", "web", {"availableReplicas": 2})

    thread = threading.Thread(target=controller)
    thread.start()
    assert kubernetes.once("deployment_present", "web", spec=SPEC, wait=True).result is True
    thread.join()
    server.lingers = True
    stays = kubernetes.once("deployment_absent", "web", wait=True, timeout=0)
    assert stays.comment == "Timeout waiting for deployment web to be deleted"


def test_labels_and_annotations_of_nodes(kubernetes: Any, server: KubernetesApi) -> None:
    on = {"node": "node-1"}
    made = kubernetes("node_label_present", "example.com/zone", value="a", **on)
    assert made.changes["new"] == {"kubernetes.io/hostname": "node-1", "example.com/zone": "a"}
    changed = kubernetes("node_label_present", "example.com/zone", value="b", **on)
    assert changed.comment == "The label is already set, changing the value"
    assert kubernetes("node_label_present", "example.com/rack", value=7, **on).result is True
    gone = kubernetes("node_label_folder_absent", "example.com", **on)
    assert gone.changes["new"] == ["kubernetes.io/hostname"]
    assert kubernetes("node_label_folder_absent", "example.com", **on).comment == "The label folder does not exist"
    assert kubernetes("node_label_absent", "none", **on).comment == "The label does not exist"
    assert kubernetes("node_annotation_present", "a/b", value="any text", **on).result is True
    assert kubernetes("node_annotation_absent", "a/b", **on).comment == "Annotation removed from node"
    kubernetes("node_annotation_present", "a/c", value="x", **on)
    assert kubernetes("node_annotation_folder_absent", "a", **on).changes["new"] == []
    bad = kubernetes.once("node_label_present", "zone", value="no spaces", node="node-1", test=True)
    assert (bad.result, "Invalid value" in bad.comment) == (False, True)
    assert kubernetes.once("node_label_present", "zone", value="a", node="none").comment == "Node none not found"


@pytest.mark.parametrize("client", ["", "admin"])
def test_ways_in(kubernetes: Any, server: KubernetesApi, client: str) -> None:
    kubernetes.opts = {}
    config = str(server.kubeconfig(client=client))
    assert kubernetes("configmap_present", "c", kubeconfig=config).result is True
    encoded = base64.b64encode(
        server.kubeconfig().read_bytes().replace(b"ca.crt", str(server.folder / "ca.crt").encode())
    ).decode()  # fmt: skip
    assert kubernetes("configmap_present", "d", kubeconfig_data=encoded, context="test").result is True
    named = {"host": server.url, "ca_cert": str(server.folder / "ca.crt")}
    assert kubernetes("configmap_present", "e", **named, api_key="admin-token").result is True
    wrong = kubernetes.once("configmap_present", "f", **named, api_key="none")
    assert wrong.comment == "Error 401 (Unauthorized): Unauthorized"
    viewer = kubernetes.once("configmap_present", "f", **named, api_key="viewer-token", test=True)
    assert (viewer.result, "Error 403 (Forbidden)" in viewer.comment) == (False, True)
    stranger = kubernetes.once("configmap_present", "f", host=server.url, api_key="admin-token")
    assert (stranger.result, "certificate verify failed" in stranger.comment) == (False, True)
    kubernetes.opts = {"kubernetes.clusters": {"one": {**named, "api_key": "admin-token"}}}
    assert kubernetes("configmap_present", "g", cluster="one").result is True
    assert "there are: one" in kubernetes.once("configmap_present", "g", cluster="two").comment
    assert kubernetes.once("configmap_present", "g").comment.startswith("No cluster is configured")


def test_a_program_hands_out_credentials(kubernetes: Any, server: KubernetesApi, tmp_path: Any) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(
        '#!/bin/sh\necho "{\\"kind\\": \\"ExecCredential\\", \\"status\\": {\\"token\\": \\"$TOKEN\\"}}"\n'
    )
    plugin.chmod(0o755)
    named = {"host": server.url, "ca_cert": str(server.folder / "ca.crt")}
    way = {"command": str(plugin), "env": {"TOKEN": "admin-token"}}
    kubernetes.opts = {f"kubernetes.{key}": value for key, value in {**named, "exec": way}.items()}
    assert kubernetes("configmap_present", "c").result is True
    kubernetes.opts["kubernetes.exec"] = {"command": "/bin/false", "install_hint": "install it"}
    assert kubernetes.once("configmap_present", "d").comment == "/bin/false gave no credentials: install it"


def test_what_an_earlier_state_brings_is_not_known_under_test(kubernetes: Any, server: KubernetesApi) -> None:
    wanted = [("namespace_present", "new", {}), ("configmap_present", "c", {"namespace": "new"})]
    foretold = kubernetes.together(wanted, test=True)
    assert [one.result for one in foretold] == [None, None]
    assert "An earlier state of this run (kubernetes new) may bring it" in foretold[1].comment
    done = kubernetes.together(wanted)
    assert [one.result for one in done] == [True, True]
    assert all(one.changes == {} for one in kubernetes.together(wanted, test=True))


def test_a_preview_asks_no_server(kubernetes: Any, server: KubernetesApi) -> None:
    opts = {"kubernetes.api_key": "admin-token", "kubernetes.ca_cert": str(server.folder / "ca.crt")}
    machine = PreviewMachine(sources_port=MemoryFiles({}), opts=opts, contents=LiveContents())
    for given in ({"host": server.url}, {"kubeconfig": str(server.kubeconfig())}):
        chunk = Chunk(state="kubernetes", fun="configmap_present", id="x", name="c", sls="s", arguments=given)
        result = run({"k": chunk}, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)["k"]
        assert (result.result, result.changes) == (None, {})
        assert "preview" in result.comment
    assert server.requests == []
