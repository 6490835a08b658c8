"""What `saltern run` prints of a job: its id, a return a minion, and a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from controller.cli import output
from controller.schema.runs import CallReturn, CallStarted

STREAMED = ("nested", "txt")
"""Forms that are printed as returns come; the others are one document."""


@dataclass(slots=True, kw_only=True)
class JobOutput:
    """Prints a job.

    Args:
        form: of the values.
        jid: whether the id of the job is shown.
        static: whether nothing is printed before all is there.
        hide_timeout: whether minions that did not answer are left out.
        summary: whether there is one.
    """

    form: str
    jid: bool = False
    static: bool = False
    hide_timeout: bool = False
    summary: bool = False
    returns: list[CallReturn] = field(default_factory=list)
    unanswered: list[CallReturn] = field(default_factory=list)
    begun: CallStarted | None = None

    @property
    def streams(self) -> bool:
        """Whether returns are printed as they come."""
        return self.form in STREAMED and not self.static

    def started(self, item: CallStarted) -> None:
        """The job has begun."""
        self.begun = item
        if self.jid and self.form in STREAMED:
            title = f"Executing job with jid {item.jid}"
            click.echo(f"{title}\n{'-' * len(title)}\n")

    def returned(self, item: CallReturn) -> None:
        """A minion has returned, or did not."""
        if not item.answered:
            self.unanswered.append(item)
            if self.hide_timeout:
                return
        self.returns.append(item)
        if self.streams:
            show_return(item, self.form)

    def end(self) -> None:
        """All is there that was waited for."""
        if self.form in STREAMED and self.static:
            for item in sorted(self.returns, key=lambda each: each.minion):
                show_return(item, self.form)
        elif self.form not in STREAMED:
            output.document({item.minion: told(item) for item in self.returns}, self.form)
        if self.summary and self.form in STREAMED:
            click.echo("\n".join(self._summary()))

    def _summary(self) -> Sequence[str]:
        """Source: salt.cli.salt.SaltCMD._print_returns_summary."""
        missing = set(self.begun.missing) if self.begun is not None else set()
        silent = [item.minion for item in self.unanswered if item.minion not in missing]
        failed = [item.minion for item in self.returns if item.answered and not item.ok]
        returned = sum(item.answered for item in self.returns)
        targeted = len(self.begun.minions) if self.begun is not None else len(self.returns)
        line = "-" * 43
        return [
            "",
            line,
            "Summary",
            line,
            f"# of minions targeted: {targeted}",
            f"# of minions returned: {returned}",
            f"# of minions that did not return: {len(silent)}",
            f"# of minions with errors: {len(failed)}",
            *([f"Minions not responding: {' '.join(sorted(silent))}"] if silent else []),
            *([f"Minions not connected: {' '.join(sorted(missing))}"] if missing else []),
            *([f"Minions with failures: {' '.join(sorted(failed))}"] if failed else []),
            line,
        ]


def told(item: CallReturn) -> Any:
    """The value, or the error where there is none."""
    return item.error if item.error and item.value is None else item.value


def show_return(item: CallReturn, form: str) -> None:
    """Print what one minion returned."""
    value = told(item)
    if form == "txt":
        click.echo(f"{item.minion}: {output.printable(str(value))}")
        return
    click.echo(output.styled(f"{item.minion}:", fg="cyan" if item.ok else "red"))
    for line in _lines(value):
        click.echo(line if item.ok else output.styled(line, fg="red"))
    if item.error and item.value is not None:
        click.echo(output.styled("    " + output.printable(item.error), fg="red"))


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping) and value and all("_|-" in str(key) for key in value):
        return ["    " + line for line in output.states(value)]
    return output.nested(value, 4)
