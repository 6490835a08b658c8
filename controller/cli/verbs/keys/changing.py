"""Accepts, rejects and deletes keys for `saltern key`, in the words of salt-key."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from controller.cli import output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, USAGE, Failure
from controller.cli.verbs.keys import listing
from controller.schema.keys import KeyRefusals, KeyView
from controller.schema.requests import KeysQuestion

_DONE = {"accept": "accepted", "reject": "rejected", "delete": "deleted"}
_NAMED = {
    "minions_pre": "unaccepted",
    "minions": "accepted",
    "minions_rejected": "rejected",
    "minions_denied": "denied",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChange:
    """How a change is asked for."""

    yes: bool
    """Nobody is asked whether it is meant."""
    out: str
    config_dir: Path
    quiet: bool = False


def change(verb: str, names: Sequence[str], how: AskedChange, among: Sequence[str] = ()) -> None:
    """Accept, reject or delete.

    Args:
        verb: one of these.
        names: ids, globs, fingerprints.
        how: options.
        among: only keys in these statuses, as salt-key does it, for which no match is no failure; none: pending keys
            for a glob, and whatever an id or fingerprint means.
    """
    with Client(how.config_dir) as client:
        known = client.get("/keys", tuple[KeyView, ...])
        wanted = [key for key in known if listing.meant(key, names) and _movable(key, verb, names, among)]
        if verb == "accept":
            wanted = _without_denied(wanted, names)
        if not wanted:
            _nothing(client, verb, names, among, how)
            return
        told = how.out == "text" and not how.quiet
        if told:
            click.echo(f"The following keys are going to be {_DONE[verb]}:")
            listing.print_ids(
                wanted, [status for status in _NAMED if any(listing.status_of(k) == status for k in wanted)]
            )
        asks = bool(among) or verb != "accept" or (sys.stdin is not None and sys.stdin.isatty())
        if asks and not how.yes and not _is_meant(verb, wanted):
            return
        # By fingerprint: what was shown is what is changed, even if another key asks for the same id meanwhile.
        question = KeysQuestion(names=tuple(key.fingerprint for key in wanted))
        changed = client.post(f"/keys/{verb}", question, tuple[KeyView, ...])
    if how.out != "text":
        output.salt_document(
            {s: ids for s, ids in listing.ids(changed, tuple(listing.HEADINGS)).items() if ids}, how.out
        )
    elif told:
        for key in changed:
            click.echo(f"Key for {key.role} {output.printable(key.minion)} {_DONE[verb]}.")


def _is_meant(verb: str, wanted: Sequence[KeyView]) -> bool:
    """Whether somebody says yes: at a terminal, or in a line on standard input, as to salt-key; Failure for no answer.

    An empty line is a no to delete, and a yes else. Source: salt.key.KeyCLI.run.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        for key in wanted:
            output.remark(f"{key.minion}  {listing.shown_fingerprint(key)}")
        return click.confirm("Proceed?", default=verb != "delete", abort=True, err=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if not answer:
        hint = "-y asks nothing; without a terminal a line of standard input is the answer"
        raise Failure(f"nothing was {_DONE[verb]}: nobody answered 'Proceed?'", USAGE, hint=hint)
    said = answer.strip().lower()
    return said.startswith("y") or (not said and verb != "delete")


def refused(client: Client) -> str:
    """What an operator should know who misses a key; empty when no request was refused."""
    limits = client.get("/keys/refused", KeyRefusals).limits
    if not limits:
        return ""
    by_limit = ", ".join(f"{limit} {count}" for limit, count in limits.items())
    count = output.counted(sum(limits.values()), "key request")
    return f"limits refused {count} since the controller started ({by_limit}); a minion asks again by itself"


def _nothing(client: Client, verb: str, names: Sequence[str], among: Sequence[str], how: AskedChange) -> None:
    """No key is meant: said as salt-key says it, where its options were used."""
    if not among:
        hint = "; ".join(filter(None, ("see: saltern key list", refused(client))))
        raise Failure(f"no key to {verb} has such a name", NO_TARGET, hint=hint)
    *others, last = (_NAMED[status] for status in _NAMED if status in among)
    text = f"{', '.join(others)} or {last}" if others else last
    if how.out != "text":
        output.salt_document({}, how.out)
    elif not how.quiet:
        click.echo(f"The key glob '{','.join(names)}' does not match any {text} keys.")


def _movable(key: KeyView, verb: str, names: Sequence[str], among: Sequence[str]) -> bool:
    """A glob accepts and rejects what waits; what was decided before is changed by name alone, conflicts too.

    A glob is about minions: relays and gateways are accepted by name alone.
    """
    if verb == "accept" and key.role != "minion" and not {key.minion, key.fingerprint} & set(names):
        return False
    if among:
        return listing.status_of(key) in among
    if verb == "delete" or key.minion in names or key.fingerprint in names:
        return True
    return key.state == "pending" and not (verb == "accept" and key.conflict)


def _without_denied(wanted: Sequence[KeyView], names: Sequence[str]) -> list[KeyView]:
    """Of an id with several keys that wait, the first one; the others by their fingerprints alone, and said."""
    first = {key.minion.casefold() for key in wanted if not key.conflict}
    denied = [
        key
        for key in wanted
        if key.conflict and key.minion.casefold() in first and {key.fingerprint, key.salt_fingerprint}.isdisjoint(names)
    ]
    for key in denied:
        output.remark(
            f"another key for {output.printable(key.minion)} is denied, since it came later; it can be accepted by its "
            f"fingerprint instead: {listing.shown_fingerprint(key)}"
        )
    return [key for key in wanted if key not in denied]
