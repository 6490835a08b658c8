"""What `saltern run` prints of a job: its id, a return a minion, and a summary."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from controller.cli import output
from controller.cli.failure import Failure
from controller.schema.runs import CallReturn, CallStarted
from minion.call.options import STATE_OUTPUTS
from minion.call.outputters.render import render
from minion.config.groups import OutputOptions

STREAMED = ("nested", "txt", "highstate", "pprint", "raw", "table", "quiet")
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
        states: how much of runs of states is shown; None: a line a state.
        indent: spaces of a level of JSON; below 0 it is one line.
    """

    form: str
    jid: bool = False
    static: bool = False
    hide_timeout: bool = False
    summary: bool = False
    states: OutputOptions | None = None
    indent: int = 2
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
            show_return(item, self.form, self.states)
        if item.ending and item.value is not None and self.form not in ("nested", "quiet"):
            # The value does not say that it was ended.
            output.remark(output.printable(f"{item.minion}: {item.error or item.ending}"))

    def end(self) -> None:
        """All is there that was waited for."""
        if self.form in STREAMED and self.static:
            for item in sorted(self.returns, key=lambda each: each.minion):
                show_return(item, self.form, self.states)
        elif self.form not in STREAMED:
            output.salt_document({item.minion: told(item) for item in self.returns}, self.form, max(self.indent, 0))
        if self.summary and self.form in STREAMED:
            click.echo("\n".join(self._summary()))

    def _summary(self) -> Sequence[str]:
        """Source: salt.cli.salt.SaltCMD._print_returns_summary."""
        away = {item.minion for item in self.unanswered}
        missing = away & set(self.begun.missing if self.begun is not None else ())
        unknown = away & set(self.begun.unknown if self.begun is not None else ())
        silent = away - missing - unknown
        failed = [item.minion for item in self.returns if item.answered and not item.ok]
        returned = sum(item.answered for item in self.returns)
        targeted = len({*self.begun.minions, *unknown}) if self.begun is not None else returned + len(away)
        line = "-" * 43
        return [
            "",
            line,
            "Summary",
            line,
            f"# of minions targeted: {targeted}",
            f"# of minions returned: {returned}",
            f"# of minions that did not return: {len(away)}",
            f"# of minions with errors: {len(failed)}",
            *([f"Minions not responding: {' '.join(sorted(silent))}"] if silent else []),
            *([f"Minions not connected: {' '.join(sorted(missing))}"] if missing else []),
            *([f"Minions not known: {' '.join(sorted(unknown))}"] if unknown else []),
            *([f"Minions with failures: {' '.join(sorted(failed))}"] if failed else []),
            line,
        ]


def told(item: CallReturn) -> Any:
    """The value, or the error where there is none."""
    return item.error if item.error and item.value is None else item.value


def show_return(item: CallReturn, form: str, states: OutputOptions | None = None) -> None:
    """Print what one minion returned."""
    value = told(item)
    if form == "quiet":
        return
    if form not in ("nested", "txt", "highstate") or (_is_run(value) and (states is not None or form == "highstate")):
        wanted = "highstate" if form == "nested" else form
        click.echo(output.printable(render(value, wanted, minion_id=item.minion, shown=states)))
        return
    if form == "txt":
        click.echo(f"{item.minion}: {output.printable(str(value))}")
        return
    click.echo(output.styled(f"{item.minion}:", fg="cyan" if item.ok else "red"))
    for line in _lines(value):
        click.echo(line if item.ok else output.styled(line, fg="red"))
    if item.error and item.value is not None:
        click.echo(output.styled("    " + output.printable(item.error), fg="red"))


def _lines(value: Any) -> list[str]:
    if _is_run(value):
        return ["    " + line for line in output.states(value)]
    return output.nested(value, 4)


def _is_run(value: Any) -> bool:
    """Whether it is what a run of states returns."""
    return isinstance(value, Mapping) and bool(value) and all("_|-" in str(key) for key in value)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def output_options(function: _Function) -> _Function:
    """Options of the output, as `saltern call` has them; for `states_of` and `written`."""
    file = click.Path(path_type=Path, dir_okay=False)
    state_outputs = click.Choice(STATE_OUTPUTS, case_sensitive=False)
    for option in (
        click.option("--output-diff", is_flag=True, help="Leave out states that changed nothing."),
        click.option(
            "--out-indent", "--output-indent", "indent", type=int, default=2, help="Spaces of a level of JSON."
        ),
        click.option("--no-color", "--no-colour", "no_color", is_flag=True, help="No colours."),
        click.option("--state-verbose", "--state_verbose", type=bool, help="False: leave out states with no changes."),
        click.option("--state-output", "--state_output", type=state_outputs, help="How much of each state is shown."),
        click.option("--out-file-append", "--output-file-append", "out_append", is_flag=True, help="Write to its end."),
        click.option("--out-file", "--output-file", "out_file", type=file, help="A file that gets what is printed."),
    ):
        function = option(function)
    return function


def states_of(given: Mapping[str, Any]) -> OutputOptions | None:
    """How much of runs of states is shown; None where nothing was asked."""
    output_asked, verbose = given["state_output"], False if given["output_diff"] else given["state_verbose"]
    if output_asked is None and verbose is None:
        return None
    return OutputOptions(state_output=output_asked or "full", verbose=verbose is not False)


@contextlib.contextmanager
def written(given: Mapping[str, Any]) -> Iterator[None]:
    """What is printed goes where the options say."""
    if given["no_color"]:
        os.environ["NO_COLOR"] = "1"
    if given["out_file"] is None:
        yield
        return
    try:
        file = given["out_file"].open("a" if given["out_append"] else "w")
    except OSError as error:
        raise Failure(f"cannot write to {given['out_file']}: {error.strerror}") from None
    with file, contextlib.redirect_stdout(file):
        yield
