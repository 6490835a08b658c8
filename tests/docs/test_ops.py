"""The units and the configuration of Prometheus, checked by the programs that read them where these are there."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml
from alert_cases import PLANTED, rule_tests
from prometheus_server import find_program


@pytest.fixture(scope="session")
def promtool(request):
    found = find_program("promtool", request.config.cache.mkdir("prometheus"))
    return found or pytest.skip("there is no promtool, and no apt that brings Debian's prometheus")


def test_promtool_takes_the_configuration(promtool, prometheus_folder):
    done = subprocess.run(
        [promtool, "check", "config", "prometheus.yml"], cwd=prometheus_folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def amtool(request):
    found = find_program("amtool", request.config.cache.mkdir("prometheus"))
    return found or pytest.skip("there is no amtool, and no apt that brings Debian's prometheus-alertmanager")


def test_alertmanager_takes_its_configuration(amtool, prometheus_folder):
    words = [amtool, "check-config", prometheus_folder / "alertmanager.yml"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_comes_to_the_receiver_of_its_severity(amtool, prometheus_folder, alerts):
    """And what holds others back names alerts that there are."""
    config = prometheus_folder / "alertmanager.yml"
    receivers = {"critical": "pager", "warning": "chat", "info": "mail"}
    for severity in sorted({rule["labels"]["severity"] for rule in alerts}):
        words = [amtool, "config", "routes", "test", f"--config.file={config}", f"severity={severity}"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.stdout.strip() == receivers[severity]
    known = {rule["alert"] for rule in alerts}
    for rule in yaml.safe_load(config.read_text())["inhibit_rules"]:
        named = set(re.findall(r"Saltern\w+", str(rule)))
        assert len(named) >= 2
        assert named <= known


def test_each_alert_fires_when_it_shall_and_not_before(promtool, prometheus_folder, tmp_path, alerts):
    assert set(PLANTED) == {rule["alert"] for rule in alerts}
    for rules in prometheus_folder.glob("*.yml"):
        shutil.copy(rules, tmp_path)
    for rule in alerts:
        group = {"name": "one", "rules": [rule]}
        (tmp_path / f"rules-{rule['alert']}.yml").write_text(yaml.safe_dump({"groups": [group]}))
    files = rule_tests()
    for name, tests in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(tests, sort_keys=False))
    done = subprocess.run([promtool, "test", "rules", *files], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("unit", ["saltern-controller.service", "saltern-minion.service"])
def test_systemd_takes_the_unit(unit, systemd_folder, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = (systemd_folder / unit).read_text()
    text = text.replace("/usr/local/bin/saltern", "/bin/true")  # not installed where this is tested
    text = re.sub(r"^(User|Group)=.*\n", "", text, flags=re.MULTILINE)
    (tmp_path / unit).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit)], capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert unit not in said


@pytest.mark.parametrize("unit", ["saltern-controller.service", "saltern-relay.service", "saltern-gateway.service"])
def test_the_unit_is_hardened(unit, systemd_folder):
    """`systemd-analyze security` rates exposure from 0 to 10; the threshold is in tenths."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager"]
    done = subprocess.run([*command, str(systemd_folder / unit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr


def test_a_worker_survives_a_restart_of_the_agent(systemd_folder):
    unit = settings(systemd_folder / "saltern-minion.service")
    assert unit["KillMode"] == "process"
    assert unit["Restart"] == "always"
    assert unit["UMask"] == "0022"
    assert "NoNewPrivileges" not in unit


def test_the_controller_may_write_where_its_defaults_are(systemd_folder):
    from controller.config.settings import ControllerSettings

    unit, plain = settings(systemd_folder / "saltern-controller.service"), ControllerSettings()
    assert f"/run/{unit['RuntimeDirectory']}" == str(plain.sock_dir)
    assert f"/var/cache/{unit['CacheDirectory']}" == str(plain.cachedir)
    assert f"/var/lib/{unit['StateDirectory']}/" in plain.store_url
    assert unit["ReadWritePaths"] == f"-{plain.pki_dir}"
    assert "KillMode" not in unit


def settings(path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)
