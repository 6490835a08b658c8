"""`saltern preview`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import COMPILE, FAILED, OK, PENDING, Failure
from controller.cli.markdown import code, fenced
from controller.cli.verbs.diff import coloured_plan
from controller.schema.previews import (
    MovedSource,
    PreviewBroken,
    PreviewClass,
    PreviewResult,
    PreviewStarted,
    PreviewSummary,
    PreviewUnknown,
    PreviewWarned,
)
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from highstate.types import state_title


@dataclass(slots=True)
class PreviewItems:
    """All items of a preview, sorted by kind."""

    started: PreviewStarted | None = None
    classes: list[PreviewClass] = field(default_factory=list)
    broken: list[PreviewBroken] = field(default_factory=list)
    unknown: list[PreviewUnknown] = field(default_factory=list)
    warned: list[PreviewWarned] = field(default_factory=list)
    results: list[PreviewResult] = field(default_factory=list)
    summary: PreviewSummary | None = None

    def add(self, item: Any) -> None:
        """Take an item of the stream."""
        match item:
            case PreviewStarted():
                self.started = item
            case PreviewClass():
                self.classes.append(item)
            case PreviewBroken():
                self.broken.append(item)
            case PreviewUnknown():
                self.unknown.append(item)
            case PreviewWarned():
                self.warned.append(item)
            case PreviewResult():
                self.results.append(item)
            case PreviewSummary():
                self.summary = item

    def exit_code(self) -> int:
        """What `--exit-code` gives."""
        if self.broken:
            return COMPILE
        if any(result.outcome in ("failed", "error") for result in self.results):
            return FAILED
        return PENDING if self.classes or self.unknown else OK


@click.command("preview")
@click.option("--base", required=True, help="Branch, tag or commit to compare with.")
@click.option("--head", required=True, help="Branch, tag or commit to be previewed.")
@click.option("--target", help="Only minions that this glob (or the kind given) matches.")
@options.targeting
@click.option("--live/--no-live", default=True, help="Ask connected minions what would change (test=True).  [live]")
@click.option("--out", type=click.Choice(["text", "markdown", "json", "yaml"]), default="text", show_default=True)
@click.option("--exit-code", is_flag=True, help="Exit 2 when something would change, 4 when the head does not compile.")
@options.config_dir
def preview_command(
    base: str, head: str, target: str | None, kind: str | None, live: bool, out: str, exit_code: bool, config_dir: Path
) -> int:
    """What moving from one git ref to another would change. Changes nothing."""
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs --target")
    asked = None if target is None else TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's
    preview = PreviewItems()
    with Client(config_dir) as client:
        for item in client.stream("/preview", PreviewQuestion(base=base, head=head, target=asked, live=live)):
            preview.add(item)
            if out == "text":
                _progress(item)
    if preview.summary is None:
        raise Failure("the preview ended before its summary", hint="see the controller's log")
    match out:
        case "text":
            _end(preview.summary)
        case "markdown":
            click.echo(markdown(preview))
        case _:
            parts: dict[str, Any] = {"started": preview.started, "classes": preview.classes, "broken": preview.broken}
            parts |= {"unknown": preview.unknown, "warned": preview.warned}
            output.document(parts | {"results": preview.results, "summary": preview.summary}, out)
    return preview.exit_code() if exit_code else OK


def _progress(item: Any) -> None:
    match item:
        case PreviewStarted():
            output.remark(f"{item.base}..{item.head}: {_counts(item)}")
            for moved in item.moved:
                output.remark(output.printable(f"  {_moved(moved, alone=len(item.moved) == 1)}"))
        case PreviewClass():
            click.echo(output.styled(f"\n{_names(item.minions)}", bold=True))
            click.echo(coloured_plan(output.printable(item.text.rstrip())))
        case PreviewBroken():
            click.echo(output.styled(f"\n{_names(item.minions)}: does not compile", fg="red"))
            for error in item.errors:
                click.echo(output.printable(error))
        case PreviewUnknown():
            click.echo(output.styled(f"\n{_names(item.minions)}: not known", fg="yellow"))
            click.echo(output.printable(_why_unknown(item)))
        case PreviewWarned():
            click.echo(output.styled(f"\n{_names(item.minions)}: new warnings", fg="yellow"))
            for warning in item.warnings:
                click.echo(output.printable(warning))
        case PreviewResult():
            colour = output.COLOURS.get(item.outcome)
            outcome = output.styled(item.outcome, fg=colour)
            click.echo(f"\n{item.minion} (test=True): {outcome}  {output.printable(item.summary)}".rstrip())
            for line in output.states(item.states, only_changes=True):
                click.echo("  " + line)


def _end(summary: PreviewSummary) -> None:
    parts = [f"{output.counted(summary.changed, 'minion')} would change", f"{summary.unchanged} would not"]
    parts += [f"{summary.broken} would not compile"] if summary.broken else []
    parts += [f"{summary.unknown} not known"] if summary.unknown else []
    parts += [f"{summary.tested} tested"] if summary.tested else []
    parts += [f"{summary.failed} failed the test"] if summary.failed else []
    parts += [f"{summary.unreachable} not connected"] if summary.unreachable else []
    output.remark("\n" + ", ".join(parts) + f" ({output.span(summary.seconds)})")


def _counts(started: PreviewStarted) -> str:
    text = f"{output.counted(started.minions, 'minion')}, {started.changed} changed"
    text += f" in {output.counted(started.classes, 'way')}" if started.classes > 1 else ""
    text += f", {started.broken} broken" if started.broken else ""
    text += f", {started.unknown} not known" if started.unknown else ""
    return text + (f", testing on {started.testing}" if started.testing else "")


def _moved(moved: MovedSource, *, alone: bool) -> str:
    commits = "" if alone else f" {moved.base or 'nothing'}..{moved.head}"
    return f"{moved.remote}{commits}: {moved.subject} ({moved.author})"


def _why_unknown(item: PreviewUnknown) -> str:
    return f"needs {', '.join(item.functions)} of the machine, which is not connected or not asked that in a preview"


def _names(minions: tuple[str, ...], most: int = 6) -> str:
    shown = ", ".join(minions[:most])
    return shown if len(minions) <= most else f"{shown} and {len(minions) - most} more"


def markdown(preview: PreviewItems) -> str:
    """The preview as a comment on a pull request."""
    summary, started = preview.summary, preview.started
    lines = []
    if started is not None and summary is not None:
        lines += [f"### Saltern preview: {code(started.base)} → {code(started.head)}", ""]
        lines += [f"- {code(_moved(moved, alone=len(started.moved) == 1))}" for moved in started.moved]
        lines += [""] if started.moved else []
        lines += ["| minions | would change | unchanged | do not compile | tested | test failed |", "|-|-|-|-|-|-|"]
        counts = (summary.minions, summary.changed, summary.unchanged, summary.broken, summary.tested, summary.failed)
        lines += ["| " + " | ".join(str(count) for count in counts) + " |", ""]
    for broken in preview.broken:
        lines += [f"**{_names(broken.minions)}**: does not compile", *fenced("\n".join(broken.errors))]
    for unknown in preview.unknown:
        lines += [f"**{_names(unknown.minions)}**: not known", *fenced(_why_unknown(unknown))]
    for warned in preview.warned:
        lines += [f"**{_names(warned.minions)}**: new warnings", *fenced("\n".join(warned.warnings))]
    for found in preview.classes:
        count = output.counted(len(found.minions), "minion")
        lines += [f"<details><summary>{_names(found.minions)} ({count})</summary>", "", *fenced(found.text, "diff")]
        lines += ["</details>", ""]
    for result in preview.results:
        summary_text = code(result.summary) if result.summary else ""
        lines.append(f"- `{result.minion}` (test=True): **{result.outcome}** {summary_text}".rstrip())
        if told := _differences(result.states):
            lines += ["", "<details><summary>what would change</summary>", "", *fenced("\n".join(told), "diff")]
            lines += ["</details>", ""]
    if not preview.classes and not preview.broken and not preview.unknown:
        lines.append("Nothing would change.")
    return "\n".join(lines).rstrip()


def _differences(states: Mapping[str, Any]) -> list[str]:
    """What the states of a test run would change: of files the difference, as tools of git show it."""
    lines: list[str] = []
    for key, entry in states.items():
        changes = entry.get("changes")
        if entry.get("result") is True and not changes:
            continue
        comment = next(iter(str(entry.get("comment", "")).splitlines()), "")
        lines.append(f"# {state_title(key)}: {comment}")
        more = dict(changes) if isinstance(changes, Mapping) else {}
        difference = more.pop("diff", "")
        lines += difference.splitlines() if isinstance(difference, str) else output.nested(difference)
        lines += output.nested(more)
    return lines
