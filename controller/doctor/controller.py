"""All checks of a machine that is a controller, which may run or not. Called by `saltern doctor`."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import func, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from controller.compilation.sandbox import Unconfined, landlock_version
from controller.compilation.sources import open_source
from controller.config.checks import load_whole
from controller.config.settings import BadControllerSettings, ControllerSettings
from controller.doctor import judgements
from controller.store import StoreError, schema
from controller.store.database import engine_of
from controller.store.exclusive_use import file_of
from gitfs.errors import FetchFailed, GitfsError
from minion.doctor import judgements as of_machine
from minion.doctor import looks
from minion.doctor.finding import CheckFinding
from minion.doctor.minion import of_this_machine

UNIT = "saltern-controller.service"
_DESCRIPTORS = 512
"""Of a controller without minions: its processes, the store, people."""
_CONNECT_SECONDS = 2.0


def examine(config_dir: Path, seconds: float) -> Iterator[CheckFinding]:
    """The findings, in the order in which a person would look.

    Args:
        config_dir: of the controller.
        seconds: that remotes may take, all together.
    """
    yield from of_this_machine()
    file = str(config_dir / "controller")
    try:
        settings = load_whole(config_dir)
    except BadControllerSettings as error:
        yield of_machine.configuration(file, tuple(str(fault) for fault in error.faults))
        return
    yield of_machine.configuration(file, (), settings.notes)
    uid = _service_uid(settings)
    yield of_machine.configuration_files(looks.configuration_files(config_dir, "controller"), uid)
    key = settings.pki_dir / "controller.key"
    yield of_machine.key_file(key, looks.look_at_file(key), uid)
    yield from _disk(settings)
    found, accepted = _store(settings)
    yield found
    yield from _process(settings, accepted)
    yield judgements.sandbox(settings.compile_confinement, _lacking_sandbox())
    yield from _remotes(settings, seconds)


def _service_uid(settings: ControllerSettings) -> int:
    """Whose the key should be: the user of the controller's store, who may be another than root that asks."""
    database = file_of(settings.store_url)
    look = looks.look_at_file(database) if database is not None else None
    return os.geteuid() if look is None or os.geteuid() != 0 else look.uid


def _disk(settings: ControllerSettings) -> Iterator[CheckFinding]:
    database = file_of(settings.store_url)
    places = [("cache", settings.cachedir), *([("store", database.parent)] if database is not None else [])]
    for name, folder in places:
        yield of_machine.disk_space(name, folder, *looks.free_space(folder))


def _store(settings: ControllerSettings) -> tuple[CheckFinding, int]:
    """What was found of the store, and how many keys are accepted there. Nothing is migrated or made."""
    found, accepted, trouble = "", 0, ""
    try:
        shown = make_url(settings.store_url).render_as_string(hide_password=True)
    except ArgumentError:
        shown = "store_url"
    try:
        database = file_of(settings.store_url)
        if database is None or database.exists():
            with engine_of(settings.store_url).connect() as connection:
                if inspect(connection).has_table(schema.version.name):
                    found = str(connection.scalar(select(schema.version.c.version_num)))
                    keys = select(func.count()).where(schema.keys.c.state == "accepted")
                    accepted = connection.scalar(keys) or 0
    except (StoreError, SQLAlchemyError, OSError) as error:
        trouble = str(error).partition("\n")[0]
    return judgements.store(shown, found, schema.HEAD, trouble), accepted


def _process(settings: ControllerSettings, accepted: int) -> Iterator[CheckFinding]:
    pid = _controller_pid(settings)
    yield judgements.running(str(settings.socket), pid is not None)
    yield of_machine.unit_active(UNIT, looks.unit_state(UNIT))
    who = "the controller" if pid is not None else "a process of this user"
    yield of_machine.open_files(looks.descriptor_limit(pid), _DESCRIPTORS + 2 * accepted, who)
    http = [("http_port", settings.http_host, settings.http_port)] if settings.http_port else []
    api = [("api", settings.api.host, settings.api.port)] if settings.api.port else []
    wire = [
        ("publish_port", settings.interface, settings.publish_port),
        ("ret_port", settings.interface, settings.ret_port),
    ]
    for name, host, number in (*wire, *http, *api):
        yield judgements.port(name, f"{host}:{number}", _listens(host, number), pid is not None)


def _controller_pid(settings: ControllerSettings) -> int | None:
    """Process that answers on the controller's socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_CONNECT_SECONDS)
        try:
            probe.connect(str(settings.socket))
            found = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return None
    return int.from_bytes(found[:4], "little", signed=True)


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((_loopback_of(host), port), timeout=_CONNECT_SECONDS):
            return True
    except OSError:
        return False


def _loopback_of(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def _lacking_sandbox() -> str:
    try:
        landlock_version(ctypes.CDLL(None, use_errno=True))
    except Unconfined as error:
        return str(error)
    return ""


def _remotes(settings: ControllerSettings, seconds: float) -> Iterator[CheckFinding]:
    try:
        with open_source(settings) as source:
            remotes = list({each.url: each for each in source.remotes}.values())
            answers = source.ask(remotes, patience=seconds)
    except (GitfsError, OSError) as error:
        yield judgements.remote("remotes", str(error))
        return
    for each, answer in zip(remotes, answers, strict=True):
        yield judgements.remote(each.name, answer.reason if isinstance(answer, FetchFailed) else "")
    if not remotes:
        yield judgements.no_remotes()
