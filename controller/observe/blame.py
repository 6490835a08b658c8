"""Which line of git brought each value of a state, and the commit that last changed it. Reads trees and mirrors.

Called in a thread, for `saltern blame`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.observe.value_places import (
    Lines,
    PillarReads,
    arguments_in,
    block_of,
    filled_in,
    function_lines,
    lines_of_keys,
    says,
    value_at,
)
from controller.schema.blame import BlameCommit, BlamePillar, BlamePlace, BlameState, BlameValue
from gitfs.source import Trees
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.line_history import commits_of_lines
from gitfs.tree.snapshot import Snapshot
from highstate.desired import Desired
from highstate.types import Chunk, Value

MOST_STATES = 20
"""States that are answered for one question."""
_MOST_FILES = 500
"""Files of pillar in which keys are looked for."""
_MOST_BYTES = 256 * 1024
"""Of a file that is read."""
_MOST_PLACES = 3
"""Where one key of pillar is written."""
_MOST_KEYS = 20
"""Keys of pillar of one value."""
_IN_CONTENT = "content of "

FilePlace: TypeAlias = tuple[bool, str, str, int]
"""Whether it is in the pillar's tree, saltenv, path and line."""
PillarKeyPlaces: TypeAlias = tuple[str, Value, tuple[FilePlace, ...]]
"""A path of keys in pillar, its value, and where it is written."""


@dataclass(slots=True)
class Blamer:
    """Answers for one minion.

    Args:
        trees: of the revision that its document was compiled from.
        desired: its document.
    """

    trees: Trees
    desired: Desired
    _texts: dict[tuple[bool, str, str], str | None] = field(default_factory=dict)
    _pillar: list[tuple[str, str, Mapping[tuple[str, ...], int]]] | None = None
    _commits: dict[FilePlace, BlamePlace] = field(default_factory=dict)

    def blamed(self, keys: Iterable[str]) -> tuple[BlameState, ...]:
        """These states of the document, each value with where it is written."""
        states = [(key, self.desired.chunks[key]) for key in list(keys)[:MOST_STATES]]
        found = [(key, chunk, list(self.values(chunk))) for key, chunk in states]
        self._look_up(place for _, _, values in found for one in values for place in one.places())
        return tuple(
            BlameState(
                key=key, sls=chunk.sls, saltenv=chunk.saltenv, values=tuple(one.view(self._commits) for one in values)
            )
            for key, chunk, values in found
        )

    def values(self, chunk: Chunk) -> Iterator[FoundValue]:
        """Its arguments, each with the line where it begins and the keys of pillar that it reads."""
        place = self.block(chunk)
        own = {"name": chunk.name, **_own_arguments(chunk)}
        path, block = place if place is not None else ("", None)
        text = self.text(False, chunk.saltenv, path) or "" if path else ""
        written = self.arguments(text, block, chunk) if block else {}
        reads = PillarReads(text, lambda file: self.text(False, chunk.saltenv, file))
        for name, value in own.items():
            lines = written.get(name) or (Lines(block.first, block.first) if block else None)
            paths = reads.of("\n".join(text.splitlines()[lines.first - 1 : lines.last])) if lines else []
            if name == "contents_pillar":
                paths += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
            at = (False, chunk.saltenv, path, lines.first) if lines else None
            yield FoundValue(name, value, at, self._keys(paths, chunk, value))
            if name == "source" and chunk.arguments.get("template"):
                yield from self._content(chunk, value)

    def _content(self, chunk: Chunk, source: Value) -> Iterator[FoundValue]:
        """The lines of a template that read pillar."""
        for one in source if isinstance(source, list) else [source]:
            path = str(one).removeprefix("salt://").partition("?")[0]
            text = self.text(False, chunk.saltenv, path)
            if text is None:
                continue
            reads = PillarReads(text, lambda file: self.text(False, chunk.saltenv, file))
            for number, line in enumerate(text.splitlines(), 1):
                if paths := reads.of(line):
                    at = (False, chunk.saltenv, path, number)
                    yield FoundValue(f"{_IN_CONTENT}{path}", line.strip()[:200], at, self._keys(paths, chunk, None))
            return

    @staticmethod
    def arguments(text: str, block: Lines, chunk: Chunk) -> Mapping[str, Lines]:
        """Argument -> its lines, of the function of the state where the ID has several."""
        return arguments_in(text, function_lines(text, block, chunk.state, chunk.fun) or block)

    def block(self, chunk: Chunk) -> tuple[str, Lines] | None:
        """The file of the SLS, and the lines of the ID in it."""
        folder = chunk.sls.replace(".", "/")
        for path in (f"{folder}.sls", f"{folder}/init.sls"):
            text = self.text(False, chunk.saltenv, path)
            if text is not None:
                return path, block_of(text, chunk.id) or Lines(1, 1)
        return None

    def keys_read(self, chunk: Chunk, text: str, line: str, value: Value) -> tuple[PillarKeyPlaces, ...]:
        """The keys of pillar that one line of an SLS reads, for a value of the state."""
        reads = PillarReads(text, lambda file: self.text(False, chunk.saltenv, file))
        return self._keys(reads.of(line), chunk, value)

    def _keys(
        self, paths: Iterable[str], chunk: Chunk, value: Value
    ) -> tuple[tuple[str, Value, tuple[FilePlace, ...]], ...]:
        names = f"{chunk.id} {chunk.name}"
        filled = dict.fromkeys(filled_in(path, self.desired.pillar, value, names) for path in paths)
        found = []
        for path in [one for one in filled if one][:_MOST_KEYS]:
            there = value_at(self.desired.pillar, path)
            found.append((path, there, tuple(self._places_of(path, there))))
        return tuple(found)

    def _places_of(self, path: str, value: Value) -> list[FilePlace]:
        """Where a key of pillar is written: first where a line says its very value."""
        keys = tuple(path.split(":"))
        for length in range(len(keys), 0, -1):
            found: list[tuple[bool, FilePlace]] = []
            for saltenv, file, lines in self._pillar_files():
                if line := lines.get(keys[:length]):
                    text = (self.text(True, saltenv, file) or "").splitlines()
                    found.append((says(text[line - 1], value), (True, saltenv, file, line)))
            if found:
                exact = [place for is_exact, place in found if is_exact]
                return (exact or [place for _, place in found])[:_MOST_PLACES]
        return []

    def _pillar_files(self) -> list[tuple[str, str, Mapping[tuple[str, ...], int]]]:
        if self._pillar is None:
            self._pillar = []
            for saltenv in self.trees.pillar.saltenvs():
                for path in self.trees.pillar.list("", saltenv):
                    if path.endswith((".sls", ".yaml", ".yml")) and len(self._pillar) < _MOST_FILES:
                        text = self.text(True, saltenv, path)
                        self._pillar.append((saltenv, path, lines_of_keys(text or "")))
        return self._pillar

    def replace_text(self, is_pillar: bool, saltenv: str, path: str, text: str) -> None:
        """From now on a file has another text: `saltern adopt` changes several values of one."""
        self._texts[is_pillar, saltenv, path] = text
        self._pillar = None

    def text(self, is_pillar: bool, saltenv: str, path: str) -> str | None:
        """The text of a file; None where there is none, or too much."""
        key = is_pillar, saltenv, path
        if key not in self._texts:
            tree = self.tree(is_pillar)
            content = tree.read(path, saltenv) if tree.oid(path, saltenv) is not None else None
            small = content is not None and len(content) <= _MOST_BYTES
            self._texts[key] = content.decode(errors="replace") if content is not None and small else None
        return self._texts[key]

    def tree(self, is_pillar: bool) -> Snapshot:
        """The tree of the pillar, or that of the states."""
        return self.trees.pillar if is_pillar else self.trees.files

    def _look_up(self, places: Iterable[FilePlace]) -> None:
        """Find the commits of all places, those of one file at once."""
        wanted: dict[tuple[bool, str, str], set[int]] = defaultdict(set)
        for is_pillar, saltenv, path, line in places:
            wanted[is_pillar, saltenv, path].add(line)
        for (is_pillar, saltenv, path), lines in wanted.items():
            git, inner = self.tree(is_pillar).layer_of(path, saltenv) or (None, path)
            commits: Mapping[int, BlameCommit] = {}
            file = path
            if isinstance(git, GitLayer):
                file = git.path_in_repository(inner)
                found = commits_of_lines(git.mirror, git.commit, file, lines)
                commits = {
                    line: BlameCommit(commit=one.commit, author=one.author, at=one.at, subject=one.subject)
                    for line, one in found.items()
                }
            for line in lines:
                place = BlamePlace(file=file, line=line, commit=commits.get(line))
                self._commits[is_pillar, saltenv, path, line] = place


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value, and where it is written."""

    name: str
    value: Value
    at: FilePlace | None
    keys: tuple[PillarKeyPlaces, ...]

    def places(self) -> Iterator[FilePlace]:
        """All places of it."""
        if self.at is not None:
            yield self.at
        for _, _, places in self.keys:
            yield from places

    def view(self, known: Mapping[FilePlace, BlamePlace]) -> BlameValue:
        """It, with the commits of its places."""
        pillar = tuple(
            BlamePillar(path=path, value=value, places=tuple(known[place] for place in places))
            for path, value, places in self.keys
        )
        return BlameValue(
            name=self.name, value=self.value, place=known.get(self.at) if self.at else None, pillar=pillar
        )


def _own_arguments(chunk: Chunk) -> dict[str, Value]:
    return {
        name: value
        for name, value in chunk.arguments.items()
        if not name.startswith("__") and name not in ("order", "name")
    }
