"""A `CompareReport` for people: differences, each once with the minions that have it, and what was not compared."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator

from controller.cli import output
from controller.cli.terminal_table import wrap
from controller.migration.compare import CompareReport
from controller.schema.fleet.comparisons import COMPARISON_VERDICTS, ChunkDifference, PillarDifference

_NAMED = 5
"""Minions whose ids stand beside a difference."""


def lines_of(report: CompareReport) -> Iterator[str]:
    """The lines of a report, as wide as the terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 120
    different: dict[tuple[str, ...], list[str]] = {}
    absent: dict[str, list[str]] = {}
    left_out = 0
    for each in report.minions:
        left_out += each.left_out
        if each.verdict == "not compared":
            absent.setdefault(each.why, []).append(each.minion)
        elif each.why:
            different.setdefault((each.why,), []).append(each.minion)
        for found in each.differences:
            different.setdefault(tuple(_texts(found)), []).append(each.minion)
        for key in each.pillar:
            different.setdefault((_pillar_text(key),), []).append(each.minion)
    if different:
        yield output.styled(f"different ({len(different)})", fg="yellow", bold=True)
        for texts, minions in different.items():
            yield from _wrapped(texts[0], width, 2)
            yield from _wrapped(_named(minions), width, 6)
            for text in texts[1:]:
                yield from _wrapped(text, width, 6)
        yield ""
    if absent:
        yield output.styled(f"not compared ({len(absent)})", fg="red", bold=True)
        for why, minions in absent.items():
            yield from _wrapped(why, width, 2)
            yield from _wrapped(_named(minions), width, 6)
        yield ""
    if report.not_read:
        yield output.styled(f"not looked at ({len(report.not_read)})", bold=True)
        for text in report.not_read:
            yield from _wrapped(text, width, 2)
        yield ""
    if left_out:
        yield from _wrapped(f"{left_out} more differences are not shown", width, 0)
    counts = ", ".join(f"{verdict}: {report.counts[verdict]}" for verdict in COMPARISON_VERDICTS)
    yield f"minions, compared with Salt {output.printable(report.salt)}: {counts}"


def _texts(found: ChunkDifference) -> Iterable[str]:
    where = f" (SLS {found.sls})" if found.sls else ""
    match found.kind:
        case "only Salt" | "only Saltern":
            yield f"{found.chunk}{where}: {found.kind} has it"
        case "order":
            first, second = found.arguments["comes first"]
            yield f"the order: at the same place Salt has {first}, and Saltern {second}"
        case "arguments":
            yield f"{found.chunk}{where}"
            for name, (theirs, mine) in found.arguments.items():
                yield f"{name}:  Salt {theirs}  Saltern {mine}"


def _pillar_text(found: PillarDifference) -> str:
    what = "both have it, with other values" if found.kind == "value" else f"{found.kind} has it"
    return f"pillar {found.key}: {what}"


def _named(minions: list[str]) -> str:
    shown = ", ".join(minions[:_NAMED])
    return shown + (f" and {len(minions) - _NAMED} more" if len(minions) > _NAMED else "")


def _wrapped(text: str, width: int, indent: int) -> Iterator[str]:
    shown = output.printable(" ".join(text.split()))
    for line in wrap(shown, max(width - indent, 20)):
        yield " " * indent + line
