"""The execution module `cloud`: machines of clouds, which the controller makes and destroys by its runner `cloud`.

Accounts and their credentials are the controller's (docs/cloud.md): a minion asks it, as far as `peer_run` permits.
What takes longer than the controller has a minion wait goes on there, and is looked for. Names and arguments are those
of Salt's module, which asks the clouds from the minion.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

from minion.arguments.types import AnyValue, Texts, Unsupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from wire.messages import PublishCall, Refused

_Opts = Annotated[AnyValue, Unsupported("options of salt-cloud are those of the controller's file `cloud`")]
_SECONDS = 45.0
"""That the controller has for an answer."""
_INTERVAL = 5.0
_MAKING_SECONDS = 1800.0
"""Until a machine that is being made counts as not coming."""
_GOES_ON = "the runner goes on"


def query(context: Context, query_type: str = "list_nodes") -> Any:
    """The machines of all accounts, by provider and driver."""
    return _asked(context, "query", query_type=query_type)


def full_query(context: Context, query_type: str = "list_nodes_full") -> Any:
    """The machines of all accounts, with all that the clouds say of them."""
    return _asked(context, "full_query", query_type=query_type)


def select_query(context: Context, query_type: str = "list_nodes_select") -> Any:
    """The machines of all accounts, with what `query.selection` of the controller names."""
    return _asked(context, "select_query", query_type=query_type)


def list_images(context: Context, provider: str = "all") -> Any:
    """The images of a provider, or of all."""
    return _asked(context, "list_images", provider=provider)


def list_sizes(context: Context, provider: str = "all") -> Any:
    """The sizes of a provider, or of all."""
    return _asked(context, "list_sizes", provider=provider)


def list_locations(context: Context, provider: str = "all") -> Any:
    """The locations of a provider, or of all."""
    return _asked(context, "list_locations", provider=provider)


def get_instance(context: Context, name: str, provider: str | None = None) -> dict[str, Any]:
    """What is known of a machine; empty where there is none."""
    for alias, drivers in query(context).items():
        for machines in drivers.values():
            if name in machines and provider in (None, alias):
                return dict(machines[name])
    return {}


def has_instance(context: Context, name: str, provider: str | None = None) -> bool:
    """Whether an account has a machine of this name."""
    return bool(get_instance(context, name, provider))


def profile(
    context: Context, profile: str, names: Texts, vm_overrides: AnyValue = None, opts: _Opts = None, **kwargs: AnyValue
) -> Any:
    """Make machines by a profile; the answer of each, by name."""
    more = {**_mapping(vm_overrides), **kwargs}
    return _made(context, names, "profile", prof=profile, instances=list(names), **more)


def create(context: Context, provider: str, names: Texts, opts: _Opts = None, **kwargs: AnyValue) -> Any:
    """Make machines of a provider, without a profile."""
    return _made(context, names, "create", provider=provider, instances=list(names), **kwargs)


def destroy(context: Context, names: Texts) -> Any:
    """Destroy machines, and have the controller forget their keys."""
    return _asked(context, "destroy", instances=list(names))


def action(
    context: Context, fun: str, cloudmap: Annotated[AnyValue, Unsupported("name the machines")] = None,
    names: Texts = (), provider: Annotated[AnyValue, Unsupported("name machines of it")] = None,
    instance: str | None = None,
) -> Any:  # fmt: skip
    """`reboot`, `start`, `stop` or `show_instance` machines: those of `names`, or one."""
    return _asked(context, "action", func=fun, instances=[*names, *([instance] if instance else ())])


def map_run(context: Context, path: str) -> Any:
    """Make what a map on the controller names and is not there."""
    return _asked(context, "map_run", path=path)


def _made(context: Context, names: Texts, fun: str, **kwargs: Any) -> Any:
    """What came of making machines; where it takes long they are waited for by looking."""
    try:
        return _asked(context, fun, **kwargs)
    except CallFailed as error:
        if _GOES_ON not in str(error):
            raise
        job = str(error)
    deadline = time.monotonic() + _MAKING_SECONDS
    while time.monotonic() < deadline:
        time.sleep(_INTERVAL)
        found = {name: get_instance(context, name) for name in names}
        if all(each.get("state") == "RUNNING" for each in found.values()):
            return found
    raise CallFailed(f"{', '.join(names)}: not there after {_MAKING_SECONDS:g} s; {job}")


def _asked(context: Context, fun: str, **kwargs: Any) -> Any:
    """What the runner `cloud` says. CallFailed with what the controller says against it."""
    if context.publish is None:
        raise CallFailed("machines of clouds are the controller's: run the agent, which asks it")
    answer = context.publish(
        PublishCall(request=0, nonce=uuid4().hex, kind="runner", fun=f"cloud.{fun}", kwargs=kwargs, timeout=_SECONDS)
    )
    if isinstance(answer, Refused):
        raise CallFailed(answer.message)
    value = answer.returns.get("value")
    if answer.failed:
        raise CallFailed(str(value))
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value or {}, Mapping):
        raise CallFailed("vm_overrides is a mapping")
    return value or {}


FUNCTIONS = {
    "action": action,
    "create": create,
    "destroy": destroy,
    "full_query": full_query,
    "get_instance": get_instance,
    "has_instance": has_instance,
    "list_images": list_images,
    "list_locations": list_locations,
    "list_sizes": list_sizes,
    "map_run": map_run,
    "profile": profile,
    "query": query,
    "select_query": select_query,
}
