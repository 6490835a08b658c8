"""The execution module `rabbitmq`: what rabbitmqctl(8) and rabbitmq-plugins(8) tell and do.

Behaviour: doc/ref/modules/all/salt.modules.rabbitmq.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, Texts
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.rabbitmq import broker as rabbitmq
from minion.providers.rabbitmq.broker import Broker, RabbitmqCaller, as_line


def list_users(context: Context, runas: str | None = None) -> dict[str, list[str]]:
    """User -> tags."""
    return rabbitmq.users(context.machine, _broker(runas))


def list_vhosts(context: Context, runas: str | None = None) -> list[str]:
    """Names of the virtual hosts."""
    return rabbitmq.vhosts(context.machine, _broker(runas))


def list_upstreams(context: Context, runas: str | None = None) -> dict[str, str]:
    """Upstream of a federation -> its definition, as JSON."""
    return rabbitmq.upstreams(context.machine, _broker(runas))


def user_exists(context: Context, name: str, runas: str | None = None) -> bool:
    """Whether there is a user."""
    return name in list_users(context, runas)


def vhost_exists(context: Context, name: str, runas: str | None = None) -> bool:
    """Whether there is a virtual host."""
    return name in list_vhosts(context, runas)


def upstream_exists(context: Context, name: str, runas: str | None = None) -> bool:
    """Whether there is an upstream."""
    return name in list_upstreams(context, runas)


def add_user(context: Context, name: str, password: str | None = None, runas: str | None = None) -> dict[str, str]:
    """Add a user; one without a password is let in by none."""
    return {"Added": rabbitmq.add_user(context.machine, _broker(runas), name, password)}


def delete_user(context: Context, name: str, runas: str | None = None) -> dict[str, str]:
    """Delete a user."""
    return {"Deleted": _tell(context, runas, "delete_user", "--", name)}


def change_password(context: Context, name: str, password: str, runas: str | None = None) -> dict[str, str]:
    """Give a user another password."""
    said = _broker(runas).told(context.machine, "change_password", "--", name, stdin=as_line(password))
    return {"Password Changed": said}


def clear_password(context: Context, name: str, runas: str | None = None) -> dict[str, str]:
    """Take a user's password away, so that none lets it in."""
    return {"Password Cleared": _tell(context, runas, "clear_password", "--", name)}


def check_password(context: Context, name: str, password: str, runas: str | None = None) -> bool:
    """Whether this is the password of a user."""
    return _broker(runas).lets_in(context.machine, name, password)


def add_vhost(context: Context, vhost: str, runas: str | None = None) -> dict[str, str]:
    """Add a virtual host."""
    return {"Added": _tell(context, runas, "add_vhost", "--", vhost)}


def delete_vhost(context: Context, vhost: str, runas: str | None = None) -> dict[str, str]:
    """Delete a virtual host, with its queues and messages."""
    return {"Deleted": _tell(context, runas, "delete_vhost", "--", vhost)}


def set_permissions(
    context: Context, vhost: str, user: str, conf: str = ".*", write: str = ".*", read: str = ".*",
    runas: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """Say what a user may configure, write and read in a virtual host, by patterns."""
    return {"Permissions Set": _tell(context, runas, "set_permissions", "-p", vhost, "--", user, conf, write, read)}


def list_permissions(context: Context, vhost: str, runas: str | None = None) -> dict[str, dict[str, str]]:
    """User -> what it may in a virtual host."""
    return rabbitmq.permissions(context.machine, _broker(runas), "user", "list_permissions", "-p", vhost)


def list_user_permissions(context: Context, name: str, runas: str | None = None) -> dict[str, dict[str, str]]:
    """Virtual host -> what a user may there."""
    return rabbitmq.permissions(context.machine, _broker(runas), "vhost", "list_user_permissions", "--", name)


def set_user_tags(context: Context, name: str, tags: Texts, runas: str | None = None) -> dict[str, str]:
    """Give a user these tags, and no others."""
    return {"Tag(s) set": _tell(context, runas, "set_user_tags", "--", name, *tags)}


def status(context: Context, runas: str | None = None) -> str:
    """What the broker says of itself."""
    return _broker(runas).shown(context.machine, "status")


def cluster_status(context: Context, runas: str | None = None) -> str:
    """What the broker says of its cluster."""
    return _broker(runas).shown(context.machine, "cluster_status")


def join_cluster(
    context: Context, host: str, user: str = "rabbit", ram_node: bool = False, runas: str | None = None
) -> dict[str, str]:
    """Have the node join the cluster of the node `user@host`."""
    node = f"{user}@{host}"
    return {"Join": rabbitmq.join_cluster(context.machine, _broker(runas), node, in_memory=ram_node)}


def stop_app(context: Context, runas: str | None = None) -> str:
    """Stop RabbitMQ, and leave the Erlang node running."""
    return _tell(context, runas, "stop_app")


def start_app(context: Context, runas: str | None = None) -> str:
    """Start RabbitMQ in the Erlang node that runs."""
    return _tell(context, runas, "start_app")


def reset(context: Context, runas: str | None = None) -> str:
    """Have the node, which is stopped, leave its cluster and forget all that it holds."""
    return _tell(context, runas, "reset")


def force_reset(context: Context, runas: str | None = None) -> str:
    """As `reset`, whatever the state of the cluster is."""
    return _tell(context, runas, "force_reset")


def list_queues(context: Context, runas: str | None = None, *args: str) -> dict[str, list[str]]:
    """Queue -> what else is asked for (`name messages`), or the number of its messages."""
    return _queues(context, runas, *args)


def list_queues_vhost(context: Context, vhost: str, runas: str | None = None, *args: str) -> dict[str, list[str]]:
    """As `list_queues`, of a virtual host."""
    return _queues(context, runas, "-p", vhost, *args)


def list_policies(context: Context, vhost: str = "/", runas: str | None = None) -> dict[str, dict[str, Any]]:
    """Virtual host -> policy -> pattern, apply_to, definition and priority; one without policies is not there."""
    found = rabbitmq.policies(context.machine, _broker(runas), vhost)
    return {vhost: found} if found else {}


def set_policy(
    context: Context, vhost: str, name: str, pattern: str, definition: AnyValue, priority: int | None = None,
    runas: str | None = None, apply_to: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """Set a policy of a virtual host. `definition`: a mapping, or its JSON."""
    if not isinstance(definition, str | Mapping):
        raise CallFailed("The 'definition' argument must be a dictionary or JSON string")
    text = definition if isinstance(definition, str) else json.dumps(definition)
    words = rabbitmq.policy_words(vhost, name, pattern, text, priority, apply_to)
    return {"Set": _tell(context, runas, *words)}


def delete_policy(context: Context, vhost: str, name: str, runas: str | None = None) -> dict[str, str]:
    """Delete a policy of a virtual host."""
    return {"Deleted": _tell(context, runas, "clear_policy", "-p", vhost, "--", name)}


def policy_exists(context: Context, vhost: str, name: str, runas: str | None = None) -> bool:
    """Whether a virtual host has a policy."""
    return name in rabbitmq.policies(context.machine, _broker(runas), vhost)


def list_available_plugins(context: Context, runas: str | None = None) -> list[str]:
    """Plugins that are there."""
    return _broker(runas).plugins(context.machine, enabled=False)


def list_enabled_plugins(context: Context, runas: str | None = None) -> list[str]:
    """Plugins that are enabled, by themselves or because another one needs them."""
    return _broker(runas).plugins(context.machine, enabled=True)


def plugin_is_enabled(context: Context, name: str, runas: str | None = None) -> bool:
    """Whether a plugin is enabled."""
    return name in list_enabled_plugins(context, runas)


def enable_plugin(context: Context, name: str, runas: str | None = None) -> dict[str, str]:
    """Enable a plugin."""
    return {"Enabled": _broker(runas).switched(context.machine, "enable", name)}


def disable_plugin(context: Context, name: str, runas: str | None = None) -> dict[str, str]:
    """Disable a plugin, and those that need it."""
    return {"Disabled": _broker(runas).switched(context.machine, "disable", name)}


def set_upstream(
    context: Context, name: str, uri: AnyValue, prefetch_count: int | None = None, reconnect_delay: int | None = None,
    ack_mode: str | None = None, trust_user_id: AnyValue = None, exchange: str | None = None,
    max_hops: int | None = None, expires: int | None = None, message_ttl: int | None = None,
    ha_policy: str | None = None, queue: str | None = None, runas: str | None = None,
) -> bool:  # fmt: skip
    """Give the federation an upstream. `uri`: one address or several."""
    definition = rabbitmq.upstream_definition(
        {
            "uri": uri, "prefetch_count": prefetch_count, "reconnect_delay": reconnect_delay, "ack_mode": ack_mode,
            "trust_user_id": trust_user_id, "exchange": exchange, "max_hops": max_hops, "expires": expires,
            "message_ttl": message_ttl, "ha_policy": ha_policy, "queue": queue,
        }
    )  # fmt: skip
    rabbitmq.set_upstream(context.machine, _broker(runas), name, definition)
    return True


def delete_upstream(context: Context, name: str, runas: str | None = None) -> bool:
    """Take an upstream of the federation away."""
    _tell(context, runas, "clear_parameter", rabbitmq.UPSTREAM, "--", name)
    return True


def _broker(runas: str | None) -> Broker:
    return Broker(RabbitmqCaller(runas))


def _tell(context: Context, runas: str | None, *words: str) -> str:
    return _broker(runas).told(context.machine, *words)


def _queues(context: Context, runas: str | None, *words: str) -> dict[str, list[str]]:
    shown = _broker(runas).shown(context.machine, "-q", "--no-table-headers", "list_queues", *words)
    rows = (line.split("\t") for line in shown.splitlines() if line)
    return {name: values for name, *values in rows}


_NAMES = (
    add_user, add_vhost, change_password, check_password, clear_password, cluster_status, delete_policy,
    delete_upstream, delete_user, delete_vhost, disable_plugin, enable_plugin, force_reset, join_cluster,
    list_available_plugins, list_enabled_plugins, list_permissions, list_policies, list_queues, list_queues_vhost,
    list_upstreams, list_user_permissions, list_users, list_vhosts, plugin_is_enabled, policy_exists, reset,
    set_permissions, set_policy, set_upstream, set_user_tags, start_app, status, stop_app, upstream_exists,
    user_exists, vhost_exists,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _NAMES}
