"""Findings as text, as one JSON document, and as annotations of a pull request on GitHub. Called by `lint`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.cli import output

if TYPE_CHECKING:
    from highstate.lint import Finding

Roots = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A finding, and the path of its file from where we are."""

    finding: Finding
    path: str


def located(findings: Iterable[Finding], roots: Mapping[str, Roots]) -> list[Located]:
    """Findings with the paths of their files. `roots` is `states` and `pillar` -> environment -> folders."""
    return [Located(finding=finding, path=_path(finding, roots[finding.tree])) for finding in findings]


def _path(finding: Finding, roots: Roots) -> str:
    folders = [Path(folder) for folder in roots.get(finding.saltenv, ())]
    folder = next((folder for folder in folders if (folder / finding.file).is_file()), None)
    if folder is None:
        return finding.file
    return os.path.relpath(folder / finding.file)


def as_text(one: Located) -> str:
    """Several lines: the place and the message as compilers print them, the lines around, what to do."""
    finding = one.finding
    place = ":".join(str(part) for part in (one.path, finding.line, finding.column) if part)
    lines = [f"{place}: {finding.severity.value}: {finding.message} [{finding.rule}]"]
    if finding.excerpt:
        lines.append(finding.excerpt)
    if finding.hint:
        lines.append(f"  hint: {finding.hint}")
    if finding.samples:
        lines.append(f"  for {', '.join(finding.samples)}")
    return "\n".join(lines)


def as_json(found: Sequence[Located]) -> str:
    """`{"findings": [...], "counts": {...}}`."""
    counts = {"error": 0, "warning": 0, "notice": 0}
    for one in found:
        counts[one.finding.severity.value] += 1
    return json.dumps(output.versioned({"findings": [_plain(one) for one in found], "counts": counts}), indent=2)


def _plain(one: Located) -> dict[str, Any]:
    finding = one.finding
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": one.path,
        "tree": finding.tree,
        "saltenv": finding.saltenv,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "hint": finding.hint,
        "excerpt": finding.excerpt,
        "samples": list(finding.samples),
    }


def as_github(one: Located) -> str:
    """A workflow command (docs.github.com/actions, workflow commands: `::error file=...::message`)."""
    finding = one.finding
    words = {"file": one.path, "line": finding.line, "col": finding.column, "title": f"saltern: {finding.rule}"}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in words.items() if value)
    message = finding.message + (f"\n{finding.hint}" if finding.hint else "")
    return f"::{finding.severity.value} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
