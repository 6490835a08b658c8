"""States of servers with an API of HTTP, or a program of their own: brokers, containers, clusters, secrets."""

from __future__ import annotations

import contextlib
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from docker_engine import IMAGE, DockerServer
from helm_program import helm_folder
from kubernetes_api import KubernetesApi
from openbao import openbao
from rabbitmq_server import PROGRAM, RabbitmqServer, end_epmd
from rig import free_ports

from tools.bench.noops.pairs import NoOp


@contextlib.contextmanager
def rabbitmq() -> Iterator[Iterator[NoOp]]:
    """RabbitMQ."""
    if not PROGRAM.exists():
        pytest.skip("there is no RabbitMQ")
    [epmd] = free_ports(1)
    server = RabbitmqServer("bench", epmd)
    try:
        with mock.patch.dict(os.environ, server.environment):
            yield iter([
                NoOp(fun="rabbitmq_vhost.present", name="shop"),
                NoOp(fun="rabbitmq_vhost.absent", name="none"),
                NoOp(fun="rabbitmq_user.present", name="joe", arguments={"password": "sesame", "tags": ["monitoring"],
                     "perms": [{"/": ["^x$", "", ".*"]}]}),
                NoOp(fun="rabbitmq_user.present", name="joe", arguments={"tags": ["monitoring"]}),
                NoOp(fun="rabbitmq_user.absent", name="none"),
                NoOp(fun="rabbitmq_policy.present", name="ha", arguments={"pattern": ".*", "definition":
                     '{"max-length":100}'}),
                NoOp(fun="rabbitmq_policy.absent", name="none"),
                NoOp(fun="rabbitmq_plugin.disabled", name="rabbitmq_top"),
                NoOp(fun="rabbitmq_upstream.absent", name="none"),
            ])  # fmt: skip
    finally:
        server.close()
        end_epmd(epmd)


@contextlib.contextmanager
def docker() -> Iterator[Iterator[NoOp]]:
    """Docker."""
    server = DockerServer()
    try:
        yield _docker(server)
    finally:
        server.close()


def _docker(server: DockerServer) -> Iterator[NoOp]:
    opts = {"docker.url": server.url}

    def one(fun: str, name: str, **arguments: Any) -> NoOp:
        kind = fun.partition(".")[0]

        def bare() -> None:
            with contextlib.suppress(Exception):
                getattr(server.client, f"inspect_{kind}")(name)
            server.client.close()
            if fun == "container.running":  # an image's configuration and the engine's defaults are in what is compared
                server.client.inspect_image(IMAGE)
                server.client.close()
                server.client.info()
                server.client.close()

        return NoOp(
            fun=f"docker_{fun}",
            name=name,
            arguments=arguments,
            opts=opts,
            bare=bare,
            bare_of=f"the SDK's inspect_{kind}",
        )

    yield one("volume.present", "data", driver="local")
    yield one("volume.absent", "nothing")
    yield one("network.present", "net", subnet="10.99.3.0/24")
    yield one("network.absent", "nothing")
    yield one("image.present", "base", tag="1")
    yield one("image.absent", "nothing")
    running = {"image": IMAGE, "command": "sleep 600", "stop_signal": "KILL", "shutdown_timeout": 1}
    yield one("container.running", "web", **running, environment={"A": "1"}, labels={"a": "b"})
    yield one("container.absent", "nothing")
    yield one("container.stopped", "web")


@contextlib.contextmanager
def kubernetes() -> Iterator[Iterator[NoOp]]:
    """Kubernetes: an API server that validates as the real one does."""
    server = KubernetesApi()
    try:
        with mock.patch.dict(os.environ, {"no_proxy": "127.0.0.1"}):
            yield _kubernetes(server)
    finally:
        server.close()


def _kubernetes(server: KubernetesApi) -> Iterator[NoOp]:
    opts, core = {"kubernetes.kubeconfig": str(server.kubeconfig())}, "/api/v1"
    trusted = ssl.create_default_context(cafile=str(server.folder / "ca.crt"))

    said = {"Authorization": "Bearer admin-token", "Accept": "application/json"}

    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted))
    patch = {"Content-Type": "application/strategic-merge-patch+json"}

    def ask(path: str, *, dry: bool) -> None:
        asked = [urllib.request.Request(f"{server.url}{path}", headers=said)]  # noqa: S310  (the benchmark's own server)
        if dry:
            url = f"{server.url}{path}?dryRun=All&fieldValidation=Strict"
            body = b'{"metadata": {}}'
            asked.append(urllib.request.Request(url, body, {**said, **patch}, method="PATCH"))  # noqa: S310
        for each in asked:
            try:
                with opener.open(each) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                error.read()

    def one(fun: str, name: str, path: str, **arguments: Any) -> NoOp:
        # Of an object that is there the server is asked, besides, what would come of the change.
        dry = fun in ("configmap_present", "secret_present", "service_present", "deployment_present")
        return NoOp(
            fun=f"kubernetes.{fun}",
            name=name,
            arguments=arguments,
            opts=opts,
            bare=partial(ask, path, dry=dry),
            bare_of="GET and a dry run of PATCH" if dry else "GET",
        )

    own = f"{core}/namespaces/default"
    yield one("namespace_present", "web", f"{core}/namespaces/web")
    yield one("namespace_absent", "none", f"{core}/namespaces/none")
    yield one("configmap_present", "c", f"{own}/configmaps/c", data={"a": "1"})
    yield one("configmap_absent", "none", f"{own}/configmaps/none")
    yield one("secret_present", "s", f"{own}/secrets/s", data={"a": "1"})
    yield one("service_present", "web", f"{own}/services/web", spec={"ports": [80]})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    apps = "/apis/apps/v1/namespaces/default/deployments"
    yield one("deployment_present", "web", f"{apps}/web", spec=spec)
    yield one("deployment_absent", "none", f"{apps}/none")
    yield one("node_label_present", "example.com/zone", f"{core}/nodes/node-1", node="node-1", value="a")
    yield one("node_label_absent", "example.com/none", f"{core}/nodes/node-1", node="node-1")


@contextlib.contextmanager
def helm() -> Iterator[Iterator[NoOp]]:
    """Helm, and an API server."""
    folder, server = helm_folder(), KubernetesApi()
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as top:
        chart = Path(top) / "web"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 0.1.0}")
        (chart / "templates/c.yaml").write_text(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}}, data: {a: b}}"
        )
        changed = {
            "PATH": f"{folder}:/usr/bin:/bin",
            "KUBECONFIG": str(server.kubeconfig()),
            "no_proxy": "127.0.0.1",
            **{f"HELM_{kind}_HOME": f"{top}/{kind}" for kind in ("CACHE", "CONFIG", "DATA")},
        }
        try:
            with mock.patch.dict(os.environ, changed):
                flags = {"flags": ["disable-openapi-validation"]}
                yield iter([
                    NoOp(fun="helm.release_present", name="shop", arguments={"chart": str(chart), **flags}),
                    NoOp(fun="helm.release_absent", name="none"),
                ])  # fmt: skip
        finally:
            server.close()
            if folder.name.startswith("saltern-helm-"):
                shutil.rmtree(folder)


@contextlib.contextmanager
def vault() -> Iterator[Iterator[NoOp]]:
    """OpenBao, as Vault."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, openbao(Path(folder)) as server:
        opts = {"vault": {"server": {"url": server.url}, "auth": {"token": "root"}, "config_location": "local"}}
        session = pytest.importorskip("requests").Session()  # what the state's own library asks by

        def one(fun: str, name: str, path: str, **arguments: Any) -> NoOp:
            def bare() -> object:
                return session.get(f"{server.url}/v1/{path}", headers={"X-Vault-Token": "root"}).content

            return NoOp(fun=fun, name=name, arguments=arguments, opts=opts, bare=bare, bare_of=f"GET {path}")

        rules = 'path "secret/data/x" {\n  capabilities = ["read"]\n}\n'
        with session:
            yield iter([
            one("vault.policy_present", "demo", "sys/policies/acl/demo", rules=rules),
            one("vault.policy_absent", "none", "sys/policies/acl/none"),
            one("vault_secret.present", "secret/app", "secret/data/app", values={"a": "b"}),
            one("vault_secret.absent", "secret/none", "secret/data/none"),
        ])  # fmt: skip


@contextlib.contextmanager
def monit() -> Iterator[Iterator[NoOp]]:
    """Monit."""
    program = shutil.which("monit")
    if program is None:
        pytest.skip("there is no monit")
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as top:
        paths = "\n".join(f"set {kind}file {top}/{kind}" for kind in ("pid", "id", "state"))
        Path(top, "conf").write_text(
            f"set daemon 1\nset log {top}/log\n{paths}\nset httpd unixsocket {top}/sock\n  allow user:sesame\n"
            f"check file conf with path {top}/conf\n"
        )
        Path(top, "conf").chmod(0o600)
        wrapper = Path(top, "bin/monit")
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {program} -c {top}/conf "$@"\n')
        wrapper.chmod(0o755)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with mock.patch.dict(os.environ, {"PATH": f"{top}/bin:{os.environ['PATH']}"}):
            process = subprocess.Popen(["monit", "-I"], **quiet)  # type: ignore[call-overload]
            try:
                end = time.monotonic() + 20
                while subprocess.run(["monit", "-B", "summary"], check=False, capture_output=True).returncode:
                    if process.poll() is not None or time.monotonic() > end:
                        pytest.skip("monit does not run here")
                    time.sleep(0.05)
                yield iter([NoOp(fun="monit.monitor", name="conf")])
            finally:
                process.kill()
                process.wait()


FAMILIES: dict[str, Callable[[], contextlib.AbstractContextManager[Iterator[NoOp]]]] = {
    "vault": vault,
    "kubernetes": kubernetes,
    "docker": docker,
    "monit": monit,
    "helm": helm,
    "rabbitmq": rabbitmq,
}
