"""helm.* on a real Helm, and an API server that checks what it is sent."""

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helm_program import helm_folder
from kubernetes_api import KubernetesApi

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.worker.preview_sandbox import PreviewMachine

CONFIG = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting | quote }}
  nested: {{ .Values.deep.one | quote }}
{{- if .Values.more }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  ports: [{port: 80}]
{{- end }}
"""
FLAGS = {"flags": ["disable-openapi-validation"]}


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """The folder of the program."""
    folder = helm_folder()
    yield folder
    if folder.name.startswith("saltern-helm-"):
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def running_server(program: Path) -> Iterator[KubernetesApi]:
    """An API server."""
    made = KubernetesApi()
    yield made
    made.close()


@pytest.fixture
def server(running_server: KubernetesApi, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same, as at its start, and Helm's way to it."""
    running_server.clean()
    monkeypatch.setenv("PATH", f"{program}:/usr/bin:/bin")
    monkeypatch.setenv("KUBECONFIG", str(running_server.kubeconfig()))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"HELM_{kind}_HOME", str(tmp_path / "helm" / kind))
    return running_server


@pytest.fixture
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chart."""
    folder = tmp_path_factory.mktemp("charts") / "web"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 0.1.0}")
    (folder / "values.yaml").write_text("{greeting: hello, more: false, deep: {one: 1, two: 2}}")
    (folder / "templates/c.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def helm(server: KubernetesApi) -> Callable[..., StateResult]:
    """helm("release_present", name, **arguments): under test nothing comes of it, and a second run is empty."""
    machine = LocalMachine(sources_port=MemoryFiles({"base": {"v.yaml": b"{greeting: of the tree, deep: {one: 3}}"}}))

    def once(fun: str, name: str, arguments: dict[str, Any], *, test: bool) -> StateResult:
        chunk = Chunk(state="helm", fun=fun, id="x", name=name, sls="s", arguments=arguments)
        return run({"k": chunk}, StateEngine(machine, test=test), test=test, clock=lambda: 0.0)["k"]

    def call(fun: str, name: str, **arguments: Any) -> StateResult:
        before = len(server.changed())
        foretold = once(fun, name, arguments, test=True)
        assert server.changed()[before:] == []
        done = once(fun, name, arguments, test=False)
        if done.result:
            assert foretold.changes == done.changes
            assert once(fun, name, arguments, test=False).changes == {} or fun == "repo_updated"
        return done

    return call


def test_a_release_is_made_upgraded_and_taken_away(helm: Any, server: KubernetesApi, chart: Path) -> None:
    made = helm("release_present", "shop", chart=str(chart), **FLAGS)
    assert (made.result, made.comment) == (True, "Helm release shop is present")
    assert made.changes == {
        "chart": {"old": None, "new": "web-0.1.0"}, "status": {"old": None, "new": "deployed"},
        "objects": {"added": ["ConfigMap/shop"]},
    }  # fmt: skip
    found = server.get("configmaps", "shop")
    assert found is not None
    assert found["data"] == {"greeting": "hello", "nested": "1"}
    secret = {"greeting": "hush", "more": True}
    changed = helm("release_present", "shop", chart=str(chart), values=["salt://v.yaml", secret], **FLAGS)
    assert changed.changes == {
        "values": ["deep", "greeting", "more"], "objects": {"added": ["Service/shop"], "changed": ["ConfigMap/shop"]},
    }  # fmt: skip
    assert "hush" not in str(changed)
    found = server.get("configmaps", "shop")
    assert found is not None
    assert found["data"] == {"greeting": "hush", "nested": "3"}
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 0.2.0}")
    newer = helm("release_present", "shop", chart=str(chart), set=["greeting=hi"], **FLAGS)
    assert newer.changes["chart"] == {"old": "web-0.1.0", "new": "web-0.2.0"}
    assert newer.changes["objects"] == {"changed": ["ConfigMap/shop"], "removed": ["Service/shop"]}
    assert server.get("services", "shop") is None
    assert helm("release_absent", "shop").changes == {"absent": "shop"}
    assert helm("release_absent", "shop").comment == "Helm release shop is absent."
    assert server.get("configmaps", "shop") is None


def test_what_helm_refuses_is_foretold(helm: Any, server: KubernetesApi, chart: Path) -> None:
    lacking = helm("release_present", "shop", chart=str(chart), namespace="none", **FLAGS)
    assert (lacking.result, 'namespaces "none" not found' in lacking.comment) == (False, True)
    (chart / "templates/c.yaml").write_text("{{ fail `not this one` }}")
    wrong = helm("release_present", "shop", chart=str(chart), **FLAGS)
    assert (wrong.result, "not this one" in wrong.comment) == (False, True)
    assert helm("release_present", "shop", chart="/none", **FLAGS).result is False
    made = helm("release_present", "shop", chart=str(chart), values="/none", **FLAGS)
    assert made.comment == "Source file '/none' not found"
    assert server.get("configmaps", "shop") is None


def test_repositories(helm: Any, server: KubernetesApi, chart: Path, tmp_path: Path) -> None:
    modules = Modules(Context(minion_id="web1"))
    (served := tmp_path / "served").mkdir()
    modules.call("helm.package", (str(chart),), {"kvflags": {"destination": str(served)}})
    (served / "index.yaml").write_text("apiVersion: v1\nentries: {web: [{name: web, version: 0.1.0, urls: [a.tgz]}]}\n")
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(served)))
    threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
    try:
        url = f"http://127.0.0.1:{web.server_address[1]}"
        present = [{"name": "own", "url": url}, {"name": "other", "url": f"{url}/"}]
        made = helm("repo_managed", "repos", present=present, repo_update=True)
        assert (made.comment, made.changes["added"]) == ("Repositories were added or removed.", present)
        assert helm("repo_managed", "repos", present=present).comment == "Helm repo is managed."
        assert [one["name"] for one in modules.call("helm.search_repo", ("web",))] == ["other/web", "own/web"]
        assert helm("repo_managed", "repos", present=present[:1], prune=True).changes == {"removed": ["other"]}
        assert helm("repo_updated", "repos").changes == {"updated": ["own"]}
        assert helm("repo_managed", "repos", absent=["own", "none"]).changes == {"removed": ["own"]}
        assert helm("repo_managed", "repos", present=["own"]).comment.startswith("Parameter present have to be")
        assert helm("repo_updated", "repos").result is False
    finally:
        web.shutdown()
        web.server_close()


def test_functions(server: KubernetesApi, chart: Path) -> None:
    modules = Modules(Context(minion_id="web1"))

    def call(fun: str, *args: Any, **kwargs: Any) -> Any:
        return modules.call(f"helm.{fun}", args, kwargs)

    assert call("install", "shop", str(chart), {"greeting": "a"}, **FLAGS) is True
    assert call("upgrade", "shop", str(chart), {"greeting": "b"}, **FLAGS) is True
    assert [one["name"] for one in call("list")] == ["shop"]
    assert call("status", "shop")["config"] == {"greeting": "b"}
    assert call("get_values", "shop") == {"greeting": "b"}
    assert 'greeting: "b"' in call("get_manifest", "shop")
    assert call("rollback", "shop", 1) is True
    assert [one["revision"] for one in call("history", "shop")] == [1, 2, 3]
    assert 'greeting: "c"' in call("template", "x", str(chart), set=["greeting=c"])
    assert "name: web" in call("show_chart", str(chart))
    assert "greeting" in call("show_values", str(chart))
    assert "0 chart(s) failed" in call("lint", str(chart))
    assert call("version", flags=["short"]).startswith("v")
    assert call("repo_list") == []
    assert call("uninstall", "shop") is True
    with pytest.raises(CallFailed, match="release: not found"):
        call("status", "shop")


def test_a_preview_runs_no_helm(server: KubernetesApi, chart: Path) -> None:
    machine = PreviewMachine(sources_port=MemoryFiles({}))
    chunk = Chunk(state="helm", fun="release_absent", id="x", name="shop", sls="s", arguments={})
    result = run({"k": chunk}, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)["k"]
    assert (result.result, result.changes, "preview" in result.comment) == (None, {}, True)
    assert server.requests == []
