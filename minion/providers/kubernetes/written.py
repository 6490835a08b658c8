"""Objects as arguments or a document have them. Called by states and execution functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.kubernetes.kinds import CONFIGMAP, DEPLOYMENT, SECRET, SERVICE, ObjectKind
from minion.providers.kubernetes.objects import body_of, deployment_spec, encoded, service_spec
from minion.providers.kubernetes.sources import ObjectSource, document


def written(machine: Reader, kind: ObjectKind, source: ObjectSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a document, or of arguments. StateFailed: it is of both, or of another kind."""
    parts = {key: value for key, value in given.items() if value}
    if not source.source:
        return parts
    if parts:
        fields = " or ".join(f"'{key}'" for key in given)
        raise StateFailed(f"'source' cannot be used in combination with {fields}")
    return document(machine, source, kind)


def change_of(kind: ObjectKind, name: str, namespace: str | None, read: Mapping[str, Any]) -> dict[str, Any]:
    """What an object that is there shall have: values as the API has them."""
    made = {key: value for key, value in read.items() if key != "secret_type"}
    data = made.get("data")
    if isinstance(data, Mapping) and kind is SECRET:
        made["data"] = encoded(data)
    elif isinstance(data, Mapping) and kind is CONFIGMAP:
        made["data"] = {str(key): str(value) for key, value in data.items()}
    if kind is SECRET and not made.get("type") and read.get("secret_type"):
        made["type"] = read["secret_type"]
    if kind is SERVICE and isinstance(made.get("spec"), Mapping):
        made["spec"] = service_spec(made["spec"])
    return body_of(kind, name, namespace, made)


def whole_of(kind: ObjectKind, name: str, namespace: str | None, read: Mapping[str, Any]) -> dict[str, Any]:
    """A new object. StateFailed: it lacks what nobody can fill in."""
    made = change_of(kind, name, namespace, read)
    if kind is DEPLOYMENT:
        made["spec"] = deployment_spec(made.get("spec") or {})
    return made
