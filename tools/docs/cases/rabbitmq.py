"""States of RabbitMQ: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"rabbitmq_{fun}": "tried on a RabbitMQ broker of the tests"
    for fun in (
        "cluster.join", "cluster.joined", "plugin.disabled", "plugin.enabled", "policy.absent", "policy.present",
        "upstream.absent", "upstream.present", "user.absent", "user.present", "vhost.absent", "vhost.present",
    )
}  # fmt: skip
"""State functions that no case can run, and why."""
