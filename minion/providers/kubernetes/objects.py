"""Objects as they are written, compared and reported.

What the server keeps of an object for itself (`uid`, `resourceVersion`, `managedFields`, status, …) and the addresses
and ports that it chooses are no part of a prediction. Values of secrets are in none, either: their keys are.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from typing import Any

from minion.machine.failure import StateFailed
from minion.providers.kubernetes.kinds import KubernetesObject, ObjectKind

_OF_THE_SERVER = frozenset(
    (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
_CHOSEN = ("clusterIP", "clusterIPs", "healthCheckNodePort")
"""Fields of a service that the server fills in, each time with something else."""
NOTHING = "<_null_>"
"""Stands for a field that is not there, as in Salt."""


def plain(found: KubernetesObject) -> dict[str, Any]:
    """An object without what the server keeps of it for itself."""
    kept = copy.deepcopy({key: value for key, value in found.items() if key != "status"})
    kept["metadata"] = {key: one for key, one in (kept.get("metadata") or {}).items() if key not in _OF_THE_SERVER}
    return kept


def reported_new(made: KubernetesObject, asked: KubernetesObject) -> dict[str, Any]:
    """What a new object is reported as: the server's answer to `asked`, without what it chose by chance."""
    kept = without_secrets(plain(made))
    spec, wanted = kept.get("spec"), asked.get("spec") or {}
    if made.get("kind") == "Service" and isinstance(spec, dict):
        for key in _CHOSEN:
            if key not in wanted:
                spec.pop(key, None)
        given = {each.get("nodePort") for each in wanted.get("ports") or () if isinstance(each, Mapping)}
        for port in spec.get("ports") or ():
            if port.get("nodePort") not in given:
                port.pop("nodePort", None)
    if made.get("kind") == "Pod" and isinstance(spec, dict):
        _leave_out_tokens(spec)
    return kept


def _leave_out_tokens(spec: dict[str, Any]) -> None:
    """The volume of the account's token, whose name is made by chance."""
    made = "kube-api-access-"
    for holder, key in [(spec, "volumes"), *((one, "volumeMounts") for one in spec.get("containers") or ())]:
        left = [each for each in holder.get(key) or () if not str(each.get("name")).startswith(made)]
        if left:
            holder[key] = left
        else:
            holder.pop(key, None)


def without_secrets(found: KubernetesObject) -> dict[str, Any]:
    """An object; of a secret the keys alone."""
    if found.get("kind") != "Secret":
        return dict(found)
    shown = {key: value for key, value in found.items() if key not in ("data", "stringData")}
    parts = [part for field in ("data", "stringData") if isinstance(part := found.get(field), Mapping)]
    shown["data"] = sorted({key for part in parts for key in part})
    metadata = dict(shown.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    if annotations.pop(_LAST_APPLIED, None) is not None:  # it holds the values
        metadata["annotations"] = annotations
        shown["metadata"] = metadata
    return shown


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What differs, as it was and as it is: mappings by their keys, all else as a whole."""
    was: dict[str, Any] = {}
    now: dict[str, Any] = {}
    for key in [*new, *(key for key in old if key not in new)]:
        before, after = old.get(key, NOTHING), new.get(key, NOTHING)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            was[key], now[key] = differences(before, after)
        else:
            was[key], now[key] = before, after
    return was, now


def encoded(values: Mapping[str, Any]) -> dict[str, str]:
    """Values of a secret in base64; those that are base64 of a text already stay, as in Salt."""
    return {
        str(key): str(value) if is_base64(value) else base64.b64encode(str(value).encode()).decode()
        for key, value in values.items()
    }


def is_base64(value: Any) -> bool:
    """Whether a value is a text in base64."""
    try:
        base64.b64decode("".join(value.split()), validate=True).decode()
    except (ValueError, AttributeError):
        return False
    return True


def body_of(kind: ObjectKind, name: str, namespace: str | None, given: KubernetesObject) -> dict[str, Any]:
    """A new object. StateFailed: what is given names another namespace."""
    metadata = dict(given.get("metadata") or {})
    if namespace is not None and metadata.get("namespace", namespace) != namespace:
        raise StateFailed(
            f"{kind.kind} {name}: its metadata has the namespace {metadata['namespace']}, and the state {namespace}"
        )
    metadata["name"] = name
    if namespace is not None:
        metadata["namespace"] = namespace
    return {**given, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def deployment_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """With a selector: without one the labels of the template."""
    made = dict(spec)
    template = made.get("template")
    if not isinstance(template, Mapping):
        raise StateFailed("Deployment spec must include template with pod specification")
    if "selector" not in made:
        labels = (template.get("metadata") or {}).get("labels")
        if not labels:
            raise StateFailed("Template must include labels when selector is not specified")
        made["selector"] = {"matchLabels": dict(labels)}
    return made


def service_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A port may be its number alone."""
    made = dict(spec)
    ports = made.get("ports")
    if isinstance(ports, list):
        made["ports"] = [each if isinstance(each, Mapping) else {"port": _port(each)} for each in ports]
    return made


def _port(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise StateFailed(f"Invalid port specification: {value!r} is no number") from None
