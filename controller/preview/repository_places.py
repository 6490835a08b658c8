"""Where a file of the trees lies in the repository that a change moves. Pure but for reading the trees.

A forge shows an annotation on a path of the pull request's repository: the tree has it without the remote's `root` and
below its mountpoint, and may have another repository's file of the same name. Called by `reporting` and `origins`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot
from highstate.types import Pos, Stage


@dataclass(frozen=True, slots=True)
class RepositoryPlaces:
    """Finds places in the repository that a change moves.

    Args:
        states: of the base and of the head.
        pillars: of the base and of the head.
        moved: remote -> commit of the head, of the remotes whose commit differs.
    """

    states: tuple[Snapshot, Snapshot]
    pillars: tuple[Snapshot, Snapshot]
    moved: Mapping[str, str]
    _known: dict[tuple[str, str, bool], str] = field(default_factory=dict)
    """(path, saltenv, whether it is of the pillar) -> path in the repository."""

    def of_problem(self, pos: Pos) -> str:
        """`path:line`; empty when there is no line, or the file is not of the repository that moves."""
        line = pos.template_line or pos.line
        path = self._path(pos.file, pos.saltenv, is_pillar=pos.stage is Stage.PILLAR) if line else ""
        return f"{path}:{line}" if path else ""

    def of_state(self, path: str, saltenv: str, line: int) -> str:
        """The same for a line of an SLS of the head."""
        path = self._path(path, saltenv) if line else ""
        return f"{path}:{line}" if path else ""

    def _path(self, path: str, saltenv: str, *, is_pillar: bool = False) -> str:
        key = (path, saltenv, is_pillar)
        if key not in self._known:
            self._known[key] = self._found(path, saltenv, [self.pillars] if is_pillar else [self.states, self.pillars])
        return self._known[key]

    def _found(self, path: str, saltenv: str, trees: Sequence[tuple[Snapshot, Snapshot]]) -> str:
        """Errors of rendering do not say whether they are of the pillar: then the file that the change touches is."""
        touched = (each for each in trees if each[0].oid(path, saltenv) != each[1].oid(path, saltenv))
        for _, head in (*touched, *trees):
            if (found := head.layer_of(path, saltenv)) is not None:
                layer, inner = found
                ours = isinstance(layer, GitLayer) and self.moved.get(layer.remote) == layer.commit
                return layer.path_in_repository(inner) if isinstance(layer, GitLayer) and ours else ""
        return ""
