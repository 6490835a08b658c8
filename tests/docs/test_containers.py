"""The image and the compose file of ops/container, as far as they can be looked at without a container."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
import yaml
from prometheus_server import find_program

from controller.config.checks import check_git
from controller.config.settings import load_file
from gateway.settings import controllers_of, load_gateway_settings
from minion.config.files import BadMinionSettings


@pytest.fixture(scope="module")
def folder(root):
    return root / "ops/container"


@pytest.fixture(scope="module")
def compose(folder):
    return yaml.safe_load((folder / "compose.yaml").read_text())


def test_the_image_runs_as_a_user_without_rights(folder, root):
    text = (folder / "Containerfile").read_text()
    steps = re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE)
    last = steps[max(at for at, (word, _) in enumerate(steps) if word == "FROM") :]
    words = [word for word, _ in last]
    assert ("USER", "10001:10001") in last
    assert words.index("RUN") < words.index("USER") < words.index("ENTRYPOINT")
    assert "RUN" not in words[words.index("USER") :]
    copied = re.findall(r"^COPY (?!--from)(\S+)", text, re.MULTILINE)
    assert copied == ["."]
    assert {".git", ".venv"} <= set((root / ".dockerignore").read_text().split())
    extras = re.search(r"whl\)\[([\w,]+)\]", text)[1].split(",")
    known = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= known.keys()


def test_the_gateway_starts_once_its_key_is_written(folder, tmp_path):
    text = (folder / "gateway.conf").read_text()
    (tmp_path / "gateway").write_text(text)
    settings = load_gateway_settings(tmp_path)
    assert not settings.warnings
    assert settings.controller == ("controller",), "the name of the service"
    with pytest.raises(BadMinionSettings, match="controller_key"):
        controllers_of(settings, tmp_path)


def test_the_compose_file_is_whole(compose, folder):
    services = compose["services"]
    assert services.keys() == {"controller", "postgres", "prometheus", "alertmanager", "grafana", "gateway"}
    controller, gateway = services["controller"], services["gateway"]
    for own in (controller, gateway):
        assert own["read_only"]
        assert own["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in own["security_opt"]
    assert gateway["image"] == controller["image"]
    assert gateway["profiles"] == ["gateway"]
    assert (folder / controller["build"]["context"] / controller["build"]["dockerfile"]).is_file()
    for name, service in services.items():
        if service["image"] != controller["image"]:
            assert re.fullmatch(r"docker\.io/[a-z/]+:v?\d[\w.-]*", service["image"]), name
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert (folder / source).exists() if source.startswith(".") else source in compose["volumes"], volume
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:") or port in ("4505:4505", "4506:4506", "4605:4505", "4606:4506"), port
        assert set(service.get("depends_on", {})) <= services.keys()


def test_secrets_are_asked_for(folder):
    text = (folder / "compose.yaml").read_text()
    secrets = re.findall(r"PASSWORD: (.*)$", text, re.MULTILINE)
    assert len(secrets) == 3
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?set [A-Z_]+\}", each) for each in secrets)


def test_its_configurations_name_its_services(compose, folder):
    settings = load_file(folder / "controller.conf")
    check_git(settings)
    assert settings.store_url == "postgresql://saltern@postgres/saltern"
    prometheus = yaml.safe_load((folder / "prometheus.yml").read_text())
    [target] = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == f"controller:{settings.http_port}"
    [alertmanager] = prometheus["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    [source] = yaml.safe_load((folder / "grafana-datasources.yml").read_text())["datasources"]
    hosts = {settings.prometheus_url.split("/")[2].split(":")[0], alertmanager.split(":")[0]}
    assert hosts | {source["url"].split("/")[2].split(":")[0]} <= compose["services"].keys()
    notified = yaml.safe_load((folder / "alertmanager.yml").read_text())
    assert notified["route"]["receiver"] in {each["name"] for each in notified["receivers"]}


def test_promtool_takes_the_configuration(request, folder, prometheus_folder, tmp_path):
    promtool = find_program("promtool", request.config.cache.mkdir("prometheus"))
    if promtool is None:
        pytest.skip("there is no promtool, and no apt that brings Debian's prometheus")
    for file in (folder / "prometheus.yml", prometheus_folder / "alerts.yml", prometheus_folder / "recording.yml"):
        (tmp_path / file.name).write_text(file.read_text())
    done = subprocess.run([promtool, "check", "config", "prometheus.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
