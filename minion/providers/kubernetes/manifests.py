"""Objects of a manifest, by server-side apply.

Behaviour: https://kubernetes.io/docs/reference/using-api/server-side-apply
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minion.machine.failure import StateFailed
from minion.providers.kubernetes.api import APPLY, ApiServerRefused, ClusterApi
from minion.providers.kubernetes.kinds import KubernetesObject, ObjectKind
from minion.providers.kubernetes.objects import differences, plain, reported_new, without_secrets

PART_OF = "applyset.kubernetes.io/part-of"
"""The label by which an object is part of a set."""
_ESTABLISHED = 30.0
"""Seconds that a kind may take to be served after its definition was applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestObject:
    """An object of a manifest."""

    document: Mapping[str, Any]
    kind: ObjectKind | None
    """None: its kind comes with a definition in the same manifest."""
    namespace: str | None

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document["metadata"]["name"])

    @property
    def key(self) -> str:
        """How changes name it."""
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.document['apiVersion']}/{self.document['kind']}/{where}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applying:
    """How objects are applied."""

    manager: str
    force: bool

    def query(self, *, dry: bool) -> dict[str, str | None]:
        """The same as a request has it."""
        return {
            "fieldManager": self.manager,
            "force": "true" if self.force else None,
            "fieldValidation": "Strict",
            "dryRun": "All" if dry else None,
        }


def objects_of_manifest(
    api: ClusterApi, documents: Sequence[Mapping[str, Any]], namespace: str | None
) -> list[ManifestObject]:
    """The objects, each with its kind and its namespace.

    Raises:
        StateFailed: a document is no object, its kind is unknown, or it has to have a namespace.
    """
    defined = {
        (f"{spec.get('group')}/{version.get('name')}", (spec.get("names") or {}).get("kind")): spec.get("scope")
        for one in documents
        if one.get("kind") == "CustomResourceDefinition" and isinstance(spec := one.get("spec"), Mapping)
        for version in spec.get("versions") or ()
    }
    found = []
    for one in documents:
        version, kind, metadata = one.get("apiVersion"), one.get("kind"), one.get("metadata") or {}
        if not version or not kind or not metadata.get("name"):
            raise StateFailed("Each manifest needs apiVersion, kind, and metadata.name")
        known = api.kind_of(str(version), str(kind))
        if known is None and (version, kind) not in defined:
            raise api.lacking(f"The cluster has no kind {kind} of {version}")
        namespaced = known.namespaced if known else defined[version, kind] != "Cluster"
        where = str(metadata.get("namespace") or namespace or "") if namespaced else ""
        if namespaced and not where:
            raise StateFailed(f"Namespaced kind {kind} requires 'metadata.namespace', or the argument namespace")
        given = {**metadata, "namespace": where} if where else dict(metadata)
        found.append(
            ManifestObject(document={**one, "metadata": given}, kind=known, namespace=where or None)
        )  # fmt: skip
    keys = [one.key for one in found]
    if twice := next((key for key in keys if keys.count(key) > 1), ""):
        raise StateFailed(f"The manifest has {twice} more than once")
    return found


def foretold(
    api: ClusterApi, one: ManifestObject, applying: Applying, new_namespaces: frozenset[str]
) -> Mapping[str, Any] | None:
    """`old` and `new` of an object; None where there is nothing to do. `old` is None where it is new.

    `new_namespaces` come with the same manifest: the server cannot say yet what it would make of what is in them, and
    of kinds that come with it; they are foretold as they are written.
    """
    if one.kind is None:
        return {"old": None, "new": without_secrets(one.document)}
    live = api.find(one.kind, one.name, one.namespace)
    if live is None and one.namespace in new_namespaces:
        return {"old": None, "new": without_secrets(one.document)}
    if live is not None and (live.get("metadata") or {}).get("deletionTimestamp"):
        raise StateFailed(f"{one.key} is being deleted: it can be applied when it is gone")
    _refuse_others(one, live, applying)
    try:
        answer = apply_object(api, one, one.kind, applying, dry=True)
    except ApiServerRefused as error:
        if error.is_missing:
            raise api.lacking(str(error)) from None
        raise
    if live is None:
        return {"old": None, "new": reported_new(answer, one.document)}
    was, now = differences(plain(live), plain(answer))
    if not was and not now:
        return None
    if one.kind.kind == "Secret":
        return {"old": _without_values(was), "new": _without_values(now)}
    return {"old": was, "new": now}


def _refuse_others(one: ManifestObject, live: KubernetesObject | None, applying: Applying) -> None:
    """StateFailed: an object is part of another set than the one that shall have it."""
    ours = (one.document["metadata"].get("labels") or {}).get(PART_OF)
    theirs = ((live or {}).get("metadata", {}).get("labels") or {}).get(PART_OF)
    if ours and theirs and ours != theirs and not applying.force:
        raise StateFailed(f"{one.key} is part of another set of objects ({theirs}); `force_conflicts` takes it over")


def _without_values(part: Mapping[str, Any]) -> dict[str, Any]:
    """What differs of a secret: the keys of its values alone."""
    shown = without_secrets({**part, "kind": "Secret"})
    return {key: value for key, value in shown.items() if key in part}


def apply_object(
    api: ClusterApi, one: ManifestObject, kind: ObjectKind, applying: Applying, *, dry: bool
) -> KubernetesObject:
    """The server's answer."""
    path = kind.path(one.namespace, one.name)
    return api.ask("PATCH", path, one.document, content=APPLY, **applying.query(dry=dry))


def apply_for_good(api: ClusterApi, one: ManifestObject, applying: Applying) -> None:
    """Apply an object. One whose kind comes with the same manifest waits until it is served."""
    version, kind = str(one.document["apiVersion"]), str(one.document["kind"])
    end = time.monotonic() + _ESTABLISHED
    while (known := one.kind or api.kind_of(version, kind)) is None:
        if time.monotonic() >= end:
            raise StateFailed(f"The cluster still has no kind {kind} of {version}")
        time.sleep(0.5)
        api.forget_kinds()
    apply_object(api, one, known, applying, dry=False)
