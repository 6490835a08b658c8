"""`saltern preview`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import COMPILE, FAILED, OK, PENDING, Failure
from controller.cli.markdown import code, fenced
from controller.cli.verbs.diff import coloured_plan
from controller.schema.preview_stream import PreviewFinished, PreviewProgress
from controller.schema.previews import MovedSource
from controller.schema.reports import LiveTest, MinionErrors, PreviewReport, ResourceChange
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from highstate.types import state_title

_SIGNS = {"added": "+", "changed": "~", "removed": "-", "retriggered": "!"}


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
    report = None
    with Client(config_dir) as client:
        question = PreviewQuestion(base=base, head=head, target=asked, live="all" if live else "none")
        for item in client.stream("/preview", question):
            match item:
                case PreviewProgress() if out == "text":
                    output.remark(f"{item.text}: {item.done} of {item.of}")
                case PreviewFinished():
                    report = item.report
    if report is None:
        raise Failure("the preview ended before its report", hint="see the controller's log")
    match out:
        case "text":
            _show(report)
        case "markdown":
            click.echo(markdown(report))
        case _:
            output.document(report, out)
    return _exit_code(report) if exit_code else OK


def _exit_code(report: PreviewReport) -> int:
    if report.broken:
        return COMPILE
    if any(test.outcome in ("failed", "error") for each in report.classes for test in each.tests):
        return FAILED
    return PENDING if report.classes or report.unknown else OK


def _show(report: PreviewReport) -> None:
    output.remark(f"{report.base[:8]}..{report.head[:8]}")
    for moved in report.moved:
        output.remark(output.printable(f"  {_moved(moved, alone=len(report.moved) == 1)}"))
    for title, colour, found in _problems(report):
        click.echo(output.styled(f"\n{found.folded}: {title}", fg=colour))
        for text in found.texts:
            click.echo(output.printable(text))
    for each in report.classes:
        click.echo(output.styled(f"\n{output.printable(each.folded)}", bold=True))
        click.echo(coloured_plan(output.printable("\n".join(_lines(each.resources)))))
        for test in each.tests:
            _show_test(test)
    parts = [f"{output.counted(report.changed, 'minion')} would change", f"{report.unchanged} would not"]
    parts += [f"{_number(report.broken)} would not compile"] if report.broken else []
    parts += [f"{_number(report.unknown)} not known"] if report.unknown else []
    output.remark("\n" + ", ".join(parts) + f" ({output.span(report.seconds)})")


def _show_test(test: LiveTest) -> None:
    outcome = output.styled(test.outcome, fg=output.COLOURS.get(test.outcome))
    click.echo(f"\n{test.minion} (test=True): {outcome}  {output.printable(test.summary)}".rstrip())
    for line in output.states(test.states, only_changes=True):
        click.echo("  " + line)


def _problems(report: PreviewReport) -> Iterator[tuple[str, str, MinionErrors]]:
    yield from (("does not compile", "red", each) for each in report.broken)
    yield from (("needs answers of machines that nobody gave", "yellow", each) for each in report.unknown)
    yield from (("new warnings", "yellow", each) for each in report.warned)


def _number(found: Sequence[MinionErrors]) -> int:
    return sum(len(each.minions) for each in found)


def _moved(moved: MovedSource, *, alone: bool) -> str:
    commits = "" if alone else f" {moved.base or 'nothing'}..{moved.head}"
    return f"{moved.remote}{commits}: {moved.subject} ({moved.author})"


def _lines(resources: Sequence[ResourceChange]) -> Iterator[str]:
    for each in resources:
        yield f"{_SIGNS[each.action]} {each.title}" + (
            f"  may be triggered by {', '.join(each.triggered_by)}" if each.triggered_by else ""
        )
        yield from (f"    {field.field}: {field.old!r} -> {field.new!r}" for field in each.fields)
        for file in each.files:
            yield from (f"    {line}" for line in (file.text or file.note).splitlines())


def markdown(report: PreviewReport) -> str:
    """The report as a comment on a pull request."""
    lines = [f"### Saltern preview: {code(report.base[:8])} → {code(report.head[:8])}", ""]
    lines += [f"- {code(_moved(moved, alone=len(report.moved) == 1))}" for moved in report.moved]
    lines += ["", "| minions | would change | unchanged | do not compile |", "|-|-|-|-|"]
    lines += [f"| {report.minions} | {report.changed} | {report.unchanged} | {_number(report.broken)} |", ""]
    for title, _, found in _problems(report):
        lines += [f"**{found.folded}**: {title}", *fenced("\n".join(found.texts))]
    for each in report.classes:
        count = output.counted(len(each.minions), "minion")
        lines += [f"<details><summary>{each.folded} ({count})</summary>", ""]
        lines += [*fenced("\n".join(_lines(each.resources)), "diff"), "</details>", ""]
        for test in each.tests:
            summary = code(test.summary) if test.summary else ""
            lines.append(f"- `{test.minion}` (test=True): **{test.outcome}** {summary}".rstrip())
            if told := _differences(test.states):
                lines += ["", "<details><summary>what would change</summary>", "", *fenced("\n".join(told), "diff")]
                lines += ["</details>", ""]
    if not report.classes and not report.broken and not report.unknown:
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
