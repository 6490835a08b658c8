"""The pkgrepo state: repositories of packages, with their keys.

Called by the engine. `minion.providers.pkg.apt_sources` reads and writes apt's files; `minion.states.pkgrepo.rpm` is
for dnf and zypper. A key of apt is trusted for its own repository alone: it goes into a file that `signed-by` names,
never into the keyring of all repositories. Behaviour: doc/ref/states/all/salt.states.pkgrepo.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import CommaList, Ignored, Texts, Unsupported, Word
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers.pkg import apt_sources
from minion.providers.pkg.apt_sources import AptSource
from minion.states.pkgrepo import rpm
from minion.states.pkgrepo.key import RepositoryKey, key_of
from minion.states.pkgrepo.lists import TEST_NOTE, fetch_lists
from minion.states.unused_arguments import AbsentKey


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a repository stands, or shall stand."""

    path: str
    text: str
    there: AptSource | None


def managed(
    machine: Reader,
    name: str,
    *,
    humanname: str | None = None,
    file: str | None = None,
    dist: str | None = None,
    comps: Texts = (),
    architectures: CommaList = (),
    signedby: str | None = None,
    key_url: str | None = None,
    key_text: str | None = None,
    keyid: str | None = None,
    keyserver: str | None = None,
    comments: Texts = (),
    enabled: Word | None = None,
    disabled: Word | None = None,
    clean_file: bool = False,
    refresh: bool = True,
    refresh_db: bool = True,
    allow_insecure_key: bool = True,
    saltenv: str = "base",
    aptkey: Annotated[Value, Ignored("apt-key is not used: keys are files")] = None,
    copr: Annotated[Value, Unsupported("write the baseurl and the gpgkey of the repository")] = None,
    ppa: Annotated[Value, Unsupported("write the archive's line and its key_url")] = None,
    **options: Value,
) -> Plan:
    """The repository of the line `name` is there, with this key; its lists are fetched when it changes.

    Where dnf or zypper is, `name` is the id of the repository, and `options` are those of a `.repo` file.
    """
    if not _has_apt(machine):
        switches = {
            "enabled": enabled,
            "disabled": disabled,
            "humanname": humanname,
            "comments": list(comments) or None,
        }
        given = {**options, **switches, "refresh": refresh, "refresh_db": refresh_db}
        return rpm.managed(machine, name, given)
    off = not enabled if enabled is not None else bool(disabled)
    source = replace(_described(name, dist, comps, architectures), enabled=not off)
    if comments:
        source = replace(source, comment=" ".join(comments))
    if key_url and key_url.startswith("http://") and not allow_insecure_key:
        raise StateFailed("Cannot have 'key_url' using http with 'allow_insecure_key' set to False")
    key = key_of(machine, source, (key_url, key_text, keyid, keyserver), signedby, saltenv)
    if key is not None and "signed-by" not in source.options:
        source = replace(source, options={**source.options, "signed-by": key.path})
    elif signedby:
        source = replace(source, options={**source.options, "signed-by": signedby})
    place = _place(machine, source, file)
    plan = _plan(machine, name, source, place, key, clean=clean_file, fetch=refresh and refresh_db)
    strange = tuple(f"'{key}' is no option of apt's repositories, and is ignored" for key in options)
    return replace(plan, warnings=(*plan.warnings, *strange))


class _AbsentUnused(TypedDict, total=False):
    """Arguments of Salt's pkgrepo.absent that are ignored or refused."""

    ppa: Annotated[Value, Unsupported("write the archive's line")]
    keyid: AbsentKey
    keyid_ppa: AbsentKey


def absent(machine: Reader, name: str, **_: Unpack[_AbsentUnused]) -> Plan:
    """No file has the repository of this line; where dnf or zypper is, `name` is the id of the repository."""
    if not _has_apt(machine):
        return rpm.absent(machine, name)
    source = apt_sources.wanted_line(name)
    found = [place for place in _places(machine, source) if place.there is not None]
    arches = source.options.get("arch", "")
    found = [one for one in found if one.there is not None and one.there.options.get("arch", "") == arches]
    if not found:
        return Plan(comment=f"Package repo {name} is absent")
    texts = {place.path: apt_sources.without_source(place.path, place.text, source) for place in found}

    def act(machine: Machine) -> None:
        for path, text in texts.items():
            if text.strip() or path == f"{apt_sources.ROOT}/sources.list":
                machine.write(path, text.encode())
            else:
                machine.remove(path)

    return Plan(
        changes=(Change(key="repo", reported=name, act=act),),
        pending=f"Package repo '{name}' will be removed. {TEST_NOTE}",
        done=f"Removed repo {name}",
    )


def _described(name: str, dist: str | None, comps: Sequence[str], architectures: Sequence[str]) -> AptSource:
    source = apt_sources.wanted_line(name)
    if dist:
        source = replace(source, suite=dist)
    words = [word for one in comps for word in one.replace(",", " ").split()]
    if words:
        source = replace(source, components=tuple(words))
    if architectures:
        source = replace(source, options={"arch": ",".join(architectures), **source.options})
    return source


def _plan(
    machine: Reader, name: str, source: AptSource, place: _Place, key: RepositoryKey | None, *, clean: bool, fetch: bool
) -> Plan:
    text = apt_sources.with_source(place.path, "" if clean else place.text, source)
    right = place.there is not None and place.there.same(source) and not (clean and text != place.text)
    changes: list[Change] = []
    if key is not None and not key.there:
        changes.append(Change(key="key", reported=key.path, act=key.write))
    if not right:

        def write(machine: Machine) -> None:
            machine.write(place.path, text.encode())

        if place.there is None:
            changes.append(Change(key="repo", reported=name, act=write))
        else:
            changes.append(Change(key="line", old=place.there.line, new=source.line, act=write))
    if not changes:
        return Plan(comment=f"Package repo '{name}' already configured")
    if fetch:
        changes.append(Change(key="", act=lambda machine: fetch_lists(machine, name)))
    return Plan(
        changes=tuple(changes),
        pending=f"Package repo '{name}' would be configured. {TEST_NOTE}",
        done=f"Configured package repo '{name}'",
    )


def _place(machine: Reader, source: AptSource, file: str | None) -> _Place:
    """Where it stands; where nothing has it, the file asked for, or Salt's choice, sources.list."""
    places = _places(machine, source)
    for place in places:
        if place.there is not None and (file is None or place.path == file):
            return place
    for place in places:
        if place.there is not None and place.there.enabled:
            return place
    path = file or f"{apt_sources.ROOT}/sources.list"
    if not path.startswith("/") or not path.endswith((".list", ".sources")):
        raise StateFailed(f"file must be an absolute path that ends in .list or .sources, not {path!r}")
    if machine.stat(posixpath.dirname(path)) is None:
        raise StateFailed(f"The folder of {path} is not there")
    text = machine.read(path).decode("utf-8", "surrogateescape") if machine.stat(path) else ""
    there = next((one for one in apt_sources.sources_in(path, text) if one.key == source.key), None)
    return _Place(path=path, text=text, there=there)


def _places(machine: Reader, source: AptSource) -> list[_Place]:
    found = []
    for path in apt_sources.files(machine):
        text = machine.read(path).decode("utf-8", "surrogateescape")
        same = [one for one in apt_sources.sources_in(path, text) if one.key == source.key]
        best = next((one for one in same if one.enabled), same[0] if same else None)
        found.append(_Place(path=path, text=text, there=best))
    return found


def _has_apt(machine: Reader) -> bool:
    """Whether the repositories are apt's. Raises StateFailed where no package manager is known."""
    if machine.stat("/usr/bin/apt-get") is not None:
        return True
    if not any(machine.stat(f"/usr/bin/{program}") for program in ("dnf", "dnf5", "zypper")):
        raise StateFailed("Repo management not implemented on this platform: apt, dnf and zypper are known")
    return False


STATES = {"absent": absent, "managed": managed}
