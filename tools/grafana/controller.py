"""The controller's process, queues, compiles and store."""

from __future__ import annotations

from tools.grafana.panel import Dashboard, Panel, Query
from tools.grafana.queries import JOB, quantile, rate, rises

_IN = ',direction="in"'
_HIT = ',result="hit"'

CONTROLLER = Dashboard(
    uid="saltern-controller",
    title="Saltern: controller",
    text="The process, its queues and its store, and what it refuses.",
    variables=JOB,
    rows=(
        (
            "Process",
            (
                Panel(
                    title="Version",
                    text="Of Saltern and of Python, by controller.",
                    queries=(Query('saltern_build_info{job=~"$job"}', "{{version}}"),),
                    kind="table",
                    height=5,
                ),
                Panel(
                    title="Leader",
                    text="1 for the one that leads; of several exactly one does.",
                    queries=(Query('saltern_leader{job=~"$job"}', "{{instance}}"),),
                    kind="stat",
                    height=5,
                    red_below=1,
                ),
                Panel(
                    title="Waiting controllers",
                    text="That take over when the leader is gone.",
                    queries=(Query('saltern_waiting_controllers{job=~"$job"}', "{{instance}}"),),
                    kind="stat",
                    height=5,
                ),
                Panel(
                    title="Processor",
                    text="Of the controller's own process; compiles have theirs.",
                    queries=(Query(rate("process_cpu_seconds_total"), "{{instance}}"),),
                    unit="percentunit",
                ),
                Panel(
                    title="Memory",
                    text="In use.",
                    queries=(Query('process_resident_memory_bytes{job=~"$job"}', "{{instance}}"),),
                    unit="bytes",
                ),
                Panel(
                    title="Descriptors in use",
                    text="One for each minion.",
                    queries=(Query('process_open_fds{job=~"$job"} / process_max_fds{job=~"$job"}', "{{instance}}"),),
                    unit="percentunit",
                ),
            ),
        ),
        (
            "Queues and messages",
            (
                Panel(
                    title="What waits",
                    text="In each queue; one that grows is behind.",
                    queries=(Query('sum by (queue) (saltern_queue_length{job=~"$job"})', "{{queue}}"),),
                ),
                Panel(
                    title="Messages wait for",
                    text="Until they are handled.",
                    queries=(Query('saltern_message_lag_seconds{job=~"$job"}', "{{instance}}"),),
                    unit="s",
                ),
                Panel(
                    title="Loop stalls",
                    text="Share of the time in which nobody was served. The log says what ran: event loop stalled.",
                    queries=(Query(rate("saltern_loop_stall_seconds_sum"), "{{instance}}"),),
                    unit="percentunit",
                ),
                Panel(
                    title="Messages of minions",
                    text="By type.",
                    queries=(
                        Query(
                            f"sum by (type) ({rate('saltern_bus_messages_total', _IN)})",
                            "{{type}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Refused by limits",
                    text="docs/security.md says what each limit is for.",
                    queries=(
                        Query(
                            f"sum by (border, limit) ({rate('saltern_limit_refusals_total')})",
                            "{{border}} {{limit}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Messages refused",
                    text="By reason; the log has the address.",
                    queries=(
                        Query(
                            f"sum by (reason) ({rate('saltern_wire_refusals_total')}) or vector(0)",
                            "{{reason}}",
                        ),
                    ),
                    unit="ops",
                ),
            ),
        ),
        (
            "Compiles and store",
            (
                Panel(
                    title="Time to compile a minion",
                    text="The mean.",
                    queries=(
                        Query(
                            f"{rate('saltern_compile_seconds_sum')} / {rate('saltern_compile_seconds_count')}",
                            "{{instance}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Parts found in the memo",
                    text="Of compiles; fewer make compiles slow.",
                    queries=(
                        Query(
                            f"sum({rate('saltern_memo_lookups_total', _HIT)}) / "
                            f"sum({rate('saltern_memo_lookups_total')})",
                            "hits",
                        ),
                    ),
                    unit="percentunit",
                ),
                Panel(
                    title="Memo mismatches",
                    text="Anything but 0 is a bug of Saltern.",
                    queries=(
                        Query(
                            'sum(saltern_compile_checks_total{job=~"$job",result="different"}) + '
                            'sum(saltern_compile_audits_total{job=~"$job",result="different"})',
                            "different",
                        ),
                    ),
                    kind="stat",
                    red_from=1,
                ),
                Panel(
                    title="Time of the store",
                    text="99 of 100 operations take less. Commits wait for the disk.",
                    queries=(
                        Query(
                            quantile(0.99, "saltern_store_seconds", "operation"),
                            "{{operation}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Compiled, and spared",
                    text="Minions that a push concerned, and those that it did not.",
                    queries=(
                        Query(f"sum({rises('saltern_compile_minions_total')})", "compiled"),
                        Query(f"sum({rises('saltern_compiles_spared_total')})", "spared"),
                    ),
                ),
                Panel(
                    title="Compiles that failed",
                    text="Their minions keep what they have: saltern status.",
                    queries=(Query(f"sum({rises('saltern_compile_errors_total')})", "failed"),),
                ),
            ),
        ),
        (
            "Keys, reactions, results, notifications",
            (
                Panel(
                    title="Keys",
                    text="Pending ones wait for saltern key accept.",
                    queries=(Query('sum by (state) (saltern_keys{job=~"$job"})', "{{state}}"),),
                ),
                Panel(
                    title="Certificates end in",
                    text="Put renewed ones into their files.",
                    queries=(
                        Query('saltern_certificate_expiry_timestamp_seconds{job=~"$job"} - time()', "{{certificate}}"),
                    ),
                    kind="stat",
                    unit="s",
                    red_below=1209600,
                ),
                Panel(
                    title="Reactions",
                    text="Events that reactors answered; saltern reactions list.",
                    queries=(
                        Query(
                            f"sum by (outcome) ({rate('saltern_reactions_total')})",
                            "{{outcome}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Events of beacons",
                    text="By beacon.",
                    queries=(
                        Query(
                            f"sum by (beacon) ({rate('saltern_beacon_events_total')}) or vector(0)",
                            "{{beacon}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Results that wait for returners",
                    text="On the disk of the controller.",
                    queries=(
                        Query(
                            'sum by (returner) (saltern_returner_entries{job=~"$job",state="waiting"}) or vector(0)',
                            "{{returner}}",
                        ),
                    ),
                ),
                Panel(
                    title="Notifications that wait",
                    text="By receiver; saltern notify list.",
                    queries=(Query('sum by (receiver) (saltern_notifications_spooled{job=~"$job"})', "{{receiver}}"),),
                ),
            ),
        ),
    ),
)
