"""An executor that notes what each state brings into being: packages, services, accounts and all that is no file.

A state acts; whether something was there before and is there after is what the plan of its inverse says. Paths are
noted as they are written (`recorded_machine`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from highstate.run.ports import Executor, Prepared
from highstate.types import Chunk, StateResult, Value
from minion.machine.plan import Machine
from minion.ownership.inventory import Inventory, Owned
from minion.ownership.recorded_machine import FileRecorder, content_of
from minion.ownership.resources import WITH_FILES, Resource, file_key, keys_of, resources_of


class OwningStates:
    """`highstate.run.ports.Executor`: the one given, with an inventory of what it makes."""

    def __init__(
        self, inner: Executor, inventory: Inventory, files: FileRecorder, clock: Callable[[], float] = time.time
    ) -> None:
        self._inner = inner
        self._inventory = inventory
        self._files = files
        self._clock = clock

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """What the state would do now."""
        return self._inner.plan(chunk, arguments, watched=watched)

    def act(self, prepared: Prepared) -> StateResult:
        """Do what was prepared, and note what it made."""
        chunk = prepared.chunk
        with self._files.state(chunk):
            made = () if prepared.work is None else resources_of(chunk)
            to_come = self._not_there(chunk, [each for each in made if each.inverse])
            for each in to_come:
                self._inventory.own(self._owned(chunk, each, begun=True))
            result = self._inner.act(prepared)
            if to_come:
                self.settle(
                    [known for one in map(_id, to_come) if (known := self._inventory.entries.get(one)) is not None]
                )
            if result.changes and not made:
                self._forget_what_went(chunk)
            if result.changes and result.result is True:
                for each in made:
                    if not each.inverse and _id(each) not in self._inventory:
                        self._inventory.own(self._owned(chunk, each))
        return result

    def _forget_what_went(self, chunk: Chunk) -> None:
        """What a state took away is nobody's, so that it is left when somebody else brings it again."""
        keys = set(keys_of(chunk))
        owned = [each for each in self._inventory if each.key in keys and each.inverse and not each.resource.is_file]
        there = set(map(_id, there_now(self._inner, [each.resource for each in owned], unknown_is_there=True)))
        for each in owned:
            if (each.key, each.inverse) not in there:
                self._inventory.gone(each)

    def settle(self, entries: Iterable[Owned]) -> None:
        """Find out whether what was about to be made is there."""
        begun = [each for each in entries if each.begun and each.inverse]
        there = set(map(_id, there_now(self._inner, [each.resource for each in begun])))
        for each in begun:
            if (each.key, each.inverse) in there:
                self._inventory.own(msgspec.structs.replace(each, begun=False))
            else:
                self._inventory.gone(each)

    def _not_there(self, chunk: Chunk, resources: Sequence[Resource]) -> list[Resource]:
        new = [each for each in resources if _id(each) not in self._inventory]
        if not new:
            return []
        there = set(map(_id, there_now(self._inner, new, unknown_is_there=True)))
        return [each for each in new if _id(each) not in there]

    def _owned(self, chunk: Chunk, resource: Resource, *, begun: bool = False) -> Owned:
        return Owned(
            key=resource.key,
            inverse=resource.inverse,
            name=resource.name,
            arguments=dict(resource.arguments),
            id=chunk.id,
            sls=chunk.sls,
            fun=f"{chunk.state}.{chunk.fun}",
            at=self._clock(),
            begun=begun,
        )


def _id(resource: Resource) -> tuple[str, str]:
    return resource.key, resource.inverse


def inverse_chunk(resource: Resource, identifier: str = "", sls: str = "") -> Chunk:
    """The state that takes a resource away."""
    state, _, fun = resource.inverse.partition(".")
    return Chunk(state=state, fun=fun, id=identifier, name=resource.name, sls=sls, arguments=resource.arguments)


def there_now(executor: Executor, resources: Sequence[Resource], *, unknown_is_there: bool = False) -> list[Resource]:
    """Which of these the machine has: their inverse has something to do.

    `unknown_is_there`: what is said of one whose inverse cannot be planned.
    """
    found = []
    packages = [each for each in resources if each.inverse == "pkg.removed"]
    going = _packages_going(executor, packages)
    for each in resources:
        if each in packages and going is not None:
            is_there = each.name.partition(":")[0] in going or each.name in going
        else:
            is_there = has(executor, each, unknown=unknown_is_there)
        if is_there:
            found.append(each)
    return found


def _packages_going(executor: Executor, packages: Sequence[Resource]) -> frozenset[str] | None:
    """Packages that would go: one question for all of them; None where it has no answer."""
    if len(packages) < 2:
        return None
    chunk = Chunk(
        state="pkg", fun="removed", id="", name=packages[0].name, sls="", arguments={"pkgs": [p.name for p in packages]}
    )
    prepared = executor.plan(chunk, chunk.arguments, watched=False)
    if prepared is None or prepared.predicted.result is False:
        return None
    going = prepared.predicted.changes if prepared.predicted.result is None else ()
    return frozenset(name.partition(":")[0] for name in going)


def has(executor: Executor, resource: Resource, *, unknown: bool) -> bool:
    """Whether the machine has a resource; `unknown`: what is said where its inverse cannot be planned."""
    chunk = inverse_chunk(resource)
    prepared = executor.plan(chunk, chunk.arguments, watched=False)
    if prepared is None or prepared.predicted.result is False:
        return unknown
    return prepared.predicted.result is None


def note_contents(
    inventory: Inventory,
    machine: Machine,
    chunks: Mapping[str, Chunk],
    results: Mapping[str, StateResult],
    now: float,
) -> None:
    """After a run: what its states left in the files that they made.

    A state that found its file as it is to be says by that what is in it; so a run heals what kill -9 kept from the
    inventory. One that lets others write to its file says nothing.
    """
    for key, result in results.items():
        chunk = chunks.get(key)
        if chunk is None or chunk.state not in WITH_FILES or result.result is not True or result.skipped:
            continue
        owned = inventory.entries.get((file_key(chunk.name), "file.absent"))
        if owned is None or (not result.changes and not _says_content(chunk)):
            continue
        found = machine.stat(owned.resource.path)
        if found is None or (not result.changes and found.times[1] < owned.at):
            continue  # nobody wrote to it since
        inventory.own(msgspec.structs.replace(owned, content=content_of(machine, owned.resource.path), at=now))


def _says_content(chunk: Chunk) -> bool:
    arguments = chunk.arguments
    if chunk.fun not in ("managed", "serialize") or arguments.get("replace") is False:
        return False
    return any(name in arguments for name in ("source", "contents", "contents_pillar", "contents_grains", "dataset"))
