"""For each alert the series that plant what it is about, and those of a fleet in which all is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_TEXTFILE = 'node_textfile_mtime_seconds{job="saltern-minions",file="/var/lib/node/saltern.prom"}'
_GATEWAY_FILE = _TEXTFILE.replace("saltern.prom", "saltern-gateway.prom")
_ONLINE = 'saltern_gateway_connected_minions{job="saltern-minions"}'
_UNANSWERED = 'saltern_gateway_refused_requests_total{job="saltern-minions",reason="no-answer"}'

WELL = {
    'up{job="saltern"}': "1x1600",
    'saltern_leader{job="saltern"}': "1x1600",
    'saltern_leadership_epoch{job="saltern"}': "3x1600",
    'saltern_minions{job="saltern",sync="Synced",health="Healthy"}': "20x1600",
    'saltern_per_minion_series{job="saltern"}': "1x1600",
    'saltern_condition{job="saltern",by="fleet",group="fleet",type="Compiled",status="True"}': "1x1600",
    'saltern_minion_health{job="saltern",minion="web1",health="Healthy"}': "1x1600",
    'saltern_minion_sync{job="saltern",minion="web1",sync="Synced"}': "1x1600",
    'saltern_applied_revision_age_seconds{job="saltern",minion="web1"}': "60+60x1600",
    'saltern_drift_states{job="saltern",class="corrective"}': "2x1600",
    'saltern_config_last_reload_successful{job="saltern"}': "1x1600",
    'saltern_keys{job="saltern",state="accepted"}': "20x1600",
    'saltern_keys{job="saltern",state="pending"}': "0x1600",
    'saltern_key_created_timestamp_seconds{job="saltern",key="controller"}': "0x1600",
    'saltern_certificate_expiry_timestamp_seconds{job="saltern",certificate="api"}': "2000000x1600",
    'saltern_compile_checks_total{job="saltern",result="different"}': "0x1600",
    'saltern_compile_checks_total{job="saltern",result="equal"}': "0+1x1600",
    'saltern_compile_fallbacks_total{job="saltern"}': "0x1600",
    'saltern_compile_workers{job="saltern",state="ready"}': "2x1600",
    'saltern_compile_workers{job="saltern",state="silent"}': "0x1600",
    'saltern_compile_workers{job="saltern",state="refused"}': "0x1600",
    'saltern_store_seconds_bucket{job="saltern",operation="commit",le="0.25"}': "0+10x1600",
    'saltern_store_seconds_bucket{job="saltern",operation="commit",le="1"}': "0+10x1600",
    'saltern_store_seconds_bucket{job="saltern",operation="commit",le="+Inf"}': "0+10x1600",
    'saltern_message_lag_seconds{job="saltern"}': "0.1x1600",
    'process_open_fds{job="saltern"}': "100x1600",
    'process_max_fds{job="saltern"}': "1024x1600",
    'saltern_loop_stall_seconds_sum{job="saltern"}': "0x1600",
    'saltern_limit_refusals_total{job="saltern",border="minion",limit="queued-bytes"}': "0x1600",
    'saltern_limit_refusals_total{job="saltern",border="reactor",limit="waiting-events"}': "0x1600",
    'saltern_wire_refusals_total{job="saltern",reason="garbage"}': "0x1600",
    'saltern_missed_by_plan_total{job="saltern"}': "0x1600",
    'saltern_rollout_phase{job="saltern",phase="Completed"}': "1x1600",
    'saltern_unconfirmed_taken_back_total{job="saltern"}': "0x1600",
    'saltern_policy_refused{job="saltern"}': "0x1600",
    'saltern_git_refs_refused{job="saltern",remote="states"}': "0x1600",
    # An outage of two minutes, with all its tries, that is over.
    'saltern_git_fetch_failing{job="saltern",remote="states"}': "0x80 1 1 0x1500",
    'saltern_git_fetch_errors_total{job="saltern",remote="states"}': "0x80 3 6 6x1500",
    'saltern_hooks_total{job="saltern",result="refused"}': "0x1600",
    'saltern_forge_failing{job="saltern",forge="github"}': "0x1600",
    'saltern_pull_request_previews_total{job="saltern",result="failed"}': "0x1600",
    'saltern_predictions_total{job="saltern",result="broken"}': "0x1600",
    'saltern_notification_failing{job="saltern",receiver="chat"}': "0x1600",
    'saltern_notifications_dropped_total{job="saltern",receiver="chat",reason="too_old"}': "0x1600",
    'saltern_returner_entries{job="saltern",returner="redis",state="failures"}': "0x1600",
    'saltern_returner_entries{job="saltern",returner="redis",state="dropped"}': "0x1600",
    'saltern_reactions_total{job="saltern",outcome="failed"}': "0x1600",
    'saltern_trace_spans_total{job="saltern",result="failed"}': "0x1600",
    'saltern_reactions_total{job="saltern",outcome="ok"}': "0+5x1600",
    # A minion that writes its file each minute, and looks for drift each time.
    _TEXTFILE: "0+60x1600",
    'node_textfile_mtime_seconds{job="saltern-minions",file="/var/lib/node/apt.prom"}': "0x1600",
    'saltern_agent_controllers{job="saltern-minions",state="configured"}': "1x1600",
    'saltern_agent_controllers{job="saltern-minions",state="connected"}': "1x1600",
    'saltern_agent_results_waiting{job="saltern-minions"}': "0 1 0 1 0x1600",
    'saltern_agent_results_dropped_total{job="saltern-minions"}': "0x1600",
    'saltern_agent_last_run_timestamp_seconds{job="saltern-minions",kind="drift"}': "0+60x1600",
    'saltern_agent_problems{job="saltern-minions",part="beacons"}': "0x1600",
    # A gateway, which does so each minute, too.
    _GATEWAY_FILE: "0+60x1600",
    _ONLINE: "3x1600",
    'saltern_gateway_listening_minions{job="saltern-minions"}': "3x1600",
    _UNANSWERED: "0x1600",
}
"""Series -> values, one a minute, of a day and more in which no alert fires."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What makes an alert fire. A series without values is taken away."""

    series: dict[str, str]
    minutes: int
    """From the beginning until it fires."""
    early: int = 0
    """When it does not fire yet."""


_ONE_HEALTH = 'saltern_minion_health{job="saltern",minion="web1",health="Healthy"}'
_ONE_SYNC = 'saltern_minion_sync{job="saltern",minion="web1",sync="Synced"}'
_FEW = 'saltern_minions{job="saltern",sync="OutOfSync",health="%s"}'


def _health(health: str) -> dict[str, str]:
    series = f'saltern_minion_health{{job="saltern",minion="web1",health="{health}"}}'
    return {_ONE_HEALTH: "", series: "1x1600"}


def _sync(sync: str) -> dict[str, str]:
    return {_ONE_SYNC: "", f'saltern_minion_sync{{job="saltern",minion="web1",sync="{sync}"}}': "1x1600"}


def _rises(series: str, at: int = 60, by: int = 5) -> Planted:
    """A counter that was 0 and rises once."""
    return Planted({series: f"0x{at - 1} {by}x1500"}, at + 2, at - 1)


def _is(series: str, minutes: int, early: int, value: str = "1x1600") -> Planted:
    return Planted({series: value}, minutes, early)


PLANTED: dict[str, Planted] = {
    "SalternControllerDown": _is('up{job="saltern"}', 4, 1, "0x1600"),
    "SalternNoLeader": _is('saltern_leader{job="saltern"}', 2, 0, "0x1600"),
    "SalternLeaderChanges": _is('saltern_leadership_epoch{job="saltern"}', 60, 40, "3x40 4 5 6 6x1500"),
    "SalternLoopStalled": _is('saltern_loop_stall_seconds_sum{job="saltern"}', 20, 2, "0+1x1600"),
    "SalternLimitRefusals": _is(
        'saltern_limit_refusals_total{job="saltern",border="minion",limit="queued-bytes"}', 30, 3, "0+20x1600"
    ),
    "SalternWireRefusals": _is('saltern_wire_refusals_total{job="saltern",reason="garbage"}', 30, 5, "0+120x1600"),
    "SalternCompileFallbacks": _is('saltern_compile_fallbacks_total{job="saltern"}', 30, 5, "0+1x1600"),
    "SalternCompileWorkersUnused": _is('saltern_compile_workers{job="saltern",state="refused"}', 12, 8),
    "SalternCertificateExpires": _is(
        'saltern_certificate_expiry_timestamp_seconds{job="saltern",certificate="api"}', 62, 50, "1000000x1600"
    ),
    "SalternCertificateExpired": _is(
        'saltern_certificate_expiry_timestamp_seconds{job="saltern",certificate="api"}', 20, 5, "600x1600"
    ),
    "SalternControllerKeyOld": _is(
        'saltern_key_created_timestamp_seconds{job="saltern",key="controller"}', 62, 50, "-64000000x1600"
    ),
    "SalternReloadRefused": _is('saltern_config_last_reload_successful{job="saltern"}', 20, 5, "0x1600"),
    "SalternKeysPending": _is('saltern_keys{job="saltern",state="pending"}', 242, 230),
    "SalternCompileMismatch": _rises('saltern_compile_checks_total{job="saltern",result="different"}', by=1),
    "SalternStoreSlow": Planted(
        {
            'saltern_store_seconds_bucket{job="saltern",operation="commit",le="0.25"}': "0x1600",
            'saltern_store_seconds_bucket{job="saltern",operation="commit",le="1"}': "0+10x1600",
        },
        20,
        5,
    ),
    "SalternMessagesBehind": _is('saltern_message_lag_seconds{job="saltern"}', 7, 4, "30x1600"),
    "SalternDescriptorsShort": _is('process_open_fds{job="saltern"}', 12, 8, "1000x1600"),
    "SalternMinionUnreachable": Planted(_health("Unreachable"), 12, 8),
    "SalternMinionFailed": Planted(_health("Failed"), 7, 3),
    "SalternMinionDrifted": Planted(_health("Drifted"), 62, 50),
    "SalternCompileError": Planted(_health("Degraded"), 3, 0),
    "SalternOutOfSync": Planted(_sync("OutOfSync"), 62, 50),
    "SalternPausedForLong": Planted(_sync("Paused"), 1450, 1400),
    "SalternRevisionTooOld": Planted(
        {
            'saltern_minion_sync{job="saltern",minion="web2",sync="Progressing"}': "1x1600",
            'saltern_applied_revision_age_seconds{job="saltern",minion="web2"}': "100000+60x1600",
        },
        62,
        50,
    ),
    "SalternMissedByPlan": _rises('saltern_missed_by_plan_total{job="saltern"}', by=1),
    "SalternFleetOutOfSync": Planted({_FEW % "Healthy": "5x1600"}, 32, 25),
    "SalternMinionsLost": Planted({_FEW % "Unreachable": "5x1600"}, 7, 3),
    "SalternMinionsTroubled": Planted(
        {_FEW % "Failed": "1x1600", 'saltern_per_minion_series{job="saltern"}': "0x1600"}, 62, 50
    ),
    "SalternCompileBroken": _is(
        'saltern_condition{job="saltern",by="fleet",group="fleet",type="Compiled",status="False"}', 3, 0
    ),
    "SalternStateFlaps": _is('saltern_drift_states{job="saltern",class="flapping"}', 17, 10),
    "SalternStateNotConvergent": _is('saltern_drift_states{job="saltern",class="not-convergent"}', 1450, 1400),
    "SalternAgentSilent": _is(
        _TEXTFILE,
        12,
        8,
        "0x1600",
    ),
    "SalternAgentCutOff": _is('saltern_agent_controllers{job="saltern-minions",state="connected"}', 17, 12, "0x1600"),
    "SalternResultsSpool": _is('saltern_agent_results_waiting{job="saltern-minions"}', 22, 8, "3x1600"),
    "SalternResultsDropped": _rises('saltern_agent_results_dropped_total{job="saltern-minions"}'),
    "SalternNoDriftCheck": _is(
        'saltern_agent_last_run_timestamp_seconds{job="saltern-minions",kind="drift"}', 1520, 1490, "0x1600"
    ),
    "SalternAgentMisconfigured": _is('saltern_agent_problems{job="saltern-minions",part="beacons"}', 17, 12),
    "SalternGatewaySilent": _is(_GATEWAY_FILE, 6, 3, "0x1600"),
    "SalternGatewayCutOff": _is(_ONLINE, 7, 3, "0x1600"),
    "SalternGatewayUnanswered": _is(_UNANSWERED, 22, 8, "0+20x1600"),
    "SalternRolloutFailed": Planted(
        {
            'saltern_rollout_phase{job="saltern",phase="Completed"}': "",
            'saltern_rollout_phase{job="saltern",phase="Failed"}': "_x9 1x1500",
        },
        11,
        8,
    ),
    "SalternRolloutWaits": Planted(
        {
            'saltern_rollout_phase{job="saltern",phase="Completed"}': "",
            'saltern_rollout_phase{job="saltern",phase="Waiting"}': "1x1600",
        },
        1450,
        1400,
    ),
    "SalternUnconfirmedTakenBack": _rises('saltern_unconfirmed_taken_back_total{job="saltern"}'),
    "SalternPolicyRefused": _is('saltern_policy_refused{job="saltern"}', 3, 0),
    "SalternRefsRefused": _is('saltern_git_refs_refused{job="saltern",remote="states"}', 7, 3),
    "SalternFetchErrors": _is('saltern_git_fetch_failing{job="saltern",remote="states"}', 12, 8),
    "SalternForgeFailing": _is('saltern_forge_failing{job="saltern",forge="github"}', 12, 8),
    "SalternPreviewsFailing": _rises('saltern_pull_request_previews_total{job="saltern",result="failed"}', by=1),
    "SalternPredictionsBroken": _rises('saltern_predictions_total{job="saltern",result="broken"}', by=1),
    "SalternHooksRefused": _rises('saltern_hooks_total{job="saltern",result="refused"}', by=20),
    "SalternNotificationsFailing": _is('saltern_notification_failing{job="saltern",receiver="chat"}', 12, 8),
    "SalternNotificationsDropped": _rises(
        'saltern_notifications_dropped_total{job="saltern",receiver="chat",reason="too_old"}'
    ),
    "SalternReturnerFailing": _is(
        'saltern_returner_entries{job="saltern",returner="redis",state="failures"}', 12, 8, "5x1600"
    ),
    "SalternReturnerDropped": _rises('saltern_returner_entries{job="saltern",returner="redis",state="dropped"}'),
    "SalternReactionsShed": _rises(
        'saltern_limit_refusals_total{job="saltern",border="reactor",limit="waiting-events"}'
    ),
    "SalternTracesFailing": _is('saltern_trace_spans_total{job="saltern",result="failed"}', 40, 10, "0+3x1600"),
    "SalternReactionsFailing": _is('saltern_reactions_total{job="saltern",outcome="failed"}', 30, 3, "0+1x1600"),
}
"""Alert -> what makes it fire."""


_LONG = 400
"""Minutes from which a case is evaluated every ten minutes: a day of each minute takes promtool seconds."""


def rule_tests() -> dict[str, dict[str, Any]]:
    """Name -> file that `promtool test rules` takes: nothing fires where all is well, each alert in its time.

    The rules of an alert stand in `rules-ALERT.yml`: promtool takes half a minute to evaluate all of them in each case.
    """
    every = ["recording.yml", "alerts.yml"]
    files = {
        f"well-{each}m.yml": _file(each, every, _well(*at)) for each, at in ((1, (0, 10, 90)), (10, (_LONG, 1500)))
    }
    for alert, planted in PLANTED.items():
        one = f'count by (alertname) (ALERTS{{alertstate="firing",alertname="{alert}"}})'
        fires = [{"labels": f'{{alertname="{alert}"}}', "value": 1}]
        asked = [
            {"expr": one, "eval_time": f"{planted.early}m", "exp_samples": []},
            {"expr": one, "eval_time": f"{planted.minutes}m", "exp_samples": fires},
        ]
        case = {"name": alert, "interval": "1m", "input_series": _inputs(planted.series), "promql_expr_test": asked}
        minutes = 1 if planted.minutes < _LONG else 10
        files[f"{alert}.yml"] = _file(minutes, ["recording.yml", f"rules-{alert}.yml"], case)
    return files


def _file(minutes: int, rules: list[str], case: dict[str, Any]) -> dict[str, Any]:
    return {"rule_files": rules, "evaluation_interval": f"{minutes}m", "tests": [case]}


def _well(*minutes: int) -> dict[str, Any]:
    firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    nothing = [{"expr": firing, "eval_time": f"{at}m", "exp_samples": []} for at in minutes]
    return {"name": "all is well", "interval": "1m", "input_series": _inputs({}), "promql_expr_test": nothing}


def _inputs(planted: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": values} for name, values in {**WELL, **planted}.items() if values]
