"""The tags of events, and what Salt's events have as data: one builder for each kind that is named after Salt's.

Called wherever the controller publishes such an event, and where events of minions are taken. Pure. Names and fields
are those that `salt-run state.event` prints of a real master (`tests/golden/events/salt.json`); `docs/events.md` has
the table.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from reactors.events import KEY_REQUEST, Event

TaggedData: TypeAlias = tuple[str, dict[str, Any]]
"""Tag and data of an event."""

KEY = "salt/key"
MINION_START = "minion_start"
"""What Salt's minions fire beside `salt/minion/<id>/start`."""
PRESENT = "salt/presence/present"
PRESENCE_CHANGE = "salt/presence/change"

RESERVED = ("salt/", "saltern/")
"""Tags that begin so are the controller's."""
_RESERVED_WHOLE = frozenset({MINION_START, "key", "salt", "saltern", "new_job", "_salt_error"})
"""Tags that Salt's master gives a meaning without a slash."""

Act: TypeAlias = Literal["pend", "accept", "reject", "denied", "full"]
_ACTS: Mapping[str, Act] = {"pending": "pend", "accepted": "accept", "rejected": "reject"}


def is_reserved(tag: str) -> bool:
    """Whether only the controller may say this, or a minion about itself where a rule for it says so."""
    return tag in _RESERVED_WHOLE or tag.startswith(RESERVED)


def stamp_of(event: Event) -> str:
    """The time of an event, as Salt's have it in their data (`_stamp`)."""
    return datetime.datetime.fromtimestamp(event.time, datetime.UTC).isoformat()


def as_salt(event: Event) -> dict[str, Any]:
    """The data of an event with its time, as Salt's events have it."""
    return {"_stamp": stamp_of(event), **event.data}


def act_of(state: str) -> Act:
    """Salt's word for the state of a key that asks."""
    return _ACTS[state]


def auth(minion: str, act: Act, fingerprint: str) -> TaggedData:
    """A key asks. `result` is whether the minion is told to go on, as in Salt: it waits when the key does."""
    accepted = act in ("accept", "pend")
    return KEY_REQUEST, {"id": minion, "act": act, "result": accepted, "fingerprint": fingerprint}


def key(minion: str, act: str, fingerprint: str, user: str) -> TaggedData:
    """Somebody has decided about a key: `accepted`, `rejected` (the states, as Salt has it here) or `delete`."""
    return KEY, {"id": minion, "act": act, "result": True, "fingerprint": fingerprint, "user": user}


def minion_start(minion: str, time: str, grains: Mapping[str, Any] | None = None) -> Sequence[TaggedData]:
    """A minion has connected: the event of today, and the one that old reactors wait for.

    Args:
        minion: its id.
        time: as people read it.
        grains: those that its `start_event_grains` names.
    """
    text = f"Minion {minion} started at {time}"
    tag = f"salt/minion/{minion}/start"
    about: dict[str, Any] = {"id": minion, "cmd": "_minion_event", "pretag": None, "data": text}
    about |= {"grains": dict(grains)} if grains else {}
    return (tag, {**about, "tag": tag}), (MINION_START, {**about, "tag": MINION_START})


def presence_change(new: Sequence[str], lost: Sequence[str]) -> TaggedData:
    """Minions have come and gone."""
    return PRESENCE_CHANGE, {"new": list(new), "lost": list(lost)}


def presence(present: Sequence[str]) -> TaggedData:
    """Minions that are there now."""
    return PRESENT, {"present": list(present)}


def gitfs_update() -> TaggedData:
    """What remotes brought can be compiled and served; with the data of Salt's `gitfs.update`."""
    return "salt/fileserver/gitfs/update", {"changed": True, "backend": "gitfs"}


def job_new(jid: str, asked: Mapping[str, Any], fun: str, arguments: Sequence[Any]) -> TaggedData:
    """Minions are asked to call a function.

    Args:
        jid: of the job.
        asked: `tgt`, `tgt_type`, `minions`, `missing`, `user`, and what is ours.
        fun: the function.
        arguments: positional ones; named ones in a mapping marked with `__kwarg__`.
    """
    return f"salt/job/{jid}/new", {**asked, "jid": jid, "fun": fun, "arg": list(arguments)}


def job_return(jid: str, minion: str, data: Mapping[str, Any]) -> TaggedData:
    """A minion has its result.

    Args:
        jid: of the job.
        minion: its id.
        data: `fun fun_args return retcode success`, and what is ours.
    """
    return f"salt/job/{jid}/ret/{minion}", {**data, "id": minion, "jid": jid, "cmd": "_return"}


def run_progress(run: str) -> str:
    """The tag of how far a run is, as it is told about once a second."""
    return f"saltern/run/{run}/progress"


def is_progress(tag: str) -> bool:
    """Whether it tells how far a run is, or what one of its states did: history has the result of the run."""
    parts = tag.split("/", 4)
    told = len(parts) == 5 and (parts[:2], parts[3]) == (["salt", "job"], "prog")
    return told or (tag.startswith("saltern/run/") and tag.endswith("/progress"))


def of_minion(minion: str, tag: str, data: object) -> TaggedData:
    """What a minion sends by itself: its words stand below `data`, and who said it is the controller's word."""
    return tag, {"id": minion, "tag": tag, "data": data, "cmd": "_minion_event", "pretag": None}


def of_run(minion: str, run: str, job: str, tag: str, data: object) -> TaggedData:
    """What a minion sends in a run; of the results of its states Salt's events say the job, where the minion has the
    run's own id.
    """
    for head in ("salt/state_result/", "salt/job/"):
        if tag.startswith(head):
            told, whole = of_minion(minion, f"{head}{job}/{tag.removeprefix(f'{head}{run}/')}", data)
            return told, {**whole, "jid": job}
    return of_minion(minion, tag, data)


def may_say(minion: str, tag: str) -> bool:
    """Whether a minion may send this beside its runs: what is not reserved, and its own beacons."""
    return not is_reserved(tag) or tag.startswith(f"salt/beacon/{minion}/")


def may_say_in_run(minion: str, run: str, tag: str) -> bool:
    """Whether a minion may send this in a run: what is not reserved, and results of the run's own states."""
    own = (f"salt/state_result/{run}/{minion}/", f"salt/job/{run}/prog/{minion}/")
    return not is_reserved(tag) or tag.startswith(own)
