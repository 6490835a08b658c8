"""A `CheckReport` for people: what has no counterpart, what is different, counts; what works is told with `--all`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

from controller.cli import output
from controller.cli.terminal_table import wrap
from controller.migration.items import VERDICTS, CheckReport, Item, MigrationVerdict

_COLOURS: dict[MigrationVerdict, str] = {"works": "green", "different": "yellow", "no counterpart": "red"}


def lines_of(report: CheckReport, *, whole: bool) -> Iterator[str]:
    """The lines of a report, as wide as the terminal.

    Args:
        report: what was found.
        whole: also what works.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 120
    for verdict in reversed(VERDICTS):
        items = [item for item in report.items if item.verdict == verdict]
        if not items or (verdict == "works" and not whole):
            continue
        yield output.styled(f"{verdict} ({len(items)})", fg=_COLOURS[verdict], bold=True)
        for item in items:
            yield from _lines(item, width)
        yield ""
    if report.not_read:
        yield output.styled(f"not looked at ({len(report.not_read)})", bold=True)
        for each in report.not_read:
            yield from _wrapped(each, width, 2)
        yield ""
    yield ", ".join(f"{verdict}: {report.counts[verdict]}" for verdict in VERDICTS)


def _lines(item: Item, width: int) -> Iterator[str]:
    times = f"  ({item.count} times)" if item.count > 1 else ""
    yield from _wrapped(f"{item.kind} {item.name}{times}", width, 2)
    if item.place:
        yield from _wrapped(item.place, width, 6)
    if item.how:
        yield from _wrapped(item.how, width, 6)
    if item.docs:
        yield from _wrapped(item.docs, width, 6)


def _wrapped(text: str, width: int, indent: int) -> Iterator[str]:
    shown = output.printable(" ".join(text.split()))
    for line in wrap(shown, max(width - indent, 20)):
        yield " " * indent + line
