"""`keep_source`: whether the source of a state stays in the minion's cache, under its name.

Called by file.managed, file.recurse and archive.extracted. With `keep_source: true` a file of the tree is copied when
the state has something to do, and `cp.is_cached` finds it; Salt does so unasked, which doubles the time that a run
takes to write its files. What the web gave is in the cache once it was fetched. Contents that the agent holds by their
id stay while the document names them, so that drift is found without the controller.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from highstate.salt_urls import split_salt_url
from minion.arguments.sources import Source
from minion.machine.fetch import SCHEMES
from minion.machine.fetch_cache import WebCache
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.machine.source_places import source_place
from minion.states.file.paths import make_parents
from minion.states.file.perms import Perms


def cache_beside(backup_dir: str) -> str:
    """The minion's cache: the copies of `backup` are in a folder of it."""
    return posixpath.dirname(backup_dir) or "/var/cache/saltern/minion"


def with_source(
    machine: Reader, plan: Plan, sources: Sequence[Source], saltenv: str, backup_dir: str, *, keep: bool | None
) -> Plan:
    """The plan, after which the source is in the cache, or is not, also where there is nothing else to do.

    Without a `backup_dir` there is no cache, and the plan is as it was. `keep`: None where nobody has said it.
    """
    if keep is None or not backup_dir:
        return plan
    if not keep:
        return without_sources(machine, plan, (url for url, _ in sources), saltenv, backup_dir)
    changes = plan.changes
    if changes and any(url.startswith("salt://") for url, _ in sources):
        return replace(plan, changes=(*changes, kept_copy(sources, saltenv, backup_dir)))
    return plan


def kept_copy(sources: Sequence[Source], saltenv: str, backup_dir: str) -> Change:
    """A step that copies the source that is used, where it is a file of the tree."""

    def act(machine: Machine) -> None:
        for url, _ in sources:
            if not url.startswith("salt://"):
                return
            try:
                data = machine.source(*split_salt_url(url, saltenv))
            except (FileNotFoundError, IsADirectoryError):
                continue
            place = source_place(cache_beside(backup_dir), url, saltenv)
            found = machine.stat(place)
            if found is None or found.size != len(data) or machine.read(place) != data:
                make_parents(machine, place, Perms(mode="0700"))
                machine.write(place, data, mode="0600")
            return

    return Change(key="", act=act)


def without_sources(machine: Reader, plan: Plan, urls: Iterable[str], saltenv: str, backup_dir: str) -> Plan:
    """The plan, which ends with the copies of these sources removed from the cache."""
    cache = cache_beside(backup_dir)
    web = WebCache(Path(cache, "web"))
    places = list[str]()
    for url in urls:
        if url.startswith(("salt://", *SCHEMES)):
            places.append(source_place(cache, url, saltenv))
        if url.startswith(SCHEMES):
            places += (str(web.place(url)), str(web.note(url)))
    there = [place for place in places if machine.stat(place) is not None]
    return replace(plan, cleanup=_removal(there)) if there else plan


def _removal(places: Sequence[str]) -> Callable[[Machine], None]:
    def remove(machine: Machine) -> None:
        for place in places:
            machine.remove(place)

    return remove
