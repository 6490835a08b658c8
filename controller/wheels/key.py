"""The wheel `key`: keys of minions, and the controller's own. They change as by `saltern key`, with its events.

Source of names and results: salt/wheel/key.py, salt/key.py. A denied key of Salt is one that asks for an id which
another key has.
"""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.schema.errors import ServiceError
from controller.store import KeyRecord, KeyStatus
from minion.arguments.types import AnyValue, Map, Unsupported
from wire.keys import fingerprint

_STATUS = {
    **dict.fromkeys(("acc", "accepted"), "minions"),
    **dict.fromkeys(("pre", "un", "unaccepted", "pending"), "minions_pre"),
    **dict.fromkeys(("rej", "rejected"), "minions_rejected"),
    **dict.fromkeys(("den", "denied"), "minions_denied"),
}
_ALL = ("minions", "minions_pre", "minions_rejected", "minions_denied")
HashType = Annotated[str | None, Unsupported("fingerprints of keys have one form")]


async def list_(context: RunnerContext, match: str) -> dict[str, list[str]]:
    """Ids of the keys in a state: `accepted`, `pre`, `rejected`, `denied` or `all`."""
    found = _ids(await _records(context))
    if match.lower() == "all":
        return found
    status = next((name for word, name in _STATUS.items() if word.startswith(match.lower())), None)
    if status is None:
        raise ControllerCallFailed(f"there is no state {match!r} of keys: accepted, pre, rejected, denied, all")
    return {status: found[status]}


async def list_all(context: RunnerContext) -> dict[str, list[str]]:
    """Ids of all keys by their states, and the controller's own key (`local`)."""
    return {**_ids(await _records(context)), "local": ["controller.pub"]}


async def glob_match(context: RunnerContext, match: AnyValue) -> dict[str, list[str]]:
    """Ids that a glob matches, by the states of their keys."""
    return {status: ids for status, ids in _ids(_matching(await _records(context), match)).items() if ids}


async def accept(
    context: RunnerContext, match: AnyValue, include_rejected: bool = False, include_denied: bool = False
) -> dict[str, list[str]]:
    """Accept pending keys whose id a glob matches; those that are accepted.

    Args:
        context: of the call.
        match: a glob, or several with commas or in a list.
        include_rejected: rejected ones, too.
        include_denied: those that ask for an id which another key has, too: that is refused while that key is accepted.
    """
    return await _change(context, match, "accepted", _from(include_rejected, "rejected"), include_denied)


async def accept_dict(
    context: RunnerContext, match: Map, include_rejected: bool = False, include_denied: bool = False
) -> dict[str, list[str]]:
    """Accept keys given by their states: `{minions_pre: [web1]}`."""
    return await _change_given(context, match, "accepted", _from(include_rejected, "rejected"), include_denied)


async def reject(
    context: RunnerContext, match: AnyValue, include_accepted: bool = False, include_denied: bool = False
) -> dict[str, list[str]]:
    """Reject pending keys whose id a glob matches; with `include_accepted`, accepted ones, too."""
    return await _change(context, match, "rejected", _from(include_accepted, "accepted"), include_denied)


async def reject_dict(
    context: RunnerContext, match: Map, include_accepted: bool = False, include_denied: bool = False
) -> dict[str, list[str]]:
    """Reject keys given by their states."""
    return await _change_given(context, match, "rejected", _from(include_accepted, "accepted"), include_denied)


async def delete(context: RunnerContext, match: AnyValue) -> dict[str, list[str]]:
    """Forget keys whose id a glob matches, with their minions; what matches now."""
    await _delete(context, _matching(await _records(context), match))
    return await glob_match(context, match)


async def delete_dict(context: RunnerContext, match: Map) -> dict[str, list[str]]:
    """Forget keys given by their states; those of them that are still there."""
    await _delete(context, _given(await _records(context), match))
    return {status: ids for status, ids in _ids(_given(await _records(context), match)).items() if ids}


async def key_str(context: RunnerContext, match: AnyValue) -> dict[str, dict[str, str]]:
    """The public keys of minions whose id a glob matches, by their states."""
    return _by_status(_matching(await _records(context), match), lambda record: record.public_key)


async def master_key_str(context: RunnerContext) -> dict[str, dict[str, str]]:
    """The controller's public key."""
    return {"local": {"controller.pub": context.ports.own_key}}


async def finger(context: RunnerContext, match: AnyValue, hash_type: HashType = None) -> dict[str, dict[str, str]]:
    """The fingerprints of keys whose id a glob matches, by their states."""
    return _by_status(_matching(await _records(context), match), lambda record: record.fingerprint)


async def finger_master(context: RunnerContext, hash_type: HashType = None) -> dict[str, dict[str, str]]:
    """The fingerprint of the controller's key."""
    return {"local": {"controller.pub": fingerprint(context.ports.own_key)}}


async def _records(context: RunnerContext) -> list[KeyRecord]:
    """All keys, read in a thread: whoever reaches the ports can have many wait."""
    return await asyncio.to_thread(context.ports.store.keys.all)


def _status(record: KeyRecord) -> str:
    if record.state == "pending" and record.conflict:
        return "minions_denied"
    return {"accepted": "minions", "pending": "minions_pre", "rejected": "minions_rejected"}[record.state]


def _ids(records: Iterable[KeyRecord]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {status: [] for status in _ALL}
    for record in records:
        found[_status(record)].append(record.id)
    return {status: sorted(ids) for status, ids in found.items()}


def _by_status(records: Iterable[KeyRecord], value: Any) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for record in records:
        found.setdefault(_status(record), {})[record.id] = value(record)
    return found


def _matching(records: Iterable[KeyRecord], match: Any) -> list[KeyRecord]:
    globs = match if isinstance(match, list | tuple) else str(match).split(",")
    return [one for one in records if any(fnmatch.fnmatchcase(one.id, str(glob).strip()) for glob in globs)]


def _given(records: Iterable[KeyRecord], match: Mapping[str, Any]) -> list[KeyRecord]:
    return [one for one in records if one.id in (match.get(_status(one)) or ())]


def _from(wanted: bool, state: KeyStatus) -> tuple[KeyStatus, ...]:
    return ("pending", state) if wanted else ("pending",)


async def _change(
    context: RunnerContext, match: Any, to: KeyStatus, of: tuple[KeyStatus, ...], denied: bool
) -> dict[str, list[str]]:
    return await _set(context, _matching(await _records(context), match), to, of, denied)


async def _change_given(
    context: RunnerContext, match: Mapping[str, Any], to: KeyStatus, of: tuple[KeyStatus, ...], denied: bool
) -> dict[str, list[str]]:
    return await _set(context, _given(await _records(context), match), to, of, denied)


async def _set(
    context: RunnerContext, records: Iterable[KeyRecord], to: KeyStatus, of: Collection[KeyStatus], denied: bool
) -> dict[str, list[str]]:
    """Change keys by their fingerprints, so that no other key with the same id is meant."""
    chosen = [one.fingerprint for one in records if one.state in of and (denied or _status(one) != "minions_denied")]
    if not chosen:
        return {}
    try:
        views = await context.ports.keys.set_state(chosen, tuple(of), to, context.user)
    except ServiceError as error:
        raise ControllerCallFailed(error.message) from None
    return {_STATUS[to]: sorted(view.minion for view in views)}


async def _delete(context: RunnerContext, records: Iterable[KeyRecord]) -> None:
    chosen = [one.fingerprint for one in records]
    if chosen:
        await context.ports.keys.delete(chosen, context.user)


FUNCTIONS = {
    "accept": accept,
    "accept_dict": accept_dict,
    "delete": delete,
    "delete_dict": delete_dict,
    "finger": finger,
    "finger_master": finger_master,
    "glob_match": glob_match,
    "list": list_,
    "list_all": list_all,
    "master_key_str": master_key_str,
    "name_match": glob_match,
    "print": key_str,
    "reject": reject,
    "reject_dict": reject_dict,
}
