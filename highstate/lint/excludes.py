"""Excludes of what is nowhere in the tree, mostly typing errors: nothing is excluded. Called by `trees`.

An exclude of something that only some minions have is right, so the whole tree is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from highstate.compile.assemble import sls_names
from highstate.lint.findings import Finding
from highstate.lint.requisites import Declared
from highstate.lint.tops import matching
from highstate.render.context import Rendered
from highstate.render.problems import excerpt, near
from highstate.types import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluding:
    """An SLS that has an `exclude:`."""

    saltenv: str
    path: str
    rendered: Rendered

    def check(self, files: Files, tree: Declared) -> Iterator[Finding]:
        """A finding for each entry that names nothing which any SLS declares. `tree` is all that they do."""
        entries = self.rendered.data["exclude"]
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            kind, name = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("sls", entry)
            if not isinstance(name, str):
                continue
            if kind == "sls" and not matching(files, name, self.saltenv):
                yield self._finding(index, f"there is no SLS {name!r}", near(name, sls_names(files, self.saltenv)))
            elif kind == "id" and not tree.has("id", name):
                yield self._finding(index, f"no SLS declares an ID {name!r}", near(name, tree.names.get("", ())))

    def _finding(self, index: int, why: str, hint: str) -> Finding:
        line = self.rendered.lines.find("exclude", index)
        shown = self.rendered.lines.template_line(line) or line
        return Finding(
            rule="no-effect",
            message=f"this excludes nothing: {why}",
            saltenv=self.saltenv,
            file=self.path,
            line=shown,
            column=1,
            excerpt=excerpt(self.rendered.text, line, 1, of=shown),
            hint=hint,
        )
