"""Beside a real Prometheus, node_exporter and Alertmanager: dashboards have data, alerts arrive."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from api_ports import write_certificate
from otlp_collector import Collector
from prometheus_server import Prometheus, Receiver, alertmanager, can_start, find_program, node_exporter, prometheus
from rig import Rig, free_ports
from salt_peer import SaltPeer
from stock_minions import StockMinions

from tools.grafana.dashboards import DASHBOARDS

TREE = Path(__file__).parent / "tree"
POLICY = ("drift: {interval: 30m}\n", "drift: {interval: 5s, splay: 0}\nrollout: {canary: 1}\n")


@dataclass
class Observed:
    """What runs."""

    rig: Rig
    watch: Prometheus
    receiver: Receiver
    collector: Collector

    def delivered(self, alert: str, to: str) -> str:
        """Wait until an alert has come to a receiver of Alertmanager; its summary."""
        found = self.rig.wait(alert, lambda: self.receiver.told("firing").get(alert))
        assert found[0] == to
        assert found[1]["annotations"]["runbook_url"].endswith(f"#{alert.lower()}")
        return str(found[1]["annotations"]["summary"])

    def is_over(self, alert: str) -> None:
        """Wait until the receiver was told that an alert is over."""
        self.rig.wait(f"the end of {alert}", lambda: self.receiver.told("resolved").get(alert))


@pytest.fixture(scope="module")
def programs(request):
    cache = request.config.cache.mkdir("prometheus")
    found = {name: find_program(name, cache) for name in ("prometheus", "alertmanager", "node_exporter")}
    if missing := [name for name, program in found.items() if program is None]:
        pytest.skip(f"there is no {', '.join(missing)}, and no apt that brings Debian's")
    if not can_start(found["alertmanager"]):
        pytest.skip("this machine gives no mount namespace to Alertmanager")
    return found


@pytest.fixture(scope="module")
def observed(programs):
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="saltern-"))  # short: a unix socket's path has to fit into 107 bytes
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        textfiles, of_servers = folder / "rig" / "web1" / "agent" / "textfiles", folder / "servers"
        for name in programs:
            (of_servers / name).mkdir(parents=True)
        certificate, key = write_certificate(folder)
        collector = stack.enter_context(Collector())
        options = {
            "api": {"port": free_ports(1)[0], "tls": {"certificate": str(certificate), "key": str(key)}},
            "hook_secret": "of the forge",
            "otlp_endpoint": collector.endpoint,
            "notifications": {"receivers": {"hook": {"kind": "webhook", "url": "http://127.0.0.1:9/in"}}},
        }
        rig = stack.enter_context(Rig(folder / "rig", {"web1": {}, "web2": {}}, TREE, options, forked=True))
        rig.up(lambda rig: _with_textfile(rig, textfiles))
        receiver = stack.enter_context(Receiver())
        to = stack.enter_context(alertmanager(programs["alertmanager"], of_servers / "alertmanager", receiver))
        of_minion = stack.enter_context(
            node_exporter(programs["node_exporter"], of_servers / "node_exporter", textfiles)
        )
        watch = stack.enter_context(
            prometheus(
                programs["prometheus"],
                of_servers / "prometheus",
                rig.http.removeprefix("http://"),
                minions=[of_minion],
                alertmanager=to,
                at_once=True,
            )
        )
        rig.wait("a scrape", watch.scraped)
        rig.wait_applied(rig.push("what all have", {"states/saltern.yaml": POLICY}))
        yield Observed(rig, watch, receiver, collector)


def _with_textfile(rig: Rig, textfiles: Path) -> None:
    textfiles.mkdir(parents=True)
    with (rig.directory / "web1" / "minion").open("a") as file:
        file.write(f"metrics_textfile: {textfiles}/saltern.prom\n")


@pytest.mark.timeout(300)
def test_no_panel_is_without_data(observed):
    """Each query of each panel, run against what was scraped of a running controller and its minions."""
    rig, waiting = observed.rig, {}
    for name, dashboard in DASHBOARDS.items():
        for panel in dashboard.panels:
            for query in panel.queries:
                expr = query.expr.replace("$__rate_interval", "1m").replace("$job", ".+").replace("$instance", ".+")
                waiting[f"{name}: {panel.title}: {query.legend}"] = expr
    assert len(waiting) > 60
    rig.wait_applied(rig.push("another number", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}))

    def all_have_data() -> bool:
        peer.ask("verify_minion")
        for name, expr in list(waiting.items()):
            if any(series["value"][1] != "NaN" for series in observed.watch.query(expr)):
                del waiting[name]
        return not waiting

    with _gateway(rig) as peer:
        try:
            rig.wait("all panels to have data", all_have_data, patience=120)
        finally:
            assert waiting == {}


@contextlib.contextmanager
def _gateway(rig: Rig) -> Iterator[SaltPeer]:
    """A minion of a gateway whose metrics are in the folder of those of web1; both go again."""
    with StockMinions(rig, rig.directory / "stock") as stock:
        settings = json.loads((stock.folder / "gateway").read_text())
        textfile = rig.directory / "web1/agent/textfiles/saltern-gateway.prom"
        (stock.folder / "gateway").write_text(json.dumps(settings | {"metrics_textfile": str(textfile)}))
        stock.start_gateway()
        with SaltPeer(stock.folder, "peer1", stock.ret_port) as peer:
            stock.wait("its key waits", lambda: peer.authenticate() is True and "peer1" in rig.keys("pending"))
            rig.saltern("key", "accept", "peer1", "--yes")
            stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
            peer.raw(b"nothing that can be read")
            yield peer
    textfile.unlink()
    for key in [each["minion"] for each in rig.ask("/keys") if each["minion"] not in rig.minions]:
        rig.saltern("key", "delete", key, "--yes")


def test_an_exemplar_names_the_run_behind_a_time_and_its_trace(observed):
    rig = observed.rig
    found = rig.wait("an exemplar", lambda: observed.watch.exemplars("saltern_push_apply_seconds_bucket"))
    behind = {each["labels"]["run_id"]: each["labels"]["trace_id"] for series in found for each in series["exemplars"]}
    assert behind.keys() <= {run["run_id"] for run in rig.history()}

    def of_trace(trace: str) -> set[str]:
        return {span.name for span in observed.collector.spans if span.trace_id.hex() == trace}

    for trace in behind.values():
        rig.wait("its trace", lambda trace=trace: of_trace(trace) >= {"push", "fetch", "compile", "apply", "run"})


@pytest.mark.timeout(300)
def test_what_is_planted_is_delivered(observed):
    """By Alertmanager to the receiver of its severity; the end, too, of what is mended."""
    rig = observed.rig
    _plant_in_git(observed)
    _plant_on_minions(observed)
    for _ in range(30):
        assert httpx.post(f"{rig.http}/hook", json={}).status_code == 403
    observed.delivered("SalternHooksRefused", "mail")
    rig.kill("web2", children=True)
    assert observed.delivered("SalternMinionUnreachable", "chat") == "web2 is not connected"
    rig.stop("controller")
    observed.delivered("SalternControllerDown", "pager")
    rig.wait("what the minion says itself", lambda: "SalternAgentCutOff" in observed.watch.firing())


def _plant_in_git(observed: Observed) -> None:
    rig = observed.rig
    rig.push("no policy", {"states/saltern.yaml": ("rollout:", "rollout: [")})
    observed.delivered("SalternPolicyRefused", "pager")
    rig.wait_applied(rig.push("a policy", {"states/saltern.yaml": ("rollout: [", "rollout:")}))
    observed.is_over("SalternPolicyRefused")

    rig.push("no template", {"states/app.sls": ("app-told:\n", "{{ nothing\napp-told:\n")})
    observed.delivered("SalternCompileBroken", "pager")
    rig.wait_applied(rig.push("a template", {"states/app.sls": ("{{ nothing\n", "")}))
    observed.is_over("SalternCompileBroken")

    kept = rig.git("rev-parse", "HEAD")
    rig.git("push", "-q", "--force", "origin", "HEAD~2:main")
    assert observed.delivered("SalternRefsRefused", "pager").endswith("may not go live")
    rig.git("push", "-q", "--force", "origin", f"{kept}:main")
    observed.is_over("SalternRefsRefused")

    away = rig.remote.with_name("away.git")
    rig.remote.rename(away)
    assert observed.delivered("SalternFetchErrors", "chat").endswith("cannot be fetched")
    away.rename(rig.remote)
    observed.is_over("SalternFetchErrors")


def _plant_on_minions(observed: Observed) -> None:
    rig = observed.rig
    conf = rig.root("web1") / "app.conf"
    wanted = conf.read_text()
    conf.write_text("by hand\n")
    assert observed.delivered("SalternMinionDrifted", "chat").startswith("web1 has drifted")
    conf.write_text(wanted)
    observed.is_over("SalternMinionDrifted")

    fails = "broken:\n  cmd.run:\n    - name: 'false'\napp-told:\n"
    rig.push("it fails", {"states/app.sls": ("app-told:\n", fails)})
    observed.delivered("SalternRolloutFailed", "pager")
    observed.delivered("SalternMinionFailed", "chat")
    rig.wait_applied(rig.push("it is mended", {"states/app.sls": (fails, "app-told:\n")}))
    for alert in ("SalternRolloutFailed", "SalternMinionFailed"):
        observed.is_over(alert)
