"""The execution module `supervisord`: what supervisorctl(1) does.

Behaviour: doc/ref/modules/all/salt.modules.supervisord.
"""

from __future__ import annotations

import configparser
import fnmatch
import io
import posixpath
import shlex
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.supervisorctl import Supervisor, SupervisorPlace

_CONFIGURATIONS = ("/etc/supervisor/supervisord.conf", "/etc/supervisord.conf", "/usr/local/etc/supervisord.conf")


def start(context: Context, name: str = "all", *, place: SupervisorPlace) -> str:
    """Start a process or a group; what supervisorctl says."""
    return _tell(context, place, "start", _addressed(name))


def restart(context: Context, name: str = "all", *, place: SupervisorPlace) -> str:
    """Restart a process or a group; what supervisorctl says."""
    return _tell(context, place, "restart", _addressed(name))


def stop(context: Context, name: str = "all", *, place: SupervisorPlace) -> str:
    """Stop a process or a group; what supervisorctl says."""
    return _tell(context, place, "stop", _addressed(name))


def add(context: Context, name: str, *, place: SupervisorPlace) -> str:
    """Have supervisord take up a process or a group of its configuration; what supervisorctl says."""
    return _tell(context, place, "add", name.removesuffix(":"))


def remove(context: Context, name: str, *, place: SupervisorPlace) -> str:
    """Have supervisord give up a process or a group that does not run; what supervisorctl says."""
    return _tell(context, place, "remove", name.removesuffix(":"))


def reread(context: Context, *, place: SupervisorPlace) -> str:
    """Have supervisord read its configuration, and change nothing; what is another there."""
    return _tell(context, place, "reread")


def update(context: Context, *, name: str | None = None, place: SupervisorPlace) -> str:
    """Have supervisord read its configuration and restart what is another there; what supervisorctl says."""
    return _tell(context, place, "update", *([name] if name else []))


def status(context: Context, name: str | None = None, *, place: SupervisorPlace) -> dict[str, dict[str, str]]:
    """Process → its state and reason."""
    found = Supervisor(place).processes(context.machine)
    return {
        each: {"state": process.state, "reason": process.reason}
        for each, process in found.items()
        if name is None or each == name or each.startswith(f"{name.rstrip('*:')}:")
    }


def status_raw(context: Context, name: str | None = None, *, place: SupervisorPlace) -> str:
    """What `supervisorctl status` prints."""
    return Supervisor(place).asked(context.machine, "status", *([name] if name else [])).stdout.strip()


def status_bool(context: Context, name: str, expected_state: str | None = None, *, place: SupervisorPlace) -> bool:
    """Whether a process runs, or is in the state that is expected."""
    found = Supervisor(place).processes(context.machine).get(name)
    return found is not None and found.state == (expected_state or "RUNNING").upper()


def custom(context: Context, command: str, *, place: SupervisorPlace) -> str:
    """Run any command of supervisorctl; what it says."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CallFailed(f"{command!r} is no command: {error}") from None
    return _tell(context, place, *words)


def options(context: Context, name: str, conf_file: str | None = None) -> dict[str, Any]:
    """The section of a program in supervisord's configuration, with the files that it includes."""
    parser = _configuration(context, conf_file)
    section = f"program:{name}"
    if not parser.has_section(section):
        raise CallFailed(f"there is no process '{name}' in the configuration of supervisord")
    return {key: _plain(value) for key, value in parser.items(section)}


def _addressed(name: str) -> str:
    return f"{name}*" if name.endswith(":") else name


def _tell(context: Context, place: SupervisorPlace, *words: str) -> str:
    done = Supervisor(place).told(context.machine, *words)
    return (done.stdout.strip() or done.stderr.strip()) if done.returncode == 0 or done.stdout.strip() else done.stderr


def _plain(value: str) -> Any:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if value.isdigit() else value


def _matching(context: Context, pattern: str) -> list[str]:
    """Files of one folder whose names match."""
    folder, name = posixpath.split(pattern)
    if context.machine.stat(folder) is None:
        return []
    return [posixpath.join(folder, each) for each in fnmatch.filter(context.machine.listdir(folder), name)]


def _configuration(context: Context, conf_file: str | None) -> configparser.RawConfigParser:
    machine = context.machine
    chosen = conf_file or next((path for path in _CONFIGURATIONS if machine.stat(path) is not None), None)
    if chosen is None or machine.stat(chosen) is None:
        raise CallFailed(f"there is no configuration of supervisord at {conf_file or ' or '.join(_CONFIGURATIONS)}")
    parser = configparser.RawConfigParser()

    def read(path: str) -> None:
        try:
            parser.read_file(io.StringIO(machine.read(path).decode("utf-8", "replace")), path)
        except configparser.Error as error:
            raise CallFailed(f"{path}: {error}") from None

    read(chosen)
    if parser.has_option("include", "files"):
        for pattern in parser.get("include", "files").split():
            for path in _matching(context, posixpath.join(posixpath.dirname(chosen), pattern)):
                read(path)
    return parser


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "custom": custom,
    "options": options,
    "remove": remove,
    "reread": reread,
    "restart": restart,
    "start": start,
    "status": status,
    "status_bool": status_bool,
    "status_raw": status_raw,
    "stop": stop,
    "update": update,
}
