"""`saltern ssh`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, Failure
from controller.cli.run_output import JobOutput, output_options, states_of, written
from controller.cli.verbs.run import functions_of, question_of, wait_for_all
from controller.schema.fleet.ssh import SshQuestion, SshRawQuestion, SshRawView, SshTargetsView, SshVisitView
from controller.schema.runs import CallReturn
from controller.schema.targets import TargetExpression
from minion.call.options import OUTPUTTERS


@click.command("ssh")
@click.argument("target")
@click.argument("function", required=False, default="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-E", "--pcre", "kind", flag_value="pcre", help="TARGET is a regular expression.")
@click.option("-L", "--list", "kind", flag_value="list", help="TARGET is a list of ids with commas.")
@click.option("-N", "--nodegroup", "kind", flag_value="nodegroup", help="TARGET is a nodegroup of the configuration.")
@click.option("-r", "--raw", "--raw-shell", "raw", is_flag=True, help="FUNCTION is a command for the shell there.")
@click.option("-w", "--wipe", is_flag=True, help="Remove the worker and the minion's files there.")
@click.option("-t", "--thin", "--regen-thin", "new_worker", is_flag=True, help="Make the worker anew.")
@click.option("-i", "--ignore-host-keys", "new_hosts", is_flag=True, help="Accept the keys of hosts that are new.")
@click.option("--no-host-keys", is_flag=True, help="Accept any key of a host: anybody could answer in its place.")
@click.option("--roster", default="", metavar="KIND", help="flat, ansible, cache or sshconfig.")
@click.option("--roster-file", type=click.Path(path_type=Path), help="A flat roster, in place of the controller's.")
@click.option("--user", default="", help="In place of the roster's.")
@click.option("--port", type=click.IntRange(1, 65535), help="In place of the roster's.")
@click.option("--priv", default="", metavar="PATH", help="A private key on the controller, in place of the roster's.")
@click.option("--passwd", default="", help="A password, in place of the roster's. Others on this machine may see it.")
@click.option("--askpass", is_flag=True, help="Ask for a password.")
@click.option("--key-deploy", is_flag=True, help="Put the controller's key there first; this needs a password.")
@click.option("--pre-flight", is_flag=True, help="Run the script of ssh_pre_flight where the worker is, too.")
@click.option("--preview-target", is_flag=True, help="Show whom TARGET means, and do nothing.")
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for returns.")
@click.option("-s", "--static", is_flag=True, help="Print all returns together.")
@click.option("-v", "--verbose", is_flag=True, help="Show the id of the job.")
@click.option("--args-separator", "separator", default=",", help="Between the arguments of several functions.")
@click.option("--out", "--output", type=click.Choice(OUTPUTTERS), default="nested", show_default=True)
@output_options
@options.config_dir
def ssh_command(
    target: str, function: str, arguments: tuple[str, ...], config_dir: Path, out: str, **given: Any
) -> int:
    """Run FUNCTION on machines of the roster that TARGET (a glob) matches, over ssh, without an agent there.

    The controller connects, as its own user and with its own key, and starts an agent for the while that it takes.
    Everything else is as in `saltern run`: docs/ssh.md.
    """
    asked = _question(TargetExpression(kind=given["kind"] or "glob", expression=target), given)
    with Client(config_dir) as client, written(given):
        meant = client.post("/ssh/targets", asked, SshTargetsView)
        if given["preview_target"]:
            if out in ("json", "yaml"):
                output.salt_document(list(meant.minions), out)
            else:
                click.echo("\n".join(meant.minions))
            return OK
        if not function and not given["wipe"]:
            raise click.UsageError("Missing argument 'FUNCTION'.")
        shown = JobOutput(
            form=out,
            jid=given["verbose"],
            static=given["static"],
            hide_timeout=False,
            summary=False,
            indent=given["indent"],
            states=states_of(given),
        )
        if given["raw"] or given["wipe"]:
            _raw(client, asked, " ".join((function, *arguments)), shown, given)
        else:
            for group in _groups(meant):
                _call(client, config_dir, asked, group, (function, arguments), shown, given)
        shown.end()
    return OK if shown.returns and all(item.ok for item in shown.returns) else FAILED


def _question(target: TargetExpression, given: dict[str, Any]) -> SshQuestion:
    password = given["passwd"]
    if given["askpass"]:
        password = click.prompt("Password", hide_input=True, err=True)
    if given["key_deploy"] and not password:
        raise click.UsageError("--key-deploy needs a password: --askpass, or --passwd")
    text = None
    if given["roster_file"] is not None:
        try:
            text = given["roster_file"].read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"{given['roster_file']}: {error}") from None
    return SshQuestion(
        target=target,
        roster=given["roster"],
        roster_text=text,
        user=given["user"],
        password=password,
        private_key=given["priv"],
        port=given["port"] or 0,
        host_keys="ignore" if given["no_host_keys"] else "accept-new" if given["new_hosts"] else "known",
        new_worker=given["new_worker"],
        key_deploy=given["key_deploy"],
        pre_flight=given["pre_flight"],
    )


def _groups(meant: SshTargetsView) -> Iterator[Sequence[str]]:
    """So many machines as may be visited at the same time."""
    for start in range(0, len(meant.minions), meant.at_once):
        yield meant.minions[start : start + meant.at_once]


def _call(
    client: Client,
    config_dir: Path,
    asked: SshQuestion,
    group: Sequence[str],
    called: tuple[str, tuple[str, ...]],
    shown: JobOutput,
    given: dict[str, Any],
) -> None:
    """Visit machines, and have their agents call while they are there."""
    from msgspec import structs

    ids = TargetExpression(kind="list", expression=",".join(group))
    with Client(config_dir) as visiting:
        ready: list[SshVisitView] = []
        failed: list[SshVisitView] = []
        visits = visiting.stream("/ssh/visit", structs.replace(asked, target=ids))
        with contextlib.closing(visits):  # type: ignore[type-var]  # a generator
            for item in visits:
                assert isinstance(item, SshVisitView)  # noqa: S101 - the stream has no others
                (ready if item.state == "ready" else failed).append(item)
                if len(ready) + len(failed) == len(group):
                    break
            for item in sorted(failed, key=lambda item: item.minion):
                hint = f"; {item.hint}" if item.hint else ""
                shown.returned(CallReturn(minion=item.minion, ok=False, answered=False, error=item.error + hint))
            if ready:
                target = TargetExpression(kind="list", expression=",".join(sorted(item.minion for item in ready)))
                questions = [
                    question_of(target, *each, {**_DEFAULTS, **given})
                    for each in functions_of(*called, given["separator"])
                ]
                wait_for_all(client, questions, shown, progress=False)


_DEFAULTS = {
    "limit": None,
    "detached": False,
    "subset": None,
    "batch": "",
    "batch_wait": 0.0,
    "failhard": False,
    "returners": (),
    "return_config": "",
    "return_kwargs": "",
    "metadata": "",
}
"""Options of `saltern run` that this verb has not."""


def _raw(client: Client, asked: SshQuestion, command: str, shown: JobOutput, given: dict[str, Any]) -> None:
    from msgspec import structs

    question = SshRawQuestion(**structs.asdict(asked), command=command, wipe=given["wipe"], timeout=given["timeout"])
    for item in client.stream("/ssh/raw", question):
        assert isinstance(item, SshRawView)  # noqa: S101 - the stream has no others
        ok = item.retcode == 0
        shown.returned(CallReturn(minion=item.minion, ok=ok, answered=True, value=item.shown(), error=item.error))
