"""Sets of applied objects: which an earlier apply of the same manifest has made, so that what leaves it can be deleted.

A set is an ApplySet of Kubernetes: each object has the label of its set, and a ConfigMap, the set's parent, says which
kinds and namespaces are to be looked through. Other tools know such sets by the same label and leave them alone.
Behaviour: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config#how-pruning-works and
https://github.com/kubernetes/enhancements/tree/master/keps/sig-cli/3659-kubectl-apply-prune.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minion.machine.failure import StateFailed
from minion.providers.kubernetes.api import ClusterApi
from minion.providers.kubernetes.kinds import CONFIGMAP, KubernetesObject, ObjectKind
from minion.providers.kubernetes.manifests import PART_OF, ManifestObject

_ID = "applyset.kubernetes.io/id"
_TOOLING = "applyset.kubernetes.io/tooling"
_KINDS = "applyset.kubernetes.io/contains-group-kinds"
_NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
_TOOL = "saltern/v1"
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KEPT = ("Namespace", "CustomResourceDefinition.apiextensions.k8s.io")
"""With one of these goes what is in it, or of its kind, whoever made that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScope:
    """Where the objects of a set are."""

    kinds: frozenset[str] = frozenset()
    """`ConfigMap`, `Deployment.apps`."""
    namespaces: frozenset[str] = frozenset()
    """Beside the parent's."""

    @classmethod
    def of(cls, objects: Iterable[ManifestObject], parent: str) -> SetScope:
        """That of these objects; `parent`: the namespace of the set's."""
        found = list(objects)
        return cls(
            kinds=frozenset(_group_kind(one.document) for one in found),
            namespaces=frozenset(one.namespace for one in found if one.namespace) - {parent},
        )

    def with_(self, other: SetScope) -> SetScope:
        """Both."""
        return SetScope(kinds=self.kinds | other.kinds, namespaces=self.namespaces | other.namespaces)

    def shown(self) -> dict[str, str]:
        """As changes have it."""
        return {"kinds": ",".join(sorted(self.kinds)), "namespaces": ",".join(sorted(self.namespaces))}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySet:
    """A set, by the name and namespace of its parent."""

    name: str
    namespace: str

    @classmethod
    def named(cls, text: str) -> ApplySet:
        """From `NAME`, of the namespace `default`, or `NAMESPACE/NAME`. StateFailed: it is none."""
        namespace, _, name = text.rpartition("/")
        made = cls(name=name, namespace=namespace or "default")
        if not _NAME.fullmatch(made.name) or not _NAME.fullmatch(made.namespace):
            raise StateFailed(
                "A set of objects is named NAME or NAMESPACE/NAME, in small letters, digits, '-' and '.': "
                f"not {text!r}; give `applyset`"
            )
        return made

    @property
    def id(self) -> str:
        """The value of the label of its objects."""
        named = f"{self.name}.{self.namespace}.ConfigMap."
        digest = base64.urlsafe_b64encode(hashlib.sha256(named.encode()).digest()).decode().rstrip("=")
        return f"applyset-{digest}-v1"

    def labelled(self, one: ManifestObject) -> ManifestObject:
        """An object with the label of the set."""
        metadata = dict(one.document["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), PART_OF: self.id}
        return replace(one, document={**one.document, "metadata": metadata})

    def parent(self, scope: SetScope) -> ManifestObject:
        """Its parent, which says where its objects are."""
        shown = scope.shown()
        annotations = {_TOOLING: _TOOL, _KINDS: shown["kinds"], _NAMESPACES: shown["namespaces"]}
        metadata = {
            "name": self.name, "namespace": self.namespace, "labels": {_ID: self.id}, "annotations": annotations,
        }  # fmt: skip
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        return ManifestObject(document=document, kind=CONFIGMAP, namespace=self.namespace)

    def known_scope(self, api: ClusterApi) -> SetScope | None:
        """What its parent says; None where there is none. StateFailed: it is another tool's, or no parent."""
        found = api.find(CONFIGMAP, self.name, self.namespace)
        if found is None:
            return None
        metadata = found.get("metadata") or {}
        annotations = metadata.get("annotations") or {}
        key = f"v1/ConfigMap/{self.namespace}/{self.name}"
        if (metadata.get("labels") or {}).get(_ID) != self.id:
            raise StateFailed(f"{key} is there, and is no set of objects: give another name as `applyset`")
        if annotations.get(_TOOLING) != _TOOL:
            raise StateFailed(f"{key} is a set of objects of another tool: {annotations.get(_TOOLING)}")
        return SetScope(kinds=_texts(annotations.get(_KINDS)), namespaces=_texts(annotations.get(_NAMESPACES)))

    def members(self, api: ClusterApi, scope: SetScope) -> list[ManifestObject]:
        """The objects of the set that are there, but for those that go already and those that a controller has made."""
        found = []
        for kind in _served(api, sorted(scope.kinds)):
            places = [None] if not kind.namespaced else sorted({self.namespace, *scope.namespaces})
            for place in places:
                found += [
                    ManifestObject(document=one, kind=kind, namespace=_namespace(one) if kind.namespaced else None)
                    for one in api.all(kind, place, f"{PART_OF}={self.id}")
                    if not _goes(one) and not _is_made(one)
                ]
        return found

    def delete(self, api: ClusterApi, one: ManifestObject) -> None:
        """Delete an object, where it is still the same and of the set."""
        kind = one.kind
        found = api.find(kind, one.name, one.namespace) if kind is not None else None
        if kind is None or found is None:
            return
        metadata, uid = found["metadata"], one.document["metadata"].get("uid")
        if metadata.get("uid") == uid and (metadata.get("labels") or {}).get(PART_OF) == self.id:
            api.delete(kind, one.name, one.namespace, propagationPolicy="Background", preconditions={"uid": uid})


def split(
    members: Sequence[ManifestObject], wanted: Collection[ManifestObject]
) -> tuple[list[ManifestObject], list[ManifestObject]]:
    """Those of a set that the manifest does not name any more: which are deleted, and which stay all the same."""
    named = {_identity(one) for one in wanted}
    left = [one for one in members if _identity(one) not in named]
    kept = [one for one in left if _group_kind(one.document) in _KEPT]
    return [one for one in reversed(left) if one not in kept], kept


def _identity(one: ManifestObject) -> tuple[str, str | None, str]:
    """An object whatever the version of its kind by which it is asked for."""
    return _group_kind(one.document), one.namespace, one.name


def _group_kind(document: Mapping[str, Any]) -> str:
    group, sign, _ = str(document["apiVersion"]).rpartition("/")
    return f"{document['kind']}.{group}" if sign else str(document["kind"])


def _served(api: ClusterApi, kinds: Sequence[str]) -> list[ObjectKind]:
    """Kinds as the server has them, by the version that it prefers; those that it has no more have no objects."""
    preferred = {"": "v1"}
    if any("." in one for one in kinds):
        groups = api.ask("GET", "/apis").get("groups") or ()
        preferred |= {one["name"]: one["preferredVersion"]["groupVersion"] for one in groups}
    asked = [(preferred.get(group), kind) for kind, _, group in (one.partition(".") for one in kinds)]
    found = [api.kind_of(version, kind) for version, kind in asked if version is not None]
    return [one for one in found if one is not None]


def _namespace(found: KubernetesObject) -> str:
    return str(found["metadata"].get("namespace") or "")


def _goes(found: KubernetesObject) -> bool:
    return bool(found["metadata"].get("deletionTimestamp"))


def _is_made(found: KubernetesObject) -> bool:
    """Whether a controller has made it, which copies labels of what it makes it for (Endpoints of a Service)."""
    return any(one.get("controller") for one in found["metadata"].get("ownerReferences") or ())


def _texts(value: Any) -> frozenset[str]:
    return frozenset(one for one in str(value or "").split(",") if one)
