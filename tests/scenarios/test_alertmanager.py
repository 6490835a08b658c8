"""A real Alertmanager with our configuration: each alert is delivered, and what follows from another is held back."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_server import OPS, Receiver, alertmanager, can_start, find_program

RECEIVERS = {"critical": "pager", "warning": "chat", "info": "mail"}
PATIENCE = 60.0


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def address(request, receiver, tmp_path_factory):
    program = find_program("alertmanager", request.config.cache.mkdir("prometheus"))
    if program is None or not can_start(program):
        pytest.skip("there is no alertmanager, and no apt that brings Debian's, or it cannot be started")
    with alertmanager(program, tmp_path_factory.mktemp("alertmanager"), receiver) as address:
        yield f"http://{address}/api/v2/alerts"


@pytest.fixture(scope="module")
def rules():
    groups = yaml.safe_load((OPS / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def post(address: str, rules: dict[str, dict], *alerts: str, **labels: str) -> None:
    """Tell Alertmanager that these fire, as Prometheus does."""
    sent = [{"labels": {"alertname": alert, **rules[alert]["labels"], **labels}} for alert in alerts]
    httpx.post(address, json=sent).raise_for_status()


def wait(what: str, condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_each_alert_is_delivered_to_the_receiver_of_its_severity(address, rules, receiver):
    for alert in rules:
        if alert != "SalternControllerDown":  # it holds another back, whatever their labels
            post(address, rules, alert, job=f"of {alert}")
    expected = {alert: RECEIVERS[rule["labels"]["severity"]] for alert, rule in rules.items()}
    del expected["SalternControllerDown"]

    def found() -> dict[str, str]:
        return {alert: name for alert, (name, _) in receiver.told("firing").items()}

    wait("all alerts", lambda: len(found()) == len(expected))
    assert found() == expected
    post(address, rules, "SalternControllerDown", job="of itself")
    wait("the controller", lambda: found().get("SalternControllerDown") == "pager")


def test_what_follows_from_another_is_held_back(address, rules):
    """Each of the rules: with the same labels it is, with others it is not."""
    inhibitions = yaml.safe_load(Path(OPS / "alertmanager.yml").read_text())["inhibit_rules"]
    assert len(inhibitions) >= 5
    for number, rule in enumerate(inhibitions):
        [source] = re.findall(r"Saltern\w+", str(rule["source_matchers"]))
        targets = re.findall(r"Saltern\w+", str(rule["target_matchers"]))
        same = dict.fromkeys(rule.get("equal", ["job"]), f"inhibition {number}")
        post(address, rules, source, *targets, **same)
        for target in targets:
            wait(f"{target} to be held back", lambda target=target, same=same: held_back(address, target, same))
        if "equal" in rule:
            assert not held_back(address, targets[0], {"job": f"of {targets[0]}"})


def held_back(address: str, alert: str, labels: dict[str, str]) -> bool:
    filters = [f'{name}="{value}"' for name, value in {"alertname": alert, **labels}.items()]
    found = httpx.get(address, params={"filter": filters}).raise_for_status().json()
    return bool(found) and all(each["status"]["inhibitedBy"] for each in found)
