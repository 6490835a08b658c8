"""What minions say of themselves."""

from __future__ import annotations

from tools.grafana.panel import Dashboard, Panel, Query

_AGENT = 'instance=~"$instance"'

MINIONS = Dashboard(
    uid="saltern-minions",
    title="Saltern: minions",
    text="What minions say of themselves by node_exporter (the option metrics_textfile).",
    variables={"instance": "label_values(saltern_agent_info, instance)"},
    rows=(
        (
            "Minions",
            (
                Panel(
                    title="Which minion",
                    text="By the address that Prometheus scrapes.",
                    queries=(Query(f"saltern_agent_info{{{_AGENT}}}", "{{minion}}"),),
                    kind="table",
                ),
                Panel(
                    title="Connected to",
                    text="Controllers; 0: the minion keeps its last state.",
                    queries=(Query(f'saltern_agent_controllers{{{_AGENT},state="connected"}}', "{{instance}}"),),
                ),
                Panel(
                    title="Age of the metrics",
                    text="More than a minute: the minion hangs or is not there.",
                    queries=(
                        Query(
                            f'time() - node_textfile_mtime_seconds{{{_AGENT},file=~".*/saltern[^/]*[.]prom",'
                            'file!~".*/saltern-gateway[.]prom"}',
                            "{{instance}}",
                        ),
                    ),
                    unit="s",
                ),
            ),
        ),
        (
            "Runs",
            (
                Panel(
                    title="Last runs ended before",
                    text="By kind.",
                    queries=(
                        Query(
                            f"time() - saltern_agent_last_run_timestamp_seconds{{{_AGENT}}}", "{{instance}} {{kind}}"
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Changes of the last run",
                    text="States that it changed.",
                    queries=(
                        Query(f'saltern_agent_last_run_states{{{_AGENT},result="changed"}}', "{{instance}} {{kind}}"),
                    ),
                ),
                Panel(
                    title="Failures of the last run",
                    text="States that failed; saltern history MINION.",
                    queries=(
                        Query(f'saltern_agent_last_run_states{{{_AGENT},result="failed"}}', "{{instance}} {{kind}}"),
                    ),
                ),
                Panel(
                    title="States that drifted",
                    text="saltern diff MINION.",
                    queries=(Query(f"saltern_agent_drifted_states{{{_AGENT}}}", "{{instance}}"),),
                ),
                Panel(
                    title="Time of the last run",
                    text="By kind.",
                    queries=(Query(f"saltern_agent_last_run_seconds{{{_AGENT}}}", "{{instance}} {{kind}}"),),
                    unit="s",
                ),
                Panel(
                    title="Runs by outcome",
                    text="Of all minions that are chosen.",
                    queries=(
                        Query(
                            f"sum by (outcome) (rate(saltern_agent_runs_total{{{_AGENT}}}[$__rate_interval]))",
                            "{{outcome}}",
                        ),
                    ),
                    unit="ops",
                ),
            ),
        ),
        (
            "What waits, and what it costs",
            (
                Panel(
                    title="Results that wait",
                    text="For a controller that takes them.",
                    queries=(Query(f"saltern_agent_results_waiting{{{_AGENT}}}", "{{instance}}"),),
                ),
                Panel(
                    title="Events that wait",
                    text="Of beacons and of saltern call.",
                    queries=(Query(f"saltern_agent_events_waiting_bytes{{{_AGENT}}}", "{{instance}}"),),
                    unit="bytes",
                ),
                Panel(
                    title="Problems",
                    text="What is configured wrongly of what the minion does by itself: saltern status MINION -v",
                    queries=(Query(f"sum by (part) (saltern_agent_problems{{{_AGENT}}})", "{{part}}"),),
                    kind="stat",
                    red_from=1,
                ),
                Panel(
                    title="Memory",
                    text="Of the agents, without their runs.",
                    queries=(Query(f"saltern_agent_resident_memory_bytes{{{_AGENT}}}", "{{instance}}"),),
                    unit="bytes",
                ),
                Panel(
                    title="Processor",
                    text="Of the agents, without their runs.",
                    queries=(
                        Query(f"rate(saltern_agent_cpu_seconds_total{{{_AGENT}}}[$__rate_interval])", "{{instance}}"),
                    ),
                    unit="percentunit",
                ),
                Panel(
                    title="Events sent",
                    text="Each second, of beacons and of saltern call.",
                    queries=(Query(f"rate(saltern_agent_events_total{{{_AGENT}}}[$__rate_interval])", "{{instance}}"),),
                    unit="ops",
                ),
            ),
        ),
        (
            "Gateways of stock minions",
            (
                Panel(
                    title="Stock minions by key",
                    text="Of all gateways; pending ones wait for saltern key accept.",
                    queries=(Query("sum by (instance, state) (saltern_gateway_minions)", "{{instance}} {{state}}"),),
                ),
                Panel(
                    title="Minions that answer",
                    text="Accepted stock minions that answer jobs, and those that the controller hears of.",
                    queries=(
                        Query("saltern_gateway_listening_minions", "{{instance}} answer"),
                        Query("saltern_gateway_connected_minions", "{{instance}} connected"),
                    ),
                ),
                Panel(
                    title="Requests by command",
                    text="What stock minions ask their gateway for.",
                    queries=(
                        Query(
                            "sum by (command) (rate(saltern_gateway_request_seconds_count[$__rate_interval]))",
                            "{{command}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Slowest requests",
                    text="99 % are answered in less, by command.",
                    queries=(
                        Query(
                            "histogram_quantile(0.99, sum by (command, le) "
                            "(rate(saltern_gateway_request_seconds_bucket[$__rate_interval])))",
                            "{{command}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Requests without an answer",
                    text="By reason.",
                    queries=(
                        Query(
                            "sum by (reason) (rate(saltern_gateway_refused_requests_total[$__rate_interval]))",
                            "{{reason}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Memory of gateways",
                    text="Of their processes.",
                    queries=(Query("saltern_gateway_resident_memory_bytes", "{{instance}}"),),
                    unit="bytes",
                ),
            ),
        ),
    ),
)
