"""docs/metrics.md and the alerts name the series that there are, with their labels and values."""

from __future__ import annotations

import re
from typing import get_args

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from controller.observe.cluster_metrics import ClusterMetrics
from controller.observe.fleet_metrics import FleetMetrics
from controller.observe.metrics import Metrics
from controller.observe.minion_metrics import MinionSample
from controller.observe.notification_metrics import NotificationMetrics
from controller.observe.process_metrics import ProcessSources
from controller.observe.pull_metrics import PullMetrics
from controller.observe.relay_metrics import RelayMetrics
from controller.observe.rollout_metrics import RolloutMetrics
from controller.reload.config_metrics import ConfigMetrics
from controller.schema.fleet.status import GroupCondition, GroupStatus, StateCount
from controller.schema.minions import HealthName, SyncName
from gateway.controllers import ControllerPlaces
from gateway.metrics import GatewayMetrics, MinionSeen
from minion.agent.textfile import AgentNow, Textfile
from wire.address import Address
from wire.messages import RunKind, RunResult
from wire.server.types import RefusalReason, RelayCounts

PAGE = "docs/metrics.md"
_GROUP = GroupStatus(
    scope="wave",
    name="web",
    minions=1,
    connected=1,
    states=(StateCount(sync="Synced", health="Healthy", minions=1),),
    conditions=(
        GroupCondition(type="Synced", status="True", reason="Synced", message="1 minion", last_transition=1.0),
    ),
)


def of_a_minion(tmp_path_factory) -> str:
    """The text of a minion whose runs have ended."""
    folder = tmp_path_factory.mktemp("minion")
    textfile = Textfile(folder / "saltern.prom", folder, "web1")
    textfile.finished(
        RunResult(
            run_id="1", kind="apply", generation=1, digest="d", outcome="changed",
            states={"a": {"result": True, "changes": {"new": 1}}},
        )
    )  # fmt: skip
    textfile.tick(0.0, AgentNow(1, 1, 0, 0, 0, 0, {"beacons": 0}))
    return (folder / "saltern.prom").read_text()


def of_a_gateway() -> str:
    """The text of a gateway where everything happened once."""
    places = ControllerPlaces({"controller1": Address(host="controller1", controller_key="k")})
    metrics = GatewayMetrics(None, lambda: [MinionSeen("accepted", online=True, listens=True)], places)
    metrics.answered("_pillar", 0.1)
    metrics.refused("malformed")
    metrics.key_shown("accepted")
    metrics.limited("connections")
    metrics.published()
    return metrics.exposition().decode()


def what_is_watched(metrics: Metrics) -> None:
    """What is asked for when the series are read."""
    metrics.watch_minions(
        lambda: [
            MinionSample(
                id="web1", sync="Synced", health="Healthy", applied_at=1.0, classes={"corrective": 1}, revision_at=1.0
            )
        ]
    )
    metrics.process.sources = ProcessSources(
        version="1.0",
        queues={"messages": lambda: 1},
        message_lag=lambda: 0.5,
        keys=lambda: {"accepted": 1},
        expiries=lambda: {"api": 1.0},
        key_times=lambda: {"controller": 1.0},
    )


def what_happens(metrics: Metrics) -> None:
    """Everything once, by each method that counts or measures."""
    metrics.reconciled()
    metrics.compiled(0.1, ok=False)
    metrics.carried_over(1)
    metrics.asked("answered")
    metrics.memo_checked(equal=True)
    metrics.memo_looked(1, 1)
    metrics.beacon_said("load")
    metrics.process.stored("read", 0.1)
    metrics.compile_audited("equal")
    metrics.fetched("states", 0.1, ok=False)
    metrics.kept_back("states", 1)
    metrics.fetch_failing("states", failing=True)
    metrics.left_out("states", 1)
    metrics.mirror_size("states", 1)
    metrics.sent("Run")
    metrics.received("KeepAlive")
    metrics.refused("malformed")
    metrics.runs_ended("apply", [("changed", 0.1, "run1")])
    metrics.reaction_ended("ok")
    metrics.missed_by_plan(1)
    metrics.remediated_alone("changed")
    metrics.policy_refused(refused=True)
    metrics.push_applied(0.1, "run1")
    metrics.spans_sent(True, 1)
    metrics.hooked("accepted")
    metrics.ensured("healing")
    metrics.returner_state("redis", 1, 0, 0)
    metrics.limit_refused("webhook", "body-bytes")
    metrics.stalled(1.0, 1.0)


def of_the_parts(registry: CollectorRegistry) -> None:
    """The series that parts of a controller have of their own."""
    ClusterMetrics(registry)
    ConfigMetrics(registry, lambda: 1.0)
    RelayMetrics(
        registry,
        lambda: [RelayCounts(relay="relay1", minions=1, frames_in=1, frames_out=1, waiting_bytes=0)],
    )
    rollouts = RolloutMetrics(registry)
    rollouts.ended("Failed")
    rollouts.phase("Failed")
    FleetMetrics(registry, lambda: [_GROUP])
    rollouts.taken_back(1)
    pulls = PullMetrics(registry)
    pulls.previewed(0.1, ok=True)
    pulls.predicted(1, 1)
    pulls.looked("github", "done")
    notifications = NotificationMetrics(registry, ("chat",))
    notifications.sent("chat")


@pytest.fixture(scope="module")
def series(tmp_path_factory) -> dict[str, tuple[str, frozenset[str]]]:
    """Name as it is documented -> (type, labels), of a controller in which everything happened once."""
    metrics = Metrics(lambda: 2.0)
    what_is_watched(metrics)
    what_happens(metrics)
    of_the_parts(metrics.registry)
    found = {}
    texts = metrics.exposition().decode() + of_a_minion(tmp_path_factory) + of_a_gateway()
    for family in text_string_to_metric_families(texts):
        if family.name.endswith("_created"):
            continue
        labels = frozenset(label for sample in family.samples for label in sample.labels) - {"le"}
        name = family.name + "_total" if family.type == "counter" else family.name
        found[name] = (family.type, labels)
    return found


def test_every_series_is_documented(pages, rows, coded, series):
    table = [row for row in rows(pages[PAGE].prose) if row[0].startswith(("`saltern_", "`process_"))]
    documented = {row[0].strip("`"): (row[1], frozenset(coded(row[2]))) for row in table}
    assert documented == series


def test_the_fixture_calls_all_there_is():
    quiet = {"watch_minions", "watch_strangers", "limit_refusals", "exposition", "with_exemplars"}
    calls = {name for name, value in vars(Metrics).items() if callable(value) and not name.startswith("_")}
    called = {
        "reconciled",
        "compiled",
        "carried_over",
        "asked",
        "memo_checked",
        "memo_looked",
        "beacon_said",
        "compile_audited",
        "fetched",
        "kept_back",
        "fetch_failing",
        "left_out",
        "mirror_size",
        "sent",
        "received",
        "refused",
        "runs_ended",
        "reaction_ended",
        "push_applied",
        "spans_sent",
        "hooked",
        "ensured",
        "returner_state",
        "limit_refused",
        "missed_by_plan",
        "remediated_alone",
        "policy_refused",
        "stalled",
    }
    assert calls == called | quiet


def test_values_of_labels_are_documented(pages, rows, coded, root):
    page = pages[PAGE]
    minions = [row[0].strip("`") for row in rows(page.section("Minions")) if len(row) == 2]
    assert sorted(minions) == sorted([*get_args(SyncName), *get_args(HealthName)])
    reasons = {row[0].strip("`") for row in rows(page.section("What happened")) if len(row) == 2}
    of_controller = {
        reason
        for path in (root / "controller").rglob("*.py")
        for reason in re.findall(r'metrics\.refused\("([\w-]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert reasons == {*get_args(RefusalReason), *of_controller}
    assert set(get_args(RunKind)) <= set(coded(page.section("What happened")))


def test_queries_in_the_page_use_what_there_is(pages, series):
    blocks = pages[PAGE].blocks("promql")
    assert len(blocks) >= 6
    for block in blocks:
        check_query(block.text, series)


def test_alerts_use_what_there_is(pages, rows, series, alerts):
    for rule in alerts:
        check_query(rule["expr"], series)
        labels = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        used = {label for name in names_in(rule["expr"], series) for label in series[name][1]}
        assert labels <= used | {"instance"}, rule["alert"]
    documented = [row[0].strip("`") for row in rows(pages[PAGE].section("Alerts"))]
    assert documented == [rule["alert"] for rule in alerts]


def test_the_scrape_names_the_job_that_the_alerts_ask_for(alerts, prometheus_folder):
    config = yaml.safe_load((prometheus_folder / "prometheus.yml").read_text())
    jobs = {scrape["job_name"] for scrape in config["scrape_configs"]}
    asked = {job for rule in alerts for job in re.findall(r'job="(\w+)"', rule["expr"])}
    assert asked <= jobs
    assert config["rule_files"] == ["recording.yml", "alerts.yml"]


def test_recorded_series_are_made_of_what_there_is(series, recorded):
    for rule in recorded:
        check_query(rule["expr"], series)
        assert re.fullmatch(r"saltern:\w+:\w+", rule["record"])


def test_alerts_ask_for_series_that_are_recorded(alerts, recorded):
    known = {rule["record"] for rule in recorded}
    asked = {name for rule in alerts for name in re.findall(r"saltern:[\w:]+", rule["expr"])}
    assert asked
    assert asked <= known


def test_each_alert_has_its_runbook(pages, alerts):
    """And each runbook has its alert: what to look at, and where after that."""
    base = "https://saltern.example.org/docs/runbooks/"
    told = {}
    for rule in alerts:
        page, _, anchor = rule["annotations"]["runbook_url"].removeprefix(base).partition("/#")
        assert rule["annotations"]["runbook_url"] == f"{base}{page}/#{rule['alert'].lower()}"
        assert anchor in pages[f"docs/runbooks/{page}.md"].anchors()
        told.setdefault(f"docs/runbooks/{page}.md", set()).add(rule["alert"])
    for name, page in pages.items():
        if name.startswith("docs/runbooks/") and not name.endswith(("README.md", "procedures.md")):
            assert set(re.findall(r"(?m)^## (\w+)$", page.text)) == told[name]
            for alert in told[name]:
                steps = re.findall(r"(?m)^\d\. (.+)$", page.section(alert))
                assert steps, alert
                assert any("`" in step or "](" in step for step in steps), f"{alert}: where to look"


def test_severities_are_those_that_the_page_explains(pages, alerts, coded, rows):
    table = rows(pages[PAGE].section("Alerts"))
    assert {row[0].strip("`"): row[1] for row in table} == {r["alert"]: r["labels"]["severity"] for r in alerts}
    assert {rule["labels"]["severity"] for rule in alerts} <= set(coded(pages[PAGE].section("Alerts")))


def check_query(query: str, series) -> None:
    assert names_in(query, series) or re.search(r"up\{|saltern:|node_textfile_mtime_seconds\{", query)
    for name, selector in re.findall(r"\b((?:saltern|process)_\w+)(\{[^}]*\})?", query):
        _, labels = series[base_of(name, series)]
        for label, _, value in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', selector):
            assert label in labels | {"job", "instance"}, f"{name} has no label {label}"
            known = {"sync": get_args(SyncName), "health": get_args(HealthName), "kind": get_args(RunKind)}.get(label)
            assert known is None or set(value.split("|")) <= set(known), value


def names_in(query: str, series) -> list[str]:
    return [base_of(name, series) for name in re.findall(r"\b(?:saltern|process)_\w+", query)]


def base_of(name: str, series) -> str:
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    found = name if name in series else base
    assert found in series, f"there is no series {name}"
    assert found == name or series[found][0] == "histogram", name
    return found
