"""The golden cases as text: a small archive of files, what is compiled for whom, and what comes out.

Used by tests/highstate/test_golden.py and by tools/oracle. A case is a comment, then files that begin with
`-- name --`:

    states/PATH, pillar/PATH      the trees of saltenv base; `states@qa/PATH` is another saltenv
    minion                        the id (default `web1`)
    grains.yaml                   the grains (default: a Debian's)
    sls                           SLS names to compile, instead of what the top file gives
    settings.yaml                 options other than their defaults, by Salt's names
    override.yaml                 pillar given beside the tree, as on the command line
    lowstate.yaml or errors       what is expected

A comment line `differs: why` marks a case whose result is not Salt's on purpose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_HEAD = re.compile(r"^-- (\S+) --$", re.MULTILINE)
_GRAINS = {"os": "Debian", "os_family": "Debian", "kernel": "Linux", "roles": ["web", "proxy"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One golden case."""

    path: Path
    comment: str
    sections: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def minion(self) -> str:
        return self.sections.get("minion", "web1").strip()

    @property
    def grains(self) -> dict[str, Any]:
        given = yaml.safe_load(self.sections.get("grains.yaml", "")) or {}
        return {"id": self.minion, **_GRAINS, **given}

    @property
    def sls(self) -> list[str]:
        return self.sections.get("sls", "").split()

    @property
    def settings(self) -> dict[str, Any]:
        return yaml.safe_load(self.sections.get("settings.yaml", "")) or {}

    @property
    def override(self) -> dict[str, Any]:
        return yaml.safe_load(self.sections.get("override.yaml", "")) or {}

    @property
    def differs(self) -> str:
        found = re.search(r"^differs: (.+)$", self.comment, re.MULTILINE)
        return found[1] if found else ""

    @property
    def lowstate(self) -> list[dict[str, Any]] | None:
        """The expected chunks, None when errors are expected."""
        text = self.sections.get("lowstate.yaml")
        return None if text is None else yaml.safe_load(text) or []

    def trees(self, root: str) -> dict[str, dict[str, bytes]]:
        """saltenv -> path -> content of the states (`root` "states") or the pillar ("pillar")."""
        trees: dict[str, dict[str, bytes]] = {"base": {}}
        for name, text in self.sections.items():
            top, _, path = name.partition("/")
            kind, _, saltenv = top.partition("@")
            if path and kind == root:
                trees.setdefault(saltenv or "base", {})[path] = text.encode()
        return trees

    def expecting(self, section: str, text: str) -> Case:
        """This case with another result."""
        kept = {name: body for name, body in self.sections.items() if name not in ("lowstate.yaml", "errors")}
        return Case(path=self.path, comment=self.comment, sections={**kept, section: text})

    def write(self) -> None:
        """Write the case to its file."""
        body = "".join(f"-- {name} --\n{text}" for name, text in self.sections.items())
        self.path.write_text(self.comment + body)


def read_case(path: Path) -> Case:
    """Parse one archive."""
    text = path.read_text()
    heads = list(_HEAD.finditer(text))
    if not heads:
        raise ValueError(f"{path}: no `-- name --` line")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    sections = {head[1]: text[head.end() + 1 : end] for head, end in zip(heads, ends, strict=True)}
    return Case(path=path, comment=text[: heads[0].start()], sections=sections)


def read_cases(folder: Path) -> list[Case]:
    """All cases of a folder, by name."""
    return [read_case(path) for path in sorted(folder.glob("*.txtar"))]


def dump_lowstate(chunks: list[dict[str, Any]]) -> str:
    """Chunks as a golden holds them: in running order, the keys of each sorted."""
    return yaml.safe_dump(chunks, sort_keys=True, width=110, allow_unicode=True)
