"""Which resources of the inventory no state names any more, what becomes of each, and when all of it is held back.

Looks, and changes nothing.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from highstate.desired import Desired
from highstate.pruned import MARK
from highstate.run.ports import Executor, Prepared
from highstate.salt_urls import split_salt_url
from highstate.types import Chunk, StateResult, Value
from minion.machine.failure import ContentUnknown
from minion.machine.plan import Reader
from minion.ownership.inventory import FOLDER, Owned
from minion.ownership.owning_states import inverse_chunk
from minion.ownership.recorded_machine import content_of
from minion.ownership.resources import Named, named_by

LEFT = "Left as it is"
"""How the comment begins of one that turns out to be no longer as it was planned."""

DEFAULT_SHARE, DEFAULT_MOST = "25%", 20
"""Where `prune_limit` is not said: both hold."""
FEW = 5
"""So many resources go whatever share of all they are."""

Fate = Literal["remove", "left", "no-inverse", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A resource that a state brought into being and that none names any more."""

    owned: Owned
    key: str
    """Of the state that takes it away."""
    chunk: Chunk
    """That state."""
    fate: Fate
    why: str = ""
    """Of one that is left."""
    prepared: Prepared | None = None
    """The plan of that state; under test=True those after it see what it would do."""


def named_in(desired: Desired, owned: Iterable[Owned], machine: Reader) -> Named:
    """What a document names; of folders that it copies (`file.recurse`), the files of the tree."""
    paths = [each.resource.path for each in owned if each.resource.is_file]
    chunks = desired.chunks.values()
    return named_by(chunks, (path for chunk in chunks for path in _copied(chunk, paths, machine)))


def _copied(chunk: Chunk, owned: Collection[str], machine: Reader) -> Iterator[str]:
    if (chunk.state, chunk.fun) != ("file", "recurse"):
        return
    folder = posixpath.normpath(chunk.name)
    inside = [path for path in owned if path.startswith(f"{folder}/")]
    if not inside:
        return
    given = chunk.arguments.get("source")
    try:
        for source in given if isinstance(given, list) else [given]:
            prefix, saltenv = split_salt_url(str(source), chunk.saltenv)
            prefix = prefix.strip("/")
            for path in machine.sources(prefix, saltenv):
                yield posixpath.join(folder, path.removeprefix(prefix).lstrip("/"))
    except OSError:
        yield from inside  # nobody can tell now: nothing of it is taken away


def orphans_of(
    owned: Iterable[Owned], named: Named, executor: Executor, machine: Reader, kept: Collection[str] = ()
) -> list[Orphan]:
    """What no state names any more, in the order in which it is to go: what was made last goes first.

    Args:
        owned: the inventory, in the order in which it was made.
        named: what the document names.
        executor: plans the inverses.
        machine: what they look at.
        kept: keys of states that a run cut off has begun, which are done again whatever is there.
    """
    lost = [each for each in owned if not named.has(each.resource)]
    ordered = _children_first(lost[::-1])
    found: list[Orphan] = []
    keys = set[str]()
    going = {each.name for each in ordered if each.inverse == "pkg.removed"}
    paths = set[str]()
    for each in ordered:
        chunk = inverse_chunk(each.resource, f"{MARK}{each.id}", each.sls)
        count = 1
        while chunk.tag in keys:
            count += 1
            chunk = inverse_chunk(each.resource, f"{MARK}{each.id}#{count}", each.sls)
        keys.add(key := chunk.tag)
        fate, why, prepared = fate_of(each, chunk, executor, machine, paths, going)
        if fate == "gone" and key in kept:
            fate = "remove"
        if fate == "remove" and each.resource.is_file:
            paths.add(each.resource.path)
        found.append(Orphan(owned=each, key=key, chunk=chunk, fate=fate, why=why, prepared=prepared))
    return found


def _children_first(owned: list[Owned]) -> list[Owned]:
    """The same with each folder after what is in it."""
    places = {each.resource.path: place for place, each in enumerate(owned) if each.content == FOLDER}
    last = dict(places)
    for place, each in enumerate(owned):
        path = each.resource.path if each.resource.is_file else "/"
        while (path := posixpath.dirname(path)) not in ("", "/"):
            if path in last:
                last[path] = max(last[path], place)
    ranks = {place: (last[path], 1, -path.count("/")) for path, place in places.items()}
    order = sorted(range(len(owned)), key=lambda place: ranks.get(place, (place, 0, 0)))
    return [owned[place] for place in order]


def fate_of(
    owned: Owned,
    chunk: Chunk,
    executor: Executor,
    machine: Reader,
    paths: Collection[str],
    packages: Collection[str],
) -> tuple[Fate, str, Prepared | None]:
    """What becomes of a resource, why it is left, and the plan of what takes it away.

    Args:
        owned: the resource.
        chunk: the state that takes it away.
        executor: plans its inverse.
        machine: what it looks at.
        paths: those that go before it.
        packages: those that go with it.
    """
    if not owned.inverse:
        return "no-inverse", "no state takes it away", None
    if owned.resource.is_file:
        try:
            fate, why = _fate_of_path(owned, machine, paths)
        except ContentUnknown as unknown:  # a preview shows nothing that others have there
            comment = f"What it would do is not known: {unknown}"
            told = StateResult(name=owned.name, result=None, comment=comment)
            return "remove", "", Prepared(chunk=chunk, predicted=told)
        except OSError as error:
            return "left", f"it cannot be looked at: {error}", None
        if fate != "remove":
            return fate, why, None
    prepared = executor.plan(chunk, chunk.arguments, watched=False)
    if prepared is None or prepared.predicted.result is False:
        return "left", prepared.predicted.comment if prepared else "no plan was made", None
    if prepared.predicted.result is True:
        return "gone", "", prepared
    if owned.inverse == "pkg.removed":
        others = sorted(prepared.predicted.changes.keys() - set(packages) - {owned.name})
        if others:
            return "left", f"these would go with it: {', '.join(others[:5])}", None
    return "remove", "", prepared


def _fate_of_path(owned: Owned, machine: Reader, going: Collection[str]) -> tuple[Fate, str]:
    path = owned.resource.path
    found = machine.stat(path)
    if found is None:
        return "gone", ""
    if owned.content == FOLDER:
        if found.kind != "directory":
            return "left", f"it is a {found.kind} now"
        other = next((name for name in machine.listdir(path) if posixpath.join(path, name) not in going), "")
        return ("left", f"there is something else in it: {other}") if other else ("remove", "")
    if content_of(machine, path) != owned.content:
        return "left", "it is not as the state left it: somebody changed it"
    return "remove", ""


def held_back(desired: Desired, owned: int, going: Iterable[Orphan], limit: int | str | None) -> str:
    """Why nothing is removed at all; empty where it is.

    Args:
        desired: the document.
        owned: resources in the inventory.
        going: what would be removed.
        limit: `prune_limit` of the policy.
    """
    number = len({each.owned.key for each in going})
    if not number:
        return ""
    if not desired.chunks:
        return "the highstate is empty"
    for most, said in _limits(owned, limit):
        if number > most:
            return f"{number} of {owned} resources are named no more, over the limit of {said}"
    return ""


def _limits(owned: int, limit: int | str | None) -> Iterator[tuple[int, str]]:
    for one in (DEFAULT_MOST, DEFAULT_SHARE) if limit is None else (limit,):
        share = re.fullmatch(r"(\d{1,3})\s*%", one) if isinstance(one, str) else None
        if share is not None:
            yield max(FEW if int(share[1]) else 0, math.ceil(owned * int(share[1]) / 100)), str(one)
        else:
            yield int(one), str(one)


class PruneStates:
    """An executor of inverses: each looks once more whether its resource may go, just before it does."""

    def __init__(self, inner: Executor, machine: Reader, orphans: Iterable[Orphan], *, test: bool) -> None:
        self._test = test
        self._inner = inner
        self._machine = machine
        self._orphans = {each.key: each for each in orphans}
        self._packages = {each.owned.name for each in self._orphans.values() if each.owned.inverse == "pkg.removed"}

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """What would go."""
        orphan = self._orphans[chunk.tag]
        if self._test:
            return orphan.prepared
        fate, why, prepared = fate_of(orphan.owned, chunk, self._inner, self._machine, (), self._packages)
        if fate == "left":
            return Prepared(chunk=chunk, predicted=StateResult(name=chunk.name, result=True, comment=f"{LEFT}: {why}"))
        return prepared or self._inner.plan(chunk, arguments, watched=watched)

    def act(self, prepared: Prepared) -> StateResult:
        """Take it away."""
        return self._inner.act(prepared)
