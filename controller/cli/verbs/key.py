"""`saltern key`: verbs, and salt-key's options for habit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, Failure
from controller.schema.keys import ControllerKey, KeyRefusals, KeyView
from controller.schema.requests import KeysQuestion

_WORDS = {"accept": "accepted", "reject": "rejected", "delete": "deleted"}
_SALT = (
    ("-L", "--list-all", "list", False, "List keys."),
    ("-A", "--accept-all", "accept-all", False, "Accept all pending keys."),
    ("-f", "--finger", "finger", True, "Show the fingerprint of a key."),
    ("-F", "--finger-all", "finger-all", False, "Show the fingerprints of all keys."),
    ("-a", "--accept", "accept", True, "Accept a key."),
    ("-r", "--reject", "reject", True, "Reject a key."),
    ("-d", "--delete", "delete", True, "Delete a key."),
)


def _salt_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for short, long, name, takes_name, text in reversed(_SALT):
        shape = {"metavar": "NAME"} if takes_name else {"is_flag": True}
        option = click.option(short, long, name.replace("-", "_"), help=text, **shape)
        function = option(function)
    return function


@click.group("key", invoke_without_command=True)
@_salt_options
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@options.out
@options.config_dir
@click.pass_context
def key_command(ctx: click.Context, /, yes: bool, out: str, config_dir: Path, **salt: Any) -> None:
    """Accept, reject and list the keys of minions. NAME is an id, a glob or a fingerprint."""
    asked = [(name, value) for name, value in salt.items() if value]
    if ctx.invoked_subcommand is not None:
        if asked:
            raise click.UsageError("use either a verb or salt-key's options")
        ctx.default_map = {verb: {"config_dir": config_dir, "out": out, "yes": yes} for verb in key_command.commands}
        return
    for name, value in asked or [("list", True)]:
        match name:
            case "list":
                list_keys(out, config_dir)
            case "accept_all":
                _change("accept", ("*",), yes, out, config_dir)
            case "finger_all":
                fingers((), out, config_dir)
            case "finger":
                fingers((value,), out, config_dir)
            case _:
                _change(name, (value,), yes, out, config_dir)


_names = click.argument("names", nargs=-1, required=True, metavar="NAME...")
# No environment variable here: it would win over what stands before the verb (`saltern key -c DIR list`).
_config_dir = click.option("-c", "--config-dir", type=click.Path(path_type=Path), help="Folder of the configuration.")
_yes = click.option("-y", "--yes", is_flag=True, help="Ask nothing.")


@key_command.command("list")
@options.out
@_config_dir
def list_command(out: str, config_dir: Path) -> None:
    """All keys, and where each stands."""
    list_keys(out, config_dir)


@key_command.command("accept")
@_names
@_yes
@options.out
@_config_dir
def accept_command(names: tuple[str, ...], yes: bool, out: str, config_dir: Path) -> None:
    """Accept keys: from then on these minions get their desired state. A glob takes pending keys only."""
    _change("accept", names, yes, out, config_dir)


@key_command.command("reject")
@_names
@_yes
@options.out
@_config_dir
def reject_command(names: tuple[str, ...], yes: bool, out: str, config_dir: Path) -> None:
    """Reject keys: they get nothing, and stay known."""
    _change("reject", names, yes, out, config_dir)


@key_command.command("delete")
@_names
@_yes
@options.out
@_config_dir
def delete_command(names: tuple[str, ...], yes: bool, out: str, config_dir: Path) -> None:
    """Forget keys; such a minion may ask again."""
    _change("delete", names, yes, out, config_dir)


@key_command.command("finger")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@options.out
@_config_dir
def finger_command(names: tuple[str, ...], out: str, config_dir: Path) -> None:
    """Fingerprints of keys, to be compared with what the minion's log says."""
    fingers(names, out, config_dir)


@key_command.command("controller")
@click.option("--fingerprint", is_flag=True, help="Its fingerprint instead.")
@options.out
@_config_dir
def controller_command(fingerprint: bool, out: str, config_dir: Path) -> None:
    """The controller's public key: what minions have as `controller_key`."""
    with Client(config_dir) as client:
        key = client.get("/keys/controller", ControllerKey)
    if out != "text":
        output.document(key, out)
    else:
        click.echo(key.fingerprint if fingerprint else key.public)


def list_keys(out: str, config_dir: Path) -> None:
    """Print all keys."""
    with Client(config_dir) as client:
        keys = client.get("/keys", tuple[KeyView, ...])
        refused = _refused(client)
    if out != "text":
        output.document(keys, out)
        return
    if not keys:
        output.remark("there are no keys: no minion has asked for this controller yet; see `saltern key controller`")
    rows = [(key.minion, key.state, output.ago(key.changed), key.fingerprint, _remark(key)) for key in keys]
    if rows:
        output.table(("Minion", "Key", "Since", "Fingerprint", "Remark"), rows)
    waiting = sum(key.state == "pending" for key in keys)
    if waiting:
        output.remark(f"{output.counted(waiting, 'key')} to be accepted: saltern key accept NAME")
    if refused:
        output.remark(refused)


def fingers(names: Sequence[str], out: str, config_dir: Path) -> None:
    """Print fingerprints of keys that one of `names` means, of all without names."""
    with Client(config_dir) as client:
        keys = [key for key in client.get("/keys", tuple[KeyView, ...]) if not names or _meant(key, names)]
    if not keys:
        raise Failure("no key has such a name" if names else "there is no key", NO_TARGET)
    if out != "text":
        output.document({key.fingerprint: {"minion": key.minion, "state": key.state} for key in keys}, out)
        return
    output.table(("Minion", "Key", "Fingerprint"), [(key.minion, key.state, key.fingerprint) for key in keys])


def _change(verb: str, names: Sequence[str], yes: bool, out: str, config_dir: Path) -> None:
    with Client(config_dir) as client:
        known = client.get("/keys", tuple[KeyView, ...])
        wanted = [key for key in known if _meant(key, names) and _movable(key, verb, names)]
        if not wanted:
            hint = "; ".join(filter(None, ("see: saltern key list", _refused(client))))
            raise Failure(f"no key to {verb} has such a name", NO_TARGET, hint=hint)
        if not yes and sys.stdin.isatty():
            for key in wanted:
                output.remark(f"{key.minion}  {key.state}  {key.fingerprint}  {_remark(key)}".rstrip())
            click.confirm(f"{verb} {output.counted(len(wanted), 'key')}?", default=True, abort=True, err=True)
        # By fingerprint: what was shown is what is changed, even if another key asks for the same id meanwhile.
        question = KeysQuestion(names=tuple(key.fingerprint for key in wanted))
        changed = client.post(f"/keys/{verb}", question, tuple[KeyView, ...])
    if out != "text":
        output.document(changed, out)
        return
    for key in changed:
        click.echo(f"{_WORDS[verb]} {key.minion}")


def _refused(client: Client) -> str:
    """What an operator should know who misses a key; empty when no request was refused."""
    limits = client.get("/keys/refused", KeyRefusals).limits
    if not limits:
        return ""
    by_limit = ", ".join(f"{limit} {count}" for limit, count in limits.items())
    count = output.counted(sum(limits.values()), "key request")
    return f"limits refused {count} since the controller started ({by_limit}); a minion asks again by itself"


def _meant(key: KeyView, names: Sequence[str]) -> bool:
    import fnmatch

    return any(name == key.fingerprint or fnmatch.fnmatchcase(key.minion, name) for name in names)


def _movable(key: KeyView, verb: str, names: Sequence[str]) -> bool:
    """A glob accepts and rejects what waits; what was decided before is changed by name alone, conflicts too."""
    if verb == "delete" or key.minion in names or key.fingerprint in names:
        return True
    return key.state == "pending" and not (verb == "accept" and key.conflict)


def _remark(key: KeyView) -> str:
    return "another key is accepted for this id" if key.conflict else ""
