"""The units and the configuration of Prometheus, checked by the programs that read them where these are there."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml

RULE_TESTS = {
    "rule_files": ["alerts.yml"],
    "evaluation_interval": "1m",
    "tests": [
        {
            "interval": "1m",
            "input_series": [
                {"series": 'up{job="saltern"}', "values": "1x120"},
                {"series": 'saltern_minion_health{minion="web1",health="Unreachable"}', "values": "1x120"},
                {"series": 'saltern_minion_health{minion="web2",health="Healthy"}', "values": "1x120"},
                {"series": 'saltern_minion_sync{minion="web1",sync="Progressing"}', "values": "1x120"},
                {"series": 'saltern_minion_sync{minion="web2",sync="Synced"}', "values": "1x120"},
                {"series": 'saltern_minion_sync{minion="web3",sync="Paused"}', "values": "1x120"},
                {"series": 'saltern_minion_sync{minion="web4",sync="Synced"}', "values": "1x120"},
                {"series": 'saltern_applied_revision_age_seconds{minion="web1"}', "values": "100000x120"},
                {"series": 'saltern_applied_revision_age_seconds{minion="web2"}', "values": "60x120"},
                {"series": 'saltern_applied_revision_age_seconds{minion="web3"}', "values": "100000x120"},
                {"series": 'saltern_applied_revision_age_seconds{minion="web4"}', "values": "100000x120"},
                {"series": 'saltern_git_fetch_failing{remote="states"}', "values": "1x120"},
                {"series": "saltern_unconfirmed_taken_back_total", "values": "0x60 2x59"},
                {"series": "saltern_compile_fallbacks_total", "values": "0+1x120"},
                {"series": 'saltern_compile_workers{state="ready"}', "values": "2x120"},
                {"series": 'saltern_compile_workers{state="silent"}', "values": "1x120"},
                {"series": 'saltern_compile_workers{state="refused"}', "values": "0x85 1x34"},
                # An outage of two minutes, with all its tries, that is over.
                {"series": 'saltern_git_fetch_failing{remote="pillar"}', "values": "0x80 1 1 0x40"},
                {"series": 'saltern_git_fetch_errors_total{remote="pillar"}', "values": "0x80 3 6 6x40"},
            ],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname, minion, remote) (ALERTS{alertstate="firing"})',
                    "eval_time": "90m",
                    "exp_samples": [
                        {"labels": '{alertname="SalternMinionUnreachable", minion="web1"}', "value": 1},
                        {"labels": '{alertname="SalternRevisionTooOld", minion="web1"}', "value": 1},
                        {"labels": '{alertname="SalternFetchErrors", remote="states"}', "value": 1},
                        {"labels": '{alertname="SalternUnconfirmedTakenBack"}', "value": 1},
                        {"labels": '{alertname="SalternCompileFallbacks"}', "value": 1},
                        {"labels": '{alertname="SalternCompileWorkersUnused"}', "value": 1},
                    ],
                }
            ],
        },
        {
            "interval": "1m",
            "input_series": [{"series": 'up{job="saltern"}', "values": "0x10"}],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": "5m",
                    "exp_samples": [{"labels": '{alertname="SalternControllerDown"}', "value": 1}],
                }
            ],
        },
    ],
}


@pytest.fixture
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian's package `prometheus` has it)")
    return found


def test_promtool_takes_the_configuration(promtool, prometheus_folder):
    done = subprocess.run(
        [promtool, "check", "config", "prometheus.yml"], cwd=prometheus_folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire(promtool, prometheus_folder, tmp_path):
    shutil.copy(prometheus_folder / "alerts.yml", tmp_path)
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(RULE_TESTS))
    done = subprocess.run([promtool, "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True)
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
