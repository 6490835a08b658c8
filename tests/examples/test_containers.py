"""The states of examples/containers on a real Docker engine and an API server: foretold, done, and done once."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker_engine import IMAGE, DockerServer
from kubernetes_api import KubernetesApi

from minion.call.call import main
from minion.call.options import CallOptions

EXAMPLE = Path(__file__).parents[2] / "examples" / "containers"


@pytest.fixture
def engine() -> Iterator[DockerServer]:
    """A Docker engine."""
    made = DockerServer()
    yield made
    made.close()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesApi]:
    """An API server."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = KubernetesApi()
    yield made
    made.close()


def calling(tmp_path: Path, options: str, pillar: dict[str, Any]) -> Any:
    """call("sls", "test=True"): what came of each state, by its ID."""
    (tmp_path / "minion").write_text(f"id: web1\nroot_dir: {tmp_path}/root\n{options}\n")

    def call(sls: str, *more: str) -> dict[str, Any]:
        out, err = io.StringIO(), io.StringIO()
        roots = {"file_root": (str(EXAMPLE / "states"),), "pillar_root": (str(EXAMPLE / "pillar"),)}
        args = (sls, f"pillar={json.dumps(pillar)}", *more)
        asked = CallOptions(fun="state.sls", args=args, local=True, config_dir=tmp_path, out="json", **roots)
        main(asked, out, err)
        assert not err.getvalue()
        return {entry["__id__"]: entry for entry in json.loads(out.getvalue())["local"].values()}

    return call


def test_what_the_engine_has(tmp_path: Path, engine: DockerServer) -> None:
    (folder := tmp_path / "host").mkdir()
    web = {"image": IMAGE, "subnet": "10.99.7.0/24", "folder": str(folder), "greeting": "hush-hush"}
    call = calling(tmp_path, f"docker.url: {engine.url}", {"web": web})
    foretold = call("docker", "test=True")
    assert {entry["result"] for entry in foretold.values()} == {None}
    assert engine.client.containers(all=True) == []
    done = call("docker")
    assert {name: entry["comment"] for name, entry in done.items() if entry["result"] is not True} == {}
    assert (folder / "prepared").read_text() == "ready\n"
    assert [one["Names"] for one in engine.client.containers(all=True)] == [["/web"]]
    assert "hush-hush" not in json.dumps(done)
    assert {name for name, entry in call("docker").items() if entry["changes"]} == set()


def test_what_the_cluster_has(tmp_path: Path, cluster: KubernetesApi) -> None:
    shop = {"password": "it's hidden", "tag": "1.4", "replicas": 2, "node": "node-1"}
    call = calling(tmp_path, f"kubernetes.kubeconfig: {cluster.kubeconfig()}", {"shop": shop})
    foretold = call("cluster", "test=True")
    assert {entry["result"] for entry in foretold.values()} == {None}
    assert cluster.changed() == []
    done = call("cluster")
    assert {name: entry["comment"] for name, entry in done.items() if entry["result"] is not True} == {}
    known = {name for name, entry in foretold.items() if entry["changes"]}
    assert known >= {"shop", "node-1"}
    assert {name: foretold[name]["changes"] for name in known} == {name: done[name]["changes"] for name in known}
    assert "hidden" not in json.dumps(done)
    assert cluster.get("deployments", "web", "shop") is not None
    assert {name for name, entry in call("cluster", "test=True").items() if entry["changes"]} == set()
    shop["tag"] = "1.5"
    changed = call("cluster")
    assert {name: list(entry["changes"]) for name, entry in changed.items() if entry["changes"]} == {
        "shop objects": ["apps/v1/Deployment/shop/web"]
    }
