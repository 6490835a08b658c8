"""The image and the compose file of ops/container, built and run by podman: a minion, pushes, Prometheus.

`make containers-test`, as root. No registry of images is asked: stand-ins for the images that are named there are made
from Debian's packages (containers/Containerfile) on a root that debootstrap makes (SALTERN_ROOT=DIR: one that is there,
with python3.11-venv and python3-pip). podman has a storage of its own, which goes with the test.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rig import PATIENCE

ROOT = Path(__file__).parents[2]
STAND_INS = Path(__file__).parent / "containers"
SALTERN = str(Path(sys.executable).with_name("saltern"))
SECRETS = {"POSTGRES_PASSWORD": "of-the-database", "GRAFANA_PASSWORD": "of-grafana"}
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ALWAYS = {"name": "always", "rules": [{"alert": "Always", "expr": "vector(1)"}]}

pytestmark = [
    pytest.mark.fresh_root,
    pytest.mark.timeout(1800),
    pytest.mark.skipif("SALTERN_CONTAINERS" not in os.environ, reason="builds images: make containers-test"),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("podman") is None, reason="runs containers: needs root and podman"
    ),
]


class Site:
    """ops/container as an operator has it: repository and ports of this test, everything else as it is."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self._environment = folder, environment
        self.ports = dict(
            zip(("git", "ret", "publish", "http", "prometheus", "alertmanager"), free_ports(6), strict=True)
        )
        self._compose = folder / "ops/container/compose.yaml"
        for each in ("container", "prometheus", "grafana"):
            shutil.copytree(ROOT / "ops" / each, folder / "ops" / each)
        self._write_compose()
        repository = f"git://host.containers.internal:{self.ports['git']}/salt.git"
        settings = self._compose.with_name("controller.conf")
        words = settings.read_text().replace("https://git.example.org/infra/salt.git", repository)
        settings.write_text(words + "gitfs_update_interval: 2\n")
        rules = self._compose.parents[1] / "prometheus/alerts.yml"
        rules.write_text(yaml.safe_dump({"groups": [*yaml.safe_load(rules.read_text())["groups"], ALWAYS]}))
        scrapes = self._compose.with_name("prometheus.yml")
        scrapes.write_text(scrapes.read_text().replace("_interval: 15s", "_interval: 2s"))

    def _write_compose(self) -> None:
        services = (whole := yaml.safe_load(self._compose.read_text()))["services"]
        services["controller"]["build"]["context"] = str(ROOT)
        if hard_limit(resource.RLIMIT_NOFILE) < services["controller"]["ulimits"]["nofile"]:
            del services["controller"]["ulimits"]  # not to be had on this machine, which may not raise its own
        at = {"4505": "publish", "4506": "ret", "8765": "http", "9090": "prometheus", "9093": "alertmanager"}
        for service in services.values():
            inner = [port.rpartition(":")[2] for port in service.get("ports", [])]
            service["ports"] = [f"127.0.0.1:{self.ports[at[port]]}:{port}" for port in inner if port in at]
        self._compose.write_text(yaml.safe_dump(whole))

    def compose(self, *words: str) -> str:
        return run("podman-compose", "-f", str(self._compose), *words, **self._environment)

    def podman(self, *words: str) -> str:
        return run("podman", *words, **self._environment)

    def saltern(self, *words: str) -> str:
        return self.compose("exec", "-T", "controller", "saltern", *words)

    def ask(self, service: str, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[service]}{path}", timeout=10) as answer:
            return json.load(answer)


def run(*words: str, **environment: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def hard_limit(which: int) -> int:
    number = resource.getrlimit(which)[1]
    return sys.maxsize if number == resource.RLIM_INFINITY else number


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def until(what: str, look: Callable[[], bool]) -> None:
    """Whether it becomes so; what fails is not so yet."""
    end = time.monotonic() + PATIENCE
    said: object = None
    while time.monotonic() < end:
        try:
            if look():
                return
        except (AssertionError, OSError) as error:
            said = error
        time.sleep(0.5)
    raise AssertionError(f"{what}: {said}")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root of Debian 12 with Python, venv and pip, as the image python:3.11-slim-bookworm has them."""
    if "SALTERN_ROOT" in os.environ:
        return Path(os.environ["SALTERN_ROOT"])
    if shutil.which("debootstrap") is None:
        pytest.skip("no debootstrap, which makes the root of the images")
    root = tmp_path_factory.mktemp("base") / "root"
    packages = "--include=python3.11,python3.11-venv,python3-pip,passwd,ca-certificates"
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", packages, "bookworm", root], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"debootstrap: {done.stdout[-300:]}")
    return root


def configuration(folder: Path) -> str:
    """Of podman: limits that this machine may give, and runc where crun refuses to run (cgroups of both versions)."""
    given = {"nofile": (resource.RLIMIT_NOFILE, 65_536), "nproc": (resource.RLIMIT_NPROC, 4_096)}
    most = {name: min(hard_limit(which), enough) for name, (which, enough) in given.items()}
    limits = json.dumps([f"{name}={number}:{number}" for name, number in most.items()])
    runtime = 'runtime = "runc"' if Path("/sys/fs/cgroup/unified").is_dir() and shutil.which("runc") else ""
    return (
        f"[containers]\ndefault_ulimits = {limits}\n[engine]\n{runtime}\n"
        f'[network]\nnetwork_backend = "netavark"\nnetwork_config_dir = "{folder}/networks"\n'
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """With podman-compose, and with a storage and limits of its own for podman."""
    folder = tmp_path_factory.mktemp("podman")
    tools = folder / "tools"
    if shutil.which("podman-compose") is None:
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        if subprocess.run([tools / "bin/pip", "install", "-q", "podman-compose"], check=False).returncode:
            pytest.skip("no podman-compose, and no index of Python packages that has it")
    (folder / "containers.conf").write_text(configuration(folder))
    storage = f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    (folder / "storage.conf").write_text(storage)
    made = {
        "CONTAINERS_CONF": f"{folder}/containers.conf",
        "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf",
        **SECRETS,
    }
    made["PATH"] = f"{tools}/bin:{os.environ['PATH']}"
    yield made
    subprocess.run(["umount", folder / "graph/overlay"], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def site(root: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """All of compose.yaml, running, with the image that the Containerfile makes."""
    folder = tmp_path_factory.mktemp("site")
    made = Site(folder, environment)
    import_root(made, root, folder)
    stand_ins = shutil.copytree(STAND_INS, folder / "stand-ins")
    shutil.copy(CERTIFICATES, stand_ins)
    services = yaml.safe_load((ROOT / "ops/container/compose.yaml").read_text())["services"]
    named = {"python": "docker.io/library/python:3.11-slim-bookworm"}
    named |= {name: service["image"] for name, service in services.items() if "build" not in service}
    for target, image in named.items():
        made.podman("build", "-q", "--pull=never", "--target", target, "-t", image, str(stand_ins))
    made.compose("--podman-build-args=--pull=never", "build", "controller")
    print(made.podman("images"))  # noqa: T201 - `pytest -s` shows the sizes
    (folder / "git").mkdir()
    daemon = ["git", "daemon", f"--base-path={folder}/git", "--export-all", f"--port={made.ports['git']}"]
    with subprocess.Popen(daemon) as git:
        try:
            made.compose("up", "--detach", "--no-build")
            yield made
        finally:
            print(made.compose("logs", "controller")[-5000:])  # noqa: T201
            made.compose("down", "--volumes")
            git.terminate()


def import_root(site: Site, root: Path, folder: Path) -> None:
    archive = folder / "root.tar"
    run("tar", "-C", str(root), "-cf", str(archive), ".")
    site.podman("import", "-q", str(archive), "localhost/debian")
    archive.unlink()


class Tree:
    """The repository of the controller: one file on this machine is managed."""

    def __init__(self, folder: Path, managed: Path) -> None:
        self._work, self._managed = folder / "work", managed
        run("git", "init", "-q", "--bare", "-b", "main", str(folder / "git/salt.git"))
        run("git", "clone", "-q", str(folder / "git/salt.git"), str(self._work))
        self._write("states/top.sls", "base: {'*': [hello]}")
        self._write("pillar/top.sls", "base: {}")

    def _write(self, path: str, text: str) -> None:
        (self._work / path).parent.mkdir(exist_ok=True)
        (self._work / path).write_text(text + "\n")

    def push(self, contents: str) -> None:
        state = [{"name": str(self._managed)}, {"contents": contents}]
        self._write("states/hello.sls", yaml.safe_dump({"hello": {"file.managed": state}}))
        at = ("git", "-C", str(self._work), "-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        run(*at, "add", "--all")
        run(*at, "commit", "-qm", contents)
        run(*at, "push", "-q", "origin", "HEAD:main")


@pytest.fixture
def minion(site: Site, tmp_path: Path) -> Iterator[str]:
    """A minion of this machine whose key is accepted; its id."""
    until("the controller answers", lambda: site.saltern("key", "controller") != "")
    config, key = str(tmp_path / "etc"), site.saltern("key", "controller").strip()
    where = ("--port", str(site.ports["ret"]), "--root-dir", str(tmp_path / "root"), "-c", config)
    run(SALTERN, "minion", "join", "127.0.0.1", "--key", key, "--id", "here", "--no-start", *where)
    with subprocess.Popen([SALTERN, "minion", "-c", config]) as agent:
        until("the minion asks", lambda: "here" in site.saltern("key", "list"))
        site.saltern("key", "accept", "-y", "here")
        yield "here"
        agent.terminate()


def test_a_push_reaches_a_minion_and_all_is_seen(site, minion, tmp_path):
    managed = tmp_path / "hello"
    tree = Tree(site.folder, managed)
    for contents in ("first", "second"):
        tree.push(contents)
        until(contents, lambda contents=contents: managed.read_text() == f"{contents}\n")
    assert "FAIL" not in site.saltern("doctor")
    look_at_rights(site)
    look_at_prometheus(site)
    rows = "SELECT count(*) FROM runs WHERE minion = 'here'"
    stored = site.compose("exec", "-T", "postgres", "psql", "-U", "saltern", "-tAc", rows)
    assert int(stored) >= 2
    boards = site.compose("exec", "-T", "grafana", "cat", "/var/lib/grafana/dashboards/saltern/fleet.json")
    assert json.loads(boards)["title"]

    key, history = site.saltern("key", "controller"), site.saltern("history")
    site.compose("down")
    site.compose("up", "--detach", "--no-build")
    until("it answers", lambda: site.saltern("key", "controller") == key)
    assert history.splitlines()[-1] in site.saltern("history")
    tree.push("third")
    until("third", lambda: managed.read_text() == "third\n")


def look_at_rights(site: Site) -> None:
    status = site.compose("exec", "-T", "controller", "cat", "/proc/1/status")
    said = dict(line.split(":", 1) for line in status.splitlines())
    assert said["Uid"].split() == ["10001"] * 4
    assert int(said["CapEff"], 16) == int(said["CapBnd"], 16) == 0
    assert said["NoNewPrivs"].strip() == "1"
    with pytest.raises(AssertionError, match="Read-only file system"):
        site.compose("exec", "-T", "controller", "touch", "/opt/saltern/x")
    [health] = json.loads(site.podman("inspect", "saltern_controller_1"))
    assert "healthz" in str(health["Config"]["Healthcheck"])
    site.podman("healthcheck", "run", "saltern_controller_1")


def look_at_prometheus(site: Site) -> None:
    def value(query: str) -> list[str]:
        found = site.ask("prometheus", f"/api/v1/query?query={query}")["data"]["result"]
        return [each["value"][1] for each in found]

    def alerts() -> set[str]:
        return {each["labels"]["alertname"] for each in site.ask("alertmanager", "/api/v2/alerts")}

    until("the controller is scraped", lambda: value("up{job=%22saltern%22}") == ["1"])
    groups = site.ask("prometheus", "/api/v1/rules")["data"]["groups"]
    rules = {rule["name"] for group in groups for rule in group["rules"]}
    assert {"SalternControllerDown", "Always"} <= rules
    until("an alert comes to Alertmanager", lambda: "Always" in alerts())
