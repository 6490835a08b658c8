"""The state module `rabbitmq_upstream`.

Behaviour: doc/ref/states/all/salt.states.rabbitmq_upstream. Upstreams are those of the virtual host `/`; the plugin
rabbitmq_federation has to be enabled. A password in an address is in no change and no list of processes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from minion.arguments.types import AnyValue
from minion.machine.plan import NULL, Machine, Plan, Reader, StateFunction
from minion.providers.rabbitmq.broker import (
    UPSTREAM,
    Broker,
    RabbitmqCaller,
    set_upstream,
    upstream_definition,
    upstreams,
)
from minion.states.rabbitmq.plans import turning

_PASSWORD = re.compile(r"(://[^:/@]*:)[^@/]*@")


class UpstreamOptions(NamedTuple):
    """What may be said of an upstream besides its address; what is false is not given."""

    prefetch_count: int | None = None
    reconnect_delay: int | None = None
    ack_mode: str | None = None
    trust_user_id: AnyValue = None
    exchange: str | None = None
    max_hops: int | None = None
    expires: int | None = None
    message_ttl: int | None = None
    ha_policy: str | None = None
    queue: str | None = None


def present(machine: Reader, name: str, *, uri: AnyValue, options: UpstreamOptions, caller: RabbitmqCaller) -> Plan:
    """The federation has this upstream. `uri`: one address or several."""
    broker = Broker(caller)
    wanted = upstream_definition({"uri": uri, **options._asdict()})
    found = upstreams(machine, broker).get(name)
    current = None if found is None else json.loads(found)
    if current == wanted:
        return Plan(comment=f'Upstream "{name}" already present as specified.')
    action = "create" if current is None else "update"

    def act(machine: Machine) -> None:
        set_upstream(machine, broker, name, wanted)

    old, new = (NULL, wanted) if current is None else (_apart(current, wanted), _apart(wanted, current))
    return turning(
        _hidden(old), _hidden(new), act,
        pending=f'Upstream "{name}" would have been {action}d.', done=f'Upstream "{name}" {action}d.',
    )  # fmt: skip


def absent(machine: Reader, name: str, *, caller: RabbitmqCaller) -> Plan:
    """The federation does not have this upstream."""
    broker = Broker(caller)
    if name not in upstreams(machine, broker):
        return Plan(comment=f'The upstream "{name}" is already absent.')

    def act(machine: Machine) -> None:
        broker.told(machine, "clear_parameter", UPSTREAM, "--", name)

    return turning(
        name, NULL, act,
        pending=f'Upstream "{name}" would have been deleted.', done=f'Upstream "{name}" has been deleted.',
    )  # fmt: skip


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What of one is not so in the other."""
    return {key: value for key, value in one.items() if key not in other or other[key] != value}


def _hidden(value: Any) -> Any:
    """The same, without passwords of addresses."""
    if isinstance(value, str):
        return _PASSWORD.sub(r"\g<1>**********@", value)
    if isinstance(value, Mapping):
        return {key: _hidden(one) for key, one in value.items()}
    return list(map(_hidden, value)) if isinstance(value, list) else value


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
