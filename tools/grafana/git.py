"""Remotes, webhooks and previews."""

from __future__ import annotations

from tools.grafana.panel import Dashboard, Panel, Query
from tools.grafana.queries import JOB, quantile, rises

GIT = Dashboard(
    uid="saltern-git",
    title="Saltern: git and pull requests",
    text="Remotes, webhooks, previews.",
    variables=JOB,
    rows=(
        (
            "Remotes",
            (
                Panel(
                    title="Failing remotes",
                    text="1 while the newest fetch failed. Why: saltern remote list",
                    queries=(Query('saltern_git_fetch_failing{job=~"$job"}', "{{remote}}"),),
                    kind="stat",
                    width=12,
                    height=5,
                    red_from=1,
                ),
                Panel(
                    title="Refs that may not go live",
                    text="Force-pushed, not signed, too young or incomplete.",
                    queries=(Query('saltern_git_refs_refused{job=~"$job"}', "{{remote}}"),),
                    kind="stat",
                    width=12,
                    height=5,
                    red_from=1,
                ),
                Panel(
                    title="Time of fetches",
                    text="Nine of ten take less.",
                    queries=(
                        Query(
                            quantile(0.9, "saltern_git_fetch_seconds", "remote"),
                            "{{remote}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Fetches that failed",
                    text="A forge that is down for a moment shows here and raises no alert.",
                    queries=(
                        Query(
                            f"sum by (remote) ({rises('saltern_git_fetch_errors_total')})",
                            "{{remote}}",
                        ),
                    ),
                ),
                Panel(
                    title="Mirrors on disk",
                    text="Bytes of each.",
                    queries=(Query('saltern_git_disk_bytes{job=~"$job"}', "{{remote}}"),),
                    unit="bytes",
                ),
                Panel(
                    title="saltern.yaml cannot be read",
                    text="1: nothing new goes live. Where and why: saltern remote list",
                    queries=(Query('saltern_policy_refused{job=~"$job"}', "{{instance}}"),),
                    kind="stat",
                    red_from=1,
                ),
                Panel(
                    title="Calls of the hook",
                    text="Refused ones: the forge has another secret, or a stranger calls.",
                    queries=(
                        Query(
                            f"sum by (result) ({rises('saltern_hooks_total')})",
                            "{{result}}",
                        ),
                    ),
                ),
            ),
        ),
        (
            "Previews of pull requests",
            (
                Panel(
                    title="Previews",
                    text="Made, and failed within an hour.",
                    queries=(
                        Query(
                            'sum by (result) (increase(saltern_pull_request_previews_total{job=~"$job"}[1h]))',
                            "{{result}}",
                        ),
                    ),
                    width=12,
                ),
                Panel(
                    title="Predictions",
                    text="Whether runs after merges did what previews said, within a day.",
                    queries=(
                        Query('sum by (result) (increase(saltern_predictions_total{job=~"$job"}[1d]))', "{{result}}"),
                    ),
                    width=12,
                ),
            ),
        ),
    ),
)
