"""Checks before a start that look at more than the files: libraries, modules, certificates, options of remotes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from controller.config.engines import lacking_engines
from controller.config.forges import unknown_remotes
from controller.config.libraries import lacking_libraries
from controller.config.settings import BadControllerSettings, ControllerSettings, load_settings, position_in
from options.document import Fault


def check_git(settings: ControllerSettings) -> None:
    """Have gitfs read its options, so that what is wrong with them is known at once. Raises BadControllerSettings."""
    from gitfs.config.remotes import backends, file_remotes, ignored_files, pillar_includes, pillar_remotes
    from gitfs.errors import BadRemoteSettings

    options, faults = settings.trees.positions, []
    readers: tuple[Callable[[Mapping[str, Any]], object], ...] = (
        file_remotes,
        pillar_remotes,
        pillar_includes,
        backends,
        ignored_files,
    )
    for read in readers:
        try:
            read(settings.trees.remotes)
        except BadRemoteSettings as error:
            for fault in error.faults:
                name, *inside = fault.path
                place = options[str(name)].at(inside) if name in options else str(settings.config_dir / "controller")
                faults.append(Fault(place, str(fault)))
    if settings.forges and not faults:
        git = settings.trees.git()
        remotes = {each.name: each.url for each in (*git.file_remotes, *git.pillar_remotes)}
        faults += unknown_remotes(settings.forges, remotes)
    if faults:
        raise BadControllerSettings(sorted(faults, key=position_in(options)))


def check_libraries(settings: ControllerSettings) -> None:
    """See that the libraries are there that only some configurations need. Raises BadControllerSettings."""
    if faults := lacking_libraries(settings.given, settings.ports.vault, settings.access, settings.api):
        raise BadControllerSettings(faults)


def load_whole(config_dir: Path) -> ControllerSettings:
    """The configuration with all that is checked before a start. BadControllerSettings has the faults of all checks."""
    faults: list[Fault] = []
    try:
        settings = load_settings(config_dir)
    except BadControllerSettings as error:
        if error.rest is None:
            raise
        settings, faults = error.rest, list(error.faults)
    # Faults of the remotes follow from no others; those of the rest could.
    others = () if faults else (check_engines, check_api, check_executor, check_traces, check_libraries)
    for check in (check_git, *others):
        try:
            check(settings)
        except BadControllerSettings as error:
            faults += error.faults
    if faults:
        raise BadControllerSettings(sorted(faults, key=position_in(settings.given)))
    return settings


def check_executor(settings: ControllerSettings) -> None:
    """Look for what compiles on a cluster need on this machine. Raises BadControllerSettings."""
    if missing := settings.executor.missing():
        file = str(settings.config_dir / "controller")
        raise BadControllerSettings([Fault(file, f"{name}: {text}", hint) for name, text, hint in missing])


def check_traces(settings: ControllerSettings) -> None:
    """Look for what sends traces. Raises BadControllerSettings."""
    if settings.otlp_endpoint and not _has_opentelemetry():
        place = settings.places.get("otlp_endpoint", str(settings.config_dir / "controller"))
        text = f"otlp_endpoint: {settings.otlp_endpoint} needs OpenTelemetry's SDK, which is not installed"
        raise BadControllerSettings([Fault(place, text, "pip install 'saltern[otel]'")])


def _has_opentelemetry() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def check_api(settings: ControllerSettings) -> None:
    """See that the certificate of the API can be used. Raises BadControllerSettings."""
    from controller.config.api_files import api_file_faults  # start time of commands that are no controller

    if faults := api_file_faults(settings.api):
        place = settings.places.get("api", str(settings.config_dir / "controller"))
        raise BadControllerSettings([Fault(place, f"api: {text}", hint) for text, hint in faults])


def check_engines(settings: ControllerSettings) -> None:
    """See that the modules of the engines are there. Raises BadControllerSettings."""
    folders = [each for each in (settings.ports.extension_modules, *settings.ports.module_dirs) if each]
    if faults := lacking_engines(settings.engines, folders, settings.ports.engines_dirs):
        raise BadControllerSettings(faults)
