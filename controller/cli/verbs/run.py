"""`saltern run`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.credentials import credential_options, show_credentials
from controller.cli.failure import FAILED, INTERRUPTED, OK
from controller.cli.progress import progress_line
from controller.cli.run_output import JobOutput, output_options, states_of, told, written
from controller.cli.verbs.terminal import function_offers
from controller.schema.jobs import JobKill, JobQuery
from controller.schema.minions import StatusView
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallProgress, CallReturn, CallStarted, unknown_returns
from controller.schema.targets import TargetExpression
from minion.call.arguments import BadArgument, parse
from minion.call.options import OUTPUTTERS


@click.command("run")
@click.argument("target", shell_complete=offers.minions)
@click.argument("function", required=False, default="", shell_complete=function_offers.functions)
@click.argument("arguments", nargs=-1)
@options.targeting
@click.option(
    "-t",
    "--timeout",
    type=click.FloatRange(0.1),
    default=30.0,
    show_default=True,
    help="Seconds to wait; the job goes on after that.",
)
@click.option("--limit", type=click.FloatRange(0.1), help="Seconds after which minions end the job; none by default.")
@click.option("-b", "--batch", "--batch-size", "batch", default="", help="So many minions at a time: 5, 10%.")
@click.option(
    "--batch-wait",
    "--bwait",
    "batch_wait",
    type=click.FloatRange(0),
    default=0.0,
    help="Seconds before the next takes a place.",
)
@click.option("--batch-safe-limit", type=click.IntRange(0), default=0, help="Minions beyond which a batch is made.")
@click.option("--batch-safe-size", default="8", show_default=True, help="How many at a time then.")
@click.option("--failhard", is_flag=True, help="Begin no more of a batch after a minion that failed.")
@click.option("--subset", type=click.IntRange(1), help="So many of the connected minions, by chance.")
@click.option("--async", "detached", is_flag=True, help="Print the id of the job, and wait for nothing.")
@click.option("--preview-target", is_flag=True, help="Show whom TARGET means, and do nothing.")
@click.option("-s", "--static", is_flag=True, help="Print all returns together.")
@click.option("-v", "--verbose", is_flag=True, help="Show the id of the job, and who did not answer.")
@click.option("--show-jid", is_flag=True, help="Show the id of the job.")
@click.option("--summary", is_flag=True, help="Show how many returned, and who did not.")
@click.option("-p", "--progress", is_flag=True, help="Show how far minions are, also where this is no terminal.")
@click.option("--args-separator", "separator", default=",", help="Between the arguments of several functions.")
@click.option("--return", "returners", multiple=True, metavar="NAMES", help="Returners that get the values as well.")
@click.option("--return_config", "--return-config", default="", help="The profile of their options.")
@click.option("--return_kwargs", "--return-kwargs", default="", metavar="YAML", help="Options of theirs, as a mapping.")
@click.option("--metadata", default="", metavar="YAML", help="A mapping that is kept with the job, for its events.")
@click.option("--out", "--output", type=click.Choice(OUTPUTTERS), default="nested", show_default=True)
@output_options
@click.option("--hide-timeout", is_flag=True, help="Leave out minions that do not answer.")
@click.option("--show-timeout", is_flag=True, help="Show minions that do not answer, which is so without it.")
@click.option("-d", "--doc", "--documentation", "doc", is_flag=True, help="Show what FUNCTION, or a module, is for.")
@click.option("--delimiter", default=":", help="In place of the colons of -G, -P, -I and -J.")
@credential_options
@options.config_dir
def run_command(
    target: str,
    function: str,
    arguments: tuple[str, ...],
    kind: str | None,
    preview_target: bool,
    out: str,
    config_dir: Path,
    **given: Any,
) -> int:
    """Run FUNCTION on the minions that TARGET (a glob) matches.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    Several functions have commas between them, and their arguments a `,`: a.b,c.d ARGUMENTS , ARGUMENTS.
    The job goes on when you stop waiting: Ctrl-C leaves it alone, and at a terminal asks.
    """
    target, kind = options.delimited(target, kind or "glob", given.pop("delimiter"))
    asked = TargetExpression(kind=kind, expression=target)  # type: ignore[arg-type]  # a choice of click's
    show_credentials(given, config_dir)
    if preview_target:
        return _preview(asked, out, config_dir)
    if given["doc"]:
        with Client(config_dir) as client, written(given):
            return _show_documentation(client, asked, (function, *arguments), given["timeout"])
    if not function:
        raise click.UsageError("Missing argument 'FUNCTION'.")
    questions = [question_of(asked, *each, given) for each in functions_of(function, arguments, given["separator"])]
    shown = JobOutput(
        form=out,
        jid=given["verbose"] or given["show_jid"],
        static=given["static"],
        hide_timeout=given["hide_timeout"] and not (given["verbose"] or given["show_timeout"]),
        summary=given["summary"],
        indent=given["indent"],
        states=states_of(given),
    )
    if given["detached"] and len(questions) > 1:
        raise click.UsageError("--async takes one function: several are a job each, one after the other")
    with Client(config_dir) as client, written(given):
        questions = [_with_safe_batch(client, question, given) for question in questions]
        if given["detached"]:
            return _begin(client, questions[0], out)
        try:
            wait_for_all(client, questions, shown, progress=given["progress"])
        except KeyboardInterrupt:
            return _left(shown, config_dir)
        shown.end()
    if any(item.answered and not item.ok for item in shown.returns):
        output.remark("ERROR: Minions returned with non-zero exit code")
    return OK if shown.returns and all(item.ok for item in shown.returns) else FAILED


def question_of(
    target: TargetExpression, function: str, arguments: tuple[str, ...], given: dict[str, Any]
) -> CallQuestion:
    """The question of a function with its arguments as they were typed, and the options of `saltern run`."""
    try:
        values, pairs = parse(arguments)
    except BadArgument as error:
        raise click.UsageError(str(error)) from None
    return CallQuestion(
        target=target,
        fun=function,
        args=values,
        kwargs=pairs,
        timeout=given["timeout"],
        limit=given["limit"] or 0.0,
        wait=not given["detached"],
        subset=given["subset"] or 0,
        batch=given["batch"],
        batch_wait=given["batch_wait"],
        failhard=given["failhard"],
        ret=given["returners"],
        ret_config=given["return_config"],
        ret_kwargs=_mapping("--return_kwargs", given["return_kwargs"]),
        metadata=_mapping("--metadata", given["metadata"]),
    )


def _mapping(option: str, text: str) -> dict[str, Any]:
    """What an option gives as a mapping in YAML."""
    try:
        _, read = parse((f"given={text or '{}'}",))
    except BadArgument as error:
        raise click.UsageError(str(error)) from None
    if not isinstance(read["given"], dict):
        raise click.UsageError(f"{option} is a mapping, such as '{{db: 5}}', not {text!r}")
    return read["given"]


def _with_safe_batch(client: Client, question: CallQuestion, given: dict[str, Any]) -> CallQuestion:
    """In batches where more minions are meant than `--batch-safe-limit`."""
    from msgspec import structs

    limit = given["batch_safe_limit"]
    if not limit or question.batch or len(_meant(client, question.target)) <= limit:
        return question
    size = given["batch_safe_size"]
    output.remark(f"more than {limit} minions are meant: {size} at a time")
    return structs.replace(question, batch=size)


def _meant(client: Client, target: TargetExpression) -> list[str]:
    view = client.get("/status", StatusView, kind=target.kind, expression=target.expression)
    return [each.minion for each in view.minions]


def _preview(target: TargetExpression, out: str, config_dir: Path) -> int:
    with Client(config_dir) as client:
        minions = _meant(client, target)
    if out in ("json", "yaml"):
        output.salt_document(minions, out)
    else:
        click.echo("\n".join(minions))
    return OK


def _show_documentation(client: Client, target: TargetExpression, words: Sequence[str], timeout: float) -> int:
    """What functions are for, as the minions have them."""
    args = tuple(word for word in words if word)
    found: dict[str, Any] = {}
    for item in client.stream("/call", CallQuestion(target=target, fun="sys.doc", args=args, timeout=timeout)):
        if isinstance(item, CallReturn):
            if isinstance(item.value, dict):
                found |= item.value
            elif item.error:
                output.remark(output.printable(f"{item.minion}: {item.error}"))
    for name in sorted(found):
        click.echo(output.printable(f"{name}:\n\n{found[name]}\n"))
    return OK if found else FAILED


def _begin(client: Client, question: CallQuestion, out: str) -> int:
    for item in client.stream("/call", question):
        if isinstance(item, CallStarted):
            if out in ("json", "yaml"):
                output.document({"jid": item.jid, "minions": item.minions, "missing": item.missing}, out)
            else:
                click.echo(f"Executed command with job ID: {item.jid}")
            if item.unknown:
                output.remark(f"no accepted key has these ids: {', '.join(item.unknown)}")
    return OK


def _wait(client: Client, question: CallQuestion, shown: JobOutput, *, progress: bool) -> None:
    from msgspec import structs

    with progress_line(shown=progress or sys.stderr.isatty()) as line:
        for item in client.stream("/call", structs.replace(question, progress=line.shown)):
            if isinstance(item, CallStarted):
                shown.started(item)
                line.begin(len(item.minions))
                for unknown in unknown_returns(item):
                    shown.returned(unknown)
            elif isinstance(item, CallProgress):
                line.update(item)
            else:
                with line.aside(item.minion):
                    shown.returned(item)


def wait_for_all(client: Client, questions: Sequence[CallQuestion], shown: JobOutput, *, progress: bool) -> None:
    """One function, or several in turn: then the values of a minion are a mapping by function."""
    if len(questions) == 1:
        _wait(client, questions[0], shown, progress=progress)
        return
    found: dict[str, list[tuple[str, CallReturn]]] = {}
    for question in questions:
        one = JobOutput(form="quiet")
        try:
            _wait(client, question, one, progress=progress)
        finally:
            if one.begun is not None:
                shown.started(one.begun)
        for item in one.returns:
            found.setdefault(item.minion, []).append((question.fun, item))
    for minion, items in found.items():
        shown.returned(
            CallReturn(
                minion=minion,
                ok=all(item.ok for _, item in items),
                answered=all(item.answered for _, item in items),
                value={fun: told(item) for fun, item in items},
            )
        )


def functions_of(function: str, words: Sequence[str], separator: str) -> list[tuple[str, tuple[str, ...]]]:
    """One function with its arguments, or several with commas, each with its own.

    Their arguments stand between words that are the separator, or between separators inside of words where there are
    not as many of the former. Source: salt.utils.parsers.SaltCMDOptionParser._mixin_after_parsed.
    """
    if "," not in function:
        return [(function, tuple(words))]
    functions = [name.strip() for name in function.split(",")]
    standing = list(words).count(separator) == len(functions) - 1
    groups: list[list[str]] = [[]]
    for word in words:
        parts = ([word] if word != separator else ["", ""]) if standing else word.split(separator)
        for place, part in enumerate(parts):
            if place:
                groups.append([])
            if part or len(parts) == 1:
                groups[-1].append(part)
    if not words:
        groups = [[] for _ in functions]
    if "" in functions or len(groups) != len(functions):
        raise click.UsageError(
            f"{len(functions)} functions with arguments for {len(groups)}: write"
            f" `a.b,c.d ARGUMENTS-OF-A {separator} ARGUMENTS-OF-C`"
        )
    return [(name, tuple(group)) for name, group in zip(functions, groups, strict=True)]


def _left(shown: JobOutput, config_dir: Path) -> int:
    """Ctrl-C: nobody waits any more. The job goes on, unless somebody at a terminal says otherwise."""
    if shown.begun is None:
        return INTERRUPTED
    jid = shown.begun.jid
    if sys.stdin.isatty() and sys.stderr.isatty():
        choice = click.Choice(["detach", "cancel"])
        with contextlib.suppress(click.Abort):
            if (
                click.prompt(f"\njob {jid}: leave it alone, or end it?", type=choice, default="detach", err=True)
                == "cancel"
            ):
                with Client(config_dir) as client:
                    killed = client.post("/jobs/kill", JobQuery(jid=jid), tuple[JobKill, ...])
                output.remark(f"asked {output.counted(sum(one.asked for one in killed), 'minion')} to end job {jid}")
                return INTERRUPTED
    output.remark(f"job {jid} goes on; saltern jobs show {jid} says how it stands, saltern jobs kill {jid} ends it")
    return INTERRUPTED
