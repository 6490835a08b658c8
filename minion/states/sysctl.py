"""The state module `sysctl`: kernel parameters, in the running kernel and in the file that is read at boot.

Behaviour: doc/ref/states/all/salt.states.sysctl.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction

_OF_SYSTEMD, _OF_PROCPS = "/etc/sysctl.d/99-salt.conf", "/etc/sysctl.conf"
_HEAD = "#\n# Kernel sysctl configuration\n#\n"

_ONLY_LIVE = "Sysctl value is currently set on the running system but not in a config file. "


def default_config(machine: Reader) -> str:
    """The file that is read at boot: systemd does not read /etc/sysctl.conf."""
    return _OF_PROCPS if machine.stat("/run/systemd/system") is None else _OF_SYSTEMD


def present(machine: Reader, name: str, *, value: str, config: str | None = None) -> Plan:
    """The parameter has this value now, and `config` sets it at boot."""
    if name.startswith("-"):
        raise StateFailed(f"{name} is no name of a parameter: sysctl would take it for an option")
    file = config or default_config(machine)
    wanted = _words(value)
    asked = machine.query(["sysctl", "-n", name])
    if asked.returncode == 127:
        raise StateFailed("There is no sysctl program: install the package procps")
    if asked.returncode != 0:
        raise StateFailed(f"Failed to set {name} to {value}: {asked.stderr.strip()}")
    is_live = _words(asked.stdout) == wanted
    old = machine.read(file).decode("utf-8", "surrogateescape") if machine.stat(file) else _HEAD
    new = _with(old, name, wanted)
    if is_live and new == old:
        return Plan(comment=f"Sysctl value {name} = {value} is already set")

    def act(machine: Machine) -> None:
        if not is_live:
            done = machine.run(["sysctl", "-w", f"{name}={wanted}"])
            # sysctl ends with 0 and a message for a value that the kernel refuses.
            if done.returncode != 0 or "Invalid argument" in done.stderr or "setting key" in done.stderr:
                raise StateFailed(f"Failed to set {name} to {value}: sysctl -w failed: {done.stderr.strip()}")
        if new != old:
            if machine.stat(posixpath.dirname(file)) is None:
                machine.mkdir(posixpath.dirname(file), parents=True)
            machine.write(file, new.encode("utf-8", "surrogateescape"))

    would = f"Sysctl option {name} set to be changed to {value}"
    return Plan(
        changes=(Change(key=name, reported=value, act=act),),
        pending=f"{_ONLY_LIVE}{would} in config file." if is_live else would,
        done=f"Updated sysctl value {name} = {value}",
    )


def _words(value: str) -> str:
    return " ".join(value.split())


def _with(text: str, name: str, value: str) -> str:
    """The file with the parameter set once, where it stands or at the end."""
    lines, is_set = [], False
    for line in text.splitlines():
        key, separator, found = line.partition("=")
        if not separator or key.strip().lstrip("-").replace("/", ".") != name.replace("/", ".") or key[:1] in "#;":
            lines.append(line)
        elif not is_set:
            is_set = True
            lines.append(line if _words(found) == value else f"{name} = {value}")
    if not is_set:
        lines.append(f"{name} = {value}")
    new = "".join(f"{line}\n" for line in lines)
    return text if new.rstrip("\n") == text.rstrip("\n") else new


STATES: Mapping[str, StateFunction] = {"present": present}
