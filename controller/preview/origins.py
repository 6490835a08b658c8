"""Where the states of a change are written, and by which commit. Pure but for reading the trees.

Called by `reporting` for the states of classes, of which there are few: a document names the SLS of a state, and no
line, so that the line is looked for in the SLS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from controller.preview.repository_places import RepositoryPlaces
from controller.schema.reports import ChangeClass, FileDiff, ResourceChange
from highstate.types import Chunk, Files

_MOST_BYTES = 1024 * 1024
"""Of an SLS in which a line is looked for."""
_KEY = re.compile(r"""^\s*(?:"([^"]*)"|'([^']*)'|([^\s#'"{][^#]*?))\s*:(?:\s|$)""")


def written_in(chunk: Chunk) -> str:
    """What a resource has as its origin until `Origins` replaces it: saltenv and SLS."""
    return f"{chunk.saltenv}:{chunk.sls}"


@dataclass(frozen=True, slots=True)
class Origins:
    """Finds origins.

    Args:
        before: files of the base, for what is removed.
        after: files of the head.
        commits: path -> short id and subject of the newest commit of the change that touched it.
        places: finds the same in the repository.
    """

    before: Files
    after: Files
    commits: Mapping[str, str]
    places: RepositoryPlaces
    _lines: dict[tuple[bool, str, str], tuple[str, Mapping[str, int]]] = field(default_factory=dict)
    """(removed, saltenv, SLS) -> path, and the line of each key in it."""

    def located(self, classes: Sequence[ChangeClass]) -> tuple[ChangeClass, ...]:
        """The classes, with file, line and commit of each state."""
        return tuple(
            structs.replace(each, resources=tuple(self._located(one) for one in each.resources)) for each in classes
        )

    def _located(self, one: ResourceChange) -> ResourceChange:
        removed, (saltenv, _, sls) = one.action == "removed", one.origin.partition(":")
        place = removed, saltenv, sls
        if place not in self._lines:
            self._lines[place] = _read(self.before if removed else self.after, saltenv, sls)
        path, lines = self._lines[place]
        identifier = one.key.split("_|-")[1] if one.key.count("_|-") == 3 else ""
        line = lines.get(identifier, 0) or _line_of_template(identifier, lines)
        is_annotated = bool(one.irreversible) and not removed
        return structs.replace(
            one,
            origin=f"{path}:{line}" if line else path,
            commit=self.commits.get(path, ""),
            files=tuple(self._of_template(file) for file in one.files),
            place=self.places.of_state(path, saltenv, line) if is_annotated else "",
        )

    def _of_template(self, file: FileDiff) -> FileDiff:
        commit = self.commits.get(file.source, "") if file.source else ""
        return structs.replace(file, commit=commit) if commit else file


def _line_of_template(identifier: str, lines: Mapping[str, int]) -> int:
    """The line of an id that is written with Jinja (`user-{{ name }}`), by what stands before and behind that; or 0."""
    for key, line in lines.items():
        before, found, rest = key.partition("{{")
        behind = rest.rpartition("}}")[2]
        fits = len(identifier) > len(before) + len(behind)
        if found and before + behind and fits and identifier.startswith(before) and identifier.endswith(behind):
            return line
    return 0


def _read(files: Files, saltenv: str, sls: str) -> tuple[str, Mapping[str, int]]:
    folder = sls.replace(".", "/")
    for path in (f"{folder}.sls", f"{folder}/init.sls"):
        if files.oid(path, saltenv) is not None:
            content = files.read(path, saltenv)
            text = content.decode(errors="replace") if len(content) <= _MOST_BYTES else ""
            return path, _keys(text)
    return "", {}


def _keys(text: str) -> dict[str, int]:
    """Key -> the first line that has it."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _KEY.match(line[:1000]):
            found.setdefault(match[1] or match[2] or match[3], number)
    return found
