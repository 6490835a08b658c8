"""`salt-key`: the keys of minions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from saltern.client import WheelClient
from saltern.salt_programs.common import Output, fail, options_of, output_of, run, shared_key_options

_TITLES = {
    "minions": "Accepted Keys:",
    "minions_denied": "Denied Keys:",
    "minions_pre": "Unaccepted Keys:",
    "minions_rejected": "Rejected Keys:",
}
"""In Salt's order."""
_LISTS = {
    "acc": "minions",
    "den": "minions_denied",
    "pre": "minions_pre",
    "un": "minions_pre",
    "rej": "minions_rejected",
}
_DONE = {"accept": "accepted", "reject": "rejected", "delete": "deleted"}


@click.command("salt-key")
@click.option("-l", "--list", "list_", metavar="STATE", default="", help="pre, un, acc, rej, den or all.")
@click.option("-L", "--list-all", is_flag=True)
@click.option("-a", "--accept", "accept", metavar="GLOB", default="")
@click.option("-A", "--accept-all", is_flag=True)
@click.option("-r", "--reject", "reject", metavar="GLOB", default="")
@click.option("-R", "--reject-all", is_flag=True)
@click.option("-d", "--delete", "delete", metavar="GLOB", default="")
@click.option("-D", "--delete-all", is_flag=True)
@click.option("-p", "--print", "print_", metavar="GLOB", default="")
@click.option("-P", "--print-all", is_flag=True)
@click.option("-f", "--finger", "finger", metavar="GLOB", default="")
@click.option("-F", "--finger-all", is_flag=True)
@click.option("--finger-hash", default="", help="Accepted: fingerprints are SHA-256.")
@click.option("--include-all", is_flag=True)
@click.option("--include-accepted", is_flag=True)
@click.option("--include-rejected", is_flag=True)
@click.option("--include-denied", is_flag=True)
@click.option("-y", "--yes", is_flag=True)
@click.option("-q", "--quiet", is_flag=True)
@click.option("--gen-keys", default="", metavar="NAME", help="Not here: a minion makes its own key.")
@shared_key_options
def command(**given: Any) -> int:
    """Look at keys, and accept, reject and delete them. `saltern key` is the same under Saltern's name."""
    output, wheel = output_of(given), WheelClient(options_of(given))
    if given["gen_keys"]:
        fail("--gen-keys is not here: a minion makes its own key when it first starts", 64)
    for verb in ("accept", "reject", "delete"):
        if match := given[verb] or ("*" if given[f"{verb}_all"] else ""):
            return _change(wheel, verb, match, given)
    if match := given["finger"] or ("*" if given["finger_all"] else ""):
        found = wheel.call_func("key.finger", match=match)
        _show(found | (wheel.call_func("key.finger_master") if given["finger_all"] else {}), output)
        return 0
    if match := given["print_"] or ("*" if given["print_all"] else ""):
        _show(wheel.call_func("key.print", match=match), output)
        return 0
    return _list(wheel, given["list_"], output)


def main() -> None:
    """The program."""
    run(command)


def _list(wheel: WheelClient, state: str, output: Output) -> int:
    every = wheel.call_func("key.list_all")
    wanted = state.lower()
    names = [name for short, name in _LISTS.items() if wanted.startswith(short)]
    if wanted and wanted != "all" and not names:
        fail(f"{state!r} is no state of keys: pre, un, acc, rej, den or all", 64)
    _show({name: every[name] for name in _TITLES if name in every and (not names or name in names)}, output)
    return 0


def _show(found: Mapping[str, Any], output: Output) -> None:
    """Keys by their states: as Salt shows them to people, or by an outputter."""
    if output.outputter:
        output.show(dict(found))
        return
    for state, keys in found.items():
        click.echo(_TITLES.get(state, f"{state}:"))
        for name in sorted(keys):
            click.echo(f"{name}:  {keys[name]}" if isinstance(keys, Mapping) else name)


def _change(wheel: WheelClient, verb: str, match: str, given: Mapping[str, Any]) -> int:
    """Change the keys that a glob means, after asking."""
    states = _states(verb, given)
    matching = wheel.call_func("key.name_match", match=match)
    chosen = {state: ids for state, ids in matching.items() if state in states and ids}
    if not chosen:
        click.echo(f"The key glob {match!r} does not match any {'' if verb == 'delete' else 'unaccepted '}keys.")
        return 0
    if not given["yes"]:
        click.echo(f"The following keys are going to be {_DONE[verb]}:")
        for state in _TITLES:
            if state in chosen:
                click.echo("\n".join((_TITLES[state], *chosen[state])))
        if not click.confirm("Proceed?", default=True, prompt_suffix=" "):
            return 0
    every = {name for ids in chosen.values() for name in ids}
    for name in sorted(every & _changed(wheel, verb, match, states, chosen)):
        if not given["quiet"]:
            click.echo(f"Key for minion {name} {_DONE[verb]}.")
    return 0


def _changed(wheel: WheelClient, verb: str, match: str, states: set[str], chosen: Mapping[str, Any]) -> set[str]:
    """Have keys changed; the ids of those that are. Ends the program where the controller refuses."""
    if verb == "delete":
        left = wheel.call_func("key.delete_dict", match=chosen)
        if isinstance(left, str):
            fail(left)
        return {name for state, ids in chosen.items() for name in ids if name not in left.get(state, ())}
    included = {"rejected": "minions_rejected"} if verb == "accept" else {"accepted": "minions"}
    more = {f"include_{name}": state in states for name, state in {**included, "denied": "minions_denied"}.items()}
    changed = wheel.call_func(f"key.{verb}", match=match, **more)
    if isinstance(changed, str):
        fail(changed)
    return {name for ids in changed.values() for name in ids}


def _states(verb: str, given: Mapping[str, Any]) -> set[str]:
    """The states of the keys that are meant."""
    if verb == "delete" or given["include_all"]:
        return set(_TITLES) - ({"minions"} if verb == "accept" else {"minions_rejected"} if verb == "reject" else set())
    more = {"accepted": "minions", "rejected": "minions_rejected", "denied": "minions_denied"}
    return {"minions_pre", *(state for name, state in more.items() if given[f"include_{name}"])}
