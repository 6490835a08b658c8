"""The archive of a backup: a tar file with the store, the controller's keys, its configuration, and what it is.

    manifest.json   when it was made, of which version and schema
    store.sqlite    see `controller.backup.store_copy`
    pki/            keys of the controller
    config/         the folder of the configuration

Mirrors of the remotes are not in it: they are fetched again. It holds secrets.
"""

from __future__ import annotations

import functools
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ParamSpec

import msgspec

from controller.backup.store_copy import check_copy, copy_store, holds_something, load_store, unused
from controller.config.settings import ControllerSettings
from controller.store import StoreError

_Given = ParamSpec("_Given")

FORMAT = 1
"""Of archives."""

_MANIFEST, _STORE, _KEYS, _CONFIGURATION = "manifest.json", "store.sqlite", "pki", "config"


class BackupError(Exception):
    """What is wrong with an archive, or in the way of one. The text says what to do."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive is."""

    format: int
    made_at: float
    version: str
    schema: str
    store: str
    """The kind of database that it was made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupMade:
    """An archive that was written, or read."""

    path: Path
    size: int
    manifest: Manifest


def _without_store_errors(function: Callable[_Given, BackupMade]) -> Callable[_Given, BackupMade]:
    """The function with errors of the store as `BackupError`."""

    @functools.wraps(function)
    def act(*args: _Given.args, **kwargs: _Given.kwargs) -> BackupMade:
        try:
            return function(*args, **kwargs)
        except StoreError as error:
            raise BackupError(str(error)) from error

    return act


@_without_store_errors
def create(settings: ControllerSettings, path: Path, *, overwrite: bool = False) -> BackupMade:
    """Write an archive; the controller may run meanwhile. It appears whole or not at all.

    Args:
        settings: of the controller.
        path: of the archive.
        overwrite: whether it may be there.

    Raises:
        BackupError: it is there, or the store cannot be read.
        OSError: it cannot be written.
    """
    if path.exists() and not overwrite:
        raise BackupError(f"{path} is there already: give another path, or --force")
    with tempfile.TemporaryDirectory(prefix=".saltern-backup-", dir=path.parent) as name:
        folder = Path(name)
        copy_store(settings.store_url, folder / _STORE)
        manifest = Manifest(
            format=FORMAT,
            made_at=time.time(),
            version=version("saltern"),
            schema=check_copy(folder / _STORE),
            store=settings.store_url.partition(":")[0].partition("+")[0],
        )
        (folder / _MANIFEST).write_bytes(msgspec.json.encode(manifest))
        part = folder / "archive"
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as archive:
                for entry in (_MANIFEST, _STORE):
                    archive.add(folder / entry, entry)
                for source, entry in ((settings.pki_dir, _KEYS), (settings.config_dir, _CONFIGURATION)):
                    if source.is_dir():
                        archive.add(source, entry)
            file.flush()
            os.fsync(file.fileno())
        size = part.stat().st_size
        part.rename(path)
    return BackupMade(path=path, size=size, manifest=manifest)


@_without_store_errors
def restore(settings: ControllerSettings, path: Path, *, overwrite: bool = False) -> BackupMade:
    """Put the store and the keys of an archive in their places; the configuration stays as it is.

    Args:
        settings: of the controller that shall have them.
        path: of the archive.
        overwrite: whether a store and keys may be there: those in files are kept beside with `.before-restore`.

    Raises:
        BackupError: it is no archive, something is there already, a controller uses the store, or it cannot be
            written.
        OSError: a file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="saltern-restore-") as name, unused(settings.store_url):
        folder = Path(name)
        manifest = _unpacked(path, folder)
        check_copy(folder / _STORE)
        keys = settings.pki_dir
        there = [str(keys)] if keys.is_dir() and any(keys.iterdir()) else []
        there += [settings.store_url] if holds_something(settings.store_url) else []
        if there and not overwrite:
            raise BackupError(f"{' and '.join(there)} would be replaced: --force does so, and keeps what is in files")
        _make_room(settings)
        load_store(folder / _STORE, settings.store_url)
        if (folder / _KEYS).is_dir():
            _set_aside(keys)
            keys.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(folder / _KEYS, keys)
    return BackupMade(path=path, size=path.stat().st_size, manifest=manifest)


def _unpacked(path: Path, folder: Path) -> Manifest:
    try:
        with tarfile.open(path, "r:gz") as archive:
            archive.extractall(folder, filter="data")
        manifest = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=Manifest)
    except (tarfile.TarError, EOFError, FileNotFoundError, msgspec.MsgspecError) as error:
        raise BackupError(f"{path} is no backup of a controller: {error}") from error
    if manifest.format != FORMAT:
        raise BackupError(f"{path} was made by Saltern {manifest.version}, and cannot be read by {version('saltern')}")
    return manifest


def _make_room(settings: ControllerSettings) -> None:
    """Set a store in a file aside. One in PostgreSQL is for its administrator to drop."""
    if not holds_something(settings.store_url):
        return
    kind, _, file = settings.store_url.partition(":///")
    if kind != "sqlite":
        raise BackupError("the database is not empty: drop it and create it anew, and restore then")
    for suffix in ("", "-wal", "-shm"):
        _set_aside(Path(f"/{file.lstrip('/')}{suffix}"))


def _set_aside(path: Path) -> None:
    """Rename what is there to `.before-restore`, in the place of an earlier one."""
    if not path.exists():
        return
    beside = path.with_name(f"{path.name}.before-restore")
    if beside.is_dir():
        shutil.rmtree(beside)
    path.rename(beside)
