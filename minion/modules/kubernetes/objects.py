"""Functions of `kubernetes` that list, show and delete objects: one of each for a kind."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from minion.arguments.types import Seconds
from minion.execution.context import Context
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.kinds import NAMESPACE, NODE, SECRET, KubernetesObject, ObjectKind

NO_LOGIN = ClusterLogin()
Function = Callable[..., Any]


def listing(kind: ObjectKind) -> Function:
    """The function that lists a kind."""

    def names(context: Context, namespace: str = "default", login: ClusterLogin = NO_LOGIN) -> list[str]:
        return _names(context, login, kind, namespace)

    names.__doc__ = f"""Names of the {kind.plural} of a namespace."""
    return names


def _names(context: Context, login: ClusterLogin, kind: ObjectKind, namespace: str | None) -> list[str]:
    return [str(one["metadata"]["name"]) for one in ClusterApi(context.machine, login).all(kind, namespace)]


def namespaces(context: Context, login: ClusterLogin) -> list[str]:
    """Names of the namespaces."""
    return _names(context, login, NAMESPACE, None)


def nodes(context: Context, login: ClusterLogin) -> list[str]:
    """Names of the nodes."""
    return _names(context, login, NODE, None)


def showing(kind: ObjectKind) -> Function:
    """The function that shows an object of a kind."""

    def show(
        context: Context, name: str, namespace: str = "default", login: ClusterLogin = NO_LOGIN
    ) -> KubernetesObject | None:
        return ClusterApi(context.machine, login).find(kind, name, namespace)

    show.__doc__ = f"""A {kind.word}; null where there is none."""
    return show


def show_namespace(context: Context, name: str, login: ClusterLogin) -> KubernetesObject | None:
    """A namespace; null where there is none."""
    return ClusterApi(context.machine, login).find(NAMESPACE, name)


def node(context: Context, name: str, login: ClusterLogin) -> KubernetesObject | None:
    """A node; null where there is none."""
    return ClusterApi(context.machine, login).find(NODE, name)


def show_secret(
    context: Context, name: str, namespace: str = "default", decode: bool = False, login: ClusterLogin = NO_LOGIN
) -> KubernetesObject | None:
    """A secret; null where there is none. `decode`: its values as texts."""
    found = ClusterApi(context.machine, login).find(SECRET, name, namespace)
    if found is None or not decode:
        return found
    values = {key: base64.b64decode(value).decode(errors="replace") for key, value in (found.get("data") or {}).items()}
    return {**found, "data": values}


def deleting(kind: ObjectKind) -> Function:
    """The function that deletes an object of a kind."""

    def delete(
        context: Context, name: str, namespace: str = "default", wait: bool = False, timeout: Seconds = 60.0,
        login: ClusterLogin = NO_LOGIN,
    ) -> KubernetesObject | None:  # fmt: skip
        return _deleted(context, login, kind, name, namespace, timeout if wait else None)

    delete.__doc__ = f"""Delete a {kind.word}; null where there is none. What it owns stays."""
    return delete


def delete_namespace(
    context: Context, name: str, wait: bool = False, timeout: Seconds = 60.0, login: ClusterLogin = NO_LOGIN
) -> KubernetesObject | None:
    """Delete a namespace with all that is in it; null where there is none."""
    return _deleted(context, login, NAMESPACE, name, None, timeout if wait else None)


def _deleted(
    context: Context, login: ClusterLogin, kind: ObjectKind, name: str, namespace: str | None, seconds: float | None
) -> KubernetesObject | None:
    api = ClusterApi(context.machine, login)
    done = api.delete(kind, name, namespace, propagationPolicy="Background" if kind is NAMESPACE else "Orphan")
    if seconds is not None:
        api.wait_until_gone(kind, name, namespace, seconds)
    return done


def ping(context: Context, login: ClusterLogin) -> bool:
    """Whether the API server answers; what keeps it from it is the failure of the call."""
    return bool(ClusterApi(context.machine, login).ask("GET", "/api/v1").get("resources"))
