"""kubernetes.manifest, manifest_present and manifest_absent: objects of any kind, by server-side apply."""

from __future__ import annotations

from typing import Any, Literal

from minion.arguments.types import AnyValue, ToCome
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.manifests import (
    Applying,
    ManifestObject,
    apply_for_good,
    foretold,
    objects_of_manifest,
)
from minion.providers.kubernetes.sources import ObjectSource, given_documents

_NAMESPACE_KIND = "Namespace"


def manifest(
    machine: Reader, name: str, *, manifest: AnyValue = None, namespace: str | None = None,
    field_manager: str = "saltern", force_conflicts: bool = False, source: ObjectSource, login: ClusterLogin,
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The objects have what the documents say, by server-side apply: in the order in which they stand there.

    What the server itself answers to the same request without carrying it out (`dryRun=All`) is what is foretold.
    `manifest`: a mapping, a list of them or YAML, in place of `source`. A field that another manager owns is a
    conflict, unless `force_conflicts` takes it over.
    """
    return _applied(
        machine, manifest, namespace, Applying(manager=field_manager, force=force_conflicts), source, login, to_come
    )


def manifest_present(
    machine: Reader, name: str, *, manifest: AnyValue = None, namespace: str | None = None,
    field_manager: str = "salt", force_conflicts: bool = False, source: ObjectSource, login: ClusterLogin,
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """As `kubernetes.manifest`, under the manager `salt`."""
    return _applied(
        machine, manifest, namespace, Applying(manager=field_manager, force=force_conflicts), source, login, to_come
    )


def _applied(
    machine: Reader, given: Any, namespace: str | None, applying: Applying, source: ObjectSource, login: ClusterLogin,
    to_come: ToCome,
) -> Plan:  # fmt: skip
    api = ClusterApi(machine, login, to_come)
    objects = objects_of_manifest(api, given_documents(machine, given, source), namespace)
    changes: list[Change] = []
    new_namespaces: set[str] = set()
    for one in objects:
        different = foretold(api, one, applying, frozenset(new_namespaces))
        if different is None:
            continue
        if one.document["kind"] == _NAMESPACE_KIND and different["old"] is None:
            new_namespaces.add(one.name)
        changes.append(Change(key=one.key, reported=different, act=_act(api, one, applying)))
    if not changes:
        return Plan(comment="Manifests already match desired state")
    return Plan(
        changes=tuple(changes),
        pending="Manifests would be applied (server-side dry run)",
        done="Manifests applied via server-side apply",
    )


def _act(api: ClusterApi, one: ManifestObject, applying: Applying) -> Any:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        apply_for_good(api, one, applying)

    return act


def manifest_absent(
    machine: Reader, name: str, *, manifest: AnyValue = None, namespace: str | None = None,
    propagation_policy: Literal["Orphan", "Background", "Foreground"] | None = None,
    grace_period_seconds: int | None = None, source: ObjectSource, login: ClusterLogin,
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """None of the objects is there. They are deleted in the reverse of their order."""
    api = ClusterApi(machine, login, to_come)
    given = given_documents(machine, manifest, source)
    known = [one for one in given if api.kind_of(str(one.get("apiVersion")), str(one.get("kind"))) is not None]
    changes = [
        Change(
            key=one.key,
            reported={"old": "present", "new": "absent"},
            act=_deletion(api, one, propagation_policy, grace_period_seconds),
        )
        for one in reversed(objects_of_manifest(api, known, namespace))
        if _is_there(api, one)
    ]
    if not changes:
        return Plan(comment="Manifests already absent")
    return Plan(changes=tuple(changes), pending="Manifests would be deleted", done="Manifests deleted")


def _is_there(api: ClusterApi, one: ManifestObject) -> bool:
    """One that is being deleted counts as gone."""
    found = api.find(one.kind, one.name, one.namespace) if one.kind else None
    return found is not None and not (found.get("metadata") or {}).get("deletionTimestamp")


def _deletion(api: ClusterApi, one: ManifestObject, propagation: str | None, grace: int | None) -> Any:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        if one.kind is not None:
            api.delete(one.kind, one.name, one.namespace, propagationPolicy=propagation, gracePeriodSeconds=grace)

    return act
