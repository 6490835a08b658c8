"""kubernetes.node_label_present and node_annotation_present, their absence, and that of all below a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Scalar, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Plan, Reader
from minion.providers.kubernetes.access import ClusterLogin
from minion.providers.kubernetes.api import MERGE, ClusterApi
from minion.providers.kubernetes.kinds import NODE
from minion.states.kubernetes.plans import asked_dry, old_and_new


class _Marks:
    """Labels or annotations of a node."""

    def __init__(self, machine: Reader, login: ClusterLogin, to_come: ToCome, node: str, field: str) -> None:
        self._api = ClusterApi(machine, login, to_come)
        self._path = NODE.path(None, node)
        self._field = field
        found = self._api.find(NODE, node)
        if found is None:
            raise self._api.lacking(f"Node {node} not found")
        self.there: dict[str, str] = dict((found.get("metadata") or {}).get(field) or {})

    def patched(self, values: Mapping[str, str | None]) -> Any:
        """What the server would have of them; and the act that has it so. Null takes one out."""
        patch = {"metadata": {self._field: dict(values)}}
        answer = asked_dry(self._api, "PATCH", self._path, patch, content=MERGE)

        def act(machine: Machine) -> None:
            machine.begin_elsewhere()
            self._api.ask("PATCH", self._path, patch, content=MERGE)

        return dict((answer.get("metadata") or {}).get(self._field) or {}), act


def _present(marks: _Marks, word: str, name: str, value: Any) -> Plan:
    if value is None:
        raise StateFailed(f"The {word} {name} needs a value")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if marks.there.get(name) == text:
        return Plan(comment=f"The {word} is already set and has the specified value")
    after, act = marks.patched({name: text})
    is_new = name not in marks.there
    return Plan(
        changes=old_and_new(marks.there, after, act),
        pending=f"The {word} is going to be {'set' if is_new else 'updated'}",
        done="" if is_new else f"The {word} is already set, changing the value",
    )


def _absent(marks: _Marks, word: str, name: str) -> Plan:
    if name not in marks.there:
        return Plan(comment=f"The {word} does not exist")
    _, act = marks.patched({name: None})
    return Plan(
        changes=old_and_new("present", "absent", act),
        pending=f"The {word} is going to be deleted",
        done=f"{word.capitalize()} removed from node",
    )


def _folder_absent(marks: _Marks, word: str, name: str) -> Plan:
    folder = name.strip("/") + "/"
    gone = [each for each in marks.there if each.startswith(folder)]
    if not gone:
        return Plan(comment=f"The {word} folder does not exist")
    after, act = marks.patched(dict.fromkeys(gone))
    return Plan(
        changes=old_and_new(list(marks.there), list(after), act),
        pending=f"The {word} folder is going to be deleted",
        done=f"{word.capitalize()} folder removed from node",
    )


def node_label_present(
    machine: Reader, name: str, *, node: str, value: Scalar, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """The node has this label, with this value."""
    return _present(_Marks(machine, login, to_come, node, "labels"), "label", name, value)


def node_label_absent(
    machine: Reader, name: str, *, node: str, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """The node has no such label."""
    return _absent(_Marks(machine, login, to_come, node, "labels"), "label", name)


def node_label_folder_absent(
    machine: Reader, name: str, *, node: str, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """The node has no label of this prefix (`prefix/name`)."""
    return _folder_absent(_Marks(machine, login, to_come, node, "labels"), "label", name)


def node_annotation_present(
    machine: Reader, name: str, *, node: str, value: Scalar, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """The node has this annotation, with this value."""
    return _present(_Marks(machine, login, to_come, node, "annotations"), "annotation", name, value)


def node_annotation_absent(
    machine: Reader, name: str, *, node: str, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """The node has no such annotation."""
    return _absent(_Marks(machine, login, to_come, node, "annotations"), "annotation", name)


def node_annotation_folder_absent(
    machine: Reader, name: str, *, node: str, login: ClusterLogin, to_come: ToCome = frozenset()
) -> Plan:
    """The node has no annotation of this prefix (`prefix/name`)."""
    return _folder_absent(_Marks(machine, login, to_come, node, "annotations"), "annotation", name)
