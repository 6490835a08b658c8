"""Keys as salt-key shows them: headings in text, and the shape of its JSON. Asks nothing of the controller.

Source of names and headings: the output of salt-key 3008. A key is denied that asks for an id whose key is another.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from controller.cli import output
from controller.schema.keys import KeyView

HEADINGS = {
    "minions": "Accepted Keys:",
    "minions_denied": "Denied Keys:",
    "minions_pre": "Unaccepted Keys:",
    "minions_rejected": "Rejected Keys:",
}
"""Status of a key by Salt's name -> how it is headed, in salt-key's order."""

_WORDS = {
    "acc": "minions",
    "den": "minions_denied",
    "pre": "minions_pre",
    "un": "minions_pre",
    "pend": "minions_pre",
    "rej": "minions_rejected",
}
"""How a word for a status begins."""


def status_of(key: KeyView) -> str:
    """Salt's name of where a key stands."""
    if key.state == "pending" and key.conflict:
        return "minions_denied"
    return {"accepted": "minions", "pending": "minions_pre", "rejected": "minions_rejected"}[key.state]


def statuses(word: str) -> tuple[str, ...]:
    """The statuses that a word means, as salt-key reads it (`pre`, `un`, `unaccepted`, `acc`, `rej`, `den`, `all`).

    click.UsageError for another word.
    """
    if word.startswith("all"):
        return tuple(HEADINGS)
    for beginning, status in _WORDS.items():
        if word.startswith(beginning):
            return (status,)
    raise click.UsageError(f"{word!r} is no state of keys: acc, pre (or un), rej, den, all")


def ids(keys: Iterable[KeyView], shown: Sequence[str]) -> dict[str, list[str]]:
    """Ids by status."""
    found: dict[str, list[str]] = {status: [] for status in shown}
    for key in keys:
        if status_of(key) in found:
            found[status_of(key)].append(key.minion)
    return {status: sorted(names) for status, names in found.items()}


def values(keys: Iterable[KeyView], value: Callable[[KeyView], str]) -> dict[str, dict[str, Any]]:
    """Something of each key by status and id; of an id with several keys in one status a list."""
    found: dict[str, dict[str, Any]] = {}
    for key in keys:
        of_status = found.setdefault(status_of(key), {})
        before = of_status.get(key.minion)
        if before is None:
            of_status[key.minion] = value(key)
        else:
            of_status[key.minion] = [*([before] if isinstance(before, str) else before), value(key)]
    return found


def print_ids(keys: Iterable[KeyView], shown: Sequence[str]) -> None:
    """Print ids under headings, empty ones, too."""
    found = ids(keys, shown)
    for status, heading in HEADINGS.items():
        if status in found:
            click.echo(output.styled(heading, fg="green" if status == "minions" else "red", bold=True))
            for name in found[status]:
                click.echo(output.printable(name))


def print_values(keys: Iterable[KeyView], value: Callable[[KeyView], str]) -> None:
    """Print `ID:  value` under headings."""
    found = list(keys)
    for status, heading in HEADINGS.items():
        lines = sorted(f"{output.printable(key.minion)}:  {value(key)}" for key in found if status_of(key) == status)
        if lines:
            click.echo(output.styled(heading, fg="green" if status == "minions" else "red", bold=True))
            for line in lines:
                click.echo(line)


def meant(key: KeyView, names: Sequence[str]) -> bool:
    """Whether one of these names means a key: ids, globs, fingerprints, or several of these with commas."""
    each = [part.strip() for name in names for part in name.split(",")]
    prints = {key.fingerprint, key.salt_fingerprint}
    return any(name in prints or fnmatch.fnmatchcase(key.minion, name) for name in each if name)


def shown_fingerprint(key: KeyView) -> str:
    """What a person compares: of a stock minion the fingerprint that Salt shows there."""
    return key.salt_fingerprint or key.fingerprint
