"""Which tags of events there are: Salt's and Saltern's own, and whether a pattern of a reactor can meet one of them.

Called by lint, which warns of a reactor whose event nobody fires. Pure. A test holds the table against the code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from options.near_names import near

_PART = "+part"
_MANY = frozenset(("*", _PART))

FIRED: tuple[str, ...] = (
    "salt/auth", "salt/key", "minion_start", "salt/minion/+/start", "salt/presence/change", "salt/presence/present",
    "salt/job/+/new", "salt/job/+/ret/+", "salt/job/+/prog/+/+", "salt/run/+/*", "salt/wheel/+/new", "salt/wheel/+/ret",
    "salt/state_result/+/+/*",
    "salt/cloud/+/*", "salt/fileserver/gitfs/update", "salt/queue/+/process",
    "saltern/compile/*", "saltern/engine/*", "saltern/ensure/*", "saltern/events/dropped", "saltern/events/forgotten",
    "saltern/hook*", "salt/batch/+/+",
    "saltern/minion/*", "saltern/preview*", "saltern/pull/*", "saltern/remote/*", "saltern/returner/*",
    "saltern/quarantine/*", "saltern/revision/*", "saltern/rollout/*", "saltern/run/*",
    "saltern/schedule/*", "saltern/sync*",
)  # fmt: skip
"""The tags that the controller fires: `+` is one part between slashes, `*` anything. Those of reactions are left out:
no reactor answers them."""
_BEACON = re.compile(r"salt/beacon/[^/]*/([\w-]+)(/?)")


def unfired(tag: str, beacons: Collection[str]) -> str:
    """Why nobody fires an event that a glob of a reactor matches, as far as tags are Salt's or Saltern's.

    Args:
        tag: the glob.
        beacons: names of all beacons.
    """
    named = _BEACON.match(tag)
    if named is not None:
        # `*` crosses slashes: `salt/beacon/*/nginx` is also what the beacon `service` says of nginx.
        is_name = bool(named[2]) or bool(near(named[1], beacons))
        return (
            f"there is no beacon {named[1]!r}, which the tag {tag!r} names"
            if is_name and named[1] not in beacons
            else ""
        )
    if globs_meet(tag, "salt/beacon/+/*") or any(globs_meet(tag, one) for one in FIRED):
        return ""
    return f"nobody fires events of the tag {tag!r}"


def globs_meet(glob: str, fired: str) -> bool:
    """Whether there is a tag that both match. A set of characters, as `[ab]`, is taken to be any character.

    Args:
        glob: of a reactor, in which `*` crosses slashes.
        fired: the same, in which `+` is one part between slashes.
    """
    left, right = tuple(_tokens(glob)), tuple(_PART if one == "+" else one for one in fired)
    reached, waiting = {(0, 0)}, [(0, 0)]
    while waiting:
        at = waiting.pop()
        if at == (len(left), len(right)):
            return True
        for step in _steps(left, right, *at):
            if step not in reached:
                reached.add(step)
                waiting.append(step)
    return False


def _steps(left: tuple[str, ...], right: tuple[str, ...], i: int, j: int) -> Iterator[tuple[int, int]]:
    mine = left[i] if i < len(left) else ""
    theirs = right[j] if j < len(right) else ""
    if mine in _MANY:
        yield i + 1, j
        if theirs and theirs not in _MANY and not (mine == _PART and theirs == "/"):
            yield i, j + 1
    if theirs in _MANY:
        yield i, j + 1
        if mine and mine not in _MANY and not (theirs == _PART and mine == "/"):
            yield i + 1, j
    if mine and theirs and not {mine, theirs} & _MANY and (mine == theirs or "?" in (mine, theirs)):
        yield i + 1, j + 1


def _tokens(glob: str) -> Iterator[str]:
    at = 0
    while at < len(glob):
        end = glob.find("]", at + 2) if glob[at] == "[" else -1
        if end > 0:
            yield "?"
            at = end
        else:
            yield glob[at]
        at += 1
