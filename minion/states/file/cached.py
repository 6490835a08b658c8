"""file.cached and file.not_cached: sources kept on the minion before somebody needs them.

Behaviour: doc/ref/states/all/salt.states.file, cached and not_cached. A local path is only looked at. What is cached
lies where Salt has it (`minion.machine.source_places`).
"""

from __future__ import annotations

import hashlib
import posixpath
from typing import Unpack

from minion.arguments.sources import as_sources
from minion.arguments.types import BackupDir
from minion.machine.failure import StateFailed
from minion.machine.fetch import SCHEMES
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.machine.source_places import source_place
from minion.states.file.digests import SignatureOptions, digest_of, signed_of
from minion.states.file.kept_sources import cache_beside
from minion.states.file.paths import make_parents
from minion.states.file.perms import Perms
from minion.states.file.sources import SourceCheck, Template, of_source


def cached(
    machine: Reader,
    name: str,
    *,
    source_hash: str | None = None,
    source_hash_name: str | None = None,
    skip_verify: bool = False,
    saltenv: str = "base",
    use_etag: bool = False,
    backup_dir: BackupDir = "",
    **more: Unpack[SignatureOptions],
) -> Plan:
    """The file is in the cache, or, where `name` is a local path, on the machine with this digest."""
    local = _local(name)
    if local is not None:
        return _looked_at(machine, name, local, source_hash, source_hash_name or "", saltenv)
    if name.startswith(SCHEMES) and not source_hash and not skip_verify and not use_etag:
        raise StateFailed(
            f"Unable to verify upstream hash of source file {name}, please set source_hash or set skip_verify or "
            "use_etag to True"
        )
    place = _place(name, saltenv, backup_dir)
    check = SourceCheck(source_hash_name=source_hash_name or "", skip=skip_verify, target=place, use_etag=use_etag,
                        signed=signed_of(more))  # fmt: skip
    data = of_source(machine, as_sources(name), saltenv, Template(variables={}), source_hash, check)
    found = machine.stat(place)
    old = machine.read(place) if found is not None and found.kind == "file" else None
    if old == data:
        return Plan(comment=f"File is cached to {place}")

    def act(machine: Machine) -> None:
        make_parents(machine, place, Perms(mode="0700"))
        machine.write(place, data, mode="0600")

    before = None if old is None else hashlib.sha256(old).hexdigest()
    return Plan(
        changes=(Change(key="hash", old=before, new=hashlib.sha256(data).hexdigest(), act=act),),
        pending=f"File will be cached: {name}",
        done=f"File is cached to {place}",
    )


def not_cached(machine: Reader, name: str, *, saltenv: str = "base", backup_dir: BackupDir = "") -> Plan:
    """The file is not in the cache; the file of a local path stays."""
    if _local(name) is not None:
        return Plan(comment=f"{name} is a local path, does not need to be removed from the minion cache")
    place = _place(name, saltenv, backup_dir)
    if machine.stat(place) is None:
        return Plan(comment=f"{name} is not cached")
    return Plan(
        changes=(Change(key="removed", reported=[place], act=lambda machine: machine.remove(place)),),
        pending=f"{name} is set to be removed from the minion cache",
        done=f"{place} was deleted",
    )


def _looked_at(machine: Reader, name: str, path: str, source_hash: str | None, hash_name: str, saltenv: str) -> Plan:
    found = machine.stat(path)
    if found is None:
        raise StateFailed(f"File {name} is not present on the minion")
    if not source_hash:
        return Plan(comment=f"File {name} is present on the minion")
    wanted = digest_of(machine, source_hash, path, hash_name, path, saltenv)
    data = machine.read(path)
    have = wanted.of(data)
    if not wanted.fits(data):
        raise StateFailed(
            f"File {name} is present on the minion, but the hash ({have}) does not match the specified hash "
            f"({wanted.value})"
        )
    return Plan(comment=f"File {name} is present on the minion and has hash {have}")


def _local(name: str) -> str | None:
    path = name.removeprefix("file://")
    return posixpath.normpath(path) if path.startswith("/") else None


def _place(name: str, saltenv: str, backup_dir: str) -> str:
    if not name.startswith(("salt://", *SCHEMES)):
        raise StateFailed(f"{name} is not supported: write salt://, http://, https:// or ftp://, or a local path")
    return source_place(cache_beside(backup_dir), name, saltenv)
