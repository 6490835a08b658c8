"""Releases as they are, and as an upgrade would make them: Helm itself says it (`--dry-run=server`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minion.machine.plan import Machine, Reader
from minion.providers.helm.program import HelmFlags, HelmProgram, parsed
from minion.providers.kubernetes.sources import parsed as documents_of

_GONE = frozenset(("uninstalled", "uninstalling"))
DEPLOYED = "deployed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmRelease:
    """A release, as it is or would be."""

    chart: str
    status: str
    values: Mapping[str, Any]
    objects: Mapping[str, Any]
    """Kind, namespace and name → the object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """What makes a release so: an installation, where there is none."""

    helm: HelmProgram
    name: str
    words: Sequence[str]
    values: str | None
    """By standard input."""

    def foretold(self, machine: Reader) -> HelmRelease:
        """What would come of it."""
        said = self.helm.look(machine, [*self._words(), "--dry-run=server", "--output", "json"], stdin=self.values)
        found = parsed(said)
        metadata = (found.get("chart") or {}).get("metadata") or {}
        return _release(found, f"{metadata.get('name')}-{metadata.get('version')}", DEPLOYED)

    def carry_out(self, machine: Machine) -> None:
        """Do it. StateFailed: Helm's error."""
        self.helm.run(machine, self._words(), stdin=self.values)

    def _words(self) -> list[str]:
        return ["upgrade", "--install", self.name, *self.words, *(["--values", "-"] if self.values is not None else [])]


def found_release(machine: Reader, helm: HelmProgram, name: str, flags: HelmFlags) -> HelmRelease | None:
    """A release; None where there is none, or one that was uninstalled."""
    reaching = flags.of_cluster().words()
    found = helm.found(machine, ["status", name, *reaching], "release: not found")
    status = str(((found or {}).get("info") or {}).get("status"))
    if found is None or status in _GONE:
        return None
    known = helm.found(machine, ["get", "metadata", name, *reaching], "release: not found") or {}
    return _release(found, f"{known.get('chart')}-{known.get('version')}", status)


def _release(found: Mapping[str, Any], chart: str, status: str) -> HelmRelease:
    objects = {}
    for one in documents_of(str(found.get("manifest") or ""), "The manifest"):
        metadata = one.get("metadata") or {}
        where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        objects[f"{one.get('kind')}/{where}{metadata.get('name')}"] = one
    return HelmRelease(chart=chart, status=status, values=found.get("config") or {}, objects=objects)


def differences(old: HelmRelease | None, new: HelmRelease) -> dict[str, Any]:
    """What is another, as changes have it: values by their names alone, which may be passwords."""
    before = old or HelmRelease(chart="", status="", values={}, objects={})
    seen: dict[str, Any] = {}
    if before.chart != new.chart:
        seen["chart"] = {"old": before.chart or None, "new": new.chart}
    if before.status != new.status:
        seen["status"] = {"old": before.status or None, "new": new.status}
    if names := sorted(_changed(before.values, new.values)):
        seen["values"] = names
    objects = {
        "added": sorted(new.objects.keys() - before.objects.keys()),
        "changed": sorted(key for key, one in new.objects.items() if before.objects.get(key, one) != one),
        "removed": sorted(before.objects.keys() - new.objects.keys()),
    }
    if any(objects.values()):
        seen["objects"] = {key: names for key, names in objects.items() if names}
    return seen


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], above: str = "") -> list[str]:
    """Names of values that differ: `a.b`."""
    found = []
    for key in {*old, *new}:
        one, other = old.get(key), new.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += _changed(one, other, f"{above}{key}.")
        elif one != other:
            found.append(f"{above}{key}")
    return found
