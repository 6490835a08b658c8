"""The entry of the process: the verbs by name, and what every one of them has in common when it ends.

Must import nothing but click: `saltern --help` and `saltern call` are to start at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from controller.cli.failure import FAILED, INTERRUPTED, OK, USAGE, Failure
from controller.cli.salt_options import reason_for
from options.near_names import did_you_mean, near

VERBS: dict[str, tuple[str, str]] = {
    "status": ("status", "Sync and health of all minions."),
    "top": ("terminal.top", "What the fleet is doing now."),
    "diff": ("diff", "What is pending on minions, and what drifted."),
    "history": ("history", "Runs, newest first."),
    "show": ("show", "One run with all that came of it."),
    "why": ("explain.why", "Why a minion was compiled or ran last."),
    "blame": ("explain.blame", "Where the values of a state are written, and who changed them last."),
    "adopt": ("explain.adopt", "Write what drifted on a minion, and should stay, to a branch in git."),
    "sync": ("sync", "Apply what is pending now."),
    "pause": ("pause", "Apply nothing more on minions."),
    "resume": ("pause", "The opposite of pause."),
    "confirm": ("pause", "Keep what was applied and is taken back otherwise."),
    "restore": ("jobs.restore", "Bring back a file that a state overwrote or deleted."),
    "rollout": ("rollouts.rollout", "Revisions on their way to the fleet."),
    "rollback": ("rollouts.rollback", "Take the live revision back."),
    "preview": ("preview", "What moving from one git ref to another would change."),
    "pulls": ("pulls", "The open pull requests, with their previews and what they wait for."),
    "unapply": ("pulls", "Have minions go back from a pull request to what is live."),
    "run": ("run", "Run a function on minions."),
    "ssh": ("jobs.ssh", "Run a function on machines without an agent, over ssh."),
    "cloud": ("cloud.cloud", "Make, list and destroy machines of clouds, which become minions."),
    "minions": ("jobs.minions", "Which minions there are, and which are connected."),
    "workers": ("workers", "Where minions are compiled, and which workers of a cluster there are."),
    "notify": ("notifications.notify", "Who is told of what happens, what waits to be told, and a test."),
    "jobs": ("jobs.jobs", "Jobs of minions, what became of them on each, and their end."),
    "cp": ("cp", "Copy files to minions."),
    "runner": ("runner", "Call a runner: a function of the controller."),
    "wheel": ("runner", "Call a wheel: a function over what the controller holds."),
    "orchestrations": ("orchestrations", "Orchestrations that go on, and those that ended."),
    "key": ("keys.key", "Accept, reject and list the keys of minions."),
    "login": ("access.login", "Get a token for a password."),
    "logout": ("access.login", "Take that token back."),
    "whoami": ("access.login", "Who you are for the controller."),
    "token": ("access.token", "Tokens by which scripts and people show who they are."),
    "audit": ("access.audit", "What people asked of the controller, and whether they might."),
    "remote": ("remote", "The git remotes."),
    "forge": ("forge", "The forges whose pull requests are previewed."),
    "ls": ("ls", "List files of the trees."),
    "cat": ("cat", "Print a file of the trees."),
    "events": ("events", "Follow everything that happens."),
    "reactor": ("local.reactor", "What reactors there are, and what they would do about an event."),
    "reactions": ("reactions", "What reactors did."),
    "schedule": ("schedule", "Jobs of schedules: when they run, and run, enable or disable them."),
    "policy": ("local.policy", "What saltern.yaml says, and what of it holds for a minion."),
    "compile": ("local.compile", "Compile a minion's highstate from folders, without a controller."),
    "lint": ("local.lint", "Check a tree of states and pillar for what is wrong in it."),
    "migrate": ("migration.migrate", "From Salt: what works, what differs, and how minions compile with both."),
    "docs": ("terminal.docs", "The pages of the documentation that messages name."),
    "completion": ("terminal.completion", "Have a shell complete verbs, options, minions and functions."),
    "backup": ("local.backup", "The store and the keys of a controller as one archive, and back."),
    "call": ("call", "Run a function on this machine."),
    "init": ("setup.init", "Set up a controller on this machine."),
    "doctor": ("setup.doctor", "Check this machine, and say what to do about what is wrong."),
    "controller": ("controller", "Run the controller."),
    "reload": ("setup.reload", "Have the controller take its configuration anew, without a restart."),
    "minion": ("minion", "Run the agent of this machine, or join it to a controller."),
    "swarm": ("local.swarm", "Simulate minions, for load tests."),
    "relay": ("relay", "Carry minions to a controller that they do not reach themselves."),
    "gateway": ("local.gateway", "Carry stock salt-minions to a controller."),
}
"""Verb -> (module in this package, what it does). The module has a command `VERB_command`."""


ON_MINIONS = ("call", "docs", "doctor", "gateway", "minion", "relay", "swarm")
"""Verbs that work without the controller's libraries (docs/adr/0017)."""


class Verbs(click.Group):
    """Shows the verbs from the table above and loads the module of the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table, which is the order of use."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"controller.cli.verbs.{VERBS[cmd_name][0]}")
        command = getattr(module, f"{cmd_name}_command")
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name}_command is no command")
        _tell_whole(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say which verb was probably meant."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no verb {args[0]!r}{_near(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb. The reader of the output may stop reading (`| head`), which is no failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _mute_stdout()
            return OK

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


def _tell_whole(command: click.Command) -> None:
    """Have lists of subcommands show whole sentences, which are wrapped: click cuts them where a line ends."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        first = " ".join((inner.help or "").split("\n\n")[0].split())
        inner.short_help = inner.short_help or first.partition(". ")[0].rstrip(".") + "."
        _tell_whole(inner)


_EPILOG = """\b
Exit codes: 0 ok, 1 failed, 2 changes pending, 3 controller unreachable,
4 compile error, 5 no minion matches, 64 wrong usage.
Completion: eval "$(saltern completion bash)"  (or zsh, fish)
"""


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
    no_args_is_help=True,
)
@click.version_option(package_name="saltern", message="saltern %(version)s")
def saltern() -> None:
    """GitOps for servers: a git push renders, plans and applies Salt states on the machines that it changes."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process and end it with the verb's exit code."""
    code = run(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _mute_stdout()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a verb; its exit code."""
    try:
        result = saltern.main(list(arguments), prog_name="saltern", standalone_mode=False, **_forced_colours())
    except Failure as failure:
        failure.show()
        return failure.code
    except click.UsageError as error:
        _related(error).show()
        return OK if isinstance(error, click.exceptions.NoArgsIsHelpError) else USAGE
    except click.ClickException as error:
        error.show()
        return FAILED
    except ModuleNotFoundError as error:
        lacking = _lacking_extra(arguments, error)
        if lacking is None:
            raise
        lacking.show()
        return lacking.code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    return result if isinstance(result, int) else OK


def _forced_colours() -> dict[str, Any]:
    """Keeps click from taking colours out of what goes to no terminal, where `CLICOLOR_FORCE` asks for them."""
    forced = os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0") and not os.environ.get("NO_COLOR")
    return {"color": True} if forced else {}


def _related(error: click.UsageError) -> click.UsageError:
    """The error, which hints at options that are like the one that is not known, and at no others.

    An option of Salt's that no verb has is told with the reason.
    """
    if not isinstance(error, click.NoSuchOption):
        return error
    verb = error.ctx.info_name if error.ctx is not None else None
    if reason := reason_for(verb or "", error.option_name):
        return click.UsageError(f"No such option {error.option_name!r}: {reason}.", error.ctx)
    if not error.possibilities:
        return error
    known = {option.lstrip("-"): option for option in error.possibilities}
    like = [known[name] for name in near(error.option_name.lstrip("-"), known, most=3)]
    return click.NoSuchOption(error.option_name, possibilities=like or None, ctx=error.ctx)


def _lacking_extra(arguments: Sequence[str], error: ModuleNotFoundError) -> Failure | None:
    """What to install where a verb of the controller lacks a library; None where that is not why."""
    verb = next((word for word in arguments if word in VERBS), "")
    library = (error.name or "").partition(".")[0]
    if verb == "relay" and library == "cryptography":
        return Failure(f"`saltern {verb}` needs {library}", USAGE, hint="pip install 'saltern[cryptography]'")
    if verb == "gateway" and library in ("cryptography", "msgpack"):
        return Failure(f"`saltern {verb}` needs {library}", USAGE, hint="pip install 'saltern[gateway]'")
    own = (error.name or "").startswith("controller.")  # packages of a system have the room apart
    if verb in ("", *ON_MINIONS) or (library in __name__.split(".") and not own):
        return None
    return Failure(
        f"`saltern {verb}` is of the controller, whose libraries are not installed here ({library} is missing)",
        hint="pip install 'saltern[controller]', or the package saltern-controller, brings them; "
        "`saltern minion` and `saltern call` need none of them",
        code=USAGE,
    )


def _mute_stdout() -> None:
    """Nobody reads stdout any more; Python shall not complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _near(verb: str) -> str:
    return "; " + (did_you_mean(verb, VERBS, most=2) or "`saltern --help` lists them")
