"""kubernetes.manifest, manifest_present and manifest_absent: objects of any kind, by server-side apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from minion.arguments.types import AnyValue, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.applysets import ApplySet, SetScope, split
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
    field_manager: str = "saltern", force_conflicts: bool = False, prune: bool = False, applyset: str | None = None,
    source: ObjectSource, login: ClusterLogin, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The objects have what the documents say, by server-side apply: in the order in which they stand there.

    What the server itself answers to the same request without carrying it out (`dryRun=All`) is what is foretold.
    `manifest`: a mapping, a list of them or YAML, in place of `source`. A field that another manager owns is a
    conflict, unless `force_conflicts` takes it over. With `prune` objects that this state has applied, and that the
    documents do not have any more, are deleted: those with the label of the same set, `applyset` (or the name of the
    state, in the namespace `default`). Namespaces and definitions of kinds stay, with what is in them.
    """
    pruned = ApplySet.named(applyset or name) if prune else None
    applying = Applying(manager=field_manager, force=force_conflicts)
    return _applied(machine, manifest, namespace, applying, source, login, to_come, pruned)


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
    to_come: ToCome, pruned: ApplySet | None = None,
) -> Plan:  # fmt: skip
    api = ClusterApi(machine, login, to_come)
    objects = objects_of_manifest(api, given_documents(machine, given, source), namespace)
    if pruned is None:
        changes, kept = _applications(api, objects, applying), list[ManifestObject]()
    else:
        changes, kept = _of_set(api, pruned, [pruned.labelled(one) for one in objects], applying)
    stay = f". They stay, and are to be deleted by hand: {', '.join(one.key for one in kept)}" if kept else ""
    if not changes:
        return Plan(comment=f"Manifests already match desired state{stay}")
    return Plan(
        changes=tuple(changes),
        pending=f"Manifests would be applied (server-side dry run){stay}",
        done=f"Manifests applied via server-side apply{stay}",
    )


def _applications(api: ClusterApi, objects: Sequence[ManifestObject], applying: Applying) -> list[Change]:
    changes: list[Change] = []
    new_namespaces: set[str] = set()
    for one in objects:
        different = foretold(api, one, applying, frozenset(new_namespaces))
        if different is None:
            continue
        if one.document["kind"] == _NAMESPACE_KIND and different["old"] is None:
            new_namespaces.add(one.name)
        changes.append(Change(key=one.key, reported=different, act=_act(api, one, applying)))
    return changes


def _of_set(
    api: ClusterApi, pruned: ApplySet, objects: Sequence[ManifestObject], applying: Applying
) -> tuple[list[Change], list[ManifestObject]]:
    """What is to be done, and what stays though the documents do not have it.

    The set's parent is told of new kinds and namespaces before there is anything of them, and forgets those of old ones
    when nothing of them is there: so that a run that is cut off leaves nothing that is not found again.
    """
    known = pruned.known_scope(api)
    before = known or SetScope()
    gone, kept = split(pruned.members(api, before), objects)
    after = SetScope.of([*objects, *kept], pruned.namespace)
    both = before.with_(after)
    parent = pruned.parent(after)
    if any(one.key == parent.key for one in objects):
        raise StateFailed(f"{parent.key} is the set's own: give another name as `applyset`")
    changes = _applications(api, objects, applying)
    reported = {"old": None if known is None else before.shown(), "new": after.shown()}
    told = known is None or both != before
    if told:
        place = next((at + 1 for at, one in enumerate(changes) if one.key == f"v1/Namespace/{pruned.namespace}"), 0)
        if not place:  # else its namespace is to come, and the server cannot be asked
            foretold(api, pruned.parent(both), applying, frozenset())
        changes.insert(place, Change(key=parent.key, reported=reported, act=_act(api, pruned.parent(both), applying)))
    changes += [
        Change(key=one.key, reported={"old": "present", "new": "absent"}, act=_pruning(api, pruned, one))
        for one in gone
    ]
    if both != after:
        changes.append(Change(key="" if told else parent.key, reported=reported, act=_act(api, parent, applying)))
    return changes, kept


def _pruning(api: ClusterApi, pruned: ApplySet, one: ManifestObject) -> Any:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        pruned.delete(api, one)

    return act


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
