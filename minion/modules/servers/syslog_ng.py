"""The execution module `syslog_ng`: its configuration, its daemon and what that tells.

Behaviour: doc/ref/modules/all/salt.modules.syslog_ng.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, NumberOrText
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed
from minion.providers.syslog_ng import daemon
from minion.providers.syslog_ng.daemon import StartOptions
from minion.providers.syslog_ng.statements import statement


def config(context: Context, name: str, config: AnyValue, write: bool = True) -> dict[str, Any]:
    """The text of a statement; it is put at the end of the file, where it is not there yet. As a result of a state."""
    text = statement(name, config)
    if write:
        _append(context, text)
    return _result(name, True, {"new": text, "old": ""})


def config_test(context: Context, syslog_ng_sbin_dir: str | None = None, cfgfile: str | None = None) -> dict[str, Any]:
    """Whether a configuration file, or the one of the system, can be read: retcode, stdout and stderr."""
    words = [f"--cfgfile={cfgfile}"] if cfgfile else []
    return _told(daemon.asked(context.machine, ["syslog-ng", "--syntax-only", *words], syslog_ng_sbin_dir))


def get_config_file(context: Context) -> str:
    """The configuration file: the option `syslog_ng.config_file`."""
    return daemon.config_file(context.machine)


def modules(context: Context, syslog_ng_sbin_dir: str | None = None) -> dict[str, Any]:
    """The modules that syslog-ng has, with commas between them, in `stdout`."""
    done = daemon.asked(context.machine, ["syslog-ng", "-V"], syslog_ng_sbin_dir)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("Available-Modules")]
    return {"retcode": 0, "stdout": lines[0][1]} if lines else {"retcode": -1, "stderr": "Unable to find the modules."}


def reload_(context: Context, name: str) -> dict[str, Any]:
    """Have the daemon read its configuration anew; as a result of a state."""
    try:
        return _result(name, True, comment=daemon.reload(context.machine))
    except StateFailed as error:
        return _result(name, False, comment=str(error))


def start(context: Context, name: str | None = None, *, options: StartOptions) -> dict[str, Any]:
    """Start the daemon; as a result of a state."""
    command = daemon.start_command(context.machine, options)
    try:
        daemon.start(context.machine, command)
    except StateFailed as error:
        return _result(name, False, comment=str(error))
    return _result(name, True, {"new": " ".join(command), "old": ""})


def stats(context: Context, syslog_ng_sbin_dir: str | None = None) -> dict[str, Any]:
    """What the daemon counts: retcode, stdout and stderr."""
    return _told(daemon.asked(context.machine, ["syslog-ng-ctl", "stats"], syslog_ng_sbin_dir))


def stop(context: Context, name: str | None = None) -> dict[str, Any]:
    """End the daemon; as a result of a state."""
    running = daemon.pids(context.machine)
    if not running:
        return _result(name, False, comment="Syslog-ng is not running")
    daemon.stop(context.machine, running)
    return _result(name, True, {"old": running, "new": []})


def version(context: Context, syslog_ng_sbin_dir: str | None = None) -> dict[str, Any]:
    """The version, in `stdout`."""
    done = daemon.asked(context.machine, ["syslog-ng", "-V"], syslog_ng_sbin_dir)
    inside = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith("Installer-Version: ")]
    return {"retcode": 0, "stdout": inside[0]} if inside else _told(done)


def write_config(context: Context, config: AnyValue, newlines: int = 2) -> dict[str, Any]:
    """Put a text at the end of the configuration file."""
    if isinstance(config, Mapping) and len(config) == 1:
        config = next(iter(config.values()))
    path = daemon.config_file(context.machine)
    found = context.machine.read(path) if context.machine.stat(path) is not None else b""
    context.machine.write(path, found + str(config).encode() + b"\n" * newlines)
    return _result("", True, {"new": config, "old": ""})


def write_version(context: Context, name: NumberOrText) -> dict[str, Any]:
    """A configuration file that says which version it is for, and nothing else; one that says the same stays."""
    path, line = daemon.config_file(context.machine), f"@version: {name}"
    if "\n" in line:
        raise CallFailed("a version has one line")
    found = context.machine.read(path) if context.machine.stat(path) is not None else b""
    if line.encode() not in found.splitlines():
        context.machine.write(path, f"{line}\n\n".encode())
    return _result(name, True)


def _append(context: Context, text: str) -> None:
    content = daemon.with_statement(context.machine, text)
    if content is not None:
        context.machine.write(daemon.config_file(context.machine), content)


def _told(done: Completed) -> dict[str, Any]:
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()}


def _result(
    name: str | None, result: bool, changes: Mapping[str, Any] | None = None, comment: str = ""
) -> dict[str, Any]:
    return {"name": name, "result": result, "changes": changes or {"new": "", "old": ""}, "comment": comment}


FUNCTIONS: Mapping[str, Any] = {
    "config": config,
    "config_test": config_test,
    "get_config_file": get_config_file,
    "modules": modules,
    "reload": reload_,
    "start": start,
    "stats": stats,
    "stop": stop,
    "version": version,
    "write_config": write_config,
    "write_version": write_version,
}
