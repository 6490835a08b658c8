"""`saltern key`: verbs, and salt-key's options as they are typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, Failure
from controller.cli.verbs.keys import listing
from controller.cli.verbs.keys.changing import AskedChange, change, refused
from controller.cli.verbs.keys.enrolling import add_key, rotate, rotate_controller, token_command
from controller.cli.verbs.keys.generating import generate
from controller.schema.keys import ControllerKey, KeyView

_KEY_CHARACTERS = 40  # of a CURVE key in Z85
_MEANINGLESS = {
    "keysize": "--keysize means nothing here: CURVE keys have one size",
    "rotate_aes_key": "--rotate-aes-key means nothing here: each connection has session keys of its own",
    "preserve_minions": "--preserve-minions means nothing here: who comes anew with an id gets nothing of the old",
}
"""Options of salt-key that are accepted, with why they change nothing."""

_ACTIONS = (
    (("-l", "--list"), "list", {"metavar": "STATE"}, "List keys: acc, pre (or un), rej, den, all."),
    (("-L", "--list-all"), "list_all", {"is_flag": True}, "List all keys."),
    (("-a", "--accept"), "accept", {"metavar": "NAME"}, "Accept pending keys."),
    (("-A", "--accept-all"), "accept_all", {"is_flag": True}, "Accept all pending keys."),
    (("-r", "--reject"), "reject", {"metavar": "NAME"}, "Reject pending keys."),
    (("-R", "--reject-all"), "reject_all", {"is_flag": True}, "Reject all pending keys."),
    (("-d", "--delete"), "delete", {"metavar": "NAME"}, "Delete keys."),
    (("-D", "--delete-all"), "delete_all", {"is_flag": True}, "Delete all keys."),
    (("-f", "--finger"), "finger", {"metavar": "NAME"}, "Show fingerprints of keys."),
    (("-F", "--finger-all"), "finger_all", {"is_flag": True}, "Show the fingerprints of all keys, the own one, too."),
    (("-p", "--print"), "print", {"metavar": "NAME"}, "Show public keys."),
    (("-P", "--print-all"), "print_all", {"is_flag": True}, "Show all public keys."),
    (("--gen-keys",), "gen_keys", {"metavar": "NAME"}, "Make a key pair in NAME.key and NAME.pub."),
)
_MODES = (
    (("--gen-keys-dir",), "gen_keys_dir", {"metavar": "FOLDER", "default": "."}, "Where --gen-keys writes."),
    (("--include-all",), "include_all", {"is_flag": True}, "As --include-rejected or --include-accepted."),
    (("--include-accepted",), "include_accepted", {"is_flag": True}, "Reject accepted keys, too."),
    (("--include-rejected",), "include_rejected", {"is_flag": True}, "Accept rejected keys, too."),
    (("--include-denied",), "include_denied", {"is_flag": True}, "Also keys that ask for an id which another has."),
    (("--keysize",), "keysize", {"type": int}, "Means nothing here; CURVE keys have one size."),
    (("--rotate-aes-key",), "rotate_aes_key", {"metavar": "BOOL"}, "Means nothing here."),
    (("--preserve-minions",), "preserve_minions", {"metavar": "BOOL"}, "Means nothing here."),
    (("-q", "--quiet"), "quiet", {"is_flag": True}, "Print nothing about changes."),
)


def _salt_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for names, parameter, shape, text in reversed((*_ACTIONS, *_MODES)):
        function = click.option(*names, f"salt_{parameter}", help=text, **shape)(function)
    return function


@click.group("key", invoke_without_command=True)
@_salt_options
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@options.out
@options.config_dir
@click.pass_context
def key_command(ctx: click.Context, /, yes: bool, out: str, config_dir: Path, **salt: Any) -> None:
    """Accept, reject and list the keys of minions. NAME is an id, a glob, a fingerprint, or several with commas."""
    given = {name.removeprefix("salt_"): value for name, value in salt.items() if value is not None}
    asked = [(parameter, given[parameter]) for _, parameter, _, _ in _ACTIONS if given.get(parameter)]
    if ctx.invoked_subcommand is not None:
        if asked:
            raise click.UsageError("use either a verb or salt-key's options")
        defaults = {"config_dir": config_dir, "out": out, "yes": yes}
        of_tokens = {"token": dict.fromkeys(token_command.commands, defaults)}
        ctx.default_map = {**dict.fromkeys(key_command.commands, defaults), **of_tokens}
        return
    for parameter, why in _MEANINGLESS.items():
        if parameter in given:
            output.remark(why)
    if len(asked) > 1:
        raise click.UsageError("one of salt-key's actions at a time")
    action, value = asked[0] if asked else ("list_all", True)
    _act(action, value, given, AskedChange(yes=yes, out=out, config_dir=config_dir, quiet=given["quiet"]))


def _act(action: str, value: Any, given: dict[str, Any], how: AskedChange) -> None:
    """Do what one of salt-key's options asks."""
    names = ("*",) if action.endswith("_all") else (str(value),)
    match action.removesuffix("_all"):
        case "list":
            list_keys(listing.statuses("all" if action == "list_all" else value), how.out, how.config_dir)
        case "finger":
            fingers(names, how.out, how.config_dir, own=action == "finger_all")
        case "print":
            public_keys(names, how.out, how.config_dir)
        case "gen_keys":
            generate(str(value), Path(given["gen_keys_dir"]), how.out)
        case verb:
            include = {
                "minions": verb == "delete"
                or (verb == "reject" and (given["include_all"] or given["include_accepted"])),
                "minions_rejected": verb == "delete"
                or (verb == "accept" and (given["include_all"] or given["include_rejected"])),
                "minions_denied": verb == "delete" or given["include_denied"],
                "minions_pre": True,
            }
            change(verb, names, how, among=tuple(status for status, wanted in include.items() if wanted))


_names = click.argument("names", nargs=-1, required=True, metavar="NAME...")
_yes = click.option("-y", "--yes", is_flag=True, help="Ask nothing.")


@key_command.command("list")
@click.argument("state", default="all", metavar="[STATE]")
@click.option("-v", "--verbose", is_flag=True, help="A table with times, fingerprints and remarks.")
@options.out
@options.config_dir_of_verb
def list_command(state: str, verbose: bool, out: str, config_dir: Path) -> None:
    """Keys by where they stand. STATE is acc, pre, rej, den or all."""
    list_keys(listing.statuses(state), out, config_dir, verbose=verbose)


@key_command.command("accept")
@_names
@_yes
@options.out
@options.config_dir_of_verb
def accept_command(names: tuple[str, ...], yes: bool, out: str, config_dir: Path) -> None:
    """Accept keys: from then on these minions get their desired state. A glob takes pending keys only."""
    change("accept", names, AskedChange(yes=yes, out=out, config_dir=config_dir))


@key_command.command("reject")
@_names
@_yes
@options.out
@options.config_dir_of_verb
def reject_command(names: tuple[str, ...], yes: bool, out: str, config_dir: Path) -> None:
    """Reject keys: they get nothing, and stay known."""
    change("reject", names, AskedChange(yes=yes, out=out, config_dir=config_dir))


@key_command.command("delete")
@_names
@_yes
@options.out
@options.config_dir_of_verb
def delete_command(names: tuple[str, ...], yes: bool, out: str, config_dir: Path) -> None:
    """Forget keys; such a minion may ask again."""
    change("delete", names, AskedChange(yes=yes, out=out, config_dir=config_dir))


@key_command.command("finger")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@options.out
@options.config_dir_of_verb
def finger_command(names: tuple[str, ...], out: str, config_dir: Path) -> None:
    """Fingerprints of keys, to be compared with what the minion's log says."""
    if not fingers(names or ("*",), out, config_dir, own=not names) and names:
        raise Failure("no key has such a name", NO_TARGET, hint="see: saltern key list")


@key_command.command("print")
@_names
@options.out
@options.config_dir_of_verb
def print_command(names: tuple[str, ...], out: str, config_dir: Path) -> None:
    """Public keys."""
    if not public_keys(names, out, config_dir):
        raise Failure("no key has such a name", NO_TARGET, hint="see: saltern key list")


@key_command.command("gen")
@click.argument("name")
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=".", help="Where the files are written.")
@options.out
def gen_command(name: str, folder: Path, out: str) -> None:
    """Make a key pair in the files NAME.key and NAME.pub, for a minion whose key is accepted beforehand."""
    generate(name, folder, out)


class _WithKey(click.Command):
    """A key in Z85 may begin with a dash, and is no option then."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        keys = [word for word in args if word.startswith("-") and len(word) == _KEY_CHARACTERS and "--" not in args]
        rest = [word for word in args if word not in keys]
        return super().parse_args(ctx, [*rest, "--", *keys] if keys else args)


@key_command.command("add", cls=_WithKey)
@click.argument("minion")
@click.argument("key", metavar="KEY|FILE")
@click.option("--relay", is_flag=True, help="It is the key of a relay (`saltern relay --key`), which carries minions.")
@click.option("--gateway", is_flag=True, help="It is the key of a gateway (`saltern gateway --key`).")
@options.out
@options.config_dir_of_verb
def add_command(minion: str, key: str, relay: bool, gateway: bool, out: str, config_dir: Path) -> None:
    """Accept a key before its minion has asked: a public key, or the file NAME.pub of `saltern key gen`."""
    if relay and gateway:
        raise click.UsageError("a key is either of a relay or of a gateway")
    add_key(minion, key, out, config_dir, role="relay" if relay else "gateway" if gateway else "minion")


@key_command.command("rotate")
@click.argument("minion", required=False, shell_complete=offers.minions)
@click.option("--controller", is_flag=True, help="The controller's key: make the next one, and tell it to minions.")
@options.out
@options.config_dir_of_verb
def rotate_command(minion: str | None, controller: bool, out: str, config_dir: Path) -> None:
    """Have a connected minion make a new key, which takes the place of the old."""
    if controller == bool(minion):
        raise click.UsageError("say either a MINION or --controller")
    if minion:
        rotate(minion, out, config_dir)
    else:
        rotate_controller(out, config_dir)


key_command.add_command(token_command)


@key_command.command("controller")
@click.option("--fingerprint", is_flag=True, help="Its fingerprint instead.")
@options.out
@options.config_dir_of_verb
def controller_command(fingerprint: bool, out: str, config_dir: Path) -> None:
    """The controller's public key: what minions have as `controller_key`."""
    with Client(config_dir) as client:
        key = client.get("/keys/controller", ControllerKey)
    if out != "text":
        output.document(key, out)
    else:
        click.echo(key.fingerprint if fingerprint else key.public)


def list_keys(shown: Sequence[str], out: str, config_dir: Path, *, verbose: bool = False) -> None:
    """Print the ids of keys in these statuses."""
    with Client(config_dir) as client:
        known = client.get("/keys", tuple[KeyView, ...])
        limits = refused(client)
    keys = [key for key in known if listing.status_of(key) in shown]
    if out != "text":
        if verbose:
            output.document(keys, out)
        else:
            output.salt_document(listing.ids(keys, shown), out)
        return
    if verbose:
        rows = [
            (key.minion, key.state, output.ago(key.changed), listing.shown_fingerprint(key), _remark(key))
            for key in keys
        ]
        output.table(("Minion", "Key", "Since", "Fingerprint", "Remark"), rows)
    else:
        listing.print_ids(keys, shown)
    if not known:
        output.remark("there are no keys: no minion has asked for this controller yet; see `saltern key controller`")
    waiting = sum(listing.status_of(key) == "minions_pre" for key in keys)
    if waiting:
        output.remark(f"{output.counted(waiting, 'key')} to be accepted: saltern key accept NAME")
    if limits:
        output.remark(limits)


def fingers(names: Sequence[str], out: str, config_dir: Path, *, own: bool = False) -> bool:
    """Print fingerprints; whether there was any.

    Args:
        names: of the keys.
        out: the form.
        config_dir: of the controller.
        own: the controller's, too.
    """
    with Client(config_dir) as client:
        keys = [key for key in client.get("/keys", tuple[KeyView, ...]) if listing.meant(key, names)]
        local = client.get("/keys/controller", ControllerKey).fingerprint if own else ""
    if out != "text":
        document: dict[str, Any] = listing.values(keys, listing.shown_fingerprint)
        output.salt_document({**({"local": {"controller.pub": local}} if own else {}), **document}, out)
    else:
        if own:
            click.echo(output.styled("Local Keys:", fg="green", bold=True))
            click.echo(f"controller.pub:  {local}")
        listing.print_values(keys, listing.shown_fingerprint)
    return bool(keys)


def public_keys(names: Sequence[str], out: str, config_dir: Path) -> bool:
    """Print public keys; whether there was any."""
    with Client(config_dir) as client:
        keys = [key for key in client.get("/keys", tuple[KeyView, ...]) if listing.meant(key, names)]
    if out != "text":
        output.salt_document(listing.values(keys, lambda key: key.public_key), out)
    else:
        listing.print_values(keys, lambda key: key.public_key)
    return bool(keys)


def _remark(key: KeyView) -> str:
    taken = "another key has this id, or came first" if key.conflict else ""
    role = "" if key.role == "minion" else f"of a {key.role}"
    return "; ".join(filter(None, (role, "of a salt-minion" if key.salt_fingerprint else "", taken)))
