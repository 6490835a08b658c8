"""Keys of pillar whose values differ, and where they are written. Pure but for reading the pillar trees.

Which of them a state or its template reads is found where these are rendered (`compilation.workers.source_rendering`).
A tree says where a key is only as far as its YAML does: a file is read by lines, and those of Jinja are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import structs

from controller.observe.value_places import lines_of_keys
from controller.schema.reports import ChangeClass, PillarKey, ResourceChange
from highstate.types import Files, Value

KeyPath: TypeAlias = tuple[Value, ...]

_MOST_KEYS = 100
"""Keys of one minion that are followed."""
_MOST_FILES = 200
"""Files of the pillar in which keys are looked for."""
_MOST_BYTES = 256 * 1024
"""Of such a file."""
_NAMED = 3
"""Files that are named where no line is found."""


def differing_keys(old: Mapping[str, Value], new: Mapping[str, Value]) -> tuple[KeyPath, ...]:
    """Paths of the values that differ, the first ones."""
    if old == new:
        return ()
    found: list[KeyPath] = []
    for path in _differing((), old, new):
        found.append(path)
        if len(found) == _MOST_KEYS:
            break
    return tuple(found)


def _differing(path: KeyPath, old: Value, new: Value) -> Iterator[KeyPath]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in (*old, *(key for key in new if key not in old)):
            if key not in old or key not in new or old[key] != new[key]:
                yield from _differing((*path, key), old.get(key), new.get(key))
    else:
        yield path


@dataclass(frozen=True, slots=True)
class PillarOrigins:
    """Finds where keys of the pillar are written.

    Args:
        before: pillar of the base, for keys that the head does not have.
        after: that of the head.
        commits: path -> short id and subject of the newest commit of the change that touched it.
    """

    before: Files
    after: Files
    commits: Mapping[str, str]
    _changed: list[tuple[str, Mapping[tuple[str, ...], int]]] = field(default_factory=list)
    """Files that differ, with the line of each key."""
    _known: dict[str, PillarKey] = field(default_factory=dict)

    def located(self, classes: Sequence[ChangeClass]) -> tuple[ChangeClass, ...]:
        """The classes, with file, line and commit of each pillar key."""
        if not any(one.pillar for each in classes for one in each.resources):
            return tuple(classes)
        self._changed.extend(_changed_files(self.before, self.after))
        return tuple(structs.replace(each, resources=tuple(map(self._of, each.resources))) for each in classes)

    def _of(self, one: ResourceChange) -> ResourceChange:
        return structs.replace(one, pillar=tuple(self._located(key.path) for key in one.pillar)) if one.pillar else one

    def _located(self, path: str) -> PillarKey:
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._found(path)
        return found

    def _found(self, path: str) -> PillarKey:
        keys = tuple(path.split(":"))
        for length in range(len(keys), 0, -1):
            for file, lines in self._changed:
                if line := lines.get(keys[:length]):
                    return PillarKey(path=path, origin=f"{file}:{line}", commit=self.commits.get(file, ""))
        files = [file for file, _ in self._changed]
        more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        commit = self.commits.get(files[0], "") if len(files) == 1 else ""
        return PillarKey(path=path, origin=", ".join(files[:_NAMED]) + more, commit=commit)


def _changed_files(before: Files, after: Files) -> Iterator[tuple[str, Mapping[tuple[str, ...], int]]]:
    found = 0
    for saltenv in after.saltenvs():
        for path in after.list("", saltenv):
            oid = after.oid(path, saltenv)
            if oid is None or before.oid(path, saltenv) == oid:
                continue
            found += 1
            if found > _MOST_FILES:
                return
            content = after.read(path, saltenv)
            text = content.decode(errors="replace") if len(content) <= _MOST_BYTES else ""
            yield path, lines_of_keys(text) if path.endswith((".sls", ".yaml", ".yml")) else {}
