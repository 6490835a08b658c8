"""Cases of the states of RabbitMQ: on a broker of their own. Those of clusters have none, which need two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, SERVED, Case, serving

_FOLDER = f"{BESIDE}/rabbit"
_ENVIRONMENT = {
    "RABBITMQ_NODENAME": "salterncase@localhost",
    "RABBITMQ_MNESIA_BASE": f"{_FOLDER}/mnesia",
    "RABBITMQ_LOG_BASE": f"{_FOLDER}/log",
    "RABBITMQ_ENABLED_PLUGINS_FILE": f"{_FOLDER}/plugins",
    "RABBITMQ_CONFIG_FILE": f"{_FOLDER}/none",
    "RABBITMQ_CONF_ENV_FILE": "/dev/null",
    "RABBITMQ_NODE_PORT": "54332",
    "RABBITMQ_DIST_PORT": "54333",
    "ERL_EPMD_PORT": "54334",
}
_AS_USER = "env HOME=/var/lib/rabbitmq setpriv --reuid=rabbitmq --regid=rabbitmq --clear-groups"
_BROKER = serving(f"{_AS_USER} /usr/lib/rabbitmq/bin/rabbitmq-server", f"grep -q 'completed with' {BESIDE}/out")
_PATTERNS = ["^a", ".*", ".*"]


def _case(fun: str, name: str, *commands: str, **arguments: Any) -> Case:
    """A case on a broker of its own, with which these commands were carried out."""
    return Case(
        fun=f"rabbitmq_{fun}",
        name=name,
        arguments=arguments,
        before=(f"mkdir {_FOLDER} && chown rabbitmq {_FOLDER}", _BROKER, *commands),
        after=("rabbitmqctl -q stop", "epmd -port 54334 -kill", SERVED),
        environment=_ENVIRONMENT,
        needs=("rabbitmq-server",),
    )


_POLICY = {"pattern": "^a", "definition": '{"max-length": 7}'}

CASES: tuple[Case, ...] = (
    _case("vhost.present", "case"),
    _case("vhost.absent", "case", "rabbitmqctl -q add_vhost case"),
    _case("user.present", "joe", password="sesame", tags=["monitoring"], perms=[{"/": _PATTERNS}]),  # noqa: S106
    _case("user.present", "joe", "rabbitmqctl -q add_user joe sesame", tags=["monitoring", "management"]),
    _case("user.absent", "joe", "rabbitmqctl -q add_user joe sesame"),
    _case("policy.present", "case", **_POLICY, priority=1),
    _case("policy.absent", "case", "rabbitmqctl -q set_policy case ^a '{\"max-length\": 7}'"),
    _case("plugin.enabled", "rabbitmq_shovel"),
    _case("plugin.disabled", "rabbitmq_shovel", "rabbitmq-plugins -q enable rabbitmq_shovel"),
    _case("upstream.present", "case", "rabbitmq-plugins -q enable rabbitmq_federation", uri="amqp://case.example.org"),
    _case("upstream.absent", "case", "rabbitmq-plugins -q enable rabbitmq_federation",
          """rabbitmqctl -q set_parameter federation-upstream case '{"uri": "amqp://case.example.org"}'"""),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {
    f"rabbitmq_cluster.{fun}": "tried on two RabbitMQ brokers of the tests" for fun in ("join", "joined")
}
"""State functions that no case can run, and why."""
