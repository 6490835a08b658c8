"""Servers, pushes and runs."""

from __future__ import annotations

from tools.grafana.panel import Dashboard, Panel, Query
from tools.grafana.queries import JOB, quantile, rate

FLEET = Dashboard(
    uid="saltern-fleet",
    title="Saltern: fleet",
    text="Whether servers have what git says, and how pushes reach them.",
    variables=JOB,
    rows=(
        (
            "Now",
            (
                Panel(
                    title="In sync",
                    text="Share of minions that have what git says. Why others have not: saltern status --by fleet",
                    queries=(Query('saltern:minions_synced:ratio{job=~"$job"}', "{{job}}"),),
                    kind="stat",
                    unit="percentunit",
                    width=4,
                    height=4,
                    red_below=0.9,
                ),
                Panel(
                    title="Healthy",
                    text="Share of minions that are connected, not failed, not drifted, and compile.",
                    queries=(Query('saltern:minions_healthy:ratio{job=~"$job"}', "{{job}}"),),
                    kind="stat",
                    unit="percentunit",
                    width=4,
                    height=4,
                    red_below=0.9,
                ),
                Panel(
                    title="Minions",
                    text="All whose keys are accepted.",
                    queries=(Query('sum(saltern_minions{job=~"$job"})', "known"),),
                    kind="stat",
                    width=4,
                    height=4,
                ),
                Panel(
                    title="Connected",
                    text="Minions with a connection.",
                    queries=(Query('sum(saltern_connected_minions{job=~"$job"})', "connected"),),
                    kind="stat",
                    width=4,
                    height=4,
                ),
                Panel(
                    title="Firing alerts",
                    text="Each has its runbook.",
                    queries=(
                        Query('count(ALERTS{alertname=~"Saltern.+",alertstate="firing"}) or vector(0)', "firing"),
                    ),
                    kind="stat",
                    width=4,
                    height=4,
                    red_from=1,
                ),
                Panel(
                    title="Wait for saltern confirm",
                    text="Minions that go back unless somebody confirms.",
                    queries=(Query('sum(saltern_unconfirmed_minions{job=~"$job"})', "minions"),),
                    kind="stat",
                    width=4,
                    height=4,
                    red_from=1,
                ),
            ),
        ),
        (
            "Minions",
            (
                Panel(
                    title="By sync",
                    text="OutOfSync for long: off, not compiled, failed, or waits for saltern sync.",
                    queries=(Query('sum by (sync) (saltern_minions{job=~"$job"})', "{{sync}}"),),
                ),
                Panel(
                    title="By health",
                    text="The worst that is known of each.",
                    queries=(Query('sum by (health) (saltern_minions{job=~"$job"})', "{{health}}"),),
                ),
                Panel(
                    title="States that differ, by class",
                    text="flapping: two owners. not-convergent: never done. corrective: changed by hand.",
                    queries=(Query('sum by (class) (saltern_drift_states{job=~"$job"})', "{{class}}"),),
                ),
                Panel(
                    title="Out of sync by environment",
                    text="Minions of each environment that are not Synced.",
                    queries=(
                        Query(
                            'sum by (group) (saltern_group_minions{job=~"$job",by="environment",sync!="Synced"}) or '
                            'sum by (group) (saltern_group_minions{job=~"$job",by="environment"}) * 0',
                            "{{group}}",
                        ),
                    ),
                ),
                Panel(
                    title="Minions by environment",
                    text="128 environments at most; the rest is (others).",
                    queries=(
                        Query('sum by (group) (saltern_group_minions{job=~"$job",by="environment"})', "{{group}}"),
                    ),
                ),
                Panel(
                    title="Conditions of the fleet",
                    text="As saltern status --by fleet has them.",
                    queries=(Query('saltern_condition{job=~"$job",by="fleet"} == 1', "{{type}}: {{status}}"),),
                    kind="table",
                ),
            ),
        ),
        (
            "Pushes and runs",
            (
                Panel(
                    title="From a push being seen to applied",
                    text="The points are runs: saltern show RUN.",
                    queries=(
                        *(
                            Query(
                                quantile(q, "saltern_push_apply_seconds"),
                                f"{q:.0%}",
                                exemplars=q == 0.9,
                            )
                            for q in (0.5, 0.9, 0.99)
                        ),
                    ),
                    unit="s",
                    width=12,
                ),
                Panel(
                    title="Runs by outcome",
                    text="Runs that ended each second.",
                    queries=(Query(f"sum by (outcome) ({rate('saltern_runs_total')})", "{{outcome}}"),),
                    unit="ops",
                    width=12,
                ),
                Panel(
                    title="Time of runs",
                    text="Nine of ten runs of a kind take less.",
                    queries=(
                        Query(
                            quantile(0.9, "saltern_run_seconds", "kind"),
                            "{{kind}}",
                            exemplars=True,
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Newest rollout",
                    text="Its phase; saltern rollout show.",
                    queries=(Query('saltern_rollout_phase{job=~"$job"} == 1', "{{phase}}"),),
                    kind="table",
                ),
                Panel(
                    title="Missed by plans",
                    text="States that a push had to run and did not name: a gap of the plan, or a change by hand.",
                    queries=(Query('sum(increase(saltern_missed_by_plan_total{job=~"$job"}[1h]))', "within an hour"),),
                ),
            ),
        ),
    ),
)
