"""Plans of one object: the API server itself says what would come of a request (`dryRun=All`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from minion.arguments.types import Seconds
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers.kubernetes.api import STRATEGIC, ApiServerRefused, ClusterApi
from minion.providers.kubernetes.kinds import KubernetesObject, ObjectKind
from minion.providers.kubernetes.objects import differences, plain, reported_new

_STRICT = "Strict"
"""A field that the server does not know is an error: it would be dropped."""


class ReadyWait(NamedTuple):
    """Whether an act waits until what it has made is ready, or what it has deleted is gone."""

    wait: bool = False
    timeout: Seconds = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedObject:
    """An object that shall be there."""

    kind: ObjectKind
    name: str
    namespace: str | None
    body: Callable[[], KubernetesObject]
    """All of it, for where there is none."""
    patch: Callable[[], KubernetesObject]
    """What one that is there shall have."""
    created: Callable[[KubernetesObject, KubernetesObject], Value] = reported_new
    """The `new` of a new one: of the server's answer, and of what was asked for."""
    updated: Callable[[KubernetesObject, KubernetesObject], tuple[Value, Value]] = differences
    """`old` and `new` of one that is changed: of what it is, and of the server's answer."""


def old_and_new(old: Value, new: Value, act: Callable[[Machine], None]) -> tuple[Change, ...]:
    """Changes that Salt has as `old` and `new` of the state itself."""
    return (Change(key="old", reported=old, act=_with_the_other), Change(key="new", reported=new, act=act))


def _with_the_other(machine: Machine) -> None:
    """The change of `new` does it."""


def presence(machine: Reader, api: ClusterApi, wanted: WantedObject, waiting: ReadyWait) -> Plan:
    """The object is there, and has what it shall have."""
    kind, name = wanted.kind, wanted.name
    found = found_alive(api, kind, name, wanted.namespace)
    if found is None:
        return _creation(api, wanted, waiting)
    patch = wanted.patch()
    path = kind.path(wanted.namespace, name)
    answer = asked_dry(api, "PATCH", path, patch, content=STRATEGIC)
    before, after = plain(found), plain(answer)
    if before == after:
        return Plan(comment=f"The {kind.word} is already in the desired state")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        api.ask("PATCH", path, patch, content=STRATEGIC, fieldValidation=_STRICT)
        _wait(api, wanted, waiting)

    return Plan(
        changes=old_and_new(*wanted.updated(before, after), act),
        pending=f"The {kind.word} is going to be updated",
        done=f"{kind.kind} updated",
    )


def _creation(api: ClusterApi, wanted: WantedObject, waiting: ReadyWait) -> Plan:
    body, path = wanted.body(), wanted.kind.path(wanted.namespace)
    answer = asked_dry(api, "POST", path, body)

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        api.ask("POST", path, body, fieldValidation=_STRICT)
        _wait(api, wanted, waiting)

    return Plan(
        changes=old_and_new({}, wanted.created(answer, body), act),
        pending=f"The {wanted.kind.word} is going to be created",
        done=f"{wanted.kind.kind} created",
    )


def _wait(api: ClusterApi, wanted: WantedObject, waiting: ReadyWait) -> None:
    if waiting.wait:
        api.wait_until_ready(wanted.kind, wanted.name, wanted.namespace, waiting.timeout)


def asked_dry(api: ClusterApi, method: str, path: str, body: Mapping[str, Any], **more: str) -> KubernetesObject:
    """What would come of a request. ContentUnknown: it is refused, and the run may bring what lacks."""
    try:
        return api.ask(method, path, body, dryRun="All", fieldValidation=_STRICT, **more)
    except ApiServerRefused as error:
        if error.is_missing:
            raise api.lacking(str(error)) from None
        raise


def found_alive(api: ClusterApi, kind: ObjectKind, name: str, namespace: str | None) -> KubernetesObject | None:
    """An object; None where there is none. StateFailed: it is about to go."""
    found = api.find(kind, name, namespace)
    if found is not None and (found.get("metadata") or {}).get("deletionTimestamp"):
        raise StateFailed(f"The {kind.word} {name} is being deleted: it can be made when it is gone")
    return found


def absence(
    api: ClusterApi, kind: ObjectKind, name: str, namespace: str | None, waiting: ReadyWait, propagation: str
) -> Plan:
    """There is no such object. One that is being deleted already is not deleted again."""
    found = api.find(kind, name, namespace)
    if found is None:
        return Plan(comment=f"The {kind.word} does not exist")
    if (found.get("metadata") or {}).get("deletionTimestamp"):
        return Plan(comment=f"The {kind.word} is already being deleted")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        api.delete(kind, name, namespace, propagationPolicy=propagation)
        if waiting.wait:
            api.wait_until_gone(kind, name, namespace, waiting.timeout)

    return Plan(
        changes=old_and_new("present", "absent", act),
        pending=f"The {kind.word} is going to be deleted",
        done=f"{kind.kind} {name} deleted",
    )
