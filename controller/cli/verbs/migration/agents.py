"""`saltern migrate agent` and `saltern migrate status`: stock salt-minions become minions of Saltern, or back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import offers, options, output
from controller.cli.failure import FAILED, INTERRUPTED, OK

if TYPE_CHECKING:
    from controller.cli.client import Client
    from controller.schema.fleet.replacements import ReplacementView

_WATCH_SECONDS = 0.5
_AGENTS = {"saltern": "saltern-minion", "salt": "salt-minion"}
_ENDS = {"done": "green", "planned": "green", "refused": "yellow", "not begun": "yellow", "failed": "red"}


@click.command("agent")
@click.argument("target", shell_complete=offers.minions)
@options.targeting
@click.option(
    "--to",
    type=click.Choice(["saltern", "salt"]),
    default="saltern",
    show_default=True,
    help="Agent that is to answer.",
)
@click.option("-t", "--test", is_flag=True, help="Look at each machine, say what would be done, and change nothing.")
@click.option(
    "-b", "--batch", default="10%", show_default=True, help="So many at a time: 5, 10%. After a failure none is begun."
)
@click.option("--controller", default="", metavar="ADDRESS", help="Of this controller, as the machines reach it.")
@click.option("--purge", is_flag=True, help="Remove the package of the old agent, too.")
@options.out
@options.config_dir
def agent_command(target: str, kind: str | None, config_dir: Path, out: str, **given: Any) -> int:
    """Replace the stock salt-minions of TARGET by the minion of Saltern, or back (`--to salt`).

    The salt-minion installs the new agent and starts it; the controller accepts the key that it has told in the place
    of the salt-minion's, and waits until the new agent is connected and has its document. Then the salt-minion is
    stopped for good; until then, whatever fails, it answers on. Begun replacements go on when this verb is interrupted,
    and when the controller is restarted. The exit code is 1 when an agent was not replaced.
    """
    from controller.cli.client import Client
    from controller.schema.fleet.replacements import ReplacementQuestion
    from controller.schema.targets import TargetExpression

    expression = TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # of the table of options
    question = ReplacementQuestion(target=expression, **given)
    ends: list[ReplacementView] = []
    try:
        with Client(config_dir) as client:
            for view in client.stream("/agents/replace", question):
                if view.step in _ENDS:
                    ends.append(view)
                if out == "text":
                    for line in lines_of(view):
                        click.echo(line)
    except KeyboardInterrupt:
        output.remark(
            "interrupted: what has begun goes on, and no other is begun; how far it is: saltern migrate status --watch"
        )
        return INTERRUPTED
    if out != "text":
        output.document(ends, out)
    else:
        _say_all(ends)
    return OK if all(view.step in ("done", "planned") for view in ends) else FAILED


def _say_all(ends: Sequence[ReplacementView]) -> None:
    """How it ended for all, and what to do next."""
    counts: Counter[str] = Counter(view.step for view in ends)
    if len(ends) > 1:
        output.remark(", ".join(f"{counts[step]} {step}" for step in _ENDS if counts[step]))
    if counts["not begun"]:
        output.remark(
            "put right what has failed, or leave it out of TARGET, and ask again: those that are done stay so"
        )


@click.command("status")
@click.option("-w", "--watch", is_flag=True, help="Go on until no replacement goes on; tell each step.")
@options.out
@options.config_dir
def status_command(watch: bool, config_dir: Path, out: str) -> int:
    """Show how far agents are that are replaced, and how it ended: of each minion the newest.

    With --watch the exit code is 1 when one that was still going on failed.
    """
    from controller.cli.client import Client

    views: tuple[ReplacementView, ...] = ()
    told: dict[str, ReplacementView] = {}
    watched: set[str] = set()
    with Client(config_dir) as client:
        for views in _until_all_ended(client) if watch else [_replacements(client)]:
            watched |= {view.minion for view in views if view.step not in _ENDS}
            new = [view for view in views if told.get(view.minion) != view]
            told |= {view.minion: view for view in new}
            for line in [each for view in new for each in lines_of(view)] if out == "text" else []:
                click.echo(line)
    if out != "text":
        output.document(views, out)
    elif not views:
        output.remark("no agent was replaced")
    return FAILED if any(view.step == "failed" and view.minion in watched for view in views) else OK


def _replacements(client: Client) -> tuple[ReplacementView, ...]:
    """The newest of each minion, those that go on first."""
    from controller.schema.fleet.replacements import ReplacementView

    return client.get("/agents/replacements", tuple[ReplacementView, ...])


def _until_all_ended(client: Client) -> Iterator[tuple[ReplacementView, ...]]:
    """The same again and again, as long as one goes on."""
    while True:
        yield (views := _replacements(client))
        if all(view.step in _ENDS for view in views):
            return
        time.sleep(_WATCH_SECONDS)


def lines_of(view: ReplacementView) -> Iterator[str]:
    """A step of a replacement for people."""
    step = output.styled(view.step, fg=_ENDS.get(view.step, "cyan"))
    yield output.printable(f"{view.minion}: ") + step + output.printable(f" (to {_AGENTS[view.to]})")
    if view.why:
        yield output.printable(f"    {view.why}" + (f"; {view.hint}" if view.hint else ""))
    for number, each in enumerate(view.plan, start=1):
        yield output.printable(f"    {number}. {each}")
    for each in view.notes:
        yield output.printable(f"    not taken over: {each}")
